// Threads that all wait for one event: resident bytes a thread, and the seconds to make them and to let them go.
#pragma once

#include <atomic>
#include <cstdio>
#include <memory>
#include <vector>

#include <unistd.h>

#include "../support/arguments.hpp"
#include "../support/demand.hpp"
#include "../support/record.hpp"

namespace bench::parking {

// Resident bytes of this process.
inline double resident() {
    std::FILE *file = std::fopen("/proc/self/statm", "r");
    demand(file != nullptr, "/proc/self/statm cannot be read");
    long all = 0, pages = 0;
    const int read = std::fscanf(file, "%ld %ld", &all, &pages);
    std::fclose(file);
    demand(read == 2, "/proc/self/statm cannot be read");
    return static_cast<double>(pages) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

template <class Threads, class Event> class car_park {
public:
    explicit car_park(std::size_t threads) : threads_(threads) {}

    void fill() {
        for (auto &one : threads_) Threads::template create<body>(one, this);
    }
    // Whether they have started and are about to wait; the last few may not quite be there.
    bool is_full() const { return arrived_.load(std::memory_order_relaxed) == threads_.size(); }
    void leave() {
        event_.set();
        for (auto &one : threads_) Threads::join(one);
        demand(left_.load(std::memory_order_relaxed) == threads_.size(), "not every thread went on");
    }

private:
    static void body(void *p) {
        auto &own = *static_cast<car_park *>(p);
        own.arrived_.fetch_add(1, std::memory_order_relaxed);
        own.event_.wait();
        own.left_.fetch_add(1, std::memory_order_relaxed);
    }

    std::vector<typename Threads::handle> threads_;
    std::atomic<std::size_t> arrived_{0}, left_{0};
    Event event_;
};

template <class Threads, class Event, class In_workers>
int run_program(arguments &options, const char *library, In_workers in_workers) {
    const int threads = options.whole("threads", 100000, 1, 10'000'000);
    const int workers = options.whole("workers", 1, 1, 1024);
    options.finish();
    record result("parked", library);
    result.number("threads", threads).number("workers", workers);
    in_workers(workers, [&] {
        auto park = std::make_unique<car_park<Threads, Event>>(static_cast<std::size_t>(threads));
        const double before = resident(), begin = wall_seconds();
        park->fill();
        const double created = resident();
        while (!park->is_full()) Threads::yield();
        const double full = resident(), parked = wall_seconds();
        park->leave();
        result.number("seconds_to_park", parked - begin).number("seconds_to_leave", wall_seconds() - parked);
        result.number("bytes_created", (created - before) / threads).number("bytes", (full - before) / threads);
    });
    result.print();
    return 0;
}

} // namespace bench::parking
