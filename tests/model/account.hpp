// The account of src/core/sched.hpp in 32 bits: harts, wanted, pins, closing.
#pragma once

#include "checker.hpp"

namespace model::account {

constexpr unsigned one_hart = 1, one_wanted = 1u << 8, one_pin = 1u << 16, closing = 1u << 31;
inline unsigned harts_of(unsigned a) { return a & 0xff; }
inline unsigned wanted_of(unsigned a) { return a >> 8 & 0xff; }
inline unsigned pins_of(unsigned a) { return a >> 16 & 0x7fff; }

inline bool reserve(atomic<unsigned> &account) {
    unsigned a = account.load(mo_relaxed, $);
    while (wanted_of(a) != 0 && !(a & closing))
        if (account.compare_exchange_weak(a, a - one_wanted + one_hart, mo_acq_rel, $, mo_relaxed,
                                          $)) // acq_rel[account]
            return true;
    return false;
}
inline void want(atomic<unsigned> &account, unsigned n) {
    unsigned a = account.load(mo_relaxed, $);
    while (wanted_of(a) < n && !(a & closing))
        if (account.compare_exchange_weak(a, a + (n - wanted_of(a)) * one_wanted, mo_acq_rel, $, mo_relaxed,
                                          $)) // acq_rel[account]
            return;
}
inline void want_none(atomic<unsigned> &account) {
    unsigned a = account.load(mo_relaxed, $);
    while (wanted_of(a) != 0 && !account.compare_exchange_weak(a, a - wanted_of(a) * one_wanted, mo_acq_rel, $,
                                                               mo_relaxed, $)) // acq_rel[account]
        ;
}

} // namespace model::account
