// Loops over long and over unsigned long long, in every schedule, ordered and not.
// Whatever a loop's start function was, each of the _next functions goes on with it, for the schedule is the
// construct's.
#include "personality/openmp/check.hpp"
#include "personality/openmp/gomp/abi.hpp"
#include "personality/openmp/gomp/share_extras.hpp"
#include "personality/openmp/gomp/watched.hpp"
#include "personality/openmp/plain_loop.hpp"
#include "personality/openmp/region.hpp"

using namespace comity::openmp;
using ull = unsigned long long;

namespace {

template <class T> bool next(T *from, T *to) noexcept {
    thread *t = self;
    work_share *share = t->share;
    std::uint64_t begin, end;
    const bool some = share && t->loop->plain ? next_plain_chunk(t, share, begin, end) : next_chunk(t, begin, end);
    if (!some) return false;
    *from = static_cast<T>(begin);
    *to = static_cast<T>(end);
    return tell_chunk(true, ompt::dispatch_kind::loop_chunk);
}

template <class T> bool start(const loop &l, T *from, T *to, ompt::call_site at) noexcept {
    thread *t = current();
    if (ompt::on()) ompt::work(ompt::work_kind::loop, ompt::endpoint::begin, l.count, at);
    enter_loop(t, l);
    return next(from, to);
}

loop ordered(loop l) noexcept {
    l.ordered = true;
    return l;
}

// The general form's schedule: the kind, with a bit for monotonic.
schedule_kind kind_of(long schedule) noexcept {
    return static_cast<schedule_kind>(static_cast<unsigned long>(schedule) & 0xf);
}

template <class T>
bool start_with_extras(const loop &l, T *from, T *to, std::uintptr_t *reductions, void **memory,
                       ompt::call_site at) noexcept {
    thread *t = current();
    if (ompt::on()) {
        ompt::work(ompt::work_kind::loop, ompt::endpoint::begin, l.count, at);
        // A loop that the compiler deals out itself may have barriers of the compiler's: scan.
        if (!from && check::on) check::left(check::construct::loop);
    }
    begin_extras(t, reductions);
    const bool first = enter_share(t);
    if (first) fill_loop(t, t->size, t->share, l);
    join_extras(t, first, reductions, memory);
    if (first) publish_share(t);
    return !from || next(from, to);
}

} // namespace

#define LOOP(NAME, KIND, WRAP)                                                                                         \
    COMITY_GOMP bool GOMP_loop_##NAME##_start(long first_iteration, long end, long step, long chunk, long *from,       \
                                              long *to) noexcept {                                                     \
        return start(WRAP(signed_loop(first_iteration, end, step, schedule_kind::KIND, chunk)), from, to,              \
                     COMITY_OMPT_HERE);                                                                                \
    }                                                                                                                  \
    COMITY_GOMP bool GOMP_loop_ull_##NAME##_start(bool up, ull first_iteration, ull end, ull step, ull chunk,          \
                                                  ull *from, ull *to) noexcept {                                       \
        return start(WRAP(unsigned_loop(up, first_iteration, end, step, schedule_kind::KIND, chunk)), from, to,        \
                     COMITY_OMPT_HERE);                                                                                \
    }                                                                                                                  \
    NEXT(NAME)
#define LOOP_RUNTIME(NAME, WRAP)                                                                                       \
    COMITY_GOMP bool GOMP_loop_##NAME##_start(long first_iteration, long end, long step, long *from,                   \
                                              long *to) noexcept {                                                     \
        return start(WRAP(signed_loop(first_iteration, end, step, schedule_kind::runtime, 0)), from, to,               \
                     COMITY_OMPT_HERE);                                                                                \
    }                                                                                                                  \
    COMITY_GOMP bool GOMP_loop_ull_##NAME##_start(bool up, ull first_iteration, ull end, ull step, ull *from,          \
                                                  ull *to) noexcept {                                                  \
        return start(WRAP(unsigned_loop(up, first_iteration, end, step, schedule_kind::runtime, 0)), from, to,         \
                     COMITY_OMPT_HERE);                                                                                \
    }                                                                                                                  \
    NEXT(NAME)
#define NEXT(NAME)                                                                                                     \
    COMITY_GOMP bool GOMP_loop_##NAME##_next(long *from, long *to) noexcept { return next(from, to); }                 \
    COMITY_GOMP bool GOMP_loop_ull_##NAME##_next(ull *from, ull *to) noexcept { return next(from, to); }

LOOP(static, fixed, )
LOOP(dynamic, dynamic, )
LOOP(guided, guided, )
LOOP(nonmonotonic_dynamic, dynamic, )
LOOP(nonmonotonic_guided, guided, )
LOOP_RUNTIME(runtime, )
LOOP_RUNTIME(nonmonotonic_runtime, )
LOOP_RUNTIME(maybe_nonmonotonic_runtime, )
LOOP(ordered_static, fixed, ordered)
LOOP(ordered_dynamic, dynamic, ordered)
LOOP(ordered_guided, guided, ordered)
LOOP_RUNTIME(ordered_runtime, ordered)

COMITY_GOMP bool GOMP_loop_start(long first_iteration, long end, long step, long schedule, long chunk, long *from,
                                 long *to, std::uintptr_t *reductions, void **memory) noexcept {
    return start_with_extras(signed_loop(first_iteration, end, step, kind_of(schedule), chunk), from, to, reductions,
                             memory, COMITY_OMPT_HERE);
}

COMITY_GOMP bool GOMP_loop_ull_start(bool up, ull first_iteration, ull end, ull step, long schedule, ull chunk,
                                     ull *from, ull *to, std::uintptr_t *reductions, void **memory) noexcept {
    return start_with_extras(unsigned_loop(up, first_iteration, end, step, kind_of(schedule), chunk), from, to,
                             reductions, memory, COMITY_OMPT_HERE);
}

COMITY_GOMP bool GOMP_loop_ordered_start(long first_iteration, long end, long step, long schedule, long chunk,
                                         long *from, long *to, std::uintptr_t *reductions, void **memory) noexcept {
    const loop l = ordered(signed_loop(first_iteration, end, step, kind_of(schedule), chunk));
    return start_with_extras(l, from, to, reductions, memory, COMITY_OMPT_HERE);
}

COMITY_GOMP bool GOMP_loop_ull_ordered_start(bool up, ull first_iteration, ull end, ull step, long schedule, ull chunk,
                                             ull *from, ull *to, std::uintptr_t *reductions, void **memory) noexcept {
    const loop l = ordered(unsigned_loop(up, first_iteration, end, step, kind_of(schedule), chunk));
    return start_with_extras(l, from, to, reductions, memory, COMITY_OMPT_HERE);
}

COMITY_GOMP void GOMP_loop_end() noexcept {
    leave_share(self);
    ompt::either([](ompt::call_site at) { end_watched(ompt::work_kind::loop, at); }, [] { barrier(self); },
                 COMITY_OMPT_HERE);
}

COMITY_GOMP bool GOMP_loop_end_cancel() noexcept {
    leave_share(self);
    return ompt::either([](ompt::call_site at) { return end_watched_cancel(ompt::work_kind::loop, at); },
                        [] { return barrier_or_cancel(self); }, COMITY_OMPT_HERE);
}

COMITY_GOMP void GOMP_loop_end_nowait() noexcept {
    leave_share(self);
    ompt::tell_last([](ompt::call_site at) { ompt::work(ompt::work_kind::loop, ompt::endpoint::end, 0, at); },
                    COMITY_OMPT_HERE);
}

COMITY_GOMP void GOMP_ordered_start() noexcept {
    ompt::either([](ompt::call_site at) { ompt::enter_ordered(ordered_of(self), at, [] { await_turn(self); }); },
                 [] { await_turn(current()); }, COMITY_OMPT_HERE);
}

// The turn passes when the chunk is done (next_chunk): ordered regions of one chunk need not wait for each other.
COMITY_GOMP void GOMP_ordered_end() noexcept {
    ompt::tell_last([](ompt::call_site at) { ompt::released(ompt::mutex_kind::ordered, ordered_of(self), at); },
                    COMITY_OMPT_HERE);
}
