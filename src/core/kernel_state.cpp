#include "core/kernel_state.hpp"

#include "core/base.hpp"
#include "core/carrier.hpp"
#include "core/displacement.hpp"
#include "core/promotion.hpp"
#include "core/runtime.hpp"
#include "core/tls/block.hpp"
#include "sys/kernel_thread.hpp"
#include "sys/thread_maker.hpp"

namespace comity::core {

namespace {

// The calling thread goes on without a hart on its own kernel thread: false if it cannot.
bool leave_harts() noexcept {
    const context *c = current_context();
    if (!c || !c->on) return true; // a kernel thread that Comity never saw
    if (c->on->settled || on_transition(c->on)) return false;
    if (c->on->carried) {
        if (c == c->on->native && !base().has_worker(c->on->carried)) return false;
        if (!go_without_hart()) return false;
    }
    carrier *k = current_carrier();
    if (k->left) { // its kernel thread carries the threads of the scope that it has open
        if (!k->carried) (void)come_back();
        return false;
    }
    if (c->home != k) return false;
    drop_kept_hart(k);
    return !is_promoted(c) || keep_kernel_thread(c->tls);
}

// On a context with storage of its own that goes with the state: its kernel thread is nobody else's later on.
void note_state(unsigned what) noexcept {
    sys::kernel_state_here = what;
    const context *c = current_context();
    tls_block *block = c ? c->tls : nullptr;
    if (!block) return;
    block->kernel_state = what;
    if (what != 0) block->used_up = true;
}

bool is_only_one() noexcept { return sys::number_of_kernel_threads() == 1; }

// All that Comity makes later inherits it. Not so CPUs and policies once it has started: it knows by then which CPUs
// are its own, and spins on them.
bool is_the_process(unsigned what) noexcept {
    return (what == kernel_state::other || (what == kernel_state::cpus && !has_started())) && is_only_one();
}

} // namespace

unsigned own_kernel_state() noexcept { return sys::kernel_state_here; }

bool begin_kernel_state(unsigned what) noexcept {
    if (sys::kernel_state_here == 0) {
        if (is_the_process(what)) return true;
        if (!leave_harts()) return false;
        sys::keep_thread_maker();
    }
    note_state(sys::kernel_state_here | what);
    return true;
}

void end_kernel_state(unsigned what) noexcept {
    if (sys::kernel_state_here & what) note_state(sys::kernel_state_here & ~what);
}

void prepare_kernel_state() noexcept { sys::keep_thread_maker(); }

void inherit_kernel_state(unsigned what) noexcept { note_state(what); }

} // namespace comity::core
