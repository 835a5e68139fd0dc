#include "personality/argobots/stacks.hpp"

#include "core/base.hpp"
#include "personality/argobots/pools.hpp"
#include "personality/argobots/work.hpp"
#include "sys/message.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

namespace comity::abt {

namespace {

constexpr unsigned most_in_stream = 256, most_in_common = 4096;

#if defined(COMITY_TSAN) || defined(COMITY_ASAN)
constexpr std::size_t least_stack = std::size_t{256} << 10; // the sanitizers' frames are large
#else
constexpr std::size_t least_stack = 0;
#endif

core::spinlock kept_lock;
context *kept = nullptr; // by context::next, under kept_lock
unsigned kept_count = 0;

context *take_kept(stream *s) noexcept {
    if (s && s->kept_stacks) {
        context *c = s->kept_stacks;
        s->kept_stacks = c->next;
        --s->kept_stack_count;
        return c;
    }
    kept_lock.lock();
    context *c = kept;
    if (c) {
        kept = c->next;
        --kept_count;
    }
    kept_lock.unlock();
    return c;
}

// In the program's memory. Its overflow is the program's affair: there is no guard.
context *make_on(void *address, std::size_t size) noexcept {
    context *c = core::allocate_context();
    if (!c) return nullptr;
    auto *bottom = static_cast<std::byte *>(address);
    const auto top = (reinterpret_cast<std::uintptr_t>(bottom) + size) & ~std::uintptr_t{15};
    c->stack.bottom = bottom;
    c->stack.top = reinterpret_cast<std::byte *>(top);
    c->stack_top = c->floor = c->stack.top;
    c->shares_tls = true;
    c->fiber.create();
    return c;
}

void destroy_on(context *c) noexcept {
    c->fiber.destroy();
    core::free_context(c);
}

} // namespace

context *take_stack(stream *s, std::size_t size, void *address) noexcept {
    if (address) return make_on(address, size);
    int error = 0;
    if (size == 0) {
        if (context *c = take_kept(s)) return c;
        size = settings().thread_stack;
    }
    return core::create_context(size < least_stack ? least_stack : size, false, error);
}

void drop_stack(thread *t) noexcept {
    context *c = t->stack;
    t->stack = nullptr;
    c->state = core::context_state::exited;
    c->local = nullptr;
    core::forget_frames(c->stack.bottom, c->stack.top); // it may have been left in the middle
    if (t->stack_address) return destroy_on(c);
    if (t->own_stack) return core::destroy_context(c);
    if (stream *s = own_stream(); s && s->kept_stack_count < most_in_stream) {
        c->next = s->kept_stacks;
        s->kept_stacks = c;
        ++s->kept_stack_count;
        return;
    }
    kept_lock.lock();
    const bool room = kept_count < most_in_common;
    if (room) {
        c->next = kept;
        kept = c;
        ++kept_count;
    }
    kept_lock.unlock();
    if (!room) core::destroy_context(c);
}

thread *new_thread(stream *s) noexcept {
    thread *t = nullptr;
    if (s && s->kept_threads) {
        t = s->kept_threads;
        s->kept_threads = t->next;
        --s->kept_thread_count;
        t->~thread();
        new (t) thread;
    } else {
        t = new (std::nothrow) thread;
    }
    if (t) t->unit = built_in_unit(t);
    return t;
}

void delete_thread(stream *s, thread *t) noexcept {
    if (!s || s->kept_thread_count >= most_in_common) {
        delete t;
        return;
    }
    t->next = s->kept_threads;
    s->kept_threads = t;
    ++s->kept_thread_count;
}

void forget_kept(stream *s) noexcept {
    while (context *c = s->kept_stacks) {
        s->kept_stacks = c->next;
        core::destroy_context(c);
    }
    while (thread *t = s->kept_threads) {
        s->kept_threads = t->next;
        delete t;
    }
    s->kept_stack_count = s->kept_thread_count = 0;
}

void forget_kept() noexcept {
    kept_lock.lock();
    context *first = kept;
    kept = nullptr;
    kept_count = 0;
    kept_lock.unlock();
    while (context *c = first) {
        first = c->next;
        core::destroy_context(c);
    }
}

// ---- The environment

settings_t &settings() noexcept {
    static settings_t now;
    return now;
}

namespace {

// The variable ABT_NAME, or else ABT_ENV_NAME; null: not set.
const char *look_up(const char *name, char (&full)[64]) noexcept {
    for (const char *prefix : {"ABT_", "ABT_ENV_"}) {
        sys::format_text(full, sizeof full, "%s%s", prefix, name);
        if (const char *text = std::getenv(full)) return text;
    }
    return nullptr;
}

// A whole number in [least, most]; anything else is refused by one line.
template <class Number>
void read_number(const char *name, Number &into, unsigned long least, unsigned long most) noexcept {
    char full[64];
    const char *text = look_up(name, full);
    if (!text) return;
    char *end = nullptr;
    errno = 0;
    const unsigned long value = std::strtoul(text, &end, 10);
    if (end == text || *end || errno || text[0] == '-' || value < least || value > most)
        sys::warn("%s=%s: not a whole number from %lu to %lu; ignored", full, text, least, most);
    else
        into = static_cast<Number>(value);
}

} // namespace

void read_settings() noexcept {
    settings_t s;
    s.max_streams = core::base().hart_count();
    read_number("THREAD_STACKSIZE", s.thread_stack, 512, 1UL << 40);
    read_number("SCHED_STACKSIZE", s.scheduler_stack, 512, 1UL << 40);
    read_number("SCHED_EVENT_FREQ", s.event_frequency, 1, 1U << 30);
    read_number("SCHED_SLEEP_NSEC", s.sleep_ns, 0, 1UL << 40);
    read_number("MAX_NUM_XSTREAMS", s.max_streams, 1, 1U << 30);
    char full[64];
    if (const char *text = look_up("PRINT_CONFIG", full)) s.print_config = std::strchr("1yY", text[0]) && text[0];
    settings() = s;
}

} // namespace comity::abt
