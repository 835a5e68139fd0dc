#include "comity/sync/future.hpp"
#include "comity/thread.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

using namespace std::chrono_literals;

namespace {

template <class F> int future_error_of(F f) {
    try {
        f();
    } catch (const std::future_error &e) {
        return e.code().value();
    }
    return -1;
}
constexpr int value_of(std::future_errc e) { return static_cast<int>(e); }

} // namespace

TEST(future, carries_a_value_from_a_thread_to_another) {
    const comity::threads scope;
    comity::promise<std::unique_ptr<int>> p;
    auto f = p.get_future();
    comity::thread setter([&p] { p.set_value(std::make_unique<int>(7)); });
    EXPECT_EQ(*f.get(), 7);
    EXPECT_FALSE(f.valid());
}

TEST(future, carries_an_exception) {
    comity::promise<void> p;
    auto f = p.get_future();
    p.set_exception(std::make_exception_ptr(std::runtime_error("lost")));
    EXPECT_THROW(f.get(), std::runtime_error);
}

TEST(future, waits_no_longer_than_told) {
    comity::promise<int> p;
    auto f = p.get_future();
    EXPECT_EQ(f.wait_for(5ms), std::future_status::timeout);
    EXPECT_EQ(f.wait_until(std::chrono::system_clock::now() - 1h), std::future_status::timeout);
    p.set_value(1);
    EXPECT_EQ(f.wait_for(0s), std::future_status::ready);
}

TEST(future, a_promise_that_is_gone_is_told) {
    comity::future<int> f;
    {
        comity::promise<int> p;
        f = p.get_future();
    }
    EXPECT_EQ(future_error_of([&f] { f.get(); }), value_of(std::future_errc::broken_promise));
}

TEST(future, misuse_throws) {
    comity::promise<int> p;
    auto f = p.get_future();
    EXPECT_EQ(future_error_of([&p] { p.get_future(); }), value_of(std::future_errc::future_already_retrieved));
    p.set_value(1);
    EXPECT_EQ(future_error_of([&p] { p.set_value(2); }), value_of(std::future_errc::promise_already_satisfied));
    EXPECT_EQ(future_error_of([&p] { p.set_exception(nullptr); }),
              value_of(std::future_errc::promise_already_satisfied));
    EXPECT_EQ(f.get(), 1);
    EXPECT_EQ(future_error_of([&f] { f.get(); }), value_of(std::future_errc::no_state));
    EXPECT_EQ(future_error_of([&f] { f.then([](int) {}); }), value_of(std::future_errc::no_state));
    EXPECT_EQ(future_error_of([&f] { f.is_ready(); }), value_of(std::future_errc::no_state));
}

TEST(future, then_is_called_with_what_was_set_before_or_after) {
    for (const bool before : {true, false}) {
        comity::promise<int> p;
        auto f = p.get_future();
        if (before) p.set_value(20);
        auto text = f.then([](int n) { return n + 1; }).then([](int n) { return std::to_string(n); });
        EXPECT_FALSE(f.valid());
        EXPECT_EQ(text.is_ready(), before);
        if (!before) p.set_value(20);
        EXPECT_EQ(text.get(), "21");
    }
}

TEST(future, then_hands_exceptions_on_until_somebody_takes_them) {
    comity::promise<void> p;
    bool called = false;
    auto end = p.get_future()
                   .then([]() -> int { throw std::runtime_error("lost"); })
                   .then([&called](int n) {
                       called = true;
                       return n;
                   })
                   .then([](comity::future<int> f) {
                       try {
                           return f.get();
                       } catch (const std::runtime_error &) {
                           return -1;
                       }
                   });
    p.set_value();
    EXPECT_EQ(end.get(), -1);
    EXPECT_FALSE(called);
}

TEST(future, a_continuation_may_destroy_the_promise) {
    auto p = std::make_unique<comity::promise<int>>();
    auto done = p->get_future().then([&p](int) { p.reset(); });
    p->set_value(3);
    done.get();
    EXPECT_EQ(p, nullptr);
}

TEST(future, a_set_inside_a_continuation_has_run_what_waited_when_it_returns) {
    comity::promise<int> p, q;
    int seen = 0;
    auto inner = q.get_future().then([&seen](int n) { seen = n; });
    auto outer = p.get_future().then([&](int n) {
        q.set_value(n + 1);
        return seen;
    });
    p.set_value(4);
    EXPECT_EQ(outer.get(), 5);
}

TEST(future, a_value_that_cannot_be_made_sets_nothing) {
    struct picky {
        explicit picky(int n) {
            if (n < 0) throw std::invalid_argument("negative");
        }
    };
    comity::promise<picky> p;
    auto f = p.get_future();
    EXPECT_THROW(p.set_value(-1), std::invalid_argument);
    EXPECT_FALSE(f.is_ready());
    p.set_value(1);
    EXPECT_TRUE(f.is_ready());
}

// ---- Coroutines

namespace {

comity::future<int> sum_of(comity::future<int> a, comity::eventual<int> &b) {
    const int first = co_await a;
    co_return first + co_await b;
}
comity::future<void> passes_on(comity::future<int> f, int &to) { to = co_await f; }

} // namespace

TEST(coroutine, waits_without_a_thread) {
    comity::promise<int> a;
    comity::eventual<int> b;
    auto sum = sum_of(a.get_future(), b);
    EXPECT_FALSE(sum.is_ready());
    a.set_value(40);
    EXPECT_FALSE(sum.is_ready());
    b.set(2);
    EXPECT_EQ(sum.get(), 42);
}

TEST(coroutine, an_exception_is_thrown_in_it_and_leaves_it_by_its_future) {
    comity::promise<int> p;
    int value = 0;
    auto f = passes_on(p.get_future(), value);
    p.set_exception(std::make_exception_ptr(std::runtime_error("lost")));
    EXPECT_THROW(f.get(), std::runtime_error);
    EXPECT_EQ(value, 0);
}

TEST(coroutine, goes_on_in_the_thread_that_sets) {
    comity::promise<int> p;
    std::thread::id there, set_by;
    auto f = [](comity::future<int> f, std::thread::id &at) -> comity::future<void> {
        co_await f;
        at = std::this_thread::get_id();
    }(p.get_future(), there);
    std::thread([&] {
        set_by = std::this_thread::get_id();
        p.set_value(1);
    }).join();
    f.get();
    EXPECT_EQ(there, set_by);
}

namespace {
struct held { // a coroutine whose owner destroys it
    struct promise_type {
        held get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
    std::coroutine_handle<promise_type> handle;
};
held waits_for(comity::eventual<int> &e, bool &went_on) {
    co_await e;
    went_on = true;
}
} // namespace

TEST(coroutine, one_that_is_destroyed_while_it_waits_is_forgotten) {
    comity::eventual<int> e;
    bool first = false, second = false;
    held a = waits_for(e, first), b = waits_for(e, second);
    a.handle.destroy();
    e.set(1);
    EXPECT_FALSE(first);
    EXPECT_TRUE(second);
    b.handle.destroy();
}

// ---- Chains: of any length, on a stack of 64 KiB

namespace {

constexpr int links = 200'000;

// Calls f on a thread with little stack.
template <class F> void on_a_small_stack(F f) {
    const comity::threads scope;
    comity::thread({.stack_size = 64 * 1024}, f).join();
}

comity::future<int> chain_of_thens(comity::future<int> f) {
    for (int i = 0; i < links; ++i) f = f.then([](int n) { return n + 1; });
    return f;
}
comity::future<int> one_more(comity::future<int> f) { co_return co_await f + 1; }
// It stops once more, where it need not, before it ends.
comity::future<int> one_more_later(comity::future<int> f) {
    comity::promise<int> there;
    there.set_value(co_await f);
    auto value = there.get_future();
    co_return co_await value + 1;
}
// It stops where only the program knows who goes on with it.
struct stops_elsewhere {
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> h) const { *waiter = h; }
    void await_resume() const noexcept {}
    std::coroutine_handle<> *waiter;
};
comity::future<int> one_more_from_elsewhere(comity::future<int> f, std::coroutine_handle<> &waiter) {
    const int n = co_await f;
    co_await stops_elsewhere{&waiter};
    co_return n + 1;
}

} // namespace

TEST(chain, of_continuations_takes_the_stack_of_one) {
    on_a_small_stack([] {
        comity::promise<int> p;
        auto end = chain_of_thens(p.get_future());
        p.set_value(1);
        EXPECT_EQ(end.get(), links + 1);
    });
}

TEST(chain, of_continuations_hands_an_exception_on_and_that_its_promise_is_gone) {
    on_a_small_stack([] {
        comity::promise<int> p;
        auto end = chain_of_thens(p.get_future());
        p.set_exception(std::make_exception_ptr(std::runtime_error("lost")));
        EXPECT_THROW(end.get(), std::runtime_error);
        {
            const comity::promise<int> gone = std::exchange(p, {});
            end = chain_of_thens(std::exchange(p, {}).get_future());
        }
        EXPECT_EQ(future_error_of([&end] { end.get(); }), value_of(std::future_errc::broken_promise));
    });
}

TEST(chain, of_coroutines_takes_the_stack_of_one) {
    for (auto *next : {one_more, one_more_later})
        on_a_small_stack([next] {
            comity::promise<int> p;
            auto end = p.get_future();
            for (int i = 0; i < links; ++i) end = next(std::move(end));
            p.set_value(1);
            EXPECT_EQ(end.get(), links + 1);
        });
}

TEST(chain, of_both_takes_the_stack_of_one) {
    on_a_small_stack([] {
        comity::promise<int> p;
        auto end = p.get_future();
        for (int i = 0; i < links; ++i)
            end = i % 3 != 0 ? one_more(std::move(end)) : end.then([](int n) { return n + 1; });
        p.set_value(1);
        EXPECT_EQ(end.get(), links + 1);
    });
}

TEST(chain, goes_on_where_the_program_goes_on_with_a_coroutine) {
    comity::promise<int> p;
    std::coroutine_handle<> waiter;
    auto end = one_more(one_more_from_elsewhere(one_more(p.get_future()), waiter));
    p.set_value(1);
    EXPECT_FALSE(end.is_ready());
    waiter.resume();
    EXPECT_EQ(end.get(), 4);
}

// ---- Eventual

TEST(eventual, is_set_once_and_read_by_all) {
    const comity::threads scope;
    comity::eventual<std::string> e;
    EXPECT_EQ(e.test(), nullptr);
    EXPECT_EQ(e.wait_for(1ms), nullptr);
    {
        comity::thread readers[3];
        for (auto &r : readers) r = comity::thread([&e] { EXPECT_EQ(e.wait(), "here"); });
        comity::this_thread::yield();
        e.set("here");
    }
    EXPECT_EQ(future_error_of([&e] { e.set("again"); }), value_of(std::future_errc::promise_already_satisfied));
    e.reset();
    EXPECT_FALSE(e.is_set());
    e.set("again");
    EXPECT_EQ(*e.test(), "again");
}

// ---- A request to cancel the thread that runs what others left there

namespace {

// Where a thread is cancelled: it waits until it is, and then comes by a cancellation point.
struct stage {
    comity::event entered, cancelled;

    void is_cancelled_here() {
        entered.set();
        cancelled.wait();
        comity::this_thread::sleep_for(1ms);
    }
};

comity::future<int> sleeps_after(comity::future<int> f, stage &in) {
    const int value = co_await f;
    in.is_cancelled_here();
    co_return value;
}
comity::future<int> sleeps_at_once(stage &in) {
    in.is_cancelled_here();
    co_return 3;
}

// A thread that is cancelled within f, which is on that stage then, and at its next cancellation point ends.
template <class F> void is_cancelled_after(stage &in, F f) {
    bool done = false, went_on = false;
    comity::thread t([&] {
        f();
        done = true;
        comity::this_thread::cancellation_point();
        went_on = true;
    });
    in.entered.wait();
    EXPECT_TRUE(t.cancel());
    in.cancelled.set();
    EXPECT_THROW(t.join(), std::system_error);
    EXPECT_TRUE(done);
    EXPECT_FALSE(went_on);
}

} // namespace

TEST(cancelled_setter, runs_continuations_first) {
    const comity::threads scope;
    comity::promise<int> p;
    stage in;
    auto g = p.get_future().then([&in](int i) {
        in.is_cancelled_here();
        return i;
    });
    is_cancelled_after(in, [&p] { p.set_value(3); });
    comity::thread innocent([&g] { EXPECT_EQ(g.get(), 3); });
    EXPECT_NO_THROW(innocent.join());
}

TEST(cancelled_setter, runs_coroutines_first) {
    const comity::threads scope;
    comity::promise<int> p;
    stage in;
    auto g = sleeps_after(p.get_future(), in);
    is_cancelled_after(in, [&p] { p.set_value(3); });
    EXPECT_EQ(g.get(), 3);
}

TEST(promise, that_was_moved_from_has_no_state) {
    constexpr int no_state = value_of(std::future_errc::no_state);
    comity::promise<int> p;
    const auto q = std::move(p);
    // NOLINTBEGIN(bugprone-use-after-move): that is what it is about
    EXPECT_EQ(future_error_of([&p] { p.set_value(1); }), no_state);
    EXPECT_EQ(future_error_of([&p] { p.set_exception(nullptr); }), no_state);
    EXPECT_EQ(future_error_of([&p] { p.get_future(); }), no_state);
    bool is_called = false;
    EXPECT_EQ(future_error_of([&] { p.set_from([&] { return is_called = true, 1; }); }), no_state);
    EXPECT_FALSE(is_called);
    p = comity::promise<int>();
    p.set_value(2);
    EXPECT_EQ(p.get_future().get(), 2);
    // NOLINTEND(bugprone-use-after-move)
}

TEST(future, that_was_moved_from_has_no_state) {
    constexpr int no_state = value_of(std::future_errc::no_state);
    comity::promise<int> p;
    auto f = p.get_future();
    const auto g = std::move(f);
    // NOLINTBEGIN(bugprone-use-after-move): that is what it is about
    EXPECT_FALSE(f.valid());
    EXPECT_EQ(future_error_of([&f] { f.get(); }), no_state);
    EXPECT_EQ(future_error_of([&f] { f.wait(); }), no_state);
    EXPECT_EQ(future_error_of([&f] { (void)f.wait_for(1s); }), no_state);
    EXPECT_EQ(future_error_of([&f] { (void)f.is_ready(); }), no_state);
    EXPECT_EQ(future_error_of([&f] { (void)f.then([](int) {}); }), no_state);
    // NOLINTEND(bugprone-use-after-move)
}

TEST(cancelled_caller, runs_a_coroutine_first_that_starts) {
    const comity::threads scope;
    stage in;
    comity::future<int> g;
    is_cancelled_after(in, [&] { g = sleeps_at_once(in); });
    EXPECT_EQ(g.get(), 3);
}

TEST(cancelled_caller, runs_a_continuation_first_whose_value_is_there) {
    const comity::threads scope;
    comity::promise<int> p;
    p.set_value(3);
    stage in;
    comity::future<void> g;
    is_cancelled_after(in, [&] { g = p.get_future().then([&in](int) { in.is_cancelled_here(); }); });
    EXPECT_NO_THROW(g.get());
}

TEST(set_from, does_not_keep_that_the_caller_was_cancelled) {
    const comity::threads scope;
    comity::future<void> g;
    comity::event in;
    comity::thread t([&] {
        comity::promise<void> p;
        g = p.get_future();
        p.set_from([&in] {
            in.set();
            comity::this_thread::sleep_for(1h);
        });
        ADD_FAILURE() << "it went on";
    });
    in.wait();
    EXPECT_TRUE(t.cancel());
    EXPECT_THROW(t.join(), std::system_error);
    EXPECT_EQ(future_error_of([&g] { g.get(); }), value_of(std::future_errc::broken_promise));
}
