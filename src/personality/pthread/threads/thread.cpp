// Creation, joins, and what is asked of a thread.
#include "personality/pthread/threads/thread.hpp"
#include "personality/pthread/threads/sleeping_call.hpp"

#include "core/carrier.hpp"
#include "core/spinlock.hpp"
#include "core/tls/block.hpp"
#include "personality/pthread/threads/charge.hpp"
#include "personality/pthread/threads/kernel_state.hpp"
#include "personality/pthread/threads/own_mask.hpp"
#include "sys/float_modes.hpp"
#include "sys/loaded_objects.hpp"
#include "sys/memory.hpp"
#include "sys/message.hpp"
#include "sys/options.hpp"
#include "sys/process.hpp"
#include "sys/thread_locals.hpp"
#include "thread/own_storage.hpp"
#include "thread/thread.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include <sched.h>
#include <unistd.h>

namespace comity::posix {

__thread thread *current_thread __attribute__((tls_model("initial-exec"))) = nullptr;

namespace {

COMITY_NEXT_SYMBOL next<int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *)> next_create{
    "pthread_create"};
COMITY_NEXT_SYMBOL next<int (*)(pthread_t, void **)> next_join{"pthread_join"};
COMITY_NEXT_SYMBOL next<int (*)(pthread_t, void **)> next_tryjoin{"pthread_tryjoin_np"};
COMITY_NEXT_SYMBOL next<int (*)(pthread_t, void **, clockid_t, const timespec *)> next_clockjoin{
    "pthread_clockjoin_np"};
COMITY_NEXT_SYMBOL next<int (*)(pthread_t)> next_detach{"pthread_detach"};
COMITY_NEXT_SYMBOL next<pthread_t (*)()> next_self{"pthread_self"};
COMITY_NEXT_SYMBOL next<int (*)(const pthread_attr_t *)> next_setattr_default{"pthread_setattr_default_np"};

// ---- Their memory: one range of addresses, of which what was never used takes no memory.

// As many as there may be; where the address space is limited, a sixty-fourth of it.
std::size_t most_threads() noexcept {
    return std::min(std::size_t{1} << 20, sys::address_space_limit() / 64 / sizeof(thread));
}

core::spinlock memory_lock;
thread *free_threads = nullptr; // by next_free; under memory_lock, as is:
std::size_t made = 0;           // of the range
std::atomic<thread *> range{nullptr}, range_end{nullptr};

// How many tell a thread something; several threads share one, and the memory of threads that are gone keeps it.
std::atomic<std::uint32_t> tellers[64];
std::atomic<std::uint32_t> &tellers_of(const thread *t) noexcept {
    return tellers[reinterpret_cast<std::uintptr_t>(t) / sizeof(thread) % 64];
}

__attribute__((constructor(handlers_of_threads))) void at_load() noexcept {
    sys::find_all_next();
    (void)decide_whether_aside();
    const auto in_child = [] {
        memory_lock.unlock();
        for (std::atomic<std::uint32_t> &n : tellers) n.store(0, std::memory_order_relaxed); // they are not there
    };
    if (!sys::at_fork([] { memory_lock.lock(); }, [] { memory_lock.unlock(); }, in_child))
        sys::warn("no memory to prepare for fork: a child process must not create threads");
}

void renew(thread &t) noexcept {
    static_cast<threads_own &>(t) = {};
    t.joins.store(nullptr, std::memory_order_relaxed);
    t.kernel_thread.store(0, std::memory_order_relaxed);
    t.id.store(0, std::memory_order_relaxed);
    t.stack_bottom.store(nullptr, std::memory_order_relaxed);
    renew_receiver(t.signals);
}

thread *take_memory() noexcept {
    memory_lock.lock();
    thread *first = range.load(std::memory_order_relaxed), *t = free_threads;
    if (!first) {
        const std::size_t most = most_threads();
        first = static_cast<thread *>(sys::map_pages(most * sizeof(thread)));
        if (first) range_end.store(first + most, std::memory_order_relaxed);
        range.store(first, std::memory_order_relaxed);
    }
    const bool is_new = !t && first && first + made < range_end.load(std::memory_order_relaxed);
    if (t) free_threads = t->next_free;
    if (is_new) t = new (&first[made++]) thread;
    memory_lock.unlock();
    if (t && !is_new) renew(*t);
    return t;
}

void give_back_memory(thread *t) noexcept {
    t->state.store(0, std::memory_order_relaxed);
    memory_lock.lock();
    t->next_free = free_threads;
    free_threads = t;
    memory_lock.unlock();
}

// ---- Attributes

// What a thread of Comity's can be given; else it gets a kernel thread, by the C library.
struct wishes {
    bool detached = false, own_kernel_thread = false;
    unsigned kernel_state = 0; // that it has from its begin: its creator's, and what its attributes ask for
    std::size_t stack_size = 0, guard_size = 0; // 0: nothing is said
    bool mask_given = false;                    // else the creator's
    signal_set mask = 0;
};

// Has the program changed the attributes that a thread has when it is created without?
std::atomic<bool> default_changed{false};

wishes wishes_in(const pthread_attr_t *a) noexcept {
    wishes w;
    int number = 0;
    w.detached = pthread_attr_getdetachstate(a, &number) == 0 && number == PTHREAD_CREATE_DETACHED;
    int policy = SCHED_OTHER;
    const bool is_explicit = pthread_attr_getinheritsched(a, &number) == 0 && number == PTHREAD_EXPLICIT_SCHED;
    sched_param p{};
    if (is_explicit && pthread_attr_getschedpolicy(a, &policy) == 0 && pthread_attr_getschedparam(a, &p) == 0 &&
        (policy != SCHED_OTHER || p.sched_priority != 0)) // such a priority the C library refuses
        w.kernel_state |= core::kernel_state::policy;
    cpu_set_t cpus, all;
    std::memset(&all, 0xff, sizeof all);
    if (pthread_attr_getaffinity_np(a, sizeof cpus, &cpus) == 0 && !CPU_EQUAL(&cpus, &all))
        w.kernel_state |= core::kernel_state::cpus;
    void *bottom = nullptr;
    std::size_t size = 0;
    const bool stack_given =
        pthread_attr_getstack(a, &bottom, &size) == 0 && reinterpret_cast<std::uintptr_t>(bottom) + size != 0;
    if (stack_given) w.own_kernel_thread = true; // the program's memory
    (void)pthread_attr_getstacksize(a, &w.stack_size);
    const auto page = static_cast<std::size_t>(::getpagesize()); // what ours have
    if (pthread_attr_getguardsize(a, &w.guard_size) == 0 && w.guard_size > page) w.own_kernel_thread = true;
#if __GLIBC_PREREQ(2, 32)
    sigset_t mask;
    if (pthread_attr_getsigmask_np(a, &mask) == 0) {
        w.mask_given = true;
        w.mask = set_of(&mask);
    }
#endif
    return w;
}

wishes wishes_by(const pthread_attr_t *a) noexcept {
    if (a) return wishes_in(a);
    pthread_attr_t changed;
    if (!default_changed.load(std::memory_order_relaxed) || pthread_getattr_default_np(&changed) != 0) return {};
    const wishes w = wishes_in(&changed);
    (void)pthread_attr_destroy(&changed);
    return w;
}

wishes wishes_of(const pthread_attr_t *a) noexcept {
    wishes w = wishes_by(a);
    w.kernel_state |= core::own_kernel_state();
    w.own_kernel_thread = w.own_kernel_thread || w.kernel_state != 0;
    return w;
}

std::atomic<bool> go_is_there{false};

// Is there Go's runtime now that a thread is created with this function? It creates its first one as it is loaded.
bool brings_go(void *(*fn)(void *)) noexcept {
    static std::atomic<void *(*)(void *)> known{nullptr}; // most are created with the same function
    if (comity::posix::has_go()) return true;
    if (fn == known.load(std::memory_order_relaxed)) return false;
    const bool is_go = sys::has_note_by("Go", reinterpret_cast<const void *>(fn));
    if (!is_go) return known.store(fn, std::memory_order_relaxed), false;
    if (!go_is_there.exchange(true, std::memory_order_relaxed) && (the_scheduler() || receiver_here()))
        sys::warn("Go's runtime was loaded after signals or threads had become Comity's; it may fail: run the program "
                  "with --no-posix");
    return true;
}

// Under COMITY_VERBOSE a process says once of either kind that it creates such threads: whose they are cannot be seen
// from outside.
void say_once(std::atomic<bool> &said, const char *what) noexcept {
    if (sys::get_options().verbose && !said.exchange(true, std::memory_order_relaxed))
        sys::warn("pthread_create: %s", what);
}

std::atomic<bool> said_ours{false}, said_kernel{false};

// ---- The thread's life

void *run(void *data) {
    thread *t = *static_cast<thread **>(data);
    const core::context *c = core::current_context();
    renew_own_storage();
    if (sys::float_environment() != t->floating)
        sys::set_float_environment(t->floating); // those of who was here before
    current_thread = t;
    t->frame = __builtin_frame_address(0);
    if (const core::tls_block *block = c->tls) {
        t->stack_size = static_cast<std::size_t>(block->stack_top - block->stack_bottom);
        t->stack_bottom.store(block->stack_bottom, std::memory_order_release); // release[posix-stack]
        t->id.store(block->kernel_id, std::memory_order_relaxed);
    }
    begin_cpu_time(*t, core::current_context());
    t->signals.base = reinterpret_cast<std::uintptr_t>(t->frame);
    open_receiver(t->signals);
    t->in_program = true;
    begin_charging();
    deliver_here();
    void *result = t->fn(t->arg);
    deliver_here(); // perhaps nobody else takes it
    t->result = result;
    finish(t);
    return result;
}

// May a thread that starts find no memory for its stack, or no kernel thread that lends its storage? Then it has them
// from its creation, which says so: EAGAIN.
bool memory_may_be_missing() noexcept {
    constexpr std::size_t few_threads = 256;
    return sys::made_once(
               [] { return sys::address_space_limit() != SIZE_MAX || sys::kernel_thread_limit() < few_threads; }) ||
           comity::contexts_were_missing();
}

// Who has no receiver has the kernel's; but that is open where a rank is from when the first thread's is not the
// kernel's any more.
signal_set first_mask(const wishes &w) noexcept {
    if (w.mask_given) return w.mask;
    if (const receiver *r = receiver_here()) return r->blocked.load(std::memory_order_relaxed);
    const receiver *first = is_rank() ? first_receiver_if(first_thread_handle()) : nullptr;
    return sys::blocked_signals() | (first ? first->blocked.load(std::memory_order_relaxed) : 0);
}

int create(thread *t, const wishes &w) noexcept {
    bool inside = false;
    if (!open_scheduler(inside)) return EAGAIN;
    t->signals.blocked.store(first_mask(w), std::memory_order_relaxed);
    t->floating = sys::float_environment();
    // release[posix-thread-state]: from here on its mask counts, although it has not started
    t->state.store(thread::in_use | (w.detached ? thread::detached : 0), std::memory_order_release);
    comity_thread_attr_t a{};
    a.technique = memory_may_be_missing() ? COMITY_TECHNIQUE_FULL : COMITY_TECHNIQUE_FULL_L;
    a.own_tls = storage_of_creator;
    if (w.stack_size > sys::get_options().stack_size) a.stack_size = w.stack_size;
    a.detached = w.detached;
    a.unwinds = 1;
    void *data = nullptr;
    int error = inside ? comity_thread_prepare(&t->handle, &a, run, &data)
                       : comity_thread_prepare_under(the_scheduler(), &t->handle, &a, run, &data);
    if (error != 0) return error;
    *static_cast<thread **>(data) = t;
    count_living(1);
    comity_thread_t *handle = t->handle; // it may be over before the launch returns
    error = inside ? comity_thread_launch(handle) : comity_thread_launch_under(handle, the_scheduler(), nullptr);
    if (error == 0) return 0;
    count_living(-1);
    comity_thread_discard(handle);
    return error;
}

// ---- Joins

// The program's first thread, as those see it who join it: it ends when it leaves to the others. If it is to be
// cancelled, it ends as the C library has it.
constinit thread first_thread{{}, {thread::in_use}};

thread *joined_as(pthread_t t) noexcept {
    thread *own = thread_of(t);
    return own || !first_receiver_if(t) ? own : &first_thread;
}

// Null: the caller is a kernel thread of the program's.
thread *joining_thread() noexcept { return current_thread ? current_thread : joined_as(next_self.get()()); }

// The end of whom the caller waits for waits for the caller's own? Not for long, if it is to be cancelled.
bool would_wait_for_itself(thread *t) noexcept {
    thread *caller = joining_thread();
    if (!caller) return false;
    if (t == caller) return true;
    return t->joins.load(std::memory_order_relaxed) == caller &&
           !t->signals.to_be_cancelled.load(std::memory_order_relaxed);
}

// Adds `joined` or `detached`: nobody else may join or detach it then. 0, or why that cannot be; `before` is the state.
int claim(thread *t, std::uint32_t as, std::uint32_t &before) noexcept {
    before = t->state.load(std::memory_order_relaxed);
    do {
        if (!(before & thread::in_use)) return ESRCH;
        if (before & (thread::detached | thread::joined)) return EINVAL;
    } while (!t->state.compare_exchange_weak(before, before | as,
                                             std::memory_order_acq_rel, // acq_rel[posix-thread-state]
                                             std::memory_order_relaxed));
    return 0;
}

// Something may end the wait: a handler, or, of the first thread, the C library; else the join does it better. In the
// order work_stealing a thread that has not started may be in the joiner's own queue, and run at once.
bool must_wait_here(const thread *t) noexcept {
    if (may_be_signalled() || t == &first_thread || t->stays) return true;
    if (current_thread || !receiver_here()) return false;
    return t->signals.context.load(std::memory_order_relaxed) ||
           sys::get_options().order != sys::posix_order::work_stealing;
}

// Handlers run while it waits. The thread has been claimed by the caller. 0, ETIMEDOUT or ECANCELED.
int await_end(thread *t, std::int64_t deadline) {
    if (!must_wait_here(t)) return 0;
    const auto has_ended = [t]() noexcept {
        const std::uint32_t state = t->state.load(std::memory_order_acquire); // acquire[posix-thread-state]
        return (state & thread::ended) != 0;
    };
    if (t->state.fetch_or(thread::awaited, std::memory_order_acq_rel) & thread::ended)
        return 0; // acq_rel[posix-thread-state]
    for (;;) {
        switch (wait_or_signal<true>(t, has_ended, deadline)) {
        case signalled_wait::done:
            return 0;
        case signalled_wait::late:
            return ETIMEDOUT;
        case signalled_wait::cancelled:
            return ECANCELED;
        case signalled_wait::signalled:
            break;
        }
    }
}

template <class Join> int join(thread *t, void **result, std::int64_t deadline, Join do_join) {
    begin_signals();
    come_home();
    test_cancel();
    if (would_wait_for_itself(t)) return EDEADLK;
    std::uint32_t before = 0;
    if (const int error = claim(t, thread::joined, before)) return error;
    thread *caller = joining_thread();
    if (caller) caller->joins.store(t, std::memory_order_relaxed);
    int error = await_end(t, deadline);
    const bool stays = t->stays || t == &first_thread;
    if (error == 0 && stays && result) *result = t->result;
    if (error == 0 && !stays) error = do_join(t->handle);
    if (caller) caller->joins.store(nullptr, std::memory_order_relaxed);
    if (error == 0) {
        if (t != &first_thread) give_back_memory(t);
        return 0;
    }
    t->state.fetch_and(~thread::joined, std::memory_order_relaxed);
    if (error == ECANCELED) act_upon(signalled_wait::cancelled); // the flag that test_cancel reads may come later
    return error;
}

// Of a thread of the C library's, which has a kernel thread of its own. The C library sees to it that others than our
// threads are cancelled while they wait.
int join_librarys(pthread_t t, void **result, clockid_t clock, const timespec *time) {
    if (!current_thread) return time ? next_clockjoin.get()(t, result, clock, time) : next_join.get()(t, result);
    const auto wait = [=](const timespec *until) { return next_clockjoin.get()(t, result, clock, until); };
    int error = 0;
    while (is_asked_in(wait, time, error)) {
    }
    return error;
}

} // namespace

thread *thread_of(pthread_t t) noexcept {
    auto *p = reinterpret_cast<thread *>(t);
    thread *first = range.load(std::memory_order_relaxed);
    return first && p >= first && p < range_end.load(std::memory_order_relaxed) ? p : nullptr;
}

alive::alive(const thread *t) noexcept : count_(tellers_of(t)) {
    count_.fetch_add(1, std::memory_order_seq_cst);    // seq_cst[posix-alive]
    state_ = t->state.load(std::memory_order_seq_cst); // seq_cst[posix-alive]
}
alive::~alive() { count_.fetch_sub(1, std::memory_order_seq_cst); } // seq_cst[posix-alive]

// A thread of Comity's that is none of ours has other data.
thread *thread_on(const core::context *c) noexcept {
    auto *handle = static_cast<comity_thread *>(c->runs);
    return handle->fn == run ? *reinterpret_cast<thread **>(static_cast<comity::thread *>(handle)->rest().data)
                             : nullptr;
}

bool has_go() noexcept { return go_is_there.load(std::memory_order_relaxed); }

bool visit_threads(bool (*visit)(thread &, void *), void *argument) noexcept {
    memory_lock.lock();
    thread *first = range.load(std::memory_order_relaxed), *end = first + made;
    memory_lock.unlock();
    for (thread *t = first; t != end; ++t) {
        const std::uint32_t s = t->state.load(std::memory_order_acquire); // acquire[posix-thread-state]
        if ((s & thread::in_use) && !(s & thread::ended) && visit(*t, argument)) return true;
    }
    return false;
}

unsigned number_of(const thread &t) noexcept {
    return static_cast<unsigned>(&t - range.load(std::memory_order_relaxed));
}

thread *thread_with_number(unsigned number) noexcept {
    memory_lock.lock();
    thread *t = number < made ? range.load(std::memory_order_relaxed) + number : nullptr;
    memory_lock.unlock();
    return t;
}

pthread_t self() noexcept {
    thread *t = current_thread;
    return t ? handle_of(t) : next_self.get()();
}

// Its state says that it has ended before its memory can be anybody else's.
void finish(thread *t) noexcept {
    t->ending = true;
    note_cancellation(t);
    const programs_below destructors;
    comity_thread_set_cancel(0); // a request does not end it twice
    (void)sys::destroy_thread_locals();
    end_keys();
    (void)sys::destroy_thread_locals(); // what the keys' destructors have made
    end_charging();
    // The kernel tells of those that it still holds, when its storage's kernel thread ends.
    if (t->is_known_owner) core::current_context()->tls->used_up = true;
    if (t->id_was_told) core::current_context()->tls->id_was_told = true;
    t->in_program = false; // it is not displaced from here on
    close_receiver(t->signals);
    if (core::own_kernel_state() != 0)
        leave_kernel_state(*t);
    else
        come_home();
    count_living(-1); // it may be the end of the process
    current_thread = nullptr;
    const bool stays = t->stays;
    // seq_cst[posix-alive], acq_rel[posix-thread-state]
    const std::uint32_t before = t->state.fetch_or(thread::ended, std::memory_order_seq_cst);
    while (tellers_of(t).load(std::memory_order_seq_cst) != 0) sys::yield_kernel_thread(); // seq_cst[posix-alive]
    close_receiver(t->signals); // what they have sent meanwhile
    if (before & thread::awaited) sync::wake_all_at(t);
    if (before & thread::detached) give_back_memory(t);
    if (stays) end_with_others();
}

void note_first_cancelled() noexcept { first_thread.signals.to_be_cancelled.store(true, std::memory_order_relaxed); }

void end_first_thread(void *result) noexcept {
    (void)sys::destroy_thread_locals();
    end_keys();
    (void)sys::destroy_thread_locals(); // what the keys' destructors have made
    close_first_receiver();
    first_thread.result = result;
    const std::uint32_t before =
        first_thread.state.fetch_or(thread::ended, std::memory_order_acq_rel); // acq_rel[posix-thread-state]
    if (before & thread::awaited) sync::wake_all_at(&first_thread);
}

} // namespace comity::posix

using namespace comity::posix;
using comity::posix::thread;

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): glibc's names are reserved ones

COMITY_INTERPOSED int pthread_create(pthread_t *out, const pthread_attr_t *a, void *(*fn)(void *), void *arg) noexcept {
    pay();
    if (!next_self.known()) comity::sys::find_all_next(); // a library whose constructor runs before at_load
    if (is_aside()) {
        say_that_aside();
        return next_create.get()(out, a, fn, arg);
    }
    const wishes w = wishes_of(a);
    const bool in_go = brings_go(fn);
    if (w.own_kernel_thread || in_go) {
        say_once(said_kernel, in_go ? "in a process with Go's runtime threads are the C library's"
                                    : "a thread's attributes ask for a kernel thread of its own, by the C library");
        const own_mask given_on;
        return create_with_state(next_create.get(), w.kernel_state, out, a, fn, arg);
    }
    say_once(said_ours, "threads run on Comity's harts");
    thread *t = take_memory();
    if (!t) return EAGAIN;
    t->fn = fn;
    t->arg = arg;
    t->stack_asked = w.stack_size;
    t->guard_asked = w.guard_size;
    *out = handle_of(t); // before it runs
    const int error = create(t, w);
    if (error == 0) return 0;
    give_back_memory(t);
    return error == ENOMEM ? EAGAIN : error;
}

COMITY_INTERPOSED int pthread_setattr_default_np(const pthread_attr_t *a) noexcept {
    const int error = next_setattr_default.get()(a);
    if (error == 0) default_changed.store(true, std::memory_order_relaxed);
    return error;
}

COMITY_INTERPOSED pthread_t pthread_self() noexcept { return self(); }

COMITY_INTERPOSED int pthread_join(pthread_t t, void **result) {
    thread *own = joined_as(t);
    if (!own) return join_librarys(t, result, CLOCK_REALTIME, nullptr);
    return join(own, result, comity::sys::no_deadline,
                [result](comity_thread_t *handle) { return comity_thread_join(handle, result); });
}

COMITY_INTERPOSED int pthread_tryjoin_np(pthread_t t, void **result) noexcept {
    thread *own = joined_as(t);
    if (!own) return next_tryjoin.get()(t, result);
    if (!(own->state.load(std::memory_order_acquire) & thread::ended)) return EBUSY; // acquire[posix-thread-state]
    thread *caller = current_thread; // a request stays for the next cancellation point: this is none
    const bool cancellable = caller && !caller->ending && caller->cancel_state == PTHREAD_CANCEL_ENABLE;
    receiver *first = caller ? nullptr : receiver_here();
    const bool refuses = first && std::exchange(first->refuses_to_end, true);
    if (cancellable) comity_thread_set_cancel(0);
    const int error = join(own, result, comity::sys::no_deadline,
                           [result](comity_thread_t *handle) { return comity_thread_join(handle, result); });
    if (cancellable) comity_thread_set_cancel(1);
    if (first) first->refuses_to_end = refuses;
    return error;
}

COMITY_INTERPOSED int pthread_clockjoin_np(pthread_t t, void **result, clockid_t clock, const timespec *time) {
    thread *own = joined_as(t);
    if (!own) return join_librarys(t, result, clock, time);
    if (!time) return pthread_join(t, result);
    if (!is_clock(clock) || !is_time(time)) return EINVAL;
    const std::int64_t deadline = deadline_of(clock, *time);
    return join(own, result, deadline,
                [=](comity_thread_t *handle) { return comity_thread_timedjoin(handle, result, deadline); });
}

COMITY_INTERPOSED int pthread_timedjoin_np(pthread_t t, void **result, const timespec *time) {
    return pthread_clockjoin_np(t, result, CLOCK_REALTIME, time);
}

COMITY_INTERPOSED int pthread_detach(pthread_t t) noexcept {
    thread *own = joined_as(t);
    if (!own) return next_detach.get()(t);
    comity_thread_t *handle = own->handle; // from here on it may be given back
    std::uint32_t before = 0;
    if (const int error = claim(own, thread::detached, before)) return error;
    if (own == &first_thread) return 0;
    if (before & thread::ended) give_back_memory(own);
    return comity_thread_detach(handle);
}

// NOLINTEND(readability-inconsistent-declaration-parameter-name)
