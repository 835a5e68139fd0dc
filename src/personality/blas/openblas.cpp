#include "personality/blas/openblas.hpp"

#include "core/binding.hpp"
#include "core/own_code.hpp"
#include "core/spinlock.hpp"
#include "model/spmd/team.hpp"
#include "personality/blas/available.hpp"
#include "sys/clock.hpp"
#include "sys/interruption.hpp"
#include "sys/kernel_thread.hpp"
#include "sys/message.hpp"
#include "sys/options.hpp"
#include "sys/process.hpp"
#include "sys/signals.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <new>
#include <utility>

namespace comity::blas {
namespace {

// What the builds of OpenBLAS call these; the scipy_ ones are those in the wheels of numpy and scipy, 64_ has 64-bit
// integers.
constexpr const char *setters[] = {
    "openblas_set_threads_callback_function", "scipy_openblas_set_threads_callback_function64_",
    "scipy_openblas_set_threads_callback_function", "openblas_set_threads_callback_function64_", nullptr};
constexpr const char *configs[] = {"openblas_get_config",       "scipy_openblas_get_config64_",
                                   "scipy_openblas_get_config", "openblas_get_config64_",
                                   "openblas_get_config64",     nullptr};

// threadpoolctl, R and others look these up.
constexpr const char *thread_getters[] = {"openblas_get_num_threads", "scipy_openblas_get_num_threads64_",
                                          "scipy_openblas_get_num_threads", "openblas_get_num_threads64_"};
constexpr const char *thread_setters[] = {"openblas_set_num_threads", "scipy_openblas_set_num_threads64_",
                                          "scipy_openblas_set_num_threads", "openblas_set_num_threads64_"};

constexpr const char *most_threads = "MAX_THREADS=";
constexpr unsigned most_libraries = 8;
// Libraries that are, or were, served; never destroyed. [0, known) are complete. Written under the lock.
alignas(openblas) unsigned char storage[most_libraries][sizeof(openblas)];
std::atomic<unsigned> known{0};
core::spinlock known_lock;

openblas &library(unsigned i) noexcept { return *std::launder(reinterpret_cast<openblas *>(storage[i])); }

} // namespace

// ---- Recognising

openblas *openblas::at(const void *address) noexcept {
    const unsigned n = known.load(std::memory_order_acquire); // acquire[known]
    for (unsigned i = 0; i < n; ++i)
        if (library(i).library_.contains(address)) return &library(i);
    return nullptr;
}

bool openblas::contains(const void *address) noexcept {
    // Those that are not served ask often: OpenBLAS' OpenMP build yields in all its waits. A range that is out of date
    // does no harm: whoever calls from there may yield, too.
    struct range {
        std::atomic<std::uintptr_t> begin{0}, end{0};
    };
    static range seen[4];
    static std::atomic<unsigned> next{0};
    const auto a = reinterpret_cast<std::uintptr_t>(address);
    for (range &r : seen)
        if (a >= r.begin.load(std::memory_order_relaxed) && a < r.end.load(std::memory_order_relaxed)) return true;
    const loaded_library found = loaded_library::at(address);
    if (!found || !found.any_symbol(configs)) return false;
    range &r = seen[next.fetch_add(1, std::memory_order_relaxed) % 4];
    r.end.store(0, std::memory_order_relaxed);
    r.begin.store(found.begin(), std::memory_order_relaxed);
    r.end.store(found.end(), std::memory_order_relaxed);
    return true;
}

bool openblas::can_serve(const void *address) noexcept {
    const loaded_library found = loaded_library::at(address);
    return found && found.any_symbol(configs) && found.any_symbol(setters);
}

bool openblas::find_symbols() noexcept {
    set_callback_ = reinterpret_cast<void (*)(callback)>(library_.any_symbol(setters));
    threads_ = static_cast<int *>(library_.symbol("blas_num_threads"));
    threads_of_calls_ = static_cast<int *>(library_.symbol("blas_cpu_number"));
    config_ = reinterpret_cast<const char *(*)()>(library_.any_symbol(configs));
    if (!set_callback_ || !threads_ || !threads_of_calls_ || !config_) return false;
    const char *text = std::strstr(config_(), most_threads);
    table_ = text ? std::atoi(text + std::strlen(most_threads)) : 0;
    return table_ > 1;
}

openblas *openblas::adopt(const loaded_library &found) noexcept {
    known_lock.lock();
    const unsigned i = known.load(std::memory_order_relaxed);
    openblas *o = at(found.symbol("blas_cpu_number")); // another thread may have been first
    if (!o && i < most_libraries) {
        o = new (storage[i]) openblas;
        o->library_ = found;
        if (o->find_symbols()) {
            known.store(i + 1, std::memory_order_release); // release[known]
        } else {
            o->~openblas();
            o = nullptr;
        }
    }
    known_lock.unlock();
    return o;
}

namespace {

// Callers that are known to be no OpenBLAS: a program creates its threads at few places, and perhaps many of them. An
// OpenBLAS that is loaded where another library had one of them keeps its own threads.
std::atomic<const void *> other_callers[16];

std::atomic<const void *> &place_of(const void *caller) noexcept {
    return other_callers[reinterpret_cast<std::uintptr_t>(caller) % std::size(other_callers)];
}

} // namespace

void openblas::thread_is_made(const void *caller, const void *argument) noexcept {
    if (place_of(caller).load(std::memory_order_relaxed) == caller) return;
    openblas *o = at(caller);
    if (!o) {
        const loaded_library found = loaded_library::at(caller);
        if (!found || !found.any_symbol(configs)) {
            place_of(caller).store(caller, std::memory_order_relaxed);
            return;
        }
        o = found.any_symbol(setters) ? adopt(found) : nullptr;
        if (!o) {
            static std::atomic<bool> said{false};
            if (sys::get_options().verbose && !said.exchange(true, std::memory_order_relaxed))
                sys::warn(
                    "OpenBLAS %s keeps its pool, whose threads are as the program's own: it has no threads callback",
                    found.path());
            return;
        }
    }
    // The argument is the thread's position in the pool. blas_num_threads grows before the pool does at the start, and
    // after it when the user asks for more.
    const auto position = reinterpret_cast<std::uintptr_t>(argument);
    o->pool_has(static_cast<int>(position < thread_numbers::most ? position + 1 : thread_numbers::most));
}

// A pool of so many threads at least: there must be as many other numbers as a call may have jobs.
void openblas::pool_has(int threads) noexcept {
    const bool first = pool_ == 0;
    if (first && *threads_ > table_ / 2 && table_ >= 4) { // a large machine: a call cannot use all of it
        *threads_ = table_ / 2;
        if (*threads_of_calls_ > table_ / 2) *threads_of_calls_ = table_ / 2;
    }
    threads = std::max(threads, *threads_ - 1);
    if (threads <= pool_) return;
    pool_ = threads;
    if (table_ - pool_ >= pool_ + 1 && table_ <= static_cast<int>(thread_numbers::most))
        start_serving();
    else
        stop_serving();
    if (first && sys::get_options().verbose)
        sys::warn("OpenBLAS %s %s", library_.path(),
                  served_.load(std::memory_order_relaxed) ? "runs its jobs on Comity, through its threads callback"
                                                          : "keeps its own threads: it has no room for others");
}

// The variable has our number, not the user's: who reads it to write it back later would make that the limit for good.
template <unsigned I> int openblas::get_num_threads() {
    const openblas &o = library(I);
    if (!o.served_.load(std::memory_order_acquire)) return *o.threads_of_calls_; // acquire[served]
    publish_available();                                                         // what was written there meanwhile
    return o.count_.wanted();
}

template <unsigned I> void openblas::set_num_threads(int threads) {
    openblas &o = library(I);
    o.set_threads_(threads);
    if (!o.served_.load(std::memory_order_acquire)) return; // acquire[served]
    o.count_.want(threads > 0 ? threads : *o.threads_);
    publish_available();
}

void openblas::answer_for_threads() noexcept {
    using functions = std::pair<int (*)(), void (*)(int)>;
    const auto all = []<std::size_t... I>(std::index_sequence<I...>) {
        return std::array<functions, most_libraries>{functions{get_num_threads<I>, set_num_threads<I>}...};
    }
    (std::make_index_sequence<most_libraries>());
    unsigned own = 0;
    while (&library(own) != this) ++own;
    for (std::size_t i = 0; i < std::size(thread_setters); ++i) {
        void *const setter = library_.symbol(thread_setters[i]);
        if (!setter || !library_.symbol(thread_getters[i])) continue;
        set_threads_ = reinterpret_cast<void (*)(int)>(setter);
        // Ours that only answers does no harm alone.
        if (library_.redirect(thread_getters[i], reinterpret_cast<const void *>(all[own].first)))
            (void)library_.redirect(thread_setters[i], reinterpret_cast<const void *>(all[own].second));
        return;
    }
}

void openblas::start_serving() noexcept {
    const bool first = !served_.load(std::memory_order_relaxed);
    if (first) count_.start(threads_of_calls_, static_cast<unsigned>(table_ - pool_));
    numbers_.set_range(static_cast<unsigned>(pool_), static_cast<unsigned>(table_));
    while (!numbers_.free_below(static_cast<unsigned>(pool_))) // of calls that began with a smaller pool
        sys::yield_kernel_thread();
    if (!first) return;
    static_cast<void>(watch_forks(std::make_index_sequence<most_libraries>()));
    if (!set_threads_) answer_for_threads();        // once
    served_.store(true, std::memory_order_release); // release[served]
    set_callback_(serve);
    watch_available([](int harts) {
        const unsigned n = known.load(std::memory_order_acquire); // acquire[known]
        for (unsigned i = 0; i < n; ++i)
            if (library(i).served_.load(std::memory_order_acquire)) // acquire[served]
                library(i).count_.publish(harts);
    });
    publish_available();
}

// Back to its own pool, which is there and asleep.
void openblas::stop_serving() noexcept {
    if (!served_.exchange(false, std::memory_order_relaxed)) return;
    set_callback_(nullptr);
    while (!numbers_.free_below(thread_numbers::most)) sys::yield_kernel_thread();
    count_.stop();
}

// ---- Serving

struct openblas::call {
    job run;
    char *queue;
    std::size_t size;
    int data;
    std::uint16_t numbers[thread_numbers::most];
    // What the jobs did, for note_gain: how long each ran on a core, and when the last one began. Written by all.
    std::int64_t from = 0;
    bool is_short = false; // presumably
    std::atomic<std::int64_t> last_start{0};
    std::int64_t ran[thread_numbers::most];
    void work(unsigned i) const { run(numbers[i], queue + i * size, data); }
};

namespace {

// A call before which the one before took less is presumably short.
constexpr std::int64_t longest_short_ns = 50'000;

} // namespace

// Who runs for a short time only has his core all the while; the clock that tells costs a system call.
std::int64_t openblas::running_ns(const call &c) noexcept {
    return c.is_short ? sys::now_ns() : sys::cpu_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

void openblas::run_rank(void *argument, unsigned rank) {
    auto *c = static_cast<call *>(argument);
    const std::int64_t start = sys::now_ns() - c->from, ran = running_ns(*c);
    std::int64_t last = c->last_start.load(std::memory_order_relaxed);
    while (start > last && !c->last_start.compare_exchange_weak(last, start, std::memory_order_relaxed)) {
    }
    c->work(rank);
    c->ran[rank] = running_ns(*c) - ran;
}

// A job that waits for one that has not begun only burns its core: so none is counted for longer than all of them ran.
std::int64_t openblas::work_of(const call &c, unsigned ranks, std::int64_t wall) noexcept {
    const std::int64_t most = std::max<std::int64_t>(0, wall - c.last_start.load(std::memory_order_relaxed));
    std::int64_t sum = 0;
    for (unsigned i = 0; i < ranks; ++i) sum += std::clamp<std::int64_t>(c.ran[i], 0, most);
    return sum;
}

// exec_blas, in place of OpenBLAS' pool: runs every job, and returns when all are done.
void openblas::serve(int, job run, int jobs, std::size_t size, void *queue, int data) {
    openblas *o = at(reinterpret_cast<const void *>(run));
    if (jobs > 0 && o) o->run_jobs(run, static_cast<unsigned>(jobs), size, queue, data);
}

namespace {

// A job that no rank of the team could be had for.
struct extra_job {
    const void *call;
    unsigned job;
    std::atomic<unsigned> *left;
};

} // namespace

void *openblas::run_on_kernel_thread(void *argument) {
    auto *e = static_cast<extra_job *>(argument);
    core::run_anywhere();
    (void)sys::exchange_mask(sys::mask_of_carriers());
    std::atomic<unsigned> &left = *e->left;
    static_cast<const call *>(e->call)->work(e->job);
    delete e;
    left.fetch_sub(1, std::memory_order_release); // release[extra-jobs]
    return nullptr;
}

// Jobs may wait for each other, so each must run, if need be on a thread of its own that the operating system gives its
// turn.
void openblas::start_extra(const call &c, unsigned from, unsigned to, std::atomic<unsigned> &left) noexcept {
    for (unsigned i = from; i < to; ++i) {
        auto *e = new (std::nothrow) extra_job{&c, i, &left};
        constexpr int attempts = 10'000; // a second or so: limits on threads may be reached only for a moment
        int tries = 0;
        while (e && sys::start_kernel_thread(run_on_kernel_thread, e, 0) != 0 && ++tries < attempts) {
            for (const std::int64_t until = sys::now_ns() + 100'000; sys::now_ns() < until;) sys::yield_kernel_thread();
        }
        if (!e || tries == attempts)
            sys::fatal("a parallel BLAS call",
                       "no kernel thread for job %u of %u; see ulimit -u, or set OPENBLAS_NUM_THREADS=1", i, to);
    }
}

void openblas::run_jobs(job run, unsigned jobs, std::size_t size, void *queue, int data) noexcept {
    call c;
    c.run = run;
    c.queue = static_cast<char *>(queue);
    c.size = size;
    c.data = data;
    if (jobs > numbers_.count())
        sys::fatal("a parallel BLAS call", "%u jobs, but %s has numbers for %u", jobs, library_.path(),
                   numbers_.count());
    numbers_.take(jobs, c.numbers);
    if (jobs == 1) {
        c.work(0);
    } else {
        spmd::team *team = spmd::prepare(jobs);
        const unsigned ranks = spmd::size(team);
        std::atomic<unsigned> left{jobs - ranks};
        note_parallel_call();
        start_extra(c, ranks, jobs, left);
        c.is_short = wall_.load(std::memory_order_relaxed) < longest_short_ns;
        c.from = sys::now_ns();
        spmd::run(team, run_rank, &c, spmd::region_kind::gang);
        while (left.load(std::memory_order_acquire) != 0) // acquire[extra-jobs]
            sys::yield_kernel_thread();
        const std::int64_t now = sys::now_ns(), wall = now - c.from;
        wall_.store(wall, std::memory_order_relaxed);
        // One that took longer than it seemed is not judged: it may have lost its cores for a while.
        if (!c.is_short || wall < longest_short_ns) note_gain(now, wall, work_of(c, ranks, wall));
    }
    numbers_.give_back(jobs, c.numbers);
    if (jobs > 1) spmd::let_thread_go_on();
}

// ---- Fork. OpenBLAS frees its work buffers before a fork, so no job may run then: each library's handlers are made
// after its own, and run before. They wait, so they also run before Comity holds its locks, whose handlers come first.

template <unsigned I> void openblas::before_fork() { library(I).numbers_.close(); }
template <unsigned I> void openblas::parent_after_fork() { library(I).numbers_.reopen(false); }
template <unsigned I> void openblas::child_after_fork() {
    // Who waited has begun a call and may hold a lock of OpenBLAS, which nobody releases here. Sequential calls take
    // none.
    if (!library(I).numbers_.reopen(true)) library(I).count_.limit(1);
    publish_available();
}

template <std::size_t... I> bool openblas::watch_forks(std::index_sequence<I...>) noexcept {
    bool made = false;
    static_cast<void>(
        ((this == &library(I) && (made = sys::at_fork(before_fork<I>, parent_after_fork<I>, child_after_fork<I>))) ||
         ...));
    return made;
}

namespace {

__attribute__((constructor)) void watch_forks() noexcept {
    static_cast<void>(sys::at_fork([] { known_lock.lock(); }, [] { known_lock.unlock(); },
                                   [] {
                                       known_lock.unlock();
                                       available_after_fork();
                                   }));
}

} // namespace

} // namespace comity::blas
