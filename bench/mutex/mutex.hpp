// Threads that take one mutex, count, and give it back, with nothing in between: nanoseconds an operation (a lock and
// its unlock), of all threads together.
#pragma once

#include <memory>
#include <vector>

#include "../support/arguments.hpp"
#include "../support/demand.hpp"
#include "../support/record.hpp"
#include "../support/sampling.hpp"

namespace bench::mutual_exclusion {

template <class Threads, class Mutex> class contest {
public:
    contest(int threads, long operations) : threads_(static_cast<std::size_t>(threads)), operations_(operations) {}

    // Nanoseconds an operation, of a round in which each thread does its number of them.
    double round() {
        count_ = 0;
        const double begin = wall_seconds();
        for (auto &one : threads_) Threads::template create<body>(one, this);
        for (auto &one : threads_) Threads::join(one);
        const double taken = wall_seconds() - begin;
        const long all = operations_ * static_cast<long>(threads_.size());
        demand(count_ == all, "an increment was lost: the mutex does not exclude");
        return 1e9 * taken / static_cast<double>(all);
    }

private:
    static void body(void *p) {
        auto &own = *static_cast<contest *>(p);
        for (long i = 0; i < own.operations_; ++i) {
            own.mutex_.lock();
            own.count_ = own.count_ + 1;
            own.mutex_.unlock();
        }
    }

    std::vector<typename Threads::handle> threads_;
    long operations_;
    Mutex mutex_;
    volatile long count_ = 0;
};

template <class Threads, class Mutex, class In_workers>
int run_program(arguments &options, const char *library, In_workers in_workers) {
    const int threads = options.whole("threads", 16, 1, 100000);
    const int workers = options.whole("workers", 2, 1, 1024);
    const int operations = options.whole("operations", 10000, 1, 1'000'000'000); // of each thread in a round
    const double budget = options.number("budget-s", 0.5, 0, 600);
    options.finish();
    record result("mutex", library);
    result.number("threads", threads).number("workers", workers);
    in_workers(workers, [&] {
        auto game = std::make_unique<contest<Threads, Mutex>>(threads, operations);
        game->round();
        std::vector<double> samples = sample([&] { return game->round(); }, budget);
        result.number("samples", static_cast<double>(samples.size()));
        result.number("ns", median_of(std::move(samples)));
    });
    result.print();
    return 0;
}

} // namespace bench::mutual_exclusion
