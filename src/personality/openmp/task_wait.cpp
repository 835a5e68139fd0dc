// Where a rank waits for tasks: it runs what it may, and sleeps when there is nothing.
#include <algorithm>

#include "core/chaos.hpp"
#include "core/runtime.hpp"
#include "core/sched.hpp"
#include "model/spmd/team.hpp"
#include "personality/openmp/ompt/hooks.hpp"
#include "personality/openmp/region.hpp"
#include "personality/openmp/task_run.hpp"
#include "sync/wait_list.hpp"
#include "sys/clock.hpp"
#include "sys/fence.hpp"
#include "sys/kernel_thread.hpp"
#include "sys/message.hpp"

namespace comity::openmp {
namespace {

// Who looks at a task that he does not hold goes no further up.
constexpr unsigned few_steps = 64;

// ---- The team's own lists

bool more_urgent(const task *a, const task *b) noexcept { return a->priority > b->priority; }
bool less_urgent(const task *a, const task *b) noexcept { return a->priority < b->priority; }

// The most urgent task that the rank may run. Completes what outsiders could not.
[[gnu::noinline]] task *take_shared(thread *t, const task *under) noexcept {
    team_tasks &from = t->team->tasks;
    from.lock.lock();
    task *done = from.completed;
    from.completed = nullptr;
    for (const task *d = done; d; d = d->next) --from.shared;
    task *best = nullptr;
    auto &heap = from.heap;
    if (!heap.empty() && descends(heap.front(), under)) {
        std::pop_heap(heap.begin(), heap.end(), less_urgent);
        best = heap.back();
        heap.pop_back();
    } else {
        std::size_t at = heap.size();
        for (std::size_t i = 0; i < heap.size(); ++i)
            if (descends(heap[i], under) && (at == heap.size() || more_urgent(heap[i], heap[at]))) at = i;
        if (at != heap.size()) {
            best = heap[at];
            heap[at] = heap.back();
            heap.pop_back();
            std::make_heap(heap.begin(), heap.end(), less_urgent);
        }
    }
    if (best) --from.shared;
    from.lock.unlock();
    while (done) {
        task *next = done->next;
        complete(t, done, make_ready_for_others);
        done = next;
    }
    return best;
}

// ---- Stealing

// Taking a task from another rank costs both some hundred nanoseconds, and its data goes with it. A rank whose booty
// was mostly smaller than that only hinders those who make tasks: it leaves them alone for a while, the longer the
// smaller they were.
void note_booty(rank_tasks &mine) noexcept {
    const std::uint64_t now = sys::ticks(), worthwhile = core::ticks_per_us() / 2;
    const std::uint64_t length = std::min((now - mine.stolen_at) / mine.stolen, 256 * worthwhile);
    mine.usual_length = (7 * mine.usual_length + length) / 8;
    mine.stolen = 0;
    if (mine.usual_length < worthwhile && length < worthwhile)
        mine.pauses_until = now + 64 * (worthwhile - mine.usual_length);
}

// Where there are many, half of them, for one by one costs more than small tasks.
template <class Wanted> void steal_more(thread *t, pool::deque<task> &from, Wanted wanted) noexcept {
    constexpr std::int64_t many = 8, most_at_once = 16;
    const std::int64_t seen = from.size();
    if (seen < many) return;
    for (std::int64_t left = std::min(seen / 2, most_at_once); left; --left) {
        task *what = from.steal_if(wanted);
        if (!what) return;
        ++t->tasks.stolen;
        if (!push_own(t, what)) return make_ready_for_others(t, what);
    }
}

task *steal(thread *t, const task *under) noexcept {
    team *tm = t->team;
    if (pauses(t)) return nullptr;
    const unsigned ranks = tm->size;
    // xorshift: where to begin.
    std::uint32_t random = t->tasks.random ? t->tasks.random : t->rank * 2654435761U + 1;
    random ^= random << 13;
    random ^= random >> 17;
    random ^= random << 5;
    t->tasks.random = random;
    const auto wanted = [under](const task *what) { return descends(what, under, few_steps); };
    unsigned at = static_cast<unsigned>(std::uint64_t{random} * ranks >> 32);
    for (unsigned i = 0; i < ranks; ++i, at = at + 1 == ranks ? 0 : at + 1) {
        pool::deque<task> &from = tm->threads[at]->tasks.ready;
        if (at == t->rank || from.empty()) continue;
        if (task *what = from.steal_if(wanted)) {
            t->tasks.stolen = 1;
            if (t->tasks.usual_length >= core::ticks_per_us() / 2) steal_more(t, from, wanted);
            t->tasks.stolen_at = sys::ticks();
            return what;
        }
    }
    return nullptr;
}

// ---- Sleeping

void enlist(thread *t) noexcept {
    team_tasks &in = t->team->tasks;
    t->tasks.called.store(false, std::memory_order_relaxed);
    in.helpers_lock.lock();
    t->tasks.listed = true;
    in.helpers.push_back(t);
    in.helpers_lock.unlock();
}

void leave_list(thread *t) noexcept {
    team_tasks &in = t->team->tasks;
    in.helpers_lock.lock();
    if (t->tasks.listed) in.helpers.remove(t);
    t->tasks.listed = false;
    in.helpers_lock.unlock();
}

// A helper that may run `what` (null: any of them) is called.
[[gnu::noinline]] void call_helper(team *tm, const task *what) noexcept {
    team_tasks &in = tm->tasks;
    in.helpers_lock.lock();
    thread *h = in.helpers.take_if([what](const thread *t) { return !what || descends(what, t->task, few_steps); });
    if (h) h->tasks.listed = false;
    in.helpers_lock.unlock();
    if (!h) return;
    h->tasks.called.store(true, std::memory_order_release); // release[helper-called]
    h->tasks.changed.wake_all();
}

// Nothing that may run was found for a while. Sleeps until over_asleep() or a call.
template <class Over> void sleep(thread *t, task_count *count, const owner_count &mine, Over over_asleep) noexcept {
    enlist(t);
    // Whoever queues a task from now on sees us in the list, or we the task: seq_cst[task-helpers].
    std::atomic_thread_fence(std::memory_order_seq_cst);
    core::chaos_point();
    if (task *what = find_task(t, t->task)) {
        leave_list(t);
        run_task(t, what);
        return;
    }
    if (count) count->begin_wait(mine);
    t->tasks.changed.block_until(
        [=] {
            return t->tasks.called.load(std::memory_order_acquire) || // acquire[helper-called]
                   (count && count->wait_over()) || over_asleep();
        },
        sys::no_deadline);
    if (count) count->end_wait(mine);
    leave_list(t);
}

// Waits until over() is true, running tasks meanwhile. If that depends on a count, over_asleep() is what else can make
// it true; it may read atomics only, and who makes it true wakes `changed`.
template <class Over, class Asleep>
void help_until(thread *t, task_count *count, const owner_count &mine, Over over, Asleep over_asleep) noexcept {
    constexpr unsigned most_misses = 64; // tasks are there, but not for us
    for (unsigned misses = 0; !over();) {
        if (task *what = find_task(t, t->task)) {
            run_task(t, what);
            misses = 0;
            continue;
        }
        if (pauses(t)) {
            pass_a_moment();
            continue;
        }
        const team *tm = t->team;
        if (++misses < most_misses &&
            sync::wait_list::spin_for([=] { return over() || sees_tasks(tm); }, sys::no_deadline))
            continue;
        sleep(t, count, mine, over_asleep);
        misses = 0;
    }
}

bool never() noexcept { return false; }

} // namespace

bool descends(const task *what, const task *under, unsigned most_steps) noexcept {
    if (!under) return true;
    if (!what) return false;
    const std::uint32_t least = under->depth();
    for (unsigned steps = 0; steps < most_steps; ++steps) {
        const task *parent = what->parent_task();
        if (parent == under) return true;
        if (!parent || parent->depth() <= least) return false;
        what = parent;
    }
    return false;
}

static task *pop_own(thread *t) noexcept {
    task *what = t->tasks.ready.pop();
    if (t->tasks.ready.most_size() < few_queued && t->size > 1) t->at_once_depth = never_at_once;
    return what;
}

bool pauses(thread *t) noexcept {
    if (t->tasks.stolen) note_booty(t->tasks);
    std::uint64_t &until = t->tasks.pauses_until;
    if (until == 0) return false;
    if (sys::ticks() < until) return true;
    until = 0;
    return false;
}

void pass_a_moment() noexcept {
    for (int i = 0; i < 16; ++i) sys::cpu_relax();
}

bool sees_tasks(const team *tm) noexcept {
    if (tm->tasks.shared.get() != 0) return true;
    for (unsigned i = 0; i < tm->size; ++i)
        if (!tm->threads[i]->tasks.ready.empty()) return true;
    return false;
}

task *find_task(thread *t, const task *under) noexcept {
    team *tm = t->team;
    if (tm->tasks.shared.get() != 0) [[unlikely]]
        if (task *what = take_shared(t, under)) return what;
    if (task *what = pop_own(t)) {
        if (what->parent_task() == under || descends(what, under)) return what;
        (void)t->tasks.ready.push(what); // there was room for it
    }
    return tm->size == 1 ? nullptr : steal(t, under);
}

void call_for_help(team *tm, const task *what) noexcept {
    // A rank that waits enters its list, then looks for tasks: one of us sees the other. seq_cst[task-helpers]
    sys::store_load_fence(std::memory_order_seq_cst);
    if (!tm->idle.empty()) return tm->idle.wake_one();
    if (tm->stands_by.load(std::memory_order_relaxed)) [[unlikely]] {
        tm->stands_by.store(false, std::memory_order_relaxed); // who helps waits on `idle` from then on
        spmd::call_for_standbys();
    }
    if (!tm->tasks.helpers.empty()) call_helper(tm, what);
}

void make_ready_for_others(thread *t, task *what) noexcept {
    team_tasks &into = t->team->tasks;
    into.lock.lock();
    into.heap.push_back(what);
    std::push_heap(into.heap.begin(), into.heap.end(), less_urgent);
    ++into.shared;
    into.lock.unlock();
    call_for_help(t->team, what);
}

bool run_a_task(thread *t) noexcept {
    task *what = find_task(t, nullptr);
    if (what) run_task(t, what);
    return what;
}

// Runs all that the rank itself has queued. Where no task is suspended. May switch.
static void run_own_tasks(thread *t) noexcept {
    while (task *what = pop_own(t)) run_task(t, what);
}

void wait_for_children(thread *t) noexcept {
    task_count &children = t->task->children;
    const owner_count &mine = t->task->mine;
    if (children.left(mine) == 0) return;
    help_until(
        t, &children, mine, [&] { return children.left(mine) == 0; }, never);
}

void wait_for_children_while(thread *t, bool (*pending)(void *), void *data) noexcept {
    task_count &children = t->task->children;
    const owner_count &mine = t->task->mine;
    if (children.left(mine) == 0) return;
    help_until(
        t, &children, mine, [&] { return children.left(mine) == 0 || !pending(data); }, [=] { return !pending(data); });
}

void yield_task(thread *t) noexcept {
    constexpr unsigned most_yields = 16; // inside each other, for the stack's sake
    if (t->tasks.yields < most_yields && t->team->makes_tasks.load(std::memory_order_relaxed)) {
        if (task *what = find_task(t, t->task)) {
            ++t->tasks.yields;
            run_task(t, what);
            --t->tasks.yields;
            return;
        }
    }
    (void)core::let_others_run();
}

void begin_group(thread *t) noexcept {
    auto *group = new (t->tasks.memory.allocate(block_pool::kind_for(sizeof(taskgroup)))) taskgroup;
    group->outer = t->task->group;
    group->owner = t->task;
    if (group->outer) group->reductions = group->outer->reductions; // a task in the inner group may take part in them
    t->task->group = group;
}

void end_group(thread *t) noexcept {
    taskgroup *group = t->task->group;
    if (!group) return; // its begin was in a region of an undeferred task that was cancelled
    task_count &members = group->members;
    const owner_count &mine = group->mine;
    if (members.left(mine) != 0)
        help_until(
            t, &members, mine, [&] { return members.left(mine) == 0; }, never);
    t->task->group = group->outer;
    t->tasks.memory.free(group);
}

// ---- The barrier and the end of the region

bool arrive_with_tasks(thread *t) noexcept {
    run_own_tasks(t);
    task &mine = t->implicit;
    if (mine.children.is_idle(mine.mine)) return true;
    mine.runner.store(nullptr, std::memory_order_relaxed);
    t->tasks.gone = true;
    return mine.children.leave(mine.mine);
}

void leave_barrier_with_tasks(thread *t) noexcept {
    t->made_tasks = false;
    if (!t->tasks.gone) return;
    t->tasks.gone = false;
    t->implicit.mine = {};
    t->implicit.children.reset();
    t->implicit.runner.store(t, std::memory_order_relaxed);
}

// The ranks have all gone, so only `t` runs tasks. Those that have not arrived do so now; those that have count again.
void finish_tasks(thread *t) noexcept {
    team *tm = t->team;
    const unsigned generation = tm->generation.load(std::memory_order_relaxed);
    forget_arrivals(tm);
    for (unsigned i = 0; i < tm->size; ++i) {
        thread *rank = tm->threads[i];
        task_count &children = rank->implicit.children;
        if (rank->tasks.gone ? children.has_left_idle() : children.is_idle(rank->implicit.mine)) {
            count_arrival(rank);
        } else if (!rank->tasks.gone) {
            rank->implicit.runner.store(nullptr, std::memory_order_relaxed);
            rank->tasks.gone = true;
            if (children.leave(rank->implicit.mine)) count_arrival(rank);
        }
    }
    for (;;) {
        if (tm->generation.load(std::memory_order_acquire) != generation) break; // acquire[barrier-open]
        if (run_a_task(t)) continue;
        tm->idle.wait([=] {
            return tm->generation.load(std::memory_order_acquire) != generation || // acquire[barrier-open]
                   sees_tasks(tm);
        });
    }
    for (unsigned i = 0; i < tm->size; ++i) leave_barrier_with_tasks(tm->threads[i]);
}

void await_visitors(const team *tm) noexcept {
    while (tm->tasks.visitors.load(std::memory_order_acquire)) // acquire[task-visitor]
        sys::yield_kernel_thread();
}

// ---- Events

// Any thread. One that is no rank of the team leaves what is to be done to those who are.
void fulfill_event(task *what) noexcept {
    team *tm = what->team;
    thread *t = self;
    const bool outside = t->team != tm;
    // Until it is counted out again the team stays: the region's end waits for visitors (await_visitors).
    if (outside) tm->tasks.visitors.fetch_add(1, std::memory_order_relaxed);
    if (ompt::on()) ompt::task_fulfilled(what);
    // acq_rel[event]
    const bool body_done = what->event.fetch_or(event_fulfilled, std::memory_order_acq_rel) & event_body_done;
    if (body_done && ompt::on()) ompt::detached_ends(what);
    core::chaos_point();
    if (body_done && !outside) {
        complete(t, what, make_ready_for_others);
    } else if (body_done) {
        tm->tasks.lock.lock();
        what->next = tm->tasks.completed;
        tm->tasks.completed = what;
        ++tm->tasks.shared;
        tm->tasks.lock.unlock();
        call_for_help(tm, nullptr);
    }
    if (outside) tm->tasks.visitors.fetch_sub(1, std::memory_order_release); // release[task-visitor]
}

} // namespace comity::openmp
