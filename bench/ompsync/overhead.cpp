// What a construct costs beyond its work, as in the EPCC suite: the time of so many constructs with a short delay in
// each, less the time of the delays alone. Those of tasks are in omptasks/overhead.cpp.
//   overhead --construct WORD [--workers W] [--samples S --budget-s B]
#include <omp.h>

#include <atomic>

#include "../support/arguments.hpp"
#include "../support/demand.hpp"
#include "../support/measure.hpp"
#include "../support/overhead.hpp"
#include "../support/record.hpp"
#include "../support/sampling.hpp"

namespace {

constexpr int count = 800; // constructs in a sample; a multiple of the number of threads
using bench::delay;

// Each says how many delays have run, so that none that was skipped is measured.
long delays = 0;
#pragma omp threadprivate(delays)
std::atomic<long> all_delays{0};

void counted_delay() {
    delay();
    ++delays;
}
void collect() {
    all_delays.fetch_add(delays, std::memory_order_relaxed);
    delays = 0;
}

// ---- The team as a whole: each construct is met by all

void parallel(int workers) {
    for (int i = 0; i < count; ++i) {
#pragma omp parallel num_threads(workers)
        counted_delay();
    }
#pragma omp parallel num_threads(workers)
    collect();
}

void parallel_for(int workers) {
    for (int i = 0; i < count; ++i) {
#pragma omp parallel for num_threads(workers)
        for (int j = 0; j < workers; ++j) counted_delay();
    }
#pragma omp parallel num_threads(workers)
    collect();
}

void reduction(int workers) {
    long sum = 0;
    for (int i = 0; i < count; ++i) {
#pragma omp parallel num_threads(workers) reduction(+ : sum)
        {
            counted_delay();
            ++sum;
        }
    }
    bench::demand(sum == long{count} * workers, "a reduction is wrong");
#pragma omp parallel num_threads(workers)
    collect();
}

void loop(int workers) {
#pragma omp parallel num_threads(workers)
    {
        for (int i = 0; i < count; ++i) {
#pragma omp for
            for (int j = 0; j < workers; ++j) counted_delay();
        }
        collect();
    }
}

void loop_dynamic(int workers) {
#pragma omp parallel num_threads(workers)
    {
        for (int i = 0; i < count; ++i) {
#pragma omp for schedule(dynamic)
            for (int j = 0; j < workers; ++j) counted_delay();
        }
        collect();
    }
}

void sections(int workers) {
#pragma omp parallel num_threads(workers)
    {
        for (int i = 0; i < count; ++i) {
#pragma omp sections
            {
#pragma omp section
                counted_delay();
#pragma omp section
                counted_delay();
            }
        }
        collect();
    }
}

void barrier(int workers) {
#pragma omp parallel num_threads(workers)
    {
        for (int i = 0; i < count; ++i) {
            counted_delay();
#pragma omp barrier
        }
        collect();
    }
}

// ---- One thread at a time

void single(int workers) {
#pragma omp parallel num_threads(workers)
    {
        for (int i = 0; i < count; ++i) {
#pragma omp single
            counted_delay();
        }
        collect();
    }
}

void critical(int workers) {
#pragma omp parallel num_threads(workers)
    {
        for (int i = 0; i < count / workers; ++i) {
#pragma omp critical
            counted_delay();
        }
        collect();
    }
}

void lock(int workers) {
    static omp_lock_t guard;
    omp_init_lock(&guard);
#pragma omp parallel num_threads(workers)
    {
        for (int i = 0; i < count / workers; ++i) {
            omp_set_lock(&guard);
            counted_delay();
            omp_unset_lock(&guard);
        }
        collect();
    }
    omp_destroy_lock(&guard);
}

void ordered(int workers) {
#pragma omp parallel num_threads(workers)
    {
#pragma omp for ordered schedule(static, 1)
        for (int i = 0; i < count; ++i) {
#pragma omp ordered
            counted_delay();
        }
        collect();
    }
}

// The machine's own instructions: no runtime is called.
void atomic(int workers) {
    double sum = 0;
#pragma omp parallel num_threads(workers)
    for (int i = 0; i < count / workers; ++i) {
#pragma omp atomic
        sum += 1;
    }
    bench::demand(sum == count, "an atomic addition was lost");
}

enum class who { each, one, two, nobody }; // of the team runs a delay in a construct

const struct construct {
    const char *name;
    void (*run)(int workers);
    who delays;
} constructs[] = {{"parallel", parallel, who::each},        {"parallel-for", parallel_for, who::each},
                  {"reduction", reduction, who::each},      {"for", loop, who::each},
                  {"for-dynamic", loop_dynamic, who::each}, {"sections", sections, who::two},
                  {"barrier", barrier, who::each},          {"single", single, who::one},
                  {"critical", critical, who::one},         {"lock", lock, who::one},
                  {"ordered", ordered, who::one},           {"atomic", atomic, who::nobody}};

int delays_in(const construct &one, int workers) {
    switch (one.delays) {
    case who::each:
        return workers;
    case who::two:
        return 2;
    case who::one:
        return 1;
    case who::nobody:
        break;
    }
    return 0;
}

void reference() {
    for (int i = 0; i < count; ++i) delay();
}

} // namespace

int main(int argc, char **argv) {
    bench::arguments options(argc, argv);
    const construct &chosen = bench::choose_construct(options, constructs);
    const int workers = options.whole("workers", 2, 1, 64), samples = options.whole("samples", 21, 1, 1000);
    const double budget = options.number("budget-s", 1, 0, 600);
    options.finish();
    bench::demand(count % workers == 0, "that number of threads does not divide the number of constructs");

    int width = 0;
#pragma omp parallel num_threads(workers)
#pragma omp single
    width = omp_get_num_threads();
    bench::demand(width == workers, "the team is not of the width that was asked for");

    const int in_each = delays_in(chosen, workers);
    chosen.run(workers);
    bench::demand(all_delays.load() == long{count} * in_each, "a construct did not run its body as often as it must");

    // Of the delays in a construct, as many at a time as there are processors; threads beyond take turns.
    const int processors = std::min(omp_get_num_procs(), workers);
    const int turns = (in_each + processors - 1) / processors;
    const double alone = bench::median_seconds(reference, 21, 0.1);
    const double taken = bench::median_seconds([&] { chosen.run(workers); }, samples, budget);
    bench::record result("ompsync-overhead", "openmp");
    result.word("construct", chosen.name).number("workers", workers);
    result.number("ns", std::max(0.1, (taken - turns * alone) * 1e9 / count)); // less cannot be told from noise
    result.print();
    return 0;
}
