#include "core/input.hpp"

#include "core/chaos.hpp"
#include "core/runtime.hpp"
#include "core/spinlock.hpp"
#include "core/timer.hpp"
#include "sys/clock.hpp"
#include "sys/input_set.hpp"
#include "sys/message.hpp"
#include "sys/own_memory.hpp"

#include <bit>

namespace comity::core {

std::atomic<std::uint32_t> watched{0};

namespace {

sys::input_set set;
spinlock opening;                   // held while the set is opened, and over a fork
std::atomic<bool> is_broken{false}; // the program has closed the set's descriptors: it cannot be had again
std::atomic<void (*)(const void *)> wake_at{nullptr};
std::atomic<bool> has_sleeper{false}; // by whoever sets it

// ---- What is known of the descriptors

constexpr unsigned log_chunk = 10, chunks = 1024;
std::atomic<descriptor *> known[chunks];

descriptor *make_chunk(std::atomic<descriptor *> &in) noexcept {
    void *memory = sys::allocate_own_pages(sizeof(descriptor) << log_chunk); // of zeros, as a descriptor begins
    if (!memory) return nullptr;
    auto *made = static_cast<descriptor *>(memory);
    descriptor *there = nullptr;
    // Pages of own memory cannot be given back: the chunk of who was slower is lost, untouched.
    return in.compare_exchange_strong(there, made, std::memory_order_acq_rel) ? made : there; // acq_rel[descriptors]
}

// ---- The timers' thread looks while harts are busy and nobody sleeps for input.

constexpr std::int64_t look_ns = 1'000'000;
timer next_look;
std::atomic<bool> looks{false}; // whoever sets it has next_look

bool nobody_looks() noexcept { return awaits_input() && !has_sleeper.load(std::memory_order_relaxed); }

bool take_look() noexcept { return !looks.exchange(true, std::memory_order_acquire); } // acquire[input-looks]

void look(timer *) noexcept;
void look_soon() noexcept {
    next_look.at = sys::deadline_in(look_ns);
    next_look.serve = look;
    if (!arm(next_look)) looks.store(false, std::memory_order_release); // release[input-looks]
}

void look(timer *) noexcept {
    if (nobody_looks()) {
        look_for_input();
        return look_soon();
    }
    looks.store(false, std::memory_order_release);       // release[input-looks]
    std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[input-look]
    if (nobody_looks() && take_look()) look_soon();
}

bool open_set() noexcept {
    if (set.is_open()) return true;
    if (is_broken.load(std::memory_order_relaxed)) return false;
    opening.lock();
    const bool open = set.is_open() || set.open();
    opening.unlock();
    return open;
}

// ---- Who looks. A hart that hands input from thread to thread looks often; another one would only take the threads
// away from it, and, if it slept, be woken for each of them.

constexpr std::uint64_t looks_apart_us = 10, stays_busy_us = 100;
std::atomic<std::uint64_t> looked_at{0}; // ticks
std::atomic<const carrier *> looker{nullptr};

void note_look() noexcept {
    const carrier *k = current_carrier();
    if (looker.load(std::memory_order_relaxed) != k) looker.store(k, std::memory_order_relaxed);
    looked_at.store(sys::ticks(), std::memory_order_relaxed);
}

bool another_looked_within(std::uint64_t us) noexcept {
    return looker.load(std::memory_order_relaxed) != current_carrier() &&
           sys::ticks() - looked_at.load(std::memory_order_relaxed) < us * ticks_per_us();
}

// ---- Reports

void count_out(descriptor &d) noexcept {
    const bool was_watched = d.is_watched.exchange(false, std::memory_order_acq_rel); // acq_rel[input-counted]
    if (was_watched) watched.fetch_sub(1, std::memory_order_relaxed);
}

void raise(std::atomic<std::uint32_t> &reports) noexcept {
    reports.fetch_add(1, std::memory_order_release); // release[input-report]: after count_out
    if (const auto wake = wake_at.load(std::memory_order_relaxed)) wake(&reports);
}

// It has been closed under us, or a sandbox that came later refuses the call: who waits finds another way.
void give_up(int why) noexcept {
    if (is_broken.exchange(true, std::memory_order_relaxed)) return;
    if (why != sys::input_set::refused)
        sys::warn(
            "the program has closed descriptors that it did not open; threads that wait for input go on less well");
    for (std::atomic<descriptor *> &chunk : known)
        if (descriptor *of = chunk.load(std::memory_order_acquire)) // acquire[descriptors]
            for (unsigned i = 0; i < 1U << log_chunk; ++i) {
                count_out(of[i]);
                if (of[i].waiters.load(std::memory_order_relaxed) != 0) tell(of[i]);
            }
}

void tell_all(const int *fds, int n) noexcept {
    for (int i = 0; i < n; ++i) {
        descriptor *d = known_descriptor(fds[i]);
        if (!d) continue;
        count_out(*d);
        chaos_point();
        tell(*d);
    }
}

std::atomic<std::uint32_t> shared[shared_reports_most];

} // namespace

descriptor *known_descriptor(int fd) noexcept {
    const auto n = static_cast<unsigned>(fd);
    if (n >> log_chunk >= chunks) return nullptr;
    descriptor *of = known[n >> log_chunk].load(std::memory_order_acquire); // acquire[descriptors]
    return of ? of + n % (1U << log_chunk) : nullptr;
}

int next_known(int fd) noexcept {
    for (unsigned n = static_cast<unsigned>(fd); n >> log_chunk < chunks; n = ((n >> log_chunk) + 1) << log_chunk)
        if (known_descriptor(static_cast<int>(n))) return static_cast<int>(n);
    return -1;
}

descriptor *descriptor_of(int fd) noexcept {
    if (descriptor *d = known_descriptor(fd)) return d;
    const auto n = static_cast<unsigned>(fd);
    if (n >> log_chunk >= chunks) return nullptr;
    descriptor *of = make_chunk(known[n >> log_chunk]);
    return of ? of + n % (1U << log_chunk) : nullptr;
}

void tell(descriptor &d) noexcept {
    raise(d.reports);
    if (d.told_too.load(std::memory_order_seq_cst) == 0) return;            // seq_cst[input-shared]
    std::uint64_t also = d.told_too.exchange(0, std::memory_order_seq_cst); // seq_cst[input-shared]
    for (; also != 0; also &= also - 1) raise(shared[std::countr_zero(also)]);
}

std::atomic<std::uint32_t> &shared_reports(unsigned n) noexcept { return shared[n]; }

bool watch(int fd, descriptor &d, void (*wake)(const void *address), std::uint64_t also) noexcept {
    if (is_broken.load(std::memory_order_relaxed) || d.is_left_out.load(std::memory_order_relaxed) || !open_set())
        return false;
    wake_at.store(wake, std::memory_order_relaxed);
    if (also != 0) d.told_too.fetch_or(also, std::memory_order_seq_cst); // seq_cst[input-shared]
    chaos_point();
    const bool is_watched = d.is_watched.exchange(true, std::memory_order_acq_rel); // acq_rel[input-counted]
    if (!is_watched) watched.fetch_add(1, std::memory_order_relaxed);
    chaos_point();
    if (!set.watch(fd)) {
        count_out(d);
        return false;
    }
    note_served();
    return true;
}

bool leave_out(descriptor *epoll) noexcept {
    bool any = false;
    for (unsigned n = 0; n < chunks; ++n) {
        descriptor *of = known[n].load(std::memory_order_acquire); // acquire[descriptors]
        for (unsigned i = 0; of && i < 1U << log_chunk; ++i) {
            descriptor &d = of[i];
            if ((epoll && &d != epoll) || !d.is_epoll.load(std::memory_order_relaxed)) continue;
            if (d.is_left_out.exchange(true, std::memory_order_relaxed)) continue;
            set.forget(static_cast<int>(n << log_chunk | i));
            count_out(d);
            tell(d);
            any = true;
        }
    }
    return any;
}

bool is_for_watching(int fd) noexcept { return set.owns(fd); }

bool look_for_input() noexcept {
    if (!awaits_input() || is_broken.load(std::memory_order_relaxed)) return false;
    input_reports found;
    found.n = set.take(found.fds, false);
    if (found.n < 0) return give_up(found.n), true;
    tell_all(found.fds, found.n);
    return found.n != 0;
}

// Each look takes a lock in the kernel that whoever has something watched takes, too.
void look_in_others_stead() noexcept {
    if (another_looked_within(looks_apart_us)) return;
    note_look();
    look_for_input();
}

bool begin_sleeping_for_input() noexcept {
    return awaits_input() && !is_broken.load(std::memory_order_relaxed) && !another_looked_within(stays_busy_us) &&
           !has_sleeper.load(std::memory_order_relaxed) && !has_sleeper.exchange(true, std::memory_order_relaxed);
}

void sleep_for_input(input_reports &brought) noexcept { brought.n = set.take(brought.fds, true); }

void end_sleeping_for_input(const input_reports &brought) noexcept {
    has_sleeper.store(false, std::memory_order_relaxed);
    if (brought.n < 0) give_up(brought.n);
    tell_all(brought.fds, brought.n);
}

// The child has its own set, since the parent's reports would be lost to it, and nobody who waits.
void input_before_fork() noexcept { opening.lock(); }
void input_after_fork(bool in_child) noexcept {
    opening.unlock();
    if (!in_child) return;
    for (std::atomic<descriptor *> &chunk : known)
        if (descriptor *of = chunk.load(std::memory_order_relaxed))
            for (unsigned i = 0; i < 1U << log_chunk; ++i) {
                of[i].is_watched.store(false, std::memory_order_relaxed);
                of[i].told_too.store(0, std::memory_order_relaxed);
                of[i].waiters.store(0, std::memory_order_relaxed);
                of[i].closers.store(0, std::memory_order_relaxed);
            }
    if (!set.is_open()) return;
    set.close();
    watched.store(0, std::memory_order_relaxed);
    has_sleeper.store(false, std::memory_order_relaxed);
    if (!is_armed_in_child(next_look)) looks.store(false, std::memory_order_relaxed);
}

void wake_who_sleeps_for_input() noexcept { set.ring(); }

void note_served() noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[input-look]
    if (nobody_looks() && !looks.load(std::memory_order_relaxed) && take_look()) look_soon();
}

} // namespace comity::core
