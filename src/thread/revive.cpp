// Threads that are kept after their end, to run again.
#include "core/runtime.hpp"
#include "thread/extension.hpp"
#include "thread/own_storage.hpp"
#include "thread/technique/technique.hpp"

#include <cerrno>
#include <utility>

using namespace comity;

extern "C" {

int comity_thread_wait(comity_thread_t *handle, void **result) {
    auto *t = static_cast<thread *>(handle);
    if (!t) return EINVAL;
    const std::uintptr_t state = t->join.get();
    if (state != end_word::ended)
        if (const int error = wait_for_end(t, state)) return error;
    if (result) *result = t->value;
    return 0;
}

int comity_thread_revive(comity_thread_t *handle, void *(*fn)(void *), void *arg) {
    auto *t = static_cast<thread *>(handle);
    if (!t || !fn || !has_ended(t)) return EINVAL;
    (void)core::come_back();
    core::carrier *k = core::current_carrier();
    unit_scheduler::slot *w = k ? work_of(k) : nullptr;
    if (!w) return EPERM;
    std::unique_ptr<hart_set> harts;
    if (t->is_extended()) {
        harts = std::move(extension_of(t)->harts);
        free_extension(t);
    }
    if ((harts || t->own_tls()) && !extend(t)) {
        dispose(t, k);
        return ENOMEM;
    }
    t->run = is_plain(t) ? how(t).run : how(t).run_special;
    // Its frames and its result are no longer those of who prepared it.
    t->take_marks(thread::that_unwinds | thread::that_drops_results | thread::that_is_tracked);
    t->add_marks(thread::that_is_prepared);
    t->fn = fn;
    t->value = arg;
    t->owner = w->owner;
    if (t->own_tls()) (void)begin_with_own_storage(t);
    if (harts) keep_affinity(t, std::move(harts));
    t->join.begin(end_word::open);
    const int error = comity_thread_launch(t);
    if (error != 0) comity_thread_discard(t);
    return error;
}
}
