// omp_lock_t (4 bytes) and omp_nest_lock_t (16 bytes), and both as they were before OpenMP 3.0, when threads owned
// them, not tasks: the version nodes OMP_1.0.
#include "personality/openmp/gomp/abi.hpp"
#include "personality/openmp/nest_lock.hpp"
#include "personality/openmp/ompt/locks.hpp"

using namespace comity::openmp;

// The names are given here, not by the definitions, for each has two versions; libgomp.map has the nodes.
#define VERSIONS(NAME)                                                                                                 \
    __asm__(".symver new_" #NAME "," #NAME "@@OMP_3.0\n.symver old_" #NAME "," #NAME "@OMP_1.0\n"                      \
            ".symver new_" #NAME "_," #NAME "_@@OMP_3.0\n.symver old_" #NAME "_," #NAME "_@OMP_1.0")

namespace {

static_assert(sizeof(nest_lock) == 16);

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
nest_lock &as_fortran_nest(void *variable) noexcept { return nest_lock::at(variable); }

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
        if (!l.lock.test(thread_number())) return 0;
        l.count = 0;
    }
    return ++l.count;
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

#define HERE COMITY_OMPT_HERE
#define ALIKE(RESULT, NAME, ...) FORMS(RESULT, NAME, __VA_ARGS__, __VA_ARGS__, __VA_ARGS__)

ALIKE(void, omp_init_lock, ompt::init_lock(l, 0, HERE));
ALIKE(void, omp_destroy_lock, ompt::destroy_lock(l, HERE));
ALIKE(void, omp_set_lock, ompt::set_lock(&as_lock(l), HERE));
ALIKE(void, omp_unset_lock, ompt::unset_lock(&as_lock(l), HERE));
ALIKE(int, omp_test_lock, return ompt::test_lock(&as_lock(l), HERE));

// A tool is not told of the old ones.
FORMS(void, omp_init_nest_lock, new (l) nest_lock{}; ompt::nest_made(l, 0, HERE), nest_lock::make_at(l);
      ompt::nest_made(l, 0, HERE), new (l) old_nest_lock{});
FORMS(void, omp_destroy_nest_lock, ompt::nest_destroyed(&as_nest(l), l, HERE),
      ompt::nest_destroyed(&as_fortran_nest(l), l, HERE);
      nest_lock::destroy_at(l), (void)l);
FORMS(void, omp_set_nest_lock, ompt::set_nest(&as_nest(l), l, HERE), ompt::set_nest(&as_fortran_nest(l), l, HERE),
      set(as_old_nest(l)));
FORMS(void, omp_unset_nest_lock, ompt::unset_nest(&as_nest(l), l, HERE), ompt::unset_nest(&as_fortran_nest(l), l, HERE),
      unset(as_old_nest(l)));
FORMS(int, omp_test_nest_lock, return ompt::test_nest(&as_nest(l), l, HERE),
      return ompt::test_nest(&as_fortran_nest(l), l, HERE), return test(as_old_nest(l)));
