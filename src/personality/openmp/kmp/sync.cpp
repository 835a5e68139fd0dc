// barrier, flush, critical, master, masked, single, cancellation, error, and what scope compiles to.
#include <atomic>
#include <cstdlib>

#include "personality/openmp/kmp/abi.hpp"
#include "personality/openmp/lock.hpp"
#include "personality/openmp/region.hpp"
#include "sys/message.hpp"

using namespace comity::openmp;
using namespace comity::openmp::kmp;

namespace {
// All objects of the program share the name, which has room for eight words.
word_lock &lock_of(critical_name *name) noexcept { return *reinterpret_cast<word_lock *>(name); }
} // namespace

COMITY_KMP void __kmpc_barrier(const ident *, i32) noexcept { barrier(current()); }
// Full: all that is before it in the program is done before what is after. Its partners are the program's.
COMITY_KMP void __kmpc_flush(const ident *) noexcept { __sync_synchronize(); }

COMITY_KMP void __kmpc_critical(const ident *, i32, critical_name *name) noexcept { lock_of(name).lock(); }
COMITY_KMP void __kmpc_critical_with_hint(const ident *, i32, critical_name *name, u32) noexcept {
    lock_of(name).lock();
}
COMITY_KMP void __kmpc_end_critical(const ident *, i32, critical_name *name) noexcept { lock_of(name).unlock(); }

COMITY_KMP i32 __kmpc_master(const ident *, i32) noexcept { return self->rank == 0; }
COMITY_KMP void __kmpc_end_master(const ident *, i32) noexcept {}
COMITY_KMP i32 __kmpc_masked(const ident *, i32, i32 filter) noexcept { return static_cast<i32>(self->rank) == filter; }
COMITY_KMP void __kmpc_end_masked(const ident *, i32) noexcept {}

// A barrier that only rank 0 leaves; it lets the others go by the second function.
COMITY_KMP i32 __kmpc_barrier_master(const ident *, i32) noexcept {
    thread *t = current();
    barrier(t);
    if (t->rank == 0) return 1;
    barrier(t);
    return 0;
}
COMITY_KMP void __kmpc_end_barrier_master(const ident *, i32) noexcept { barrier(current()); }
COMITY_KMP i32 __kmpc_barrier_master_nowait(const ident *, i32) noexcept {
    barrier(current());
    return self->rank == 0;
}

COMITY_KMP i32 __kmpc_single(const ident *, i32) noexcept { return take_single(current()); }
COMITY_KMP void __kmpc_end_single(const ident *, i32) noexcept {}
COMITY_KMP void __kmpc_scope(const ident *, i32, void *) noexcept {}
COMITY_KMP void __kmpc_end_scope(const ident *, i32, void *) noexcept {}

// Every rank calls it; `copy` takes the data of the one that executed the single region to the others.
COMITY_KMP void __kmpc_copyprivate(const ident *, i32, std::size_t, void *data, void (*copy)(void *to, void *from),
                                   i32 executed) noexcept {
    thread *t = current();
    std::atomic<void *> &from = t->team->copyprivate; // ordered by the barriers
    if (executed) from.store(data, std::memory_order_relaxed);
    barrier(t);
    if (!executed) copy(data, from.load(std::memory_order_relaxed));
    barrier(self); // until all have it
}
// The same, but the compiler copies: where the data is.
COMITY_KMP void *__kmpc_copyprivate_light(const ident *, i32, void *data) noexcept {
    thread *t = current();
    std::atomic<void *> &from = t->team->copyprivate;
    if (data) from.store(data, std::memory_order_relaxed);
    barrier(t);
    return from.load(std::memory_order_relaxed);
}

namespace {
enum cancel_kind : i32 { cancels_region = 1, cancels_loop = 2, cancels_sections = 3, cancels_group = 4 };
} // namespace

COMITY_KMP i32 __kmpc_cancellationpoint(const ident *, i32, i32 kind) noexcept {
    const thread *t = current();
    if (kind == cancels_group) return group_is_cancelled(t);
    return kind == cancels_region ? region_is_cancelled(t) : share_is_cancelled(t);
}

COMITY_KMP i32 __kmpc_cancel(const ident *, i32, i32 kind) noexcept {
    if (!process.cancellation) return 0;
    thread *t = current();
    if (kind == cancels_region)
        cancel_region(t);
    else if (kind == cancels_group)
        cancel_group(t);
    else
        cancel_share(t);
    return 1;
}

COMITY_KMP i32 __kmpc_cancel_barrier(const ident *, i32) noexcept { return barrier_or_cancel(current()); }

// Whether the named construct around the caller was cancelled.
COMITY_KMP int __kmp_get_cancellation_status(int kind) noexcept { return __kmpc_cancellationpoint(nullptr, 0, kind); }
COMITY_KMP int kmp_get_cancellation_status(int kind) noexcept { return __kmpc_cancellationpoint(nullptr, 0, kind); }
COMITY_KMP int kmp_get_cancellation_status_(int kind) noexcept { return __kmpc_cancellationpoint(nullptr, 0, kind); }

// The error directive, with at(execution): the program's own message, in the words of the original.
COMITY_KMP void __kmpc_error(const ident *, int severity, const char *text) noexcept {
    constexpr int fatal = 2;
    char line[640];
    const std::size_t length = comity::sys::format_text(
        line, sizeof line, "OMP: %s: Encountered user-directed %s: %.512s.\n", severity == fatal ? "Error" : "Warning",
        severity == fatal ? "error" : "warning", text ? text : "");
    comity::sys::write_error(line, length);
    if (severity == fatal) std::abort();
}
