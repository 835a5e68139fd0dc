// User-level threads in C++ (comity/thread.h says where each function may be called and whether it may switch).
#pragma once

#include "comity/core/cxx20.hpp" // first: nothing else would compile

#include "comity/core.hpp"
#include "comity/thread.h"
#include "comity/thread/cancelled.hpp"
#include "comity/thread/without_cancellation.hpp"

#include <chrono>
#include <compare>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <stop_token>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>

extern "C" COMITY_API comity_scheduler *comity_scheduler_self(void); // comity/scheduler.h

namespace comity {

enum class technique : unsigned char {
    full = COMITY_TECHNIQUE_FULL,
    full_l = COMITY_TECHNIQUE_FULL_L,
    roc = COMITY_TECHNIQUE_ROC,
    roc_l = COMITY_TECHNIQUE_ROC_L,
    ss = COMITY_TECHNIQUE_SS,
    ss_l = COMITY_TECHNIQUE_SS_L,
    sc = COMITY_TECHNIQUE_SC,
    stackless = COMITY_TECHNIQUE_STACKLESS,
    c_full = COMITY_TECHNIQUE_C_FULL,
    c_full_e = COMITY_TECHNIQUE_C_FULL_E,
    c_roc = COMITY_TECHNIQUE_C_ROC,
    c_roc_e = COMITY_TECHNIQUE_C_ROC_E,
    automatic = COMITY_TECHNIQUE_AUTOMATIC,
};

// What a technique demands of the scheduler and of the thread's attributes.
constexpr bool needs_stateless_scheduler(technique t) noexcept {
    return t == technique::ss || t == technique::ss_l || t == technique::sc || t == technique::stackless;
}
constexpr bool needs_common_stack(technique t) noexcept { return t == technique::sc || t == technique::stackless; }

// For as long as it lives, the threads that the calling context and its threads create share one scheduler; its end
// waits for all of them. Without one the first thread opens a scheduler and the last join ends it. To be destroyed in
// the context that made it, the newest first. May switch.
class threads {
public:
    static constexpr bool stateless = true; // the scheduler keeps nothing on its stack between two threads

    // Throws std::bad_alloc.
    threads() {
        if (comity_threads_begin() != 0) throw std::bad_alloc();
        mine_ = comity_scheduler_self();
    }
    ~threads() { comity_threads_end_of(mine_); }
    threads(const threads &) = delete;
    threads &operator=(const threads &) = delete;

private:
    const comity_scheduler *mine_ = nullptr;
};

// A thread that is joined by its destructor. An exception that leaves its function reaches whoever calls join().
class thread {
public:
    struct attributes {
        comity::technique technique = comity::technique::roc_l;
        std::size_t stack_size = 0; // bytes; 0: the default
        bool own_tls = false;
        bool detached = false;      // nobody joins it; an exception that leaves its function ends the program
        unsigned char priority = 0; // the higher, the sooner, under a scheduler that goes by it
        const char *name = nullptr; // copied; dropped when there is no memory for it
        // Another scheduler than the caller's (comity_scheduler_self), which must not end before the constructor.
        struct comity_scheduler *under = nullptr;
        std::span<const int> harts{}; // its affinity: the harts that may run it, copied; empty: any
    };
    // A thread's name for programs; another thread may get it once this one was joined.
    class id {
    public:
        id() noexcept = default; // of no thread
        explicit id(const comity_thread_t *t) noexcept : of_(t) {}
        friend bool operator==(id, id) noexcept = default;
        friend std::strong_ordering operator<=>(id a, id b) noexcept {
            return reinterpret_cast<std::uintptr_t>(a.of_) <=> reinterpret_cast<std::uintptr_t>(b.of_);
        }

    private:
        friend std::hash<id>;
        const comity_thread_t *of_ = nullptr;
    };

    thread() noexcept = default;
    // Throws std::system_error or std::bad_alloc. The callable and its arguments are copied or moved into the thread.
    template <class Function, class... Arguments>
    requires(std::is_invocable_v<std::decay_t<Function>, std::decay_t<Arguments>...>) explicit thread(Function &&f,
                                                                                                      Arguments &&...a)
        : thread(attributes(), std::forward<Function>(f), std::forward<Arguments>(a)...) {}
    template <class Function, class... Arguments>
    requires(std::is_invocable_v<std::decay_t<Function>, std::decay_t<Arguments>...>)
        thread(const attributes &attr, Function &&f, Arguments &&...a) {
        using call = std::tuple<std::decay_t<Function>, std::decay_t<Arguments>...>;
        const comity_thread_attr_t c{static_cast<comity_technique_t>(attr.technique),
                                     attr.stack_size,
                                     attr.own_tls,
                                     attr.detached,
                                     attr.priority,
                                     COMITY_THREAD_UNWINDS_CXX,
                                     attr.harts.data(),
                                     attr.harts.size()};
        void *data = nullptr;
        if constexpr (sizeof(call) <= COMITY_THREAD_DATA && alignof(call) <= 16 &&
                      std::is_nothrow_constructible_v<call, Function, Arguments...>) {
            check(prepare(attr, c, run<call>, &data));
            auto *made = new (data) call(std::forward<Function>(f), std::forward<Arguments>(a)...);
            if (attr.name) comity_thread_set_name(handle_, attr.name);
            if (const int error = launch(attr)) {
                std::destroy_at(made);
                give_up(error);
            }
        } else {
            auto made = std::make_unique<call>(std::forward<Function>(f), std::forward<Arguments>(a)...);
            check(prepare(attr, c, run_from_heap<call>, &data));
            *static_cast<call **>(data) = made.get();
            if (attr.name) comity_thread_set_name(handle_, attr.name);
            if (const int error = launch(attr)) give_up(error);
            made.release();
        }
        if (attr.detached) handle_ = nullptr;
    }
    thread(thread &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    thread &operator=(thread &&other) noexcept {
        if (this != &other) {
            finish();
            handle_ = std::exchange(other.handle_, nullptr);
        }
        return *this;
    }
    // Joins. An exception that nobody has joined ends the program, unless another one is on its way.
    ~thread() { finish(); }

    bool joinable() const noexcept { return handle_; }
    // Waits for the end and throws what the thread's function threw. Throws std::system_error (EINVAL: no thread;
    // EDEADLK: the caller itself; ECANCELED: the thread was cancelled), or cancelled in a caller that was.
    void join() {
        if (const result r = end(wait())) std::rethrow_exception(r->what);
    }
    // The same if it has ended; else false, at once or at a deadline.
    bool try_join() {
        void *value = nullptr;
        const int error = comity_thread_tryjoin(handle(), &value);
        return joined(error, value);
    }
    template <class Clock, class Duration> bool join_until(std::chrono::time_point<Clock, Duration> time) {
        void *value = nullptr;
        const int error = comity_thread_timedjoin(handle(), &value, deadline_at(time));
        return joined(error, value);
    }
    template <class Rep, class Period> bool join_for(std::chrono::duration<Rep, Period> time) {
        void *value = nullptr;
        const int error = comity_thread_timedjoin(handle(), &value, deadline_in(time));
        return joined(error, value);
    }
    // The thread ends by itself; an exception that leaves its function, or has left it, ends the program. Throws
    // std::system_error (EINVAL: no thread).
    void detach() {
        check_call(comity_thread_detach(handle()), "comity::thread::detach");
        handle_ = nullptr;
    }
    // Its next cancellation point throws `cancelled` (comity_thread_cancel). False: it has ended, or is ending.
    bool cancel() {
        const int error = comity_thread_cancel(handle());
        if (error == static_cast<int>(std::errc::no_such_process)) return false;
        check_call(error, "comity::thread::cancel");
        return true;
    }
    // Resumes it; false: it is not suspended.
    bool resume() { return comity_thread_resume(handle()) == 0; }
    // Counts from the next time that it stands in line. Throw std::system_error (EINVAL: no thread).
    void set_priority(unsigned char priority) { comity_thread_set_priority(handle(), priority); }
    unsigned char priority() const { return comity_thread_priority(handle()); }
    id get_id() const noexcept { return id(handle_); }
    comity_thread_t *native_handle() const noexcept { return handle_; }
    void swap(thread &other) noexcept { std::swap(handle_, other.handle_); }
    // How many threads can run at the same time: the number of harts. The first call starts Comity.
    static unsigned hardware_concurrency() noexcept { return static_cast<unsigned>(comity_hart_count()); }

private:
    static constexpr int EINVAL_ = static_cast<int>(std::errc::invalid_argument);

    int prepare(const attributes &a, const comity_thread_attr_t &c, void *(*fn)(void *), void **data) {
        return a.under ? comity_thread_prepare_under(a.under, &handle_, &c, fn, data)
                       : comity_thread_prepare(&handle_, &c, fn, data);
    }
    int launch(const attributes &a) {
        return a.under ? comity_thread_launch_under(handle_, a.under, nullptr) : comity_thread_launch(handle_);
    }
    [[noreturn]] void fail(int error) {
        handle_ = nullptr;
        if (error == static_cast<int>(std::errc::not_enough_memory)) throw std::bad_alloc();
        throw std::system_error(error, std::generic_category(), "comity::thread");
    }
    void check(int error) {
        if (error != 0) fail(error);
    }
    // The thread was prepared, and could not be launched.
    [[noreturn]] void give_up(int error) {
        comity_thread_discard(handle_);
        fail(error);
    }
    // What a thread has thrown, which is its result: as COMITY_THREAD_UNWINDS_CXX demands.
    struct thrown {
        void (*lost)(void *) = [](void *it) noexcept { std::rethrow_exception(static_cast<thrown *>(it)->what); };
        std::exception_ptr what = std::current_exception();
    };
    using result = std::unique_ptr<thrown>;
    static void check_call(int error, const char *what) {
        if (error != 0) throw std::system_error(error, std::generic_category(), what);
    }
    comity_thread_t *handle() const {
        if (!handle_) check_call(EINVAL_, "comity::thread: there is none");
        return handle_;
    }
    // Joins, and returns the thread's result.
    void *wait() {
        void *value = nullptr;
        check_call(cancelled::check(comity_thread_join(handle(), &value)), "comity::thread::join");
        return value;
    }
    // The thread was joined. Returns what it threw; a thread that was cancelled is an exception too.
    result end(void *value) {
        handle_ = nullptr;
        if (value == COMITY_THREAD_CANCELLED)
            check_call(static_cast<int>(std::errc::operation_canceled), "comity::thread::join: it was cancelled");
        return result(static_cast<thrown *>(value));
    }
    bool joined(int error, void *value) {
        if (error == static_cast<int>(std::errc::device_or_resource_busy) ||
            error == static_cast<int>(std::errc::timed_out))
            return false;
        check_call(cancelled::check(error), "comity::thread::join");
        if (const result r = end(value)) std::rethrow_exception(r->what);
        return true;
    }
    // Waits also if the caller has been cancelled; that takes effect later.
    void finish() noexcept {
        if (!handle_) return;
        void *value = nullptr;
        int error = comity_thread_join(handle_, &value);
        if (error == static_cast<int>(std::errc::operation_canceled)) {
            const detail::without_cancellation meanwhile;
            error = comity_thread_join(handle_, &value);
        }
        handle_ = nullptr;
        if (error != 0) std::terminate();
        if (value == COMITY_THREAD_CANCELLED) return;
        if (const result r{static_cast<thrown *>(value)}; r && std::uncaught_exceptions() == 0)
            std::rethrow_exception(r->what); // out of a noexcept function: std::terminate says what it was
    }
    // Returns what was thrown, as a thread's result.
    template <class Call> static void *invoke(Call &call) noexcept {
        try {
            std::apply([](auto &&...all) { std::invoke(std::move(all)...); }, call);
        } catch (const cancelled &) {
            return COMITY_THREAD_CANCELLED;
        } catch (...) {
            return new thrown;
        }
        return nullptr;
    }
    template <class Call> static void *run(void *data) {
        auto *call = std::launder(static_cast<Call *>(data));
        void *result = invoke(*call);
        std::destroy_at(call);
        return result;
    }
    template <class Call> static void *run_from_heap(void *data) {
        const std::unique_ptr<Call> call(*static_cast<Call **>(data));
        return invoke(*call);
    }

    comity_thread_t *handle_ = nullptr;
};

// The attributes that a technique leaves free.
template <technique How> struct attributes_of {
    std::size_t stack_size = 0;
    bool own_tls = false, detached = false;
    unsigned char priority = 0;
    const char *name = nullptr;
    std::span<const int> harts{};
    operator thread::attributes() const noexcept {
        return {How, stack_size, own_tls, detached, priority, name, nullptr, harts};
    }
};
template <technique How>
requires(needs_common_stack(How)) struct attributes_of<How> {
    bool detached = false;
    unsigned char priority = 0;
    const char *name = nullptr;
    std::span<const int> harts{};
    operator thread::attributes() const noexcept { return {How, 0, false, detached, priority, name, nullptr, harts}; }
};
template <class Scheduler, technique How>
concept scheduler_for = !needs_stateless_scheduler(How) || Scheduler::stateless;

// A thread whose technique is part of its type, so that what the technique demands is checked when the program is
// compiled: a scheduler that keeps no state on its stack, the common stack size, no storage of its own.
template <technique How, class Scheduler = threads>
requires scheduler_for<Scheduler, How>
class basic_thread : public thread {
public:
    using attributes = attributes_of<How>;
    basic_thread() noexcept = default;
    template <class Function, class... Arguments>
    requires(std::is_invocable_v<std::decay_t<Function>, std::decay_t<Arguments>...>) explicit basic_thread(
        Function &&f, Arguments &&...a)
        : thread(attributes(), std::forward<Function>(f), std::forward<Arguments>(a)...) {}
    template <class Function, class... Arguments>
    requires(std::is_invocable_v<std::decay_t<Function>, std::decay_t<Arguments>...>)
        basic_thread(const attributes &attr, Function &&f, Arguments &&...a)
        : thread(static_cast<thread::attributes>(attr), std::forward<Function>(f), std::forward<Arguments>(a)...) {}
};

// As std::jthread: its function may take a std::stop_token first, and its destructor requests the stop and joins. The
// stop is a request to the program's own code; cancel() is one to Comity's cancellation points.
class jthread {
    template <class Function, class... Arguments>
    static constexpr bool takes =
        std::is_invocable_v<std::decay_t<Function>, std::decay_t<Arguments>...> ||
        std::is_invocable_v<std::decay_t<Function>, std::stop_token, std::decay_t<Arguments>...>;

public:
    using attributes = thread::attributes;
    using id = thread::id;
    jthread() noexcept : stop_(std::nostopstate) {}
    template <class Function, class... Arguments>
    requires(takes<Function, Arguments...>) explicit jthread(Function &&f, Arguments &&...a)
        : jthread(attributes(), std::forward<Function>(f), std::forward<Arguments>(a)...) {}
    template <class Function, class... Arguments>
    requires(takes<Function, Arguments...>) jthread(const attributes &attr, Function &&f, Arguments &&...a)
        : stop_(), thread_(start(attr, stop_.get_token(), std::forward<Function>(f), std::forward<Arguments>(a)...)) {}
    jthread(jthread &&) noexcept = default;
    jthread &operator=(jthread &&other) noexcept {
        if (this != &other) {
            stop_.request_stop();
            thread_ = std::move(other.thread_);
            stop_ = std::move(other.stop_);
        }
        return *this;
    }
    ~jthread() { stop_.request_stop(); }

    bool joinable() const noexcept { return thread_.joinable(); }
    void join() { thread_.join(); }
    bool try_join() { return thread_.try_join(); }
    template <class Clock, class Duration> bool join_until(std::chrono::time_point<Clock, Duration> time) {
        return thread_.join_until(time);
    }
    template <class Rep, class Period> bool join_for(std::chrono::duration<Rep, Period> time) {
        return thread_.join_for(time);
    }
    void detach() { thread_.detach(); }
    bool cancel() { return thread_.cancel(); }
    bool resume() { return thread_.resume(); }
    void set_priority(unsigned char priority) { thread_.set_priority(priority); }
    unsigned char priority() const { return thread_.priority(); }
    id get_id() const noexcept { return thread_.get_id(); }
    comity_thread_t *native_handle() const noexcept { return thread_.native_handle(); }
    std::stop_source get_stop_source() const noexcept { return stop_; }
    std::stop_token get_stop_token() const noexcept { return stop_.get_token(); }
    bool request_stop() noexcept { return stop_.request_stop(); }
    void swap(jthread &other) noexcept {
        std::swap(stop_, other.stop_);
        thread_.swap(other.thread_);
    }
    static unsigned hardware_concurrency() noexcept { return thread::hardware_concurrency(); }

private:
    template <class Function, class... Arguments>
    static thread start(const attributes &attr, std::stop_token token, Function &&f, Arguments &&...a) {
        if constexpr (std::is_invocable_v<std::decay_t<Function>, std::stop_token, std::decay_t<Arguments>...>)
            return thread(attr, std::forward<Function>(f), std::move(token), std::forward<Arguments>(a)...);
        else
            return thread(attr, std::forward<Function>(f), std::forward<Arguments>(a)...);
    }

    std::stop_source stop_;
    thread thread_; // joined before the stop's state goes
};

namespace this_thread {
inline void yield() noexcept { comity_thread_yield(); } // may switch
inline thread::id get_id() noexcept { return thread::id(comity_thread_self()); }
// Until somebody resumes it. Throws std::system_error; cancelled. Switches.
inline void suspend() {
    if (const int error = cancelled::check(comity_thread_suspend()))
        throw std::system_error(error, std::generic_category(), "comity::this_thread::suspend");
}
// Throws `cancelled` if the thread was.
inline void cancellation_point() { cancelled::check(comity_thread_testcancel()); }
// Only these harts run the calling thread from now on; empty: any. Throws std::system_error or std::bad_alloc. May
// switch.
inline void set_affinity(std::span<const int> harts) {
    const int error = comity_thread_set_affinity(harts.data(), harts.size());
    if (error == static_cast<int>(std::errc::not_enough_memory)) throw std::bad_alloc();
    if (error != 0) throw std::system_error(error, std::generic_category(), "comity::this_thread::set_affinity");
}
// The calling thread goes on on the hart with this number, unless an idle one takes it from there. Throws
// std::system_error, as comity_thread_migrate says. Switches.
inline void migrate(int hart) {
    if (const int error = comity_thread_migrate(hart))
        throw std::system_error(error, std::generic_category(), "comity::this_thread::migrate");
}
// The hart goes on with that thread at once; false: it is not at hand. Switches.
inline bool yield_to(const thread &t) noexcept {
    return t.joinable() && comity_thread_yield_to(t.native_handle()) == 0;
}
// Both may switch, and throw `cancelled`. Overlong times are for ever.
template <class Rep, class Period> void sleep_for(std::chrono::duration<Rep, Period> time) {
    cancelled::check(comity_thread_sleep_until(deadline_in(time)));
}
template <class Clock, class Duration> void sleep_until(std::chrono::time_point<Clock, Duration> time) {
    do // a clock that is set meanwhile may need another round
        cancelled::check(comity_thread_sleep_until(deadline_at(time)));
    while (Clock::now() < time);
}
} // namespace this_thread

} // namespace comity

template <> struct std::hash<comity::thread::id> {
    std::size_t operator()(comity::thread::id i) const noexcept { return std::hash<const comity_thread_t *>()(i.of_); }
};
