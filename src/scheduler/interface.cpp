// The C interface (comity/scheduler.h).
#include "comity/scheduler.h"

#include "core/kernel_state.hpp"
#include "core/runtime.hpp"
#include "scheduler/work_stealing.hpp"
#include "sys/message.hpp"

#include <cerrno>

using namespace comity;
using scheduler::policy, scheduler::work_stealing;

namespace {

constexpr comity_scheduler_attr_t default_attributes{};

work_stealing *current_scheduler() noexcept {
    const core::carrier *k = core::current_carrier();
    if (!k || (!k->carried && !core::come_back())) return nullptr;
    const unit_scheduler::slot *w = work_of(k);
    return w ? static_cast<work_stealing *>(w->owner) : nullptr;
}

unit_scheduler::slot *work_here() noexcept {
    if (void *work = core::work_at_hand()) [[likely]]
        return static_cast<unit_scheduler::slot *>(work);
    const core::carrier *k = core::current_carrier();
    return k && k->carried ? work_of(k) : nullptr;
}

// What only a context may ask for: in a scheduler's callback the hart may have locks.
work_stealing *current_scheduler_of_context() noexcept {
    work_stealing *s = current_scheduler();
    return s && !core::on_transition(core::current_carrier()) ? s : nullptr;
}

} // namespace

extern "C" {

int comity_threads_begin_with(const comity_scheduler_attr_t *attr) {
    const comity_scheduler_attr_t &a = attr ? *attr : default_attributes;
    if (core::own_kernel_state() != 0) return EPERM; // which threads would have that the caller's kernel thread carries
    int error = 0;
    policy *p = scheduler::make_policy(a, error);
    if (error) return error;
    work_stealing *s = work_stealing::open(p);
    if (!s) return ENOMEM;
    s->set_most(a.most_harts);
    return 0;
}

int comity_scheduler_replace(const comity_scheduler_attr_t *attr) {
    const comity_scheduler_attr_t &a = attr ? *attr : default_attributes;
    if (!current_scheduler_of_context()) return EPERM;
    int error = 0;
    policy *p = scheduler::make_policy(a, error);
    if (error) return error;
    work_stealing *s = current_scheduler(); // init may have been anything
    s->replace(p);
    if (a.most_harts != 0) s->set_most(a.most_harts);
    return 0;
}

int comity_scheduler_set_harts(unsigned n) {
    work_stealing *s = current_scheduler_of_context();
    if (!s) return EPERM;
    s->set_most(n);
    return 0;
}

comity_scheduler_t *comity_scheduler_self(void) { return reinterpret_cast<comity_scheduler_t *>(current_scheduler()); }

void comity_scheduler_charge(size_t bytes) {
    unit_scheduler::slot *w = work_here();
    if (w && w->spend(bytes)) [[unlikely]]
        static_cast<work_stealing *>(w->owner)->charge(bytes);
}

void comity_scheduler_credit(size_t bytes) {
    unit_scheduler::slot *w = work_here();
    const std::int64_t most = w ? w->owner->quota.load(std::memory_order_relaxed) : 0;
    if (most == 0) return;
    const std::int64_t now = w->allowance.load(std::memory_order_relaxed),
                       left = bytes < static_cast<std::size_t>(most) ? now + static_cast<std::int64_t>(bytes) : most;
    w->allowance.store(left < most ? left : most, std::memory_order_relaxed);
}

void comity_scheduler_notify(comity_scheduler_t *s) {
    if (!s) sys::fatal("comity_scheduler_notify", "the scheduler is NULL");
    reinterpret_cast<work_stealing *>(s)->notify();
}

int comity_scheduler_get_info(comity_scheduler_info_t *info) {
    if (!info) return EINVAL;
    work_stealing *s = current_scheduler();
    if (!s) return EPERM;
    info->kind = s->kind();
    info->most_harts = s->most();
    info->harts = core::sched::harts_of(s->account.load(std::memory_order_relaxed));
    return 0;
}
}
