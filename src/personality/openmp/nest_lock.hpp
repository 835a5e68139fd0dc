// Nested locks: the task that has one may take it again.
#pragma once

#include <cstdlib>
#include <new>

#include "personality/openmp/lock.hpp"
#include "personality/openmp/thread.hpp"
#include "sys/message.hpp"

namespace comity::openmp {

// All zero: free. `owner_` and `count_` belong to the holder; others may read who it is.
class nest_lock {
public:
    // Returns when the caller has the lock once more. `holder`: as a word_lock's. May switch.
    void set(std::uint32_t holder = 0) noexcept {
        if (is_mine()) {
            ++count_;
            return;
        }
        lock_.lock(holder);
        take();
    }

    // How often the caller has it now. Never switches.
    int unset() noexcept {
        if (--count_) return count_;
        __atomic_store_n(&owner_, nullptr, __ATOMIC_RELAXED);
        lock_.unlock();
        return 0;
    }

    // The same as set(); 0: somebody else has it. May switch where it fails.
    int test(std::uint32_t holder = 0) noexcept {
        if (is_mine()) return ++count_;
        if (!lock_.test(holder)) return 0;
        take();
        return 1;
    }

    // Where the program's variable has only room for a pointer to the lock.
    static nest_lock &at(void *variable) noexcept { return **static_cast<nest_lock **>(variable); }
    static void make_at(void *variable) noexcept {
        void *memory = std::calloc(1, sizeof(nest_lock));
        if (!memory) sys::fatal("omp_init_nest_lock", "no memory");
        *static_cast<nest_lock **>(variable) = new (memory) nest_lock;
    }
    static void destroy_at(void *variable) noexcept {
        std::free(*static_cast<nest_lock **>(variable));
        *static_cast<nest_lock **>(variable) = nullptr;
    }

    bool is_mine() const noexcept {
        return lock_.is_taken() && __atomic_load_n(&owner_, __ATOMIC_RELAXED) == current()->task;
    }

    const word_lock &word() const noexcept { return lock_; }

private:
    void take() noexcept {
        __atomic_store_n(&owner_, current()->task, __ATOMIC_RELAXED);
        count_ = 1;
    }

    word_lock lock_;
    int count_ = 0;
    const task *owner_ = nullptr;
};

} // namespace comity::openmp
