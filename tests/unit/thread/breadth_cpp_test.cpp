// C++: identities, names, cancellation by an exception, stop tokens, and techniques in the type.
#include "comity/sync.hpp"
#include "comity/thread.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <unordered_set>

using comity::basic_thread;
using comity::jthread;
using comity::technique;
using comity::thread;

namespace {

// What must not compile.
template <technique How>
concept takes_a_stack_size = requires {
    typename comity::attributes_of<How>;
}
&&requires {
    basic_thread<How>(comity::attributes_of<How>{.stack_size = 1 << 20}, [] {});
};
template <technique How>
concept takes_own_tls = requires {
    basic_thread<How>(comity::attributes_of<How>{.own_tls = true}, [] {});
};
struct scheduler_that_keeps_its_stack {
    static constexpr bool stateless = false;
};
template <technique How, class Scheduler>
concept runs_under = requires {
    typename basic_thread<How, Scheduler>;
};

static_assert(takes_a_stack_size<technique::roc_l> && takes_a_stack_size<technique::full>);
static_assert(!takes_a_stack_size<technique::sc> && !takes_a_stack_size<technique::stackless>);
static_assert(takes_own_tls<technique::full_l> && !takes_own_tls<technique::sc>);
static_assert(runs_under<technique::sc, comity::threads> && runs_under<technique::roc, scheduler_that_keeps_its_stack>);
static_assert(!runs_under<technique::sc, scheduler_that_keeps_its_stack>);
static_assert(!runs_under<technique::ss_l, scheduler_that_keeps_its_stack>);
static_assert(!runs_under<technique::stackless, scheduler_that_keeps_its_stack>);
static_assert(!std::is_constructible_v<thread, int>);                      // cannot be called
static_assert(!std::is_constructible_v<jthread, thread::attributes, int>); // neither

struct counts_its_end {
    std::atomic<int> &ends;
    ~counts_its_end() { ++ends; }
};

int code_of(auto &&f) {
    try {
        f();
    } catch (const std::system_error &e) {
        return e.code().value();
    }
    return 0;
}

} // namespace

TEST(cpp_breadth, threads_have_identities) {
    const comity::threads scope;
    thread a([] { comity::this_thread::yield(); }), b([] { comity::this_thread::yield(); }), none;
    EXPECT_NE(a.get_id(), b.get_id());
    EXPECT_EQ(none.get_id(), thread::id());
    EXPECT_TRUE((a.get_id() < b.get_id()) != (b.get_id() < a.get_id()));
    const std::unordered_set<thread::id> ids{a.get_id(), b.get_id(), a.get_id()};
    EXPECT_EQ(ids.size(), 2U);
    EXPECT_EQ(comity::this_thread::get_id(), thread::id());
    thread::id own;
    thread c([&own] { own = comity::this_thread::get_id(); });
    const thread::id outside = c.get_id();
    c.join();
    EXPECT_EQ(own, outside);
}

TEST(cpp_breadth, threads_have_names_and_other_attributes) {
    char name[40] = "";
    comity_thread_attr_t seen{};
    thread({.technique = technique::sc, .priority = 7, .name = "worker"}, [&] {
        comity_thread_name(comity_thread_self(), name, sizeof name);
        comity_thread_get_attr(comity_thread_self(), &seen);
    }).join();
    EXPECT_STREQ(name, "worker");
    EXPECT_EQ(seen.priority, 7);
    EXPECT_EQ(seen.technique, COMITY_TECHNIQUE_SC);
}

TEST(cpp_breadth, a_technique_in_the_type_is_that_of_the_thread) {
    comity_technique_t seen{};
    basic_thread<technique::c_roc> t(
        {.stack_size = 1 << 17},
        [&seen](int) {
            comity_thread_attr_t attr{};
            comity_thread_get_attr(comity_thread_self(), &attr);
            seen = attr.technique;
        },
        3);
    t.join();
    EXPECT_EQ(seen, COMITY_TECHNIQUE_C_ROC);
    basic_thread<technique::sc>({.priority = 3}, [] { comity::this_thread::yield(); }).join();
}

TEST(cpp_breadth, cancellation_unwinds_the_stack) {
    const comity::threads scope;
    for (const technique how : {technique::roc_l, technique::full, technique::sc, technique::c_roc_e}) {
        std::atomic<int> ends{0}, caught{0};
        std::atomic<bool> there{false};
        thread t({.technique = how}, [&] {
            const counts_its_end outer{ends};
            try {
                const counts_its_end inner{ends};
                thread joined_by_destructor([] { comity::this_thread::yield(); });
                there = true;
                comity::this_thread::suspend();
                ADD_FAILURE() << "it was cancelled";
            } catch (const std::exception &) {
                ADD_FAILURE() << "it is not such an exception";
            } catch (...) {
                ++caught;
                comity::this_thread::cancellation_point(); // once is enough
                throw;
            }
        });
        while (!there) comity::this_thread::yield();
        EXPECT_TRUE(t.cancel());
        EXPECT_EQ(code_of([&t] { t.join(); }), ECANCELED);
        EXPECT_EQ(ends, 2);
        EXPECT_EQ(caught, 1);
    }
}

TEST(cpp_breadth, a_cancelled_thread_waits_for_those_that_its_frames_own) {
    const comity::threads scope;
    std::atomic<bool> there{false}, go{false}, ended{false};
    thread t([&] {
        const thread owned([&] {
            while (!go) comity::this_thread::yield();
            ended = true;
        });
        there = true;
        while (!go) comity::this_thread::yield(); // cancelled in the destructor, which ignores it
    });
    while (!there) comity::this_thread::yield();
    EXPECT_TRUE(t.cancel());
    go = true;
    t.join();
    EXPECT_TRUE(ended);
}

TEST(cpp_breadth, joins_may_give_up) {
    const comity::threads scope;
    std::atomic<bool> go{false};
    thread t([&go] {
        while (!go) comity::this_thread::yield();
        throw std::runtime_error("thrown");
    });
    EXPECT_FALSE(t.try_join());
    EXPECT_FALSE(t.join_for(std::chrono::milliseconds(2)));
    EXPECT_TRUE(t.joinable());
    go = true;
    EXPECT_THROW(t.join_until(std::chrono::steady_clock::now() + std::chrono::hours(1)), std::runtime_error);
    EXPECT_FALSE(t.joinable());
    EXPECT_EQ(code_of([&t] { t.try_join(); }), EINVAL);
    EXPECT_EQ(code_of([&t] { t.detach(); }), EINVAL);
    EXPECT_EQ(code_of([&t] { t.cancel(); }), EINVAL);
}

TEST(cpp_breadth, joining_twice_or_oneself_throws) {
    const comity::threads scope;
    thread t([] {});
    t.join();
    EXPECT_EQ(code_of([&t] { t.join(); }), EINVAL);
    EXPECT_EQ(code_of([&t] { t.join_for(std::chrono::milliseconds(1)); }), EINVAL);

    std::atomic<int> oneself{0}, soon{0};
    std::atomic<bool> there{false};
    t = thread([&] {
        while (!there) comity::this_thread::yield();
        oneself = code_of([&t] { t.join(); });
        soon = code_of([&t] { t.try_join(); });
    });
    there = true;
    t.join();
    EXPECT_EQ(oneself, EDEADLK);
    EXPECT_EQ(soon, EDEADLK);
}

// Neither is an error: the caller learns that nothing has happened.
TEST(cpp_breadth, resuming_what_is_not_suspended_and_cancelling_what_has_ended_does_nothing) {
    const comity::threads scope;
    std::atomic<bool> go{false}, ends{false};
    thread t([&] {
        while (!go) comity::this_thread::yield();
        ends = true;
    });
    EXPECT_FALSE(t.resume());
    go = true;
    while (comity_thread_state(t.native_handle()) != COMITY_THREAD_ENDED) comity::this_thread::yield();
    EXPECT_FALSE(t.resume());
    EXPECT_FALSE(t.cancel());
    t.join();
    EXPECT_TRUE(ends);
}

TEST(cpp_breadth, bad_attributes_throw) {
    EXPECT_EQ(code_of([] { thread({.technique = static_cast<technique>(200)}, [] {}); }), EINVAL);
    EXPECT_EQ(code_of([] { thread({.stack_size = std::size_t{1} << 60}, [] {}); }), EINVAL);
    EXPECT_EQ(code_of([] { comity::this_thread::suspend(); }), EPERM);
}

TEST(cpp_breadth, threads_are_suspended_and_resumed) {
    const comity::threads scope;
    std::atomic<int> steps{0};
    thread t([&steps] {
        ++steps;
        comity::this_thread::suspend();
        ++steps;
    });
    while (!t.resume()) comity::this_thread::yield();
    t.join();
    EXPECT_EQ(steps, 2);
}

TEST(cpp_breadth, threads_are_swapped_and_joined_in_time) {
    const comity::threads scope;
    EXPECT_EQ(thread::hardware_concurrency(), static_cast<unsigned>(comity_hart_count()));
    comity_event_t go = COMITY_EVENT_INIT;
    std::atomic<int> ran{0};
    jthread a([&] {
        comity_event_wait(&go);
        ran = 1;
    });
    jthread b;
    const auto id = a.get_id();
    a.swap(b);
    EXPECT_FALSE(a.joinable());
    EXPECT_EQ(b.get_id(), id);
    EXPECT_FALSE(b.try_join());
    EXPECT_FALSE(b.join_for(std::chrono::microseconds(1)));
    comity_event_set(&go);
    EXPECT_TRUE(b.join_for(std::chrono::hours(1)));
    EXPECT_EQ(ran, 1);
    thread c({.technique = technique::full}, [] { // not on the stack of this thread, which is bound
        comity::this_thread::migrate(0);
        EXPECT_THROW(comity::this_thread::migrate(1 << 20), std::system_error);
    });
    thread d;
    d.swap(c);
    d.join();
}

TEST(cpp_breadth, jthreads_are_asked_to_stop_and_joined) {
    const comity::threads scope;
    std::atomic<int> stopped{0};
    {
        jthread a(
            [&stopped](const std::stop_token &stop, int n) {
                while (!stop.stop_requested()) comity::this_thread::yield();
                stopped += n;
            },
            5);
        jthread b({.name = "b"}, [&stopped] { ++stopped; });
        jthread c([&stopped](const std::stop_token &stop) {
            comity::event e;
            const std::stop_callback wake(stop, [&e] { e.set(); });
            e.wait();
            ++stopped;
        });
        jthread moved(std::move(c));
        EXPECT_FALSE(c.joinable());
        EXPECT_TRUE(moved.joinable());
        EXPECT_TRUE(moved.get_stop_token().stop_possible());
        b = std::move(moved);
        EXPECT_TRUE(a.request_stop());
        EXPECT_FALSE(a.request_stop());
    }
    EXPECT_EQ(stopped, 7);
}
