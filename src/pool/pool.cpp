#include "pool/pool.hpp"

#include "pool/array_queue.hpp"
#include "pool/holder.hpp"
#include "pool/mpsc.hpp"
#include "pool/priority.hpp"
#include "pool/private.hpp"
#include "pool/random.hpp"
#include "pool/spsc.hpp"
#include "pool/stack.hpp"

#include <array>
#include <cerrno>

namespace comity::pool {

// ---- Sides

const void *side::caller(comity_pool_owner_t kind) noexcept {
    if (kind == COMITY_POOL_OWNER_CONTEXT) return core::current_context();
    const core::carrier *k = core::current_carrier();
    return k ? k->carried : nullptr;
}

int side::enter() noexcept {
    if (const void *o = owner_.load(std::memory_order_relaxed); o && o != caller(kind_)) return EPERM;
    const bool alone = internal_checks ? inside_.enter() : inside_.enter_cheaply();
    return alone ? 0 : EBUSY;
}

int side::give_to(comity_pool_owner_t owner) noexcept {
    const void *to = owner == COMITY_POOL_OWNER_NONE ? nullptr : caller(owner);
    if (!to && owner != COMITY_POOL_OWNER_NONE) return EINVAL;
    if (const int error = enter()) return error;
    kind_ = owner;
    owner_.store(to, std::memory_order_relaxed);
    inside_.leave();
    return 0;
}

// ---- Making

namespace {

template <class Pool> comity_pool *made(access who, order which) noexcept {
    return new (std::nothrow) holder<Pool>(who, which);
}

using maker = comity_pool *(*)(access, order) noexcept;
constexpr std::array<std::array<maker, 4>, 5> makers{{
    {made<private_fifo<unit>>, made<private_lifo<unit>>, made<private_priority<unit>>, made<private_random<unit>>},
    {made<spsc_fifo<unit>>, made<mpsc_lifo<unit>>, made<shared_priority<spsc_fifo<unit>>>,
     made<locked<private_random<unit>>>},
    {made<spmc_fifo<unit, true>>, made<stack<unit, true>>, made<shared_priority<spmc_fifo<unit, true>>>,
     made<locked<private_random<unit>>>},
    {made<mpsc_fifo<unit>>, made<mpsc_lifo<unit>>, made<shared_priority<mpsc_fifo<unit>>>,
     made<locked<private_random<unit>>>},
    {made<mpmc_fifo<unit, true>>, made<stack<unit, true>>, made<shared_priority<mpmc_fifo<unit, true>>>,
     made<locked<private_random<unit>>>},
}};

// With internal assertions: an access that the pool's kind forbids ends the program.
class own_visit {
public:
    own_visit(const comity_pool *p, side *s, const char *call) noexcept : side_(internal_checks ? s : nullptr) {
        if (!side_) return;
        if (const int error = side_->enter())
            sys::fatal("pool", "%s: the pool is %s, and %s", call, name_of(p->who),
                       error == EPERM ? "belongs to another" : "another is at it");
    }
    ~own_visit() {
        if (side_) side_->leave();
    }
    own_visit(const own_visit &) = delete;
    own_visit &operator=(const own_visit &) = delete;

private:
    side *side_;
};

} // namespace

comity_pool *make(access who, order which) noexcept {
    return makers.at(static_cast<unsigned>(who)).at(static_cast<unsigned>(which))(who, which);
}
void destroy(comity_pool *p) noexcept { p->f->destroy(p); }

int push(comity_pool *p, unit *u) noexcept {
    const own_visit v(p, p->push_side(), "push");
    return p->f->push(p, u);
}
unit *pop(comity_pool *p) noexcept {
    const own_visit v(p, p->pop_side(), "pop");
    return p->f->pop(p);
}

} // namespace comity::pool
