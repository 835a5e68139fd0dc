#include "sys/futex.hpp"

#include <cerrno>
#include <ctime>

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>

#include "sys/c_library.hpp"
#include "sys/clock.hpp"
#include "sys/errno_kept.hpp"
#include "sys/message.hpp"

namespace comity::sys {

static_assert(sizeof(std::atomic<std::uint32_t>) == 4, "the kernel reads the word as 32 bits");

namespace {

// Past a preloaded one, to which a thread that sleeps so is the program's.
constinit own_function<long (*)(long, ...)> own_syscall{"syscall"};
[[gnu::constructor]] void find_early() noexcept { own_syscall.find(); }

// 0 or the error. The bitset variant takes an absolute time; plain FUTEX_WAIT would take a relative one and start again
// from zero after each signal.
int sleep(const std::atomic<std::uint32_t> &word, std::uint32_t expected, int flags, const timespec *deadline) {
    const long failed = own_syscall.find()(SYS_futex, &word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG | flags, expected,
                                           deadline, nullptr, FUTEX_BITSET_MATCH_ANY);
    return failed ? errno : 0;
}

wait_result result_of(int error) noexcept {
    switch (error) {
    case 0:
    case EINTR:
        return wait_result::woken;
    case EAGAIN:
        return wait_result::changed;
    case ETIMEDOUT:
        return wait_result::timed_out;
    default:
        fatal("futex_wait",
              "the kernel refuses to let a thread sleep (error %d); "
              "is the system call futex filtered by a sandbox?",
              error);
    }
}

} // namespace

wait_result futex_wait(const std::atomic<std::uint32_t> &word, std::uint32_t expected, std::int64_t deadline) noexcept {
    const errno_kept kept;
    timespec limit{};
    if (deadline < 0) deadline = 0;
    limit.tv_sec = deadline / 1'000'000'000;
    limit.tv_nsec = deadline % 1'000'000'000;
    const int error = sleep(word, expected, 0, deadline == no_deadline ? nullptr : &limit);
    return result_of(error);
}

wait_result futex_wait_cancellable(const std::atomic<std::uint32_t> &word, std::uint32_t expected, clockid_t clock,
                                   const timespec *deadline) {
    const int kept = errno; // no object with a destructor: a thread that is cancelled in here unwinds from anywhere
    int before = 0;
    if (deadline && deadline->tv_sec < 0) return wait_result::timed_out; // the kernel takes none before the start
    // NOLINTNEXTLINE(concurrency-thread-canceltype-asynchronous): as the C library does, around one system call
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &before);
    const int error = sleep(word, expected, clock == CLOCK_REALTIME ? FUTEX_CLOCK_REALTIME : 0, deadline);
    pthread_setcanceltype(before, nullptr);
    errno = kept;
    return result_of(error);
}

wait_result futex_wait_for(const std::atomic<std::uint32_t> &word, std::uint32_t expected,
                           std::int64_t duration) noexcept {
    return futex_wait(word, expected, deadline_in(duration));
}

int futex_wake(const std::atomic<std::uint32_t> &word, int count) noexcept {
    if (count <= 0) return 0; // the kernel would wake one
    const errno_kept kept;
    const long woken =
        own_syscall.find()(SYS_futex, &word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, count, nullptr, nullptr, 0);
    return woken > 0 ? static_cast<int>(woken) : 0;
}

void nap(std::int64_t duration) noexcept {
    const std::atomic<std::uint32_t> nobody_wakes{0};
    static_cast<void>(futex_wait_for(nobody_wakes, 0, duration));
}

} // namespace comity::sys
