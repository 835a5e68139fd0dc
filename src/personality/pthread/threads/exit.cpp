// exit and fork in a handler that has interrupted Comity's own code, whose locks may be held below: what is called from
// there, by exit's handlers or by the child, must neither wait for these nor switch (core/README.md, "Displacement").
#include "core/displacement.hpp"
#include "personality/pthread/threads/object.hpp"

#include <cstdlib>

#include <unistd.h>

namespace {

COMITY_NEXT_SYMBOL comity::posix::next<void (*)(int)> next_exit{"exit"};
COMITY_NEXT_SYMBOL comity::posix::next<pid_t (*)()> next_fork{"fork"};

__attribute__((constructor)) void note_calls() noexcept {
    comity::core::note_code_that_calls(reinterpret_cast<const void *>(&note_calls));
}

} // namespace

// The header says that it throws nothing; its handlers may do, and may be cancelled.
COMITY_INTERPOSED void comity_exit(int code) asm("exit");
void comity_exit(int code) {
    comity::core::stay_in_handler();
    next_exit.get()(code);
}

COMITY_INTERPOSED pid_t fork() noexcept {
    int child = 0;
    return comity::core::fork_in_handler(child) ? child : next_fork.get()();
}
COMITY_ALSO_NAMED(__fork, fork);
