// The omp_* functions of C and C++ on threads, teams, levels and variables. Fortran's are in fortran.cpp.
#include <ctime>

#include "core/own_code.hpp"
#include "personality/openmp/blas_caller.hpp"
#include "personality/openmp/environment.hpp"
#include "personality/openmp/omp/functions.hpp"
#include "personality/openmp/own_regions.hpp"
#include "personality/openmp/region.hpp"

using namespace comity::openmp;

int omp_get_thread_num() noexcept { return static_cast<int>(self->rank); }
// Programs call it so that the runtime, and a tool, is there afterwards.
int omp_get_num_threads() noexcept { return static_cast<int>(current()->size); }

int comity::openmp::max_threads(const void *caller) noexcept {
    if (const unsigned ranks = blas::max_threads(caller)) return static_cast<int>(ranks);
    const unsigned set = icv_of(current()).num_threads;
    return static_cast<int>(set ? set : hart_count());
}

void comity::openmp::set_num_threads(int count, const void *caller) noexcept {
    if (!blas::sets_threads(caller)) own_icv().num_threads = count > 0 ? static_cast<unsigned>(count) : 1;
}

int comity::openmp::in_parallel(const void *caller) noexcept {
    return !blas::hides_regions(caller) && levels_seen_by(caller, true) > 0;
}

int comity::openmp::level(const void *caller) noexcept { return static_cast<int>(levels_seen_by(caller, false)); }
int comity::openmp::active_level(const void *caller) noexcept { return static_cast<int>(levels_seen_by(caller, true)); }

int omp_get_max_threads() noexcept { return max_threads(__builtin_return_address(0)); }
void omp_set_num_threads(int count) noexcept { set_num_threads(count, __builtin_return_address(0)); }
int omp_in_parallel() noexcept { return in_parallel(__builtin_return_address(0)); }

int omp_get_num_procs() noexcept { return static_cast<int>(hart_count()); }

int omp_get_dynamic() noexcept { return icv_of(current()).dynamic; }
void omp_set_dynamic(int value) noexcept { own_icv().dynamic = value; }

int omp_get_nested() noexcept {
    const unsigned most = icv_of(current()).max_active_levels;
    return most > 1 && most > self->team->active_level;
}

void omp_set_nested(int value) noexcept {
    icvs &icv = own_icv();
    if (value && icv.max_active_levels == 1)
        icv.max_active_levels = most_levels;
    else if (!value && icv.max_active_levels > 1)
        icv.max_active_levels = 1;
}

int omp_get_max_active_levels() noexcept { return icv_of(current()).max_active_levels; }
void omp_set_max_active_levels(int levels) noexcept {
    if (levels >= 0)
        own_icv().max_active_levels = static_cast<std::uint8_t>(levels < int{most_levels} ? levels : int{most_levels});
}
int omp_get_supported_active_levels() noexcept { return most_levels; }

int omp_get_level() noexcept { return level(__builtin_return_address(0)); }
int omp_get_active_level() noexcept { return active_level(__builtin_return_address(0)); }

namespace {

// The caller or its ancestor that is in a region at `level`; null when there is none.
const thread *at_level(int level) noexcept {
    const thread *t = self;
    if (level < 0 || level > static_cast<int>(t->team->level)) return nullptr;
    while (static_cast<int>(t->team->level) > level) t = t->team->parent;
    return t;
}

} // namespace

int omp_get_ancestor_thread_num(int level) noexcept {
    const thread *t = at_level(level);
    return t ? static_cast<int>(t->rank) : -1;
}

int omp_get_team_size(int level) noexcept {
    const thread *t = at_level(level);
    return t ? static_cast<int>(t->size) : -1;
}

int omp_get_thread_limit() noexcept { return static_cast<int>(icv_of(current()).thread_limit); }

void omp_set_schedule(omp_sched_t kind, int chunk) noexcept {
    const auto number = static_cast<unsigned>(kind);
    const auto plain = static_cast<schedule_kind>(number & ~static_cast<unsigned>(omp_sched_monotonic));
    if (plain < schedule_kind::fixed || plain > schedule_kind::automatic) return; // not a kind
    icvs &icv = own_icv();
    icv.schedule = plain;
    icv.schedule_given = true;
    icv.monotonic = number & static_cast<unsigned>(omp_sched_monotonic);
    icv.implicitly_monotonic = false;
    icv.chunk = plain == schedule_kind::automatic ? icv.chunk
                : chunk > 0                       ? chunk
                : plain == schedule_kind::fixed   ? 0
                                                  : 1;
}

void omp_get_schedule(omp_sched_t *kind, int *chunk) noexcept {
    const icvs &icv = icv_of(current());
    const schedule_kind plain = icv.schedule_given ? icv.schedule : abi.runtime_schedule;
    const bool monotonic = icv.monotonic || (icv.implicitly_monotonic && abi.static_is_monotonic);
    const auto number = static_cast<unsigned>(plain);
    *kind = static_cast<omp_sched_t>(monotonic ? number | static_cast<unsigned>(omp_sched_monotonic) : number);
    *chunk = icv.schedule_given ? icv.chunk : abi.runtime_chunk;
}

int omp_in_final() noexcept { return self->task->is_final(); }
int omp_get_cancellation() noexcept {
    (void)current(); // the environment is read for good at the first use
    return process.cancellation;
}
int omp_get_max_task_priority() noexcept {
    (void)current();
    return process.max_task_priority;
}

void omp_fulfill_event(omp_event_handle_t event) noexcept {
    fulfill_event(reinterpret_cast<task *>(static_cast<std::uintptr_t>(event)));
}

double omp_get_wtime() noexcept {
    timespec now;
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double omp_get_wtick() noexcept {
    timespec tick;
    ::clock_getres(CLOCK_MONOTONIC, &tick);
    return static_cast<double>(tick.tv_sec) + 1e-9 * static_cast<double>(tick.tv_nsec);
}

int omp_get_num_teams() noexcept { return static_cast<int>(initial_thread()->teams); }
int omp_get_team_num() noexcept { return static_cast<int>(initial_thread()->team_number); }
void omp_set_num_teams(int count) noexcept {
    (void)current(); // the environment is read again by who is first
    if (count >= 0) process.num_teams.store(count, std::memory_order_relaxed);
}
int omp_get_max_teams() noexcept { return (void)current(), process.num_teams.load(std::memory_order_relaxed); }
void omp_set_teams_thread_limit(int limit) noexcept {
    (void)current();
    if (limit >= 0) process.teams_thread_limit.store(limit, std::memory_order_relaxed);
}
int omp_get_teams_thread_limit() noexcept {
    return (void)current(), process.teams_thread_limit.load(std::memory_order_relaxed);
}

void omp_display_env(int verbose) noexcept { display_environment(abi, verbose); }

// Nothing is held that must be given up for a while: idle contexts cost no core.
int omp_pause_resource_all(omp_pause_resource_t kind) noexcept {
    return kind != omp_pause_soft && kind != omp_pause_hard ? -1 : self->team->level > 0 ? -1 : 0;
}
int omp_pause_resource(omp_pause_resource_t kind, int device) noexcept {
    const bool is_there =
        device == -1 || device == omp_get_initial_device() || (device >= 0 && device < omp_get_num_devices());
    return is_there ? omp_pause_resource_all(kind) : -1;
}
