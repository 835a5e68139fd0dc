#include "sys/thread_maker.hpp"

#include "sys/futex.hpp"
#include "sys/kernel_thread.hpp"
#include "sys/signals.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace comity::sys {

__thread unsigned kernel_state_here __attribute__((tls_model("initial-exec"), visibility("hidden"))) = 0;

namespace {

// On the stack of the thread that waits for it.
struct order {
    int (*make)(void *argument);
    void *argument;
    std::uint64_t mask;
    int result;
    std::atomic<std::uint32_t> done;
};

enum class maker_state : std::uint8_t { none, starting, there };
std::atomic<maker_state> maker{maker_state::none};
std::atomic<order *> ordered{nullptr};    // null: the next order may be put there
std::atomic<std::uint32_t> orders_put{0}; // the maker sleeps while it is as it was at the last look
std::atomic<bool> is_to_end{false};       // the maker, which takes it back when it does

void serve(order &o) noexcept {
    const std::uint64_t own = exchange_mask(o.mask);
    o.result = o.make(o.argument);
    (void)exchange_mask(own);
    o.done.store(1, std::memory_order_release); // release[thread-made]; the order may be gone from here on
    futex_wake(o.done);
}

void *make_in_turn(void *) {
    name_kernel_thread("comity-maker");
    for (;;) {
        const std::uint32_t seen = orders_put.load(std::memory_order_acquire); // acquire[thread-order]
        if (order *o = ordered.exchange(nullptr, std::memory_order_acquire))
            serve(*o); // acquire[thread-order]
        else if (is_to_end.load(std::memory_order_relaxed))
            break;
        else
            (void)futex_wait(orders_put, seen);
    }
    is_to_end.store(false, std::memory_order_relaxed);
    maker.store(maker_state::none, std::memory_order_release); // release[thread-maker-ends]
    return nullptr;
}

} // namespace

void keep_thread_maker() noexcept {
    constexpr std::size_t stack = std::size_t{128} << 10;
    if (kernel_state_here != 0) return; // it would inherit that
    for (maker_state seen = maker_state::none;
         !maker.compare_exchange_strong(seen, maker_state::starting, std::memory_order_relaxed);
         seen = maker_state::none) {
        if (seen == maker_state::there) return;
        yield_kernel_thread(); // as long as it takes to make a kernel thread
    }
    const signals_blocked blocked; // in the new one
    const bool started = start_kernel_thread(make_in_turn, nullptr, stack) == 0;
    maker.store(started ? maker_state::there : maker_state::none, std::memory_order_relaxed);
}

int make_without_state(int (*make)(void *argument), void *argument) noexcept {
    if (kernel_state_here == 0 || maker.load(std::memory_order_relaxed) != maker_state::there) return make(argument);
    order o{make, argument, blocked_signals(), 0, {0}};
    for (order *none = nullptr; !ordered.compare_exchange_weak(none, &o, std::memory_order_release); none = nullptr)
        yield_kernel_thread();                          // release[thread-order]
    orders_put.fetch_add(1, std::memory_order_release); // release[thread-order]
    futex_wake(orders_put);
    while (o.done.load(std::memory_order_acquire) == 0) (void)futex_wait(o.done, 0); // acquire[thread-made]
    return o.result;
}

bool is_thread_maker_there() noexcept { return maker.load(std::memory_order_relaxed) == maker_state::there; }

void end_thread_maker() noexcept {
    is_to_end.store(true, std::memory_order_relaxed);
    orders_put.fetch_add(1, std::memory_order_release); // release[thread-order]
    futex_wake(orders_put);
    // acquire[thread-maker-ends]
    while (maker.load(std::memory_order_acquire) != maker_state::none) yield_kernel_thread();
}

void forget_thread_maker() noexcept {
    is_to_end.store(false, std::memory_order_relaxed);
    maker.store(maker_state::none, std::memory_order_relaxed);
    ordered.store(nullptr, std::memory_order_relaxed);
    kernel_state_here = 0;
}

} // namespace comity::sys
