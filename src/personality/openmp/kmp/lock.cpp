// omp_lock_t and omp_nest_lock_t of LLVM's headers, a pointer's size each: a simple lock needs four bytes, so gcc's
// variables will do as well, and a nested one is allocated. Both forms of the functions, Fortran's and C's, get the
// variable's address; the __kmpc_ ones what every entry gets, too.
#include <new>

#include "personality/openmp/kmp/abi.hpp"
#include "personality/openmp/nest_lock.hpp"

using namespace comity::openmp;
using namespace comity::openmp::kmp;

namespace {
word_lock &as_lock(void *variable) noexcept { return *static_cast<word_lock *>(variable); }
nest_lock &as_nest(void *variable) noexcept { return nest_lock::at(variable); }
} // namespace

#define LOCK_FUNCTION(RESULT, NAME, ...)                                                                               \
    COMITY_KMP RESULT omp_##NAME(void *l) noexcept { __VA_ARGS__; }                                                    \
    COMITY_KMP RESULT omp_##NAME##_(void *l) noexcept { __VA_ARGS__; }                                                 \
    COMITY_KMP RESULT __kmpc_##NAME(const ident *, i32, void *l) noexcept { __VA_ARGS__; }
// A hint says how the lock will be used; there is one kind of lock.
#define HINTED_FUNCTION(NAME, ...)                                                                                     \
    COMITY_KMP void omp_##NAME##_with_hint(void *l, int) noexcept { __VA_ARGS__; }                                     \
    COMITY_KMP void omp_##NAME##_with_hint_(void *l, const int *) noexcept { __VA_ARGS__; }                            \
    COMITY_KMP void __kmpc_##NAME##_with_hint(const ident *, i32, void *l, std::uintptr_t) noexcept { __VA_ARGS__; }

LOCK_FUNCTION(void, init_lock, new (l) word_lock)
LOCK_FUNCTION(void, destroy_lock, (void)l)
LOCK_FUNCTION(void, set_lock, as_lock(l).lock())
LOCK_FUNCTION(void, unset_lock, as_lock(l).unlock())
LOCK_FUNCTION(int, test_lock, return as_lock(l).try_lock())
HINTED_FUNCTION(init_lock, new (l) word_lock)

LOCK_FUNCTION(void, init_nest_lock, nest_lock::make_at(l))
LOCK_FUNCTION(void, destroy_nest_lock, nest_lock::destroy_at(l))
LOCK_FUNCTION(void, set_nest_lock, as_nest(l).set())
LOCK_FUNCTION(void, unset_nest_lock, as_nest(l).unset())
LOCK_FUNCTION(int, test_nest_lock, return as_nest(l).test())
HINTED_FUNCTION(init_nest_lock, nest_lock::make_at(l))
