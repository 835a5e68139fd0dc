// Handlers of forks that libraries have registered before Comity. The C library calls those `before` in the reverse
// order, so theirs would find Comity's locks taken, and may wait for threads: OpenBLAS ends its own there.
#include "personality/pthread/threads/object.hpp"
#include "sys/message.hpp"

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

using register_function = int(void (*)(), void (*)(), void (*)(), void *);
COMITY_NEXT_SYMBOL next<register_function *> next_register{"__register_atfork"};

// Without a priority, so after all constructors that register ours (handlers_of_signals, handlers_of_threads).
__attribute__((constructor)) void register_early_handlers() noexcept {
    are_ours_registered = true;
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
