#include "core/tls/glibc_layout.hpp"

#include <atomic>
#include <initializer_list>

#include "core/tls/base.hpp"
#include "core/tls/sanitized.hpp"
#include "sys/c_library.hpp"
#include "sys/kernel_thread.hpp"
#include "sys/memory.hpp"
#include "sys/process.hpp"

namespace comity::core {
namespace {

// The C library describes some fields for debuggers (nptl_db), as {size in bits, count, offset in the descriptor}.
bool described(const char *name, std::ptrdiff_t &offset) noexcept {
    const auto *description = static_cast<const std::uint32_t *>(sys::find_symbol(name));
    if (!description) return false;
    offset = static_cast<std::ptrdiff_t>(description[2]);
    return true;
}

template <class F> bool symbol(const char *name, F &function) noexcept {
    function = reinterpret_cast<F>(sys::find_symbol(name));
    return function != nullptr;
}

bool find_symbols(glibc_layout &l) noexcept {
    const auto *size = static_cast<const std::uint32_t *>(sys::find_symbol("_thread_db_sizeof_pthread"));
    bool ok = size != nullptr;
    ok = ok && symbol("_dl_allocate_tls", l.allocate_tls);
    ok = ok && symbol("_dl_deallocate_tls", l.deallocate_tls);
    ok = ok && symbol("__ctype_init", l.ctype_init);
    ok = ok && symbol("__call_tls_dtors", l.call_tls_destructors);
    ok = ok && described("_thread_db_pthread_tid", l.tid);
    ok = ok && described("_thread_db_pthread_cancelhandling", l.cancelhandling);
    ok = ok && described("_thread_db_pthread_specific", l.specific);
    ok = ok && described("_thread_db_pthread_list", l.list);
    if (!ok) return false;
#if defined(__aarch64__)
    l.descriptor = -static_cast<std::ptrdiff_t>(*size);
#endif
    for (std::ptrdiff_t *offset : {&l.tid, &l.cancelhandling, &l.specific, &l.list}) *offset += l.descriptor;
    // Not described, but beside described ones in every version from 2.31 to 2.41; check_thread looks whether it is so.
    constexpr std::ptrdiff_t specific_entry = 2 * sizeof(void *), specific_entries = 32;
    l.robust_previous = l.tid + 8;
    l.first_specific = l.specific - specific_entries * specific_entry;
    const auto here = static_cast<std::ptrdiff_t>(tls_base());
    if (void *resolver = sys::find_symbol("__resp")) l.resolver = reinterpret_cast<std::ptrdiff_t>(resolver) - here;
    if (const void *offset = sys::find_symbol("__rseq_offset"))
        l.sequences = *static_cast<const std::ptrdiff_t *>(offset);
    return true;
}

struct check {
    glibc_layout *layout = nullptr;
    sys::stack_memory stack;
    bool ok = false;
};

// On a real thread, whose stack is known: are the fields what they should be, and where is the stack's?
void *check_thread(void *argument) {
    auto &c = *static_cast<check *>(argument);
    glibc_layout &l = *c.layout;
    const std::uintptr_t me = tls_base();
    const auto word = [&](std::ptrdiff_t offset) { return field_at<std::uintptr_t>(me, offset); };
    const auto at = [&](std::ptrdiff_t offset) { return me + static_cast<std::uintptr_t>(offset); };
    c.ok = field_at<int>(me, l.tid) == sys::kernel_thread_id();
    c.ok = c.ok && word(l.robust_previous) == at(l.robust_previous + 8); // empty: linked to itself
    c.ok = c.ok && word(l.robust_previous + 8) == at(l.robust_previous + 8);
    c.ok = c.ok && word(l.specific) == at(l.first_specific);
    c.ok = c.ok && word(l.list) != 0 && word(l.list + 8) != 0;
#if defined(__x86_64__)
    c.ok = c.ok && word(0) == me && word(16) == me;
#endif
    const auto bottom = reinterpret_cast<std::uintptr_t>(c.stack.bottom);
    for (std::ptrdiff_t o = l.specific; c.ok && l.stack == 0 && o < l.specific + 1024; o += 8)
        if (word(o) == bottom && word(o + 8) == c.stack.size()) l.stack = o;
    c.ok = c.ok && l.stack != 0;
    return nullptr;
}

const glibc_layout *find() noexcept {
    static glibc_layout layout;
    if (tls_sanitized || !find_symbols(layout)) return nullptr;
    check c;
    c.layout = &layout;
    c.stack = sys::map_stack(sys::kernel_thread_overhead() + (std::size_t{64} << 10));
    if (!c.stack) return nullptr;
    sys::joinable_thread thread = 0;
    if (sys::start_kernel_thread_on(c.stack.bottom, c.stack.top, check_thread, &c, thread) == 0)
        sys::join_kernel_thread(thread);
    sys::unmap_stack(c.stack);
    return c.ok ? &layout : nullptr;
}

} // namespace

const glibc_layout *find_glibc_layout() noexcept {
    return sys::made_once([] { return find(); });
}

} // namespace comity::core
