// Calls in which the calling thread may sleep in the kernel: with its hart, until others need that, or without one.
// README.md, "Leaving the harts and coming back", 1, and "Signals", 7.
#pragma once

#include "core/callbacks.hpp"
#include "core/carrier.hpp"
#include "core/displacement.hpp"
#include "core/promotion.hpp"
#include "core/runtime.hpp"
#include "personality/pthread/threads/habit.hpp"
#include "personality/pthread/threads/thread.hpp"
#include "personality/pthread/threads/vfork.hpp"
#include "sys/clock.hpp"
#include "sys/errno_kept.hpp"

#include <cerrno>
#include <concepts>
#include <optional>

namespace comity::posix {

// A thread that is neither ours nor known to Comity, nor receives signals by us, or a handler that must not switch: its
// calls are the kernel's alone.
inline bool is_stranger() noexcept {
    return (!current_thread && !core::current_context() && !receiver_here()) || is_amid_comity() ||
           core::stays_in_handler;
}

// Does a handler that has run before the call end it, if it was set up to let calls begin anew (SA_RESTART)? What it
// does to one that sleeps the kernel knows: to it, all handlers are set up so.
enum class after_handler : bool { ends, begins_anew };

// In what manner a call is made.
struct manner {
    after_handler after = after_handler::begins_anew;
    // Where it sleeps it has done nothing yet, so that it can begin anew on another kernel thread: the hart is left
    // only once somebody needs it.
    bool dozes = false;
    const sigset_t *mask = nullptr; // the thread's meanwhile
    bool sleeps = true; // if it does, as far as is known, a handler that runs before it in here ends it, too
    const sys::moving_call *moving = nullptr; // it is ended when the thread is moved, too
};

// While it lives, a signal, or a request to cancel the thread, ends the call that it makes; or what else ends it.
class open_call {
public:
    open_call(receiver &r, timespec *limit, call_ends by = call_ends::by_handlers) noexcept
        : r_(r), call_{limit, r.call, by} {
        set(&call_);
    }
    ~open_call() { set(call_.outer); }
    open_call(const open_call &) = delete;
    open_call &operator=(const open_call &) = delete;

private:
    void set(interruptible_call *c) noexcept {
        r_.call = c;
        if (current_thread) note_cancellation(current_thread);
    }
    receiver &r_;
    interruptible_call call_;
};

// Until when a call may sleep, however often it begins anew.
inline std::int64_t end_of(const timespec *timeout) noexcept {
    return timeout ? sys::deadline_in(nanoseconds(*timeout)) : sys::no_deadline;
}
inline timespec time_left(std::int64_t end) noexcept {
    constexpr std::int64_t second = 1'000'000'000;
    const std::int64_t ns = end == sys::no_deadline ? end : end - sys::now_ns();
    return ns > 0 ? timespec{ns / second, ns % second} : timespec{};
}

// A call whose limit the kernel reads as it begins.
template <class Attempt> struct limited_call {
    Attempt attempt;
    std::int64_t end;
    timespec limit{};
    auto operator()() { return attempt(&limit); }
};
template <class Call> timespec *limit_of(Call &) noexcept { return nullptr; }
template <class Attempt> timespec *limit_of(limited_call<Attempt> &c) noexcept {
    c.limit = time_left(c.end);
    return &c.limit;
}

// A call that can tell whether what it waits for is there by now: look(). Then no handler that has run ends it: the
// kernel's own would not sleep either.
template <class Call, class Look> struct call_that_looks {
    Call call;
    Look look;
    auto operator()() { return call(); }
};
template <class Call, class Look> call_that_looks(Call, Look) -> call_that_looks<Call, Look>;
template <class Call> bool is_there(Call &) noexcept { return false; }
template <class Call, class Look> bool is_there(call_that_looks<Call, Look> &c) { return c.look(); }
template <class Call, class Look> timespec *limit_of(call_that_looks<Call, Look> &c) noexcept {
    return limit_of(c.call);
}

// A rank of a region, say, on a hart or promoted.
inline bool is_rank() noexcept {
    const core::context *c = core::current_context();
    return c && (!c->home || core::is_promoted(c)) && !receiver_here();
}

// While one makes a call, or a stranger: a handler ends it that was not set up to let calls begin anew. Did Comity end
// that of a rank, and no handler of the program's with it? Of others nobody knows who has.
class call_without_receiver {
public:
    call_without_receiver() noexcept : outer_(innermost_call) { innermost_call = this; }
    ~call_without_receiver() { innermost_call = outer_; }
    call_without_receiver(const call_without_receiver &) = delete;
    call_without_receiver &operator=(const call_without_receiver &) = delete;

    bool was_ended_for_nothing() const noexcept {
        return is_rank() && sys::comity_interruptions != interruptions_ && handled_on_kernel_thread == handled_;
    }

private:
    const void *outer_;
    std::uint32_t interruptions_ = sys::comity_interruptions, handled_ = handled_on_kernel_thread;
};

// Makes the call of who has no receiver. Others than ranks are told of what has interrupted them, but for a move.
template <class Call, class Result> void make_without_receiver(Call &call, Result &result, const manner &how) {
    for (const int error_before = errno;; errno = error_before) {
        (void)limit_of(call);
        const call_without_receiver here;
        result = call();
        const bool ended = result == -1 && errno == EINTR, has_moved = how.moving && how.moving->has_moved;
        if (!ended || !(has_moved || here.was_ended_for_nothing())) return;
    }
}

// Makes the call, and handlers run meanwhile. The thread may be interrupted for nothing: then it begins anew. errno is
// the call's. True: the thread is to be cancelled, and the call has done nothing.
template <class Call, class Result> bool make(Call &call, Result &result, const manner &how) {
    receiver *r = receiver_here();
    if (!r) return make_without_receiver(call, result, how), false;
    const auto ends = [&result] { return result = -1, errno = EINTR, false; };
    const std::uint32_t &handlers = how.after == after_handler::ends ? r->handled : r->handled_without_restart;
    const std::uint32_t seen = handlers, closed = r->numbers_closed;
    // A handler that has closed something may have closed what the call is about.
    const auto goes_on = [&] { return r->numbers_closed == closed && is_there(call); };
    const int error_before = errno;
    std::optional<mask_for_now> masked;
    if (how.mask) masked.emplace(*r, how.mask);
    for (;; errno = error_before) { // who was interrupted for nothing has not been told of an error
        deliver_here();
        if (handlers != seen && how.sleeps && !goes_on()) return ends();
        const std::uint32_t before = r->handled, without_restart = r->handled_without_restart;
        bool cancelled = false;
        {
            timespec *const limit = limit_of(call);
            const open_call here(*r, limit);
            cancelled = is_to_be_cancelled(*r);
            if (!cancelled) result = call();
            const int error = errno; // the thread's own, wherever it runs
            const bool ended = result == -1 && (error == EINTR || (limit && limit->tv_nsec < 0));
            if (!cancelled && !ended) return how.mask && handlers != seen ? ends() : false;
            cancelled = cancelled || is_to_be_cancelled(*r);
        }
        if (cancelled) return true;
        deliver_here();
        const bool has_moved = how.moving && how.moving->has_moved;
        const bool is_over = has_moved ? r->handled_without_restart != without_restart : r->handled != before;
        if (is_over && !goes_on()) return ends();
    }
}

// While it lives, the calling thread may sleep in the kernel, perhaps with its hart. Its end is also where the C
// library cancels the first thread in a call, and unwinds the stack.
class sleep_in_kernel {
public:
    sleep_in_kernel() noexcept : stays_away_(current_thread && habit::begins_sleep(*current_thread)) {}
    ~sleep_in_kernel() {
        if (!is_over_) core::stop_dozing();
    }
    sleep_in_kernel(const sleep_in_kernel &) = delete;
    sleep_in_kernel &operator=(const sleep_in_kernel &) = delete;
    void end() noexcept {
        const sys::errno_kept kept;
        is_over_ = true;
        stays_away_ ? core::stop_dozing() : come_home();
        if (thread *t = current_thread) habit::ends_sleep(*t);
    }

private:
    bool stays_away_, is_over_ = false;
};

// Makes a call. If it sleeps, as sleeps() tells, it is made without a hart; then the thread comes back. Should it sleep
// nevertheless, the watch sees to that.
template <std::invocable Sleeps, class Call> auto if_it_sleeps(Sleeps sleeps, Call call, manner how = {}) {
    if (is_stranger()) {
        const call_without_receiver here;
        (void)limit_of(call);
        return call();
    }
    test_cancel();
    deliver_here(); // a loop of such calls is seldom found outside of them
    decltype(call()) result{};
    const bool dozes = how.dozes && core::doze(), leaves = !dozes && current_thread && (is_away() || sleeps());
    how.sleeps = dozes || leaves || how.mask;
    if (how.dozes || leaves) core::note_call_that_sleeps();
    if (leaves) (void)leave_hart();
    if (!dozes && !leaves && current_thread && !how.mask) {
        if (make(call, result, how)) test_cancel();
        return result;
    }
    sleep_in_kernel asleep;
    const bool cancelled = make(call, result, how);
    asleep.end();
    const sys::errno_kept kept;
    deliver_here();
    if (cancelled) test_cancel();
    return result;
}
template <class Call> auto if_it_sleeps(bool sleeps, Call call, manner how = {}) {
    return if_it_sleeps([sleeps] { return sleeps; }, call, how);
}
template <class Call> auto without_hart(Call call, manner how = {}) { return if_it_sleeps(true, call, how); }
constexpr manner dozing{.dozes = true};

// A function of the C library that waits at an object which processes share, in system calls of its own. Handlers run
// meanwhile, but end nothing: it goes on, as where they interrupt it in the kernel. `limit` is the time up to which it
// waits, if a request to cancel the caller ends it (call_ends::by_requests): then that time is over.
template <class Call> auto wait_on(Call call, call_ends by, bool dozes = true, timespec *limit = nullptr) {
    receiver *r = receiver_here();
    if (!r || core::is_settled()) return call();
    const sys::errno_kept kept;
    deliver_here();
    if (!(dozes && core::doze()) && current_thread) (void)leave_hart();
    sleep_in_kernel asleep;
    decltype(call()) result{};
    {
        const open_call here(*r, limit, by);
        // One that came before might have found that it need not rouse anybody.
        if (is_to_be_cancelled(*r) && limit) *limit = {};
        if (is_to_be_cancelled(*r)) cancel_at_once();
        result = call();
    }
    asleep.end();
    deliver_here();
    return result;
}

// A function of the C library in which one of our threads waits for a time: wait(&until). A request to cancel the
// thread ends that as if the time were over, so there always is one. True: it was so, and the thread is not to be
// cancelled after all. `error` is the function's.
template <class Wait> bool is_asked_in(Wait wait, const timespec *deadline, int &error) {
    test_cancel();
    constexpr time_t never = time_t{1} << 33;
    const timespec given = deadline ? *deadline : timespec{never, 0};
    timespec limit = given;
    error = wait_on([&] { return wait(&limit); }, call_ends::by_requests, true, &limit);
    const bool was_asked = limit.tv_sec != given.tv_sec || limit.tv_nsec != given.tv_nsec;
    if (was_asked) test_cancel();
    return error == ETIMEDOUT && (was_asked || !deadline);
}

// While it lives, the caller is not cancelled.
class not_cancelled final : left_by_jump {
public:
    not_cancelled() noexcept : left_by_jump(receiver_here()) {
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_);
    }
    ~not_cancelled() { undo(); }
    void undo() noexcept final { pthread_setcancelstate(before_, nullptr); }

private:
    int before_ = PTHREAD_CANCEL_ENABLE;
};

// Calls that are no cancellation points: compilers know that they do not unwind. Who may be cancelled at any time, and
// the child of a vfork, make the C library's.
template <class Call, class Plain> auto make_uncancelled(Call call, Plain plain) -> decltype(plain()) {
    const bool ends_any_time = current_thread && current_thread->cancel_type == PTHREAD_CANCEL_ASYNCHRONOUS;
    if (!receiver_here() || ends_any_time || in_vforked_child()) return plain();
    const not_cancelled here;
    return call();
}

} // namespace comity::posix
