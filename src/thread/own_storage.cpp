#include "thread/own_storage.hpp"

#include "core/carrier.hpp"
#include "core/tls/block.hpp"
#include "sys/thread_locals.hpp"
#include "thread/extension.hpp"

#include <cerrno>
#include <clocale>
#include <utility>

#include <locale.h>

namespace comity {

int begin_with_own_storage(thread *t) noexcept {
    thread_extension *x = extend(t);
    if (!x) return ENOMEM;
    x->has_own_storage = true;
    start_by_extension(t);
    return 0;
}

void renew_own_storage() noexcept {
    core::tls_block *block = core::current_context()->tls;
    errno = 0;
    if (!block || !std::exchange(block->used, true)) return; // nobody was here before
    ++block->renewals;
    sys::renew_thread_locals();
    *core::caught_here() = {};
    ::uselocale(LC_GLOBAL_LOCALE);
}

void end_own_storage() noexcept { (void)sys::destroy_thread_locals(); }

} // namespace comity
