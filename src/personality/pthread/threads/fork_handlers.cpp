// Handlers of forks that libraries have registered before Comity. The C library calls those `before` in the reverse
// order, so theirs would find Comity's locks taken, and may wait for threads: OpenBLAS ends its own there.
#include "core/promotion.hpp"
#include "core/tls/block.hpp"
#include "personality/pthread/threads/thread.hpp"
#include "sys/message.hpp"
#include "sys/process.hpp"

#include <cstddef>

namespace comity::posix {

namespace {

struct fork_handlers {
    void (*before)(), (*parent)(), (*child)();
    void *library; // with which the handlers go
};

// Constructors run one after the other, and a process that forks in one of those before ours is not foreseen.
constexpr std::size_t most = 128;
fork_handlers early[most];
std::size_t number = 0;
bool are_ours_registered = false;

// To a child its parent is the kernel thread that has forked, whose end it may ask to be told of (PR_SET_PDEATHSIG). So
// a thread forks on its own one, which ends with it. A handler that is called after those of the program's and before
// Comity's other ones.
void leave_hart_for_fork() noexcept {
    const thread *t = current_thread;
    if (!t || t->stays) return;
    (void)leave_hart();
    const core::context *c = core::current_context();
    if (core::is_promoted(c) && core::keep_kernel_thread(c->tls)) c->tls->used_up = true;
}

using register_function = int(void (*)(), void (*)(), void (*)(), void *);
COMITY_NEXT_SYMBOL next<register_function *> next_register{"__register_atfork"};

// Without a priority, so after all constructors that register ours (handlers_of_signals, handlers_of_threads).
__attribute__((constructor)) void register_early_handlers() noexcept {
    are_ours_registered = true;
    (void)sys::at_fork(leave_hart_for_fork, nullptr, nullptr);
    for (std::size_t i = 0; i < number; ++i)
        if (next_register.get()(early[i].before, early[i].parent, early[i].child, early[i].library) != 0)
            sys::warn("no memory for the handlers of forks that libraries have registered");
}

} // namespace

} // namespace comity::posix

// pthread_atfork stands in the program and in each library, and calls this.
COMITY_INTERPOSED int __register_atfork(void (*before)(), void (*parent)(), void (*child)(), void *library) {
    using namespace comity::posix;
    if (are_ours_registered || number == most) return next_register.get()(before, parent, child, library);
    early[number++] = {before, parent, child, library};
    return 0;
}
