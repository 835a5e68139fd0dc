// Printing stacks: of one work unit, of a pool's, and of all when every stream has stopped.
#include "personality/argobots/dump.hpp"

#include "core/alone.hpp"
#include "core/runtime.hpp"
#include "core/sanitizer.hpp"

#include "personality/argobots/check.hpp"
#include "personality/argobots/info.hpp"
#include "personality/argobots/registry.hpp"
#include "personality/argobots/schedulers.hpp"
#include "personality/argobots/work.hpp"
#include "sys/futex.hpp"
#include "sys/kernel_thread.hpp"

#include <cinttypes>
#include <cstring>

namespace comity::abt {

std::atomic<unsigned> dump_request{0};

namespace {

// Also what lies between variables, of which AddressSanitizer thinks that nobody should read it.
COMITY_UNSANITIZED std::uint64_t word_at(const std::byte *at) noexcept {
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    return word;
}

} // namespace

void print_stack(std::FILE *fp, thread *t) noexcept {
    std::fprintf(fp, "stack of work unit %" PRIu64 " (%p):\n", id_of(t), static_cast<void *>(t));
    const context *c = t->stack;
    if (!c || t->kind == unit_kind::main_ult || c->state != core::context_state::paused) {
        std::fprintf(fp, "  none%s\n", c ? " that is stopped" : "");
        return;
    }
    std::fprintf(fp, "  [%p, %p), stopped at %p\n", static_cast<const void *>(c->stack.bottom),
                 static_cast<const void *>(c->stack.top), static_cast<const void *>(c->sp));
    constexpr std::size_t row = 32;
    for (const auto *at = static_cast<const std::byte *>(c->sp); at < c->stack.top; at += row) {
        std::fprintf(fp, "  %p:", static_cast<const void *>(at));
        for (std::size_t i = 0; i < row && at + i < c->stack.top; i += 8)
            std::fprintf(fp, " %016" PRIx64, word_at(at + i));
        std::fputc('\n', fp);
    }
}

int print_stacks(std::FILE *fp, pool *p) noexcept {
    std::fprintf(fp, "pool %d (%p):\n", p->id, static_cast<void *>(p));
    const int error = ABT_pool_print_all_threads(
        handle(p), fp, [](void *to, ABT_thread h) { print_stack(static_cast<std::FILE *>(to), of(h)); });
    std::fflush(fp);
    return error;
}

// ---- All of them

namespace {

struct request {
    std::FILE *fp;
    double timeout;
    void (*done)(ABT_bool, void *);
    void *arg;
};
// The last one that was made; written before dump_request.
request latest;

core::spinlock lock;
unsigned stopped = 0;        // streams that take part; under lock
std::int64_t since = 0;      // when the first one stopped; under lock
bool someone_prints = false; // under lock

struct tally {
    unsigned awake = 0;
};

// How many streams must stop: those that run, and do not sleep for lack of work.
unsigned awake_streams() noexcept {
    tally n;
    for_each_stream(
        [](stream *s, void *arg) {
            if (s->state.load(std::memory_order_relaxed) != ABT_XSTREAM_STATE_RUNNING) return;
            s->lock.lock();
            if (!s->sleeping) ++static_cast<tally *>(arg)->awake;
            s->lock.unlock();
        },
        &n);
    return n.awake;
}

struct all_pools {
    static constexpr unsigned most = 1024;
    pool *list[most] = {};
    unsigned count = 0;
};

void print_all(std::FILE *fp) noexcept {
    static constinit all_pools pools; // one prints at a time
    pools.count = 0;
    for_each_stream(
        [](stream *s, void *arg) {
            auto *all = static_cast<all_pools *>(arg);
            for (int i = 0; i < s->main->num_pools && all->count < all_pools::most; ++i) {
                pool *p = s->main->pools[i];
                bool known = false;
                for (unsigned j = 0; j < all->count; ++j) known = known || all->list[j] == p;
                if (!known) all->list[all->count++] = p;
            }
        },
        &pools);
    for (unsigned i = 0; i < pools.count; ++i) print_stacks(fp, pools.list[i]);
}

} // namespace

// The request may come from a signal handler, which can wake nobody but a thread that sleeps on this word.
namespace {
std::atomic<std::uint32_t> bell{0};
std::atomic<std::uint32_t> watched_in{0}; // core::generation of the process that has the thread
std::atomic<bool> is_to_end{false};       // the thread, which takes it back when it does

void *watch(void *) {
    sys::name_kernel_thread("comity-abt-dump");
    for (std::uint32_t heard = 0;;) {
        static_cast<void>(sys::futex_wait(bell, heard));
        heard = bell.load(std::memory_order_acquire); // acquire[abt-bell]
        if (is_to_end.load(std::memory_order_relaxed)) {
            watched_in.store(0, std::memory_order_relaxed);
            is_to_end.store(false, std::memory_order_release); // release[abt-dump-ends]
            return nullptr;
        }
        if (the_streams()) for_each_stream([](stream *s, void *) { wake(s); }, nullptr);
    }
}

bool is_watch_there() noexcept { return watched_in.load(std::memory_order_relaxed) == core::generation(); }

void end_watch() noexcept {
    is_to_end.store(true, std::memory_order_relaxed);
    bell.fetch_add(1, std::memory_order_release); // release[abt-bell]
    sys::futex_wake(bell);
    while (is_to_end.load(std::memory_order_acquire) && is_watch_there()) // acquire[abt-dump-ends]
        sys::yield_kernel_thread();
    is_to_end.store(false, std::memory_order_relaxed);
}

core::helper watcher{[]() noexcept -> unsigned { return is_watch_there() ? 1 : 0; }, end_watch, watch_for_dumps};
__attribute__((constructor)) void tell_of_watcher() noexcept { core::add_helper(watcher); }

} // namespace

void watch_for_dumps() noexcept {
    std::uint32_t before = watched_in.load(std::memory_order_relaxed);
    const std::uint32_t now = core::generation();
    if (before == now || !watched_in.compare_exchange_strong(before, now, std::memory_order_relaxed)) return;
    if (sys::start_kernel_thread(watch, nullptr, std::size_t{64} << 10) != 0)
        watched_in.store(0, std::memory_order_relaxed); // without it: see the page
}

void dump_stacks() noexcept {
    const unsigned mine = dump_request.load(std::memory_order_acquire); // acquire[abt-dump]
    if (mine == 0) return;
    lock.lock();
    if (stopped++ == 0) since = sys::now_ns();
    lock.unlock();
    while (dump_request.load(std::memory_order_acquire) != 0) { // acquire[abt-dump]
        const request now = latest;
        lock.lock();
        const bool late = now.timeout >= 0 && static_cast<double>(sys::now_ns() - since) * 1e-9 >= now.timeout;
        const bool complete = stopped >= awake_streams();
        const bool print = !someone_prints && (late || complete);
        if (print) someone_prints = true;
        lock.unlock();
        if (print) {
            print_all(now.fp);
            dump_request.store(0, std::memory_order_release); // release[abt-dump]
            if (now.done) now.done(complete ? ABT_FALSE : ABT_TRUE, now.arg);
            break;
        }
        pass_time();
    }
    lock.lock();
    if (--stopped == 0) someone_prints = false;
    lock.unlock();
}

} // namespace comity::abt

using namespace comity::abt;

extern "C" int ABT_info_trigger_print_all_thread_stacks(FILE *fp, double timeout, void (*done)(ABT_bool, void *),
                                                        void *arg) {
    latest = {fp, timeout, done, arg};
    dump_request.fetch_add(1, std::memory_order_release); // release[abt-dump]
    bell.fetch_add(1, std::memory_order_release);         // release[abt-bell]
    comity::sys::futex_wake(bell);
    return ABT_SUCCESS;
}
