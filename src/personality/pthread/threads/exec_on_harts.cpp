// A thread that starts a program gives it its own mask: the kernel's, which is inherited, is open. So that kernel
// thread gets the calling thread's mask for as long as the call takes.
#include "personality/pthread/threads/exec.hpp"
#include "personality/pthread/threads/own_mask.hpp"
#include "personality/pthread/threads/thread.hpp"

#include <cstring>

namespace comity::posix {

namespace {

sigset_t mask_of(signal_set blocked) noexcept {
    sigset_t s;
    sigemptyset(&s);
    std::memcpy(&s, &blocked, sizeof blocked);
    return s;
}

// While it lives, the process may become another program at any instant: what was sent before has been acted upon, and
// what comes now the kernel acts upon.
class becomes_another {
public:
    becomes_another() noexcept : is_ours_(is_any_claimed() && !in_vforked_child()) {
        if (!is_ours_) return;
        leave_defaults_to_kernel();
        take_arrivals();
        deliver_here();
    }
    ~becomes_another() {
        if (is_ours_) take_defaults_again();
    }
    becomes_another(const becomes_another &) = delete;
    becomes_another &operator=(const becomes_another &) = delete;

private:
    bool is_ours_;
};

} // namespace

int replace_program(int (*call)(void *), void *data) {
    const becomes_another here;
    const own_mask masked;
    return call(data);
}

int start_program(int (*call)(void *), void *data) {
    const own_mask masked;
    return call(data);
}

// The wait within the C library's is no cancellation point for threads of ours.
int run_in_shell(const char *command, char *const environment[]) {
    receiver *r = receiver_here();
    if (!r) return run_in_shell_of_kernel(command, environment);
    test_cancel();
    const sigset_t own = mask_of(r->blocked.load(std::memory_order_relaxed));
    sigset_t meanwhile = own;
    sigaddset(&meanwhile, SIGCHLD);
    const mask_for_now masked(*r, &meanwhile);
    return run_in_shell(command, environment, own);
}

std::FILE *open_shell(const char *command, const char *type) {
    const own_mask masked;
    return open_shell_of_kernel(command, type);
}

} // namespace comity::posix
