// The place of one who waits, in a list from which he can also be taken by his deadline, or who is no context at all.
// What the fields mean while it stands in a list is the list's affair (sync/wait_list).
#pragma once

#include "core/spinlock.hpp"
#include "core/timer.hpp"

#include <atomic>

namespace comity::core {

// On the waiter's stack, but for native contexts (carrier::native_waiter): in the child of a fork the stacks of the
// threads that are gone are used again, and the lists that these stood in may still be.
struct waiter {
    waiter *next = nullptr, *prev = nullptr; // in a ring, under the list's lock
    void *list = nullptr;
    context *who = nullptr; // null: `call` instead
    void (*call)(waiter *) noexcept = nullptr;
    bool inside = false;              // in the ring; under the list's lock
    std::atomic<bool> expired{false}; // its deadline has passed; written under the list's lock
    // Of a place that stands in no list (thread/cell.hpp): the lock for the fields above, and whether what it waits for
    // has come.
    spinlock lock;
    bool told = false;
    timer deadline;
};

} // namespace comity::core
