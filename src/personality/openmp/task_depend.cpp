// depend: which of a task's children wait for which. Each parent has a table of the storage that its children depend
// on; only the rank that executes the parent uses it. A child's node outlives the child, for the table names it.
// README.md, "Dependences".
#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <new>

#include "core/chaos.hpp"
#include "core/sched.hpp"
#include "core/spinlock.hpp"
#include "personality/openmp/ompt/hooks.hpp"
#include "personality/openmp/task_run.hpp"
#include "sys/kernel_thread.hpp"
#include "sys/linked_list.hpp"
#include "sys/message.hpp"

namespace comity::openmp {
namespace {

struct successors {
    static constexpr unsigned most = 4;
    successors *more;
    dependence_node *after[most];
};

struct node_list {
    struct cell {
        cell *next;
        dependence_node *node;
    };
    cell *first = nullptr;
};

} // namespace

struct exclusion;

// A task with dependences, as others see it. Behind it, in the same block, stand its places in the table, one for each
// dependence: the maker of many tasks would else fill the cache with them.
struct dependence_node {
    openmp::task *task = nullptr; // null: a stand-in, for which `waiter` waits
    // How many refer to it: the task, each place in a table, each edge to it; and how many edges to it have not been
    // met. While its maker enters it he counts for himself (`places_held`, `edges`), and these are so many more.
    static constexpr unsigned entering = 1U << 30;
    std::atomic<unsigned> references{entering}, predecessors{entering};
    unsigned places_held = 0, edges = 0; // the maker's
    core::spinlock lock;
    std::atomic<bool> done{false};               // written under lock
    bool ended = false;                          // to the tool; under lock
    bool is_entered = false;                     // the maker's
    std::uint8_t told = 0;                       // how many tell a tool of it at the moment; under lock
    std::uint8_t near : 4 = 0, in_first : 4 = 0; // how many of `after`, and of first->after, are filled; under lock
    std::uint8_t room = 0, placed = 0;           // places behind it, and how many are used; the maker's
    successors *first = nullptr;                 // further ones; under lock
    union {
        exclusion **exclusions = nullptr; // mutexinoutset
        thread *waiter;
    };
    dependence_node *after[2] = {}; // those that wait for it; under lock

    node_list::cell *places() noexcept { return reinterpret_cast<node_list::cell *>(this + 1); }
};
static_assert(sizeof(dependence_node) == 64);

// A location's tasks that exclude each other. Under the table's lock.
struct exclusion {
    bool taken = false;
    sys::linked_list<task> waiting; // only while it is taken
};

namespace {

// A location: what a new dependence on it has to wait for. `last` is the set of tasks since then that may run at the
// same time; those of another kind wait for `last`, those of its kind for `before`.
struct entry {
    void *location;
    entry *next; // in the bucket
    node_list before, last;
    dependence_kind kind = dependence_kind::out; // of `last`
    unsigned count = 0, sweep_at = 64;           // of `last`
    exclusion *mutex = nullptr;
    dependence_node *newest = nullptr; // a hint: it may be gone
};

constexpr std::size_t most_places = 3; // in a block; further ones have their own
constexpr unsigned node_kind = block_pool::kind_for(sizeof(dependence_node) + most_places * sizeof(node_list::cell));
static_assert(node_kind < block_pool::kind_for(sizeof(task))); // blocks of tasks stay blocks of tasks
constexpr unsigned cell_kind = block_pool::kind_for(sizeof(node_list::cell));
constexpr unsigned successors_kind = block_pool::kind_for(sizeof(successors));
constexpr unsigned entry_kind = block_pool::kind_for(sizeof(entry));

void give_back(thread *t, void *memory) noexcept {
    if (t)
        t->tasks.memory.free(memory);
    else
        block_pool::send_home(memory);
}

dependence_node *make_node(thread *t, std::size_t dependences) noexcept {
    auto *node = new (t->tasks.memory.allocate(node_kind)) dependence_node;
    node->room = static_cast<std::uint8_t>(std::min(dependences, most_places));
    return node;
}

void drop(thread *t, dependence_node *node) noexcept {
    if (node->references.fetch_sub(1, std::memory_order_acq_rel) == 1) give_back(t, node); // acq_rel[depend-node]
}

// A place in a table that is in it no more.
void drop_place(thread *t, node_list::cell *c) noexcept {
    dependence_node *node = c->node;
    if (c < node->places() || c >= node->places() + node->room) give_back(t, c);
    drop(t, node);
}

void clear(thread *t, node_list &list) noexcept {
    while (node_list::cell *c = list.first) {
        list.first = c->next;
        drop_place(t, c);
    }
}

void add(thread *t, node_list &list, dependence_node *node) noexcept {
    if (node->is_entered)
        node->references.fetch_add(1, std::memory_order_relaxed);
    else
        ++node->places_held;
    void *place = node->placed < node->room ? node->places() + node->placed++ : t->tasks.memory.allocate(cell_kind);
    list.first = new (place) node_list::cell{list.first, node};
}

bool is_done(const dependence_node *node) noexcept {
    return node->done.load(std::memory_order_acquire); // acquire[depend-done]
}

// Takes those that are done out; returns how many are left.
unsigned sweep(thread *t, node_list &list) noexcept {
    unsigned left = 0;
    for (node_list::cell **at = &list.first; *at;) {
        node_list::cell *c = *at;
        if (is_done(c->node)) {
            *at = c->next;
            drop_place(t, c);
        } else {
            at = &c->next;
            ++left;
        }
    }
    return left;
}

// Not under the lock, for the tool may take its time; the earlier task does not end for the tool meanwhile
// (end_to_tool).
[[gnu::noinline]] void tell_edge(dependence_node *before, dependence_node *after) noexcept {
    if (ompt::on()) ompt::task_waits_for(before->task, after->task);
    before->lock.lock();
    --before->told;
    before->lock.unlock();
}

// Under the node's lock.
dependence_node *&place_for_successor(thread *t, dependence_node *node) noexcept {
    if (node->near < std::size(node->after)) return node->after[node->near++];
    if (!node->first || node->in_first == successors::most) {
        node->first = new (t->tasks.memory.allocate(successors_kind)) successors{node->first, {}};
        node->in_first = 0;
    }
    return node->first->after[node->in_first++];
}

// `after` waits for `before`, if that is not done.
void add_edge(thread *t, dependence_node *before, dependence_node *after) noexcept {
    if (before == after || is_done(before)) return; // it names a location twice
    before->lock.lock();
    const bool waits = !before->done.load(std::memory_order_relaxed);
    const bool tells = waits && ompt::task_room && !before->ended;
    if (tells) ++before->told;
    if (waits) {
        place_for_successor(t, before) = after;
        ++after->edges;
    }
    before->lock.unlock();
    if (tells) [[unlikely]]
        tell_edge(before, after);
}

// Its maker is done with it. True: there is nothing left to wait for.
bool is_met_when_entered(dependence_node *node) noexcept {
    constexpr unsigned entering = dependence_node::entering;
    node->is_entered = true;
    const unsigned held = 1 + node->places_held, edges = node->edges;
    // Places that it has left again meanwhile, since it names a location twice, are subtracted already.
    node->references.fetch_sub(entering - held - edges, std::memory_order_relaxed);
    if (edges == 0) { // nobody else knows it
        node->predecessors.store(0, std::memory_order_relaxed);
        return true;
    }
    // acq_rel[depend-met]
    return node->predecessors.fetch_sub(entering - edges, std::memory_order_acq_rel) == entering - edges;
}

void add_edges(thread *t, const node_list &before, dependence_node *after) noexcept {
    for (const node_list::cell *c = before.first; c; c = c->next) add_edge(t, c->node, after);
}

} // namespace

struct dependence_table {
    unsigned buckets = 0, entries = 0;
    entry **heads = nullptr;
    node_list all;       // the last depend on omp_all_memory: stands before all in locations that have no entry
    core::spinlock lock; // of the exclusions
};

namespace {

entry *&bucket_of(dependence_table *table, const void *location) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(location);
    return table->heads[(address >> 3 ^ address >> 9 ^ address >> 15) & (table->buckets - 1)];
}

template <class F> void each_entry(dependence_table *table, F f) noexcept {
    for (unsigned i = 0; i < table->buckets; ++i)
        for (entry *e = table->heads[i], *next; e; e = next) {
            next = e->next; // f may free it
            f(e);
        }
}

void free_entry(thread *t, entry *e) noexcept {
    clear(t, e->before);
    clear(t, e->last);
    if (e->mutex) give_back(t, e->mutex);
    give_back(t, e);
}

// Makes room for twice as many entries as there are when those that say nothing any more are gone.
void resize(thread *t, dependence_table *table) noexcept {
    entry *kept = nullptr;
    unsigned count = 0;
    sweep(t, table->all);
    each_entry(table, [&](entry *e) {
        const unsigned last = sweep(t, e->last), before = sweep(t, e->before);
        if (last + before == 0 && !e->mutex && !table->all.first) return free_entry(t, e);
        e->count = last;
        e->next = kept;
        kept = e;
        ++count;
    });
    std::free(table->heads);
    table->entries = count;
    table->buckets = 64;
    while (table->buckets < 2 * count) table->buckets *= 2;
    table->heads = static_cast<entry **>(std::calloc(table->buckets, sizeof(entry *)));
    if (!table->heads) sys::fatal("OpenMP", "no memory for %u dependences", count);
    while (entry *e = kept) {
        kept = e->next;
        entry *&head = bucket_of(table, e->location);
        e->next = head;
        head = e;
    }
}

dependence_table *table_of(thread *t, task *parent) noexcept {
    if (!parent->table) {
        parent->table = new (std::nothrow) dependence_table;
        if (!parent->table) sys::fatal("OpenMP", "no memory for dependences");
        resize(t, parent->table);
    }
    return parent->table;
}

entry *find_entry(dependence_table *table, void *location) noexcept {
    entry *e = bucket_of(table, location);
    while (e && e->location != location) e = e->next;
    return e;
}

entry *entry_of(thread *t, dependence_table *table, void *location) noexcept {
    if (entry *e = find_entry(table, location)) return e;
    if (table->entries == table->buckets) resize(t, table);
    entry *&head = bucket_of(table, location);
    entry *e = head = new (t->tasks.memory.allocate(entry_kind)) entry{location, head, {}, {}};
    ++table->entries;
    for (const node_list::cell *c = table->all.first; c; c = c->next) add(t, e->last, c->node);
    return e;
}

// May those of one kind run at the same time? (mutexinoutset: one after the other, but in any order.)
bool is_set(dependence_kind kind) noexcept { return kind != dependence_kind::out; }

// What a dependence of this kind waits for.
void wait_in(thread *t, const entry &e, dependence_kind kind, dependence_node *node) noexcept {
    add_edges(t, is_set(kind) && e.kind == kind ? e.before : e.last, node);
}

void enter(thread *t, entry &e, dependence_kind kind, dependence_node *node) noexcept {
    if (!is_set(kind) || e.kind != kind) {
        clear(t, e.before);
        if (is_set(kind)) {
            e.before = e.last;
            e.last.first = nullptr;
        } else {
            // It may stand in the set itself: then it is the set's end all the same.
            clear(t, e.last);
        }
        e.kind = kind;
        e.count = 0;
    }
    if (e.count == e.sweep_at) {
        e.count = sweep(t, e.last);
        e.sweep_at = e.count < 32 ? 64 : 2 * e.count;
    }
    add(t, e.last, node);
    e.newest = node;
    ++e.count;
}

void wait_for_all(thread *t, dependence_table *table, dependence_node *node) noexcept {
    each_entry(table, [=](entry *e) {
        add_edges(t, e->before, node);
        add_edges(t, e->last, node);
    });
    add_edges(t, table->all, node);
}

void enter_for_all(thread *t, dependence_table *table, dependence_node *node) noexcept {
    each_entry(table, [=](entry *e) { enter(t, *e, dependence_kind::out, node); });
    clear(t, table->all);
    add(t, table->all, node);
}

// ---- mutexinoutset

exclusion *exclusion_of(thread *t, entry &e) noexcept {
    if (!e.mutex) e.mutex = new (t->tasks.memory.allocate(0)) exclusion;
    return e.mutex;
}

void collect_exclusions(thread *t, dependence_table *table, dependence_node *node, dependence_list depend) noexcept {
    std::size_t count = 0;
    for (std::size_t i = 0; i < depend.count; ++i)
        count += depend.first[i].kind == dependence_kind::mutexinoutset && depend.first[i].location;
    if (!count) return;
    node->exclusions = static_cast<exclusion **>(std::malloc((count + 1) * sizeof(exclusion *)));
    if (!node->exclusions) sys::fatal("OpenMP", "no memory for %zu dependences", count);
    exclusion **end = node->exclusions;
    for (std::size_t i = 0; i < depend.count; ++i) {
        if (depend.first[i].kind != dependence_kind::mutexinoutset || !depend.first[i].location) continue;
        exclusion *x = exclusion_of(t, *entry_of(t, table, depend.first[i].location));
        bool twice = false;
        for (exclusion **before = node->exclusions; before != end; ++before) twice |= *before == x;
        if (!twice) *end++ = x;
    }
    *end = nullptr;
}

// Under the table's lock. True: the task has all that it excludes others from. False: it stands in line at one that is
// taken, and whoever gives that back comes to it.
bool take_or_line_up(task *what) noexcept {
    for (exclusion **x = what->node->exclusions; *x; ++x) {
        if (!(*x)->taken) continue;
        (*x)->waiting.push_back(what);
        return false;
    }
    for (exclusion **x = what->node->exclusions; *x; ++x) (*x)->taken = true;
    return true;
}

bool take_exclusions(dependence_table *table, task *what) noexcept {
    table->lock.lock();
    const bool taken = take_or_line_up(what);
    table->lock.unlock();
    return taken;
}

using ready_function = void (*)(thread *, task *);

// Who has the first one in line go on leaves the others there: they wait for that one now.
void give_exclusions_back(thread *t, task *what, ready_function ready) noexcept {
    dependence_table *table = what->parent_task()->table;
    sys::linked_list<task> go_on;
    table->lock.lock();
    for (exclusion **x = what->node->exclusions; *x; ++x) (*x)->taken = false;
    for (exclusion **x = what->node->exclusions; *x; ++x)
        while (!(*x)->taken) {
            task *w = (*x)->waiting.pop_front();
            if (!w) break;
            if (take_or_line_up(w)) go_on.push_back(w);
        }
    table->lock.unlock();
    while (task *w = go_on.pop_front()) ready(t, w);
    std::free(what->node->exclusions);
    what->node->exclusions = nullptr;
}

// One less to wait for; the caller holds a reference to the node.
void meet(thread *t, dependence_node *node, ready_function ready) noexcept {
    task *what = node->task;
    thread *waiter = what ? nullptr : node->waiter;
    core::chaos_point();
    if (node->predecessors.fetch_sub(1, std::memory_order_acq_rel) != 1) return; // acq_rel[depend-met]
    if (waiter) {
        waiter->tasks.changed.wake_all();
    } else if (!node->exclusions || take_exclusions(what->parent_task()->table, what)) {
        ready(t, what);
    }
}

// One that waited for a task that is done.
void let_go(thread *t, dependence_node *node, ready_function ready) noexcept {
    meet(t, node, ready);
    drop(t, node);
}

} // namespace

void expect_dependences(const task *parent, dependence_list depend) noexcept {
    if (!parent->table) return;
    for (std::size_t i = 0; i < depend.count; ++i)
        if (const entry *e = find_entry(parent->table, depend.first[i].location)) {
            const char *node = reinterpret_cast<const char *>(e->newest);
            __builtin_prefetch(node, 1);
            __builtin_prefetch(node + 64);
        }
}

bool add_dependences(thread *t, task *parent, task *child, dependence_list depend) noexcept {
    dependence_table *table = table_of(t, parent);
    dependence_node *const node = make_node(t, depend.count);
    node->task = child;
    child->node = node;
    child->set(extra_depends);
    for (std::size_t i = 0; i < depend.count; ++i) {
        const dependence_request &r = depend.first[i];
        if (r.location) {
            entry *e = entry_of(t, table, r.location);
            wait_in(t, *e, r.kind, node);
            enter(t, *e, r.kind, node);
        } else {
            wait_for_all(t, table, node);
            enter_for_all(t, table, node);
        }
    }
    collect_exclusions(t, table, node, depend);
    if (!is_met_when_entered(node)) return false;
    return !node->exclusions || take_exclusions(table, child);
}

void end_to_tool(task *what) noexcept {
    dependence_node *node = what->node;
    if (!node) return;
    node->lock.lock();
    node->ended = true;
    while (node->told) {
        node->lock.unlock();
        if (!core::let_others_run()) sys::yield_kernel_thread();
        node->lock.lock();
    }
    node->lock.unlock();
}

void release_dependences(thread *t, task *done, ready_function ready) noexcept {
    dependence_node *node = done->node;
    if (node->exclusions) give_exclusions_back(t, done, ready);
    node->lock.lock();
    node->done.store(true, std::memory_order_release); // release[depend-done]
    node->lock.unlock();                               // from here on nobody adds to those that wait
    for (unsigned i = 0; i < node->near; ++i) let_go(t, node->after[i], ready);
    successors *list = node->first;
    unsigned filled = node->in_first;
    while (list) {
        for (unsigned i = 0; i < filled; ++i) let_go(t, list->after[i], ready);
        successors *more = list->more;
        give_back(t, list);
        list = more;
        filled = successors::most;
    }
    done->node = nullptr;
    drop(t, node);
}

void free_dependences(thread *t, task *parent) noexcept {
    dependence_table *table = parent->table;
    if (!table) return;
    each_entry(table, [=](entry *e) { free_entry(t, e); });
    clear(t, table->all);
    std::free(table->heads);
    delete table;
    parent->table = nullptr;
}

void await_dependences(thread *t, dependence_list depend) noexcept {
    task *mine = t->task;
    if (!depend.count || !mine->table || mine->children.left(mine->mine) == 0) return;
    dependence_node *const node = make_node(t, 0); // in no table
    node->waiter = t;
    for (std::size_t i = 0; i < depend.count; ++i) {
        const dependence_request &r = depend.first[i];
        if (!r.location) {
            wait_for_all(t, mine->table, node);
        } else if (const entry *e = find_entry(mine->table, r.location)) {
            const bool mutex = r.kind == dependence_kind::mutexinoutset;
            wait_in(t, *e, mutex ? dependence_kind::out : r.kind, node);
            if (mutex) add_edges(t, e->before, node);
        } else {
            add_edges(t, mine->table->all, node);
        }
    }
    (void)is_met_when_entered(node);
    auto pending = [](void *what) {
        // acquire[depend-met]
        return static_cast<dependence_node *>(what)->predecessors.load(std::memory_order_acquire) != 0;
    };
    wait_for_children_while(t, pending, node);
    drop(t, node);
}

} // namespace comity::openmp
