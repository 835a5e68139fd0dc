// Linked with Comity, and run under it: a thread cannot have kernel state of its own beside a scope of threads that it
// has open, since its kernel thread carries these; nor open one when it has.
#include "comity/thread.hpp"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <vector>

#include <sys/resource.h>

namespace {

int wrong = 0;
void expect(bool holds, const char *what) {
    if (!holds) ++wrong, std::printf("not so: %s\n", what);
}

int niceness() { return getpriority(PRIO_PROCESS, 0); }

void run_threads(int as) {
    std::atomic<int> others{0};
    std::vector<comity::thread> all;
    for (int i = 0; i < 50; ++i)
        all.emplace_back([&] {
            others += niceness() != as;
            comity::this_thread::yield();
            others += niceness() != as;
        });
    for (comity::thread &t : all) t.join();
    expect(others == 0, "threads are without it");
}

bool can_open() {
    try {
        comity::thread([] {}).join();
        const comity::threads scope;
        return true;
    } catch (const std::system_error &e) {
        expect(e.code().value() == EPERM, "the error is EPERM");
        return false;
    }
}

} // namespace

int main() {
    const int before = niceness();
    if (before >= 18) return 77;
    {
        const comity::threads scope;
        run_threads(before);
        errno = 0;
        expect(setpriority(PRIO_PROCESS, 0, before + 1) == -1 && errno == EAGAIN, "refused with a scope");
        run_threads(before);
        comity::thread([before] { run_threads(before); }).join();
    }
    run_threads(before);
    expect(setpriority(PRIO_PROCESS, 0, before + 1) == 0, "allowed without a scope");
    expect(niceness() == before + 1, "main has it");
    expect(!can_open(), "no scope for a thread with state of its own");
    return wrong != 0;
}
