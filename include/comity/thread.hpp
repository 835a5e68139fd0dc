// User-level threads in C++ (comity/thread.h says where each function may be called and whether it may switch).
#pragma once

#include "comity/core.hpp"
#include "comity/thread.h"

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>

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

// For as long as it lives, the threads that the calling context and its threads create share one scheduler; its end
// waits for all of them. Without one the first thread opens a scheduler and the last join ends it. To be destroyed in
// the context that made it. May switch.
class threads {
public:
    // Throws std::bad_alloc.
    threads() {
        if (comity_threads_begin() != 0) throw std::bad_alloc();
    }
    ~threads() { comity_threads_end(); }
    threads(const threads &) = delete;
    threads &operator=(const threads &) = delete;
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
        const comity_thread_attr_t c{static_cast<comity_technique_t>(attr.technique), attr.stack_size, attr.own_tls,
                                     attr.detached, attr.priority};
        void *data = nullptr;
        if constexpr (sizeof(call) <= COMITY_THREAD_DATA && alignof(call) <= 16 &&
                      std::is_nothrow_constructible_v<call, Function, Arguments...>) {
            check(comity_thread_prepare(&handle_, &c, attr.detached ? run<call, true> : run<call, false>, &data));
            auto *made = new (data) call(std::forward<Function>(f), std::forward<Arguments>(a)...);
            if (const int error = comity_thread_launch(handle_)) {
                std::destroy_at(made);
                fail(error);
            }
        } else {
            auto made = std::make_unique<call>(std::forward<Function>(f), std::forward<Arguments>(a)...);
            check(comity_thread_prepare(&handle_, &c,
                                        attr.detached ? run_from_heap<call, true> : run_from_heap<call, false>, &data));
            *static_cast<call **>(data) = made.get();
            if (const int error = comity_thread_launch(handle_)) fail(error);
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
    // EDEADLK: the caller itself).
    void join() {
        if (std::unique_ptr<std::exception_ptr> thrown = wait()) std::rethrow_exception(*thrown);
    }
    comity_thread_t *native_handle() const noexcept { return handle_; }

private:
    static constexpr int EINVAL_ = static_cast<int>(std::errc::invalid_argument);

    [[noreturn]] void fail(int error) {
        handle_ = nullptr;
        if (error == static_cast<int>(std::errc::not_enough_memory)) throw std::bad_alloc();
        throw std::system_error(error, std::generic_category(), "comity::thread");
    }
    void check(int error) {
        if (error != 0) fail(error);
    }
    std::unique_ptr<std::exception_ptr> wait() {
        void *result = nullptr;
        const int error = handle_ ? comity_thread_join(handle_, &result) : EINVAL_;
        if (error != 0) throw std::system_error(error, std::generic_category(), "comity::thread::join");
        handle_ = nullptr;
        return std::unique_ptr<std::exception_ptr>(static_cast<std::exception_ptr *>(result));
    }
    void finish() noexcept {
        if (handle_ && wait() && std::uncaught_exceptions() == 0) std::terminate();
    }
    // Returns what was thrown, as a thread's result.
    template <class Call> static void *invoke(Call &call, bool detached) noexcept {
        try {
            std::apply([](auto &&...all) { std::invoke(std::move(all)...); }, call);
        } catch (...) {
            if (detached) std::terminate();
            return new std::exception_ptr(std::current_exception());
        }
        return nullptr;
    }
    template <class Call, bool detached> static void *run(void *data) {
        auto *call = std::launder(static_cast<Call *>(data));
        void *thrown = invoke(*call, detached);
        std::destroy_at(call);
        return thrown;
    }
    template <class Call, bool detached> static void *run_from_heap(void *data) {
        const std::unique_ptr<Call> call(*static_cast<Call **>(data));
        return invoke(*call, detached);
    }

    comity_thread_t *handle_ = nullptr;
};

namespace this_thread {
inline void yield() noexcept { comity_thread_yield(); } // may switch
// Both may switch. Overlong times are for ever.
template <class Rep, class Period> void sleep_for(std::chrono::duration<Rep, Period> time) noexcept {
    comity_thread_sleep_until(deadline_in(time));
}
template <class Clock, class Duration> void sleep_until(std::chrono::time_point<Clock, Duration> time) {
    do // a clock that is set meanwhile may need another round
        comity_thread_sleep_until(deadline_at(time));
    while (Clock::now() < time);
}
} // namespace this_thread

} // namespace comity
