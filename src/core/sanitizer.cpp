#include "core/sanitizer.hpp"

#include "sys/memory.hpp"
#include "sys/message.hpp"

// The sanitizers' own: they are there in a program that is built with one.
extern "C" {
[[gnu::weak]] void __tsan_init();
[[gnu::weak]] void __asan_init();
}

namespace comity::core {

void check_sanitizers() noexcept {
    if (sys::sanitized) return;
    if (__tsan_init)
        sys::fatal("start",
                   "the program is built with ThreadSanitizer, which cannot follow this build of libcomity: link "
                   "the one of the preset tsan (docs/sanitizers.md)");
    if (__asan_init)
        sys::warn(
            "start: the program is built with AddressSanitizer, which may report falsely where a thread of Comity "
            "throws or ends: link the libcomity of the preset asan (docs/sanitizers.md)");
}

} // namespace comity::core

#if defined(COMITY_ASAN)

namespace comity::core {

void forget_frames(const std::byte *bottom, const std::byte *top) noexcept {
    std::size_t scale = 0, offset = 0;
    __asan_get_shadow_mapping(&scale, &offset);
    const std::size_t unit = sys::page_size() << scale; // has a page of shadow
    const auto from = (reinterpret_cast<std::uintptr_t>(bottom) + unit - 1) / unit * unit;
    const auto to = reinterpret_cast<std::uintptr_t>(top) / unit * unit;
    if (from >= to) return allow_memory(bottom, static_cast<std::size_t>(top - bottom));
    allow_memory(bottom, from - reinterpret_cast<std::uintptr_t>(bottom));
    sys::discard_pages(reinterpret_cast<void *>((from >> scale) + offset), (to - from) >> scale);
    allow_memory(reinterpret_cast<void *>(to), reinterpret_cast<std::uintptr_t>(top) - to);
}

} // namespace comity::core

#endif
