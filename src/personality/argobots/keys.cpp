#include "personality/argobots/keys.hpp"

#include "personality/argobots/check.hpp"
#include "personality/argobots/work.hpp"

#include <new>

namespace comity::abt {

// Few keys are in use, so a list. A key may be freed before the values: they remember its destructor.
struct key_values {
    struct value {
        std::uint64_t id;
        void *is;
        void (*destructor)(void *);
        value *next;
    };
    core::spinlock lock; // also others than the work unit set and get
    value *first = nullptr;
};

namespace {

std::atomic<std::uint64_t> last_key{0};

key_values *values_of(thread *t, bool make) noexcept {
    key_values *v = t->values.load(std::memory_order_acquire); // acquire[abt-values]
    if (v || !make) return v;
    auto *mine = new (std::nothrow) key_values;
    if (!mine) return nullptr;
    if (t->values.compare_exchange_strong(v, mine, std::memory_order_acq_rel)) return mine; // acq_rel[abt-values]
    delete mine;
    return v;
}

} // namespace

int set_value(thread *t, const key *k, void *value) noexcept {
    key_values *v = values_of(t, true);
    if (!v) return ABT_ERR_MEM;
    auto *fresh = new (std::nothrow) key_values::value{k->id, value, k->destructor, nullptr};
    if (!fresh) return ABT_ERR_MEM;
    v->lock.lock();
    for (auto *at = v->first; at; at = at->next)
        if (at->id == k->id) {
            at->is = value;
            v->lock.unlock();
            delete fresh;
            return ABT_SUCCESS;
        }
    fresh->next = v->first;
    v->first = fresh;
    v->lock.unlock();
    return ABT_SUCCESS;
}

static void *get_value(thread *t, const key *k) noexcept {
    key_values *v = values_of(t, false);
    if (!v) return nullptr;
    void *is = nullptr;
    v->lock.lock();
    for (auto *at = v->first; at; at = at->next)
        if (at->id == k->id) {
            is = at->is;
            break;
        }
    v->lock.unlock();
    return is;
}

void destroy_values(thread *t) noexcept {
    key_values *v = t->values.exchange(nullptr, std::memory_order_acquire); // acquire[abt-values]
    if (!v) return;
    while (auto *at = v->first) {
        v->first = at->next;
        if (at->is && at->destructor) at->destructor(at->is);
        delete at;
    }
    delete v;
}

} // namespace comity::abt

using namespace comity::abt;

namespace {
key *of(ABT_key k) noexcept { return reinterpret_cast<key *>(k); }
} // namespace

extern "C" {

int ABT_key_create(void (*destructor)(void *value), ABT_key *newkey) {
    COMITY_CHECK_READY();
    auto *k = new (std::nothrow) key{destructor, last_key.fetch_add(1, std::memory_order_relaxed) + 1};
    COMITY_CHECK(k, ABT_ERR_MEM);
    *newkey = reinterpret_cast<ABT_key>(k);
    return ABT_SUCCESS;
}

int ABT_key_free(ABT_key *k) {
    COMITY_CHECK(*k, ABT_ERR_INV_KEY);
    delete of(*k);
    *k = ABT_KEY_NULL;
    return ABT_SUCCESS;
}

int ABT_key_set(ABT_key k, void *value) { return ABT_self_set_specific(k, value); }
int ABT_key_get(ABT_key k, void **value) { return ABT_self_get_specific(k, value); }

int ABT_self_set_specific(ABT_key k, void *value) {
    COMITY_CHECK_READY();
    COMITY_CHECK(k, ABT_ERR_INV_KEY);
    thread *t = self();
    COMITY_CHECK(t, ABT_ERR_INV_XSTREAM);
    return set_value(t, of(k), value);
}

int ABT_self_get_specific(ABT_key k, void **value) {
    COMITY_CHECK_READY();
    COMITY_CHECK(k, ABT_ERR_INV_KEY);
    thread *t = self();
    COMITY_CHECK(t, ABT_ERR_INV_XSTREAM);
    *value = get_value(t, of(k));
    return ABT_SUCCESS;
}

int ABT_thread_set_specific(ABT_thread t, ABT_key k, void *value) {
    COMITY_CHECK_READY();
    COMITY_CHECK(t, ABT_ERR_INV_THREAD);
    COMITY_CHECK(k, ABT_ERR_INV_KEY);
    return set_value(comity::abt::of(t), of(k), value);
}

int ABT_thread_get_specific(ABT_thread t, ABT_key k, void **value) {
    COMITY_CHECK_READY();
    COMITY_CHECK(t, ABT_ERR_INV_THREAD);
    COMITY_CHECK(k, ABT_ERR_INV_KEY);
    *value = get_value(comity::abt::of(t), of(k));
    return ABT_SUCCESS;
}
}
