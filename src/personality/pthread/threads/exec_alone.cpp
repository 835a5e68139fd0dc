// The object that serves condition variables only: a thread that starts a program is the kernel's, and so is its mask.
#include "personality/pthread/threads/exec.hpp"

namespace comity::posix {

int replace_program(int (*call)(void *), void *data) { return call(data); }
int start_program(int (*call)(void *), void *data) { return call(data); }
int run_in_shell(const char *command, char *const environment[]) {
    return run_in_shell_of_kernel(command, environment);
}
std::FILE *open_shell(const char *command, const char *type) { return open_shell_of_kernel(command, type); }

} // namespace comity::posix
