// The functions ABT_pool_user_def_*.
#include "personality/argobots/user_pool.hpp"

#include "personality/argobots/check.hpp"

#include <new>

namespace comity::abt {

namespace {

// Behind the handle, which is a pointer to the structure of the older way: its functions are null here, which are
// mandatory there.
struct definition {
    ABT_pool_def older{};
    user_functions functions;
};

definition *of(ABT_pool_user_def d) noexcept { return reinterpret_cast<definition *>(d); }
bool is_newer(ABT_pool_user_def d) noexcept { return d && !d->p_push && !d->u_create_from_thread; }

} // namespace

void define(pool *p, ABT_pool_user_def def) noexcept {
    if (is_newer(def)) {
        p->kind = pool_kind::user;
        p->user = of(def)->functions;
        return;
    }
    p->kind = pool_kind::user_by_structure;
    p->structure = *def;
    p->access = def->access;
}

namespace {
template <class Fn> int set(ABT_pool_user_def d, Fn user_functions::*which, Fn fn) noexcept {
    COMITY_CHECK(d, ABT_ERR_INV_POOL_USER_DEF);
    of(d)->functions.*which = fn;
    return ABT_SUCCESS;
}
} // namespace

} // namespace comity::abt

using namespace comity::abt;

extern "C" {

int ABT_pool_user_def_create(ABT_pool_user_create_unit_fn create_unit, ABT_pool_user_free_unit_fn free_unit,
                             ABT_pool_user_is_empty_fn is_empty, ABT_pool_user_pop_fn pop, ABT_pool_user_push_fn push,
                             ABT_pool_user_def *made) {
    COMITY_CHECK_READY();
    COMITY_CHECK(create_unit && free_unit && is_empty && pop && push, ABT_ERR_INV_ARG);
    auto *d = new (std::nothrow) definition;
    COMITY_CHECK(d, ABT_ERR_MEM);
    d->functions.create_unit = create_unit;
    d->functions.free_unit = free_unit;
    d->functions.is_empty = is_empty;
    d->functions.pop = pop;
    d->functions.push = push;
    *made = &d->older;
    return ABT_SUCCESS;
}

int ABT_pool_user_def_free(ABT_pool_user_def *d) {
    COMITY_CHECK(*d, ABT_ERR_INV_POOL_USER_DEF);
    delete of(*d);
    *d = ABT_POOL_USER_DEF_NULL;
    return ABT_SUCCESS;
}

int ABT_pool_user_def_set_init(ABT_pool_user_def d, ABT_pool_user_init_fn fn) {
    return set(d, &user_functions::init, fn);
}
int ABT_pool_user_def_set_free(ABT_pool_user_def d, ABT_pool_user_free_fn fn) {
    return set(d, &user_functions::free, fn);
}
int ABT_pool_user_def_set_get_size(ABT_pool_user_def d, ABT_pool_user_get_size_fn fn) {
    return set(d, &user_functions::get_size, fn);
}
int ABT_pool_user_def_set_pop_wait(ABT_pool_user_def d, ABT_pool_user_pop_wait_fn fn) {
    return set(d, &user_functions::pop_wait, fn);
}
int ABT_pool_user_def_set_pop_many(ABT_pool_user_def d, ABT_pool_user_pop_many_fn fn) {
    return set(d, &user_functions::pop_many, fn);
}
int ABT_pool_user_def_set_push_many(ABT_pool_user_def d, ABT_pool_user_push_many_fn fn) {
    return set(d, &user_functions::push_many, fn);
}
int ABT_pool_user_def_set_print_all(ABT_pool_user_def d, ABT_pool_user_print_all_fn fn) {
    return set(d, &user_functions::print_all, fn);
}
}
