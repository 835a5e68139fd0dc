#include "core/callbacks.hpp"

#include "core/base.hpp"
#include "core/sched.hpp"
#include "sys/called_function.hpp"
#include "sys/clock.hpp"
#include "sys/message.hpp"

#include <atomic>
#include <utility>

namespace comity::core {

unsigned char update_callback_mark[1];
__thread bool stays_in_handler __attribute__((tls_model("initial-exec"))) = false;

namespace {

const comity_sched_callbacks_t &own(comity_sched_t *s) noexcept { return *unwrap(s)->callbacks_of_program; }

// The calling hart is lent to an update callback for as long as one lives. The callback neither stops nor is displaced,
// so the caller, who may have a pin or a list's lock, goes on where it was.
class lent_hart {
public:
    explicit lent_hart(const char *callback) noexcept : k_(current_carrier()) {
        if (!k_) return;
        settled_ = std::exchange(k_->settled, true);
        guest_ = std::exchange(k_->guest, update_mark());
        callback_ = std::exchange(k_->callback, callback);
        std::atomic_signal_fence(std::memory_order_seq_cst); // with the handler of displacement: seq_cst[settled]
    }
    ~lent_hart() {
        std::atomic_signal_fence(std::memory_order_seq_cst); // seq_cst[settled]
        if (!k_) return;
        k_->callback = callback_;
        k_->guest = guest_;
        k_->settled = settled_;
    }
    lent_hart(const lent_hart &) = delete;
    lent_hart &operator=(const lent_hart &) = delete;

private:
    carrier *k_; // null: a thread that Comity does not know
    bool settled_ = false;
    context *guest_ = nullptr;
    const char *callback_ = nullptr;
};

void register_child(comity_sched_t *s, comity_sched_t *child) {
    const lent_hart here("register_child");
    if (own(s).register_child) own(s).register_child(s, child);
}
void unregister_child(comity_sched_t *s, comity_sched_t *child) {
    const lent_hart here("unregister_child");
    if (own(s).unregister_child) own(s).unregister_child(s, child);
}
void request(comity_sched_t *s, comity_sched_t *child, int harts) {
    const lent_hart here("request");
    own(s).request(s, child, harts);
}
void unblock(comity_sched_t *s, comity_context_t *c) {
    const lent_hart here("unblock");
    own(s).unblock(s, c);
}

// Transfer callbacks run on the transition context, which nothing stops.
void enter(comity_sched_t *s) {
    current_carrier()->callback = "enter";
    own(s).enter(s);
}
void yield(comity_sched_t *s, comity_sched_t *child) {
    current_carrier()->callback = "yield";
    own(s).yield(s, child);
}
void block(comity_sched_t *s, comity_context_t *c) {
    current_carrier()->callback = "block";
    own(s).block(s, c);
}

// The holder may be ready in a scheduler around, whose queue this hart would come to next ("Callbacks", rule 5). The
// program's own schedulers are not called, nor those below one: its `request` may want the very lock.
void call_other_harts(const carrier *k) noexcept {
    sched *from = k->current_sched;
    for (sched *s = from; s != &base(); s = s->parent)
        if (s->callbacks == &callbacks_of_program) from = s->parent;
    for (sched *s = from; s != &base(); s = s->parent)
        if (s->hooks && s->hooks->hart_is_held) s->hooks->hart_is_held(s);
}

const char *name_of_callback(const carrier *k) noexcept { return k->callback ? k->callback : "pause"; }

} // namespace

constexpr comity_sched_callbacks_t callbacks_of_program{register_child, unregister_child, request, enter, yield,
                                                        block,          unblock};

void wait_in_place::pause() noexcept {
    constexpr std::uint32_t pauses_between_looks = 1024;
    backoff_.pause();
    if (++pauses_ % pauses_between_looks == 0) look_around();
}

// Others are called less and less often: the holder may be on a kernel thread, where nobody can help it.
void wait_in_place::look_around() noexcept {
    const carrier *k = current_carrier();
    const bool may_call = k && k->carried && (!k->settled || k->guest == update_mark());
    ++looks_;
    if (may_call && (looks_ & (looks_ - 1)) == 0) call_other_harts(k);
    look_at_time();
}

void wait_in_place::look_at_time() noexcept {
    constexpr std::int64_t long_ns = 10'000'000'000;
    const std::int64_t now = sys::now_ns();
    if (since_ == 0) since_ = now;
    if (now - since_ < long_ns || !in_callback()) return;
    since_ = INT64_MAX; // once
    sys::warn("%s: the callback `%s` of a scheduler has waited ten seconds for a lock; whoever holds a lock that "
              "callbacks take must not wait, nor stop, before it is unlocked",
              sys::called_function("a lock").name(), name_of_callback(current_carrier()));
}

void cannot_stop(const carrier *k) noexcept {
    const sys::called_function call("waiting");
    if (k->guest != update_mark() && k->transition.runs)
        sys::fatal(call.name(), "a stackless thread would have to wait, and nothing can stop it; use another technique "
                                "for threads that may wait");
    sys::fatal(call.name(),
               "the callback `%s` of a scheduler would have to wait, and nothing can stop it; a callback may lock a "
               "mutex for a moment, and wait for nothing else",
               name_of_callback(k));
}

} // namespace comity::core
