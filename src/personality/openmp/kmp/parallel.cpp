// parallel and teams; who and where the caller is.
#include <cstdarg>
#include <new>
#include <utility>

#include "personality/openmp/blas_caller.hpp"
#include "personality/openmp/kmp/abi.hpp"
#include "personality/openmp/kmp/microtask.hpp"
#include "personality/openmp/league.hpp"
#include "personality/openmp/ompt/hooks.hpp"
#include "personality/openmp/region.hpp"

using namespace comity::openmp;
using namespace comity::openmp::kmp;

namespace {

constexpr unsigned cache_line_bits = 512;

unsigned positive(i32 n) noexcept { return n > 0 ? static_cast<unsigned>(n) : 0; }

// What was said of the construct that begins now.
region_clauses take_clauses(thread *t) noexcept {
    const region_clauses said = t->next;
    if (said.ranks | said.teams | said.thread_limit) t->next = {};
    return said;
}

// What a list or a strict number said, until the region begins; the calling context's.
__thread num_threads_clause *said_list __attribute__((tls_model("initial-exec")));

void say_list(const i32 *list, u32 listed, i32 severity, const char *message) noexcept {
    constexpr i32 warning = 1;
    thread *t = current();
    if (!said_list) said_list = new (std::nothrow) num_threads_clause;
    if (!said_list || listed == 0) return;
    *said_list = {};
    constexpr unsigned most = sizeof said_list->ranks / sizeof *said_list->ranks - 1; // the last one ends it
    for (u32 i = 0; i < listed && i < most && list[i] > 0; ++i)
        said_list->ranks[said_list->listed++] = positive(list[i]);
    using outcome = num_threads_clause::outcome;
    said_list->if_fewer = severity == 0         ? outcome::as_many_as_there_are
                          : severity == warning ? outcome::warning
                                                : outcome::fatal;
    said_list->message = message;
    t->next.ranks = said_list->ranks[0];
    t->next_is_listed = said_list->listed != 0;
}

bool take_list(thread *t, num_threads_clause &into) noexcept {
    if (!std::exchange(t->next_is_listed, false)) return false;
    into = *said_list;
    delete std::exchange(said_list, nullptr);
    return true;
}

void fork(thread *t, microtask_call &call, ompt::call_site at) noexcept {
    region r{run_microtask, &call, take_clauses(t).ranks};
    num_threads_clause clause;
    if (t->next_bind | t->next_is_listed) [[unlikely]] {
        r.bind = std::exchange(t->next_bind, std::uint8_t{0});
        if (take_list(t, clause)) r.clause = &clause;
    }
    r.abi = &llvm_abi;
    r.known_as = reinterpret_cast<const void *>(call.function);
    r.exactly = blas::ranks_of_region(t, at.caller, r.ranks);
    r.at = at;
    run_region(t, r);
    if (r.exactly) [[unlikely]]
        blas::region_is_over(t);
}

void end_serial(thread *t) noexcept {
    end_serial_region(t);
    if (ompt::on()) ompt::serial_region_ends(t);
}

} // namespace

#define COLLECT_ARGUMENTS(CALL, COUNT, LAST)                                                                           \
    CALL.function = LAST;                                                                                              \
    CALL.count = positive(COUNT);                                                                                      \
    std::va_list rest;                                                                                                 \
    va_start(rest, LAST);                                                                                              \
    for (i32 i = 0; i < COUNT; ++i) CALL.arguments()[i] = va_arg(rest, void *);                                        \
    va_end(rest);

COMITY_KMP void __kmpc_fork_call(const ident *, i32 count, microtask function, ...) noexcept {
    thread *t = current();
    microtask_call &call = call_of(t, positive(count));
    COLLECT_ARGUMENTS(call, count, function)
    fork(t, call, COMITY_OMPT_HERE);
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
        fork(t, one.call, COMITY_OMPT_HERE);
        return;
    }
    (void)take_clauses(t);
    t->next_bind = 0;
    t->next_is_listed = false;
    begin_serial_region(t);
    if (ompt::on()) ompt::serial_region_begins(self, COMITY_OMPT_HERE);
    run_microtask(&one.call);
    end_serial(self);
}

// A region whose if clause is false: the program calls its code in between.
COMITY_KMP void __kmpc_serialized_parallel(const ident *, i32) noexcept {
    thread *t = current();
    (void)take_clauses(t);
    t->next_bind = 0;
    t->next_is_listed = false;
    begin_serial_region(t);
    if (ompt::on()) ompt::serial_region_begins(self, COMITY_OMPT_HERE);
}
COMITY_KMP void __kmpc_end_serialized_parallel(const ident *, i32) noexcept { end_serial(current()); }

COMITY_KMP void __kmpc_push_num_threads(const ident *, i32, i32 ranks) noexcept {
    current()->next.ranks = static_cast<unsigned>(ranks); // a negative one is told of when the region begins
}
// severity 1 is a warning, 2 ends the program; message may be null.
COMITY_KMP void __kmpc_push_num_threads_strict(const ident *, i32, i32 ranks, i32 severity,
                                               const char *message) noexcept {
    say_list(&ranks, 1, severity, message);
}
COMITY_KMP void __kmpc_push_num_threads_list(const ident *, i32, u32 listed, const i32 *list) noexcept {
    say_list(list, listed, 0, nullptr);
}
COMITY_KMP void __kmpc_push_num_threads_list_strict(const ident *, i32, u32 listed, const i32 *list, i32 severity,
                                                    const char *message) noexcept {
    say_list(list, listed, severity, message);
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
    thread *t = current();
    // On this stack, for the opener runs teams too, and opens regions in them.
    auto &call = *static_cast<microtask_call *>(
        __builtin_alloca_with_align(sizeof(microtask_call) + positive(count) * sizeof(void *), cache_line_bits));
    COLLECT_ARGUMENTS(call, count, function)
    const region_clauses said = take_clauses(t);
    run_league(t, {run_microtask, &call, said.teams, said.thread_limit, &llvm_abi, COMITY_OMPT_HERE});
}

COMITY_KMP i32 __kmpc_global_thread_num(const ident *) noexcept { return static_cast<i32>(current()->number); }
COMITY_KMP i32 __kmpc_global_num_threads(const ident *) noexcept { return static_cast<i32>(threads_known()); }
COMITY_KMP i32 __kmpc_bound_thread_num(const ident *) noexcept { return static_cast<i32>(self->rank); }
COMITY_KMP i32 __kmpc_bound_num_threads(const ident *) noexcept { return static_cast<i32>(self->size); }
COMITY_KMP i32 __kmpc_in_parallel(const ident *) noexcept { return self->team->active_level > 0; }
COMITY_KMP i32 __kmpc_ok_to_fork(const ident *) noexcept { return 1; }
COMITY_KMP void __kmpc_begin(const ident *, i32) noexcept {}
COMITY_KMP void __kmpc_end(const ident *) noexcept {}
