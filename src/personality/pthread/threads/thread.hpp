// POSIX threads that are threads of Comity. Open first; README.md has the protocols.
#pragma once

#include "comity/thread.h"
#include "core/displacement.hpp"
#include "core/unit.hpp"
#include "personality/pthread/threads/object.hpp"
#include "personality/pthread/threads/signals.hpp"

#include <atomic>

namespace comity::posix {

// How a thread divides its time between waits and computing: one that mostly sleeps does both without a hart. Its own.
// README.md, "Leaving the harts and coming back", 3.
struct sleeping_habit {
    std::uint64_t slept_until = 0; // ticks: the end of its last sleep in the kernel
    int sleeps = 0;                // above 0: it mostly sleeps
    int waits = 0;                 // at objects since then
};

// What belongs to the thread, or to its creator before.
struct threads_own {
    comity_thread_t *handle = nullptr;
    void *(*fn)(void *) = nullptr;
    void *arg = nullptr;
    // The newest cleanup handlers of both kinds; the thread's own.
    __pthread_unwind_buf_t *unwind_buffers = nullptr;
    _pthread_cleanup_buffer *cleanup_buffers = nullptr;
    void *result = nullptr;     // of one that ends from the middle
    void *frame = nullptr;      // of the function under all of the program's
    std::uint64_t floating = 0; // environment of its creator (sys/float_modes.hpp)
    int cancel_state = PTHREAD_CANCEL_ENABLE, cancel_type = PTHREAD_CANCEL_DEFERRED;
    bool ending = false, in_program = false;
    bool is_known_owner = false; // of mutexes, by its kernel thread's id
    bool id_was_told = false;    // to the program
    bool slice_is_over = false;  // it was found where it could not go: it does in a call that it makes in a loop
    bool stays = false;          // it has forked this process, as whose first thread it stays until the end
    sleeping_habit habit;
    std::size_t stack_size = 0; // written before stack_bottom
    // By its attributes, 0 for nothing: what it is told of. The stack may be larger.
    std::size_t stack_asked = 0, guard_asked = 0;
    char name[16] = {};
};

// What a pthread_t of such a thread points to. Such memory is never used for anything else, and lies in one range of
// addresses, by which it is told from the C library's. It is made once and then renewed, since others look at what is
// atomic in it at any time.
struct alignas(64) thread : threads_own {
    // Bits of `state`.
    static constexpr std::uint32_t in_use = 1, detached = 2, joined = 4, ended = 8, awaited = 16;

    std::atomic<std::uint32_t> state{0};
    std::atomic<thread *> joins{nullptr}; // whose end it waits for
    // The kernel thread that it has to itself, while it has kernel state of its own; 0: none. Written by itself.
    std::atomic<int> kernel_thread{0};
    std::atomic<int> id{0};                    // what gettid says; 0: what the kernel does. Written by itself
    std::atomic<std::int64_t> cpu_base{0};     // what its storage had used before it started (core/cpu_time.hpp)
    std::atomic<void *> stack_bottom{nullptr}; // where it runs, from its start
    struct return_unit : unit {
        core::context *c = nullptr;
    } back; // stands in the scheduler for a thread that comes back to the harts
    thread *next_free = nullptr;
    receiver signals;
};

// The calling thread's, or null on a thread of the C library's or of another model. In its own TLS, so its address may
// be kept across a switch.
extern __thread thread *current_thread __attribute__((tls_model("initial-exec")));

// Null: it is none of ours.
thread *thread_of(pthread_t t) noexcept;

// While one lives that is true, the thread does not end, so that its memory stays its own: for who tells it something.
// It must not switch meanwhile. README.md, "A thread".
class alive {
public:
    explicit alive(const thread *t) noexcept;
    ~alive();
    alive(const alive &) = delete;
    alive &operator=(const alive &) = delete;
    explicit operator bool() const noexcept { return (state_ & (thread::in_use | thread::ended)) == thread::in_use; }
    bool is_known() const noexcept { return state_ & thread::in_use; } // else nobody has this handle

private:
    std::atomic<std::uint32_t> &count_;
    std::uint32_t state_;
};
inline pthread_t handle_of(thread *t) noexcept { return reinterpret_cast<pthread_t>(t); }

// Threads by small numbers, which others have after them. Null: there is none.
unsigned number_of(const thread &t) noexcept;
thread *thread_with_number(unsigned number) noexcept;
// The thread starts on the context, which is the caller's.
void begin_cpu_time(thread &t, core::context *c) noexcept;

// The one whose function a context of the scheduler's executes, or null.
thread *thread_on(const core::context *c) noexcept;

// Go's runtime schedules by itself on the threads that it creates and on those that call into it, and asks the kernel
// past the C library: for signal stacks, masks and futexes, which are the kernel thread's. So in a process that has it
// threads and signals are the C library's. Is it there? Any thread.
bool has_go() noexcept;

// Are threads, signals and objects the C library's in this process, from its begin: because nothing in it has to share
// the cores with threads, or because its runtime could not bear that they were Comity's? Decided once, at the first
// question: no object is used before.
struct sides {
    static constexpr int comitys = 0, undecided = 1 << 30, c_librarys = 1 << 29; // bits that no mutex' kind has
};
extern std::atomic<int> side __attribute__((visibility("hidden")));
bool decide_whether_aside() noexcept; // or says what was decided
inline bool is_aside() noexcept {
    const int s = side.load(std::memory_order_relaxed);
    return s != sides::comitys && (s == sides::c_librarys || decide_whether_aside());
}
void say_that_aside() noexcept; // once, at a thread's creation, where somebody may wonder

// Calls visit(thread) for all that have not ended until it returns true.
bool visit_threads(bool (*visit)(thread &, void *), void *argument) noexcept;

// What an owner is known by: as pthread_self.
pthread_t self() noexcept;

// Ends the calling thread: cleanup handlers, destructors of C++ objects on its stack (glibc's pthread_exit unwinds, and
// so does this), thread-local variables and keys.
[[noreturn]] void end(thread *t, void *result);
// After the function has returned or the stack was unwound: what is left to do.
void finish(thread *t) noexcept;

// A cancellation point of the calling thread. May not return.
void test_cancel(thread *t);
void test_first_cancel(); // the same on other threads: only the first one is asked here
inline void test_cancel() {
    thread *t = current_thread;
    if (!t)
        test_first_cancel();
    else if (t->signals.to_be_cancelled.load(std::memory_order_relaxed))
        test_cancel(t);
}
// What of that, a request looks at, has changed. The calling thread.
void note_cancellation(thread *t) noexcept;
// The calling thread was told to look, where nothing of ours is under way: if it is to be cancelled at once, it is.
void cancel_at_once();
// The wait of a cancellation point has ended so.
void act_upon(signalled_wait e);

// The destructors of the keys' values, in rounds.
void end_keys() noexcept;

// Opens the scheduler of threads at the first call; false: no memory. Are the caller's threads created in it directly?
bool open_scheduler(bool &inside) noexcept;
struct comity_scheduler *the_scheduler() noexcept;
// After an attempt to lock in vain, which may be made again and again: others have a turn now and then, where handlers
// are ours, which do not interrupt Comity's code. May switch.
void give_turn_after_look() noexcept;
// What the attempt has returned.
inline int after_look(int error) noexcept {
    if (error == EBUSY)
        give_turn_after_look();
    else
        core::note_progress_in_loop();
    return error;
}
// The calling thread goes on on a kernel thread of its own, and its hart without it. False: it cannot, or has none.
bool leave_hart() noexcept;
// The caller yields again and again. If it is a rank of a region, wherever that is, and threads have waited for a hart
// all the while, it leaves its own: such ranks change places with each other, and may be waiting for such a thread.
void give_way_to_threads() noexcept;
// A thread that has done so, or was made to by the watch, comes back to the harts. May switch.
void come_home() noexcept;
// The calling thread, which ends, leaves its kernel state with the kernel thread and comes back to the harts.
void leave_kernel_state(thread &t) noexcept;
// The first thread has ended, and the process ends with the others.
[[noreturn]] void end_with_others();
// The program's first thread leaves: when all others have ended, so does the process. Who joins it has its result.
// Returns if the caller is another.
void leave_to_others(void *result);
// The part of that which is before the wait: its destructors, and the wake of who joins it.
void end_first_thread(void *result) noexcept;
// The C library may cancel it: then it leaves as above. The first thread.
void stay_when_cancelled() noexcept;
// Somebody has asked for that.
void note_first_cancelled() noexcept;
// One more is about to be created, or one less lives. While any does, a watch sees to it that none keeps a hart that
// others wait for.
void count_living(int by) noexcept;

} // namespace comity::posix
