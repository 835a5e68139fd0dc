#include "core/tls/visit.hpp"

#include "core/tls/base.hpp"
#include "core/tls/sanitized.hpp"

// Nothing here may be instrumented: each function begins on one TLS block and goes on on another.
namespace comity::core {
namespace {

// What the kernel thread did before it changed blocks has happened for the one after.
COMITY_NEVER_INSTRUMENTED void change_base(visit &v, std::uintptr_t base) noexcept {
    tell_release(&v);
    set_tls_base(base);
    tell_acquire(&v);
}

COMITY_NEVER_INSTRUMENTED void visit_entry(void *a, void *) {
    auto &v = *static_cast<visit *>(a);
    v.fn(v);
    v.done = true;
    change_base(v, v.home_base);
    arch::comity_arch_resume(v.home, nullptr, nullptr);
}

} // namespace

COMITY_NEVER_INSTRUMENTED void enter(visit &v) noexcept {
    v.home_base = tls_base();
    change_base(v, v.block->base);
    arch::comity_arch_save_call(&v.home, v.block->stack_top, visit_entry, &v, nullptr);
}

COMITY_NEVER_INSTRUMENTED void reenter(visit &v) noexcept {
    v.home_base = tls_base();
    change_base(v, v.block->base);
    arch::comity_arch_switch(&v.home, v.self, nullptr, nullptr);
}

COMITY_NEVER_INSTRUMENTED void leave(visit &v) noexcept {
    change_base(v, v.home_base);
    arch::comity_arch_switch(&v.self, v.home, nullptr, nullptr);
}

} // namespace comity::core
