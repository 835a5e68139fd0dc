// Loops that the compiler deals out itself once it knows the rank's first chunk: static schedules, and those of
// distribute, where the teams of a league take the ranks' place. All arithmetic wraps, as the compiler's does.
#include <type_traits>

#include "personality/openmp/kmp/abi.hpp"
#include "personality/openmp/kmp/schedule.hpp"
#include "personality/openmp/ompt/hooks.hpp"
#include "personality/openmp/thread.hpp"
#include "personality/openmp/work_share.hpp"

using namespace comity::openmp;
using namespace comity::openmp::kmp;

namespace {

// Who takes part: `me` of `size`.
struct share_of {
    u64 me, size;
};

share_of ranks(const thread *t) noexcept { return {t->rank, t->size}; }
share_of teams() noexcept {
    const thread *t = initial_thread();
    return {t->team_number, t->teams};
}

// A loop as the compiler gives it, with both bounds its own; `stride` is how far a rank's next chunk is.
template <class T> struct bounds {
    using wide = std::make_unsigned_t<T>;
    using step_type = std::make_signed_t<T>;
    wide lower, upper, step, stride = 0;
    bool last = false;

    bounds(T from, T to, step_type increment) noexcept
        : lower(static_cast<wide>(from)),
          upper(static_cast<wide>(to)),
          step(static_cast<wide>(increment)),
          rising_(increment > 0),
          empty_(rising_ ? to < from : from < to) {}

    bool empty() const noexcept { return empty_; }
    bool rising() const noexcept { return rising_; }
    // How many iterations: none if the bounds are 0 and the greatest value, which is what flang makes of an empty loop.
    wide trips() const noexcept {
        if (step == 1) return upper - lower + 1;
        return rising_ ? (upper - lower) / step + 1 : (lower - upper) / (wide{0} - step) + 1;
    }
    bool beyond(wide a, wide limit) const noexcept {
        return rising_ ? static_cast<T>(a) > static_cast<T>(limit) : static_cast<T>(a) < static_cast<T>(limit);
    }
    void keep_none() noexcept { lower = upper + step; }

private:
    bool rising_, empty_;
};

// One block each, sizes differing by one at most.
template <class T> void take_block(bounds<T> &b, share_of who) noexcept {
    using wide = typename bounds<T>::wide;
    const auto me = static_cast<wide>(who.me), size = static_cast<wide>(who.size);
    const wide trips = b.trips();
    b.stride = trips;
    if (trips < size) {
        b.last = me + 1 == trips;
        if (me < trips)
            b.upper = b.lower = b.lower + me * b.step;
        else
            b.keep_none();
        return;
    }
    const wide share = trips / size, rest = trips % size;
    b.lower += b.step * (me * share + (me < rest ? me : rest));
    b.upper = b.lower + share * b.step - (me < rest ? wide{0} : b.step);
    b.last = me == size - 1;
}

// Chunks in turn: the first of them, and the distance to the next.
template <class T> void take_chunk(bounds<T> &b, share_of who, typename bounds<T>::step_type chunk) noexcept {
    using wide = typename bounds<T>::wide;
    const wide trips = b.trips();
    wide size = chunk < 1 ? wide{1} : static_cast<wide>(chunk);
    if (trips != 0 && size > trips) size = trips;
    const wide span = size * b.step;
    b.stride = span * static_cast<wide>(who.size);
    b.last = static_cast<wide>(who.me) == static_cast<wide>(trips - 1) / size % static_cast<wide>(who.size);
    b.lower += span * static_cast<wide>(who.me);
    b.upper = b.lower + span - b.step;
}

// One block each whose size is a multiple of `chunk`, a power of two, for vector code.
template <class T> void take_padded_block(bounds<T> &b, share_of who, typename bounds<T>::step_type chunk) noexcept {
    using wide = typename bounds<T>::wide;
    const wide trips = b.trips(), size = static_cast<wide>(who.size), me = static_cast<wide>(who.me);
    const wide unit = chunk < 1 ? wide{1} : static_cast<wide>(chunk);
    const wide span = (trips / size + (trips % size != 0) + unit - 1) / unit * unit;
    const wide end = b.upper;
    b.stride = trips;
    if (trips != 0 && me > (trips - 1) / span) {
        b.keep_none();
        return;
    }
    b.last = trips != 0 && me == (trips - 1) / span;
    b.lower += me * span * b.step;
    b.upper = b.last ? end : b.lower + (span - 1) * b.step;
}

template <class T>
void take_part(bounds<T> &b, share_of who, i32 schedule, typename bounds<T>::step_type chunk) noexcept {
    if (who.size == 1) {
        b.last = true;
        b.stride = b.rising() ? b.upper - b.lower + 1 : typename bounds<T>::wide{0} - (b.lower - b.upper + 1);
        return;
    }
    switch (schedule & ~schedule_modifiers) {
    case static_chunked:
    case ordered_static_chunked:
    case distribute_static_chunked:
        return take_chunk(b, who, chunk);
    case static_balanced_chunked:
        return take_padded_block(b, who, chunk);
    default:
        return take_block(b, who);
    }
}

template <class T> void store(const bounds<T> &b, i32 *last, T *lower, T *upper) noexcept {
    if (last) *last = b.last;
    *lower = static_cast<T>(b.lower);
    *upper = static_cast<T>(b.upper);
}

// A worksharing loop among the ranks, or with the schedules of distribute among the teams.
template <class T, class S>
void init(i32 schedule, i32 *last, T *lower, T *upper, S *stride, S step, S chunk) noexcept {
    thread *t = self;
    if (t->share) [[unlikely]] // that of a loop that was left by cancel
        leave_share(t);
    bounds<T> b(*lower, *upper, step);
    if (b.empty()) {
        if (last) *last = 0;
        *stride = step;
        return;
    }
    const i32 plain = schedule & ~schedule_modifiers;
    const bool among_teams = plain == distribute_static || plain == distribute_static_chunked;
    take_part(b, among_teams ? teams() : ranks(t), schedule, chunk);
    store(b, last, lower, upper);
    *stride = static_cast<S>(b.stride);
}

// distribute and for in one: the team's block first (its end goes to *team_upper), then the rank's part of it.
template <class T, class S>
void init_both(i32 schedule, i32 *last, T *lower, T *upper, T *team_upper, S *stride, S step, S chunk) noexcept {
    bounds<T> team(*lower, *upper, step);
    if (team.empty()) {
        if (last) *last = 0;
        *team_upper = *upper;
        *stride = step;
        return;
    }
    take_part(team, teams(), distribute_static, S{0});
    *team_upper = static_cast<T>(team.upper);
    if (team.beyond(team.lower, team.upper)) { // nothing for this team
        team.last = false;
        store(team, last, lower, upper);
        *stride = step;
        return;
    }
    bounds<T> mine(static_cast<T>(team.lower), static_cast<T>(team.upper), step);
    take_part(mine, ranks(self), schedule, chunk);
    mine.last = mine.last && team.last;
    store(mine, last, lower, upper);
    *stride = static_cast<S>(mine.stride);
}

// distribute with chunks.
template <class T, class S> void init_team(i32 *last, T *lower, T *upper, S *stride, S step, S chunk) noexcept {
    bounds<T> b(*lower, *upper, step);
    if (b.empty()) {
        if (last) *last = 0;
        *stride = step;
        return;
    }
    const auto end = b.upper;
    take_chunk(b, teams(), chunk);
    if (b.beyond(b.upper, end)) b.upper = end;
    store(b, last, lower, upper);
    *stride = static_cast<S>(b.stride);
}

ompt::work_kind work_of(const ident *where) noexcept {
    const i32 flags = where ? where->flags : 0;
    return flags & ident_sections     ? ompt::work_kind::sections
           : flags & ident_distribute ? ompt::work_kind::distribute
                                      : ompt::work_kind::loop;
}

template <class T, class S> void tell_begin(const ident *where, T lower, T upper, S step, ompt::call_site at) noexcept {
    const bounds<T> b(lower, upper, step);
    ompt::work(work_of(where), ompt::endpoint::begin, b.empty() ? 0 : b.trips(), at);
}

} // namespace

#define STATIC_LOOP(SUFFIX, T, S)                                                                                      \
    COMITY_KMP void __kmpc_for_static_init_##SUFFIX(const ident *where, i32, i32 schedule, i32 *last, T *lower,        \
                                                    T *upper, S *stride, S step, S chunk) noexcept {                   \
        if (ompt::on()) tell_begin(where, *lower, *upper, step, COMITY_OMPT_HERE);                                     \
        init(schedule, last, lower, upper, stride, step, chunk);                                                       \
    }                                                                                                                  \
    COMITY_KMP void __kmpc_dist_for_static_init_##SUFFIX(const ident *where, i32, i32 schedule, i32 *last, T *lower,   \
                                                         T *upper, T *team_upper, S *stride, S step,                   \
                                                         S chunk) noexcept {                                           \
        if (ompt::on()) tell_begin(where, *lower, *upper, step, COMITY_OMPT_HERE);                                     \
        init_both(schedule, last, lower, upper, team_upper, stride, step, chunk);                                      \
    }                                                                                                                  \
    COMITY_KMP void __kmpc_team_static_init_##SUFFIX(const ident *, i32, i32 *last, T *lower, T *upper, S *stride,     \
                                                     S step, S chunk) noexcept {                                       \
        init_team(last, lower, upper, stride, step, chunk);                                                            \
    }
STATIC_LOOP(4, i32, i32)
STATIC_LOOP(4u, u32, i32)
STATIC_LOOP(8, i64, i64)
STATIC_LOOP(8u, u64, i64)

COMITY_KMP void __kmpc_for_static_fini(const ident *where, i32) noexcept {
    ompt::tell_last([=](ompt::call_site at) { ompt::work(work_of(where), ompt::endpoint::end, 0, at); },
                    COMITY_OMPT_HERE);
}
// Intel's compilers end distribute and for in one by this.
COMITY_KMP void __kmpc_dist_for_static_fini(const ident *where, i32) noexcept {
    ompt::tell_last([=](ompt::call_site at) { ompt::work(work_of(where), ompt::endpoint::end, 0, at); },
                    COMITY_OMPT_HERE);
}
