// The one blocking primitive under every synchronisation object: a list of contexts that wait for a condition which
// somebody else makes true (an event count). Spins a little, then blocks the context, never the hart. A kernel thread
// that holds no hart sleeps in the kernel instead, so the same object serves adopted and foreign threads.
//
// Protocol and proof: README.md in this folder.
#pragma once

#include "core/context.hpp"
#include "core/spinlock.hpp"
#include "sys/shared.hpp"

#include <atomic>
#include <cstdint>
#include <type_traits>

namespace comity::sync {

class COMITY_SHARED wait_list {
public:
    // Returns when ready() is true. ready() may be called several times, on the caller's context and, while the caller
    // is being parked, on the transition context: it must only read atomics. Any thread or context; may switch.
    template <class Ready> void wait(Ready &&ready) noexcept {
        while (!ready())
            wait_once([](void *r) noexcept { return (*static_cast<std::remove_reference_t<Ready> *>(r))(); }, &ready);
    }

    // To be called after the condition was made true (by a release store or stronger): wakes everybody who waits, or
    // one. Any thread; never switches. The wait_list must outlive the call.
    void wake_all() noexcept;
    void wake_one() noexcept;

private:
    using ready_fn = bool (*)(void *) noexcept;
    struct waiting {
        core::context *who;
        wait_list *list;
        ready_fn ready;
        void *arg;
    };
    void wait_once(ready_fn ready, void *arg) noexcept;
    static bool enqueue(waiting w) noexcept;
    static void park(core::context *c, void *argument);
    static void left_behind(void *argument);

    std::atomic<std::uint32_t> count_{0}; // contexts in the list; written under lock_
    core::spinlock lock_;
    core::context *first_ = nullptr, *last_ = nullptr; // under lock_
};

} // namespace comity::sync
