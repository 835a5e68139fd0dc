#include "personality/argobots/attributes.hpp"

#include "personality/argobots/check.hpp"
#include "personality/argobots/stacks.hpp"

#include <new>

namespace comity::abt {

thread_options attributes_of(const thread *t) noexcept {
    const context *c = t->kind == unit_kind::main_ult ? nullptr : t->stack;
    thread_options o;
    o.stack_address = c ? static_cast<void *>(c->stack.bottom) : t->stack_address;
    o.stack_size = t->stack_size;
    o.migratable = t->migratable.load(std::memory_order_relaxed);
    o.on_migration = t->on_migration;
    o.migration_arg = t->migration_arg;
    o.of_another = o.stack_address != t->stack_address;
    return o;
}

} // namespace comity::abt

using namespace comity::abt;

extern "C" {

int ABT_thread_attr_create(ABT_thread_attr *made) {
    COMITY_CHECK_READY();
    auto *a = new (std::nothrow) thread_options;
    COMITY_CHECK(a, ABT_ERR_MEM);
    a->stack_size = settings().thread_stack;
    *made = reinterpret_cast<ABT_thread_attr>(a);
    return ABT_SUCCESS;
}

int ABT_thread_attr_free(ABT_thread_attr *a) {
    COMITY_CHECK(*a, ABT_ERR_INV_THREAD_ATTR);
    delete of(*a);
    *a = ABT_THREAD_ATTR_NULL;
    return ABT_SUCCESS;
}

int ABT_thread_attr_set_stack(ABT_thread_attr a, void *address, size_t size) {
    COMITY_CHECK(a, ABT_ERR_INV_THREAD_ATTR);
    COMITY_CHECK(reinterpret_cast<std::uintptr_t>(address) % 8 == 0, ABT_ERR_INV_ARG);
    of(a)->stack_address = address;
    of(a)->stack_size = size;
    return ABT_SUCCESS;
}

int ABT_thread_attr_get_stack(ABT_thread_attr a, void **address, size_t *size) {
    COMITY_CHECK(a, ABT_ERR_INV_THREAD_ATTR);
    *address = of(a)->stack_address;
    *size = of(a)->stack_size;
    return ABT_SUCCESS;
}

int ABT_thread_attr_set_stacksize(ABT_thread_attr a, size_t size) {
    COMITY_CHECK(a, ABT_ERR_INV_THREAD_ATTR);
    of(a)->stack_size = size;
    return ABT_SUCCESS;
}

int ABT_thread_attr_get_stacksize(ABT_thread_attr a, size_t *size) {
    COMITY_CHECK(a, ABT_ERR_INV_THREAD_ATTR);
    *size = of(a)->stack_size;
    return ABT_SUCCESS;
}

int ABT_thread_attr_set_callback(ABT_thread_attr a, void (*fn)(ABT_thread, void *), void *arg) {
    COMITY_CHECK(a, ABT_ERR_INV_THREAD_ATTR);
    of(a)->on_migration = fn;
    of(a)->migration_arg = arg;
    return ABT_SUCCESS;
}

int ABT_thread_attr_set_migratable(ABT_thread_attr a, ABT_bool is) {
    COMITY_CHECK(a, ABT_ERR_INV_THREAD_ATTR);
    of(a)->migratable = is != ABT_FALSE;
    return ABT_SUCCESS;
}

int ABT_thread_get_attr(ABT_thread h, ABT_thread_attr *made) {
    COMITY_CHECK_READY();
    COMITY_CHECK(h && !of(h)->is_tasklet(), ABT_ERR_INV_THREAD);
    COMITY_TRY(ABT_thread_attr_create(made));
    *of(*made) = attributes_of(of(h));
    return ABT_SUCCESS;
}
}
