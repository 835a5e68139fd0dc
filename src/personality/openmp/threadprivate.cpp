#include "personality/openmp/threadprivate.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "core/context.hpp"
#include "core/spinlock.hpp"
#include "personality/openmp/held_over_forks.hpp"
#include "personality/openmp/thread.hpp"
#include "sys/message.hpp"
#include "sys/process.hpp"

namespace comity::openmp {
namespace {

// What there is of each variable, in the order of their addresses: they are few, and searched for often.
template <class T> using by_variable = std::vector<std::pair<void *, T>>;
template <class T> T &of_variable(by_variable<T> &all, void *variable) noexcept {
    auto at =
        std::lower_bound(all.begin(), all.end(), variable, [](const auto &one, void *v) { return one.first < v; });
    if (at == all.end() || at->first != variable) at = all.emplace(at, variable, nullptr);
    return at->second;
}

struct variable_record {
    threadprivate_functions functions;
    void *image = nullptr; // what copies begin with; null: not known yet, or not needed
};

// The list is written under `records_lock`; a record's fields are constant once a copy was asked for.
core::spinlock records_lock;
variable_record *&record_made(void *variable) noexcept {
    return of_variable(sys::made_once([] { return by_variable<variable_record *>(); }), variable);
}

__attribute__((constructor)) void watch_forks() noexcept {
    hold_over_forks<records_lock>("at a threadprivate variable");
}

using own_copies = by_variable<void *>;
// The calling thread's; null: none yet.
__thread own_copies *mine __attribute__((tls_model("initial-exec"))) = nullptr;

void destroy(void *variable, void *copy) noexcept {
    records_lock.lock();
    const threadprivate_functions functions = record_made(variable)->functions;
    records_lock.unlock();
    if (functions.length && functions.destroy_all)
        functions.destroy_all(copy, functions.length);
    else if (functions.destroy)
        functions.destroy(copy);
    std::free(copy);
}

bool is_in_region() noexcept {
    const core::context *c = core::current_context(); // one that has ended, at the end of its storage
    return c && c->state == core::context_state::running && current()->team->level != 0;
}

// Runs when the thread's storage ends, and at an exit of the process by this thread. A rank that calls exit in its
// region keeps its copies: handlers of the exit run there and use them.
struct end_copies {
    bool armed = false;
    ~end_copies() {
        if (!armed || is_in_region()) return;
        for (auto [variable, copy] : *mine)
            if (copy != variable) destroy(variable, copy);
        delete std::exchange(mine, nullptr);
    }
};
thread_local end_copies ender;

void *&copy_of(void *variable) noexcept {
    if (!mine) {
        mine = new own_copies;
        ender.armed = true;
    }
    return of_variable(*mine, variable);
}

// The initial thread keeps the variable itself, and is rank 0 of the regions that it opens.
bool is_initial() noexcept {
    const thread *t = current();
    while (t->team->parent && t->rank == 0) t = t->team->parent;
    return !t->team->parent && t->number == 0;
}

void *begin_copy(void *variable, std::size_t size, const variable_record &record) noexcept {
    void *copy = nullptr;
    if (::posix_memalign(&copy, 64, size ? size : 1))
        sys::fatal("__kmpc_threadprivate_cached", "no memory for %zu bytes", size);
    const threadprivate_functions &f = record.functions;
    if (f.length && f.construct_all)
        f.construct_all(copy, f.length);
    else if (f.length && f.copy_all)
        f.copy_all(copy, record.image, f.length);
    else if (!f.length && f.construct)
        f.construct(copy);
    else if (!f.length && f.copy)
        f.copy(copy, record.image);
    else
        std::memcpy(copy, record.image, size);
    (void)variable;
    return copy;
}

// What is known of the variable, with its image: the first who asks makes it.
variable_record &record_of(void *variable, std::size_t size) noexcept {
    records_lock.lock();
    variable_record *&made = record_made(variable);
    if (!made) made = new variable_record;
    variable_record &record = *made;
    const threadprivate_functions &f = record.functions;
    if (!record.image && !(f.length ? f.construct_all != nullptr : f.construct != nullptr)) {
        record.image = std::malloc(size ? size : 1);
        if (!record.image) sys::fatal("__kmpc_threadprivate_cached", "no memory for %zu bytes", size);
        // An object's copy constructor reads the variable's own bytes, of which this is a copy.
        std::memcpy(record.image, variable, size);
    }
    records_lock.unlock();
    return record;
}

} // namespace

void register_threadprivate(void *variable, const threadprivate_functions &functions) noexcept {
    records_lock.lock();
    variable_record *&made = record_made(variable);
    if (!made) made = new variable_record{functions, nullptr};
    records_lock.unlock();
}

void *threadprivate_copy(void *variable, std::size_t size) noexcept {
    if (void *copy = copy_of(variable)) return copy;
    const variable_record &record = record_of(variable, size);
    void *made = is_initial() ? variable : begin_copy(variable, size, record); // a constructor may ask for others
    return copy_of(variable) = made;
}

} // namespace comity::openmp
