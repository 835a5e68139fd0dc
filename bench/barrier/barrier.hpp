// Threads that meet at a barrier again and again: nanoseconds an episode, from one meeting of all to the next.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "../support/arguments.hpp"
#include "../support/demand.hpp"
#include "../support/record.hpp"
#include "../support/sampling.hpp"

namespace bench::meeting {

template <class Threads, class Barrier> class meetings {
public:
    meetings(int threads, long episodes)
        : members_(static_cast<std::size_t>(threads)), episodes_(episodes), barrier_(threads) {}

    double round() {
        for (member &one : members_) {
            one.owner = this;
            one.arrived = 0;
        }
        const double begin = wall_seconds();
        for (member &one : members_) Threads::template create<body>(one.thread, &one);
        for (member &one : members_) Threads::join(one.thread);
        const double taken = wall_seconds() - begin;
        demand(early_ == 0, "a thread went on before all had arrived");
        return 1e9 * taken / static_cast<double>(episodes_);
    }

private:
    struct member {
        meetings *owner = nullptr;
        typename Threads::handle thread{};
        std::atomic<long> arrived{0}; // episodes
    };

    // Each looks at its neighbour only: it must have come to this episode, and cannot be past the next.
    static void body(void *p) {
        auto &own = *static_cast<member *>(p);
        meetings &all = *own.owner;
        const auto place = static_cast<std::size_t>(&own - all.members_.data());
        const member &neighbour = all.members_[(place + 1) % all.members_.size()];
        for (long i = 1; i <= all.episodes_; ++i) {
            own.arrived.store(i, std::memory_order_relaxed);
            all.barrier_.wait();
            const long seen = neighbour.arrived.load(std::memory_order_relaxed);
            if (seen < i || seen > i + 1) all.early_.fetch_add(1, std::memory_order_relaxed);
        }
    }

    std::vector<member> members_;
    long episodes_;
    std::atomic<long> early_{0};
    Barrier barrier_;
};

template <class Threads, class Barrier, class In_workers>
int run_program(arguments &options, const char *library, In_workers in_workers) {
    const int threads = options.whole("threads", 2, 1, 100000);
    const int workers = options.whole("workers", 2, 1, 1024);
    const int episodes = options.whole("episodes", 1000, 1, 1'000'000'000); // in a round
    const double budget = options.number("budget-s", 0.5, 0, 600);
    options.finish();
    record result("barrier", library);
    result.number("threads", threads).number("workers", workers);
    in_workers(workers, [&] {
        auto game = std::make_unique<meetings<Threads, Barrier>>(threads, episodes);
        game->round();
        std::vector<double> samples = sample([&] { return game->round(); }, budget);
        result.number("samples", static_cast<double>(samples.size()));
        result.number("ns", median_of(std::move(samples)));
    });
    result.print();
    return 0;
}

} // namespace bench::meeting
