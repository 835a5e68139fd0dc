#include "core/tls/base.hpp"

#include "sys/c_library.hpp"

namespace comity::core {

constinit bool has_fsgsbase = false;

void detect_tls_base() noexcept {
#if defined(__x86_64__)
    constexpr unsigned long at_hwcap2 = 26, hwcap2_fsgsbase = 2;
    const bool here = (sys::auxiliary_value(at_hwcap2) & hwcap2_fsgsbase) != 0;
    // Atomic only for those who call this at once; readers see it late at worst, and then take the system call.
    __atomic_store_n(&has_fsgsbase, here, __ATOMIC_RELAXED);
#endif
}

} // namespace comity::core
