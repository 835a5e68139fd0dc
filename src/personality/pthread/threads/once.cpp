// pthread_once, and spin locks whose waiters give the hart away.
#include "core/runtime.hpp"
#include "core/sched.hpp"
#include "personality/pthread/threads/thread.hpp"
#include "sync/lock_spin.hpp"
#include "sys/kernel_thread.hpp"

#include <utility>

namespace comity::posix {

namespace {

COMITY_NEXT_SYMBOL next<int (*)(pthread_spinlock_t *)> next_spin_trylock{"pthread_spin_trylock"};

class once {
public:
    void run(void (*function)()) {
        while (state_.load(std::memory_order_acquire) != done) { // acquire[posix-once]
            int s = fresh;
            if (state_.compare_exchange_strong(s, running(),
                                               std::memory_order_acquire, // acquire[posix-once]: who began and threw
                                               std::memory_order_relaxed)) {
                run_here(function);
                return;
            }
            if (s == done) continue;
            if (s != running() && s != fresh) { // a fork's parent was running it: the child begins anew
                state_.compare_exchange_strong(s, fresh, std::memory_order_relaxed, std::memory_order_relaxed);
                continue;
            }
            const auto over = [this]() noexcept {
                return state_.load(std::memory_order_acquire) != running(); // acquire[posix-once]
            };
            (void)wait_for(this, over, sys::no_deadline);
        }
    }

private:
    static constexpr int fresh = 0, done = 2;
    // As the C library: done is 2, and in the child of a fork what its parent was running is not running any more.
    static int running() noexcept;

    void run_here(void (*function)()) {
        // If the function throws, or the thread is cancelled in it, it counts as not called. A thread's cleanup handler
        // too: the stack of a function without unwind tables cannot be unwound up to here.
        struct leave {
            once &o;
            int to = fresh;
            bool left = false;
            _pthread_cleanup_buffer handler{};
            explicit leave(once &of) noexcept : o(of) {
                if (!current_thread) return;
                handler = {[](void *l) { static_cast<leave *>(l)->now(); }, this, 0, current_thread->cleanup_buffers};
                current_thread->cleanup_buffers = &handler;
            }
            ~leave() {
                thread *t = current_thread;
                if (t && t->cleanup_buffers == &handler) t->cleanup_buffers = handler.__prev;
                now();
            }
            leave(const leave &) = delete;
            leave &operator=(const leave &) = delete;
            void now() noexcept {
                if (std::exchange(left, true)) return;
                o.state_.store(to, std::memory_order_release); // release[posix-once]
                sync::wake_all_at(&o);
            }
        } l{*this};
        const programs_below function_below;
        function();
        l.to = done;
    }

    std::atomic<int> state_;
};
static_assert(sizeof(once) == sizeof(pthread_once_t));

int once::running() noexcept { return static_cast<int>(core::generation() << 2 | 1); }

} // namespace
} // namespace comity::posix

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): glibc's names are reserved ones

COMITY_INTERPOSED int pthread_once(pthread_once_t *o, void (*function)()) {
    comity::posix::in<comity::posix::once>(o).run(function);
    return 0;
}

// Its holder may be a thread that has no hart now. A handler may end the caller, whatever the header declares.
COMITY_INTERPOSED int own_spin_lock(pthread_spinlock_t *l) __asm__("pthread_spin_lock");
int own_spin_lock(pthread_spinlock_t *l) {
    for (unsigned spins = 1;; ++spins) {
        const int error = comity::posix::next_spin_trylock.get()(l);
        if (error != EBUSY) return error;
        if (spins == 1) comity::sync::give_turn();
        constexpr unsigned many = 200;
        if (spins % many != 0) {
            comity::sys::cpu_relax();
            continue;
        }
        comity::posix::deliver_here(); // a handler would not find it in the program's code
        comity::posix::give_way_to_threads();
        if (!comity::core::let_others_run()) comity::sys::yield_kernel_thread();
    }
}

COMITY_INTERPOSED int pthread_spin_trylock(pthread_spinlock_t *l) noexcept {
    return comity::posix::after_look(comity::posix::next_spin_trylock.get()(l));
}

COMITY_ALSO_NAMED(__pthread_once, pthread_once);

// NOLINTEND(readability-inconsistent-declaration-parameter-name)
