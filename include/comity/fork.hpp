// The fork-join pair in C++ (comity/fork.h says where it may be called, and what it costs).
#pragma once

#include "comity/core/cxx20.hpp" // first: nothing else would compile

#include "comity/fork.h"

#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace comity {

namespace detail {

template <class Function> using result_of = std::decay_t<std::invoke_result_t<Function>>;

// A callable that somebody else may call, and then what it threw or returned.
template <class Function> class branch {
    using result = result_of<Function>;
    static constexpr bool returns = !std::is_void_v<result>;

public:
    explicit branch(std::remove_reference_t<Function> &f) noexcept : function_(std::addressof(f)) {}
    branch(const branch &) = delete;
    branch &operator=(const branch &) = delete;
    ~branch() {} // whether there is anything is known to who knows whether run() was called

    static void run(void *self) noexcept {
        auto *b = static_cast<branch *>(self);
        new (&b->thrown_) std::exception_ptr;
        try {
            if constexpr (returns)
                new (&b->result_) result(b->call());
            else
                b->call();
        } catch (...) {
            b->thrown_ = std::current_exception();
        }
    }
    decltype(auto) call() { return std::invoke(static_cast<Function &&>(*function_)); }
    // After run(), once: throws or returns it, or drops it.
    result take() {
        const std::exception_ptr thrown = std::move(thrown_);
        thrown_.~exception_ptr();
        if (thrown) std::rethrow_exception(thrown);
        if constexpr (returns) {
            const ending end{&result_};
            return std::move(result_);
        }
    }
    void drop() noexcept {
        if constexpr (returns)
            if (!thrown_) result_.~result();
        thrown_.~exception_ptr();
    }

private:
    struct nothing {};
    using stored = std::conditional_t<returns, result, nothing>;
    struct ending {
        stored *what;
        ~ending() { what->~stored(); }
    };
    std::remove_reference_t<Function> *function_;
    union {
        std::exception_ptr thrown_;
    };
    union {
        stored result_;
    };
};

} // namespace detail

// Calls f() and g(), possibly at the same time, and returns when both have ended: a std::pair of what they returned, if
// neither returns void. What f threw is thrown again, else what g threw; when f throws, g may not have been called. The
// callables are not copied. May switch.
//
// Not inline: where f and g call a function that forks again, they and that function grow into one, and a call that
// does not fork further costs no frame.
template <class F, class G>
requires(std::is_invocable_v<F> &&std::is_invocable_v<G>) [[gnu::noinline]] auto join(F &&f, G &&g) {
    using first_result = detail::result_of<F>;
    using second_result = detail::result_of<G>;
    detail::branch<G> second(g);
    comity_fork_t fork;
    comity_fork_begin(&fork, detail::branch<G>::run, &second);
    const auto call_first = [&]() -> first_result {
        try {
            return static_cast<first_result>(std::invoke(std::forward<F>(f)));
        } catch (...) {
            if (!comity_fork_end(&fork)) second.drop();
            throw;
        }
    };
    if constexpr (std::is_void_v<first_result> || std::is_void_v<second_result>) {
        call_first();
        if (comity_fork_end(&fork)) [[likely]]
            std::invoke(std::forward<G>(g));
        else
            second.take();
    } else {
        first_result one = call_first();
        if (comity_fork_end(&fork)) [[likely]]
            return std::pair<first_result, second_result>(std::move(one), std::invoke(std::forward<G>(g)));
        return std::pair<first_result, second_result>(std::move(one), second.take());
    }
}

} // namespace comity
