#include "core/tls/block.hpp"
#include "sys/futex.hpp"
#include "sys/memory.hpp"
#include "sys/signals.hpp"
#include <atomic>
#include <cerrno>
#include <new>
#include <pthread.h>
#include <sys/auxv.h>
namespace comity::core {
bool has_fsgsbase = false;
namespace {
struct donor : tls_block {
    pthread_t thread{};
    sys::stack_memory stack;
    std::atomic<std::uint32_t> word{0};
    std::atomic<std::uint32_t> ready{0};
    void (*fn)(void *) = nullptr;
    void *arg = nullptr;
};
std::atomic<unsigned> color{0};
void *donor_main(void *a) {
    auto *d = static_cast<donor *>(a);
    d->base = tls_base();
    d->current_slot = core::current_slot();
    auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    unsigned col = color.fetch_add(1, std::memory_order_relaxed);
    d->stack_top = reinterpret_cast<std::byte *>((here - 4096 - (col * 7 % 64) * 64) & ~std::uintptr_t{15});
    d->stack_bottom = d->stack.bottom;
    d->ready.store(1, std::memory_order_release);
    sys::futex_wake_all(d->ready);
    for (;;) {
        std::uint32_t w;
        while ((w = d->word.load(std::memory_order_acquire)) == 0)
            (void)sys::futex_wait(d->word, 0);
        if (w == 2)
            return nullptr;
        d->word.store(0, std::memory_order_relaxed);
        d->fn(d->arg);
    }
}
} // namespace
tls_block *make_tls_block(std::size_t size, int &error) noexcept {
    auto *d = new (std::nothrow) donor;
    static std::atomic<unsigned> n{0};
    if (d)
        d->stack = sys::map_stack(size + 16384 + (n.fetch_add(1) % 32) * 4096);
    if (!d || !d->stack) {
        error = ENOMEM;
        delete d;
        return nullptr;
    }
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstack(&attr, d->stack.bottom, d->stack.size());
    {
        sys::signals_blocked blocked;
        error = pthread_create(&d->thread, &attr, donor_main, d);
    }
    pthread_attr_destroy(&attr);
    if (error) {
        sys::unmap_stack(d->stack);
        delete d;
        return nullptr;
    }
    while (d->ready.load(std::memory_order_acquire) == 0)
        (void)sys::futex_wait(d->ready, 0);
    return d;
}
void free_tls_block(tls_block *b) noexcept {
    auto *d = static_cast<donor *>(b);
    d->word.store(2, std::memory_order_release);
    sys::futex_wake_all(d->word);
    pthread_join(d->thread, nullptr);
    sys::unmap_stack(d->stack);
    delete d;
}
bool run_on_donor(tls_block *b, void (*fn)(void *), void *arg) noexcept {
    auto *d = static_cast<donor *>(b);
    d->fn = fn;
    d->arg = arg;
    d->word.store(1, std::memory_order_release);
    sys::futex_wake_all(d->word);
    return true;
}
void select_tls_provider() noexcept {
#if defined(__x86_64__)
    has_fsgsbase = getauxval(AT_HWCAP2) & 2;
#endif
}
}
