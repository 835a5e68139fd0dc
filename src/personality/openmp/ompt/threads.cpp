// Threads as a tool sees them: their data, their begin and end.
#include "personality/openmp/ompt/data.hpp"

#include <new>

#include "core/spinlock.hpp"
#include "personality/openmp/held_over_forks.hpp"
#include "sys/message.hpp"

namespace comity::openmp::ompt {

__thread native_thread *here __attribute__((tls_model("initial-exec"), visibility("hidden"))) = nullptr;

void find_tool() noexcept; // tool.cpp

namespace {

core::spinlock list_lock;
native_thread *first = nullptr; // all that have begun and not ended; under list_lock

__attribute__((constructor)) void watch_forks() noexcept {
    hold_over_forks<list_lock>("where a tool is told of a thread");
}

void enlist(native_thread *n) noexcept {
    list_lock.lock();
    n->next = first;
    if (first) first->previous = n;
    first = n;
    list_lock.unlock();
}

// False: end_all_threads was first. It has the thread's data from then on.
bool delist(native_thread *n) noexcept {
    list_lock.lock();
    const bool listed = !n->ended;
    if (listed) {
        (n->previous ? n->previous->next : first) = n->next;
        if (n->next) n->next->previous = n->previous;
    }
    list_lock.unlock();
    return listed;
}

bool is_attached() noexcept { return found.load(std::memory_order_acquire) == search::attached; } // acquire[ompt-found]

void tell_end(native_thread *n) noexcept {
    if (n->root)
        tell<event::implicit_task>(endpoint::end, nullptr, &info_of(&n->root->implicit).data, 0U, 1U,
                                   int{task_initial});
    tell<event::thread_end>(&n->data);
}

void end_thread() noexcept {
    native_thread *n = here;
    if (!n) return;
    const bool ends = delist(n);
    if (ends && is_attached()) tell_end(n);
    here = nullptr;
    if (ends) delete n;
}

// A rank's context ends with its thread-local storage.
struct leave {
    bool armed = false;
    ~leave() {
        if (armed) end_thread();
    }
};
thread_local leave leaver;

template <class T> T &make(T *&at, const char *what) noexcept {
    at = static_cast<T *>(std::calloc(1, sizeof(T)));
    if (!at) sys::fatal("OpenMP", "no memory for what a tool keeps of a %s", what);
    return *at;
}

} // namespace

task_info &make_info(thread *t) noexcept { return make(t->tool, "task"); }
team_info &make_info(team *tm) noexcept { return make(tm->tool, "team"); }

native_thread &begin_thread(thread_kind kind) noexcept {
    auto *n = new (std::nothrow) native_thread;
    if (!n) sys::fatal("OpenMP", "no memory for what a tool keeps of a thread");
    n->kind = kind;
    here = n;
    enlist(n);
    if (kind == thread_kind::worker) leaver.armed = true; // an initial thread ends with its root
    tell<event::thread_begin>(kind, &n->data);
    return *n;
}

void end_all_threads() noexcept {
    native_thread *caller = here;
    for (;;) {
        list_lock.lock();
        native_thread *n = first;
        if (n) {
            n->ended = true;
            first = n->next;
        }
        if (first) first->previous = nullptr;
        list_lock.unlock();
        if (!n) break;
        here = n; // so that the tool finds the data of the thread that ends
        tell_end(n);
    }
    here = caller;
}

void note(call_site at) noexcept { mine().noted = at; }

void root_begins(thread *t) noexcept {
    find_tool();
    if (!is_attached()) return;
    native_thread &n = here ? *here : begin_thread(thread_kind::initial);
    n.root = t;
    task_info &info = info_of(&t->implicit);
    info.flags = task_initial;
    tell<event::implicit_task>(endpoint::begin, &info_of(t->team).data, &info.data, 1U, 1U, int{task_initial});
}

void root_ends(thread *t) noexcept {
    if (here && here->root == t) end_thread();
}

} // namespace comity::openmp::ompt
