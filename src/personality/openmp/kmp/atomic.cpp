// The __kmpc_atomic_* entries, 340 of LLVM's and 166 more of Intel's: TYPE_OPERATION, with _cpt (gives the value from
// before or, by the flag, from after), _rev (the operands the other way round), a second type (that of the right
// operand), rd, wr, swp, compare and swap, and those that leave the operation to the program.
#include "personality/openmp/kmp/atomic.hpp"

using namespace comity::openmp;
using namespace comity::openmp::kmp;
using namespace comity::openmp::kmp::atomic;

using float4 = float;
using float8 = double;
using cmplx4 = __complex__ float;
using cmplx8 = __complex__ double;

#define UPDATE(NAME, T, R, CALL)                                                                                       \
    COMITY_KMP void __kmpc_atomic_##NAME(const ident *, int, T *x, R y) noexcept { (void)CALL; }
#define CAPTURE(NAME, T, R, CALL)                                                                                      \
    COMITY_KMP T __kmpc_atomic_##NAME(const ident *, int, T *x, R y, int after) noexcept {                             \
        return captured(CALL, after);                                                                                  \
    }
// Both, of an operation that the macro's user names as the entries do, and as the template above is called.
#define OPERATION(TYPE, T, NAME, TEMPLATE)                                                                             \
    UPDATE(TYPE##_##NAME, T, T, update<TEMPLATE<>>(x, y))                                                              \
    CAPTURE(TYPE##_##NAME##_cpt, T, T, update<TEMPLATE<>>(x, y))
#define REVERSED(TYPE, T, NAME, TEMPLATE)                                                                              \
    UPDATE(TYPE##_##NAME##_rev, T, T, update_reversed<TEMPLATE<>>(x, y))                                               \
    CAPTURE(TYPE##_##NAME##_cpt_rev, T, T, update_reversed<TEMPLATE<>>(x, y))
#define EXTREME(TYPE, T, NAME)                                                                                         \
    UPDATE(TYPE##_##NAME, T, T, extreme<atomic::NAME<>>(x, y))                                                         \
    CAPTURE(TYPE##_##NAME##_cpt, T, T, extreme<atomic::NAME<>>(x, y))
#define MIXED(TYPE, T, NAME, OTHER) UPDATE(TYPE##_##NAME##_##OTHER, T, OTHER, update<atomic::NAME<OTHER>>(x, y))
#define READ_WRITE(TYPE, T)                                                                                            \
    COMITY_KMP T __kmpc_atomic_##TYPE##_rd(const ident *, int, const T *x) noexcept { return read(x); }                \
    UPDATE(TYPE##_wr, T, T, exchange(x, y))
#define SWAP(TYPE, T)                                                                                                  \
    COMITY_KMP T __kmpc_atomic_##TYPE##_swp(const ident *, int, T *x, T y) noexcept { return exchange(x, y); }

// What the machine does in one instruction; the others are done by compare and exchange.
#define DIRECT(TYPE, T, NAME, BUILTIN, AFTER)                                                                          \
    COMITY_KMP void __kmpc_atomic_##TYPE##_##NAME(const ident *, int, T *x, T y) noexcept {                            \
        (void)__atomic_##BUILTIN(x, y, changing);                                                                      \
    }                                                                                                                  \
    COMITY_KMP T __kmpc_atomic_##TYPE##_##NAME##_cpt(const ident *, int, T *x, T y, int after) noexcept {              \
        const T before = static_cast<T>(__atomic_##BUILTIN(x, y, changing));                                           \
        return after ? AFTER<>::of(before, y) : before;                                                                \
    }

#define INTEGER(TYPE, T, U)                                                                                            \
    DIRECT(TYPE, T, add, fetch_add, atomic::add)                                                                       \
    DIRECT(TYPE, T, sub, fetch_sub, atomic::sub)                                                                       \
    DIRECT(TYPE, T, andb, fetch_and, andb)                                                                             \
    DIRECT(TYPE, T, orb, fetch_or, orb)                                                                                \
    DIRECT(TYPE, T, xor, fetch_xor, xor_)                                                                              \
    DIRECT(TYPE, T, neqv, fetch_xor, neqv)                                                                             \
    OPERATION(TYPE, T, mul, mul)                                                                                       \
    OPERATION(TYPE, T, div, atomic::div)                                                                               \
    OPERATION(TYPE, T, andl, andl)                                                                                     \
    OPERATION(TYPE, T, orl, orl)                                                                                       \
    OPERATION(TYPE, T, eqv, eqv)                                                                                       \
    OPERATION(TYPE, T, shl, shl)                                                                                       \
    OPERATION(TYPE, T, shr, shr)                                                                                       \
    OPERATION(TYPE##u, U, div, atomic::div)                                                                            \
    OPERATION(TYPE##u, U, shr, shr)                                                                                    \
    REVERSED(TYPE, T, sub, atomic::sub)                                                                                \
    REVERSED(TYPE, T, div, atomic::div)                                                                                \
    REVERSED(TYPE, T, shl, shl)                                                                                        \
    REVERSED(TYPE, T, shr, shr)                                                                                        \
    REVERSED(TYPE##u, U, div, atomic::div)                                                                             \
    REVERSED(TYPE##u, U, shr, shr)                                                                                     \
    EXTREME(TYPE, T, max)                                                                                              \
    EXTREME(TYPE, T, min)                                                                                              \
    MIXED(TYPE, T, mul, float8)                                                                                        \
    MIXED(TYPE, T, div, float8)                                                                                        \
    READ_WRITE(TYPE, T)                                                                                                \
    SWAP(TYPE, T)
INTEGER(fixed1, signed char, unsigned char)
INTEGER(fixed2, short, unsigned short)
INTEGER(fixed4, i32, u32)
INTEGER(fixed8, i64, u64)

#define FLOATING(TYPE, T)                                                                                              \
    OPERATION(TYPE, T, add, atomic::add)                                                                               \
    OPERATION(TYPE, T, sub, atomic::sub)                                                                               \
    OPERATION(TYPE, T, mul, mul)                                                                                       \
    OPERATION(TYPE, T, div, atomic::div)                                                                               \
    REVERSED(TYPE, T, sub, atomic::sub)                                                                                \
    REVERSED(TYPE, T, div, atomic::div)                                                                                \
    EXTREME(TYPE, T, max)                                                                                              \
    EXTREME(TYPE, T, min)                                                                                              \
    READ_WRITE(TYPE, T)                                                                                                \
    SWAP(TYPE, T)
FLOATING(float4, float)
FLOATING(float8, double)
MIXED(float4, float, add, float8)
MIXED(float4, float, sub, float8)
MIXED(float4, float, mul, float8)
MIXED(float4, float, div, float8)

#define COMPLEX(TYPE, T)                                                                                               \
    OPERATION(TYPE, T, add, atomic::add)                                                                               \
    OPERATION(TYPE, T, sub, atomic::sub)                                                                               \
    OPERATION(TYPE, T, mul, mul)                                                                                       \
    OPERATION(TYPE, T, div, atomic::div)                                                                               \
    REVERSED(TYPE, T, sub, atomic::sub)                                                                                \
    REVERSED(TYPE, T, div, atomic::div)                                                                                \
    READ_WRITE(TYPE, T)                                                                                                \
    SWAP(TYPE, T)
COMPLEX(cmplx8, cmplx8)
#if defined(__x86_64__) // long double has 80 bits
COMPLEX(cmplx10, __complex__ long double)
FLOATING(float10, long double)

// Numbers of four words: Intel's compilers have them as operands of all others too, by the suffix fp.
__extension__ using quad = __float128;
using cmplx_quad = __complex__ float __attribute__((mode(TC)));
COMPLEX(cmplx16, cmplx_quad)
FLOATING(float16, quad)

// x = y op x, computed as a quad.
template <class Operation, class T> both<T> update_reversed_by_quad(T *x, quad y) noexcept {
    return change(x, [y](T value) { return static_cast<T>(Operation::of(y, static_cast<quad>(value))); });
}
#define BY_QUAD(TYPE, T, NAME)                                                                                         \
    UPDATE(TYPE##_##NAME##_fp, T, quad, update<atomic::NAME<quad>>(x, y))                                              \
    CAPTURE(TYPE##_##NAME##_cpt_fp, T, quad, update<atomic::NAME<quad>>(x, y))
#define REVERSED_BY_QUAD(TYPE, T, NAME)                                                                                \
    UPDATE(TYPE##_##NAME##_rev_fp, T, quad, update_reversed_by_quad<atomic::NAME<quad>>(x, y))                         \
    CAPTURE(TYPE##_##NAME##_cpt_rev_fp, T, quad, update_reversed_by_quad<atomic::NAME<quad>>(x, y))
#define ALL_BY_QUAD(TYPE, T)                                                                                           \
    BY_QUAD(TYPE, T, add)                                                                                              \
    BY_QUAD(TYPE, T, sub)                                                                                              \
    BY_QUAD(TYPE, T, mul)                                                                                              \
    BY_QUAD(TYPE, T, div)                                                                                              \
    REVERSED_BY_QUAD(TYPE, T, sub)                                                                                     \
    REVERSED_BY_QUAD(TYPE, T, div)
ALL_BY_QUAD(fixed1, signed char)
ALL_BY_QUAD(fixed1u, unsigned char)
ALL_BY_QUAD(fixed2, short)
ALL_BY_QUAD(fixed2u, unsigned short)
ALL_BY_QUAD(fixed4, i32)
ALL_BY_QUAD(fixed4u, u32)
ALL_BY_QUAD(fixed8, i64)
ALL_BY_QUAD(fixed8u, u64)
ALL_BY_QUAD(float4, float)
ALL_BY_QUAD(float8, double)
ALL_BY_QUAD(float10, long double)
#endif

// Complex numbers of two floats give what they captured by an address.
#define COMPLEX_4(NAME, TEMPLATE)                                                                                      \
    UPDATE(cmplx4_##NAME, cmplx4, cmplx4, update<TEMPLATE<>>(x, y))                                                    \
    COMITY_KMP void __kmpc_atomic_cmplx4_##NAME##_cpt(const ident *, int, cmplx4 *x, cmplx4 y, cmplx4 *out,            \
                                                      int after) noexcept {                                            \
        *out = captured(update<TEMPLATE<>>(x, y), after);                                                              \
    }                                                                                                                  \
    MIXED(cmplx4, cmplx4, NAME, cmplx8)
#define COMPLEX_4_REVERSED(NAME, TEMPLATE)                                                                             \
    UPDATE(cmplx4_##NAME##_rev, cmplx4, cmplx4, update_reversed<TEMPLATE<>>(x, y))                                     \
    COMITY_KMP void __kmpc_atomic_cmplx4_##NAME##_cpt_rev(const ident *, int, cmplx4 *x, cmplx4 y, cmplx4 *out,        \
                                                          int after) noexcept {                                        \
        *out = captured(update_reversed<TEMPLATE<>>(x, y), after);                                                     \
    }
COMPLEX_4(add, atomic::add)
COMPLEX_4(sub, atomic::sub)
COMPLEX_4(mul, atomic::mul)
COMPLEX_4(div, atomic::div)
COMPLEX_4_REVERSED(sub, atomic::sub)
COMPLEX_4_REVERSED(div, atomic::div)
READ_WRITE(cmplx4, cmplx4)
COMITY_KMP void __kmpc_atomic_cmplx4_swp(const ident *, int, cmplx4 *x, cmplx4 y, cmplx4 *out) noexcept {
    *out = exchange(x, y);
}

// Compare and swap: `bool` says whether x was what is expected; `_cpt` stores what x is afterwards (with `bool`: only
// if it did not change); `val` gives what x was.
#define COMPARE_AND_SWAP(SIZE, T)                                                                                      \
    COMITY_KMP bool __kmpc_atomic_bool_##SIZE##_cas(const ident *, int, T *x, T expected, T wanted) noexcept {         \
        return __atomic_compare_exchange_n(x, &expected, wanted, false, changing, reading);                            \
    }                                                                                                                  \
    COMITY_KMP T __kmpc_atomic_val_##SIZE##_cas(const ident *, int, T *x, T expected, T wanted) noexcept {             \
        (void)__atomic_compare_exchange_n(x, &expected, wanted, false, changing, reading);                             \
        return expected;                                                                                               \
    }                                                                                                                  \
    COMITY_KMP bool __kmpc_atomic_bool_##SIZE##_cas_cpt(const ident *, int, T *x, T expected, T wanted,                \
                                                        T *value) noexcept {                                           \
        if (__atomic_compare_exchange_n(x, &expected, wanted, false, changing, reading)) return true;                  \
        *value = expected;                                                                                             \
        return false;                                                                                                  \
    }                                                                                                                  \
    COMITY_KMP T __kmpc_atomic_val_##SIZE##_cas_cpt(const ident *, int, T *x, T expected, T wanted,                    \
                                                    T *value) noexcept {                                               \
        const bool done = __atomic_compare_exchange_n(x, &expected, wanted, false, changing, reading);                 \
        *value = done ? wanted : expected;                                                                             \
        return expected;                                                                                               \
    }
COMPARE_AND_SWAP(1, signed char)
COMPARE_AND_SWAP(2, short)
COMPARE_AND_SWAP(4, i32)
COMPARE_AND_SWAP(8, i64)

// The program computes: combine(result, x, y).
using combine_function = void (*)(void *result, void *x, void *y);
#define BY_PROGRAM_WORD(SIZE, T)                                                                                       \
    COMITY_KMP void __kmpc_atomic_##SIZE(const ident *, int, T *x, void *y, combine_function combine) noexcept {       \
        (void)change(x, [=](T before) {                                                                                \
            T after;                                                                                                   \
            combine(&after, &before, y);                                                                               \
            return after;                                                                                              \
        });                                                                                                            \
    }
BY_PROGRAM_WORD(1, std::uint8_t)
BY_PROGRAM_WORD(2, std::uint16_t)
BY_PROGRAM_WORD(4, u32)
BY_PROGRAM_WORD(8, u64)

#define BY_PROGRAM_WIDE(SIZE, TYPE_SIZE)                                                                               \
    COMITY_KMP void __kmpc_atomic_##SIZE(const ident *, int, void *x, void *y, combine_function combine) noexcept {    \
        word_lock &lock = wide_atomics(TYPE_SIZE);                                                                     \
        lock.lock();                                                                                                   \
        combine(x, x, y);                                                                                              \
        lock.unlock();                                                                                                 \
    }
// 80-bit numbers take 16 bytes, complex ones 32; so do those that fill them.
BY_PROGRAM_WIDE(10, 16)
BY_PROGRAM_WIDE(16, 16)
BY_PROGRAM_WIDE(20, 32)
BY_PROGRAM_WIDE(32, 32)

// A section that excludes all others of its kind, libgomp's too.
COMITY_KMP void __kmpc_atomic_start() noexcept { atomic_sections.lock(); }
COMITY_KMP void __kmpc_atomic_end() noexcept { atomic_sections.unlock(); }
