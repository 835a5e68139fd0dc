// Cycles (of the time-stamp counter) for a push and a pop of each pool: by one thread alone, and from one thread to
// another; beside a std::deque under a std::mutex. The best of many rounds: the machine's noise only adds.
//   comity [TEXT]    only the rows whose names contain the text
#include "comity/pool.h"
#include "pool/array_queue.hpp"
#include "pool/deque.hpp"
#include "pool/mpsc.hpp"
#include "pool/priority.hpp"
#include "pool/random.hpp"
#include "pool/spsc.hpp"
#include "pool/stack.hpp"
#include "pool/unit.hpp"
#include "sys/clock.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace {

using comity::unit;
using namespace comity::pool;
using comity::sys::ticks;

struct mutex_and_deque {
    std::mutex m;
    std::deque<unit *> d;
    bool push(unit *u) {
        const std::lock_guard lock(m);
        d.push_back(u);
        return true;
    }
    unit *pop() {
        const std::lock_guard lock(m);
        if (d.empty()) return nullptr;
        unit *u = d.front();
        d.pop_front();
        return u;
    }
};

struct owners_end : comity::pool::deque<unit> {}; // push and pop at the same end
struct thieves_end : comity::pool::deque<unit> {
    unit *pop() { return steal(); }
};

// Through the C interface.
template <comity_pool_access_t Access, comity_pool_order_t Order> struct through_c {
    comity_pool_t *p = nullptr;
    through_c() {
        if (comity_pool_create(&p, Access, Order) != 0) std::abort();
    }
    ~through_c() { comity_pool_free(p); }
    bool push(unit *u) { return comity_pool_push(p, reinterpret_cast<comity_unit_t *>(u)) == 0; }
    unit *pop() {
        comity_unit_t *u = nullptr;
        comity_pool_pop(p, &u);
        return reinterpret_cast<unit *>(u);
    }
};

std::vector<unit> units(4096);

template <class Round> double best_of(int rounds, std::size_t n, Round round) {
    double best = 1e18;
    for (int i = 0; i < rounds; ++i) {
        const std::uint64_t from = ticks();
        round();
        best = std::min(best, static_cast<double>(ticks() - from) / static_cast<double>(n));
    }
    return best;
}

// n in, n out.
template <class Pool> double alone(std::size_t n) {
    const auto pool = std::make_unique<Pool>();
    return best_of(static_cast<int>(400'000 / n), n, [&] {
        for (std::size_t i = 0; i < n; ++i)
            if (!pool->push(&units[i])) std::abort();
        for (std::size_t i = 0; i < n; ++i)
            if (!pool->pop()) std::abort();
    });
}

// One thread pushes as fast as it can, this one pops; at most 2048 are on their way.
template <class Pool> double handed_over() {
    constexpr std::size_t n = 20'000;
    const auto pool = std::make_unique<Pool>();
    return best_of(9, n, [&] {
        alignas(64) std::atomic<std::size_t> popped{0};
        std::thread producer([&] {
            for (std::size_t i = 0; i < n; ++i) {
                if (i % 1024 == 0)
                    while (i > popped.load(std::memory_order_relaxed) + 1024) comity::sys::cpu_relax();
                if (!pool->push(&units[i % units.size()])) std::abort();
            }
        });
        for (std::size_t got = 0; got < n;) {
            if (!pool->pop()) {
                comity::sys::cpu_relax();
                continue;
            }
            if (++got % 64 == 0) popped.store(got, std::memory_order_relaxed);
        }
        popped.store(n, std::memory_order_relaxed);
        producer.join();
    });
}

// Two threads push and pop in turn, each its own units at first. Wall-clock for the pairs of both.
template <class Pool> double fought_for() {
    constexpr std::size_t n = 20'000;
    const auto pool = std::make_unique<Pool>();
    return best_of(9, 2 * n, [&] {
        const auto work = [&](unit *u) {
            for (std::size_t i = 0; i < n; ++i) {
                if (!pool->push(u)) std::abort();
                while (!(u = pool->pop())) comity::sys::cpu_relax();
            }
        };
        std::thread other(work, &units[0]);
        work(&units[1]);
        other.join();
    });
}

enum : unsigned { one = 0, hand_over = 1, fight = 2 };

const char *only = ""; // rows whose names contain it

template <class Pool, unsigned What> void row(const char *name) {
    if (!std::strstr(name, only)) return;
    std::printf("%-36s %8.1f %8.1f", name, alone<Pool>(64), alone<Pool>(4096));
    if constexpr ((What & hand_over) != 0)
        std::printf(" %10.1f", handed_over<Pool>());
    else
        std::printf(" %10s", "");
    if constexpr ((What & fight) != 0) std::printf(" %10.1f", fought_for<Pool>());
    std::printf("\n");
    std::fflush(stdout);
}

} // namespace

int main(int count, char **arguments) {
    if (count > 1) only = arguments[1];
    for (std::size_t i = 0; i < units.size(); ++i) units[i].priority = static_cast<std::uint8_t>(i % 4);
    std::printf("%-36s %8s %8s %10s %10s\n", "cycles for a push and a pop", "alone 64", "4096", "one to one",
                "two, both");
    row<private_fifo<unit>, one>("private fifo");
    row<private_lifo<unit>, one>("private lifo");
    row<private_priority<unit>, one>("private priority");
    row<private_random<unit>, one>("private random");
    row<spsc_fifo<unit>, hand_over>("spsc fifo");
    row<spmc_fifo<unit>, hand_over>("spmc fifo");
    row<spmc_fifo<unit, true>, hand_over>("spmc fifo with remove");
    row<mpsc_fifo<unit>, hand_over>("mpsc fifo");
    row<mpsc_lifo<unit>, hand_over>("mpsc and spsc lifo");
    row<mpmc_fifo<unit>, hand_over | fight>("mpmc fifo");
    row<mpmc_fifo<unit, true>, hand_over | fight>("mpmc fifo with remove");
    row<stack<unit>, hand_over | fight>("mpmc and spmc lifo");
    row<stack<unit, true>, hand_over | fight>("mpmc and spmc lifo with remove");
    row<shared_priority<spsc_fifo<unit>>, hand_over>("spsc priority");
    row<shared_priority<mpsc_fifo<unit>>, hand_over>("mpsc priority");
    row<shared_priority<mpmc_fifo<unit>>, hand_over | fight>("mpmc priority");
    row<locked<private_random<unit>>, hand_over | fight>("mpmc random");
    row<owners_end, one>("work-stealing deque, owner's end");
    row<thieves_end, hand_over>("work-stealing deque, thieves' end");
    row<through_c<COMITY_POOL_PRIVATE, COMITY_POOL_FIFO>, one>("C interface: private fifo");
    row<through_c<COMITY_POOL_SPSC, COMITY_POOL_FIFO>, hand_over>("C interface: spsc fifo");
    row<through_c<COMITY_POOL_MPMC, COMITY_POOL_FIFO>, hand_over | fight>("C interface: mpmc fifo");
    row<mutex_and_deque, hand_over | fight>("std::deque under a std::mutex");
    return 0;
}
