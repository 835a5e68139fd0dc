// The C interface (comity/pool.h).
#include "comity/pool.h"

#include "pool/pool.hpp"
#include "pool/unit.hpp"
#include "pool/user.hpp"
#include "sys/enumeration.hpp"
#include "sys/message.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <new>

using namespace comity;

namespace {

struct user_unit : unit {
    void (*fn)(void *) = nullptr;
    void *arg = nullptr;
};
static_assert(sizeof(user_unit) <= sizeof(comity_unit_storage_t));

void run_user_unit(unit *self, core::carrier *) noexcept {
    const auto *u = static_cast<const user_unit *>(self);
    u->fn(u->arg); // frees it, perhaps
}

unit *inner(comity_unit_t *u) noexcept { return reinterpret_cast<unit *>(u); }

// A call at a side of a pool.
class visit {
public:
    explicit visit(pool::side *s) noexcept : side_(s), error_(s ? s->enter() : 0) {}
    ~visit() {
        if (side_ && error_ == 0) side_->leave();
    }
    visit(const visit &) = delete;
    visit &operator=(const visit &) = delete;
    int error() const noexcept { return error_; }

private:
    pool::side *side_;
    int error_;
};

using sys::number_of;

bool known(const comity_pool_access_t &a) noexcept { return number_of(a) <= COMITY_POOL_MPMC; }

} // namespace

extern "C" {

comity_unit_t *comity_unit_init(comity_unit_storage_t *storage, void (*fn)(void *), void *arg) {
    auto *u = new (storage) user_unit;
    u->run = run_user_unit;
    u->fn = fn;
    u->arg = arg;
    return reinterpret_cast<comity_unit_t *>(static_cast<unit *>(u));
}
int comity_unit_run(comity_unit_t *u) {
    if (!u || inner(u)->run != run_user_unit) return EINVAL;
    run_user_unit(inner(u), nullptr);
    return 0;
}
void comity_unit_set_priority(comity_unit_t *u, unsigned char priority) { inner(u)->set_rank(priority); }
unsigned char comity_unit_priority(const comity_unit_t *u) { return reinterpret_cast<const unit *>(u)->rank(); }

int comity_pool_create(comity_pool_t **p, comity_pool_access_t access, comity_pool_order_t order) {
    if (!p || !known(access) || number_of(order) > COMITY_POOL_RANDOM) return EINVAL;
    *p = pool::make(static_cast<pool::access>(access), static_cast<pool::order>(order));
    return *p ? 0 : ENOMEM;
}

int comity_pool_create_user(comity_pool_t **p, comity_pool_access_t access, const comity_pool_functions_t *f,
                            void *arg) {
    if (!p || !known(access) || !f || !f->push || !f->pop || !f->size) return EINVAL;
    void *state = arg;
    if (f->create)
        if (const int error = f->create(arg, &state)) return error;
    *p = new (std::nothrow) pool::user_pool(static_cast<pool::access>(access), *f, state);
    if (!*p && f->free) f->free(state);
    return *p ? 0 : ENOMEM;
}

int comity_pool_set_seed(comity_pool_t *p, uint64_t seed) {
    const visit v(p->pop_side());
    return v.error() ? v.error() : p->f->set_seed(p, seed);
}

int comity_pool_free(comity_pool_t *p) {
    if (!p) return 0;
    if (!p->f->is_empty(p)) return EBUSY;
    pool::destroy(p);
    return 0;
}

int comity_pool_push(comity_pool_t *p, comity_unit_t *u) {
    if (!p || !u) return EINVAL;
    const visit v(p->push_side());
    return v.error() ? v.error() : p->f->push(p, inner(u));
}

int comity_pool_push_many(comity_pool_t *p, comity_unit_t *const *units, size_t n, size_t *pushed) {
    const visit v(p->push_side());
    int error = v.error();
    for (size_t i = 0; i < n && !error; ++i)
        if (!units[i]) error = EINVAL;
    const size_t done = error ? 0 : p->f->push_many(p, reinterpret_cast<unit *const *>(units), n, error);
    if (pushed) *pushed = done;
    return error;
}

int comity_pool_pop(comity_pool_t *p, comity_unit_t **u) {
    if (!p || !u) return EINVAL;
    const visit v(p->pop_side());
    *u = v.error() ? nullptr : reinterpret_cast<comity_unit_t *>(p->f->pop(p));
    return v.error() ? v.error() : *u ? 0 : EAGAIN;
}

int comity_pool_pop_many(comity_pool_t *p, comity_unit_t **units, size_t n, size_t *popped) {
    const visit v(p->pop_side());
    *popped = v.error() ? 0 : p->f->pop_many(p, reinterpret_cast<unit **>(units), n);
    return v.error();
}

int comity_pool_remove(comity_pool_t *p, comity_unit_t *u) {
    const visit v(p->pop_side());
    return v.error() ? v.error() : p->f->remove(p, inner(u));
}

int comity_pool_for_each(comity_pool_t *p, void (*fn)(void *, comity_unit_t *), void *arg) {
    const visit v(p->pop_side());
    return v.error() ? v.error() : p->f->for_each(p, {fn, arg});
}

size_t comity_pool_size(const comity_pool_t *p) { return p ? p->f->size(p) : 0; }
int comity_pool_is_empty(const comity_pool_t *p) { return !p || p->f->is_empty(p); }
comity_pool_access_t comity_pool_access(const comity_pool_t *p) { return static_cast<comity_pool_access_t>(p->who); }
comity_pool_order_t comity_pool_order(const comity_pool_t *p) { return static_cast<comity_pool_order_t>(p->which); }

void comity_pool_print(const comity_pool_t *p, FILE *file) {
    static constexpr std::array orders{"fifo", "lifo", "priority", "random", "user"};
    const size_t n = p->f->size(p);
    std::array<char, 128> line{};
    sys::format_text(line.data(), line.size(), "pool %p: %s, %s, %zu unit%s\n", static_cast<const void *>(p),
                     pool::name_of(p->who), orders.at(static_cast<unsigned>(p->which)), n, n == 1 ? "" : "s");
    std::fputs(line.data(), file);
}

int comity_pool_own(comity_pool_t *p, comity_pool_side_t which, comity_pool_owner_t owner) {
    const unsigned sides = number_of(which), kind = number_of(owner);
    if (!p || sides < COMITY_POOL_PRODUCER || sides > COMITY_POOL_BOTH_SIDES || kind > COMITY_POOL_OWNER_CONTEXT)
        return EINVAL;
    pool::side *const push = sides & COMITY_POOL_PRODUCER ? p->push_side() : nullptr;
    pool::side *const pop = sides & COMITY_POOL_CONSUMER ? p->pop_side() : nullptr;
    if ((sides & COMITY_POOL_PRODUCER && !push) || (sides & COMITY_POOL_CONSUMER && !pop)) return EINVAL;
    const int error = push ? push->give_to(owner) : 0;
    return error || !pop || pop == push ? error : pop->give_to(owner);
}
}
