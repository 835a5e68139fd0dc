// parallel, its combined forms, and cancellation.
#include "personality/openmp/blas_caller.hpp"
#include "personality/openmp/gomp/abi.hpp"
#include "personality/openmp/legacy_region.hpp"
#include "personality/openmp/ompt/hooks.hpp"
#include "personality/openmp/region.hpp"

using namespace comity::openmp;

namespace {

// The clause proc_bind, an omp_proc_bind_t; 0: none.
std::uint8_t proc_bind_in(unsigned flags) noexcept { return flags & 7; }

} // namespace

COMITY_GOMP void GOMP_parallel(region_function function, void *data, unsigned threads, unsigned flags) noexcept {
    thread *t = current();
    region r{function, data, threads};
    r.bind = proc_bind_in(flags);
    r.at = COMITY_OMPT_HERE;
    r.exactly = blas::ranks_of_region(t, __builtin_return_address(0), threads);
    run_region(t, r);
    if (r.exactly) [[unlikely]]
        blas::region_is_over(t);
}

COMITY_GOMP unsigned GOMP_parallel_reductions(region_function function, void *data, unsigned threads,
                                              unsigned flags) noexcept {
    thread *t = current();
    const unsigned ranks = ranks_for(t, threads);
    taskgroup group; // the implicit tasks', around all other groups in the region
    auto *reductions = *static_cast<std::uintptr_t **>(data);
    chain_reductions(reductions, nullptr, nullptr, ranks);
    group.reductions = reductions;
    region r{function, data, threads};
    r.bind = proc_bind_in(flags);
    r.at = COMITY_OMPT_HERE;
    r.group = &group;
    run_region(t, r, ranks);
    return t->child->size; // fewer under a limit: the compiler's code combines that many copies
}

namespace {

void parallel_loop(region_function function, void *data, unsigned threads, const loop &l, unsigned flags,
                   ompt::call_site at) noexcept {
    region r{function, data, threads};
    r.bind = proc_bind_in(flags);
    r.at = at;
    r.loop = &l;
    run_region(current(), r);
}

} // namespace

#define PARALLEL_LOOP(NAME, KIND)                                                                                      \
    COMITY_GOMP void GOMP_parallel_loop_##NAME(region_function function, void *data, unsigned threads, long start,     \
                                               long end, long step, long chunk, unsigned flags) noexcept {             \
        parallel_loop(function, data, threads, signed_loop(start, end, step, schedule_kind::KIND, chunk), flags,       \
                      COMITY_OMPT_HERE);                                                                               \
    }
#define PARALLEL_LOOP_RUNTIME(NAME)                                                                                    \
    COMITY_GOMP void GOMP_parallel_loop_##NAME(region_function function, void *data, unsigned threads, long start,     \
                                               long end, long step, unsigned flags) noexcept {                         \
        parallel_loop(function, data, threads, signed_loop(start, end, step, schedule_kind::runtime, 0), flags,        \
                      COMITY_OMPT_HERE);                                                                               \
    }
PARALLEL_LOOP(static, fixed)
PARALLEL_LOOP(dynamic, dynamic)
PARALLEL_LOOP(guided, guided)
PARALLEL_LOOP(nonmonotonic_dynamic, dynamic)
PARALLEL_LOOP(nonmonotonic_guided, guided)
PARALLEL_LOOP_RUNTIME(runtime)
PARALLEL_LOOP_RUNTIME(nonmonotonic_runtime)
PARALLEL_LOOP_RUNTIME(maybe_nonmonotonic_runtime)

COMITY_GOMP void GOMP_parallel_sections(region_function function, void *data, unsigned threads, unsigned count,
                                        unsigned flags) noexcept {
    const loop l = sections_loop(count);
    region r{function, data, threads};
    r.bind = proc_bind_in(flags);
    r.at = COMITY_OMPT_HERE;
    r.loop = &l;
    r.most = count ? count : 1;
    run_region(current(), r);
}

// The entry points of gcc before 4.9: they return in the region, and GOMP_parallel_end ends it.

COMITY_GOMP void GOMP_parallel_start(region_function function, void *data, unsigned threads) noexcept {
    region r{function, data, threads};
    r.at = COMITY_OMPT_HERE;
    start_legacy_region(r);
}

COMITY_GOMP void GOMP_parallel_end() noexcept { end_legacy_region(); }

#define PARALLEL_LOOP_START(NAME, KIND)                                                                                \
    COMITY_GOMP void GOMP_parallel_loop_##NAME##_start(region_function function, void *data, unsigned threads,         \
                                                       long start, long end, long step, long chunk) noexcept {         \
        const loop l = signed_loop(start, end, step, schedule_kind::KIND, chunk);                                      \
        region r{function, data, threads};                                                                             \
        r.at = COMITY_OMPT_HERE;                                                                                       \
        r.loop = &l;                                                                                                   \
        start_legacy_region(r);                                                                                        \
    }
PARALLEL_LOOP_START(static, fixed)
PARALLEL_LOOP_START(dynamic, dynamic)
PARALLEL_LOOP_START(guided, guided)

COMITY_GOMP void GOMP_parallel_loop_runtime_start(region_function function, void *data, unsigned threads, long start,
                                                  long end, long step) noexcept {
    const loop l = signed_loop(start, end, step, schedule_kind::runtime, 0);
    region r{function, data, threads};
    r.at = COMITY_OMPT_HERE;
    r.loop = &l;
    start_legacy_region(r);
}

COMITY_GOMP void GOMP_parallel_sections_start(region_function function, void *data, unsigned threads,
                                              unsigned count) noexcept {
    const loop l = sections_loop(count);
    region r{function, data, threads};
    r.at = COMITY_OMPT_HERE;
    r.loop = &l;
    r.most = count ? count : 1;
    start_legacy_region(r);
}

// The compilers' numbers for what is cancelled.
enum : int { cancel_parallel = 1, cancel_loop = 2, cancel_sections = 4, cancel_taskgroup = 8 };

namespace {

bool is_cancelled(const thread *t, int which) noexcept {
    if (which & (cancel_loop | cancel_sections)) return share_is_cancelled(t);
    return which & cancel_taskgroup ? group_is_cancelled(t) : region_is_cancelled(t);
}

bool tell_if(bool cancelled, int which, int how, ompt::call_site at) noexcept {
    if (cancelled && ompt::on())
        ompt::cancelled((which & cancel_loop        ? ompt::cancel_loop
                         : which & cancel_sections  ? ompt::cancel_sections
                         : which & cancel_taskgroup ? ompt::cancel_taskgroup
                                                    : ompt::cancel_parallel) |
                            how,
                        at);
    return cancelled;
}

} // namespace

COMITY_GOMP bool GOMP_cancellation_point(int which) noexcept {
    return tell_if(is_cancelled(current(), which), which, ompt::cancel_detected, COMITY_OMPT_HERE);
}

COMITY_GOMP bool GOMP_cancel(int which, bool really) noexcept {
    if (!process.cancellation) return false;
    thread *t = current();
    if (!really) return tell_if(is_cancelled(t, which), which, ompt::cancel_detected, COMITY_OMPT_HERE);
    tell_if(true, which, ompt::cancel_activated, COMITY_OMPT_HERE);
    if (which & (cancel_loop | cancel_sections))
        cancel_share(t);
    else if (which & cancel_taskgroup)
        cancel_group(t);
    else
        cancel_region(t);
    return true;
}
