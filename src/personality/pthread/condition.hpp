// A condition variable in the memory of a pthread_cond_t. It does what glibc's does; beyond that, a thread that has a
// hart spins for a signal before it sleeps in the kernel. Protocol and proof: README.md.
#pragma once

#include <atomic>
#include <cstdint>
#include <ctime>

#include <pthread.h>

namespace comity::posix {

class condition {
public:
    // pthread_cond_wait and its timed forms. `deadline` is an absolute time of `clock`; null: none. Any thread; a
    // cancellation point. 0, ETIMEDOUT, EINVAL for a deadline that is none, or what the mutex' functions return.
    int wait(pthread_mutex_t *mutex, clockid_t clock, const timespec *deadline);

    // Wakes at least one of those who wait now, or all. Any thread; not a cancellation point.
    void signal() noexcept { change(1); }
    void broadcast() noexcept { change(INT32_MAX); }

    // Returns when nobody is inside, as after a broadcast. Waits for ever when somebody still waits, as glibc does.
    void await_waiters() const noexcept;

private:
    class visit;
    void change(int wakes) noexcept;
    std::uint32_t signals() const noexcept;
    const std::atomic<std::uint32_t> &signals_word() const noexcept;
    bool worth_spinning() noexcept;
    bool spin(std::uint32_t seen) noexcept;
    bool sleep(visit &v, std::uint32_t seen, clockid_t clock, const timespec *deadline);

    // All zero at first, as PTHREAD_COND_INITIALIZER and pthread_cond_init leave them.
    std::atomic<std::uint64_t> word_; // low half: how many signals came; high half: threads that sleep or are about to
    std::atomic<std::uint32_t> inside_; // waiters that may still touch this object
    std::atomic<std::int32_t> luck_;    // of spinning: see worth_spinning
};

} // namespace comity::posix
