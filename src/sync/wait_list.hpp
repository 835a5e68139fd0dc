// The one blocking primitive under every synchronisation object: a list of contexts that wait for a condition which somebody else
// makes true (an event count). Spins a little, then blocks the context, never the hart. A kernel thread that holds no
// hart sleeps in the kernel instead, so the same object serves adopted and foreign threads.
//
// Protocol and proof: README.md in this folder.
#pragma once

namespace comity::sync {

class wait_list {
  public:
    // Returns when ready() is true. ready() may be called several times, on the caller's context and, while the caller is being
    // parked, on the transition context: it must only read atomics. Any thread or context; may switch.
    template <class Ready> void wait(Ready &&ready) noexcept;

    // To be called after the condition was made true (by a release store or stronger): wakes everybody who waits.
    // Any thread; never switches. The wait_list must outlive the call.
    void wake_all() noexcept;
    void wake_one() noexcept;
};

} // namespace comity::sync
