// Two threads on two workers that hand a turn to each other: nanoseconds a hand-over (half a round trip).
#pragma once

#include <memory>
#include <vector>

#include "../support/arguments.hpp"
#include "../support/demand.hpp"
#include "../support/record.hpp"
#include "../support/sampling.hpp"

namespace bench::turns {

// Whose turn it is, told by two semaphores.
template <class Semaphore> class by_semaphore {
public:
    void hand_to(int player) { turn_[player].release(); }
    void await(int player) { turn_[player].acquire(); }

private:
    Semaphore turn_[2];
};

// The same, told by a variable under a mutex and a condition for each player.
template <class Mutex, class Condition> class by_condition {
public:
    void hand_to(int player) {
        mutex_.lock();
        turn_ = player;
        condition_[player].signal();
        mutex_.unlock();
    }
    void await(int player) {
        mutex_.lock();
        while (turn_ != player) condition_[player].wait(mutex_);
        turn_ = -1;
        mutex_.unlock();
    }

private:
    Mutex mutex_;
    Condition condition_[2];
    int turn_ = -1;
};

template <class Threads, class Turns> class match {
public:
    explicit match(long turns) : wanted_(turns) {}

    double round() {
        played_ = 0;
        argument players[2] = {{this, 0}, {this, 1}};
        typename Threads::handle threads[2];
        const double begin = wall_seconds();
        for (int i = 0; i < 2; ++i) Threads::template create<body>(threads[i], &players[i]);
        turns_.hand_to(0);
        for (int i = 0; i < 2; ++i) Threads::join(threads[i]);
        const double taken = wall_seconds() - begin;
        turns_.await(0); // the last hand-over
        demand(played_ == 2 * wanted_, "a turn was lost");
        return 1e9 * taken / static_cast<double>(2 * wanted_);
    }

private:
    struct argument {
        match *owner;
        int number;
    };
    static void body(void *p) {
        auto [own, number] = *static_cast<argument *>(p);
        for (long i = 0; i < own->wanted_; ++i) {
            own->turns_.await(number);
            if (own->played_ != 2 * i + number) refuse("two threads had the turn");
            own->played_ = own->played_ + 1;
            own->turns_.hand_to(1 - number);
        }
    }

    long wanted_;
    volatile long played_ = 0;
    Turns turns_;
};

template <class Threads, class Turns, class In_workers>
int run_program(arguments &options, const char *library, const char *kind, In_workers in_workers) {
    const int workers = options.whole("workers", 2, 1, 1024);
    const int turns = options.whole("turns", 2000, 1, 1'000'000'000); // of each player in a round
    const double budget = options.number("budget-s", 0.4, 0, 600);
    options.finish();
    record result("pingpong", library);
    result.word("kind", kind).number("workers", workers);
    in_workers(workers, [&] {
        auto game = std::make_unique<match<Threads, Turns>>(turns);
        game->round();
        std::vector<double> samples = sample([&] { return game->round(); }, budget);
        result.number("samples", static_cast<double>(samples.size()));
        result.number("ns", median_of(std::move(samples)));
    });
    result.print();
    return 0;
}

} // namespace bench::turns
