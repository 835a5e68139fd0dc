// Include it in one source file of each shared object whose code must not be left in the middle (rule 2 of
// "Displacement" in core/README.md): before the program runs, also where no thread is ever interrupted by a watch,
// since the program's own handlers ask (is_in_handler_amid_comity).
#pragma once

#include "core/displacement.hpp"

namespace {

__attribute__((constructor)) void protect_own_code() noexcept {
    comity::core::protect_code_at(reinterpret_cast<const void *>(&protect_own_code));
}

} // namespace
