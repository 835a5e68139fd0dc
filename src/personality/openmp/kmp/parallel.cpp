// parallel and teams; who and where the caller is.
#include <cstdarg>
#include <utility>

#include "personality/openmp/blas_caller.hpp"
#include "personality/openmp/kmp/abi.hpp"
#include "personality/openmp/kmp/microtask.hpp"
#include "personality/openmp/league.hpp"
#include "personality/openmp/region.hpp"

using namespace comity::openmp;
using namespace comity::openmp::kmp;

namespace {

unsigned positive(i32 n) noexcept { return n > 0 ? static_cast<unsigned>(n) : 0; }

// What was said of the construct that begins now.
region_clauses take_clauses(thread *t) noexcept {
    const region_clauses said = t->next;
    if (said.ranks | said.teams | said.thread_limit) t->next = {};
    return said;
}

void fork(thread *t, microtask_call &call, const void *caller) noexcept {
    region r{run_microtask, &call, take_clauses(t).ranks};
    if (t->next_bind) [[unlikely]]
        r.bind = std::exchange(t->next_bind, std::uint8_t{0});
    r.abi = &llvm_abi;
    r.known_as = reinterpret_cast<const void *>(call.function);
    r.exactly = blas::ranks_of_region(t, caller);
    run_region(t, r);
    if (r.exactly) [[unlikely]]
        blas::region_is_over(t);
}

} // namespace

#define COLLECT_ARGUMENTS(COUNT, LAST)                                                                                 \
    constexpr unsigned cache_line_bits = 512;                                                                          \
    auto &call = *static_cast<microtask_call *>(                                                                       \
        __builtin_alloca_with_align(sizeof(microtask_call) + positive(COUNT) * sizeof(void *), cache_line_bits));      \
    call.function = LAST;                                                                                              \
    call.count = positive(COUNT);                                                                                      \
    std::va_list rest;                                                                                                 \
    va_start(rest, LAST);                                                                                              \
    for (i32 i = 0; i < COUNT; ++i) call.arguments()[i] = va_arg(rest, void *);                                        \
    va_end(rest);

COMITY_KMP void __kmpc_fork_call(const ident *, i32 count, microtask function, ...) noexcept {
    COLLECT_ARGUMENTS(count, function)
    fork(current(), call, __builtin_return_address(0));
}

// One argument at most: the address of all of them.
COMITY_KMP void __kmpc_fork_call_if(const ident *, i32 count, microtask function, i32 condition,
                                    void *argument) noexcept {
    thread *t = current();
    struct {
        microtask_call call;
        void *argument;
    } one{{function, count > 0 ? 1u : 0u}, argument};
    if (condition) {
        fork(t, one.call, __builtin_return_address(0));
        return;
    }
    (void)take_clauses(t);
    t->next_bind = 0;
    begin_serial_region(t, llvm_abi);
    run_microtask(&one.call);
    end_serial_region(self);
}

// A region whose if clause is false: the program calls its code in between.
COMITY_KMP void __kmpc_serialized_parallel(const ident *, i32) noexcept {
    thread *t = current();
    (void)take_clauses(t);
    t->next_bind = 0;
    begin_serial_region(t, llvm_abi);
}
COMITY_KMP void __kmpc_end_serialized_parallel(const ident *, i32) noexcept { end_serial_region(current()); }

COMITY_KMP void __kmpc_push_num_threads(const ident *, i32, i32 ranks) noexcept {
    current()->next.ranks = positive(ranks);
}
COMITY_KMP void __kmpc_pop_num_threads(const ident *, i32) noexcept {}
COMITY_KMP void __kmpc_push_proc_bind(const ident *, i32, i32 policy) noexcept {
    if (policy >= 0 && policy <= 4) current()->next_bind = static_cast<std::uint8_t>(policy); // as omp_proc_bind_t
}

COMITY_KMP void __kmpc_push_num_teams(const ident *, i32, i32 teams, i32 limit) noexcept {
    region_clauses &next = current()->next;
    next.teams = positive(teams);
    next.thread_limit = positive(limit);
}
COMITY_KMP void __kmpc_push_num_teams_51(const ident *, i32, i32, i32 most, i32 limit) noexcept {
    __kmpc_push_num_teams(nullptr, 0, most, limit);
}
COMITY_KMP void __kmpc_set_thread_limit(const ident *, i32, i32 limit) noexcept {
    if (limit > 0) own_icv().thread_limit = positive(limit);
}

COMITY_KMP void __kmpc_fork_teams(const ident *, i32 count, microtask function, ...) noexcept {
    COLLECT_ARGUMENTS(count, function)
    thread *t = current();
    const region_clauses said = take_clauses(t);
    run_league(t, run_microtask, &call, said.teams, said.thread_limit);
}

COMITY_KMP i32 __kmpc_global_thread_num(const ident *) noexcept { return static_cast<i32>(current()->number); }
COMITY_KMP i32 __kmpc_global_num_threads(const ident *) noexcept { return static_cast<i32>(threads_known()); }
COMITY_KMP i32 __kmpc_bound_thread_num(const ident *) noexcept { return static_cast<i32>(self->rank); }
COMITY_KMP i32 __kmpc_bound_num_threads(const ident *) noexcept { return static_cast<i32>(self->size); }
COMITY_KMP i32 __kmpc_in_parallel(const ident *) noexcept { return self->team->active_level > 0; }
COMITY_KMP i32 __kmpc_ok_to_fork(const ident *) noexcept { return 1; }
COMITY_KMP void __kmpc_begin(const ident *, i32) noexcept {}
COMITY_KMP void __kmpc_end(const ident *) noexcept {}
