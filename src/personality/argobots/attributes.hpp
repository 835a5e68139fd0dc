// The attributes of a ULT.
#pragma once

#include "personality/argobots/work.hpp"

namespace comity::abt {

inline thread_options *of(ABT_thread_attr a) noexcept { return reinterpret_cast<thread_options *>(a); }
// What a new ULT gets.
inline thread_options options_of(ABT_thread_attr a) noexcept {
    thread_options o;
    if (a) o = *of(a);
    if (o.of_another) o.stack_address = nullptr; // two cannot share a stack
    return o;
}
// Those that a ULT has now, with the stack on which it runs.
thread_options attributes_of(const thread *t) noexcept;

} // namespace comity::abt
