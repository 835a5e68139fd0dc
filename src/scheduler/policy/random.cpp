// Any unit, each as likely as the others, by a seed: for tests, since every order that it gives is one that may come.
#include "pool/random.hpp"
#include "scheduler/policy/one_pool.hpp"
#include "sys/options.hpp"

#include <new>

namespace comity::scheduler {

namespace {

class random : public one_pool<pool::locked<pool::private_random<unit>>> {
public:
    explicit random(std::uint64_t seed) noexcept : one_pool(COMITY_SCHEDULER_RANDOM) { pool_.set_seed(seed); }
};

std::uint64_t usual_seed() noexcept {
    const std::uint64_t chaos = sys::get_options().chaos;
    return chaos ? chaos : 1;
}

} // namespace

policy *make_random(const comity_scheduler_attr_t &a, int &error) noexcept {
    return or_no_memory(new (std::nothrow) random(a.seed ? a.seed : usual_seed()), error);
}

} // namespace comity::scheduler
