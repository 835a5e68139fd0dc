// The functions ABT_sched_config_* and ABT_pool_config_*: values by key.
#include "personality/argobots/check.hpp"
#include "personality/argobots/schedulers.hpp"
#include "personality/argobots/user_pool.hpp"

#include <cstdarg>
#include <new>

extern "C" {
ABT_API_PUBLIC ABT_sched_config_var ABT_sched_config_var_end = {-1, ABT_SCHED_CONFIG_INT};
ABT_API_PUBLIC ABT_sched_config_var ABT_sched_config_access = {-2, ABT_SCHED_CONFIG_INT};
ABT_API_PUBLIC ABT_sched_config_var ABT_sched_config_automatic = {-3, ABT_SCHED_CONFIG_INT};
ABT_API_PUBLIC ABT_sched_config_var ABT_sched_basic_freq = {-4, ABT_SCHED_CONFIG_INT};
ABT_API_PUBLIC extern const ABT_pool_config_var ABT_pool_config_automatic = {-2, ABT_POOL_CONFIG_INT};
}

namespace comity::abt {

namespace {

enum class value_type : std::uint8_t { integer, real, pointer }; // as both interfaces number them

struct entry {
    int key;
    value_type type;
    union {
        int integer;
        double real;
        void *pointer;
    };
    entry *next;
};

struct config {
    entry *first = nullptr;
    config() = default;
    config(const config &) = delete;
    config &operator=(const config &) = delete;
    ~config() {
        while (entry *e = first) {
            first = e->next;
            delete e;
        }
    }
};

entry *find(const config *c, int key) noexcept {
    entry *e = c->first;
    while (e && e->key != key) e = e->next;
    return e;
}

void remove(config *c, int key) noexcept {
    for (entry **at = &c->first; *at; at = &(*at)->next)
        if (entry *e = *at; e->key == key) {
            *at = e->next;
            delete e;
            return;
        }
}

void copy_out(const entry *e, void *to) noexcept {
    switch (e->type) {
    case value_type::integer:
        *static_cast<int *>(to) = e->integer;
        break;
    case value_type::real:
        *static_cast<double *>(to) = e->real;
        break;
    case value_type::pointer:
        *static_cast<void **>(to) = e->pointer;
        break;
    }
}

int set(config *c, int key, int type, const void *value) noexcept {
    COMITY_CHECK(type >= 0 && type <= 2, ABT_ERR_INV_ARG);
    if (!value) {
        remove(c, key);
        return ABT_SUCCESS;
    }
    entry *e = find(c, key);
    if (!e) {
        e = new (std::nothrow) entry;
        COMITY_CHECK(e, ABT_ERR_MEM);
        e->key = key;
        e->next = c->first;
        c->first = e;
    }
    e->type = static_cast<value_type>(type);
    switch (e->type) {
    case value_type::integer:
        e->integer = *static_cast<const int *>(value);
        break;
    case value_type::real:
        e->real = *static_cast<const double *>(value);
        break;
    case value_type::pointer:
        e->pointer = *static_cast<void *const *>(value);
        break;
    }
    return ABT_SUCCESS;
}

config *of(ABT_sched_config c) noexcept { return reinterpret_cast<config *>(c); }
config *of(ABT_pool_config c) noexcept { return reinterpret_cast<config *>(c); }

bool read(const config *c, int key, void *value) noexcept {
    const entry *e = c ? find(c, key) : nullptr;
    if (!e) return false;
    if (value) copy_out(e, value);
    return true;
}

// What ABT_sched_config_create was given after its first argument, up to the end's mark.
int set_all(config *c, std::va_list values) noexcept {
    for (;;) {
        const auto var = va_arg(values, ABT_sched_config_var);
        if (var.idx == ABT_sched_config_var_end.idx) return ABT_SUCCESS;
        int integer = 0;
        double real = 0;
        void *pointer = nullptr;
        switch (var.type) {
        case ABT_SCHED_CONFIG_INT:
            integer = va_arg(values, int);
            COMITY_TRY(set(c, var.idx, var.type, &integer));
            break;
        case ABT_SCHED_CONFIG_DOUBLE:
            real = va_arg(values, double);
            COMITY_TRY(set(c, var.idx, var.type, &real));
            break;
        case ABT_SCHED_CONFIG_PTR:
            pointer = va_arg(values, void *);
            COMITY_TRY(set(c, var.idx, var.type, &pointer));
            break;
        default:
            return ABT_ERR_INV_ARG;
        }
    }
}

} // namespace

bool read_config(ABT_sched_config c, int key, void *value) noexcept { return read(of(c), key, value); }
bool read_pool_config(ABT_pool_config c, int key, void *value) noexcept { return read(of(c), key, value); }

} // namespace comity::abt

using namespace comity::abt;

extern "C" {

int ABT_sched_config_create(ABT_sched_config *made, ...) {
    COMITY_CHECK_READY();
    *made = ABT_SCHED_CONFIG_NULL;
    auto *c = new (std::nothrow) config;
    COMITY_CHECK(c, ABT_ERR_MEM);
    std::va_list values;
    va_start(values, made);
    const int error = set_all(c, values);
    va_end(values);
    if (error == ABT_SUCCESS)
        *made = reinterpret_cast<ABT_sched_config>(c);
    else
        delete c;
    return error;
}

int ABT_sched_config_read(ABT_sched_config c, int num_vars, ...) {
    COMITY_CHECK(num_vars >= 0, ABT_ERR_INV_ARG);
    COMITY_CHECK(c, ABT_ERR_INV_SCHED_CONFIG);
    std::va_list pointers;
    va_start(pointers, num_vars);
    for (int key = 0; key < num_vars; ++key) read(of(c), key, va_arg(pointers, void *));
    va_end(pointers);
    return ABT_SUCCESS;
}

int ABT_sched_config_free(ABT_sched_config *c) {
    COMITY_CHECK(*c, ABT_ERR_INV_SCHED_CONFIG);
    delete of(*c);
    *c = ABT_SCHED_CONFIG_NULL;
    return ABT_SUCCESS;
}

int ABT_sched_config_set(ABT_sched_config c, int idx, ABT_sched_config_type type, const void *value) {
    COMITY_CHECK(c, ABT_ERR_INV_SCHED_CONFIG);
    return set(of(c), idx, type, value);
}

int ABT_sched_config_get(ABT_sched_config c, int idx, ABT_sched_config_type *type, void *value) {
    COMITY_CHECK(c, ABT_ERR_INV_SCHED_CONFIG);
    COMITY_CHECK(read(of(c), idx, value), ABT_ERR_INV_ARG);
    if (type) *type = static_cast<ABT_sched_config_type>(find(of(c), idx)->type);
    return ABT_SUCCESS;
}

int ABT_pool_config_create(ABT_pool_config *made) {
    COMITY_CHECK_READY();
    auto *c = new (std::nothrow) config;
    COMITY_CHECK(c, ABT_ERR_MEM);
    *made = reinterpret_cast<ABT_pool_config>(c);
    return ABT_SUCCESS;
}

int ABT_pool_config_free(ABT_pool_config *c) {
    COMITY_CHECK(*c, ABT_ERR_INV_POOL_CONFIG);
    delete of(*c);
    *c = ABT_POOL_CONFIG_NULL;
    return ABT_SUCCESS;
}

int ABT_pool_config_set(ABT_pool_config c, int key, ABT_pool_config_type type, const void *value) {
    COMITY_CHECK(c, ABT_ERR_INV_POOL_CONFIG);
    return set(of(c), key, type, value);
}

int ABT_pool_config_get(ABT_pool_config c, int key, ABT_pool_config_type *type, void *value) {
    COMITY_CHECK(c, ABT_ERR_INV_POOL_CONFIG);
    COMITY_CHECK(read(of(c), key, value), ABT_ERR_INV_ARG);
    if (type) *type = static_cast<ABT_pool_config_type>(find(of(c), key)->type);
    return ABT_SUCCESS;
}
}
