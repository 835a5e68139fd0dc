// Each drop-in is an object of its own, with inlined parts of the core that must not be left in the middle.
#include "core/displacement.hpp"

namespace {
__attribute__((constructor)) void protect() noexcept {
    comity::core::protect_code_at(reinterpret_cast<const void *>(&protect));
}
} // namespace
