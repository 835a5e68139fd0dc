// omp_lock_t (4 bytes) and omp_nest_lock_t (16 bytes), and both as they were before OpenMP 3.0, when threads owned
// them, not tasks: the version nodes OMP_1.0.
#include <cstdlib>
#include <new>

#include "personality/openmp/gomp/abi.hpp"
#include "personality/openmp/gomp/omp_functions.hpp"
#include "personality/openmp/lock.hpp"
#include "personality/openmp/thread.hpp"
#include "sys/message.hpp"

using namespace comity::openmp;

// The names are given here, not by the definitions, for each has two versions; libgomp.map has the nodes.
#define VERSIONS(NAME)                                                                                                 \
    __asm__(".symver new_" #NAME "," #NAME "@@OMP_3.0\n.symver old_" #NAME "," #NAME "@OMP_1.0\n"                      \
            ".symver new_" #NAME "_," #NAME "_@@OMP_3.0\n.symver old_" #NAME "_," #NAME "_@OMP_1.0")

namespace {

// A task may take it again. `owner` and `count` belong to the holder.
struct nest_lock {
    word_lock lock;
    int count;
    const task *owner;

    bool is_mine() const noexcept {
        return lock.is_taken() && __atomic_load_n(&owner, __ATOMIC_RELAXED) == current()->task;
    }
    void take() noexcept {
        __atomic_store_n(&owner, current()->task, __ATOMIC_RELAXED);
        count = 1;
    }
};
static_assert(sizeof(nest_lock) <= sizeof(omp_nest_lock_t));

// The old one has room for the holder's number only.
struct old_nest_lock {
    word_lock lock;
    int count;
};
static_assert(sizeof(old_nest_lock) == 8);

// A number of its own for each thread that uses old nested locks; 30 bits.
std::uint32_t thread_number() noexcept {
    static std::atomic<std::uint32_t> given{0};
    static __thread std::uint32_t mine __attribute__((tls_model("initial-exec"))) = 0;
    if (!mine) mine = (given.fetch_add(1, std::memory_order_relaxed) + 1) & 0x3fffffff;
    return mine;
}

word_lock &as_lock(void *memory) noexcept { return *static_cast<word_lock *>(memory); }
old_nest_lock &as_old_nest(void *memory) noexcept { return *static_cast<old_nest_lock *>(memory); }

// C's nested lock is the argument; Fortran's variable (8 bytes) has only room for a pointer to it.
nest_lock &as_nest(void *memory) noexcept { return *static_cast<nest_lock *>(memory); }
nest_lock &as_fortran_nest(void *variable) noexcept { return **static_cast<nest_lock **>(variable); }

void set(nest_lock &l) noexcept {
    if (l.is_mine()) {
        ++l.count;
        return;
    }
    l.lock.lock();
    l.take();
}

void unset(nest_lock &l) noexcept {
    if (--l.count) return;
    __atomic_store_n(&l.owner, nullptr, __ATOMIC_RELAXED);
    l.lock.unlock();
}

int test(nest_lock &l) noexcept {
    if (l.is_mine()) return ++l.count;
    if (!l.lock.try_lock()) return 0;
    l.take();
    return 1;
}

void set(old_nest_lock &l) noexcept {
    if (l.lock.holder() != thread_number()) {
        l.lock.lock(thread_number());
        l.count = 0;
    }
    ++l.count;
}

void unset(old_nest_lock &l) noexcept {
    if (--l.count == 0) l.lock.unlock();
}

int test(old_nest_lock &l) noexcept {
    if (l.lock.holder() != thread_number()) {
        if (!l.lock.try_lock(thread_number())) return 0;
        l.count = 0;
    }
    return ++l.count;
}

void init_fortran_nest(void *variable) noexcept {
    auto *made = static_cast<nest_lock *>(std::calloc(1, sizeof(nest_lock)));
    if (!made) comity::sys::fatal("omp_init_nest_lock", "no memory");
    *static_cast<nest_lock **>(variable) = made;
}

void destroy_fortran_nest(void *variable) noexcept {
    std::free(*static_cast<nest_lock **>(variable));
    *static_cast<nest_lock **>(variable) = nullptr;
}

} // namespace

// A function in its four forms: C's and Fortran's, each of today and of before OpenMP 3.0. __VA_ARGS__ may use `l`.
#define FORM(PREFIX, RESULT, NAME, ...)                                                                                \
    COMITY_GOMP RESULT PREFIX##NAME(void *l) noexcept { __VA_ARGS__; }
#define FORMS(RESULT, NAME, C, FORTRAN, OLD)                                                                           \
    FORM(new_, RESULT, NAME, C)                                                                                        \
    FORM(new_, RESULT, NAME##_, FORTRAN)                                                                               \
    FORM(old_, RESULT, NAME, OLD)                                                                                      \
    FORM(old_, RESULT, NAME##_, OLD)                                                                                   \
    VERSIONS(NAME)

FORMS(void, omp_init_lock, new (l) word_lock, new (l) word_lock, new (l) word_lock);
FORMS(void, omp_destroy_lock, (void)l, (void)l, (void)l);
FORMS(void, omp_set_lock, as_lock(l).lock(), as_lock(l).lock(), as_lock(l).lock());
FORMS(void, omp_unset_lock, as_lock(l).unlock(), as_lock(l).unlock(), as_lock(l).unlock());
FORMS(int, omp_test_lock, return as_lock(l).try_lock(), return as_lock(l).try_lock(), return as_lock(l).try_lock());

FORMS(void, omp_init_nest_lock, new (l) nest_lock{}, init_fortran_nest(l), new (l) old_nest_lock{});
FORMS(void, omp_destroy_nest_lock, (void)l, destroy_fortran_nest(l), (void)l);
FORMS(void, omp_set_nest_lock, set(as_nest(l)), set(as_fortran_nest(l)), set(as_old_nest(l)));
FORMS(void, omp_unset_nest_lock, unset(as_nest(l)), unset(as_fortran_nest(l)), unset(as_old_nest(l)));
FORMS(int, omp_test_nest_lock, return test(as_nest(l)), return test(as_fortran_nest(l)), return test(as_old_nest(l)));
