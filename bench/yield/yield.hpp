// Two threads of one worker yield to each other: cycles from one to the other.
#pragma once

#include "../support/arguments.hpp"
#include "../support/demand.hpp"
#include "../support/record.hpp"
#include "../support/sampling.hpp"

#include <type_traits>

namespace bench::yielding {

struct request {
    double seconds;
    int regions; // above zero: so many yields, untimed, for a count of instructions from outside
};

inline request read_request(arguments &options) {
    return {options.number("budget-s", 0.2, 0, 600), options.whole("regions", 0, 0, 2'000'000'000)};
}

// What the two threads share. Each looks whether the other ran between two of its yields; if not, nothing was measured.
class players {
public:
    // One of them; `times` yields. The two differ in `number`.
    template <class Step> void play(int number, long times, Step step) {
        const int other = 1 - number;
        long before = -1;
        for (long i = 0; i < times; ++i) {
            turns_[number] = i;
            const long now = turns_[other];
            missed_ += now == before;
            before = now;
            step();
        }
        turns_[number] = times;
    }
    // Yields that went past the other thread, of all: the kernel's may do that.
    double missed(long times) const { return static_cast<double>(missed_) / static_cast<double>(2 * times); }

private:
    volatile long turns_[2] = {0, 0};
    long missed_ = 0;
};

// For a library that has the word `threads`. `step` yields, whatever way is measured; it may want the other thread.
template <class Threads, class Step> class pair_of_threads {
public:
    explicit pair_of_threads(Step step) : step_(step) {}

    // Cycles a yield, of `times` by each thread.
    double round(long times) {
        times_ = times;
        game_ = {};
        argument arguments[2] = {{this, 0}, {this, 1}};
        for (auto &thread : threads_) thread = {};
        const std::uint64_t begin = time_stamp();
        for (int i = 0; i < 2; ++i) Threads::template create<body>(threads_[i], &arguments[i]);
        for (int i = 0; i < 2; ++i) Threads::join(threads_[i]);
        const auto taken = static_cast<double>(time_stamp() - begin);
        missed_ = game_.missed(times);
        demand(missed_ < 0.3, "the two threads do not take turns");
        return taken / static_cast<double>(2 * times);
    }

    double missed() const { return missed_; } // in the last round

private:
    struct argument {
        pair_of_threads *owner;
        int number;
    };
    static void body(void *p) {
        auto [owner, number] = *static_cast<argument *>(p);
        if constexpr (std::is_invocable_v<Step, typename Threads::handle>) {
            // A child-first thread starts before the other one is there.
            while (owner->threads_[1 - number] == typename Threads::handle{}) Threads::yield();
            const auto other = owner->threads_[1 - number];
            owner->game_.play(number, owner->times_, [owner, other] { owner->step_(other); });
        } else {
            owner->game_.play(number, owner->times_, owner->step_);
        }
    }

    Step step_;
    typename Threads::handle threads_[2]{};
    long times_ = 0;
    double missed_ = 0;
    players game_;
};

template <class Threads, class In_workers, class Step>
int run_program(arguments &options, const char *library, In_workers in_workers, Step step) {
    const request asked = read_request(options);
    options.finish();
    record result("yield", library);
    in_workers(1, [&] {
        pair_of_threads<Threads, Step> pair(step);
        if (asked.regions > 0) {
            pair.round((asked.regions + 1) / 2);
            return;
        }
        pair.round(1000);
        const double cycles = median_of(sample([&] { return pair.round(20'000); }, asked.seconds));
        result.number("missed", pair.missed());
        result.number("cycles", cycles);
    });
    result.print();
    return 0;
}

} // namespace bench::yielding
