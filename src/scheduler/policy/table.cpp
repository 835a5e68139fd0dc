// The kinds of schedulers, in the order of comity_scheduler_kind_t.
#include "scheduler/policy/policy.hpp"
#include "sys/enumeration.hpp"

#include <array>

namespace comity::scheduler {

namespace {

constexpr std::array<policy_maker, 9> makers{nullptr, // work stealing
                                             make_fifo,  make_lifo, make_priority,        make_random,
                                             make_pools, make_user, make_space_efficient, make_df_deques};

} // namespace

policy *make_policy(const comity_scheduler_attr_t &a, int &error) noexcept {
    const unsigned which = sys::number_of(a.kind);
    error = which < makers.size() ? 0 : EINVAL;
    return error || !makers[which] ? nullptr : makers[which](a, error);
}

} // namespace comity::scheduler
