// The compiler's form of a region's code: a function of two numbers and of the variables' addresses.
#pragma once

#include "personality/openmp/kmp/abi.hpp"

namespace comity::openmp::kmp {

using microtask = void (*)(i32 *number, i32 *rank, ...);

// Followed by the arguments, so that the other ranks get it all with one cache line.
struct alignas(16) microtask_call {
    microtask function;
    unsigned count; // of the arguments

    void **arguments() noexcept { return reinterpret_cast<void **>(this + 1); }
};

// A region_function; its data is a microtask_call. May switch if the code does.
void run_microtask(void *call) noexcept;

} // namespace comity::openmp::kmp
