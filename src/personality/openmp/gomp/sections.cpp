// sections, single, scope and the reductions of worksharing constructs.
#include "personality/openmp/gomp/abi.hpp"
#include "personality/openmp/gomp/share_extras.hpp"
#include "personality/openmp/gomp/watched.hpp"
#include "personality/openmp/region.hpp"

using namespace comity::openmp;

namespace {

unsigned next_section() noexcept {
    std::uint64_t number, end;
    if (!next_chunk(self, number, end)) return 0;
    return tell_chunk(static_cast<unsigned>(number), ompt::dispatch_kind::section);
}

} // namespace

// The number of a section; 0: there are no more.
COMITY_GOMP unsigned GOMP_sections_start(unsigned count) noexcept {
    thread *t = current();
    if (ompt::on()) ompt::work(ompt::work_kind::sections, ompt::endpoint::begin, count, COMITY_OMPT_HERE);
    enter_loop(t, sections_loop(count));
    return next_section();
}

COMITY_GOMP unsigned GOMP_sections2_start(unsigned count, std::uintptr_t *reductions, void **memory) noexcept {
    thread *t = current();
    if (ompt::on()) ompt::work(ompt::work_kind::sections, ompt::endpoint::begin, count, COMITY_OMPT_HERE);
    begin_extras(t, reductions);
    const bool first = enter_share(t);
    if (first) fill_loop(t, t->size, t->share, sections_loop(count));
    join_extras(t, first, reductions, memory);
    if (first) publish_share(t);
    return next_section();
}

COMITY_GOMP unsigned GOMP_sections_next() noexcept { return next_section(); }

COMITY_GOMP void GOMP_sections_end() noexcept {
    leave_share(self);
    ompt::either([](ompt::call_site at) { end_watched(ompt::work_kind::sections, at); }, [] { barrier(self); },
                 COMITY_OMPT_HERE);
}

COMITY_GOMP bool GOMP_sections_end_cancel() noexcept {
    leave_share(self);
    return ompt::either([](ompt::call_site at) { return end_watched_cancel(ompt::work_kind::sections, at); },
                        [] { return barrier_or_cancel(self); }, COMITY_OMPT_HERE);
}

COMITY_GOMP void GOMP_sections_end_nowait() noexcept {
    leave_share(self);
    ompt::tell_last([](ompt::call_site at) { ompt::work(ompt::work_kind::sections, ompt::endpoint::end, 0, at); },
                    COMITY_OMPT_HERE);
}

// gcc does not say where a single region ends, so a tool is told begin and end at once.
COMITY_GOMP bool GOMP_single_start() noexcept {
    const bool mine = take_single(current());
    const auto tell = [=](ompt::call_site at) {
        ompt::single(mine, at);
        if (mine) ompt::work(ompt::work_kind::single_executor, ompt::endpoint::end, 1, at);
        return mine;
    };
    return ompt::either(
        tell, [=] { return mine; }, COMITY_OMPT_HERE);
}

// copyprivate: null for the rank that executes the region; the others wait for its data. A barrier follows in the
// program before the data goes away.
COMITY_GOMP void *GOMP_single_copy_start() noexcept {
    thread *t = current();
    if (take_single(t)) return nullptr;
    barrier(t);
    return t->team->copyprivate.load(std::memory_order_relaxed); // ordered by the barrier
}

COMITY_GOMP void GOMP_single_copy_end(void *data) noexcept {
    thread *t = current();
    t->team->copyprivate.store(data, std::memory_order_relaxed);
    barrier(t);
}

COMITY_GOMP void GOMP_scope_start(std::uintptr_t *reductions) noexcept {
    thread *t = current();
    begin_extras(t, reductions);
    const bool first = enter_share(t);
    join_extras(t, first, reductions, nullptr);
    if (first) publish_share(t);
    // Only its reductions are shared; they must live until all ranks have joined, which leaving by all ensures.
    leave_share(t);
}

COMITY_GOMP void GOMP_workshare_task_reduction_unregister(bool cancelled) noexcept {
    thread *t = current();
    std::uintptr_t *reductions = t->task->group->reductions;
    end_group(t);
    if (t->rank == 0) unregister_reductions(reductions);
    if (!cancelled) barrier(t);
}
