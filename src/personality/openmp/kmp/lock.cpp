// omp_lock_t and omp_nest_lock_t of LLVM's headers, a pointer's size each: a simple lock needs four bytes, so gcc's
// variables will do as well, and a nested one is allocated. Both forms of the functions, Fortran's and C's, get the
// variable's address; the __kmpc_ ones what every entry gets, too.
#include "personality/openmp/kmp/abi.hpp"
#include "personality/openmp/nest_lock.hpp"
#include "personality/openmp/ompt/locks.hpp"

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
    COMITY_KMP void omp_##NAME##_with_hint(void *l, int hint) noexcept { __VA_ARGS__; }                                \
    COMITY_KMP void omp_##NAME##_with_hint_(void *l, const int *of) noexcept {                                         \
        const int hint = *of;                                                                                          \
        __VA_ARGS__;                                                                                                   \
    }                                                                                                                  \
    COMITY_KMP void __kmpc_##NAME##_with_hint(const ident *, i32, void *l, std::uintptr_t hint) noexcept {             \
        __VA_ARGS__;                                                                                                   \
    }
#define HERE COMITY_OMPT_HERE

LOCK_FUNCTION(void, init_lock, ompt::init_lock(l, 0, HERE))
LOCK_FUNCTION(void, destroy_lock, ompt::destroy_lock(l, HERE))
LOCK_FUNCTION(void, set_lock, ompt::set_lock(&as_lock(l), HERE))
LOCK_FUNCTION(void, unset_lock, ompt::unset_lock(&as_lock(l), HERE))
LOCK_FUNCTION(int, test_lock, return ompt::test_lock(&as_lock(l), HERE))
HINTED_FUNCTION(init_lock, ompt::init_lock(l, static_cast<u32>(hint), HERE))

LOCK_FUNCTION(void, init_nest_lock, nest_lock::make_at(l); ompt::nest_made(l, 0, HERE))
LOCK_FUNCTION(void, destroy_nest_lock, ompt::nest_destroyed(&as_nest(l), l, HERE); nest_lock::destroy_at(l))
LOCK_FUNCTION(void, set_nest_lock, ompt::set_nest(&as_nest(l), l, HERE))
LOCK_FUNCTION(void, unset_nest_lock, ompt::unset_nest(&as_nest(l), l, HERE))
LOCK_FUNCTION(int, test_nest_lock, return ompt::test_nest(&as_nest(l), l, HERE))
HINTED_FUNCTION(init_nest_lock, nest_lock::make_at(l); ompt::nest_made(l, static_cast<u32>(hint), HERE))
