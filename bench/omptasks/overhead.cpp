// What a construct costs beyond its work, as in the EPCC suite: the time of so many constructs with a short delay in
// each, less the time of the delays alone.
//   overhead --construct WORD [--workers W]
#include <omp.h>

#include "../support/arguments.hpp"
#include "../support/demand.hpp"
#include "../support/measure.hpp"
#include "../support/overhead.hpp"
#include "../support/record.hpp"
#include "../support/sampling.hpp"

namespace {

constexpr int count = 2000; // constructs in a sample, of each thread
using bench::delay;

// Each thread makes them.
void task_by_all(int workers) {
#pragma omp parallel num_threads(workers)
    for (int i = 0; i < count; ++i) {
#pragma omp task
        delay();
    }
}

// One makes them for all.
void task_by_one(int workers) {
#pragma omp parallel num_threads(workers)
#pragma omp single
    for (int i = 0; i < count * workers; ++i) {
#pragma omp task
        delay();
    }
}

void taskwait(int workers) {
#pragma omp parallel num_threads(workers)
    for (int i = 0; i < count; ++i) {
#pragma omp task
        delay();
#pragma omp taskwait
    }
}

// A loop of as many iterations as threads, by each thread.
void taskloop(int workers) {
#pragma omp parallel num_threads(workers)
    for (int i = 0; i < count; i += workers) {
#pragma omp taskloop
        for (int j = 0; j < workers; ++j) delay();
    }
}

void taskgroup(int workers) {
#pragma omp parallel num_threads(workers)
    for (int i = 0; i < count; ++i) {
#pragma omp taskgroup
        {
#pragma omp task
            delay();
        }
    }
}

// A chain: each depends on the one before.
void depend(int workers) {
#pragma omp parallel num_threads(workers)
#pragma omp single
    {
        [[maybe_unused]] int last = 0;
        for (int i = 0; i < count; ++i) {
#pragma omp task depend(inout : last)
            delay();
        }
    }
}

const struct construct {
    const char *name;
    void (*run)(int workers);
    bool by_one; // the whole is `count` delays after each other
} constructs[] = {{"task", task_by_all, false},  {"task-by-one", task_by_one, false}, {"taskwait", taskwait, false},
                  {"taskloop", taskloop, false}, {"taskgroup", taskgroup, false},     {"depend", depend, true}};

void reference() {
    for (int i = 0; i < count; ++i) delay();
}

} // namespace

int main(int argc, char **argv) {
    bench::arguments options(argc, argv);
    const construct &chosen = bench::choose_construct(options, constructs);
    const int workers = options.whole("workers", 2, 1, 1024), samples = options.whole("samples", 21, 1, 1000);
    const double budget = options.number("budget-s", 1, 0, 600);
    options.finish();

    // Threads beyond the processors take turns.
    const int processors = omp_get_num_procs(), turns = chosen.by_one ? 1 : (workers + processors - 1) / processors;
    const int width = [&] {
        int found = 0;
#pragma omp parallel num_threads(workers)
#pragma omp single
        found = omp_get_num_threads();
        return found;
    }();
    bench::demand(width == workers, "the team is not of the width that was asked for");
    chosen.run(workers);
    const double alone = bench::median_seconds(reference, 21, 0.1);
    const double taken = bench::median_seconds([&] { chosen.run(workers); }, samples, budget);
    bench::record result("omptasks-overhead", "openmp");
    result.word("construct", chosen.name).number("workers", workers);
    result.number("ns", std::max(0.1, (taken - turns * alone) * 1e9 / count / turns)); // less cannot be told from noise
    result.print();
    return 0;
}
