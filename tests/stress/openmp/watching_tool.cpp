// A tool of OMPT that keeps plain data for threads, regions and tasks: where one event is not told before another that
// must come later, ThreadSanitizer finds it, and what is told twice, or of what has ended, ends the program.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "personality/openmp/ompt/abi.hpp"

using namespace comity::openmp::ompt;

namespace {

void demand(bool is_so, const char *what) {
    if (is_so) return;
    std::fprintf(stderr, "the tool is told what cannot be: %s\n", what);
    std::abort();
}

struct region {
    std::vector<char> ended; // each rank or team its own
};
struct work {
    bool runs, is_explicit;
};
struct thread {
    bool alive;
};
thread_local int events = 0;
std::atomic<int> open_tasks{0}; // explicit ones

template <class T> T *of(tool_data *data) { return static_cast<T *>(data->pointer); }

void thread_begin(thread_kind, tool_data *data) {
    demand(!data->pointer, "a thread begins twice");
    data->pointer = new thread{true};
}
void thread_end(tool_data *data) {
    demand(of<thread>(data) && of<thread>(data)->alive, "a thread ends that has not begun");
    delete of<thread>(data);
    data->pointer = nullptr;
}

void parallel_begin(tool_data *, const task_frame *, tool_data *data, unsigned, int, const void *) {
    ++events;
    demand(!data->pointer, "a region begins twice");
    data->pointer = new region{};
    of<region>(data)->ended.resize(4096);
}
void parallel_end(tool_data *data, tool_data *, int, const void *) {
    for (char ended : of<region>(data)->ended) demand(ended != 1, "a region ends before its ranks");
    delete of<region>(data);
    data->pointer = nullptr;
}

struct implicit_work : work {
    region *in;
    unsigned index;
};
void implicit_task(endpoint which, tool_data *parallel, tool_data *task, unsigned, unsigned index, int flags) {
    if (flags & int{task_initial}) return;
    if (which == endpoint::begin) {
        demand(parallel->pointer && !task->pointer, "an implicit task begins twice, or outside of a region");
        task->pointer = static_cast<work *>(new implicit_work{{true, false}, of<region>(parallel), index});
        of<region>(parallel)->ended[index] = 1;
    } else {
        auto *w = static_cast<implicit_work *>(of<work>(task));
        demand(w->runs && w->in->ended[index] == 1 && w->index == index, "an implicit task ends that does not run");
        w->in->ended[index] = 2;
        delete w;
        task->pointer = nullptr;
    }
}

void task_create(tool_data *, const task_frame *, tool_data *made, int, int, const void *) {
    demand(!made->pointer, "a task is made twice");
    made->pointer = new work{false, true};
    ++open_tasks;
}
void task_schedule(tool_data *prior, task_status status, tool_data *next) {
    const bool ends = status == task_status::complete || status == task_status::cancel ||
                      status == task_status::late_fulfill || status == task_status::taskwait_complete;
    if (work *w = of<work>(prior); w && ends) {
        demand(w->is_explicit, "an implicit task ends as an explicit one");
        --open_tasks;
        delete w;
        prior->pointer = nullptr;
    } else if (w && status != task_status::early_fulfill) {
        w->runs = false;
    }
    if (work *w = next ? of<work>(next) : nullptr) w->runs = true;
}

int initialize(lookup_function lookup, int, tool_data *) {
    using set_function = set_result (*)(int, any_function);
    const auto set = reinterpret_cast<set_function>(lookup("ompt_set_callback"));
    const auto attach = [set](event which, auto function) {
        demand(set(static_cast<int>(which), reinterpret_cast<any_function>(function)) == set_result::always,
               "an event is not told");
    };
    attach(event::thread_begin, thread_begin);
    attach(event::thread_end, thread_end);
    attach(event::parallel_begin, parallel_begin);
    attach(event::parallel_end, parallel_end);
    attach(event::implicit_task, implicit_task);
    attach(event::task_create, task_create);
    attach(event::task_schedule, task_schedule);
    return 1;
}

} // namespace

extern "C" __attribute__((visibility("default"))) int watching_tool_events() { return events; }

extern "C" __attribute__((visibility("default"))) start_result *ompt_start_tool(unsigned, const char *) {
    static start_result tool{initialize, [](tool_data *) { demand(open_tasks == 0, "a task has no end"); }, {}};
    return &tool;
}
