// The core in C++: a scheduler is a class with virtual callbacks, a context an object that frees itself. Meaning,
// places and errors: comity/core.h.
#pragma once

#include "comity/core/cxx20.hpp" // first: nothing else would compile

#include "comity/core.h"

#include <chrono>
#include <cstddef>
#include <new>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

namespace comity {

inline int hart_count() noexcept { return comity_hart_count(); }
inline int hart_id() noexcept { return comity_hart_id(); }

// Binds a hart to CPUs, or with an empty list to none. Throws std::system_error (EINVAL) or std::bad_alloc.
inline void bind_hart(int hart, std::span<const int> cpus) {
    const int error = comity_hart_bind(hart, cpus.data(), cpus.size());
    if (error == static_cast<int>(std::errc::not_enough_memory)) throw std::bad_alloc();
    if (error != 0) throw std::system_error(error, std::generic_category(), "comity::bind_hart");
}
// The CPUs on which a hart may run. Throws std::system_error (EINVAL: no such hart) or std::bad_alloc.
inline std::vector<int> hart_cpus(int hart) {
    std::vector<int> cpus;
    for (std::size_t n = 0;;) {
        const int error = comity_hart_cpus(hart, cpus.data(), cpus.size(), &n);
        if (error == static_cast<int>(std::errc::invalid_argument))
            throw std::system_error(error, std::generic_category(), "comity::hart_cpus");
        if (n <= cpus.size()) {
            cpus.resize(n);
            return cpus;
        }
        cpus.resize(n);
    }
}
using location = comity_location_t;
// Where a hart, or a CPU, is. Throw std::system_error (EINVAL).
inline location hart_location(int hart) {
    location l{};
    if (const int error = comity_hart_location(hart, &l))
        throw std::system_error(error, std::generic_category(), "comity::hart_location");
    return l;
}
inline location cpu_location(int cpu) {
    location l{};
    if (const int error = comity_cpu_location(cpu, &l))
        throw std::system_error(error, std::generic_category(), "comity::cpu_location");
    return l;
}

// Deadlines as the C functions take them, of times of any clock and unit. What is too large for one never comes.
template <class Rep, class Period> std::int64_t deadline_in(std::chrono::duration<Rep, Period> time) noexcept {
    const double ns = std::chrono::duration<double, std::nano>(time).count();
    if (!(ns > 0)) return comity_now();
    if (ns >= 9e18) return COMITY_NO_DEADLINE;
    return comity_deadline_in(std::chrono::ceil<std::chrono::nanoseconds>(time).count());
}
template <class Clock, class Duration>
std::int64_t deadline_at(std::chrono::time_point<Clock, Duration> time) noexcept {
    const auto now = Clock::now();
    return time <= now ? comity_now() : deadline_in(time - now);
}

// A scheduler in the tree (table 4.1 of the thesis). Derive from it and say what a hart does; register_here() makes it
// a child of the current scheduler.
class scheduler {
public:
    scheduler() = default;
    scheduler(const scheduler &) = delete;
    scheduler &operator=(const scheduler &) = delete;
    virtual ~scheduler() = default;

    void register_here() { comity_sched_register(&node_.handle, &table); } // may switch
    // The context that registered it. May switch.
    static void unregister() { comity_sched_unregister(); }
    static void request(int harts) { comity_sched_request(harts); }
    void request_for_this(int harts) { comity_sched_request_for(&node_.handle, harts); }

    comity_sched_t *handle() noexcept { return &node_.handle; }
    // The object of a handle that is known to belong to one.
    static scheduler *of(comity_sched_t *handle) noexcept { return reinterpret_cast<node *>(handle)->self; }

protected:
    // Transfer callbacks: given the hart, on the transition context; must end in one of the [[noreturn]] functions.
    virtual void on_enter() = 0;
    virtual void on_yield(comity_sched_t *child) = 0;
    virtual void on_block(comity_context_t *context) = 0;
    // Update callbacks: borrow the hart.
    virtual void on_unblock(comity_context_t *context) = 0;
    virtual void on_request(comity_sched_t *, int) {}
    virtual void on_register(comity_sched_t *) {}
    virtual void on_unregister(comity_sched_t *) {}

    // Grants the hart to a child, if it still wants one; returns if not.
    static void enter_if_wanted(comity_sched_t *child) {
        if (comity_sched_reserve(child)) comity_sched_enter(child);
    }
    [[noreturn]] static void yield_to_parent() { comity_sched_yield(); }

private:
    struct node {
        comity_sched_t handle{};
        scheduler *self = nullptr;
    };
    static void call_register(comity_sched_t *s, comity_sched_t *child) { of(s)->on_register(child); }
    static void call_unregister(comity_sched_t *s, comity_sched_t *child) { of(s)->on_unregister(child); }
    static void call_request(comity_sched_t *s, comity_sched_t *child, int harts) { of(s)->on_request(child, harts); }
    static void call_enter(comity_sched_t *s) { of(s)->on_enter(); }
    static void call_yield(comity_sched_t *s, comity_sched_t *child) { of(s)->on_yield(child); }
    static void call_block(comity_sched_t *s, comity_context_t *c) { of(s)->on_block(c); }
    static void call_unblock(comity_sched_t *s, comity_context_t *c) { of(s)->on_unblock(c); }
    static constexpr comity_sched_callbacks_t table{call_register, call_unregister, call_request, call_enter,
                                                    call_yield,    call_block,      call_unblock};

    node node_{{}, this};
};

// A context that was made by us. Not to be destroyed while it runs.
class context {
public:
    // Throws std::bad_alloc or std::system_error.
    explicit context(const comity_context_attr_t &attr = {}) {
        const int error = comity_context_init(&context_, &attr);
        if (error == static_cast<int>(std::errc::not_enough_memory)) throw std::bad_alloc();
        if (error != 0) throw std::system_error(error, std::generic_category(), "comity::context");
    }
    context(context &&other) noexcept : context_(std::exchange(other.context_, nullptr)) {}
    context &operator=(context &&other) noexcept {
        std::swap(context_, other.context_);
        return *this;
    }
    ~context() {
        if (context_) comity_context_fini(context_);
    }

    comity_context_t *handle() const noexcept { return context_; }
    // On a transition context.
    [[noreturn]] void run(void (*fn)(void *), void *arg) { comity_context_run(context_, fn, arg); }

private:
    comity_context_t *context_ = nullptr;
};

// Stops the calling context and calls f(context) on the transition context; f must give the hart away. Returns when the
// context is resumed.
template <class F> void pause(F f) {
    comity_context_pause(
        [](comity_context_t *c, void *fn) {
            F own = std::move(*static_cast<F *>(fn)); // the stack that it lies on may go on elsewhere at once
            own(c);
        },
        &f);
}

} // namespace comity
