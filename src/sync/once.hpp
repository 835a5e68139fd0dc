// Something to be done once: by the first who comes, or after it failed by another. Protocol "Once": README.md.
#pragma once

#include "sync/leaving.hpp"
#include "sync/wait_list.hpp"
#include "sys/called_function.hpp"
#include "sys/message.hpp"
#include "sys/thread_pointer.hpp"

#include <atomic>

namespace comity::sync {

class once {
public:
    // True: the caller has to do it, and then to call end. False: it has been done. May switch.
    bool begin() noexcept {
        std::uint32_t s = state_.load(std::memory_order_acquire); // acquire[once]
        while (s != done) {
            if (s == not_done) {
                if (state_.compare_exchange_strong(s, under_way, std::memory_order_acquire)) { // acquire[once]
                    runner_.store(self(), std::memory_order_relaxed);
                    return true;
                }
                continue;
            }
            if (runner_.load(std::memory_order_relaxed) == self()) [[unlikely]]
                waits_for_itself();
            waiters_.wait([this]() noexcept { return state_.load(std::memory_order_relaxed) != under_way; });
            s = state_.load(std::memory_order_acquire); // acquire[once]
        }
        return false;
    }
    // succeeded: it has been done; else somebody else shall try. Never switches.
    void end(bool succeeded) noexcept {
        leaving_.enter();
        runner_.store(nullptr, std::memory_order_relaxed);
        state_.store(succeeded ? done : not_done, std::memory_order_release); // release[once]
        waiters_.wake_all();
        leaving_.leave();
    }
    bool is_under_way() const noexcept { return state_.load(std::memory_order_relaxed) == under_way; }
    void wait_until_left() const noexcept { leaving_.wait(); }
    bool is_waited_for() noexcept { return waiters_.has_contexts(); }

private:
    static constexpr std::uint32_t not_done = 0, under_way = 1, done = 2;
    // Not null, and the same as long as the thread does nothing that makes Comity know it.
    static const void *self() noexcept {
        const core::context *c = core::current_context();
        if (!c) return reinterpret_cast<const void *>(sys::thread_pointer());
        return c->runs ? c->runs : c;
    }
    [[noreturn]] static void waits_for_itself() noexcept {
        sys::fatal(sys::called_function("comity_once").name(),
                   "the function that is called once calls it again, and would wait for itself");
    }
    std::atomic<std::uint32_t> state_{not_done};
    std::atomic<const void *> runner_{nullptr}; // who has begun; by whom that is
    leaving leaving_;
    wait_list waiters_;
};

} // namespace comity::sync
