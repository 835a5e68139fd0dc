// ABT_init and ABT_finalize.
#include "comity/sync.h"
#include "core/own_code.hpp"
#include "core/runtime.hpp"
#include "personality/argobots/check.hpp"
#include "personality/argobots/info.hpp"
#include "personality/argobots/pools.hpp"
#include "personality/argobots/registry.hpp"
#include "personality/argobots/schedulers.hpp"
#include "personality/argobots/stacks.hpp"
#include "personality/argobots/work.hpp"

using namespace comity::abt;

namespace {

comity_mutex_t init_lock = COMITY_MUTEX_INIT;
unsigned depth = 0;           // under init_lock
void *local_before = nullptr; // what the main context had kept, under init_lock

// What a failed start leaves behind.
int give_up(streams *all, thread *t, scheduler *d) {
    all_streams.store(nullptr, std::memory_order_release); // release[abt-init]
    if (d) free_scheduler(d);
    delete t;
    if (all) all->close();
    return ABT_ERR_MEM;
}

int start() {
    streams *all = streams::open();
    if (!all) return ABT_ERR_MEM;
    read_settings();
    local_before = all->main_context->local;
    all->main_context->local = nullptr;
    all_streams.store(all, std::memory_order_release); // release[abt-init]
    thread *t = new_thread(nullptr);
    scheduler *d = nullptr;
    if (!t || make_scheduler(ABT_SCHED_DEFAULT, 0, nullptr, ABT_SCHED_CONFIG_NULL, d) != ABT_SUCCESS)
        return give_up(all, t, d);
    d->used.store(scheduler::use::main, std::memory_order_relaxed);
    int error = ABT_SUCCESS;
    stream *s = make_stream(d, 0, error);
    if (!s) return give_up(all, t, d);
    s->primary = true;
    all->primary = s;
    t->kind = unit_kind::main_ult;
    t->migratable.store(false, std::memory_order_relaxed);
    t->stack = all->main_context;
    t->parent = d->unit;
    t->on = s;
    t->state.store(ABT_THREAD_STATE_RUNNING, std::memory_order_relaxed);
    associate(t, d->pools[0]);
    s->current = t;
    all->main_context->local = t;
    if (settings().print_config) ABT_info_print_config(stdout);
    return ABT_SUCCESS;
}

// The main ULT: lets its stream run what is left, and ends everything.
void stop(thread *t) {
    while (stream *s = other_stream()) {
        join_stream(s);
        free_stream(s);
    }
    streams *all = the_streams();
    stream *s = all->primary;
    while (t->on != s) leave_to_parent(t, after_yield, t); // taken up by another stream, from a pool that they share
    s->requests.fetch_or(sched_finish, std::memory_order_release); // release[abt-request]
    leave_to_parent(t, nothing, nullptr);
    leave_pool(t); // while the pool is there: it may be freed with the stream
    free_stream(s);
    all->main_context->local = local_before;
    all_streams.store(nullptr, std::memory_order_release); // release[abt-init]
    destroy(t);
    all->close();
    forget_kept();
}

} // namespace

extern "C" {

int ABT_init(int, char **) {
    comity_mutex_lock(&init_lock);
    int error = ABT_SUCCESS;
    if (depth == 0) error = start();
    if (error == ABT_SUCCESS) ++depth;
    comity_mutex_unlock(&init_lock);
    return error;
}

int ABT_finalize(void) {
    comity_mutex_lock(&init_lock);
    int error = ABT_SUCCESS;
    thread *t = self();
    if (depth == 0) {
        error = ABT_ERR_UNINITIALIZED;
    } else if (depth > 1) {
        --depth;
    } else if (!t || t->kind != unit_kind::main_ult) {
        error = t ? ABT_ERR_INV_THREAD : ABT_ERR_INV_XSTREAM;
    } else {
        stop(t);
        depth = 0;
    }
    comity_mutex_unlock(&init_lock);
    return error;
}

int ABT_initialized(void) { return the_streams() ? ABT_SUCCESS : ABT_ERR_UNINITIALIZED; }
}
