#include "sync/address.hpp"

#include "core/chaos.hpp"
#include "core/spinlock.hpp"
#include "sys/memory.hpp"
#include "sys/message.hpp"
#include "sys/own_count.hpp"
#include "sys/process.hpp"

#include <atomic>
#include <new>
#include <utility>

namespace comity::sync {

// A list and whom it is lent to. Under its bucket's lock, but for the list.
struct lent_list {
    const void *address = nullptr; // null: a bucket's spare one, for all addresses that got none of their own
    wait_list list;
    std::uint32_t users = 0; // who waits there or wakes
    struct bucket *in = nullptr;
    lent_list *next = nullptr; // in its bucket, or among the free ones
};

struct alignas(64) bucket {
    sys::own_count<std::uint32_t> users; // of all its lists; written under the lock
    core::spinlock lock;
    lent_list *first = nullptr;
    lent_list spare;
};

namespace {

constexpr unsigned log_buckets = 8;
bucket buckets[1U << log_buckets];

bucket &bucket_of(const void *address) noexcept {
    const std::uint64_t mixed = reinterpret_cast<std::uintptr_t>(address) * 0x9e3779b97f4a7c15U;
    return buckets[mixed >> (64 - log_buckets)];
}

core::spinlock free_lock;
lent_list *free_lists = nullptr; // under free_lock; their memory is never given back

// Not by malloc, whose locks may be what is waited for. Null: no memory.
lent_list *take_list() noexcept {
    constexpr std::size_t chunk = 16 * 1024;
    free_lock.lock();
    if (!free_lists) {
        auto *memory = static_cast<std::byte *>(sys::map_pages(chunk));
        for (std::size_t i = 0; memory && i + sizeof(lent_list) <= chunk; i += sizeof(lent_list)) {
            auto *made = new (memory + i) lent_list;
            made->next = std::exchange(free_lists, made);
        }
    }
    lent_list *p = free_lists;
    if (p) free_lists = p->next;
    free_lock.unlock();
    return p;
}

void give_back(lent_list *p) noexcept {
    free_lock.lock();
    p->next = std::exchange(free_lists, p);
    free_lock.unlock();
}

// Under the bucket's lock.
lent_list *find(const bucket &b, const void *address) noexcept {
    lent_list *p = b.first;
    while (p && p->address != address) p = p->next;
    return p;
}

void enter(bucket &b, lent_list *p) noexcept {
    ++p->users;
    ++b.users;
}

void leave(lent_list *p) noexcept {
    bucket &b = *p->in;
    b.lock.lock();
    --b.users;
    const bool last = --p->users == 0 && p != &b.spare;
    if (last) {
        lent_list **link = &b.first;
        while (*link != p) link = &(*link)->next;
        *link = p->next;
    }
    b.lock.unlock();
    if (last) give_back(p);
}

template <class Wake> void wake(const void *address, Wake wake_in) noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[address]
    bucket &b = bucket_of(address);
    if (b.users.get() == 0) return;
    core::chaos_point();
    b.lock.lock();
    lent_list *p = find(b, address), *spare = b.spare.users != 0 ? &b.spare : nullptr;
    if (p) enter(b, p);
    if (spare) enter(b, spare);
    b.lock.unlock();
    if (p) {
        wake_in(p->list);
        leave(p);
    }
    if (spare) {
        spare->list.wake_all();
        leave(spare);
    }
}

// ---- Fork: in the child nobody waits any more, and no waker is under way.

void before_fork() noexcept {
    for (bucket &b : buckets) b.lock.lock();
    free_lock.lock();
}
void parent_after_fork() noexcept {
    free_lock.unlock();
    for (bucket &b : buckets) b.lock.unlock();
}
void child_after_fork() noexcept {
    for (bucket &b : buckets) {
        if (b.users.get() != 0) { // else not to be written: it is 32 KiB
            b.users.set(0);
            b.first = nullptr;
            b.spare.~lent_list();
            new (&b.spare) lent_list;
        }
    }
    parent_after_fork();
}

__attribute__((constructor)) void watch_forks() noexcept {
    if (!sys::at_fork(before_fork, parent_after_fork, child_after_fork))
        sys::warn("no memory to prepare for fork: a child process must not wait at POSIX threads' objects, nor for "
                  "OpenMP's locks");
}

} // namespace

stay::stay(const void *address) noexcept {
    bucket &b = bucket_of(address);
    lent_list *fresh = nullptr;
    b.lock.lock();
    lent_ = find(b, address);
    if (!lent_) {
        b.lock.unlock();
        fresh = take_list();
        b.lock.lock();
        lent_ = find(b, address);
    }
    if (!lent_) {
        lent_ = fresh ? std::exchange(fresh, nullptr) : &b.spare;
        lent_->in = &b;
        if (lent_ != &b.spare) {
            lent_->address = address;
            lent_->next = std::exchange(b.first, lent_);
        }
    }
    enter(b, lent_);
    b.lock.unlock();
    if (fresh) give_back(fresh);
    std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[address]
    core::chaos_point();
}

stay::~stay() { leave(lent_); }

wait_list &stay::list() const noexcept { return lent_->list; }

std::uint32_t waiting_at(const void *address) noexcept {
    bucket &b = bucket_of(address);
    if (b.users.get() == 0) return 0;
    b.lock.lock();
    const lent_list *p = find(b, address);
    const std::uint32_t n = (p ? p->list.size() : 0) + b.spare.list.size();
    b.lock.unlock();
    return n;
}

void wake_one_at(const void *address) noexcept {
    wake(address, [](wait_list &l) { l.wake_one(); });
}
void wake_all_at(const void *address) noexcept {
    wake(address, [](wait_list &l) { l.wake_all(); });
}

} // namespace comity::sync
