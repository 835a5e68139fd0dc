// Waiting at an address: for objects that have no room for a wait list, such as those whose layout the C library fixes.
// A list is lent to an address for as long as somebody waits there. README.md, "Addresses".
#pragma once

#include "sync/wait_list.hpp"

#include <cstdint>

namespace comity::sync {

// While one exists, its address has a list. For the time of one wait, on the waiter's stack.
class COMITY_SHARED stay {
public:
    explicit stay(const void *address) noexcept;
    stay(const stay &) = delete;
    stay &operator=(const stay &) = delete;
    ~stay();
    wait_list &list() const noexcept;

private:
    struct lent_list *lent_;
};

// Waits until ready() is true or the deadline (sys::now_ns) has passed. As wait_list::wait_or_cancel, wait_until, after
// a spin if it `spins`; ready() is a matter of atomics, and is made true before a call of wake_one_at or wake_all_at
// for the same address. Any thread or context; may switch.
template <class Ready>
wait_end wait_at_or_cancel(const void *address, Ready ready, std::int64_t deadline, bool spins = true) noexcept {
    if (spins && wait_list::spin_for(ready, deadline)) return wait_end::done;
    const stay here(address);
    return here.list().block_or_cancel(ready, deadline);
}
// False: the deadline has passed, and ready() was false after that.
template <class Ready> bool wait_at(const void *address, Ready ready, std::int64_t deadline) noexcept {
    if (wait_list::spin_for(ready, deadline)) return true;
    const stay here(address);
    return here.list().block_until(ready, deadline);
}

// Wakes one who waits at the address, or all, as the functions of wait_list. Nothing at the address is touched: the
// object may be gone. Others may wake too, in vain, where memory was exhausted. Any thread; never switch.
COMITY_SHARED void wake_one_at(const void *address) noexcept;
COMITY_SHARED void wake_all_at(const void *address) noexcept;
// How many stand in the address's list; more where memory was exhausted. A hint: they come and go. Any thread; never
// switches.
COMITY_SHARED std::uint32_t waiting_at(const void *address) noexcept;

} // namespace comity::sync
