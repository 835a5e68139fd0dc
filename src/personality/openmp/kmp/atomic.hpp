// How the __kmpc_atomic_* entries are done: one read-modify-write for each type and operation.
//
// What fits a machine word is changed by the machine's own operation or by compare and exchange, so that these entries
// may be mixed with what the compiler does in place; larger types (80-bit floats, complex numbers of two doubles) have
// a lock for each size, as in the original: the compilers call these entries for every access to such a variable.
#pragma once

#include <cstring>
#include <type_traits>

#include "personality/openmp/kmp/abi.hpp"
#include "personality/openmp/lock.hpp"

namespace comity::openmp::kmp::atomic {

// Between the program's own accesses: acq_rel[program-atomic], acquire[program-atomic].
inline constexpr int changing = __ATOMIC_ACQ_REL, reading = __ATOMIC_ACQUIRE;

template <std::size_t> struct word_of;
template <> struct word_of<1> { using type = std::uint8_t; };
template <> struct word_of<2> { using type = std::uint16_t; };
template <> struct word_of<4> { using type = std::uint32_t; };
template <> struct word_of<8> { using type = std::uint64_t; };

template <class T> inline constexpr bool fits_word = sizeof(T) <= 8;

template <class To, class From> To bits(const From &from) noexcept {
    static_assert(sizeof(To) == sizeof(From));
    To to;
    std::memcpy(&to, &from, sizeof to);
    return to;
}

template <class T> struct both { T before, after; };

// x = f(x). The program's variable may lie anywhere, so addresses need not be aligned where the machine allows that.
template <class T, class F> both<T> change(T *x, F f) noexcept {
    if constexpr (fits_word<T>) {
        using word = typename word_of<sizeof(T)>::type;
        auto *at = reinterpret_cast<word *>(x);
        word old = __atomic_load_n(at, __ATOMIC_RELAXED);
        for (;;) {
            const T before = bits<T>(old), after = f(before);
            if (__atomic_compare_exchange_n(at, &old, bits<word>(after), true, changing, __ATOMIC_RELAXED))
                return {before, after};
        }
    } else {
        word_lock &lock = wide_atomics(sizeof(T));
        lock.lock();
        const T before = *x, after = f(before);
        *x = after;
        lock.unlock();
        return {before, after};
    }
}

template <class T> T read(const T *x) noexcept {
    if constexpr (fits_word<T>) {
        using word = typename word_of<sizeof(T)>::type;
        return bits<T>(__atomic_load_n(reinterpret_cast<const word *>(x), reading));
    } else {
        return change(const_cast<T *>(x), [](T value) { return value; }).before;
    }
}

template <class T> T exchange(T *x, T value) noexcept {
    if constexpr (fits_word<T>) {
        using word = typename word_of<sizeof(T)>::type;
        return bits<T>(__atomic_exchange_n(reinterpret_cast<word *>(x), bits<word>(value), changing));
    } else {
        return change(x, [value](T) { return value; }).before;
    }
}

// The operations, by the names that the entries have. W is the type in which they are computed, if not the operands'.
#define COMITY_ATOMIC_OPERATION(NAME, EXPRESSION)                                                                      \
    template <class W = void> struct NAME {                                                                            \
        template <class T, class R> static T of(T x, R y) noexcept {                                                   \
            using wide = std::conditional_t<std::is_void_v<W>, T, W>;                                                  \
            const wide a = static_cast<wide>(x), b = static_cast<wide>(y);                                             \
            return static_cast<T>(EXPRESSION);                                                                         \
        }                                                                                                              \
    };
COMITY_ATOMIC_OPERATION(add, a + b)
COMITY_ATOMIC_OPERATION(sub, a - b)
COMITY_ATOMIC_OPERATION(mul, a *b)
COMITY_ATOMIC_OPERATION(div, a / b)
COMITY_ATOMIC_OPERATION(andb, a &b)
COMITY_ATOMIC_OPERATION(orb, a | b)
COMITY_ATOMIC_OPERATION(xor_, a ^ b)
COMITY_ATOMIC_OPERATION(andl, a &&b)
COMITY_ATOMIC_OPERATION(orl, a || b)
COMITY_ATOMIC_OPERATION(eqv, a ^ ~b)
COMITY_ATOMIC_OPERATION(neqv, a ^ b)
COMITY_ATOMIC_OPERATION(shl, a << b)
COMITY_ATOMIC_OPERATION(shr, a >> b)
COMITY_ATOMIC_OPERATION(max, a < b ? b : a)
COMITY_ATOMIC_OPERATION(min, b < a ? b : a)
#undef COMITY_ATOMIC_OPERATION

template <class Operation, class T, class R> both<T> update(T *x, R y) noexcept {
    return change(x, [y](T value) { return Operation::of(value, y); });
}
// x = y op x
template <class Operation, class T, class R> both<T> update_reversed(T *x, R y) noexcept {
    return change(x, [y](T value) { return Operation::of(static_cast<T>(y), value); });
}
// Largest and smallest: nothing is written when x is that already.
template <class Operation, class T> both<T> extreme(T *x, T y) noexcept {
    if constexpr (fits_word<T>) {
        const T now = read(x);
        if (const T wanted = Operation::of(now, y); !std::memcmp(&wanted, &now, sizeof now)) return {now, now};
    }
    return update<Operation>(x, y);
}

template <class T> T captured(const both<T> &values, int after) noexcept {
    return after ? values.after : values.before;
}

} // namespace comity::openmp::kmp::atomic
