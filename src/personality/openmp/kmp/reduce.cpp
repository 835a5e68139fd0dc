// Reductions of regions and worksharing constructs. The compiler has code for each way of doing them and asks which:
// 1: the caller combines its copy with the variable alone; 2: by atomic operations; 0: somebody else does it for the
// caller.
#include <strings.h>

#include "personality/openmp/environment.hpp"
#include "personality/openmp/kmp/abi.hpp"
#include "personality/openmp/lock.hpp"
#include "personality/openmp/ompt/hooks.hpp"
#include "personality/openmp/region.hpp"
#include "sys/message.hpp"
#include "sys/process.hpp"

using namespace comity::openmp;
using namespace comity::openmp::kmp;

namespace {

enum reduction_way : std::uint8_t {
    alone,     // a team of one
    locked,    // one rank after the other
    by_atomic, // all at once
    gathered,  // rank 0 combines all copies in the order of ranks: the result does not depend on who comes when
};

using combine_function = void (*)(void *into, void *from);

// What KMP_FORCE_REDUCTION and KMP_DETERMINISTIC_REDUCTION say; `alone`: nothing.
reduction_way read_wanted() noexcept {
    const char *text = process.deterministic_reduction;
    bool deterministic = false;
    if (text && !read_flag(text, deterministic))
        comity::sys::warn("KMP_DETERMINISTIC_REDUCTION=\"%s\": not true or false; using false", text);
    text = process.force_reduction;
    if (text && !::strcasecmp(text, "critical")) return locked;
    if (text && !::strcasecmp(text, "atomic")) return by_atomic;
    if (text && !::strcasecmp(text, "tree")) return gathered;
    if (text) comity::sys::warn("KMP_FORCE_REDUCTION=\"%s\": not critical, atomic or tree; using what suits", text);
    return deterministic ? gathered : alone;
}

// Nobody waits in the first two, which suits ranks that take turns on harts; an atomic operation for each variable
// costs less than a lock as long as there are few.
reduction_way choose(const thread *t, const ident *where, i32 variables, const void *data,
                     combine_function combine) noexcept {
    constexpr i32 few = 2;
    const bool in_league = !t->team->parent && t->teams > 1; // it combines what the league's teams have
    if (t->size == 1 && !in_league) return alone;
    const bool has_atomics = where && (where->flags & ident_atomic_reduce);
    // At the first reduction: processes under comity run that have none say nothing of bad values.
    const reduction_way wanted = comity::sys::made_once([] { return read_wanted(); });
    if (wanted == gathered && !in_league && data && combine) return gathered;
    if (has_atomics && wanted != locked && (variables <= few || wanted == by_atomic)) return by_atomic;
    return locked;
}

void gather(thread *t, void *data, combine_function combine) noexcept {
    if (enter_share(t)) {
        share_memory(t->share, t->size * sizeof(void *));
        publish_share(t);
    }
    work_share *share = t->share;
    if (!share) return; // the region was cancelled
    t->share = nullptr;
    auto **all = static_cast<void **>(share->memory);
    all[t->rank] = data;
    if (!barrier_or_cancel(t)) { // else not all have come, and those who have go on to the region's end
        if (t->rank == 0)
            for (unsigned i = 1; i < t->size; ++i) combine(data, all[i]);
        barrier(t); // the copies are the ranks' own until then; all are here, so nobody can cancel the region
    }
    leave(t->team, share);
}

void end_barrier(thread *t, ompt::call_site at) noexcept {
    if (ompt::on()) return ompt::synchronize(ompt::sync_kind::barrier_workshare, at, [] { barrier(self); });
    barrier(t);
}

word_lock &lock_of(critical_name *name) noexcept { return *reinterpret_cast<word_lock *>(name); }

i32 begin(const ident *where, i32 variables, void *data, combine_function combine, critical_name *name) noexcept {
    thread *t = current();
    const reduction_way way = choose(t, where, variables, data, combine);
    t->reduction = way;
    switch (way) {
    case locked:
        lock_of(name).lock();
        return 1;
    case by_atomic:
        return 2;
    case gathered:
        gather(t, data, combine);
        return t->rank == 0;
    default:
        return 1;
    }
}

} // namespace

COMITY_KMP i32 __kmpc_reduce_nowait(const ident *where, i32, i32 variables, std::size_t, void *data,
                                    combine_function combine, critical_name *name) noexcept {
    const i32 part = begin(where, variables, data, combine, name);
    if (part == 1 && ompt::on()) ompt::reduction(ompt::endpoint::begin, COMITY_OMPT_HERE);
    return part;
}
COMITY_KMP void __kmpc_end_reduce_nowait(const ident *, i32, critical_name *name) noexcept {
    if (ompt::on()) ompt::reduction(ompt::endpoint::end, COMITY_OMPT_HERE);
    if (self->reduction == locked) lock_of(name).unlock();
}

// With a barrier at the end, which those whose copies were gathered come to here and the others after their part.
COMITY_KMP i32 __kmpc_reduce(const ident *where, i32, i32 variables, std::size_t, void *data, combine_function combine,
                             critical_name *name) noexcept {
    const i32 part = begin(where, variables, data, combine, name);
    if (part == 1 && ompt::on()) ompt::reduction(ompt::endpoint::begin, COMITY_OMPT_HERE);
    if (part == 0) end_barrier(self, COMITY_OMPT_HERE);
    return part;
}
COMITY_KMP void __kmpc_end_reduce(const ident *, i32, critical_name *name) noexcept {
    thread *t = self;
    if (t->reduction != by_atomic && ompt::on()) ompt::reduction(ompt::endpoint::end, COMITY_OMPT_HERE);
    if (t->reduction == locked) lock_of(name).unlock();
    if (t->reduction != alone) end_barrier(t, COMITY_OMPT_HERE);
}

// Of the region's last reduction, for the original's tests.
COMITY_KMP i32 __kmp_get_reduce_method() noexcept { return self->reduction; }
