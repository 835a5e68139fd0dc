// Keys: storage of each thread's own. A key's number is odd while it exists and grows with each creation and deletion
// in its place, so that values of an earlier key are never seen.
#include "thread/extension.hpp"

#include <cerrno>

namespace comity {

namespace {

struct key {
    // Even: free; odd: in use. Whoever makes it odd owns the place until it is deleted.
    std::atomic<std::uint32_t> number{0};
    std::atomic<void (*)(void *)> destructor{nullptr};
};
key keys[COMITY_KEYS_MAX];

constexpr unsigned destructor_rounds = 4; // as POSIX: a destructor may set values again

bool is_used(comity_key_t k) noexcept {
    return k < COMITY_KEYS_MAX && (keys[k].number.load(std::memory_order_acquire) & 1) != 0; // acquire[key]
}

bool make_room(thread_extension *x, comity_key_t k) noexcept {
    if (k < x->number_of_values) return true;
    const std::uint32_t n = (k / 8 + 1) * 8;
    auto *values = static_cast<key_value *>(sys::allocate_own(n * sizeof(key_value)));
    if (!values) return false;
    for (std::uint32_t i = 0; i < n; ++i) values[i] = i < x->number_of_values ? x->values[i] : key_value{};
    sys::free_own(x->values, x->number_of_values * sizeof(key_value));
    x->values = values;
    x->number_of_values = n;
    return true;
}

// Takes the value out and destroys it; false: there is none.
bool destroy_value(thread_extension *x, comity_key_t k) noexcept {
    const key_value v = x->values[k];
    x->values[k] = {};
    if (!v.value || v.number != keys[k].number.load(std::memory_order_acquire)) return false; // acquire[key]
    void (*destroy)(void *) = keys[k].destructor.load(std::memory_order_relaxed);
    if (!destroy) return false;
    destroy(v.value);
    return true;
}

} // namespace

void destroy_values(thread_extension *x) noexcept {
    bool more = true;
    for (unsigned round = 0; more && round < destructor_rounds; ++round) {
        more = false;
        for (comity_key_t k = 0; k < x->number_of_values; ++k) more |= destroy_value(x, k);
    }
}

} // namespace comity

using namespace comity;

extern "C" {

int comity_key_create(comity_key_t *out, void (*destructor)(void *)) {
    if (!out) return EINVAL;
    for (comity_key_t k = 0; k < COMITY_KEYS_MAX; ++k) {
        std::uint32_t number = keys[k].number.load(std::memory_order_relaxed);
        if ((number & 1) != 0 || !keys[k].number.compare_exchange_strong(number, number + 1,
                                                                         std::memory_order_acq_rel)) // acq_rel[key]
            continue;
        keys[k].destructor.store(destructor,
                                 std::memory_order_relaxed); // the key is known to nobody before this returns
        *out = k;
        return 0;
    }
    return EAGAIN;
}

int comity_key_delete(comity_key_t k) {
    if (k >= COMITY_KEYS_MAX) return EINVAL;
    std::uint32_t number = keys[k].number.load(std::memory_order_relaxed);
    if ((number & 1) == 0) return EINVAL;
    return keys[k].number.compare_exchange_strong(number, number + 1, std::memory_order_acq_rel) // acq_rel[key]
               ? 0
               : EINVAL;
}

int comity_key_set(comity_key_t k, const void *value) {
    thread *t = own_thread();
    if (!t) return EPERM;
    if (!is_used(k)) return EINVAL;
    thread_extension *x = extend(t);
    if (!x || !make_room(x, k)) return ENOMEM;
    x->values[k] = {const_cast<void *>(value), keys[k].number.load(std::memory_order_relaxed)};
    return 0;
}

void *comity_key_get(comity_key_t k) {
    const thread *t = own_thread();
    const thread_extension *x = t ? extension_of(t) : nullptr;
    if (!x || !is_used(k) || k >= x->number_of_values) return nullptr;
    const key_value &v = x->values[k];
    return v.number == keys[k].number.load(std::memory_order_relaxed) ? v.value : nullptr;
}
}
