#include "personality/openmp/omp/functions.hpp"

const comity::openmp::abi_traits &comity::openmp::abi = llvm_abi;

// A tool in a program that is linked with this library: the linker exports it, since it is named here, and so it is
// found.
extern "C" __attribute__((weak)) void *ompt_start_tool(unsigned version, const char *runtime);
[[gnu::used]] static void *(*const start_tool)(unsigned, const char *) = ompt_start_tool;
