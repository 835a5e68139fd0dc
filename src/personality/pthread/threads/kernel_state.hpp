// What the kernel keeps for each kernel thread belongs to the thread that has set it (core/kernel_state.hpp): here is
// by which calls that can be. Both preload objects have it.
#pragma once

#include "core/alone.hpp"
#include "core/context_mask.hpp"
#include "core/kernel_state.hpp"
#include "personality/pthread/threads/system_call.hpp"
#include "personality/pthread/threads/vfork.hpp"
#include "sys/errno_kept.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <pthread.h>
#include <sched.h>

namespace comity::posix {

// What a system call changes of its calling thread's kernel state.
struct state_change {
    unsigned what = 0;    // bits of core::kernel_state; 0: it changes nothing
    unsigned ended = 0;   // of these: the thread has none of its own afterwards
    bool refused = false; // it is to change the first thread's, whose kernel thread carries others
    explicit operator bool() const noexcept { return what != 0; }
};
// By number and arguments. The argument by which the call names its calling thread is changed to 0.
using call_arguments = std::array<long, 6>;
state_change change_by(long number, call_arguments &arguments) noexcept;
// `nice` and the like, which have no such system call.
inline constexpr state_change changes_other{core::kernel_state::other, 0};

// Are these all CPUs that the process may use?
bool have_all_cpus(std::size_t size, const cpu_set_t *cpus) noexcept;

// The calling thread's state is what it has now. One of each preload object's.
void note_kernel_state() noexcept;
// core::become_alone, unless other threads of the program live. One of each preload object's.
bool become_alone() noexcept;

// Is the calling thread one that the first one's kernel thread may carry? One of each preload object's.
bool is_beside_first() noexcept;

// It cannot leave its hart: errno is EAGAIN.
void refuse_change() noexcept;
// Another thread asks for the first one: EPERM.
void refuse_for_first() noexcept;

template <class T> long word_of(T given) noexcept {
    if constexpr (std::is_pointer_v<T>)
        return reinterpret_cast<long>(given);
    else
        return static_cast<long>(given);
}
template <class T> T from_word(long word) noexcept {
    if constexpr (std::is_pointer_v<T>)
        return reinterpret_cast<T>(word);
    else
        return static_cast<T>(word);
}

// Has the calling thread change its state by call(), on a kernel thread of its own. What has_failed says of the result
// is undone. May switch.
template <class Result, class Call, class Failed>
Result change_state(state_change change, Result refused, Call call, Failed has_failed) noexcept {
    if (!change) return call();
    const unsigned before = core::own_kernel_state();
    if (change.ended == change.what && (before & change.what) == 0) return Result{}; // it has none, and needs none
    if (!core::begin_kernel_state(change.what)) return refuse_change(), refused;
    const Result result = call();
    const sys::errno_kept kept;
    core::end_kernel_state(has_failed(result) ? change.what & ~before : change.ended);
    note_kernel_state();
    return result;
}

// A kernel thread of the program's that has `what` of its own from its begin: by pthread_create (`create`).
using thread_function = void *(*)(void *);
using create_function = int (*)(pthread_t *, const pthread_attr_t *, thread_function, void *);
int create_with_state(create_function create, unsigned what, pthread_t *out, const pthread_attr_t *a,
                      thread_function fn, void *arg) noexcept;

// The same for a call by its number; one that the kernel makes only in a process of one kernel thread is made in one,
// if there are no others but Comity's, and these have nothing to do.
bool wants_one_thread(long number, const call_arguments &arguments) noexcept;
template <class Result, class Call>
Result change_by_number(long number, call_arguments &arguments, Call call) noexcept {
    const state_change change = change_by(number, arguments);
    if (change.refused) return refuse_for_first(), Result{-1};
    const bool wants_one = change && wants_one_thread(number, arguments), is_alone = wants_one && become_alone();
    if (wants_one && !is_alone) return call(); // the kernel says what is wrong
    const Result result = change_state(change, Result{-1}, call, [](Result r) { return r == -1; });
    const sys::errno_kept kept;
    if (is_alone) core::end_being_alone();
    return result;
}

// pthread_sigmask, by the kernel: what a full context blocks is its own from then on. Not in the child of a vfork.
template <class Next> int change_kernels_mask(Next next, int how, const sigset_t *to, sigset_t *before) noexcept {
    if (!to || in_vforked_child()) return next(how, to, before);
    sigset_t was;
    const int error = next(how, to, &was);
    if (error == 0 && before) *before = was;
    if (error == 0) core::note_own_mask(*reinterpret_cast<const std::uint64_t *>(&was));
    return error;
}

// The same as change_state for a function of the C library's that makes a system call with these arguments and returns
// -1 for an error.
template <class... Arguments> int change_by_call(long number, int (*next)(Arguments...), Arguments... given) noexcept {
    call_arguments words{word_of(given)...};
    const auto call = [&] {
        return [&]<std::size_t... I>(std::index_sequence<I...>) { return next(from_word<Arguments>(words[I])...); }
        (std::index_sequence_for<Arguments...>{});
    };
    return change_by_number<int>(number, words, call);
}

} // namespace comity::posix

extern "C" {
// What becomes of a number that `syscall` is called with.
enum : unsigned char { comity_passes_on = 0, comity_is_by_id, comity_may_wait_at_word, comity_may_change_state };
struct comity_kinds_of_calls {
    static constexpr long numbers = 512;
    unsigned char of[numbers];
};
[[gnu::visibility("hidden")]] extern const comity_kinds_of_calls comity_call_kinds;
// The last kind, with the arguments of `syscall`; none of these has a sixth.
[[gnu::visibility("hidden")]] long comity_state_call(long number, long a, long b, long c, long d, long e);
}
