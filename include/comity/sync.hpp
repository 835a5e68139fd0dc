// Synchronisation objects in C++ (comity/sync.h says where each may be called; those that wait may switch). mutex works
// with std::lock_guard, std::unique_lock and std::scoped_lock.
#pragma once

#include "comity/sync.h"

#include <mutex>
#include <stdexcept>

namespace comity {

class mutex {
public:
    constexpr mutex() noexcept = default;
    ~mutex() { comity_mutex_fini(&m_); }
    mutex(const mutex &) = delete;
    mutex &operator=(const mutex &) = delete;

    void lock() noexcept { comity_mutex_lock(&m_); } // may switch
    bool try_lock() noexcept { return comity_mutex_trylock(&m_); }
    void unlock() noexcept { comity_mutex_unlock(&m_); }
    comity_mutex_t *native_handle() noexcept { return &m_; }

private:
    comity_mutex_t m_ = COMITY_MUTEX_INIT;
};

class condition {
public:
    constexpr condition() noexcept = default;
    ~condition() { comity_condition_fini(&c_); }
    condition(const condition &) = delete;
    condition &operator=(const condition &) = delete;

    void wait(std::unique_lock<mutex> &lock) noexcept {
        comity_condition_wait(&c_, lock.mutex()->native_handle());
    }                                                                                      // may switch
    template <class Predicate> void wait(std::unique_lock<mutex> &lock, Predicate until) { // may switch
        while (!until()) wait(lock);
    }
    void notify_one() noexcept { comity_condition_signal(&c_); }
    void notify_all() noexcept { comity_condition_broadcast(&c_); }
    comity_condition_t *native_handle() noexcept { return &c_; }

private:
    comity_condition_t c_ = COMITY_CONDITION_INIT;
};

class barrier {
public:
    // Throws std::invalid_argument when count is 0.
    explicit barrier(unsigned count) {
        if (comity_barrier_init(&b_, count) != 0)
            throw std::invalid_argument("comity::barrier: the number must be at least 1");
    }
    ~barrier() { comity_barrier_fini(&b_); }
    barrier(const barrier &) = delete;
    barrier &operator=(const barrier &) = delete;

    // True in one of those who meet. May switch.
    bool wait() noexcept { return comity_barrier_wait(&b_); }

private:
    comity_barrier_t b_;
};

class event {
public:
    constexpr event() noexcept = default;
    ~event() { comity_event_fini(&e_); }
    event(const event &) = delete;
    event &operator=(const event &) = delete;

    void set() noexcept { comity_event_set(&e_); }
    void reset() noexcept { comity_event_reset(&e_); }
    bool is_set() const noexcept { return comity_event_is_set(&e_); }
    void wait() noexcept { comity_event_wait(&e_); } // may switch

private:
    comity_event_t e_ = COMITY_EVENT_INIT;
};

} // namespace comity
