// Full (Iwasaki, section 3.3): a thread has its context from its creation to its end.
#include "thread/cache.hpp"

#include "core/carrier.hpp"

namespace comity {

using core::carrier;

namespace {

int prepare(thread *t, carrier *k) noexcept {
    int error = 0;
    t->c = take_context(t, k, error);
    return t->c ? 0 : error;
}

void run(unit *u, carrier *k) noexcept {
    auto *t = static_cast<thread *>(u);
    t->c->owner = t->owner;
    core::start(k, static_cast<core::context *>(t->c), full_main, t);
}

void dispose(thread *t, carrier *k) noexcept {
    give_back_context(static_cast<core::context *>(t->c), t->stack_size, t->own_tls, k);
}

} // namespace

void full_main(void *argument) noexcept {
    auto *t = static_cast<thread *>(argument);
    t->result = t->fn(t->arg);
    leave_context(t);
}

constexpr technique full{prepare, run, nullptr, nullptr, dispose};

} // namespace comity
