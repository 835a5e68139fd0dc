// Loops whose chunks the runtime deals out: dynamic, guided, runtime, and everything ordered.
#include <type_traits>

#include "personality/openmp/kmp/abi.hpp"
#include "personality/openmp/kmp/schedule.hpp"
#include "personality/openmp/ompt/hooks.hpp"
#include "personality/openmp/thread.hpp"
#include "personality/openmp/work_share.hpp"

using namespace comity::openmp;
using namespace comity::openmp::kmp;

namespace {

schedule_kind kind_of(i32 plain, bool &takes_chunk) noexcept {
    takes_chunk = true;
    switch (plain) {
    case static_chunked:
    case static_balanced_chunked:
        return schedule_kind::fixed;
    case dynamic_chunked:
    case static_steal:
        return schedule_kind::dynamic;
    case guided_chunked:
    case trapezoidal:
    case guided_iterative:
    case guided_analytical:
    case guided_simd:
        return schedule_kind::guided;
    case at_run_time:
    case at_run_time_simd:
        takes_chunk = false;
        return schedule_kind::runtime;
    default:
        takes_chunk = false;
        return schedule_kind::fixed;
    }
}

// `loop` as the core has it: the iterations' number, and values as 64-bit patterns.
template <class T, class S> loop loop_of(T lower, T upper, S step) noexcept {
    loop l;
    l.start = static_cast<u64>(lower); // with its sign, if it has one
    l.end = static_cast<u64>(upper);
    l.step = static_cast<u64>(static_cast<i64>(step));
    if (step > 0 && lower <= upper)
        l.count = (l.end - l.start) / l.step + 1;
    else if (step < 0 && lower >= upper)
        l.count = (l.start - l.end) / (u64{0} - l.step) + 1;
    return l;
}

// Chunks are to be multiples of `width`, the vector's: static ones one block each.
void set_vector_schedule(const thread *t, loop &l, u64 width) noexcept {
    l.chunk = width;
    if (l.kind == schedule_kind::runtime) {
        resolve_schedule(t, l);
        const int said = icv_of(t).chunk;
        l.chunk = (said > 0 ? static_cast<u64>(said) : 1) * width;
        if (l.kind == schedule_kind::fixed && said <= 0)
            l.chunk = width;
        else if (l.kind == schedule_kind::fixed)
            return;
    }
    l.whole_chunks = l.kind == schedule_kind::guided;
    if (l.kind != schedule_kind::fixed) return;
    const u64 share = l.count / t->size + (l.count % t->size != 0);
    l.chunk = (share + width - 1) / width * width;
}

// The compiler's number for a schedule, taken apart.
struct schedule_code {
    i32 plain;
    bool merges, ordered;

    explicit schedule_code(i32 code) noexcept : plain(code & ~schedule_modifiers) {
        merges = plain < no_merge_offset;
        if (!merges) plain -= no_merge_offset;
        ordered = plain >= ordered_static_chunked - 1;
        if (ordered) plain -= ordered_offset;
    }
    bool is_at_run_time() const noexcept { return plain == at_run_time || plain == at_run_time_simd; }
};

void set_schedule(const thread *t, loop &l, const schedule_code &code, i64 chunk) noexcept {
    l.ordered = code.ordered;
    bool takes_chunk;
    l.kind = kind_of(code.plain, takes_chunk);
    l.chunk = takes_chunk && chunk > 0 ? static_cast<u64>(chunk) : 0;
    if (l.kind == schedule_kind::runtime && !icv_of(t).schedule_given) l.kind = schedule_kind::fixed;
    if (code.plain == static_balanced_chunked || code.plain == guided_simd || code.plain == at_run_time_simd)
        set_vector_schedule(t, l, chunk > 1 ? static_cast<u64>(chunk) : 1);
    if (t->size == 1 && code.merges && !l.ordered) { // all at once
        l.kind = schedule_kind::fixed;
        l.chunk = 0;
    }
}

void begin(thread *t, loop l, i32 schedule, i64 chunk) noexcept {
    const schedule_code code(schedule);
    set_schedule(t, l, code, chunk);
    // At run time it is said by variables, of which the first rank's count.
    code.is_at_run_time() ? enter_shared_loop(t, l) : enter_loop(t, l);
}

template <class T, class S> i32 next(i32 *last, T *lower, T *upper, S *stride) noexcept {
    thread *t = self;
    u64 from, to;
    if (!next_chunk(t, from, to)) {
        leave_share(t);
        return 0;
    }
    const loop &l = *t->loop;
    *lower = static_cast<T>(from);
    *upper = static_cast<T>(l.start + (t->chunk_end - 1) * l.step);
    if (stride) *stride = static_cast<S>(l.step);
    if (last) *last = t->chunk_end == l.count;
    return 1;
}

// The team's block of a league's loop; false if there is none.
template <class T, class S> bool take_team_block(T &lower, T &upper, S step, bool &is_last) noexcept {
    const thread *t = initial_thread();
    loop l = loop_of(lower, upper, step);
    const u64 share = l.count / t->teams, rest = l.count % t->teams, me = t->team_number;
    const u64 first = me * share + (me < rest ? me : rest), count = share + (me < rest);
    is_last = first + count == l.count && count;
    lower = static_cast<T>(l.start + first * l.step);
    upper = static_cast<T>(l.start + (first + count - 1) * l.step);
    return count;
}

template <class T, class S> void begin_both(i32 schedule, i32 *last, T lower, T upper, S step, S chunk) noexcept {
    bool is_last;
    loop l = loop_of(lower, upper, step);
    if (take_team_block(lower, upper, step, is_last))
        l = loop_of(lower, upper, step);
    else
        l.count = 0;
    if (last) *last = is_last;
    begin(current(), l, schedule, chunk);
}

void tell_begin(u64 count, ompt::call_site at) noexcept {
    ompt::work(ompt::work_kind::loop, ompt::endpoint::begin, count, at);
}

// A chunk, or the loop's end.
[[gnu::always_inline]] inline i32 tell_next(i32 more, ompt::call_site at) noexcept {
    const auto tell = [=](ompt::call_site p) {
        const thread *t = self;
        if (more)
            ompt::chunk(ompt::dispatch_kind::loop_chunk, t->loop->start + t->chunk_begin * t->loop->step,
                        t->chunk_end - t->chunk_begin);
        else
            ompt::work(ompt::work_kind::loop, ompt::endpoint::end, 0, p);
        return more;
    };
    return ompt::either(
        tell, [=] { return more; }, at);
}

// What waits in an ordered region is told apart by the loop.
const void *ordered_of(const thread *t) noexcept {
    return t->share ? static_cast<const void *>(t->share) : static_cast<const void *>(t->team);
}

} // namespace

#define DISPATCH(SUFFIX, T, S)                                                                                         \
    COMITY_KMP void __kmpc_dispatch_init_##SUFFIX(const ident *, i32, i32 schedule, T lower, T upper, S step,          \
                                                  S chunk) noexcept {                                                  \
        const loop l = loop_of(lower, upper, step);                                                                    \
        begin(current(), l, schedule, chunk);                                                                          \
        if (ompt::on()) tell_begin(l.count, COMITY_OMPT_HERE);                                                         \
    }                                                                                                                  \
    COMITY_KMP void __kmpc_dist_dispatch_init_##SUFFIX(const ident *, i32, i32 schedule, i32 *last, T lower, T upper,  \
                                                       S step, S chunk) noexcept {                                     \
        begin_both(schedule, last, lower, upper, step, chunk);                                                         \
        if (ompt::on()) tell_begin(loop_of(lower, upper, step).count, COMITY_OMPT_HERE);                               \
    }                                                                                                                  \
    COMITY_KMP i32 __kmpc_dispatch_next_##SUFFIX(const ident *, i32, i32 *last, T *lower, T *upper,                    \
                                                 S *stride) noexcept {                                                 \
        const i32 more = next(last, lower, upper, stride);                                                             \
        return tell_next(more, COMITY_OMPT_HERE);                                                                      \
    }                                                                                                                  \
    /* After each iteration of an ordered loop. The turn passes when the chunk is done, in _next. */                   \
    COMITY_KMP void __kmpc_dispatch_fini_##SUFFIX(const ident *, i32) noexcept {}
DISPATCH(4, i32, i32)
DISPATCH(4u, u32, i32)
DISPATCH(8, i64, i64)
DISPATCH(8u, u64, i64)

// After the loop; _next has left it.
COMITY_KMP void __kmpc_dispatch_deinit(const ident *, i32) noexcept {}

COMITY_KMP void __kmpc_ordered(const ident *, i32) noexcept {
    ompt::either([](ompt::call_site at) { ompt::enter_ordered(ordered_of(self), at, [] { await_turn(self); }); },
                 [] { await_turn(current()); }, COMITY_OMPT_HERE);
}
COMITY_KMP void __kmpc_end_ordered(const ident *, i32) noexcept {
    ompt::tell_last([](ompt::call_site at) { ompt::released(ompt::mutex_kind::ordered, ordered_of(self), at); },
                    COMITY_OMPT_HERE);
}

COMITY_KMP void __kmpc_doacross_init(const ident *, i32, i32 dimensions, const doacross_loop *loops) noexcept {
    enter_doacross(current(), static_cast<unsigned>(dimensions), loops);
}
namespace {
void tell_iteration(ompt::depend_kind kind, const i64 *values) noexcept {
    if (const work_share *share = self->iterations) ompt::iteration(kind, share->doacross.dimensions, values);
}
} // namespace

COMITY_KMP void __kmpc_doacross_post(const ident *, i32, const i64 *values) noexcept {
    post_values(self, values);
    if (ompt::on()) tell_iteration(ompt::depend_kind::source, values);
}
COMITY_KMP void __kmpc_doacross_wait(const ident *, i32, const i64 *values) noexcept {
    const bool exists = await_values(self, values);
    if (exists && ompt::on()) tell_iteration(ompt::depend_kind::sink, values);
}
COMITY_KMP void __kmpc_doacross_fini(const ident *, i32) noexcept { leave_doacross(self); }
