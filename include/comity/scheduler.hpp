// Schedulers of threads in C++ (comity/scheduler.h says what each kind promises and where each function may be called).
#pragma once

#include "comity/core/cxx20.hpp" // first: nothing else would compile

#include "comity/scheduler.h"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <new>
#include <system_error>

extern "C" COMITY_API void comity_threads_end_of(const comity_scheduler *scheduler); // comity/thread.h

namespace comity {

enum class scheduler_kind : unsigned char {
    work_stealing = COMITY_SCHEDULER_WORK_STEALING,
    fifo = COMITY_SCHEDULER_FIFO,
    lifo = COMITY_SCHEDULER_LIFO,
    priority = COMITY_SCHEDULER_PRIORITY,
    random = COMITY_SCHEDULER_RANDOM,
    space_efficient = COMITY_SCHEDULER_SPACE_EFFICIENT,
    df_deques = COMITY_SCHEDULER_DF_DEQUES,
};

enum class occasion : unsigned char {
    created = COMITY_OCCASION_CREATED,
    ready = COMITY_OCCASION_READY,
    yielded = COMITY_OCCASION_YIELDED,
};

namespace detail {

inline void check_scheduler(int error, const char *call) {
    if (error == ENOMEM) throw std::bad_alloc();
    if (error != 0) throw std::system_error(error, std::generic_category(), call);
}

// An order of the user's as functions of C: push(comity_unit_t *, occasion), which may throw if it cannot keep the
// unit, pick(), which returns a unit or null, has_work().
template <class Order>
inline constexpr comity_scheduler_functions_t functions_of{
    .init = nullptr,
    .fini = nullptr,
    .push =
        [](void *state, comity_unit_t *u, comity_occasion_t why) {
            try {
                static_cast<Order *>(state)->push(u, static_cast<occasion>(why));
                return 0;
            } catch (...) {
                return ENOMEM;
            }
        },
    .pick = [](void *state) -> comity_unit_t * { return static_cast<Order *>(state)->pick(); },
    .has_work = [](void *state) -> int { return static_cast<Order *>(state)->has_work(); },
    .concurrent = 0,
};

} // namespace detail

// For as long as it lives, the threads that the calling context and its threads create run under a scheduler of this
// kind; its end waits for all of them. To be destroyed in the context that made it. May switch.
class scheduled_threads {
public:
    static constexpr bool stateless = true; // as all of Comity's

    struct attributes {
        scheduler_kind kind = scheduler_kind::work_stealing;
        unsigned most_harts = 0; // 0: all
        std::uint64_t seed = 0;  // random; 0: that of COMITY_CHAOS, or 1
        std::size_t quota = 0;   // space_efficient and df_deques, bytes; 0: the usual one
    };

    // Throw std::system_error or std::bad_alloc.
    explicit scheduled_threads(const attributes &a) { begin(of(a)); }
    explicit scheduled_threads(scheduler_kind k) : scheduled_threads(attributes{.kind = k}) {}
    // An order of the user's own, called by one at a time; it must outlive the scheduler. As the C functions, its
    // members must be short and may neither wait nor create nor wake threads.
    template <class Order>
    requires requires(Order &o, comity_unit_t *u) {
        o.push(u, occasion::created);
        u = o.pick();
        static_cast<bool>(o.has_work());
    }
    explicit scheduled_threads(Order &o, unsigned most_harts = 0) {
        comity_scheduler_attr_t a{};
        a.kind = COMITY_SCHEDULER_USER;
        a.most_harts = most_harts;
        a.functions = &detail::functions_of<Order>;
        a.arg = &o;
        begin(a);
    }
    ~scheduled_threads() { comity_threads_end_of(mine_); }
    scheduled_threads(const scheduled_threads &) = delete;
    scheduled_threads &operator=(const scheduled_threads &) = delete;

    static comity_scheduler_attr_t of(const attributes &a) noexcept {
        comity_scheduler_attr_t c{};
        c.kind = static_cast<comity_scheduler_kind_t>(a.kind);
        c.most_harts = a.most_harts;
        c.seed = a.seed;
        c.quota = a.quota;
        return c;
    }

private:
    void begin(const comity_scheduler_attr_t &a) {
        detail::check_scheduler(comity_threads_begin_with(&a), "comity::scheduled_threads");
        mine_ = comity_scheduler_self();
    }
    const comity_scheduler *mine_ = nullptr;
};

namespace this_scheduler {

// Of the calling context. Never switch. Throw std::system_error (EPERM: it has none) or std::bad_alloc.
inline void replace(const scheduled_threads::attributes &a) {
    const comity_scheduler_attr_t c = scheduled_threads::of(a);
    detail::check_scheduler(comity_scheduler_replace(&c), "comity::this_scheduler::replace");
}
inline void replace(scheduler_kind k) { replace(scheduled_threads::attributes{.kind = k}); }
inline void set_harts(unsigned n) {
    detail::check_scheduler(comity_scheduler_set_harts(n), "comity::this_scheduler::set_harts");
}

// Of the calling thread's quota under a space-efficient scheduler: before it allocates, which may switch, and after it
// has freed.
inline void charge(std::size_t bytes) noexcept { comity_scheduler_charge(bytes); }
inline void credit(std::size_t bytes) noexcept { comity_scheduler_credit(bytes); }

} // namespace this_scheduler

} // namespace comity
