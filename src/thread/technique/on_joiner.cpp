#include "thread/technique/on_joiner.hpp"

#include <utility>

namespace comity {

void end_on_joiner(thread *t) noexcept {
    core::arch::comity_arch_call_here(
        reinterpret_cast<void **>(&t->next),
        [](void *argument) -> void * {
            end_with_more(static_cast<thread *>(argument));
            return nullptr;
        },
        t);
}

void run_on_joiner(thread *t, core::context *joiner) noexcept { run_on_joiner_here(t, joiner); }

void leave_joiner(thread *t) noexcept { core::arch::comity_arch_leave(std::exchange(t->next, nullptr)); }

} // namespace comity
