// Values that somebody sets and others wait for: eventual<T>, promise<T> and future<T>. Waiting may switch. Instead of
// waiting one may leave a continuation (future::then) or co_await: then no thread blocks. A continuation and a
// coroutine go on in the thread that sets the value, inside its call of set; or, if the value is there already, at once
// in the thread that asked. So set does whatever they do, and a chain of them runs on one stack. They are never
// cancelled: a request to cancel the thread that runs them takes effect at its first cancellation point after that.
#pragma once

#include "comity/core/cxx20.hpp" // first: nothing else would compile

#include "comity/sync.hpp"
#include "comity/thread/without_cancellation.hpp"

#include <atomic>
#include <coroutine>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

namespace comity {

template <class T> class future;
template <class T> class promise;

namespace detail {

template <class T> struct coroutine_base;
template <class T> struct coroutine;

// What a coroutine stands on while it waits for an event.
class awaiter {
public:
    explicit awaiter(comity_event_t *event) noexcept : event_(event) {}
    awaiter(const awaiter &) = delete;
    awaiter &operator=(const awaiter &) = delete;
    ~awaiter() { // of a coroutine that is destroyed while it waits
        if (waits_) comity_event_forget(event_, &place_);
    }
    bool await_ready() const noexcept { return comity_event_is_set(event_); }
    bool await_suspend(std::coroutine_handle<> waiter) noexcept {
        waiter_ = waiter;
        waits_ = true; // before it may go on elsewhere
        const bool waits = comity_event_on_set(event_, &place_, go_on, this);
        if (!waits) waits_ = false;
        return waits;
    }

private:
    static void go_on(void *self) {
        auto *a = static_cast<awaiter *>(self);
        a->waits_ = false;
        a->waiter_.resume();
    }
    comity_event_t *event_;
    comity_continuation_t place_;
    std::coroutine_handle<> waiter_;
    bool waits_ = false;
};

template <class T> using stored = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

// What a promise and its future share. `result` is written by the promise before the event, and read after it.
template <class T> struct future_state {
    comity_event_t ready = COMITY_EVENT_INIT;
    std::variant<std::monostate, stored<T>, std::exception_ptr> result{};
    std::atomic<bool> set{false}; // taken by the one who sets
    comity_continuation_t place;
    std::function<void()> continuation;

    future_state() = default;
    future_state(const future_state &) = delete;
    future_state &operator=(const future_state &) = delete;
    ~future_state() { comity_event_fini(&ready); }

    // Two steps: nobody sees the result before publish. Throws std::future_error, and what the value's constructor
    // throws; then nothing is set.
    template <class... Value> void put(Value &&...value) {
        stored<T> made(std::forward<Value>(value)...);
        claim();
        try {
            result.template emplace<1>(std::move(made));
        } catch (...) {
            result.template emplace<2>(std::current_exception());
        }
    }
    void put_exception(std::exception_ptr e) {
        claim();
        result.template emplace<2>(std::move(e));
    }
    void publish() noexcept { comity_event_set(&ready); }
    void claim() {
        if (set.exchange(true, std::memory_order_relaxed))
            throw std::future_error(std::future_errc::promise_already_satisfied);
    }
    T take() {
        if (result.index() == 2) std::rethrow_exception(std::get<2>(std::move(result)));
        if constexpr (!std::is_void_v<T>) return std::get<1>(std::move(result));
    }
};

} // namespace detail

// A value that is set once and then can be read by all, until it is reset.
template <class T> class eventual {
public:
    eventual() = default;
    ~eventual() { comity_event_fini(&ready_); }
    eventual(const eventual &) = delete;
    eventual &operator=(const eventual &) = delete;

    // Throws std::future_error (promise_already_satisfied), and what T's constructor throws.
    template <class Value = T> void set(Value &&value) {
        T made(std::forward<Value>(value));
        if (set_.exchange(true, std::memory_order_relaxed))
            throw std::future_error(std::future_errc::promise_already_satisfied);
        try {
            value_.emplace(std::move(made));
        } catch (...) {
            set_.store(false, std::memory_order_relaxed);
            throw;
        }
        comity_event_set(&ready_);
    }
    bool is_set() const noexcept { return comity_event_is_set(&ready_); }
    const T &wait() { // may switch; those that wait throw `cancelled`
        cancelled::check(comity_event_wait(&ready_));
        return *value_;
    }
    // Null: it is not set, or was not when the time was over. Those that wait may switch.
    const T *test() const noexcept { return is_set() ? &*value_ : nullptr; }
    template <class Rep, class Period> const T *wait_for(std::chrono::duration<Rep, Period> t) {
        return cancelled::check(comity_event_timedwait(&ready_, deadline_in(t))) == 0 ? &*value_ : nullptr;
    }
    template <class Clock, class Duration> const T *wait_until(std::chrono::time_point<Clock, Duration> t) {
        return cancelled::check(comity_event_timedwait(&ready_, deadline_at(t))) == 0 ? &*value_ : nullptr;
    }
    // Nobody uses it meanwhile.
    void reset() noexcept {
        comity_event_reset(&ready_);
        value_.reset();
        set_.store(false, std::memory_order_relaxed);
    }
    auto operator co_await() noexcept {
        struct awaits : detail::awaiter {
            eventual &e;
            explicit awaits(eventual &of) noexcept : detail::awaiter(&of.ready_), e(of) {}
            const T &await_resume() const noexcept { return *e.value_; }
        };
        return awaits(*this);
    }

private:
    comity_event_t ready_ = COMITY_EVENT_INIT;
    std::atomic<bool> set_{false}; // taken by the one who sets
    std::optional<T> value_;
};

// The receiving end of a promise, or of a coroutine that returns a future; one owner, one reader. All but valid throw
// std::future_error (no_state) when it is not valid.
template <class T> class future {
public:
    future() noexcept = default;
    future(future &&) noexcept = default;
    future &operator=(future &&) noexcept = default;

    bool valid() const noexcept { return state_ != nullptr; }
    bool is_ready() const { return comity_event_is_set(&state().ready); }
    void wait() const { cancelled::check(comity_event_wait(&state().ready)); } // may switch; throws `cancelled`
    template <class Rep, class Period> std::future_status wait_for(std::chrono::duration<Rep, Period> t) const {
        return wait_by(deadline_in(t));
    }
    template <class Clock, class Duration>
    std::future_status wait_until(std::chrono::time_point<Clock, Duration> t) const {
        return wait_by(deadline_at(t));
    }
    // Waits, and returns the value or throws what was set instead; then the future is no longer valid. May switch.
    T get() {
        wait();
        return std::exchange(state_, nullptr)->take();
    }

    // Takes this future, and returns one for what f returns. f is called with the value, and not at all when there is
    // an exception, which the new future then gets; or, if it only takes a future<T>, with that, which is ready. Throws
    // std::bad_alloc.
    template <class F> auto then(F &&f) {
        using result = std::decay_t<decltype(apply(f, std::declval<future>()))>;
        state();
        auto out = std::make_shared<promise<result>>();
        auto call = std::make_shared<std::decay_t<F>>(std::forward<F>(f));
        future<result> next = out->get_future();
        auto *s = state_.get();
        s->continuation = [own = std::move(state_), out, call]() mutable {
            future ready;
            ready.state_ = std::move(own);
            out->set_from([&]() -> result { return apply(*call, std::move(ready)); });
        };
        if (!comity_event_on_set(&s->ready, &s->place, run_continuation, s)) {
            const detail::without_cancellation meanwhile;
            run_continuation(s);
        }
        return next;
    }

    // The coroutine gets the value, or the exception is thrown in it; then the future is no longer valid.
    auto operator co_await() {
        struct awaits : detail::awaiter {
            future &f;
            explicit awaits(future &of) : detail::awaiter(&of.state().ready), f(of) {}
            T await_resume() { return f.get(); }
        };
        return awaits(*this);
    }

private:
    friend promise<T>;
    template <class> friend class future;

    template <class F> static decltype(auto) apply(F &f, future ready) {
        if constexpr (std::is_void_v<T> && std::is_invocable_v<F &>)
            return ready.get(), std::invoke(f);
        else if constexpr (std::is_invocable_v<F &, detail::stored<T>> && !std::is_void_v<T>)
            return std::invoke(f, ready.get());
        else
            return std::invoke(f, std::move(ready));
    }
    detail::future_state<T> &state() const {
        if (!state_) throw std::future_error(std::future_errc::no_state);
        return *state_;
    }
    std::future_status wait_by(std::int64_t deadline) const {
        const int error = cancelled::check(comity_event_timedwait(&state().ready, deadline));
        return error == 0 ? std::future_status::ready : std::future_status::timeout;
    }
    // It owns the state that it lies in: taken out first.
    static void run_continuation(void *state) {
        auto run = std::move(static_cast<detail::future_state<T> *>(state)->continuation);
        run();
    }

    std::shared_ptr<detail::future_state<T>> state_;
};

// The setting end. If it is destroyed before anything was set, its future gets std::future_error (broken_promise).
template <class T> class promise {
public:
    promise() : state_(std::make_shared<detail::future_state<T>>()) {} // throws std::bad_alloc
    promise(promise &&other) noexcept = default;
    promise &operator=(promise &&other) noexcept {
        promise(std::move(other)).swap(*this);
        return *this;
    }
    ~promise() {
        if (state_ && !state_->set.load(std::memory_order_relaxed))
            set_exception(std::make_exception_ptr(std::future_error(std::future_errc::broken_promise)));
    }
    void swap(promise &other) noexcept {
        state_.swap(other.state_);
        std::swap(taken_, other.taken_);
    }
    // Once. Throws std::future_error (future_already_retrieved).
    future<T> get_future() {
        if (std::exchange(taken_, true)) throw std::future_error(std::future_errc::future_already_retrieved);
        future<T> f;
        f.state_ = state_;
        return f;
    }
    // Once, one of them; they run the continuation. Throw std::future_error (promise_already_satisfied).
    template <class... Value>
    requires(std::is_void_v<T> ? sizeof...(Value) == 0 : sizeof...(Value) == 1) void set_value(Value &&...value) {
        state_->put(std::forward<Value>(value)...);
        publish();
    }
    void set_exception(std::exception_ptr e) {
        state_->put_exception(std::move(e));
        publish();
    }
    // What f returns or throws; but `cancelled` leaves this function, and nothing is set.
    template <class F> void set_from(F &&f) {
        std::exception_ptr thrown;
        try {
            if constexpr (std::is_void_v<T>)
                std::invoke(f), set_value();
            else
                set_value(std::invoke(f));
            return;
        } catch (const cancelled &) {
            throw; // it is the calling thread's own, and nobody else's to get
        } catch (...) {
            thrown = std::current_exception();
        }
        set_exception(std::move(thrown));
    }

private:
    template <class> friend struct detail::coroutine_base;
    template <class> friend struct detail::coroutine;

    void publish() noexcept {
        const auto stays = state_; // the continuation may destroy the promise
        stays->publish();
    }
    std::shared_ptr<detail::future_state<T>> state_;
    bool taken_ = false;
};

namespace detail {

// A coroutine that returns a future starts at once, and frees itself when it ends; then the result is published.
template <class T> struct coroutine_base {
    promise<T> result;
    future<T> get_return_object() { return result.get_future(); }
    auto initial_suspend() const noexcept {
        struct starts : std::suspend_always {
            void await_suspend(std::coroutine_handle<> self) const {
                const without_cancellation meanwhile;
                self.resume(); // afterwards it may be gone
            }
        };
        return starts();
    }
    void unhandled_exception() { result.state_->put_exception(std::current_exception()); }
    auto final_suspend() const noexcept {
        struct ends : std::suspend_always {
            void await_suspend(std::coroutine_handle<coroutine<T>> self) const noexcept {
                promise<T> made = std::move(self.promise().result);
                self.destroy();
                made.publish();
            }
        };
        return ends();
    }
};
template <class T> struct coroutine : coroutine_base<T> {
    template <class Value> void return_value(Value &&value) { this->result.state_->put(std::forward<Value>(value)); }
};
template <> struct coroutine<void> : coroutine_base<void> {
    void return_void() { result.state_->put(); }
};

} // namespace detail

} // namespace comity

template <class T, class... Arguments> struct std::coroutine_traits<comity::future<T>, Arguments...> {
    using promise_type = comity::detail::coroutine<T>;
};
