// Processor time that a process takes while every one of its threads waits, from 10 ms after the last region (or after
// the last thread came to the barrier) and for one second.
//   idle [--mode 0|1] [--outer L] [--inner N] [--grace-ms G] [--seconds S]
// mode 0: all regions have ended and the initial thread sleeps; mode 1: one thread of a team sleeps, its mates wait at
// a barrier.
#include <chrono>
#include <thread>

#include "../support/nest.hpp"

namespace {

struct idle_result {
    double percent; // of one core
    long switches;  // context switches of the process in that time: a runtime that polls shows here
};

idle_result watch(double grace_seconds, double seconds) {
    std::this_thread::sleep_for(std::chrono::duration<double>(grace_seconds));
    const long switches = bench::context_switches();
    const double used = bench::processor_seconds();
    const double begin = bench::wall_seconds();
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    const double taken = bench::wall_seconds() - begin;
    return {100 * (bench::processor_seconds() - used) / taken, bench::context_switches() - switches};
}

idle_result watch_team(int width, double grace_seconds, double seconds) {
    idle_result result{};
    std::atomic<int> passed{0};
#pragma omp parallel num_threads(width)
    {
        if (omp_get_thread_num() == 0)
            result = watch(grace_seconds, seconds);
        else if (passed.load(std::memory_order_relaxed) != 0)
            bench::refuse("a thread passed the barrier before the last one came");
#pragma omp barrier
        passed.fetch_add(1, std::memory_order_relaxed);
    }
    bench::demand(passed.load() == width, "a thread never left the barrier");
    return result;
}

} // namespace

int main(int argc, char **argv) {
    bench::arguments options(argc, argv);
    const int mode = options.whole("mode", 0, 0, 1);
    const int outer = options.whole("outer", 4, 2, 256);
    const int inner = options.whole("inner", 4, 2, 256);
    const double grace = options.number("grace-ms", 10, 0, 10000) / 1e3;
    const double seconds = options.number("seconds", 1, 0.05, 600);
    options.finish();

    for (int i = 0; i < 20; ++i) bench::verify_nest(outer, inner);
    const idle_result result = mode == 0 ? watch(grace, seconds) : watch_team(outer, grace, seconds);
    bench::verify_nest(outer, inner); // whoever slept must wake again
    std::printf(
        "{\"program\":\"idle\",\"cpu_percent\":%.5f,\"context_switches\":%ld,\"kernel_threads\":%d,\"runtime\":\"%s\","
        "\"verified\":true}\n",
        result.percent, result.switches, bench::kernel_threads(), bench::runtime_path().c_str());
}
