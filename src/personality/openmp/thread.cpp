#include "personality/openmp/thread.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>

#include "comity/core.h"
#include "personality/openmp/binding.hpp"
#include "personality/openmp/check.hpp"
#include "personality/openmp/environment.hpp"
#include "personality/openmp/league.hpp"
#include "personality/openmp/ompt/hooks.hpp"
#include "personality/openmp/task.hpp"
#include "personality/openmp/work_share.hpp"
#include "sys/kernel_thread.hpp"
#include "sys/message.hpp"

namespace comity::openmp {
namespace {

// One allocation for a kernel thread that uses OpenMP on its own account.
struct root {
    openmp::team team;
    openmp::thread thread;
    openmp::thread *threads[1];
};

template <class T> T *make(std::size_t count, const char *what) noexcept {
    void *memory = nullptr;
    if (::posix_memalign(&memory, alignof(T) < 64 ? 64 : alignof(T), count * sizeof(T)))
        sys::fatal(what, "no memory for %zu bytes", count * sizeof(T));
    T *made = static_cast<T *>(memory);
    for (std::size_t i = 0; i < count; ++i) new (made + i) T;
    return made;
}

team nobodys_team;

// Is the root in a region or a league? Then this is an exit of the process from within, and other ranks go on.
bool runs_region(const thread *root) noexcept { return self != root || root->teams > 1; }

// Frees an initial thread's data when its kernel thread ends. The same destructor runs at an exit of the process: the
// first thread's data stay, since a handler of a signal may have called exit in the midst of opening a region.
struct leave_root {
    thread *made = nullptr;
    ~leave_root() {
        if (!made || runs_region(made)) return;
        ompt::root_ends(made);
        self = &nobody;
        if (sys::kernel_thread_id() != sys::process_id()) free_root(made);
    }
};
thread_local leave_root leaver;

std::atomic<unsigned> threads_made{0};

void enter_team(thread *t, team *tm, unsigned rank) noexcept {
    if (t != &nobody) t->number = threads_made.fetch_add(1, std::memory_order_relaxed);
    t->team = tm;
    t->rank = rank;
    t->task = &t->implicit;
    t->implicit.icv = &tm->icv;
    t->implicit.team = tm;
    t->implicit.runner.store(t, std::memory_order_relaxed);
}

} // namespace

thread nobody;
__thread thread *self __attribute__((tls_model("initial-exec"))) = &nobody;

namespace {
// Before any code that could use them: libraries that need this one are initialised later.
[[maybe_unused]] const bool nobody_is_begun = [] {
    enter_team(&nobody, &nobodys_team, 0);
    nobody.implicit.icv = &process.initial;
    return true;
}();
} // namespace

unsigned threads_known() noexcept { return threads_made.load(std::memory_order_relaxed); }

thread *new_root() noexcept {
    root *r = make<root>(1, "OpenMP");
    enter_team(&r->thread, &r->team, 0);
    r->team.icv = process.initial;
    r->team.threads = r->threads;
    r->team.capacity = 1;
    r->threads[0] = &r->thread;
    return &r->thread;
}

namespace {

// A team as made by child_team, with all that hangs on it.
void free_team(team *t) noexcept {
    for (unsigned i = 0; i < t->capacity; ++i) {
        if (t->threads[i]->child) free_team(t->threads[i]->child);
        free_dependences(nullptr, &t->threads[i]->implicit);
    }
    for (unsigned i = 0; i < t->capacity; ++i) {
        std::free(t->threads[i]->tool);
        check::free_nesting(t->threads[i]);
        std::free(t->threads[i]->call);
        std::destroy_at(&t->threads[i]->tasks);
    }
    std::free(t->tool);
    std::destroy_at(&t->tasks);
    for (unsigned i = 0; i < t->chunks; ++i) std::free(t->chunk[i]);
    std::free(t->threads);
    free_placements(t);
    free_ring(t);
    std::free(t);
}

} // namespace

void free_root(thread *t) noexcept {
    await_visitors(t->team); // who fulfilled the event of a detached task of the root's may still be on his way out
    free_league(t->team->own_league);
    free_placements(t->team);
    if (t->child) free_team(t->child);
    free_dependences(nullptr, &t->implicit);
    free_ring(t->team);
    std::destroy_at(&t->tasks);
    std::destroy_at(&t->team->tasks);
    std::free(t->tool);
    check::free_nesting(t);
    std::free(t->call);
    std::free(t->team->tool);
    std::free(t->team); // the first member of its root
}

thread *make_root() noexcept {
    refresh_environment();
    thread *made = self = leaver.made = new_root();
    ompt::root_begins(made);
    return made;
}

icvs &own_icv() noexcept {
    thread *t = current();
    task *mine = t->task;
    if (mine->icv != &mine->own) {
        t->changed = true; // or a task of it: then for nothing
        mine->own = *mine->icv;
        mine->icv = &mine->own;
    }
    return mine->own;
}

team *child_team(thread *parent, unsigned size) noexcept {
    team *t = parent->child;
    if (!t) {
        static std::atomic<std::uint64_t> made{0};
        t = make<team>(1, "OpenMP");
        t->id = made.fetch_add(1, std::memory_order_relaxed) + 1;
        t->parent = parent;
        t->level = parent->team->level + 1;
        parent->child = t;
    }
    if (t->capacity >= size) return t;
    // At least by doubling, so that there are few chunks.
    const unsigned wanted = std::max(size, std::min(2 * t->capacity, most_ranks)) - t->capacity;
    auto **threads = static_cast<thread **>(std::realloc(t->threads, (t->capacity + wanted) * sizeof(thread *)));
    if (!threads) sys::fatal("OpenMP", "no memory for a team of %u ranks", size);
    t->threads = threads;
    thread *chunk = make<thread>(wanted, "OpenMP");
    t->chunk[t->chunks++] = chunk;
    for (unsigned i = 0; i < wanted; ++i) {
        enter_team(chunk + i, t, t->capacity + i);
        threads[t->capacity + i] = chunk + i;
    }
    t->capacity += wanted;
    return t;
}

unsigned hart_count() noexcept {
    static std::atomic<unsigned> known{0};
    unsigned harts = known.load(std::memory_order_relaxed);
    if (!harts) {
        harts = static_cast<unsigned>(comity_hart_count());
        known.store(harts, std::memory_order_relaxed);
    }
    return harts;
}

} // namespace comity::openmp
