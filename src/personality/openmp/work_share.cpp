#include "personality/openmp/work_share.hpp"

#include <cstdlib>
#include <cstring>
#include <new>

#include "personality/openmp/team_wait.hpp"
#include "personality/openmp/thread.hpp"
#include "sys/message.hpp"

namespace comity::openmp {
namespace {

// How many constructs without a barrier a rank may be ahead of the slowest one.
constexpr std::uint64_t slots = 8;

enum phase : std::uint64_t { open = 0, filling = 1, ready = 2 };
constexpr std::uint64_t in_phase(std::uint64_t construct, phase p) { return 4 * construct + p; }

// Only by the ring's maker or when nobody is in a construct.
void open_slots(work_share *ring, std::uint64_t first_construct) noexcept {
    for (std::uint64_t k = first_construct; k < first_construct + slots; ++k)
        ring[k % slots].state.store(in_phase(k, open), std::memory_order_relaxed);
}

work_share *make_ring(team *t) noexcept {
    void *memory = nullptr;
    if (::posix_memalign(&memory, alignof(work_share), slots * sizeof(work_share)))
        sys::fatal("OpenMP", "no memory for a worksharing construct");
    auto *ring = static_cast<work_share *>(memory);
    for (std::uint64_t i = 0; i < slots; ++i) new (ring + i) work_share;
    open_slots(ring, t->shares);
    work_share *others = nullptr;
    // Publishes the slots, or sees another rank's: acq_rel[share-ring], acquire[share-ring].
    if (t->ring.compare_exchange_strong(others, ring, std::memory_order_acq_rel, std::memory_order_acquire))
        return ring;
    std::free(ring);
    return others;
}

work_share *ring_of(team *t) noexcept {
    work_share *ring = t->ring.load(std::memory_order_acquire); // acquire[share-ring]
    return ring ? ring : make_ring(t);
}

// Leaves alone the lines that the construct did not need, which are in other ranks' caches.
void empty_slot(work_share *share) noexcept {
    doacross &d = share->doacross;
    if (share->memory || share->reductions || d.progress || d.inner || d.loops) [[unlikely]] {
        std::free(share->memory);
        std::free(d.progress);
        std::free(d.inner);
        share->memory = nullptr;
        share->reductions = nullptr;
        d.progress = nullptr;
        d.inner = nullptr;
        d.loops = nullptr;
    }
    share->next.store(0, std::memory_order_relaxed);
    share->left.store(0, std::memory_order_relaxed);
    share->cancelled.store(false, std::memory_order_relaxed);
    if (share->turn.load(std::memory_order_relaxed) != 0) share->turn.store(0, std::memory_order_relaxed);
}

// The next construct's slot becomes t's, whatever its state.
work_share *take_slot(thread *t) noexcept {
    if (t->share) [[unlikely]] // that of a combined loop whose iterations the compiler dealt out itself
        leave_share(t);
    work_share *share = &ring_of(t->team)[t->shares++ % slots];
    t->share = share;
    t->loop = &share->loop;
    t->trip = 0;
    t->chunk_begin = t->chunk_end = 0;
    return share;
}

} // namespace

bool enter_share(thread *t) noexcept {
    const std::uint64_t construct = t->shares;
    work_share *share = take_slot(t);
    const team *tm = t->team;
    for (;;) {
        std::uint64_t state = share->state.load(std::memory_order_acquire); // acquire[share-ready]
        if (state == in_phase(construct, ready)) return false;
        if (state == in_phase(construct, open)) {
            // Sees that the former construct's data is gone: acquire[share-open].
            if (share->state.compare_exchange_strong(state, in_phase(construct, filling), std::memory_order_acquire,
                                                     std::memory_order_relaxed))
                return true;
            continue;
        }
        wait_for(tm, share->changed, [=] {
            const std::uint64_t now = share->state.load(std::memory_order_acquire); // acquire[share-ready]
            return now == in_phase(construct, ready) || now == in_phase(construct, open) ||
                   tm->cancelled.load(std::memory_order_relaxed);
        });
        if (tm->cancelled.load(std::memory_order_relaxed) &&
            share->state.load(std::memory_order_relaxed) < in_phase(construct, open)) {
            t->share = nullptr; // a rank that has left the region will never leave the slot
            return false;
        }
    }
}

void enter_shared_loop(thread *t, const loop &given) noexcept {
    if (!enter_share(t)) return;
    fill_loop(t, t->size, t->share, given);
    publish_share(t);
}

void enter_loop(thread *t, const loop &given) noexcept {
    if (given.kind == schedule_kind::runtime) return enter_shared_loop(t, given);
    const std::uint64_t construct = t->shares;
    work_share *share = take_slot(t);
    t->own_loop = given;
    settle(t, t->size, t->own_loop);
    t->loop = &t->own_loop;
    const auto is_open = [=] {
        return share->state.load(std::memory_order_acquire) >= in_phase(construct, open); // acquire[share-open]
    };
    if (is_open()) [[likely]]
        return;
    const team *tm = t->team;
    wait_for(tm, share->changed, [=] { return is_open() || tm->cancelled.load(std::memory_order_relaxed); });
    if (!is_open()) t->share = nullptr; // the region was cancelled
}

void publish_share(thread *t) noexcept {
    work_share *share = t->share;
    share->state.store(in_phase(t->shares - 1, ready), std::memory_order_release); // release[share-ready]
    if (t->team->size > 1) wake(t->team, share->changed);
}

void leave_share(thread *t) noexcept {
    work_share *share = t->share;
    if (!share) return;
    t->share = nullptr;
    leave(t->team, share);
}

void leave(team *tm, work_share *share) noexcept {
    // In a phase of its construct as long as a rank has not left.
    const std::uint64_t construct = share->state.load(std::memory_order_relaxed) / in_phase(1, open);
    // The last one sees what all have done with the slot: acq_rel[share-left].
    if (share->left.fetch_add(1, std::memory_order_acq_rel) + 1 != tm->size) return;
    empty_slot(share);
    share->state.store(in_phase(construct + slots, open), std::memory_order_release); // release[share-open]
    if (tm->size > 1) wake(tm, share->changed);
}

work_share *preset_share(team *t) noexcept {
    work_share *share = &ring_of(t)[t->shares % slots];
    // Starting the ranks publishes it.
    share->state.store(in_phase(t->shares, ready), std::memory_order_relaxed);
    return share;
}

// Every rank counts the single constructs that it met; the team counts those that were taken, which the ranks do in the
// same order. So the first rank at a construct is the one whose number the team's count still has.
bool take_single(thread *t) noexcept {
    std::uint64_t number = t->singles++;
    std::atomic<std::uint64_t> &taken = t->team->singles_taken;
    if (t->size == 1) {
        taken.store(number + 1, std::memory_order_relaxed);
        return true;
    }
    return taken.load(std::memory_order_relaxed) == number &&
           taken.compare_exchange_strong(number, number + 1, std::memory_order_relaxed);
}

void *share_memory(work_share *share, std::size_t size) noexcept {
    void *memory = nullptr;
    if (::posix_memalign(&memory, 64, size ? size : 1))
        sys::fatal("OpenMP", "no memory for %zu bytes of a worksharing construct", size);
    std::memset(memory, 0, size);
    return share->memory = memory;
}

void reset_ring(team *t) noexcept {
    work_share *ring = t->ring.load(std::memory_order_relaxed);
    if (!ring) return;
    for (std::uint64_t i = 0; i < slots; ++i) empty_slot(ring + i);
    open_slots(ring, t->shares);
}

void free_ring(team *t) noexcept {
    work_share *ring = t->ring.load(std::memory_order_relaxed);
    if (!ring) return;
    for (std::uint64_t i = 0; i < slots; ++i) empty_slot(ring + i);
    std::free(ring);
}

void wake_ring(team *t) noexcept {
    if (work_share *ring = t->ring.load(std::memory_order_acquire)) // acquire[share-ring]
        for (std::uint64_t i = 0; i < slots; ++i) ring[i].changed.wake_all();
    for (sync::wait_list &turn : t->turns) turn.wake_all();
}

} // namespace comity::openmp
