// What a tool is told of gcc's worksharing constructs.
#pragma once

#include "personality/openmp/ompt/hooks.hpp"
#include "personality/openmp/region.hpp"

namespace comity::openmp {

// The caller's chunk; gives `result` back.
template <class T> [[gnu::always_inline]] inline T tell_chunk(T result, ompt::dispatch_kind kind) noexcept {
    const auto tell = [=](ompt::call_site) {
        const thread *t = self;
        const loop &l = *t->loop;
        ompt::chunk(kind, l.start + t->chunk_begin * l.step, t->chunk_end - t->chunk_begin);
        return result;
    };
    return ompt::either(tell, [=] { return result; }, {});
}

// The construct has been left; its end, and the barrier there.
inline void end_watched(ompt::work_kind kind, ompt::call_site at) noexcept {
    ompt::work(kind, ompt::endpoint::end, 0, at);
    ompt::synchronize(ompt::sync_kind::barrier_workshare, at, [] { barrier(self); });
}
inline bool end_watched_cancel(ompt::work_kind kind, ompt::call_site at) noexcept {
    ompt::work(kind, ompt::endpoint::end, 0, at);
    return ompt::synchronize(ompt::sync_kind::barrier_workshare, at, [] { return barrier_or_cancel(self); });
}

// What waits in an ordered region is told apart by the loop.
inline const void *ordered_of(const thread *t) noexcept {
    return t->share ? static_cast<const void *>(t->share) : static_cast<const void *>(t->team);
}

} // namespace comity::openmp
