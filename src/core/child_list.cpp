#include "core/child_list.hpp"

namespace comity::core {

void child_list::put_first(sched *child) noexcept {
    child->next_wanting = first_;
    first_ = child;
}

void child_list::add(sched *child) noexcept {
    lock_.lock();
    if (!is_listed(child)) {
        child->listed.store(true, std::memory_order_relaxed);
        put_first(child);
        ++count_;
    }
    lock_.unlock();
}

sched *child_list::pick_oldest() noexcept {
    lock_.lock();
    sched *found = nullptr;
    while (first_ && !found) {
        sched **at = &first_;
        while ((*at)->next_wanting) at = &(*at)->next_wanting;
        sched *child = *at;
        if (child->reserve()) found = child;
        *at = nullptr;
        // While a child waits in the list the count does not say otherwise, not even for a moment: a hart that looks
        // then would go to sleep.
        if (found && sched::wanted_of(child->account.load(std::memory_order_relaxed)) != 0) {
            put_first(child);
        } else {
            child->listed.store(false, std::memory_order_release); // release[unlisted]
            --count_;
        }
    }
    lock_.unlock();
    return found;
}

void child_list::forget(sched *child) noexcept {
    // Most never asked for a hart. Nobody adds it any more, and who took it out has done with it.
    if (!child->listed.load(std::memory_order_acquire)) return; // acquire[unlisted]
    lock_.lock();
    take_out(child);
    lock_.unlock();
}

void child_list::take_out(sched *child) noexcept {
    for (sched **at = &first_; is_listed(child); at = &(*at)->next_wanting) {
        if (*at != child) continue;
        *at = child->next_wanting;
        child->listed.store(false, std::memory_order_relaxed);
        --count_;
        break;
    }
}

// Whoever wants a hart after this look adds the child after it.
void child_list::drop_if_content(sched *child) noexcept {
    if (empty()) return;
    lock_.lock();
    if (sched::wanted_of(child->account.load(std::memory_order_relaxed)) == 0) take_out(child);
    lock_.unlock();
}

bool child_list::one_starves() noexcept {
    lock_.lock();
    bool found = false;
    for (const sched *child = first_; child && !found; child = child->next_wanting) {
        const std::uint64_t a = child->account.load(std::memory_order_relaxed);
        found = sched::harts_of(a) == 0 && sched::wanted_of(a) != 0;
    }
    lock_.unlock();
    return found;
}

void child_list::drop_after_fork() noexcept {
    for (; first_; first_ = first_->next_wanting) first_->listed.store(false, std::memory_order_relaxed);
    count_.set(0);
    lock_.unlock();
}

} // namespace comity::core
