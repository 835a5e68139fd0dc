#include "personality/pthread/threads/vfork.hpp"

#include "sys/process.hpp"

#include <atomic>

#include <unistd.h>

namespace comity::posix {

namespace {

std::atomic<pid_t> process{0};
void note_process() noexcept { process.store(::getpid(), std::memory_order_relaxed); }

__attribute__((constructor(handlers_of_threads))) void note_process_at_load() noexcept {
    note_process();
    (void)sys::at_fork(nullptr, nullptr, note_process);
}

// The parent's thread sleeps while its child is there, and one child comes after the other.
__thread pid_t whose __attribute__((tls_model("initial-exec"))) = 0;
__thread vforked_child child __attribute__((tls_model("initial-exec")));

} // namespace

bool in_vforked_child() noexcept {
    const pid_t known = process.load(std::memory_order_relaxed);
    return known != 0 && ::getpid() != known;
}

vforked_child &this_vforked_child() noexcept {
    const pid_t now = ::getpid();
    if (whose != now) child = {};
    whose = now;
    return child;
}

} // namespace comity::posix
