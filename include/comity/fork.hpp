// The fork-join pair in C++ (comity/fork.h says where it may be called, and what it costs).
#pragma once

#include "comity/core/cxx20.hpp" // first: nothing else would compile

#include "comity/fork.h"

#include <exception>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace comity {

namespace detail {

// A callable that somebody else may call, and what it threw.
template <class Function> struct branch {
    std::remove_reference_t<Function> *function;
    std::exception_ptr thrown;
    static void run(void *self) noexcept {
        auto *b = static_cast<branch *>(self);
        try {
            std::invoke(static_cast<Function &&>(*b->function));
        } catch (...) {
            b->thrown = std::current_exception();
        }
    }
    void rethrow() const {
        if (thrown) std::rethrow_exception(thrown);
    }
};

template <class F, class G> [[gnu::noinline]] void join_outside(F &&f, G &&g) {
    branch<F> first{std::addressof(f), {}};
    branch<G> second{std::addressof(g), {}};
    comity_fork_join(branch<F>::run, &first, branch<G>::run, &second);
    first.rethrow();
    second.rethrow();
}

} // namespace detail

// Calls f() and g(), possibly at the same time, and returns when both have ended. What f threw is thrown again, else
// what g threw; when f throws, g may not have been called. The callables are not copied. May switch.
template <class F, class G>
requires(std::is_invocable_v<F> &&std::is_invocable_v<G>) inline void join(F &&f, G &&g) {
    detail::branch<G> second{std::addressof(g), {}};
    comity_fork_t fork;
    if (!comity_fork_begin(&fork, detail::branch<G>::run, &second)) [[unlikely]]
        return detail::join_outside(std::forward<F>(f), std::forward<G>(g));
    try {
        std::invoke(std::forward<F>(f));
    } catch (...) {
        comity_fork_end(&fork);
        throw;
    }
    if (comity_fork_end(&fork)) [[likely]]
        std::invoke(std::forward<G>(g));
    else
        second.rethrow();
}

} // namespace comity
