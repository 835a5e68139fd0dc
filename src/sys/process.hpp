// What the C library calls back in the life of a process and of its threads: once, at a fork, at a thread's end; and
// the process' environment.
#pragma once

#include "sys/shared.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

namespace comity::sys {

// Runs a function once in the process: the first caller runs it, the others wait in the kernel. Signals are blocked
// meanwhile, so a handler never waits for the call that it has interrupted. The child of a fork in its middle runs it
// again. Needs no constructor. Any thread, also in signal handlers.
class once {
public:
    void run(void (*function)()) noexcept {
        if (!is_done_.load(std::memory_order_acquire)) run_first(function); // acquire[once]
    }
    // The same with the signals that the caller takes: for what calls the program's functions. Not in signal handlers.
    COMITY_SHARED void run_with_signals(void (*function)()) noexcept;

private:
    COMITY_SHARED void run_first(void (*function)()) noexcept;
    int state_ = 0; // written by the C library only
    std::atomic<bool> is_done_{false};
};

// The caller's mask of signals; where it runs a function once, that from before.
COMITY_SHARED std::uint64_t mask_around_once() noexcept;

// What `make` gives, made at the first call as by `once`, for ever: an expression without captures, for each of which
// there is one. A local static would stay locked in the child of a fork in the middle of its making.
template <class Make> auto &made_once(Make) noexcept {
    static_assert(std::is_empty_v<Make>);
    using made = decltype(Make{}());
    alignas(made) static constinit std::byte memory[sizeof(made)]{};
    static constinit once making;
    making.run([] { new (memory) made(Make{}()); });
    return *std::launder(reinterpret_cast<made *>(memory));
}

// A variable of the environment, or null; not by getenv, which a preloaded object of ours may have put before the C
// library's. Any thread, as getenv: while nobody changes the environment.
const char *environment_value(const char *name) noexcept;

// Calls `before` in the thread that forks, then `parent` or `child` in it. Any thread, once for each set; false: no
// memory.
[[nodiscard]] COMITY_SHARED bool at_fork(void (*before)(), void (*parent)(), void (*child)()) noexcept;

// Calls `child` in the child of a fork, after what constructors of Comity's have registered, whenever those have run;
// and `before`, unless it is null, in the thread that forks. Any thread, once for each; false: no memory.
[[nodiscard]] COMITY_SHARED bool in_children(void (*before)(), void (*child)()) noexcept;

// Forks without any handler of forks (_Fork). False: the C library cannot. Any thread, also in signal handlers.
[[nodiscard]] COMITY_SHARED bool fork_without_handlers(int &child) noexcept;

// Calls a function when a kernel thread that has armed it ends, however that was made.
class thread_end {
public:
    // Before any arm, once. False when the process has no thread-specific key left: then nothing is ever called.
    [[nodiscard]] bool create(void (*function)(void *argument)) noexcept;
    // The calling kernel thread will call the function with this argument, which is not null, as it ends.
    void arm(void *argument) const noexcept;

private:
    unsigned key_ = 0; // written by create
    bool made_ = false;
};

} // namespace comity::sys
