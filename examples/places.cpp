// Where harts run: binds each to a CPU of its own, as far as there are enough, and shows where its threads are.
#include <atomic>
#include <cstdio>
#include <vector>

#include <sched.h>

#include <comity/core.hpp>
#include <comity/thread.hpp>

int main() {
    const int harts = comity::hart_count();
    const std::vector<int> cpus = comity::hart_cpus(0); // nothing is bound yet: all that the process may use
    for (int i = 0; i < harts; ++i) {
        const int cpu = cpus[static_cast<std::size_t>(i) % cpus.size()];
        comity::bind_hart(i, {&cpu, 1});
        const comity::location at = comity::hart_location(i);
        std::printf("hart %d: CPU %d, core %d, NUMA node %d\n", i, at.cpu, at.core, at.numa_node);
    }

    std::atomic<int> wrong{0};
    {
        const comity::threads scope;
        std::vector<comity::thread> all;
        for (int i = 0; i < 100; ++i)
            all.emplace_back([&wrong] {
                if (sched_getcpu() != comity::hart_location(comity::hart_id()).cpu) ++wrong;
            });
        for (comity::thread &t : all) t.join();
    }
    std::printf("%d of 100 threads ran elsewhere\n", wrong.load());
    return wrong != 0;
}
