// How the benchmarks use Boost.Fiber: README.md says what the words are. Stacks are pooled: one mapped
// anew for each fiber would be slower still. Its workers share their ready fibers, or with BENCH_BOOST=stealing in the
// environment steal them: which is better depends on the workload.
#pragma once

#include <boost/fiber/all.hpp>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

namespace bench::library {

inline constexpr const char *name = "boost_fiber";

using fiber_mutex = boost::fibers::mutex;
using fiber_condition = boost::fibers::condition_variable_any;

inline void join_workers(int workers) {
    namespace algo = boost::fibers::algo;
    const char *wanted = std::getenv("BENCH_BOOST");
    if (wanted && std::strcmp(wanted, "stealing") == 0)
        boost::fibers::use_scheduling_algorithm<algo::work_stealing>(static_cast<std::uint32_t>(workers));
    else
        boost::fibers::use_scheduling_algorithm<algo::shared_work>();
}

// Runs f in a kernel thread beside workers - 1 others. With one worker the scheduler is the one without locks.
inline constexpr auto in_workers = [](int workers, auto f) {
    if (workers == 1) return f();
    fiber_mutex mutex;
    fiber_condition done;
    bool over = false;
    std::vector<std::thread> others;
    for (int i = 1; i < workers; ++i)
        others.emplace_back([&] {
            join_workers(workers);
            std::unique_lock<fiber_mutex> lock(mutex);
            done.wait(lock, [&] { return over; });
        });
    join_workers(workers);
    f();
    {
        const std::unique_lock<fiber_mutex> lock(mutex);
        over = true;
    }
    done.notify_all();
    for (std::thread &one : others) one.join();
};

struct threads {
    using handle = boost::fibers::fiber;
    template <void (*body)(void *)> static void create(handle &fiber, void *argument) {
        thread_local boost::fibers::pooled_fixedsize_stack stacks{16 * 1024};
        fiber = handle(std::allocator_arg, stacks, [argument] { body(argument); });
    }
    static void join(handle &fiber) { fiber.join(); }
    static void yield() { boost::this_fiber::yield(); }
};

using mutex = fiber_mutex;

class condition {
public:
    void wait(mutex &locked) { condition_.wait(locked); }
    void signal() { condition_.notify_one(); }

private:
    fiber_condition condition_;
};

class barrier {
public:
    explicit barrier(int count) : barrier_(static_cast<std::size_t>(count)) {}
    void wait() { barrier_.wait(); }

private:
    boost::fibers::barrier barrier_;
};

class event {
public:
    void wait() {
        std::unique_lock<mutex> lock(mutex_);
        condition_.wait(lock, [&] { return set_; });
    }
    void set() {
        {
            const std::unique_lock<mutex> lock(mutex_);
            set_ = true;
        }
        condition_.notify_all();
    }

private:
    mutex mutex_;
    fiber_condition condition_;
    bool set_ = false;
};

} // namespace bench::library
