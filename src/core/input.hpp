// Waiting for input at descriptors without a kernel thread for each who waits: harts that have nothing to do look, and
// the kernel thread of one idle hart sleeps until there is some. README.md, "Input".
#pragma once

#include "sys/shared.hpp"

#include <atomic>
#include <cstdint>

namespace comity::core {

// What is known of a descriptor's number. Its memory stays: a report may come when nobody waits any more.
struct descriptor {
    std::atomic<std::uint32_t> reports{0};  // changes when there may be input; at its address who waits is woken
    std::atomic<std::uint32_t> waiters{0};  // by who waits, from before it looks
    std::atomic<std::uint32_t> closers{0};  // by who closes it
    std::atomic<std::uint32_t> closed{0};   // by the same, just before
    std::atomic<std::uint64_t> told_too{0}; // bit n: who waits at shared_reports(n)
    std::atomic<bool> is_watched{false};    // a report is due
    std::atomic<bool> sleeps{false};        // to read from it has meant to sleep; by who reads
    std::atomic<bool> is_epoll{false};      // it is one, and somebody has waited at it; by them
    std::atomic<bool> is_left_out{false};   // it is not to be watched, until it is closed
    // socket: another than of a stream. pipe: or what else can be told not to wait (RWF_NOWAIT); source: to read from
    // it can, to write cannot (event descriptors). polled: `poll` tells whether to read there means to sleep. other:
    // only the kernel knows (files, terminals).
    enum class kind_of : std::uint8_t { unknown, stream, socket, pipe, source, polled, other };
    std::atomic<kind_of> kind{kind_of::unknown}; // a guess; by who uses it
};

// Null: the number is none, or too large, or there is no memory for it. Any thread.
COMITY_SHARED descriptor *descriptor_of(int fd) noexcept;
// The same, and null if nobody has asked for it before.
COMITY_SHARED descriptor *known_descriptor(int fd) noexcept;

// The lowest number from this one on that may be known; -1: none.
COMITY_SHARED int next_known(int fd) noexcept;

// `reports` will change, once, when there is input at the descriptor, also if there is some already; whoever waits at
// its address is woken by `wake`, which is the same for all calls, and must not switch. So will those that `also` has
// the bits of. False: the kernel does not watch it (a file), or has no memory or descriptors left. Any thread.
COMITY_SHARED bool watch(int fd, descriptor &d, void (*wake)(const void *address), std::uint64_t also = 0) noexcept;
// An epoll's descriptor, or (null) all at which somebody has waited, are no longer watched: the kernel limits how deep
// epolls stand in each other, and how many of them have the same file. Who waits finds another way. True: one was
// watched until now. Any thread.
COMITY_SHARED bool leave_out(descriptor *epoll) noexcept;
// `reports` changes now, and who waits is woken. Any thread.
COMITY_SHARED void tell(descriptor &d) noexcept;

// What stands for the reports of several descriptors. Others may share it, so that it changes for them, too.
constexpr unsigned shared_reports_most = 64;
COMITY_SHARED std::atomic<std::uint32_t> &shared_reports(unsigned n) noexcept;

// Is it one that Comity itself needs to watch others? Any thread.
COMITY_SHARED bool is_for_watching(int fd) noexcept;

// ---- For whoever has nothing to do

extern std::atomic<std::uint32_t> watched; // descriptors of which a report is due
inline bool awaits_input() noexcept { return watched.load(std::memory_order_relaxed) != 0; }

// Who waits for what has been reported is woken. True: there was something. Any thread without a lock; does not switch.
bool look_for_input() noexcept;
// The same for harts that spin: now and then, and only if no other hart does.
void look_in_others_stead() noexcept;
inline void look_for_input(unsigned turn) noexcept {
    if (awaits_input() && turn % 16 == 0) [[unlikely]]
        look_in_others_stead();
}

// One kernel thread at a time sleeps until there is input. Is it the caller's turn? Then it calls sleep_for_input, if
// at all, and then end_sleeping_for_input, with the reports that it has brought.
struct input_reports {
    int fds[64];
    int n = 0;
};
bool begin_sleeping_for_input() noexcept;
void sleep_for_input(input_reports &brought) noexcept;
void end_sleeping_for_input(const input_reports &brought) noexcept;
// Who sleeps so, or is about to, wakes.
void wake_who_sleeps_for_input() noexcept;
// The caller does not sleep for input any more. If nobody does, and somebody waits for some, the timers' thread looks
// for it as long as that is so.
void note_served() noexcept;

// Around a fork: before the core takes any other lock, and, in the child, after the timers.
void input_before_fork() noexcept;
void input_after_fork(bool in_child) noexcept;

} // namespace comity::core
