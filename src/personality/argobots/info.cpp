// The functions ABT_info_*.
#include "personality/argobots/info.hpp"

#include "core/base.hpp"
#include "personality/argobots/attributes.hpp"
#include "personality/argobots/check.hpp"
#include "personality/argobots/dump.hpp"
#include "personality/argobots/pools.hpp"
#include "personality/argobots/registry.hpp"
#include "personality/argobots/stacks.hpp"
#include "personality/argobots/work.hpp"

#include <cinttypes>

using namespace comity::abt;

namespace {

const char *name_of(unit_kind kind) {
    switch (kind) {
    case unit_kind::ult:
        return "ULT";
    case unit_kind::tasklet:
        return "tasklet";
    case unit_kind::main_ult:
        return "primary ULT";
    case unit_kind::main_scheduler:
        return "main scheduler";
    }
    return "?";
}

const char *name_of_state(int state) {
    constexpr const char *names[] = {"READY", "RUNNING", "BLOCKED", "TERMINATED"};
    return state >= 0 && state < 4 ? names[state] : "?";
}

const char *name_of(pool_kind kind) {
    constexpr const char *names[] = {"FIFO", "FIFO_WAIT", "RANDWS", "user-defined", "user-defined (ABT_pool_def)"};
    return names[static_cast<int>(kind)];
}

void print(std::FILE *fp, const pool *p, int indent) {
    std::fprintf(fp, "%*spool %d (%p): %s, access %d, %s, schedulers %d, blocked %d\n", indent, "", p->id,
                 static_cast<const void *>(p), name_of(p->kind), static_cast<int>(p->access),
                 p->automatic ? "automatic" : "not automatic", p->schedulers.load(std::memory_order_relaxed),
                 p->blocked.load(std::memory_order_relaxed));
    std::size_t size = 0;
    if (size_of(const_cast<pool *>(p), size)) std::fprintf(fp, "%*ssize %zu\n", indent + 2, "", size);
}

void print(std::FILE *fp, const scheduler *d, int indent) {
    std::fprintf(fp, "%*sscheduler (%p): %s, %s, %d pools, event frequency %u\n", indent, "",
                 static_cast<const void *>(d), d->predefined ? d->random ? "RANDWS" : "predefined" : "user-defined",
                 d->automatic ? "automatic" : "not automatic", d->num_pools, d->frequency);
    for (int i = 0; i < d->num_pools; ++i) print(fp, d->pools[i], indent + 2);
}

void print(std::FILE *fp, const stream *s, bool with_scheduler) {
    std::fprintf(fp, "execution stream %d (%p): %s, %s\n", s->rank, static_cast<const void *>(s),
                 s->primary ? "primary" : "secondary",
                 s->state.load(std::memory_order_relaxed) == ABT_XSTREAM_STATE_RUNNING ? "RUNNING" : "TERMINATED");
    if (with_scheduler) print(fp, s->main, 2);
}

void print(std::FILE *fp, thread *t) {
    std::fprintf(fp, "work unit %" PRIu64 " (%p): %s, %s, %s, %s\n", id_of(t), static_cast<void *>(t), name_of(t->kind),
                 name_of_state(t->state.load(std::memory_order_relaxed)), t->named ? "named" : "unnamed",
                 t->migratable.load(std::memory_order_relaxed) ? "migratable" : "not migratable");
    std::fprintf(fp, "  last execution stream %d, pool %d, stack size %zu, argument %p\n", t->on ? t->on->rank : -1,
                 t->home ? t->home->id : -1, t->stack_size, t->arg);
}

struct answer {
    ABT_info_query_kind kind;
    enum : char { boolean, whole, unsigned_whole, size, wide } type;
    std::uint64_t value;
};

// What does not depend on the environment.
constexpr answer answers[] = {
    {ABT_INFO_QUERY_KIND_ENABLED_DEBUG, answer::boolean, 0},
    {ABT_INFO_QUERY_KIND_ENABLED_PRINT_ERRNO, answer::boolean, 0},
    {ABT_INFO_QUERY_KIND_ENABLED_LOG, answer::boolean, 0},
    {ABT_INFO_QUERY_KIND_ENABLED_VALGRIND, answer::boolean, 0},
    {ABT_INFO_QUERY_KIND_ENABLED_CHECK_ERROR, answer::boolean, 1},
    {ABT_INFO_QUERY_KIND_ENABLED_CHECK_POOL_PRODUCER, answer::boolean, 0},
    {ABT_INFO_QUERY_KIND_ENABLED_CHECK_POOL_CONSUMER, answer::boolean, 0},
    {ABT_INFO_QUERY_KIND_ENABLED_PRESERVE_FPU, answer::boolean, 1},
    {ABT_INFO_QUERY_KIND_ENABLED_THREAD_CANCEL, answer::boolean, 1},
    {ABT_INFO_QUERY_KIND_ENABLED_TASK_CANCEL, answer::boolean, 1},
    {ABT_INFO_QUERY_KIND_ENABLED_MIGRATION, answer::boolean, 1},
    {ABT_INFO_QUERY_KIND_ENABLED_STACKABLE_SCHED, answer::boolean, 1},
    {ABT_INFO_QUERY_KIND_ENABLED_EXTERNAL_THREAD, answer::boolean, 1},
    {ABT_INFO_QUERY_KIND_ENABLED_SCHED_SLEEP, answer::boolean, 1},
    {ABT_INFO_QUERY_KIND_ENABLED_AFFINITY, answer::boolean, 1},
    {ABT_INFO_QUERY_KIND_ENABLED_TOOL, answer::boolean, 0},
    {ABT_INFO_QUERY_KIND_FCONTEXT, answer::boolean, 1},
    {ABT_INFO_QUERY_KIND_DYNAMIC_PROMOTION, answer::boolean, 0},
    {ABT_INFO_QUERY_KIND_ENABLED_STACK_UNWIND, answer::boolean, 0},
    {ABT_INFO_QUERY_KIND_ENABLED_STACK_OVERFLOW_CHECK, answer::whole, 2},
    {ABT_INFO_QUERY_KIND_WAIT_POLICY, answer::whole, 0},
    {ABT_INFO_QUERY_KIND_ENABLED_LAZY_STACK_ALLOC, answer::boolean, 1},
};

bool find(ABT_info_query_kind kind, answer &a) {
    const settings_t &s = settings();
    switch (kind) {
    case ABT_INFO_QUERY_KIND_ENABLED_PRINT_CONFIG:
        a = {kind, answer::boolean, s.print_config};
        return true;
    case ABT_INFO_QUERY_KIND_MAX_NUM_XSTREAMS:
        a = {kind, answer::unsigned_whole, s.max_streams};
        return true;
    case ABT_INFO_QUERY_KIND_DEFAULT_THREAD_STACKSIZE:
        a = {kind, answer::size, s.thread_stack};
        return true;
    case ABT_INFO_QUERY_KIND_DEFAULT_SCHED_STACKSIZE:
        a = {kind, answer::size, s.scheduler_stack};
        return true;
    case ABT_INFO_QUERY_KIND_DEFAULT_SCHED_EVENT_FREQ:
        a = {kind, answer::wide, s.event_frequency};
        return true;
    case ABT_INFO_QUERY_KIND_DEFAULT_SCHED_SLEEP_NSEC:
        a = {kind, answer::wide, s.sleep_ns};
        return true;
    default:
        break;
    }
    for (const answer &known : answers)
        if (known.kind == kind) {
            a = known;
            return true;
        }
    return false;
}

} // namespace

extern "C" {

int ABT_info_query_config(ABT_info_query_kind kind, void *value) {
    COMITY_CHECK_READY();
    answer a{};
    COMITY_CHECK(find(kind, a), ABT_ERR_INV_QUERY_KIND);
    switch (a.type) {
    case answer::boolean:
        *static_cast<ABT_bool *>(value) = a.value ? ABT_TRUE : ABT_FALSE;
        break;
    case answer::whole:
        *static_cast<int *>(value) = static_cast<int>(a.value);
        break;
    case answer::unsigned_whole:
        *static_cast<unsigned *>(value) = static_cast<unsigned>(a.value);
        break;
    case answer::size:
        *static_cast<std::size_t *>(value) = a.value;
        break;
    case answer::wide:
        *static_cast<std::uint64_t *>(value) = a.value;
        break;
    }
    return ABT_SUCCESS;
}

int ABT_info_print_config(FILE *fp) {
    COMITY_CHECK_READY();
    const settings_t &s = settings();
    std::fprintf(fp, "Argobots " ABT_VERSION " on Comity: %u harts\n", the_streams()->harts());
    std::fprintf(fp, "  ULT stacks %zu bytes, schedulers' %zu; event frequency %u\n", s.thread_stack, s.scheduler_stack,
                 s.event_frequency);
    std::fflush(fp);
    return ABT_SUCCESS;
}

int ABT_info_print_all_xstreams(FILE *fp) {
    COMITY_CHECK_READY();
    std::fprintf(fp, "execution streams: %d\n", count_streams());
    for_each_stream([](stream *s, void *to) { print(static_cast<std::FILE *>(to), s, false); }, fp);
    std::fflush(fp);
    return ABT_SUCCESS;
}

int ABT_info_print_xstream(FILE *fp, ABT_xstream h) {
    COMITY_CHECK(h, ABT_ERR_INV_XSTREAM);
    print(fp, of(h), true);
    return ABT_SUCCESS;
}

int ABT_info_print_sched(FILE *fp, ABT_sched h) {
    COMITY_CHECK(h, ABT_ERR_INV_SCHED);
    print(fp, of(h), 0);
    return ABT_SUCCESS;
}

int ABT_info_print_pool(FILE *fp, ABT_pool h) {
    COMITY_CHECK(h, ABT_ERR_INV_POOL);
    print(fp, of(h), 0);
    return ABT_SUCCESS;
}

int ABT_info_print_thread(FILE *fp, ABT_thread h) {
    COMITY_CHECK(h, ABT_ERR_INV_THREAD);
    print(fp, of(h));
    return ABT_SUCCESS;
}

int ABT_info_print_task(FILE *fp, ABT_task h) {
    COMITY_CHECK(h, ABT_ERR_INV_TASK);
    print(fp, of(h));
    return ABT_SUCCESS;
}

int ABT_info_print_thread_attr(FILE *fp, ABT_thread_attr h) {
    COMITY_CHECK(h, ABT_ERR_INV_THREAD_ATTR);
    const thread_options *a = of(h);
    std::fprintf(fp, "ULT attribute (%p): stack %p, %zu bytes, %s\n", static_cast<const void *>(a), a->stack_address,
                 a->stack_size, a->migratable ? "migratable" : "not migratable");
    return ABT_SUCCESS;
}

int ABT_info_print_thread_stack(FILE *fp, ABT_thread h) {
    COMITY_CHECK(h, ABT_ERR_INV_THREAD);
    print_stack(fp, of(h));
    return ABT_SUCCESS;
}

int ABT_info_print_thread_stacks_in_pool(FILE *fp, ABT_pool h) {
    COMITY_CHECK(h, ABT_ERR_INV_POOL);
    return print_stacks(fp, of(h));
}
}
