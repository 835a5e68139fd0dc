// The compiler's form of a region's code: a function of two numbers and of the variables' addresses.
#pragma once

#include "personality/openmp/kmp/abi.hpp"

namespace comity::openmp::kmp {

using microtask = void (*)(i32 *number, i32 *rank, ...);

struct microtask_call {
    microtask function;
    unsigned count; // of the arguments
    void **arguments;
};

// A region_function; its data is a microtask_call. May switch if the code does.
void run_microtask(void *call) noexcept;

} // namespace comity::openmp::kmp
