// Threads that wait for input on the harts, without a kernel thread each. README.md, "Leaving the harts and
// coming back", 4.
#pragma once

#include "core/input.hpp"
#include "personality/pthread/threads/signals.hpp"
#include "sys/interruption.hpp"

#include <cstdint>
#include <span>

#include <poll.h>
#include <sys/epoll.h>
#include <sys/time.h>

namespace comity::posix {

// What a call by the number of a descriptor is about, to its end: the same file, also if the program closes that number
// meanwhile.
class called_file final : left_by_jump {
public:
    explicit called_file(int fd) noexcept;
    ~called_file();
    int number() const noexcept { return own_ >= 0 ? own_ : fd_; } // of the file
    bool is_closed() const noexcept { return own_ >= 0; }          // the program's
    core::descriptor *descriptor() const noexcept { return d_; }   // or null
    const sys::moving_call *moving() const noexcept { return &moving_; }

    // Who closes the descriptor waits from here on, for a little while. False: somebody closes it already.
    bool hold() noexcept;
    void let_go() noexcept;
    // Is it being closed, or has it been? In between it is held.
    bool is_being_closed() const noexcept;
    bool is_gone() const noexcept { return is_being_closed() && own_ < 0; }
    // In between: false if it has been closed, and nobody knows whose the number is now.
    bool keep() noexcept;
    void undo() noexcept final;

    // While it lives, the caller makes the call.
    class in_call {
    public:
        explicit in_call(called_file &f) noexcept : before_(sys::comity_moving_call) {
            if (f.d_) sys::comity_moving_call = &f.moving_;
        }
        ~in_call() { sys::comity_moving_call = before_; }
        in_call(const in_call &) = delete;
        in_call &operator=(const in_call &) = delete;

    private:
        sys::moving_call *before_;
    };
    // Before a call: as keep, if the thread was moved in the last one.
    bool keep_if_moved() noexcept {
        if (!moving_.has_moved) return true;
        const bool is_there = own_ >= 0 || !is_being_closed() || keep();
        let_go();
        return is_there;
    }

private:
    int fd_, own_ = -1;
    core::descriptor *d_;
    bool is_held_ = false;
    std::uint32_t closed_;
    sys::moving_call moving_;
};

// A call of the calling thread's that would sleep until there is input at one of some files. A cancellation point.
class input_wait {
public:
    // Handlers end a wait for events however they were set up.
    enum class what : bool { a_read, events };
    static constexpr std::size_t most = 8; // files

    // Of one file, if it is a read. May switch.
    input_wait(std::span<called_file *const> files, what w);
    // Can the thread wait on the harts? Else it makes its call.
    explicit operator bool() const noexcept { return is_here_; }

    enum class outcome : std::uint8_t {
        may_read,    // there may be input: the caller looks again
        late,        // the deadline has passed
        is_to_call,  // it makes its call, which may sleep
        interrupted, // a handler has ended the call
        is_closed,   // a descriptor
    };
    // There is no input. Gives the hart to others until there is. Switches.
    outcome wait(std::int64_t deadline = sys::no_deadline);

private:
    std::uint32_t handlers() const noexcept {
        return what_ == what::events ? r_->handled : r_->handled_without_restart;
    }
    bool begin(std::uint64_t also) noexcept;
    bool keep_what_is_closed() noexcept;
    void let_go() noexcept;

    std::span<called_file *const> files_;
    what what_;
    bool is_here_ = false;
    const receiver *r_ = nullptr;
    std::uint32_t handlers_ = 0;
};

// Threads are computing that keep the harts to themselves: for a while those that read wait on kernel threads of their
// own, so as to go on at once. Any thread.
void read_without_harts() noexcept;

// While it lives, the calling thread makes a call for input that may sleep in the kernel.
class kernel_input final : left_by_jump {
public:
    explicit kernel_input(std::span<called_file *const> files) noexcept;
    ~kernel_input();
    void undo() noexcept final;

private:
    std::span<called_file *const> files_;
    std::uint64_t from_ = 0; // ticks; 0: it is none of ours
};
// In the child of a fork, where nobody does it but perhaps the caller.
void forget_kernel_input() noexcept;

// While it lives, the caller closes the descriptor. Before that, who waits for its input goes another way.
class closing {
public:
    explicit closing(int fd) noexcept;
    ~closing();
    closing(const closing &) = delete;
    closing &operator=(const closing &) = delete;
    explicit operator bool() const noexcept { return !is_comitys_; } // else it must not
    // Somebody else, who tells of no end, is about to close all of these, so who waits for input there is told now.
    static void is_near(unsigned first, unsigned last) noexcept;

private:
    core::descriptor *d_ = nullptr;
    bool is_comitys_ = false;
};

// The kernel's waits for events, of which a sandbox may refuse one of two that do the same. `limit`, or null: none.
int poll_in_kernel(pollfd *of, nfds_t n, timespec *limit) noexcept;
int epoll_in_kernel(int fd, epoll_event *events, int n, int milliseconds);

// What is it, as far as is known? note_kind: it is that, or unknown, and errno is what it was before that was found.
bool is_socket(int fd) noexcept;
bool is_stream(int fd) noexcept; // one of those
bool is_pipe(int fd) noexcept;
bool is_source(int fd) noexcept;                                // it can be told not to wait for input
bool is_polled(int fd) noexcept;                                // `poll` tells whether to read there means to sleep
void note_not_tried(int fd, bool to_write, int error) noexcept; // it cannot be told not to wait
void note_kind(int fd, core::descriptor::kind_of kind, int error) noexcept;
// Has the socket the time limit that is set by this option (SO_RCVTIMEO, SO_SNDTIMEO)?
bool has_time_limit(int fd, int option, timeval &limit) noexcept;
// Does a read of the socket wait for more than one byte?
bool has_low_mark(int fd) noexcept;

} // namespace comity::posix
