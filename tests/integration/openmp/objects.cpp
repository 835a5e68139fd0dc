// C++: objects in data environments, exceptions inside regions, and regions opened by std::threads.
#include "check.h"
#include <atomic>
#include <numeric>
#include <omp.h>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

std::atomic<int> alive{0}, made{0};

struct counted {
    int value;
    explicit counted(int v = 0) : value(v) { ++alive, ++made; }
    counted(const counted &other) : value(other.value) { ++alive, ++made; }
    counted &operator=(const counted &) = default;
    ~counted() { --alive; }
    counted &operator+=(const counted &other) {
        value += other.value;
        return *this;
    }
};
#pragma omp declare reduction(+ : counted : omp_out += omp_in) initializer(omp_priv = counted(0))

extern counted at_start;
#pragma omp threadprivate(at_start)
counted at_start(5);

namespace {

int threads;

void objects_are_made_and_destroyed_once() {
    const int before = alive;
    {
        counted first(3), sum(0), last(0);
#pragma omp parallel num_threads(threads) firstprivate(first)
        {
            first.value += omp_get_thread_num();
            CHECK_EQUAL(first.value, 3 + omp_get_thread_num());
        }
#pragma omp parallel for num_threads(threads) reduction(+ : sum) lastprivate(last)
        for (int i = 0; i < 100; i++) {
            sum.value += i;
            last.value = i;
        }
        CHECK_EQUAL(sum.value, 4950);
        CHECK_EQUAL(last.value, 99);
        std::atomic<int> seen{0};
#pragma omp parallel num_threads(threads)
#pragma omp single
        for (int i = 0; i < 50; i++) {
            counted mine(i);
#pragma omp task firstprivate(mine) shared(seen)
            seen += mine.value;
        }
        CHECK_EQUAL(seen.load(), 1225);
    }
    CHECK_EQUAL(alive - before, 0);
}

void exceptions_stay_in_their_rank() {
    std::atomic<int> caught{0};
#pragma omp parallel num_threads(threads)
    for (int i = 0; i < 20; i++) {
        try {
            if (omp_get_thread_num() % 2 == i % 2)
                throw std::runtime_error("rank " + std::to_string(omp_get_thread_num()));
        } catch (const std::runtime_error &e) {
            if (e.what() == "rank " + std::to_string(omp_get_thread_num())) ++caught;
        }
#pragma omp barrier
    }
    CHECK_EQUAL(caught.load(), 10 * threads);
}

void iterators_make_loops() {
    std::vector<int> numbers(1000);
    std::iota(numbers.begin(), numbers.end(), 0);
    long sum = 0;
#pragma omp parallel for num_threads(threads) reduction(+ : sum) schedule(dynamic, 9)
    for (auto it = numbers.begin(); it < numbers.end(); ++it) sum += *it;
#pragma omp parallel for num_threads(threads) reduction(+ : sum)
    for (int n : numbers) sum += n;
    CHECK_EQUAL(sum, 2 * 499500);
}

void foreign_threads_open_their_own_regions() {
    std::vector<std::thread> others;
    std::atomic<long> sum{0};
    for (int k = 0; k < 6; k++)
        others.emplace_back([&sum, k] {
            omp_set_num_threads(k + 1); // this thread's own setting
            for (int round = 0; round < 50; round++) {
                int in_region = 0;
#pragma omp parallel reduction(+ : in_region)
                {
                    in_region++;
#pragma omp barrier
                }
                CHECK_EQUAL(in_region, k + 1);
                sum += in_region;
            }
        });
    for (std::thread &t : others) t.join();
    CHECK_EQUAL(sum.load(), 50 * 21);
    CHECK(omp_get_max_threads() == 3);
}

void copies_of_threadprivate_objects_are_each_ranks_own() {
    std::atomic<int> wrong{0};
    at_start.value = 5;
#pragma omp parallel num_threads(threads)
    {
        if (omp_get_thread_num()) at_start.value = 5;
        at_start.value += omp_get_thread_num();
    }
#pragma omp parallel num_threads(threads)
    wrong += at_start.value != 5 + omp_get_thread_num();
    CHECK_EQUAL(wrong.load(), 0);
}

} // namespace

int main(int argc, char **argv) {
    witness_comity();
    threads = argc > 1 ? std::atoi(argv[1]) : 4;
    omp_set_num_threads(3);
    for (int round = 0; round < 3; round++) {
        objects_are_made_and_destroyed_once();
        exceptions_stay_in_their_rank();
        iterators_make_loops();
        foreign_threads_open_their_own_regions();
        copies_of_threadprivate_objects_are_each_ranks_own();
    }
    return report();
}
