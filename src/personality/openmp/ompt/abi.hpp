// What a tool and an OpenMP implementation share (OpenMP 5.2, chapter 19): the names are ours, the numbers, layouts and
// signatures the specification's.
#pragma once

#include <cstddef>
#include <cstdint>

namespace comity::openmp::ompt {

inline constexpr unsigned specification = 202111; // OpenMP 5.2

union tool_data {
    std::uint64_t value;
    void *pointer;
};

// Between which addresses of a thread's stack the frames of a task's code are.
struct task_frame {
    tool_data exit;  // where the task's code was entered from the runtime; null: an initial task
    tool_data enter; // where it entered the runtime; null: it is not in there
    int exit_flags, enter_flags;
};
enum frame_flag : int { frame_runtime = 0, frame_application = 1, frame_is_cfa = 0x10, frame_is_pointer = 0x20 };
static_assert(sizeof(task_frame) == 24);

enum class thread_kind : int { initial = 1, worker = 2, other = 3, unknown = 4 };
enum class endpoint : int { begin = 1, end = 2, begin_end = 3 };
enum class sync_kind : int {
    barrier_explicit = 3,
    barrier_implementation = 4,
    taskwait = 5,
    taskgroup = 6,
    reduction = 7,
    barrier_workshare = 8,
    barrier_parallel = 9,
    barrier_teams = 10,
};
enum class work_kind : int {
    loop = 1,
    sections = 2,
    single_executor = 3,
    single_other = 4,
    workshare = 5,
    distribute = 6,
    taskloop = 7,
    scope = 8,
};
enum class dispatch_kind : int { iteration = 1, section = 2, loop_chunk = 3, taskloop_chunk = 4, distribute_chunk = 5 };
struct dispatch_chunk {
    std::uint64_t start, iterations;
};
enum class mutex_kind : int { lock = 1, test_lock = 2, nest_lock = 3, test_nest_lock = 4, critical, atomic, ordered };
enum task_flag_bits : unsigned {
    task_initial = 1,
    task_implicit = 2,
    task_explicit = 4,
    task_taskwait = 0x10,
    task_undeferred = 0x08000000,
    task_untied = 0x10000000,
    task_final = 0x20000000,
    task_mergeable = 0x40000000,
};
enum class task_status : int {
    complete = 1,
    yield = 2,
    cancel = 3,
    detach = 4,
    early_fulfill = 5,
    late_fulfill = 6,
    switched = 7,
    taskwait_complete = 8,
};
enum parallel_flag : unsigned {
    invoked_by_program = 1, // the program calls the region's code itself
    invoked_by_runtime = 2,
    parallel_league = 0x40000000,
    parallel_team = 0x80000000,
};
enum class depend_kind : int {
    in = 1,
    out = 2,
    inout = 3,
    mutexinoutset = 4,
    source = 5,
    sink = 6,
    inoutset = 7,
    out_all_memory = 34,
    inout_all_memory = 35,
};
struct dependence {
    tool_data variable;
    depend_kind kind;
};
enum cancel_flag : int {
    cancel_parallel = 1,
    cancel_sections = 2,
    cancel_loop = 4,
    cancel_taskgroup = 8,
    cancel_activated = 0x10,
    cancel_detected = 0x20,
    cancel_discarded = 0x40,
};
enum class thread_state : int {
    serial = 0,
    parallel = 1,
    reduction = 2,
    wait_barrier_parallel = 0x011,
    wait_barrier_workshare = 0x012,
    wait_barrier_explicit = 0x014,
    wait_barrier_implementation = 0x015,
    wait_barrier_teams = 0x016,
    wait_taskwait = 0x020,
    wait_taskgroup = 0x021,
    wait_lock = 0x041,
    wait_critical = 0x042,
    wait_atomic = 0x043,
    wait_ordered = 0x044,
    idle = 0x100,
    overhead = 0x101,
    undefined = 0x102,
};

// What ompt_set_callback says of an event.
enum class set_result : int { error = 0, never = 1, impossible = 2, sometimes = 3, sometimes_paired = 4, always = 5 };

using any_function = void (*)();

// EVENT(name, number, how far it is reported, arguments). What gcc compiles inline (static loops, masked, flush, atomic
// and reduction) reaches no runtime; there are no devices.
#define COMITY_OMPT_EVENTS(EVENT)                                                                                      \
    EVENT(thread_begin, 1, always, (thread_kind, tool_data *))                                                         \
    EVENT(thread_end, 2, always, (tool_data *))                                                                        \
    EVENT(parallel_begin, 3, always, (tool_data *, const task_frame *, tool_data *, unsigned, int, const void *))      \
    EVENT(parallel_end, 4, always, (tool_data *, tool_data *, int, const void *))                                      \
    EVENT(task_create, 5, always, (tool_data *, const task_frame *, tool_data *, int, int, const void *))              \
    EVENT(task_schedule, 6, always, (tool_data *, task_status, tool_data *))                                           \
    EVENT(implicit_task, 7, always, (endpoint, tool_data *, tool_data *, unsigned, unsigned, int))                     \
    EVENT(target, 8, never, ())                                                                                        \
    EVENT(target_data_op, 9, never, ())                                                                                \
    EVENT(target_submit, 10, never, ())                                                                                \
    EVENT(control_tool, 11, always, (std::uint64_t, std::uint64_t, void *, const void *))                              \
    EVENT(device_initialize, 12, never, ())                                                                            \
    EVENT(device_finalize, 13, never, ())                                                                              \
    EVENT(device_load, 14, never, ())                                                                                  \
    EVENT(device_unload, 15, never, ())                                                                                \
    EVENT(sync_region_wait, 16, always, (sync_kind, endpoint, tool_data *, tool_data *, const void *))                 \
    EVENT(mutex_released, 17, sometimes, (mutex_kind, std::uint64_t, const void *))                                    \
    EVENT(dependences, 18, always, (tool_data *, const dependence *, int))                                             \
    EVENT(task_dependence, 19, sometimes, (tool_data *, tool_data *))                                                  \
    EVENT(work, 20, sometimes_paired, (work_kind, endpoint, tool_data *, tool_data *, std::uint64_t, const void *))    \
    EVENT(masked, 21, sometimes_paired, (endpoint, tool_data *, tool_data *, const void *))                            \
    EVENT(target_map, 22, never, ())                                                                                   \
    EVENT(sync_region, 23, always, (sync_kind, endpoint, tool_data *, tool_data *, const void *))                      \
    EVENT(lock_init, 24, always, (mutex_kind, unsigned, unsigned, std::uint64_t, const void *))                        \
    EVENT(lock_destroy, 25, always, (mutex_kind, std::uint64_t, const void *))                                         \
    EVENT(mutex_acquire, 26, sometimes, (mutex_kind, unsigned, unsigned, std::uint64_t, const void *))                 \
    EVENT(mutex_acquired, 27, sometimes, (mutex_kind, std::uint64_t, const void *))                                    \
    EVENT(nest_lock, 28, always, (endpoint, std::uint64_t, const void *))                                              \
    EVENT(flush, 29, sometimes, (tool_data *, const void *))                                                           \
    EVENT(cancel, 30, always, (tool_data *, int, const void *))                                                        \
    EVENT(reduction, 31, sometimes_paired, (sync_kind, endpoint, tool_data *, tool_data *, const void *))              \
    EVENT(dispatch, 32, sometimes, (tool_data *, tool_data *, dispatch_kind, tool_data))                               \
    EVENT(target_emi, 33, never, ())                                                                                   \
    EVENT(target_data_op_emi, 34, never, ())                                                                           \
    EVENT(target_submit_emi, 35, never, ())                                                                            \
    EVENT(target_map_emi, 36, never, ())                                                                               \
    EVENT(error, 37, always, (int, const char *, std::size_t, const void *))

enum class event : int {
#define EVENT(NAME, NUMBER, ...) NAME = NUMBER,
    COMITY_OMPT_EVENTS(EVENT)
#undef EVENT
};
inline constexpr int last_event = 37;

// The type of an event's callback.
template <event E> struct callback;
#define EVENT(NAME, NUMBER, SUPPORT, ARGUMENTS)                                                                        \
    template <> struct callback<event::NAME> { using type = void(*) ARGUMENTS; };
COMITY_OMPT_EVENTS(EVENT)
#undef EVENT

// What a tool's ompt_start_tool gives.
using lookup_function = any_function (*)(const char *name);
struct start_result {
    int (*initialize)(lookup_function lookup, int initial_device, tool_data *data);
    void (*finalize)(tool_data *data);
    tool_data data;
};
using start_function = start_result *(*)(unsigned version, const char *runtime);

} // namespace comity::openmp::ompt
