#include "comity/thread.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <fstream>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

using comity::technique;
using comity::thread;

TEST(cpp_thread, runs_a_callable_with_arguments) {
    int result = 0;
    thread t([&result](int a, const std::string &b) { result = a + static_cast<int>(b.size()); }, 40,
             std::string("ab"));
    t.join();
    EXPECT_EQ(result, 42);
    EXPECT_FALSE(t.joinable());
}

namespace {
// What a thread's variables went through.
struct counted {
    int value = 7;
    static inline std::atomic<int> destroyed{0};
    ~counted() { ++destroyed; }
};
thread_local int number = 3;
thread_local counted counted_one;
} // namespace

TEST(own_tls, threads_begin_with_initialised_variables_and_end_with_their_destructors) {
    constexpr int threads = 20;
    const comity::threads scope;
    counted::destroyed = 0;
    for (int i = 0; i < threads; ++i) {
        thread t({.own_tls = true}, [i] {
            EXPECT_EQ(number, 3);
            EXPECT_EQ(counted_one.value, 7);
            EXPECT_EQ(errno, 0);
            number = 100 + i;
            counted_one.value = i;
            errno = EDOM;
        });
        t.join();
        EXPECT_EQ(counted::destroyed, i + 1);
    }
}

TEST(own_tls, variables_are_destroyed_where_a_thread_exits_and_new_where_it_is_revived) {
    const comity::threads scope;
    counted::destroyed = 0;
    const auto function = [](void *) -> void * {
        EXPECT_EQ(counted_one.value, 7);
        counted_one.value = 1;
        comity_thread_yield();
        EXPECT_EQ(counted_one.value, 1);
        comity_thread_exit(nullptr);
    };
    comity_thread_t *t = nullptr;
    comity_thread_attr_t a{};
    a.own_tls = 1;
    ASSERT_EQ(comity_thread_create(&t, &a, function, nullptr), 0);
    ASSERT_EQ(comity_thread_wait(t, nullptr), 0);
    EXPECT_EQ(counted::destroyed, 1);
    ASSERT_EQ(comity_thread_revive(t, function, nullptr), 0);
    ASSERT_EQ(comity_thread_join(t, nullptr), 0);
    EXPECT_EQ(counted::destroyed, 2);
}

TEST(own_tls, variables_are_new_with_an_affinity_too) {
    const comity::threads scope;
    const int hart = 0;
    comity_thread_attr_t a{};
    a.own_tls = 1;
    a.harts = &hart;
    a.hart_count = 1;
    for (int i = 0; i < 3; ++i) {
        comity_thread_t *t = nullptr;
        const auto function = [](void *) -> void * {
            EXPECT_EQ(comity_hart_id(), 0);
            EXPECT_EQ(number, 3);
            number = 4;
            return nullptr;
        };
        ASSERT_EQ(comity_thread_create(&t, &a, function, nullptr), 0);
        ASSERT_EQ(comity_thread_join(t, nullptr), 0);
    }
}

TEST(cpp_thread, takes_what_can_only_be_moved) {
    int result = 0;
    thread t([&result](std::unique_ptr<int> n) { result = *n; }, std::make_unique<int>(5));
    t.join();
    EXPECT_EQ(result, 5);
}

TEST(cpp_thread, takes_a_callable_that_is_larger_than_the_descriptor) {
    std::array<int, 100> numbers{};
    numbers[99] = 3;
    int result = 0;
    thread t([numbers, &result] { result = numbers[99]; });
    t.join();
    EXPECT_EQ(result, 3);
}

TEST(cpp_thread, destructor_joins) {
    std::atomic<int> done{0};
    {
        std::vector<thread> all;
        for (int i = 0; i < 30; ++i)
            all.emplace_back([&done] {
                comity::this_thread::yield();
                ++done;
            });
    }
    EXPECT_EQ(done, 30);
}

TEST(cpp_thread, moves) {
    std::atomic<int> done{0};
    thread a([&done] { ++done; }), b;
    b = std::move(a);
    EXPECT_FALSE(a.joinable());
    EXPECT_TRUE(b.joinable());
    b = thread([&done] { ++done; }); // joins the first
    EXPECT_GE(done, 1);
    b.join();
    EXPECT_EQ(done, 2);
}

TEST(cpp_thread, an_exception_reaches_the_joiner_whatever_the_technique) {
    for (const technique how : {technique::roc_l, technique::full}) {
        for (const bool own_tls : {false, true}) {
            for (const int yields : {0, 1, 5}) {
                thread t({.technique = how, .own_tls = own_tls}, [yields] {
                    for (int i = 0; i < yields; ++i) comity::this_thread::yield();
                    throw std::runtime_error("from the thread");
                });
                try {
                    t.join();
                    FAIL() << "nothing was thrown";
                } catch (const std::runtime_error &e) {
                    EXPECT_STREQ(e.what(), "from the thread");
                }
            }
        }
    }
}

TEST(cpp_thread, exceptions_in_flight_stay_with_their_threads) {
    const comity::threads scope;
    std::atomic<int> right{0};
    const auto handle_while_others_do = [&right](int n) {
        try {
            throw n;
        } catch (int caught) {
            comity::this_thread::yield(); // others throw and catch meanwhile
            try {
                std::rethrow_exception(std::current_exception());
            } catch (int again) {
                comity::this_thread::yield();
                right += again == n && caught == n;
            }
        }
    };
    {
        std::vector<thread> all;
        for (int i = 0; i < 50; ++i) all.emplace_back(handle_while_others_do, i);
    }
    EXPECT_EQ(right, 50);
}

// What a handler handles when its thread leaves by comity_thread_exit is gone; the joiner's exceptions and those of the
// next thread on the same context are their own.
TEST(cpp_thread, exit_leaves_a_handler_for_good) {
    const comity::threads scope;
    const auto leave = [] {
        try {
            throw 1;
        } catch (int) {
            comity_thread_exit(nullptr);
        }
    };
    for (const auto how : {technique::roc_l, technique::full, technique::ss_l, technique::sc}) {
        for (int own_tls = 0; own_tls < 2; ++own_tls) {
            const comity::thread::attributes a{.technique = how, .own_tls = own_tls != 0};
            const auto join_in_a_handler = [&] {
                try {
                    throw 2;
                } catch (int) {
                    thread({.technique = how}, leave).join();
                    try {
                        throw;
                    } catch (int mine) {
                        EXPECT_EQ(mine, 2);
                    }
                }
                EXPECT_FALSE(std::current_exception());
            };
            join_in_a_handler();
            thread(a, join_in_a_handler).join();
            thread(a, leave).join();
            thread(a, [] { EXPECT_FALSE(std::current_exception()); }).join();
        }
    }
}

TEST(cpp_thread, the_scope_waits_for_detached_threads) {
    std::atomic<int> done{0};
    {
        const comity::threads scope;
        for (int i = 0; i < 20; ++i)
            thread({.detached = true}, [&done] {
                comity::this_thread::yield();
                ++done;
            });
    }
    EXPECT_EQ(done, 20);
}

TEST(cpp_thread, joining_nothing_is_an_error) {
    thread none;
    EXPECT_THROW(none.join(), std::system_error);
}

// ---- There is no memory for its stack when it is launched

namespace {

// Takes the memory of a thread that is no more, if somebody gives that back too soon.
struct lives {
    std::array<int *, 2> count;
    ~lives() {
        int *const made = count[0], *const destroyed = count[1];
        thread([others = std::array<long, 4>()] { EXPECT_EQ(others[0], 0); }).join();
        EXPECT_EQ(count[0], made);
        EXPECT_EQ(count[1], destroyed);
        ++*destroyed;
    }
    lives(int &made, int &destroyed) noexcept : count{&made, &destroyed} { ++made; }
    lives(const lives &other) noexcept : count(other.count) { ++*count[0]; }
};

// There is address space for some more megabytes.
class little_memory {
public:
    little_memory() {
        std::ifstream("/proc/self/statm") >> pages_;
        getrlimit(RLIMIT_AS, &before_);
        rlimit now = before_;
        now.rlim_cur = pages_ * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + (rlim_t{64} << 20);
        setrlimit(RLIMIT_AS, &now);
    }
    ~little_memory() { setrlimit(RLIMIT_AS, &before_); }
    little_memory(const little_memory &) = delete;
    little_memory &operator=(const little_memory &) = delete;

private:
    rlim_t pages_ = 0;
    rlimit before_{};
};

template <std::size_t size> void launch_in_vain() {
    thread::attributes large;
    large.technique = technique::c_roc_e; // its stack is taken when it starts, which is when it is launched
    large.stack_size = std::size_t{2} << 30;
    int made = 0, destroyed = 0;
    {
        const lives own(made, destroyed);
        const std::array<char, size> room{};
        EXPECT_THROW(thread(large, [own, room] { (void)room; }), std::bad_alloc);
    }
    EXPECT_GT(made, 1);
    EXPECT_EQ(made, destroyed);
}

} // namespace

TEST(cpp_thread, that_cannot_be_launched_destroys_its_callable) {
    const comity::threads scope;
    thread::attributes own_stack; // on that of a thread of the program's own there is no child-first
    own_stack.technique = technique::full;
    thread(own_stack, [] {
        const little_memory while_it_lasts;
        launch_in_vain<1>();
        launch_in_vain<100>();
    }).join();
}
