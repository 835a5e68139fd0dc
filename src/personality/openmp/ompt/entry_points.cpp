// What a tool may ask, by name (OpenMP 5.2, section 19.6). A thread that is none of OpenMP's gets the answers that say
// so.
#include <cstring>

#include "personality/openmp/binding.hpp"
#include "personality/openmp/ompt/data.hpp"
#include "personality/openmp/places.hpp"
#include "sys/c_library.hpp"

namespace comity::openmp::ompt {
namespace {

struct named {
    int number;
    const char *name;
};

constexpr named states[] = {
    {0x000, "ompt_state_work_serial"},
    {0x001, "ompt_state_work_parallel"},
    {0x002, "ompt_state_work_reduction"},
    {0x011, "ompt_state_wait_barrier_implicit_parallel"},
    {0x012, "ompt_state_wait_barrier_implicit_workshare"},
    {0x014, "ompt_state_wait_barrier_explicit"},
    {0x015, "ompt_state_wait_barrier_implementation"},
    {0x016, "ompt_state_wait_barrier_teams"},
    {0x020, "ompt_state_wait_taskwait"},
    {0x021, "ompt_state_wait_taskgroup"},
    {0x041, "ompt_state_wait_lock"},
    {0x042, "ompt_state_wait_critical"},
    {0x043, "ompt_state_wait_atomic"},
    {0x044, "ompt_state_wait_ordered"},
    {0x101, "ompt_state_overhead"},
    {0x102, "ompt_state_undefined"},
};
constexpr named mutexes[] = {{0, "ompt_mutex_impl_none"}, {2, "comity_mutex_impl_queue"}};

// The entry after `current`, or the first if that is `start`. 0: there is none.
template <std::size_t N> int enumerate(const named (&list)[N], int start, int current, int *next, const char **name) {
    std::size_t at = 0;
    if (current != start) {
        while (at < N && list[at].number != current) ++at;
        ++at;
    }
    while (at < N && list[at].number == start) ++at;
    if (at >= N) return 0;
    *next = list[at].number;
    *name = list[at].name;
    return 1;
}

int enumerate_states(int current, int *next, const char **name) noexcept {
    return enumerate(states, 0x102, current, next, name);
}
int enumerate_mutex_impls(int current, int *next, const char **name) noexcept {
    return enumerate(mutexes, 0, current, next, name);
}

constexpr set_result support[] = {set_result::error,
#define EVENT(NAME, NUMBER, SUPPORT, ...) set_result::SUPPORT,
                                  COMITY_OMPT_EVENTS(EVENT)
#undef EVENT
};
static_assert(sizeof support / sizeof *support == last_event + 1);

set_result set_callback(int which, any_function function) noexcept {
    if (which < 1 || which > last_event) return set_result::error;
    if (support[which] != set_result::never)
        callbacks[which].store(function, std::memory_order_release); // release[ompt-callback]
    return support[which];
}

int get_callback(int which, any_function *function) noexcept {
    if (which < 1 || which > last_event || !callbacks[which].load(std::memory_order_relaxed)) return 0;
    if (function) *function = callbacks[which].load(std::memory_order_relaxed);
    return 1;
}

tool_data *get_thread_data() noexcept { return here ? &here->data : nullptr; }

int get_state(std::uint64_t *wait_id) noexcept {
    const thread_state state = here ? here->state : thread_state::undefined;
    if (wait_id && here && state >= thread_state::wait_lock && state <= thread_state::wait_ordered)
        *wait_id = here->wait_id;
    if (state != thread_state::undefined) return static_cast<int>(state);
    return static_cast<int>(self->team->level > 0 ? thread_state::parallel : thread_state::serial);
}

int get_parallel_info(int level, tool_data **data, int *size) noexcept {
    if (self == &nobody || !here) return 0;
    enclosing at{self, false};
    for (; level > 0 && at.rank; --level) at = next_out(at);
    if (!at.rank || level < 0) return 0;
    constexpr int known = 2;
    if (data) *data = &at.region();
    if (size) *size = static_cast<int>(at.size());
    return known;
}

int get_task_info(int level, int *flags, tool_data **data, task_frame **frame, tool_data **region,
                  int *number) noexcept {
    if (self == &nobody || !here || level < 0) return 0;
    enclosing at{self, false};
    task *what = at.rank->task;
    for (; level > 0; --level) {
        if (what->parent_task()) {
            what = info_of(what).below;
        } else {
            at = next_out(at);
            if (!at.rank) return 0;
            what = at.initial ? &at.rank->implicit : at.rank->task;
        }
    }
    constexpr int known = 2;
    task_info &info = at.info(what);
    if (flags) *flags = static_cast<int>(info.flags);
    if (data) *data = &info.data;
    if (frame) *frame = &info.frame;
    if (region) *region = &at.region();
    if (number) *number = static_cast<int>(at.number());
    return known;
}

// Where a task's own data is, only the compiler knows.
int get_task_memory(void **address, std::size_t *size, int) noexcept {
    if (address) *address = nullptr;
    if (size) *size = 0;
    return 0;
}

int get_num_procs() noexcept { return static_cast<int>(hart_count()); }
int get_num_places() noexcept { return static_cast<int>(places().size()); }

int get_place_proc_ids(int place, int size, int *ids) noexcept {
    const sys::cpu_set *cpus = cpus_of_place(place);
    if (!cpus) return 0;
    int count = 0;
    for (int cpu = cpus->next(); cpu >= 0; cpu = cpus->next(cpu + 1), ++count)
        if (count < size) ids[count] = cpu;
    return count;
}

int get_place_num() noexcept { return self == &nobody ? -1 : placement_of(self).place; }

int get_partition_place_nums(int size, int *numbers) noexcept {
    if (self == &nobody) return 0;
    const placement here = placement_of(self);
    for (unsigned i = 0; i < here.count && static_cast<int>(i) < size; ++i)
        numbers[i] = static_cast<int>(here.begin + i);
    return static_cast<int>(here.count);
}

int get_proc_id() noexcept { return here ? sys::current_cpu() : -1; }

int get_target_info(std::uint64_t *, std::uint64_t *, std::uint64_t *) noexcept { return 0; }
int get_num_devices() noexcept { return 0; }

// Different in the whole process: each thread has a range of its own.
std::uint64_t get_unique_id() noexcept {
    static std::atomic<std::uint64_t> ranges{0};
    static __thread std::uint64_t next __attribute__((tls_model("initial-exec"))) = 0;
    constexpr std::uint64_t range = std::uint64_t{1} << 32;
    if (next % range == 0) next = ranges.fetch_add(1, std::memory_order_relaxed) * range;
    return ++next;
}

struct entry {
    const char *name;
    any_function function;
};
template <class F> any_function any(F *function) noexcept { return reinterpret_cast<any_function>(function); }

} // namespace

any_function look_up(const char *name) noexcept {
    const entry entries[] = {
        {"ompt_enumerate_states", any(enumerate_states)},
        {"ompt_enumerate_mutex_impls", any(enumerate_mutex_impls)},
        {"ompt_set_callback", any(set_callback)},
        {"ompt_get_callback", any(get_callback)},
        {"ompt_get_thread_data", any(get_thread_data)},
        {"ompt_get_state", any(get_state)},
        {"ompt_get_parallel_info", any(get_parallel_info)},
        {"ompt_get_task_info", any(get_task_info)},
        {"ompt_get_task_memory", any(get_task_memory)},
        {"ompt_get_num_procs", any(get_num_procs)},
        {"ompt_get_num_places", any(get_num_places)},
        {"ompt_get_place_proc_ids", any(get_place_proc_ids)},
        {"ompt_get_place_num", any(get_place_num)},
        {"ompt_get_partition_place_nums", any(get_partition_place_nums)},
        {"ompt_get_proc_id", any(get_proc_id)},
        {"ompt_get_target_info", any(get_target_info)},
        {"ompt_get_num_devices", any(get_num_devices)},
        {"ompt_get_unique_id", any(get_unique_id)},
        {"ompt_finalize_tool", any(finalize)},
    };
    for (const entry &e : entries)
        if (!std::strcmp(e.name, name)) return e.function;
    return nullptr;
}

} // namespace comity::openmp::ompt
