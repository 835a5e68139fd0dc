#include "personality/openmp/kmp/task_reduction.hpp"

#include <cstdlib>
#include <cstring>
#include <new>

#include "personality/openmp/kmp/abi.hpp"
#include "personality/openmp/work_share.hpp"
#include "sys/message.hpp"

namespace comity::openmp::kmp {
namespace {

// What the compiler says of a variable: first without the original, in entries of OpenMP 4.5's time.
struct old_description {
    void *shared;
    std::size_t size;
    void *begin, *end, *combine;
    u32 flags;
};
struct description {
    void *shared;   // what to combine into
    void *original; // what an initializer may read
    std::size_t size;
    void *begin, *end,
        *combine; // begin(copy, original), or begin(copy) in the old form; combine(into, from); end(copy)
    u32 flags;
};

// A variable's copies: one for each rank, made when the rank first asks for it, by that rank.
struct copies {
    char *memory; // `stride` bytes for each rank, which begin a cache line
    std::size_t stride;
    bool *made;
};

// The copies of all variables of a construct; when all ranks of a team take part as such, they share them.
struct copy_set {
    std::atomic<unsigned> parties; // who has not come to the end
    unsigned ranks, count;
    copies of[1];
};

// A taskgroup's reductions, with the variables as one rank sees them.
struct reductions {
    copy_set *set;
    bool old_form;
    description of[1];
};

template <class T> T *make(std::size_t extra) noexcept {
    void *memory = std::calloc(1, sizeof(T) + extra);
    if (!memory) sys::fatal("__kmpc_taskred_init", "no memory for task reductions");
    return static_cast<T *>(memory);
}

copy_set *make_set(unsigned ranks, unsigned parties, unsigned count, const description *variables) noexcept {
    copy_set *set = make<copy_set>(count * sizeof(copies));
    new (&set->parties) std::atomic<unsigned>(parties);
    set->ranks = ranks;
    set->count = count;
    for (unsigned i = 0; i < count; ++i) {
        copies &c = set->of[i];
        c.stride = (variables[i].size + 63) / 64 * 64;
        void *memory = nullptr;
        if (::posix_memalign(&memory, 64, c.stride * ranks + 1) ||
            !(c.made = static_cast<bool *>(std::calloc(ranks, sizeof(bool)))))
            sys::fatal("__kmpc_taskred_init", "no memory for %u copies of %zu bytes", ranks, variables[i].size);
        c.memory = static_cast<char *>(memory);
    }
    return set;
}

// `data` in the new form or the old one.
reductions *describe(unsigned count, const void *data, bool old_form) noexcept {
    reductions *made = make<reductions>(count * sizeof(description));
    made->old_form = old_form;
    for (unsigned i = 0; i < count; ++i)
        if (old_form) {
            const old_description &o = static_cast<const old_description *>(data)[i];
            made->of[i] = {o.shared, o.shared, o.size, o.begin, o.end, o.combine, o.flags};
        } else {
            made->of[i] = static_cast<const description *>(data)[i];
            if (!made->of[i].original) made->of[i].original = made->of[i].shared;
        }
    return made;
}

char *copy_of(const reductions &r, unsigned i, unsigned rank) noexcept {
    copies &c = r.set->of[i];
    char *copy = c.memory + rank * c.stride;
    if (c.made[rank]) return copy;
    c.made[rank] = true;
    const description &variable = r.of[i];
    if (!variable.begin)
        std::memset(copy, 0, variable.size);
    else if (r.old_form)
        reinterpret_cast<void (*)(void *)>(variable.begin)(copy);
    else
        reinterpret_cast<void (*)(void *, void *)>(variable.begin)(copy, variable.original);
    return copy;
}

bool is_in(const copies &c, unsigned ranks, const void *address) noexcept {
    const auto *a = static_cast<const char *>(address);
    return a >= c.memory && a < c.memory + c.stride * ranks;
}

// All tasks are done. Combines all copies into the variables as `r` sees them.
void combine(const reductions &r) noexcept {
    for (unsigned i = 0; i < r.set->count; ++i) {
        const copies &c = r.set->of[i];
        for (unsigned rank = 0; rank < r.set->ranks; ++rank) {
            if (!c.made[rank]) continue;
            void *copy = c.memory + rank * c.stride;
            reinterpret_cast<void (*)(void *, void *)>(r.of[i].combine)(r.of[i].shared, copy);
            if (r.of[i].end) reinterpret_cast<void (*)(void *)>(r.of[i].end)(copy);
        }
        std::free(c.memory);
        std::free(c.made);
    }
}

void *begin(unsigned count, const void *data, bool old_form) noexcept {
    thread *t = current();
    reductions *made = describe(count, data, old_form);
    made->set = make_set(t->size, 1, count, made->of);
    t->task->group->of_abi = made;
    return t->task->group;
}

// The reductions of the ranks' implicit tasks: each rank has a group of its own, all share the copies.
void *begin_shared(unsigned count, const void *data, bool old_form) noexcept {
    thread *t = current();
    reductions *made = describe(count, data, old_form);
    if (enter_share(t)) {
        *static_cast<copy_set **>(share_memory(t->share, sizeof(copy_set *))) =
            make_set(t->size, t->size, count, made->of);
        publish_share(t);
    }
    begin_group(t);
    if (t->share) // else the region was cancelled
        made->set = *static_cast<copy_set **>(t->share->memory);
    else
        made->set = make_set(t->size, 1, count, made->of);
    leave_share(t);
    t->task->group->of_abi = made;
    return t->task->group;
}

void finish(reductions *r) noexcept {
    // The last one sees what all ranks' tasks left in the copies: acq_rel[reduction-party].
    if (r->set->parties.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        combine(*r);
        std::free(r->set);
    }
    std::free(r);
}

} // namespace

void end_group_with_reductions(thread *t) noexcept {
    const taskgroup *group = t->task->group;
    auto *r = group ? static_cast<reductions *>(group->of_abi) : nullptr;
    end_group(t);
    if (r) finish(r);
}

} // namespace comity::openmp::kmp

using namespace comity::openmp;
using namespace comity::openmp::kmp;

COMITY_KMP void *__kmpc_task_reduction_init(int, int count, const void *data) noexcept {
    return begin(static_cast<unsigned>(count), data, true);
}
COMITY_KMP void *__kmpc_taskred_init(int, int count, const void *data) noexcept {
    return begin(static_cast<unsigned>(count), data, false);
}
COMITY_KMP void *__kmpc_task_reduction_modifier_init(const ident *, int, int, int count, const void *data) noexcept {
    return begin_shared(static_cast<unsigned>(count), data, true);
}
COMITY_KMP void *__kmpc_taskred_modifier_init(const ident *, int, int, int count, const void *data) noexcept {
    return begin_shared(static_cast<unsigned>(count), data, false);
}
COMITY_KMP void __kmpc_task_reduction_modifier_fini(const ident *, int, int) noexcept {
    end_group_with_reductions(current());
}

// The caller's copy of the variable that `item` stands for: the variable, its original, or a copy. `from` is what an
// init function gave, or null.
COMITY_KMP void *__kmpc_task_reduction_get_th_data(int, const void *from, const void *item) noexcept {
    const thread *t = current();
    for (const auto *group = from ? static_cast<const taskgroup *>(from) : t->task->group; group;
         group = group->outer) {
        const auto *r = static_cast<const reductions *>(group->of_abi);
        if (!r) continue;
        for (unsigned i = 0; i < r->set->count; ++i)
            if (r->of[i].shared == item || r->of[i].original == item || is_in(r->set->of[i], r->set->ranks, item))
                return copy_of(*r, i, t->rank < r->set->ranks ? t->rank : 0);
    }
    comity::sys::fatal("__kmpc_task_reduction_get_th_data", "%p is no task reduction variable of a taskgroup around it",
                       item);
}
