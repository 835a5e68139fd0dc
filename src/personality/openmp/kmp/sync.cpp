// barrier, flush, critical, master, masked, single, cancellation, error, and what scope compiles to.
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "personality/openmp/check.hpp"
#include "personality/openmp/kmp/abi.hpp"
#include "personality/openmp/lock.hpp"
#include "personality/openmp/ompt/hooks.hpp"
#include "personality/openmp/region.hpp"
#include "sys/message.hpp"

using namespace comity::openmp;
using namespace comity::openmp::kmp;

namespace {
// All objects of the program share the name, which has room for eight words.
word_lock &lock_of(critical_name *name) noexcept { return *reinterpret_cast<word_lock *>(name); }

ompt::sync_kind kind_of(const ident *where) noexcept {
    if (!where || where->flags & ident_barrier_explicit) return ompt::sync_kind::barrier_explicit;
    return where->flags & ident_barrier_implicit ? ompt::sync_kind::barrier_workshare
                                                 : ompt::sync_kind::barrier_implementation;
}

[[gnu::always_inline]] inline void enter_critical(critical_name *name, u32 hint, ompt::call_site at) noexcept {
    ompt::either([=](ompt::call_site p) { ompt::lock(lock_of(name), ompt::mutex_kind::critical, hint, p); },
                 [=] { lock_of(name).lock(); }, at);
}

// Is the caller the one that executes the region?
[[gnu::always_inline]] inline i32 begin_masked(bool mine, ompt::call_site at) noexcept {
    const auto tell = [=](ompt::call_site p) {
        if (mine)
            ompt::masked(ompt::endpoint::begin, p);
        else if (check::on) // also who does not execute it must not come to it there
            check::may_enter(check::construct::masked, nullptr, p.caller);
        return mine;
    };
    return ompt::either(
        tell, [=] { return mine; }, at);
}

} // namespace

COMITY_KMP void __kmpc_barrier(const ident *where, i32) noexcept {
    ompt::either([=](ompt::call_site at) { ompt::synchronize(kind_of(where), at, [] { barrier(self); }); },
                 [] { barrier(current()); }, COMITY_OMPT_HERE);
}
// Full: all that is before it in the program is done before what is after. Its partners are the program's.
COMITY_KMP void __kmpc_flush(const ident *) noexcept {
    __sync_synchronize();
    ompt::tell_last([](ompt::call_site at) { ompt::flush(at); }, COMITY_OMPT_HERE);
}

COMITY_KMP void __kmpc_critical(const ident *, i32, critical_name *name) noexcept {
    enter_critical(name, 0, COMITY_OMPT_HERE);
}
COMITY_KMP void __kmpc_critical_with_hint(const ident *, i32, critical_name *name, u32 hint) noexcept {
    enter_critical(name, hint, COMITY_OMPT_HERE);
}
COMITY_KMP void __kmpc_end_critical(const ident *, i32, critical_name *name) noexcept {
    ompt::either([=](ompt::call_site at) { ompt::unlock(lock_of(name), ompt::mutex_kind::critical, at); },
                 [=] { lock_of(name).unlock(); }, COMITY_OMPT_HERE);
}

COMITY_KMP i32 __kmpc_master(const ident *, i32) noexcept { return begin_masked(self->rank == 0, COMITY_OMPT_HERE); }
COMITY_KMP void __kmpc_end_master(const ident *, i32) noexcept {
    ompt::tell_last([](ompt::call_site at) { ompt::masked(ompt::endpoint::end, at); }, COMITY_OMPT_HERE);
}
COMITY_KMP i32 __kmpc_masked(const ident *, i32, i32 filter) noexcept {
    return begin_masked(static_cast<i32>(self->rank) == filter, COMITY_OMPT_HERE);
}
COMITY_KMP void __kmpc_end_masked(const ident *, i32) noexcept {
    ompt::tell_last([](ompt::call_site at) { ompt::masked(ompt::endpoint::end, at); }, COMITY_OMPT_HERE);
}

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

COMITY_KMP i32 __kmpc_single(const ident *, i32) noexcept {
    const bool mine = take_single(current());
    const auto tell = [=](ompt::call_site at) {
        ompt::single(mine, at);
        return mine;
    };
    return ompt::either(
        tell, [=] { return mine; }, COMITY_OMPT_HERE);
}
COMITY_KMP void __kmpc_end_single(const ident *, i32) noexcept {
    ompt::tell_last(
        [](ompt::call_site at) { ompt::work(ompt::work_kind::single_executor, ompt::endpoint::end, 1, at); },
        COMITY_OMPT_HERE);
}
COMITY_KMP void __kmpc_scope(const ident *, i32, void *) noexcept {
    ompt::tell_last([](ompt::call_site at) { ompt::work(ompt::work_kind::scope, ompt::endpoint::begin, 1, at); },
                    COMITY_OMPT_HERE);
}
COMITY_KMP void __kmpc_end_scope(const ident *, i32, void *) noexcept {
    ompt::tell_last([](ompt::call_site at) { ompt::work(ompt::work_kind::scope, ompt::endpoint::end, 1, at); },
                    COMITY_OMPT_HERE);
}

// Every rank calls it; `copy` takes the data of the one that executed the single region to the others.
COMITY_KMP void __kmpc_copyprivate(const ident *, i32, std::size_t, void *data, void (*copy)(void *to, void *from),
                                   i32 executed) noexcept {
    thread *t = current();
    std::atomic<void *> &from = t->team->copyprivate; // ordered by the barriers
    const auto wait = [at = COMITY_OMPT_HERE] {
        if (ompt::on())
            ompt::synchronize(ompt::sync_kind::barrier_implementation, at, [] { barrier(self); });
        else
            barrier(self);
    };
    if (executed) from.store(data, std::memory_order_relaxed);
    wait();
    if (!executed) copy(data, from.load(std::memory_order_relaxed));
    wait(); // until all have it
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

namespace {
int cancel_flag_of(i32 kind) noexcept {
    switch (kind) {
    case cancels_region:
        return ompt::cancel_parallel;
    case cancels_loop:
        return ompt::cancel_loop;
    case cancels_sections:
        return ompt::cancel_sections;
    default:
        return ompt::cancel_taskgroup;
    }
}
} // namespace

COMITY_KMP i32 __kmpc_cancellationpoint(const ident *, i32, i32 kind) noexcept {
    const thread *t = current();
    const bool cancelled = kind == cancels_group    ? group_is_cancelled(t)
                           : kind == cancels_region ? region_is_cancelled(t)
                                                    : share_is_cancelled(t);
    if (cancelled && ompt::on()) ompt::cancelled(cancel_flag_of(kind) | ompt::cancel_detected, COMITY_OMPT_HERE);
    return cancelled;
}

COMITY_KMP i32 __kmpc_cancel(const ident *, i32, i32 kind) noexcept {
    if (!process.cancellation) return 0;
    thread *t = current();
    if (ompt::on()) ompt::cancelled(cancel_flag_of(kind) | ompt::cancel_activated, COMITY_OMPT_HERE);
    if (kind == cancels_region)
        cancel_region(t);
    else if (kind == cancels_group)
        cancel_group(t);
    else
        cancel_share(t);
    return 1;
}

COMITY_KMP i32 __kmpc_cancel_barrier(const ident *where, i32) noexcept {
    const auto tell = [=](ompt::call_site at) {
        return ompt::synchronize(kind_of(where), at, [] { return barrier_or_cancel(self); });
    };
    return ompt::either(
        tell, [] { return barrier_or_cancel(current()); }, COMITY_OMPT_HERE);
}

// Whether the named construct around the caller was cancelled.
COMITY_KMP int __kmp_get_cancellation_status(int kind) noexcept { return __kmpc_cancellationpoint(nullptr, 0, kind); }
COMITY_KMP int kmp_get_cancellation_status(int kind) noexcept { return __kmpc_cancellationpoint(nullptr, 0, kind); }
COMITY_KMP int kmp_get_cancellation_status_(int kind) noexcept { return __kmpc_cancellationpoint(nullptr, 0, kind); }

// The error directive, with at(execution): the program's own message, in the words of the original.
COMITY_KMP void __kmpc_error(const ident *, int severity, const char *text) noexcept {
    constexpr int fatal = 2;
    if (ompt::on()) ompt::error(severity == fatal, text, text ? std::strlen(text) : 0, COMITY_OMPT_HERE);
    char message[512], line[640];
    comity::sys::format_text(message, sizeof message, "%s", text ? text : "");
    const std::size_t length = comity::sys::format_text(
        line, sizeof line, "OMP: %s: Encountered user-directed %s: %s.\n", severity == fatal ? "Error" : "Warning",
        severity == fatal ? "error" : "warning", message);
    comity::sys::write_error(line, length);
    if (severity == fatal) std::abort();
}
