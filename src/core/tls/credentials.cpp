#include "core/tls/credentials.hpp"

#include "core/tls/base.hpp"
#include "core/tls/block.hpp"
#include "sys/lent_thread.hpp"
#include "sys/signals.hpp"

#include <cstdint>

namespace comity::core {
namespace {

// Written once, by answer_setuid_as_own_thread: the first two before the handler is there.
std::uintptr_t distance = 0; // from a thread's base to its list of robust mutexes
sys::kernel_handler c_librarys = nullptr;
bool answers = false;

// 0: the kernel does not tell.
[[gnu::always_inline]] inline std::uintptr_t own_base() noexcept {
    const auto list = reinterpret_cast<std::uintptr_t>(sys::lent_robust_list());
    return list ? list - distance : 0;
}

// At any instruction, also in the middle of a switch and while the kernel thread's own storage is lent.
COMITY_NEVER_INSTRUMENTED void on_setuid(int signal, siginfo_t *info, void *frame) {
    const std::uintptr_t found = tls_base(), own = own_base();
    if (own) set_tls_base(own);
    c_librarys(signal, info, frame);
    if (own) set_tls_base(found);
}

} // namespace

void answer_setuid_as_own_thread() noexcept {
    const auto list = reinterpret_cast<std::uintptr_t>(sys::lent_robust_list());
    if (!list) return;
    distance = list - tls_base();
    answers = sys::replace_credentials_handler(on_setuid, c_librarys);
}

running_on storage_here() noexcept {
    (void)select_tls_provider();
    if (!answers || !sys::replace_credentials_handler(on_setuid, c_librarys)) return running_on::unknown;
    const std::uintptr_t own = own_base();
    if (!own) return running_on::unknown;
    return own == tls_base() ? running_on::own : running_on::lent;
}

} // namespace comity::core
