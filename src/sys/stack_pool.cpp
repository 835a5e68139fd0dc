#include "sys/stack_pool.hpp"

#include <algorithm>
#include <atomic>
#include <new>

#include "sys/clock.hpp"
#include "sys/errno_kept.hpp"
#include "sys/process.hpp"
#include "sys/spinlock.hpp"
#include "sys/stack_slab.hpp"

namespace comity::sys {
using namespace stack_slabs;

namespace {

struct alignas(64) stack_class {
    spinlock lock; // over all of this
    slab *with_room = nullptr;
    std::size_t slabs = 0, slots = 0, in_use = 0, warm = 0, cold = 0;
    std::size_t least_warm = 0;  // that there were since the last free_unneeded_stacks: so many nobody has needed
    std::int64_t many_since = 0; // now_ns: since when more have been warm than need be; 0: they are not

    void list(slab *s) noexcept {
        s->listed = true;
        s->previous = nullptr;
        s->next = with_room;
        if (with_room) with_room->previous = s;
        with_room = s;
    }
    void delist(slab *s) noexcept {
        s->listed = false;
        (s->previous ? s->previous->next : with_room) = s->next;
        if (s->next) s->next->previous = s->previous;
    }
    // The slab, which is listed and all free, is the class's no more.
    void drop(slab *s) noexcept {
        delist(s);
        --slabs;
        slots -= s->slots;
        cold -= s->cold.size();
        warm -= s->warm.size();
    }
};

stack_class pool[classes];
spinlock slabs_lock;
slab *slabs[most_slabs]; // by number, from 1; written under slabs_lock, read by who holds a stack of the slab

unsigned class_of(const stack_class &c) noexcept { return static_cast<unsigned>(&c - pool); }

// ---- Slabs come and go

std::uint32_t enter_slab(slab *s) noexcept {
    static std::uint32_t last = 0; // under slabs_lock
    std::uint32_t found = 0;
    slabs_lock.lock();
    for (std::uint32_t i = 1; i < most_slabs && !found; ++i) {
        last = last + 1 < most_slabs ? last + 1 : 1;
        if (!slabs[last]) found = last;
    }
    if (found) slabs[found] = s;
    slabs_lock.unlock();
    return found;
}

// A new slab of at most `slots` slots: fewer if the address space gives no more. nullptr: not even one.
slab *map_slab(unsigned size_class, std::uint32_t slots) noexcept {
    const slot_shape shape = shape_of(size_class);
    const std::size_t page = page_size();
    for (; slots != 0; slots /= 2) {
        const std::size_t bits = slot_set::words_for(slots) * sizeof(std::uint64_t);
        const std::size_t head = (sizeof(slab) + 2 * bits + slots + page - 1) / page * page + page;
        const std::size_t size = (head + slots * shape.stride + page - 1) / page * page;
        std::byte *at = map_stack_area(size);
        if (!at) continue;
        auto *s = new (at) slab;
        auto *words = reinterpret_cast<std::uint64_t *>(at + sizeof(slab));
        s->warm.create(words, slot_set::words_for(slots));
        s->cold.create(words + slot_set::words_for(slots), slot_set::words_for(slots));
        s->kinds = reinterpret_cast<std::atomic<guard_kind> *>(at + sizeof(slab) + 2 * bits);
        s->slots = slots;
        s->size_class = size_class;
        s->mapped = size;
        s->first = at + head;
        s->number = enter_slab(s);
        if (s->number) {
            // A small stack that overflows from slot 0 must not run into this.
            if (size_class == 0)
                s->kinds[0].store(install_guard(s->first - page, page, true), std::memory_order_relaxed);
            return s;
        }
        unmap_stack_area(at, size);
        break;
    }
    return nullptr;
}

void unmap_slab(slab *s) noexcept {
    std::int64_t mappings = 0;
    for (std::uint32_t i = 0; i < s->carved; ++i)
        mappings += s->kinds[i].load(std::memory_order_relaxed) == guard_kind::mapping;
    forget_mapping_guards(mappings);
    slabs_lock.lock();
    slabs[s->number] = nullptr;
    slabs_lock.unlock();
    unmap_stack_area(reinterpret_cast<std::byte *>(s), s->mapped);
}

// Slabs grow with what the class has, up to 64 MiB, or 256 stacks.
bool add_slab(stack_class &c) noexcept {
    const std::size_t stride = shape_of(class_of(c)).stride;
    const std::size_t most = std::max(64 * mebi / stride, std::size_t{256});
    c.lock.lock();
    const std::size_t wanted = std::clamp(c.slots, std::min(mebi / stride + 16, most), most);
    c.lock.unlock();
    slab *s = map_slab(class_of(c), static_cast<std::uint32_t>(wanted));
    if (!s && unmap_free_stacks()) s = map_slab(class_of(c), static_cast<std::uint32_t>(wanted));
    if (!s) return false;
    c.lock.lock();
    c.list(s);
    ++c.slabs;
    c.slots += s->slots;
    c.lock.unlock();
    return true;
}

// ---- Taking

// Under the class's lock; the slab has room. Warm ones first: their memory is there, and perhaps cached.
std::uint32_t take_slot(stack_class &c, slab &s) noexcept {
    ++c.in_use;
    if (s.warm.size()) {
        c.least_warm = std::min(c.least_warm, --c.warm);
        return s.warm.take();
    }
    if (s.cold.size()) return --c.cold, s.cold.take();
    return s.carved++;
}

stack_memory stack_in(const slab &s, std::uint32_t slot, const slot_shape &shape) noexcept {
    stack_memory stack;
    std::byte *const at = s.first + slot * shape.stride;
    stack.bottom = at + shape.guard;
    stack.top = at + shape.stride;
    stack.guard_size = static_cast<std::uint32_t>(shape.guard);
    stack.slab = static_cast<std::uint16_t>(s.number);
    return stack;
}

std::uint32_t slot_of(const stack_memory &stack, const slot_shape &shape) noexcept {
    return static_cast<std::uint32_t>(static_cast<std::size_t>(stack.guard() - slabs[stack.slab]->first) /
                                      shape.stride);
}

unsigned claim(stack_class &c, const slot_shape &shape, stack_memory *out, unsigned n) noexcept {
    unsigned got = 0;
    c.lock.lock();
    while (got < n && c.with_room) {
        slab *s = c.with_room;
        while (got < n && s->has_room()) out[got++] = stack_in(*s, take_slot(c, *s), shape);
        if (!s->has_room()) c.delist(s);
    }
    c.lock.unlock();
    return got;
}

std::uint64_t &canary_of(const stack_memory &stack) noexcept {
    return *reinterpret_cast<std::uint64_t *>(stack.bottom);
}
std::uint64_t intact_canary(const stack_memory &stack) noexcept {
    return std::uint64_t{0xc0317c0de5afe15a} ^ reinterpret_cast<std::uintptr_t>(stack.bottom);
}

// The guard of a claimed stack, outside the lock. One that could not be made is tried again at the next use.
void guard_stack(stack_memory &stack, const slot_shape &shape) noexcept {
    if (shape.guard == 0) {
        stack.kind = guard_kind::canary;
        canary_of(stack) = intact_canary(stack);
        return;
    }
    const slab &s = *slabs[stack.slab];
    const std::uint32_t slot = slot_of(stack, shape);
    guard_kind kind = s.kinds[slot].load(std::memory_order_relaxed);
    if (kind != guard_kind::light && kind != guard_kind::mapping) {
        const std::uint32_t leader = slot - slot % group;
        kind = install_guard(stack.guard(), shape.guard, slot == leader);
        // The leader was carved before its group's others, and has its guard, or will in a moment.
        if (kind == guard_kind::none && s.kinds[leader].load(std::memory_order_relaxed) != guard_kind::none)
            kind = guard_kind::group;
        if (kind == guard_kind::none || kind == guard_kind::group)
            warn_of_missing_guards("one guard page for every 16, or none");
        s.kinds[slot].store(kind, std::memory_order_relaxed);
    }
    stack.kind = kind;
}

// ---- Giving back

std::atomic<std::int64_t> patience_ns{1'000'000'000};

// So many free stacks keep their memory for good: a quarter of those in use, and at least so many as hold 64 MiB if
// each has touched 16 KiB.
std::size_t most_warm(const stack_class &c) noexcept {
    const std::size_t few = 64 * mebi / std::min(shape_of(class_of(c)).stride, mebi / 64);
    return std::max(few, c.in_use / 4);
}

// And so many for a while, for who makes as many again and again: 16 times as many, on a machine with 16 GiB or more.
std::size_t most_warm_for_a_while(const stack_class &c) noexcept {
    const std::size_t times =
        made_once([] { return std::clamp(physical_memory() / (1024 * mebi), std::size_t{1}, std::size_t{16}); });
    return most_warm(c) * times;
}

// Under the class's lock. Have there been too many warm ones, or for too long?
bool must_cool(stack_class &c) noexcept {
    if (c.warm <= most_warm(c)) {
        c.many_since = 0;
        return false;
    }
    if (c.warm > most_warm_for_a_while(c)) return true;
    const std::int64_t now = now_ns();
    if (c.many_since == 0) c.many_since = now;
    return now - c.many_since > patience_ns.load(std::memory_order_relaxed);
}

struct run {
    slab *of;
    std::uint32_t first, count;
};
constexpr unsigned most_runs = 16; // they lie on a stack that may be small

// Under the class's lock: takes warm slots out, to be made cold.
unsigned collect(stack_class &c, run *runs, std::size_t leave) noexcept {
    unsigned n = 0;
    for (slab *s = c.with_room; s && n < most_runs && c.warm > leave; s = s->next)
        while (s->warm.size() && n < most_runs && c.warm > leave) {
            run &r = runs[n++];
            r.of = s;
            r.first = s->warm.take_run(r.count);
            c.warm -= r.count;
            if (class_of(c) != 0) continue;
            // Small stacks share pages: a page goes only with all that lie in it, the cold ones too.
            for (unsigned i = 0; i < 2 && r.first > 0 && s->cold.has(r.first - 1); ++i, ++r.count, --c.cold)
                s->cold.remove(--r.first);
            for (unsigned i = 0; i < 2 && r.first + r.count < s->carved && s->cold.has(r.first + r.count);
                 ++i, --c.cold)
                s->cold.remove(r.first + r.count++);
        }
    return n;
}

void discard(const run &r, const slot_shape &shape) noexcept {
    const std::size_t page = page_size();
    const auto from = reinterpret_cast<std::uintptr_t>(r.of->first) + r.first * shape.stride;
    const auto first = (from + page - 1) / page * page, last = (from + r.count * shape.stride) / page * page;
    if (first < last) discard_pages(reinterpret_cast<void *>(first), last - first); // guards stay as they are
}

// A slab of large stacks, whose page tables take more than a stack does, is given back when all of it is free and the
// class has another one. Under the class's lock: takes it out.
bool may_unmap(stack_class &c, slab *s, const slot_shape &shape) noexcept {
    if (shape.stride < mebi || s->out() != 0 || (c.with_room == s && !s->next)) return false;
    c.drop(s);
    return true;
}

// Makes warm slots cold until `leave` are left.
void cool(stack_class &c, std::size_t leave) noexcept {
    const slot_shape shape = shape_of(class_of(c));
    for (;;) {
        run runs[most_runs];
        c.lock.lock();
        const unsigned n = collect(c, runs, leave);
        c.lock.unlock();
        if (n == 0) return;
        for (unsigned i = 0; i < n; ++i) discard(runs[i], shape);
        slab *gone = nullptr;
        c.lock.lock();
        for (unsigned i = 0; i < n; ++i) {
            slab *s = runs[i].of;
            for (std::uint32_t slot = 0; slot < runs[i].count; ++slot) s->cold.put(runs[i].first + slot);
            c.cold += runs[i].count;
            const bool more_of_it = i + 1 < n && runs[i + 1].of == s;
            if (!s->listed) c.list(s);
            if (!more_of_it && may_unmap(c, s, shape)) s->next = gone, gone = s;
        }
        c.lock.unlock();
        while (slab *s = gone) {
            gone = s->next;
            unmap_slab(s);
        }
    }
}

} // namespace

unsigned take_stacks(std::size_t size, stack_memory *out, unsigned n) noexcept {
    const errno_kept kept;
    unsigned got = 0;
    if (size == 0 || size > PTRDIFF_MAX) return 0;
    const unsigned size_class = class_of(size);
    if (size_class == no_class) {
        while (got < n && ((out[got] = map_stack(size)) || (unmap_free_stacks() && (out[got] = map_stack(size)))))
            ++got;
        return got;
    }
    stack_class &c = pool[size_class];
    const slot_shape shape = shape_of(size_class);
    do got += claim(c, shape, out + got, n - got);
    while (got < n && add_slab(c));
    for (unsigned i = 0; i < got; ++i) guard_stack(out[i], shape);
    return got;
}

void give_back_stacks(stack_memory *stacks, unsigned n) noexcept {
    const errno_kept kept;
    for (unsigned i = 0; i < n;) {
        if (stacks[i].slab == 0) {
            unmap_stack(stacks[i++]);
            continue;
        }
        const unsigned size_class = slabs[stacks[i].slab]->size_class;
        stack_class &c = pool[size_class];
        const slot_shape shape = shape_of(size_class);
        c.lock.lock();
        for (; i < n && stacks[i].slab && slabs[stacks[i].slab]->size_class == size_class; stacks[i++] = {}) {
            slab *s = slabs[stacks[i].slab];
            s->warm.put(slot_of(stacks[i], shape));
            ++c.warm;
            --c.in_use;
            if (!s->listed) c.list(s);
        }
        const std::size_t most = most_warm(c);
        const bool too_many = must_cool(c);
        c.lock.unlock();
        if (too_many) cool(c, most / 2);
    }
}

void cool_free_stacks() noexcept {
    for (stack_class &c : pool) {
        c.lock.lock();
        const std::size_t most = most_warm(c);
        const bool many = c.warm > most;
        c.lock.unlock();
        if (many) cool(c, most / 2);
    }
}

void set_stack_patience(std::int64_t ns) noexcept { patience_ns.store(ns, std::memory_order_relaxed); }

// Unmaps slabs that are all free: all of them, or those that are all cold, but for the class's last one.
static bool unmap_free(stack_class &c, bool all) noexcept {
    slab *gone = nullptr;
    c.lock.lock();
    for (slab *s = c.with_room, *next = nullptr; s; s = next) {
        next = s->next;
        if (s->out() != 0 || (!all && (s->warm.size() != 0 || (c.with_room == s && !next)))) continue;
        c.drop(s);
        s->next = gone;
        gone = s;
    }
    c.lock.unlock();
    const bool any = gone;
    while (slab *s = gone) {
        gone = s->next;
        unmap_slab(s);
    }
    return any;
}

bool unmap_free_stacks() noexcept {
    bool any = false;
    for (stack_class &c : pool) any = unmap_free(c, true) || any;
    return any;
}

bool free_unneeded_stacks() noexcept {
    bool any = false;
    for (stack_class &c : pool) {
        c.lock.lock();
        const std::size_t leave = c.warm - std::min(c.least_warm, c.warm);
        c.least_warm = leave;
        c.lock.unlock();
        cool(c, leave);
        (void)unmap_free(c, false);
        any = any || leave != 0;
    }
    return any;
}

std::byte *coloured_top(const stack_memory &stack) noexcept {
    if (stack.slab == 0 || stack.kind == guard_kind::canary) return stack.top;
    return stack.top - reinterpret_cast<std::uintptr_t>(stack.top) / page_size() % colours * line;
}

bool canary_intact(const stack_memory &stack) noexcept {
    return stack.kind != guard_kind::canary || canary_of(stack) == intact_canary(stack);
}

std::size_t pooled_stack_size(std::size_t size) noexcept {
    const unsigned c = size == 0 || size > PTRDIFF_MAX ? no_class : class_of(size);
    if (c == no_class) return 0;
    return c == 0 ? small_stack_size : page_size() << (c - 1);
}

void stack_pool_before_fork() noexcept {
    for (stack_class &c : pool) c.lock.lock();
    slabs_lock.lock();
}

void stack_pool_after_fork() noexcept {
    slabs_lock.unlock();
    for (stack_class &c : pool) c.lock.unlock();
}

stack_pool_state get_stack_pool_state(std::size_t size) noexcept {
    stack_class &c = pool[class_of(size)];
    c.lock.lock();
    const stack_pool_state state{c.slabs, c.in_use, c.warm, c.cold};
    c.lock.unlock();
    return state;
}

} // namespace comity::sys
