// Threads that run on some harts only. A scheduler asks for the set where the thread may go on; before that, a thread
// starts as any does and goes to a hart of its set before its function is called.
#include "thread/extension.hpp"
#include "thread/own_storage.hpp"

#include "core/base.hpp"
#include "sys/message.hpp"

#include <cerrno>
#include <new>
#include <utility>

namespace comity {

namespace {

// unit_scheduler::affinity
const hart_set *affinity_of_context(const core::context *c) noexcept {
    const thread *t = thread_of(c);
    if (!t || !t->is_extended()) return nullptr;
    const thread_extension *x = extension_of(t);
    return x ? x->harts.get() : nullptr;
}

// To a hart of the set, the first one if the thread is on none of them. May switch.
int go_to(const hart_set &set) noexcept {
    const int here = comity_hart_id(), n = comity_hart_count();
    if (set.has(static_cast<unsigned>(here))) return 0;
    int to = 0;
    while (to < n && !set.has(static_cast<unsigned>(to))) ++to;
    return comity_thread_migrate(to);
}

void *run_there(void *argument) {
    const thread_extension *x = extension_of(own_thread());
    if (x->harts)
        if (const int error = go_to(*x->harts))
            sys::fatal(
                "starting a thread with an affinity",
                "it cannot go to its harts (error %d): the scheduler knows no migration, or the thread runs on a "
                "kernel thread's own stack",
                error);
    if (x->has_own_storage) renew_own_storage();
    return x->fn(argument);
}

// n >= 1 numbers of harts. Null: one is wrong (EINVAL), or no memory.
std::unique_ptr<hart_set> make_set(const int *harts, std::size_t n, int &error) noexcept {
    std::unique_ptr<hart_set> set(new (std::nothrow) hart_set);
    error = !harts ? EINVAL : set ? 0 : ENOMEM;
    for (std::size_t i = 0; error == 0 && i < n; ++i) {
        if (harts[i] < 0 || harts[i] >= comity_hart_count())
            error = EINVAL;
        else
            set->add(static_cast<unsigned>(harts[i]));
    }
    if (error != 0) set.reset();
    return set;
}

} // namespace

void start_by_extension(thread *t) noexcept {
    if (t->fn != run_there) extension_of(t)->fn = std::exchange(t->fn, run_there);
}

void keep_affinity(thread *t, std::unique_ptr<hart_set> harts) noexcept {
    thread_extension *x = extension_of(t);
    x->harts = std::move(harts);
    x->was_given_harts = true;
    start_by_extension(t);
    announce_affinity(t);
}

bool was_given_affinity(const thread *t) noexcept {
    const thread_extension *x = extension_of(t);
    return x && x->was_given_harts;
}

void announce_affinity(const thread *t) noexcept {
    const thread_extension *x = extension_of(t);
    if (x && x->harts) t->owner->affinity.store(affinity_of_context, std::memory_order_relaxed);
}

int set_affinity(thread *t, const int *harts, std::size_t n) noexcept {
    int error = 0;
    auto set = make_set(harts, n, error);
    if (!set) return error;
    if (!extend(t)) return ENOMEM;
    keep_affinity(t, std::move(set));
    return 0;
}

} // namespace comity

using namespace comity;

extern "C" {

int comity_thread_set_affinity(const int *harts, size_t n) {
    thread *t = own_thread();
    if (!t || t->how == COMITY_TECHNIQUE_STACKLESS) return EPERM;
    const core::carrier *k = core::current_carrier();
    if (!work_of(k) || work_of(k)->owner != t->owner || k->current->home) return EPERM;
    int error = 0;
    auto set = n != 0 ? make_set(harts, n, error) : nullptr;
    if (error != 0) return error;
    thread_extension *x = extend(t);
    if (!x) return ENOMEM;
    x->harts = std::move(set);
    announce_affinity(t);
    return x->harts ? go_to(*x->harts) : 0;
}

int comity_thread_affinity(const comity_thread_t *handle, int *harts, size_t room, size_t *count) {
    if (!handle || (room != 0 && !harts)) return EINVAL;
    const thread_extension *x = extension_of(static_cast<const thread *>(handle));
    const hart_set *set = x ? x->harts.get() : nullptr;
    std::size_t n = 0;
    for (int i = 0; set && i < comity_hart_count(); ++i) {
        if (!set->has(static_cast<unsigned>(i))) continue;
        if (n < room) harts[n] = i;
        ++n;
    }
    if (count) *count = n;
    return n > room && harts ? ERANGE : 0;
}
}
