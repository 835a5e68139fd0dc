// Barriers in the bytes of a pthread_barrier_t. README.md, "Barrier".
#include "personality/pthread/threads/sleeping_call.hpp"

namespace comity::posix {

namespace {

COMITY_NEXT_SYMBOL next<int (*)(pthread_barrier_t *, const pthread_barrierattr_t *, unsigned)> next_init{
    "pthread_barrier_init"};
COMITY_NEXT_SYMBOL next<int (*)(pthread_barrier_t *)> next_wait{"pthread_barrier_wait"};
COMITY_NEXT_SYMBOL next<int (*)(pthread_barrier_t *)> next_destroy{"pthread_barrier_destroy"};

class barrier {
public:
    void make(std::uint32_t number) noexcept {
        state_.store(0, std::memory_order_relaxed);
        inside_.store(0, std::memory_order_relaxed);
        number_ = number;
        mark_ = mark;
    }
    void make_the_c_librarys() noexcept { mark_ = 0; }
    static bool is_ours(const barrier &b) noexcept { return b.mark_ == mark; }

    // True for one of those who meet.
    bool wait() noexcept {
        (void)habit::before_wait();
        inside_.fetch_add(1, std::memory_order_relaxed);
        const std::uint32_t number = number_;
        std::uint64_t s = state_.load(std::memory_order_relaxed), to = 0;
        bool last = false;
        do {
            last = arrived_of(s) + 1 == number;
            to = last ? std::uint64_t{phase_of(s) + 1} << 32 : s + 1;
        } while (!state_.compare_exchange_weak(s, to, std::memory_order_acq_rel, // acq_rel[posix-barrier]
                                               std::memory_order_relaxed));
        if (last) {
            sync::wake_all_at(this);
        } else {
            const auto over = [this, phase = phase_of(s)]() noexcept {
                return phase_of(state_.load(std::memory_order_acquire)) != phase; // acquire[posix-barrier]
            };
            (void)wait_for(this, over, sys::no_deadline);
        }
        if (inside_.fetch_sub(1, std::memory_order_release) == 1) // release[posix-barrier-left]
            sync::wake_all_at(&inside_);
        return last;
    }
    // Waits until those who have met are gone. False: some still wait for others.
    bool end() noexcept {
        if (arrived_of(state_.load(std::memory_order_relaxed)) != 0) return false;
        const auto left = [this]() noexcept {
            return inside_.load(std::memory_order_acquire) == 0; // acquire[posix-barrier-left]
        };
        (void)sync::wait_at(&inside_, left, sys::no_deadline);
        mark_ = 0;
        return true;
    }

private:
    static constexpr std::uint64_t mark = 0x636f6d697479'62;
    static std::uint32_t arrived_of(std::uint64_t s) noexcept { return static_cast<std::uint32_t>(s); }
    static std::uint32_t phase_of(std::uint64_t s) noexcept { return static_cast<std::uint32_t>(s >> 32); }

    std::atomic<std::uint64_t> state_; // arrivals, and above them the phase, which may wrap
    std::atomic<std::uint32_t> inside_;
    std::uint32_t number_;
    [[maybe_unused]] std::uint64_t unused_;
    std::uint64_t mark_; // the C library's barriers have 20 bytes
};

// Null: the C library serves it, being shared between processes.
barrier *ours(pthread_barrier_t *b) noexcept {
    barrier &own = in<barrier>(b);
    return barrier::is_ours(own) ? &own : nullptr;
}

} // namespace
} // namespace comity::posix

using namespace comity::posix;

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): glibc's names are reserved ones

COMITY_INTERPOSED int pthread_barrier_init(pthread_barrier_t *b, const pthread_barrierattr_t *a, unsigned n) noexcept {
    int shared = PTHREAD_PROCESS_PRIVATE;
    if (a) pthread_barrierattr_getpshared(a, &shared);
    if (const int error = next_init.get()(b, a, n)) return error;
    shared == PTHREAD_PROCESS_PRIVATE && !is_aside() ? in<barrier>(b).make(n) : in<barrier>(b).make_the_c_librarys();
    return 0;
}
COMITY_INTERPOSED int pthread_barrier_wait(pthread_barrier_t *b) noexcept {
    barrier *own = ours(b);
    if (!own) return wait_on([b] { return next_wait.get()(b); }, call_ends::by_nothing);
    return own->wait() ? PTHREAD_BARRIER_SERIAL_THREAD : 0;
}
COMITY_INTERPOSED int pthread_barrier_destroy(pthread_barrier_t *b) noexcept {
    barrier *own = ours(b);
    if (!own) return next_destroy.get()(b);
    return own->end() ? 0 : EBUSY;
}

// NOLINTEND(readability-inconsistent-declaration-parameter-name)
