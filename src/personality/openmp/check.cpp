#include "personality/openmp/check.hpp"
#include "personality/openmp/environment.hpp"

#include <cstdarg>
#include <cstdlib>
#include <new>
#include <strings.h>

#include "personality/openmp/lock.hpp"
#include "personality/openmp/nest_lock.hpp"
#include "personality/openmp/thread.hpp"
#include "personality/openmp/work_share.hpp"
#include "sys/kernel_thread.hpp"
#include "sys/loaded_objects.hpp"
#include "sys/message.hpp"
#include "sys/options.hpp"

namespace comity::openmp::check {

bool on = false;

// What a rank is in, and the barriers that it came to: kept for its thread from its first region on.
struct nesting {
    struct entry {
        construct kind;
        const task *in; // the task whose region it is
        const void *what, *caller;
    };
    static constexpr unsigned most = 64; // further in, nothing is looked at
    entry entries[most];
    unsigned depth = 0;

    // Written by the rank, and by who opens the region before that begins; read by the team's other ranks.
    std::atomic<unsigned> barriers{0}; // in this region
    std::atomic<bool> ended{false};
    static constexpr unsigned kept = 64;
    std::atomic<const void *> met[kept] = {}; // where the last barriers were
};

namespace {

nesting &nesting_of(thread *t) noexcept {
    if (!t->nesting && !(t->nesting = new (std::nothrow) nesting))
        sys::fatal("OpenMP", "no memory for COMITY_OMP_CHECK");
    return *t->nesting;
}

const char *name_of(construct kind) noexcept {
    static constexpr const char *names[] = {"a worksharing loop",       "a sections region", "a single region",
                                            "a critical region",        "an atomic region",  "an ordered region",
                                            "a master or masked region"};
    return names[static_cast<unsigned>(kind)];
}

bool shares_work(construct kind) noexcept { return kind <= construct::single; }

// "thread 1 of 3", as the program numbers them.
struct thread_name {
    char text[64];
    explicit thread_name(const thread *t) noexcept {
        const unsigned level = t->team->level;
        if (level > 1)
            sys::format_text(text, sizeof text, "thread %u of %u at level %u", t->rank, t->size, level);
        else
            sys::format_text(text, sizeof text, "thread %u of %u", t->rank, t->size);
    }
};

// The call that returns there.
struct code_name {
    char text[256];
    explicit code_name(const void *caller) noexcept {
        sys::describe_code(static_cast<const char *>(caller) - 1, text, sizeof text);
    }
};

// One line, though several threads may be wrong at once: the others are ended by the first.
[[noreturn]] void stop(const thread *t, const char *format, ...) noexcept __attribute__((format(printf, 2, 3)));
void stop(const thread *t, const char *format, ...) noexcept {
    static std::atomic<bool> said{false};
    while (said.exchange(true, std::memory_order_relaxed)) sys::yield_kernel_thread();
    char text[900];
    std::va_list values;
    va_start(values, format);
    sys::format_text_list(text, sizeof text, format, values);
    va_end(values);
    sys::fatal("COMITY_OMP_CHECK", "%s %s", thread_name(t).text, text);
}

// No region may be closely nested in these, as far as we look at it; 5.2, section 17.1.
bool may_be_in(construct outer, bool is_masked) noexcept {
    return is_masked && (outer == construct::critical || outer == construct::ordered || outer == construct::masked);
}

// Barriers, worksharing and masked regions: all that is around the caller in its region counts, and a task.
void look_around(const char *what, bool is_masked, const void *caller) noexcept {
    thread *t = current();
    const nesting &n = nesting_of(t);
    for (unsigned i = n.depth < nesting::most ? n.depth : nesting::most; i-- > 0;) {
        const nesting::entry &e = n.entries[i];
        if (e.in != t->task || may_be_in(e.kind, is_masked)) continue;
        stop(t, "comes to %s at %s, in %s that it entered at %s: that may not be nested so", what,
             code_name(caller).text, name_of(e.kind), code_name(e.caller).text);
    }
    if (t->task->parent_task())
        stop(t, "comes to %s at %s, in an explicit task: that may not be nested so", what, code_name(caller).text);
}

// Also around the regions that the caller is in: no two have such a region at the same time.
void look_for_name(const void *lock, const void *caller) noexcept {
    for (thread *t = current(); t; t = t->team->parent) {
        const nesting &n = nesting_of(t);
        for (unsigned i = n.depth < nesting::most ? n.depth : nesting::most; i-- > 0;)
            if (n.entries[i].kind == construct::critical && n.entries[i].what == lock)
                stop(self,
                     "comes to a critical region at %s, in one of the same name that %s entered at %s: it would wait "
                     "for "
                     "ever",
                     code_name(caller).text, t == self ? "it" : thread_name(t).text,
                     code_name(n.entries[i].caller).text);
    }
}

void look_for_loop(const void *caller) noexcept {
    thread *t = current();
    const nesting &n = nesting_of(t);
    if (t->team->cancelled.load(std::memory_order_relaxed)) return; // then there is no loop to be in
    const bool is_in = n.depth > 0 && n.depth <= nesting::most;
    const nesting::entry *around = is_in ? &n.entries[n.depth - 1] : nullptr;
    if (around && around->in == t->task && around->kind != construct::loop)
        stop(t,
             "comes to an ordered region at %s, in %s that it entered at %s: it may only be in a loop with the clause "
             "ordered",
             code_name(caller).text, name_of(around->kind), code_name(around->caller).text);
    if (!around || around->in != t->task || !t->share || !t->loop->ordered)
        stop(t, "comes to an ordered region at %s, which is not in a loop with the clause ordered",
             code_name(caller).text);
}

// `t` waits in a barrier that `other` has not come to, and never will. If they have come to different barriers before,
// those are where it began.
[[noreturn]] void stop_at_barrier(const thread *t, const thread *other) noexcept {
    const nesting &mine = *t->nesting, &its = *other->nesting;
    const unsigned wanted = mine.barriers.load(std::memory_order_relaxed),
                   had = its.barriers.load(std::memory_order_relaxed);
    const auto met = [](const nesting &n, unsigned number) {
        return n.met[number % nesting::kept].load(std::memory_order_relaxed);
    };
    unsigned first = wanted > nesting::kept ? wanted - nesting::kept + 1 : 1;
    while (first <= had && met(mine, first) == met(its, first)) ++first;
    const code_name here(met(mine, wanted));
    if (first > had)
        stop(t, "waits at the barrier at %s, to which %s does not come: its part of the region is over", here.text,
             thread_name(other).text);
    stop(t,
         "waits at the barrier at %s, to which %s does not come: its part of the region is over; before, it was at the "
         "barrier at %s when the other was at %s",
         here.text, thread_name(other).text, code_name(met(mine, first)).text, code_name(met(its, first)).text);
}

} // namespace

bool is_wanted() noexcept {
    bool wanted = sys::get_options().omp_check;
    const char *text = look_up("KMP_CONSISTENCY_CHECK");
    if (!text) return wanted;
    if (!::strcasecmp(text, "all"))
        wanted = true;
    else if (::strcasecmp(text, "none") != 0)
        sys::warn("KMP_CONSISTENCY_CHECK=\"%s\": not all or none; using %s", text, wanted ? "all" : "none");
    return wanted;
}

void may_enter(construct kind, const void *what, const void *caller) noexcept {
    if (kind == construct::critical) return look_for_name(what, caller);
    if (kind == construct::ordered) return look_for_loop(caller);
    if (kind != construct::atomic) look_around(name_of(kind), !shares_work(kind), caller);
}

void entered(construct kind, const void *what, const void *caller) noexcept {
    thread *t = current();
    nesting &n = nesting_of(t);
    if (n.depth < nesting::most) n.entries[n.depth] = {kind, t->task, what, caller};
    ++n.depth;
}

// The innermost of the kind; loops and sections are one, as their ends need not say which they are.
void left(construct kind) noexcept {
    thread *t = current();
    nesting &n = nesting_of(t);
    if (n.depth > nesting::most) {
        --n.depth;
        return;
    }
    const auto is_it = [=](construct k) {
        return k == kind || (kind <= construct::sections && k <= construct::sections);
    };
    for (unsigned i = n.depth; i-- > 0 && n.entries[i].in == t->task;) {
        if (!is_it(n.entries[i].kind)) continue;
        for (--n.depth; i < n.depth; ++i) n.entries[i] = n.entries[i + 1];
        return;
    }
}

void has_chunk(bool section, const void *caller) noexcept {
    thread *t = current();
    const nesting &n = nesting_of(t);
    if (n.depth == 0 || n.entries[n.depth - 1].in != t->task)
        entered(section ? construct::sections : construct::loop, nullptr, caller);
}

void left_by_cancel(bool region) noexcept {
    if (region)
        nesting_of(current()).depth = 0;
    else
        left(construct::loop);
}

void at_barrier(const void *caller) noexcept {
    look_around("a barrier", false, caller);
    thread *t = self;
    team *tm = t->team;
    if (tm->size == 1) return;
    nesting &n = nesting_of(t);
    const unsigned number = n.barriers.load(std::memory_order_relaxed) + 1;
    n.met[number % nesting::kept].store(caller, std::memory_order_relaxed);
    // Either this rank sees that another's part is over, or that one sees this barrier: seq_cst[check-barrier].
    n.barriers.store(number, std::memory_order_seq_cst);
    for (unsigned i = 0; i < tm->size; ++i) {
        const nesting &other = *tm->threads[i]->nesting;
        if (other.ended.load(std::memory_order_seq_cst) && // seq_cst[check-barrier]
            other.barriers.load(std::memory_order_relaxed) < number && !tm->cancelled.load(std::memory_order_relaxed))
            stop_at_barrier(t, tm->threads[i]);
    }
}

void region_begins(team *tm) noexcept {
    for (unsigned i = 0; i < tm->size; ++i) {
        nesting &n = nesting_of(tm->threads[i]);
        n.depth = 0;
        n.barriers.store(0, std::memory_order_relaxed); // starting the ranks publishes it
        n.ended.store(false, std::memory_order_relaxed);
    }
}

void rank_ends(thread *t) noexcept {
    team *tm = t->team;
    if (t->size == 1 || tm->cancelled.load(std::memory_order_relaxed)) return;
    nesting &n = nesting_of(t);
    n.ended.store(true, std::memory_order_seq_cst); // seq_cst[check-barrier]
    const unsigned mine = n.barriers.load(std::memory_order_relaxed);
    for (unsigned i = 0; i < tm->size; ++i)
        if (tm->threads[i]->nesting->barriers.load(std::memory_order_seq_cst) > mine && // seq_cst[check-barrier]
            !tm->cancelled.load(std::memory_order_relaxed))
            stop_at_barrier(tm->threads[i], t);
}

void free_nesting(thread *t) noexcept { delete t->nesting; }

// Rank 0 of a region is the thread that opened it.
std::uint32_t owner() noexcept {
    const thread *t = current();
    while (t->rank == 0 && t->team->parent) t = t->team->parent;
    return (t->number + 1) & 0x3fffffff;
}

void may_set(const word_lock &l, const void *caller) noexcept {
    if (l.is_taken() && l.holder() == owner())
        stop(self, "sets a lock at %s that it has set already: it would wait for ever", code_name(caller).text);
}

void may_unset(const word_lock &l, const void *caller) noexcept {
    if (!l.is_taken()) stop(current(), "unsets a lock at %s that is not set", code_name(caller).text);
    if (l.holder() != owner())
        stop(current(), "unsets a lock at %s that another thread has set", code_name(caller).text);
}

void may_set(const nest_lock &l, const void *caller) noexcept {
    if (!l.is_mine() && l.word().is_taken() && l.word().holder() == owner())
        stop(self, "sets a nested lock at %s that another task of its has set: it would wait for ever",
             code_name(caller).text);
}

void may_unset(const nest_lock &l, const void *caller) noexcept {
    if (!l.word().is_taken()) stop(current(), "unsets a nested lock at %s that is not set", code_name(caller).text);
    if (l.word().holder() != owner())
        stop(current(), "unsets a nested lock at %s that another thread has set", code_name(caller).text);
}

void may_destroy(const word_lock &l, const char *call, const void *caller) noexcept {
    if (l.is_taken()) stop(current(), "calls %s at %s for a lock that is set", call, code_name(caller).text);
}

} // namespace comity::openmp::check
