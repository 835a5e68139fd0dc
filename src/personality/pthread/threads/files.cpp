// Calls for files that seldom sleep, in a FIFO or for a lock, and are cancellation points. The child of a vfork makes
// them, too, in this process' memory.
#include "personality/pthread/threads/input.hpp"
#include "personality/pthread/threads/library_call.hpp"
#include "personality/pthread/threads/vfork.hpp"

#include <cerrno>
#include <climits>
#include <cstdarg>

#include <fcntl.h>
#include <sys/types.h>

namespace comity::posix {

namespace {

void test_cancel_in_process() {
    const thread *t = current_thread;
    if (t && t->signals.to_be_cancelled.load(std::memory_order_relaxed) && !in_vforked_child()) test_cancel();
}

// Makes a call that may sleep, with its hart, which the watch takes away if somebody needs it.
template <class Call> int make(Call call) {
    receiver *r = settled_receiver_here();
    if (!r) return call();
    test_cancel_in_process();
    int result = 0;
    bool cancelled = false;
    {
        const open_library_call here(*r);
        result = call();
        cancelled = here.is_ended() && is_to_be_cancelled(*r);
    }
    if (cancelled) test_cancel();
    return result;
}

int fail(int error) noexcept {
    errno = error;
    return -1;
}

// The argument after the flags of open, if there is one.
mode_t mode_after(int flags, std::va_list &list) noexcept {
    return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(list, mode_t) : 0;
}

} // namespace
} // namespace comity::posix

using namespace comity::posix;

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): glibc's names are reserved ones

// All are defined by names of ours, as in stdio.cpp.
#define COMITY_FILE_CALL(name, parameters, arguments)                                                                  \
    COMITY_INTERPOSED int our_##name parameters __asm__(#name);                                                        \
    int our_##name parameters {                                                                                        \
        COMITY_NEXT_SYMBOL static next<int(*) parameters> next_##name{#name};                                          \
        return make([=] { return next_##name.get() arguments; });                                                      \
    }
#define COMITY_OPEN(name)                                                                                              \
    COMITY_INTERPOSED int our_##name(const char *path, int flags, ...) __asm__(#name);                                 \
    int our_##name(const char *path, int flags, ...) {                                                                 \
        COMITY_NEXT_SYMBOL static next<int (*)(const char *, int, ...)> next_##name{#name};                            \
        std::va_list list;                                                                                             \
        va_start(list, flags);                                                                                         \
        const mode_t mode = mode_after(flags, list);                                                                   \
        va_end(list);                                                                                                  \
        return make([=] { return next_##name.get()(path, flags, mode); });                                             \
    }
#define COMITY_OPENAT(name)                                                                                            \
    COMITY_INTERPOSED int our_##name(int folder, const char *path, int flags, ...) __asm__(#name);                     \
    int our_##name(int folder, const char *path, int flags, ...) {                                                     \
        COMITY_NEXT_SYMBOL static next<int (*)(int, const char *, int, ...)> next_##name{#name};                       \
        std::va_list list;                                                                                             \
        va_start(list, flags);                                                                                         \
        const mode_t mode = mode_after(flags, list);                                                                   \
        va_end(list);                                                                                                  \
        return make([=] { return next_##name.get()(folder, path, flags, mode); });                                     \
    }
// It sleeps only for a lock.
#define COMITY_FCNTL(name)                                                                                             \
    COMITY_INTERPOSED int our_##name(int fd, int command, ...) __asm__(#name);                                         \
    int our_##name(int fd, int command, ...) {                                                                         \
        COMITY_NEXT_SYMBOL static next<int (*)(int, int, ...)> next_##name{#name};                                     \
        std::va_list list;                                                                                             \
        va_start(list, command);                                                                                       \
        void *const argument = va_arg(list, void *);                                                                   \
        va_end(list);                                                                                                  \
        const auto call = [=] { return next_##name.get()(fd, command, argument); };                                    \
        return command == F_SETLKW || command == F_OFD_SETLKW ? make(call) : call();                                   \
    }
// A signal must not end it: whether the descriptor is closed then, nobody could tell.
#define COMITY_CLOSE(name)                                                                                             \
    COMITY_INTERPOSED int our_##name(int fd) __asm__(#name);                                                           \
    int our_##name(int fd) {                                                                                           \
        COMITY_NEXT_SYMBOL static next<int (*)(int)> next_##name{#name};                                               \
        test_cancel_in_process();                                                                                      \
        const closing here(fd);                                                                                        \
        return here ? next_##name.get()(fd) : fail(EBADF);                                                             \
    }

// They close the second descriptor.
#define COMITY_DUP(name, parameters, arguments)                                                                        \
    COMITY_INTERPOSED int our_##name parameters noexcept __asm__(#name);                                               \
    int our_##name parameters noexcept {                                                                               \
        COMITY_NEXT_SYMBOL static next<int(*) parameters> next_##name{#name};                                          \
        const closing here(fd == to ? -1 : to);                                                                        \
        return here ? next_##name.get() arguments : fail(EBUSY);                                                       \
    }

COMITY_OPEN(open)
COMITY_OPEN(open64)
COMITY_OPEN(__open)
COMITY_OPEN(__open64)
COMITY_FILE_CALL(__open_2, (const char *path, int flags), (path, flags))
COMITY_FILE_CALL(__open64_2, (const char *path, int flags), (path, flags))
COMITY_OPENAT(openat)
COMITY_OPENAT(openat64)
COMITY_FILE_CALL(__openat_2, (int folder, const char *path, int flags), (folder, path, flags))
COMITY_FILE_CALL(__openat64_2, (int folder, const char *path, int flags), (folder, path, flags))
COMITY_FILE_CALL(creat, (const char *path, mode_t mode), (path, mode))
COMITY_FILE_CALL(creat64, (const char *path, mode_t mode), (path, mode))
COMITY_FCNTL(fcntl)
COMITY_FCNTL(fcntl64)
COMITY_FCNTL(__fcntl)
COMITY_CLOSE(close)
COMITY_CLOSE(__close)
// glibc has these since 2.34.
COMITY_INTERPOSED int close_range(unsigned first, unsigned last, int flags) noexcept {
    COMITY_NEXT_SYMBOL static next<int (*)(unsigned, unsigned, int)> next_close_range{"close_range"};
    if (!next_close_range.look()) return fail(ENOSYS);
    constexpr int on_exec = 4; // CLOSE_RANGE_CLOEXEC
    if (!(flags & on_exec)) closing::is_near(first, last);
    return next_close_range.get()(first, last, flags);
}
COMITY_INTERPOSED void closefrom(int first) noexcept {
    COMITY_NEXT_SYMBOL static next<void (*)(int)> next_closefrom{"closefrom"};
    closing::is_near(static_cast<unsigned>(std::max(first, 0)), UINT_MAX);
    if (next_closefrom.look())
        next_closefrom.get()(first);
    else
        (void)close_range(static_cast<unsigned>(std::max(first, 0)), UINT_MAX, 0);
}
COMITY_DUP(dup2, (int fd, int to), (fd, to))
COMITY_DUP(__dup2, (int fd, int to), (fd, to))
COMITY_DUP(dup3, (int fd, int to, int flags), (fd, to, flags))

// NOLINTEND(readability-inconsistent-declaration-parameter-name)
