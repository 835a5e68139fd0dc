// depend: which of a task's children wait for which. Each parent has a table of the storage that its unfinished
// children depend on; a location's record leads to those tasks that a new one must wait for. All under the team's
// tasks_lock.
#include <cstdlib>
#include <new>

#include "personality/openmp/task.hpp"
#include "personality/openmp/thread.hpp"
#include "sys/message.hpp"

namespace comity::openmp {

// One dependence of one unfinished task. Those on the same location form a list, newest first: a last writer, if it has
// not finished, and the readers after it. (What came before the writer it waits for itself.)
struct dependence {
    void *location;
    openmp::task *task;
    dependence_kind kind;
    dependence *newer, *older;
    dependence *next_in_bucket; // of the newest of a list: another location's list
};

struct dependence_table {
    static constexpr unsigned buckets = 64;
    dependence *heads[buckets];
};

namespace {

dependence *&bucket_of(dependence_table *table, void *location) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(location);
    return table->heads[(address >> 3 ^ address >> 9 ^ address >> 15) % dependence_table::buckets];
}

// Where the pointer to the location's newest dependence is; *result is null if there is none.
dependence **find_list(dependence_table *table, void *location) noexcept {
    dependence **place = &bucket_of(table, location);
    while (*place && (*place)->location != location) place = &(*place)->next_in_bucket;
    return place;
}

void add_edge(task *before, task *after) noexcept {
    if (before == after || (before->successor_count && before->successors[before->successor_count - 1] == after))
        return; // it names a location twice, or shares two with the other
    if (before->successor_count == before->successor_capacity) {
        const unsigned capacity = before->successor_capacity ? 2 * before->successor_capacity : 4;
        auto **grown = static_cast<task **>(std::realloc(before->successors, capacity * sizeof(task *)));
        if (!grown) sys::fatal("GOMP_task", "no memory for a dependence");
        before->successors = grown;
        before->successor_capacity = capacity;
    }
    before->successors[before->successor_count++] = after;
    after->predecessors.fetch_add(1, std::memory_order_relaxed);
}

// Need two of the same kind not wait for each other?
bool together(dependence_kind kind) noexcept {
    return kind == dependence_kind::in || kind == dependence_kind::inoutset;
}

void add_edges(dependence *newest, dependence_kind kind, task *after) noexcept {
    for (dependence *d = newest; d; d = d->older)
        if (d->kind != kind || !together(kind)) add_edge(d->task, after);
}

// The tasks that this dependence waits for.
void add_edges(dependence_table *table, const dependence_request &r, task *after) noexcept {
    if (r.location) {
        add_edges(*find_list(table, r.location), r.kind, after);
        add_edges(*find_list(table, nullptr), r.kind, after);
        return;
    }
    for (dependence *list : table->heads)
        for (; list; list = list->next_in_bucket) add_edges(list, r.kind, after);
}

void enter(dependence_table *table, dependence *d) noexcept {
    dependence **place = find_list(table, d->location);
    dependence *newest = *place;
    d->newer = nullptr;
    d->older = newest;
    d->next_in_bucket = newest ? newest->next_in_bucket : nullptr;
    if (newest) newest->newer = d;
    *place = d;
}

void leave(dependence_table *table, dependence *d) noexcept {
    if (d->newer) {
        d->newer->older = d->older;
    } else {
        dependence **place = find_list(table, d->location);
        if (d->older) {
            d->older->next_in_bucket = d->next_in_bucket;
            *place = d->older;
        } else {
            *place = d->next_in_bucket;
        }
    }
    if (d->older) d->older->newer = d->newer;
}

dependence_table *table_of(task *parent) noexcept {
    if (!parent->table) {
        parent->table = static_cast<dependence_table *>(std::calloc(1, sizeof(dependence_table)));
        if (!parent->table) sys::fatal("GOMP_task", "no memory for dependences");
    }
    return parent->table;
}

} // namespace

void add_dependences(task *parent, task *child, dependence_list depend) noexcept {
    if (!depend.count) return;
    dependence_table *table = table_of(parent);
    child->depends = static_cast<dependence *>(std::malloc(depend.count * sizeof(dependence)));
    if (!child->depends) sys::fatal("GOMP_task", "no memory for %zu dependences", depend.count);
    for (std::size_t i = 0; i < depend.count; ++i) {
        add_edges(table, depend.first[i], child);
        dependence *d = child->depends + child->depend_count++;
        *d = {depend.first[i].location, child, depend.first[i].kind, nullptr, nullptr, nullptr};
        enter(table, d);
    }
}

void release_dependences(task *done, void (*ready)(task *)) noexcept {
    for (unsigned i = 0; i < done->depend_count; ++i) leave(done->parent->table, done->depends + i);
    std::free(done->depends);
    done->depends = nullptr;
    done->depend_count = 0;
    for (unsigned i = 0; i < done->successor_count; ++i) {
        task *next = done->successors[i];
        // Who waits for it without the lock (await_dependences) sees what the task did: acq_rel[depend-met].
        if (next->predecessors.fetch_sub(1, std::memory_order_acq_rel) != 1) continue;
        if (next->deferred)
            ready(next);
        else if (next->parent->waits)
            next->parent->changed.wake_all();
    }
    std::free(done->successors);
    done->successors = nullptr;
    done->successor_count = done->successor_capacity = 0;
}

void free_dependences(task *t) noexcept {
    std::free(t->table);
    t->table = nullptr;
}

void await_dependences(thread *t, dependence_list depend) noexcept {
    task *mine = t->task;
    team *tm = t->team;
    if (mine->unfinished_children.load(std::memory_order_acquire) == 0) // acquire[task-done]
        return;
    task stand_in; // for the edges; never in a list or a table
    stand_in.parent = mine;
    tm->tasks_lock.lock();
    if (mine->table)
        for (std::size_t i = 0; i < depend.count; ++i) add_edges(mine->table, depend.first[i], &stand_in);
    tm->tasks_lock.unlock();
    auto pending = [](void *what) {
        return static_cast<task *>(what)->predecessors.load(std::memory_order_acquire) != 0; // acquire[depend-met]
    };
    wait_for_children_while(t, pending, &stand_in);
}

} // namespace comity::openmp
