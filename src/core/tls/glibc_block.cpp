// Blocks without a kernel thread: the C library's own allocator makes the thread-local storage, and what a new thread
// sets in its descriptor is set here. README.md says what such a block cannot do.
#include <atomic>
#include <cerrno>
#include <initializer_list>
#include <new>

#include <resolv.h>

#include "core/context.hpp"
#include "core/tls/base.hpp"
#include "core/tls/glibc_layout.hpp"
#include "core/tls/provider.hpp"
#include "core/tls/visit.hpp"
#include "sys/errno_kept.hpp"

namespace comity::core {
namespace {

struct alignas(64) glibc_block : tls_block {
    void *storage = nullptr; // what _dl_allocate_tls gave
    alignas(16) std::byte resolver[sizeof(struct __res_state)] = {};
};

// Owner ids of locked mutexes: above every kernel thread's (4,194,304 at most), within the 30 bits that a futex has.
int next_id() noexcept {
    constexpr unsigned first = 0x20000000, count = 0x1fffffff;
    static std::atomic<unsigned> made{0};
    return static_cast<int>(first + made.fetch_add(1, std::memory_order_relaxed) % count);
}

// What pthread_create and the new thread itself set in a thread's descriptor.
void fill_descriptor(const glibc_layout &l, glibc_block &b) noexcept {
    const std::uintptr_t t = b.base;
    const std::uintptr_t me = tls_base();
    const auto at = [&](std::ptrdiff_t offset) { return t + static_cast<std::uintptr_t>(offset); };
    const auto word = [&](std::ptrdiff_t offset) -> std::uintptr_t & { return field_at<std::uintptr_t>(t, offset); };
#if defined(__x86_64__)
    word(0) = word(16) = t;   // the base's own address, and pthread_self()
    field_at<int>(t, 24) = 1; // multiple_threads
    for (const std::ptrdiff_t guard :
         {0x28, 0x30}) // the canary, and what longjmp's and atexit's pointers are mixed with
        word(guard) = field_at<std::uintptr_t>(me, guard);
#else
    field_at<int>(t, l.descriptor) = 1; // multiple_threads
#endif
    field_at<int>(t, l.tid) = next_id();
    word(l.robust_previous) = word(l.robust_previous + 8) = at(l.robust_previous + 8);   // no robust mutexes
    word(l.robust_previous + 16) = field_at<std::uintptr_t>(me, l.robust_previous + 16); // where a mutex's link lies
    word(l.specific) = at(l.first_specific);
    word(l.list) = word(l.list + 8) = at(l.list); // in no list: taking it out of one is harmless
    word(l.stack) = reinterpret_cast<std::uintptr_t>(b.stack_bottom);
    word(l.stack + 8) = static_cast<std::size_t>(b.stack_top - b.stack_bottom);
    if (l.resolver != 0) word(l.resolver) = reinterpret_cast<std::uintptr_t>(b.resolver);
    constexpr std::int32_t never_registered = -2;
    if (l.sequences != 0) field_at<std::int32_t>(t, l.sequences + 4) = never_registered; // cpu_id
}

// Calls a function of the C library on the block.
void call_on(tls_block *block, void (*function)()) noexcept {
    visit v;
    v.block = block;
    v.arg = reinterpret_cast<void *>(function);
    v.fn = [](visit &self) { reinterpret_cast<void (*)()>(self.arg)(); };
    enter(v);
}

} // namespace

tls_block *make_glibc_block(std::size_t stack_size, int &error) noexcept {
    const sys::errno_kept kept;
    error = EAGAIN;
    const glibc_layout *l = find_glibc_layout();
    if (!l) return nullptr;
    error = ENOMEM;
    carved_stack carved = carve_stack(stack_size, sizeof(glibc_block));
    if (!carved.block) return nullptr;
    auto *b = new (carved.block) glibc_block;
    b->stack = carved.stack;
    b->storage = l->allocate_tls(nullptr);
    if (!b->storage) {
        sys::unmap_stack(carved.stack);
        return nullptr;
    }
    b->base = reinterpret_cast<std::uintptr_t>(b->storage);
    b->stack_bottom = carved.stack.bottom;
    b->stack_top = reinterpret_cast<std::byte *>(b);
    b->provider = tls_provider::glibc;
    b->generation = process_generation();
    // The variable lies at the same distance from the base in every block: it is of the initial-exec model.
    b->current_slot =
        reinterpret_cast<context **>(reinterpret_cast<std::uintptr_t>(current_slot()) - tls_base() + b->base);
    fill_descriptor(*l, *b);
    call_on(b, l->ctype_init);
    error = 0;
    return b;
}

void free_glibc_block(tls_block *block) noexcept {
    auto *b = static_cast<glibc_block *>(block);
    const glibc_layout *l = find_glibc_layout();
    if (b->generation == process_generation()) call_on(b, l->call_tls_destructors);
    sys::stack_memory stack = b->stack;
    l->deallocate_tls(b->storage, true);
    sys::unmap_stack(stack);
}

} // namespace comity::core
