// The compiler's form of a region's code: a function of two numbers and of the variables' addresses.
#pragma once

#include "personality/openmp/kmp/abi.hpp"
#include "personality/openmp/thread.hpp"

namespace comity::openmp::kmp {

using microtask = void (*)(i32 *number, i32 *rank, ...);

// Followed by the arguments, so that the other ranks get it all with one cache line.
struct alignas(16) microtask_call {
    microtask function;
    unsigned count; // of the arguments

    void **arguments() noexcept { return reinterpret_cast<void **>(this + 1); }
};

// The call of the region that `t` opens. It is no part of the opener's stack, as ranks may begin after the opener has
// left the region by longjmp.
microtask_call &make_room_for_call(thread *t, unsigned count) noexcept;
inline microtask_call &call_of(thread *t, unsigned count) noexcept {
    if (t->call_room <= count) [[unlikely]]
        return make_room_for_call(t, count);
    return *static_cast<microtask_call *>(t->call);
}

// A region_function; its data is a microtask_call. May switch if the code does.
void run_microtask(void *call) noexcept;

} // namespace comity::openmp::kmp
