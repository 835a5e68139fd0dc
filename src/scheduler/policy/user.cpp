// As functions of the user's say.
#include "core/spinlock.hpp"
#include "scheduler/policy/policy.hpp"

#include <mutex>
#include <new>

namespace comity::scheduler {

namespace {

class user : public policy {
public:
    explicit user(const comity_scheduler_functions_t &f) noexcept : policy(COMITY_SCHEDULER_USER), f_(f) {}
    ~user() override {
        if (begun_ && f_.fini) f_.fini(state_);
    }
    int begin(void *arg) noexcept {
        state_ = arg;
        const int error = f_.init ? f_.init(arg, &state_) : 0;
        begun_ = error == 0;
        return error;
    }
    bool push(unit *u, occasion why) noexcept override {
        const auto turn = take_turn();
        return f_.push(state_, reinterpret_cast<comity_unit_t *>(u), static_cast<comity_occasion_t>(why)) == 0;
    }
    unit *pick() noexcept override {
        const auto turn = take_turn();
        return reinterpret_cast<unit *>(f_.pick(state_));
    }
    bool has_work() noexcept override {
        const auto turn = take_turn();
        return f_.has_work(state_) != 0;
    }
    bool takes_from(const comity_pool *) noexcept override { return true; } // only the user knows

private:
    std::unique_lock<core::spinlock> take_turn() noexcept {
        return f_.concurrent ? std::unique_lock(lock_, std::defer_lock) : std::unique_lock(lock_);
    }

    const comity_scheduler_functions_t f_;
    void *state_ = nullptr;
    bool begun_ = false;
    core::spinlock lock_;
};

} // namespace

policy *make_user(const comity_scheduler_attr_t &a, int &error) noexcept {
    if (!a.functions || !a.functions->push || !a.functions->pick || !a.functions->has_work) {
        error = EINVAL;
        return nullptr;
    }
    auto *p = new (std::nothrow) user(*a.functions);
    if (!p) return or_no_memory(p, error);
    error = p->begin(a.arg);
    if (!error) return p;
    delete p;
    return nullptr;
}

} // namespace comity::scheduler
