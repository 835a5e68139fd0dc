// Values that somebody sets and others wait for: eventual<T>, promise<T> and future<T>. Waiting may switch. Instead of
// waiting one may leave a continuation (future::then) or co_await: then no thread blocks. A continuation and a
// coroutine go on in the thread that sets the value, inside its call of set; or, if the value is there already, at once
// in the thread that asked. So set does whatever they do. One whose value follows from another's runs after that one
// has returned, so a chain of any length takes the stack of one. They are never cancelled: a request to cancel the
// thread that runs them takes effect at its first cancellation point after that.
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

// What a promise and its future share, without the value.
struct future_base {
    // The state that is being published, and what its continuation leaves to the caller of publish: the state whose
    // value follows from it. By its own call of publish each continuation would stand on the stack of the one before.
    struct baton {
        std::shared_ptr<future_base> published, next;
    };
    comity_event_t ready = COMITY_EVENT_INIT;
    baton *passed = nullptr; // written by who publishes, before the event is set; for the continuation, which it calls

    future_base() = default;
    future_base(const future_base &) = delete;
    future_base &operator=(const future_base &) = delete;
    ~future_base() { comity_event_fini(&ready); }

    // Sets the event of a state whose result is there, and those of all that follow from it. Null: nothing.
    static void publish(std::shared_ptr<future_base> state) noexcept {
        for (baton b; state; state = std::move(b.next)) {
            comity_event_t *const event = &state->ready;
            state->passed = &b;
            b.published = std::move(state);
            comity_event_set(event); // afterwards the state may be gone
        }
    }
};

// The part of a coroutine's promise that its resumer knows.
struct resumed_coroutine {
    // Where the coroutine leaves its state to be published when it ends, since who resumed it stands below. Null: it
    // has stopped elsewhere since, and publishes the state itself.
    std::shared_ptr<future_base> *ends_into = nullptr;
};

// What a coroutine stands on while it waits for an event.
class awaiter {
public:
    // state: whose event it is; null: not a future's.
    explicit awaiter(comity_event_t *event, const future_base *state = nullptr) noexcept
        : event_(event), state_(state) {}
    awaiter(const awaiter &) = delete;
    awaiter &operator=(const awaiter &) = delete;
    ~awaiter() { // of a coroutine that is destroyed while it waits
        if (waits_) comity_event_forget(event_, &place_);
    }
    bool await_ready() const noexcept { return comity_event_is_set(event_); }
    template <class Promise> bool await_suspend(std::coroutine_handle<Promise> waiter) noexcept {
        waiter_ = waiter;
        std::shared_ptr<future_base> *before = nullptr;
        if constexpr (std::is_base_of_v<resumed_coroutine, Promise>) {
            promise_ = &waiter.promise();
            before = std::exchange(promise_->ends_into, nullptr);
        }
        waits_ = true; // before it may go on elsewhere
        const bool waits = comity_event_on_set(event_, &place_, go_on, this);
        if (!waits) {
            waits_ = false;
            if (promise_) promise_->ends_into = before;
        }
        return waits;
    }

private:
    static void go_on(void *self) {
        auto *a = static_cast<awaiter *>(self);
        future_base::baton *const baton = a->state_ ? a->state_->passed : nullptr;
        std::shared_ptr<future_base> ended;
        a->waits_ = false;
        if (a->promise_) a->promise_->ends_into = &ended;
        a->waiter_.resume(); // afterwards it may be gone
        if (baton)
            baton->next = std::move(ended);
        else
            future_base::publish(std::move(ended));
    }
    comity_event_t *event_;
    const future_base *state_;
    comity_continuation_t place_;
    std::coroutine_handle<> waiter_;
    resumed_coroutine *promise_ = nullptr;
    bool waits_ = false;
};

template <class T> using stored = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

// What future<T>::then leaves with the state.
template <class T> struct continuation {
    continuation() = default;
    continuation(const continuation &) = delete;
    continuation &operator=(const continuation &) = delete;
    virtual ~continuation() = default;
    // Takes a future that is ready. Returns the state whose result it has put, which is to be published.
    virtual std::shared_ptr<future_base> run(future<T> ready) = 0;
};

// With the value. `result` is written by the promise before the event, and read after it.
template <class T> struct future_state : future_base {
    std::variant<std::monostate, stored<T>, std::exception_ptr> result{};
    std::atomic<bool> set{false}; // taken by the one who sets
    comity_continuation_t place;
    std::unique_ptr<continuation<T>> then;

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
        using next = follows<std::decay_t<F>>;
        state();
        auto call = std::make_unique<next>(std::forward<F>(f));
        auto result = call->out.get_future();
        const auto own = std::move(state_); // the promise may publish it, and be gone, in the middle of this
        own->then = std::move(call);
        if (!comity_event_on_set(&own->ready, &own->place, run_continuation, own.get())) {
            const detail::without_cancellation meanwhile;
            detail::future_base::publish(continue_with(own));
        }
        return result;
    }

    // The coroutine gets the value, or the exception is thrown in it; then the future is no longer valid.
    auto operator co_await() {
        struct awaits : detail::awaiter {
            future &f;
            explicit awaits(future &of) : detail::awaiter(&of.state().ready, of.state_.get()), f(of) {}
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
    template <class F> struct follows final : detail::continuation<T> {
        using result = std::decay_t<decltype(apply(std::declval<F &>(), std::declval<future>()))>;
        F call;
        promise<result> out;
        template <class Made> explicit follows(Made &&f) : call(std::forward<Made>(f)) {}
        std::shared_ptr<detail::future_base> run(future ready) override {
            out.put_from([&]() -> result { return apply(call, std::move(ready)); });
            return std::move(out.state_);
        }
    };
    // It lies in the state, which it may outlive: taken out first.
    static std::shared_ptr<detail::future_base> continue_with(std::shared_ptr<detail::future_state<T>> own) {
        const auto call = std::move(own->then);
        future ready;
        ready.state_ = std::move(own);
        return call->run(std::move(ready));
    }
    static void run_continuation(void *state) {
        auto *baton = static_cast<detail::future_state<T> *>(state)->passed;
        baton->next = continue_with(std::static_pointer_cast<detail::future_state<T>>(std::move(baton->published)));
    }

    std::shared_ptr<detail::future_state<T>> state_;
};

// The setting end. If it is destroyed before anything was set, its future gets std::future_error (broken_promise).
// After a move from it all but its destructor, assignment and swap throw std::future_error (no_state).
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
        (void)state();
        if (std::exchange(taken_, true)) throw std::future_error(std::future_errc::future_already_retrieved);
        future<T> f;
        f.state_ = state_;
        return f;
    }
    // Once, one of them; they run the continuation. Throw std::future_error (promise_already_satisfied).
    template <class... Value>
    requires(std::is_void_v<T> ? sizeof...(Value) == 0 : sizeof...(Value) == 1) void set_value(Value &&...value) {
        state().put(std::forward<Value>(value)...);
        publish();
    }
    void set_exception(std::exception_ptr e) {
        state().put_exception(std::move(e));
        publish();
    }
    // What f returns or throws; but `cancelled` leaves this function, and nothing is set.
    template <class F> void set_from(F &&f) {
        put_from(std::forward<F>(f));
        publish();
    }

private:
    template <class> friend class future;
    template <class> friend struct detail::coroutine_base;
    template <class> friend struct detail::coroutine;

    // As set_from, but for publishing it.
    template <class F> void put_from(F &&f) {
        (void)state();
        std::exception_ptr thrown;
        try {
            if constexpr (std::is_void_v<T>)
                std::invoke(f), state_->put();
            else
                state_->put(std::invoke(f));
            return;
        } catch (const cancelled &) {
            throw; // it is the calling thread's own, and nobody else's to get
        } catch (...) {
            thrown = std::current_exception();
        }
        state_->put_exception(std::move(thrown));
    }
    detail::future_state<T> &state() const {
        if (!state_) throw std::future_error(std::future_errc::no_state);
        return *state_;
    }
    void publish() const noexcept { detail::future_base::publish(state_); } // the continuation may destroy the promise
    std::shared_ptr<detail::future_state<T>> state_;
    bool taken_ = false;
};

namespace detail {

template <class> inline constexpr bool notes_stops = false; // do its awaiters note that a coroutine has stopped there?
template <class T> inline constexpr bool notes_stops<future<T>> = true;
template <class T> inline constexpr bool notes_stops<eventual<T>> = true;

// A coroutine that returns a future starts at once, and frees itself when it ends; then the result is published. Here
// nothing that stands in the coroutine's frame may be used once that may be gone, and compilers put there what is
// inlined into it.
template <class T> struct coroutine_base : resumed_coroutine {
    promise<T> result;
    future<T> get_return_object() { return result.get_future(); }
    // Where it waits for what is not Comity's, anybody may resume it.
    template <class Awaited> Awaited &&await_transform(Awaited &&a) noexcept {
        if constexpr (!notes_stops<std::remove_cvref_t<Awaited>>) this->ends_into = nullptr;
        return static_cast<Awaited &&>(a);
    }
    auto initial_suspend() const noexcept {
        struct starts : std::suspend_always {
            [[gnu::noinline]] void await_suspend(std::coroutine_handle<coroutine<T>> self) const {
                std::shared_ptr<future_base> ended;
                self.promise().ends_into = &ended;
                {
                    const without_cancellation meanwhile;
                    self.resume(); // afterwards it may be gone
                }
                future_base::publish(std::move(ended));
            }
        };
        return starts();
    }
    void unhandled_exception() { result.state_->put_exception(std::current_exception()); }
    auto final_suspend() const noexcept {
        struct ends : std::suspend_always {
            [[gnu::noinline]] void await_suspend(std::coroutine_handle<coroutine<T>> self) const noexcept {
                std::shared_ptr<future_base> made = std::move(self.promise().result.state_);
                std::shared_ptr<future_base> *const into = self.promise().ends_into;
                self.destroy();
                if (into)
                    *into = std::move(made);
                else
                    future_base::publish(std::move(made));
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
