// What the entries of LLVM's OpenMP ABI have in common. Their names and versions are in libomp.map.
//
// Every entry gets a description of its place in the source (`ident`) and the calling thread's number, which the
// compiler asked for at the beginning of the function. The caller is found by its own thread-local storage instead: the
// number may be stale after a switch, and costs a table to be looked up in.
#pragma once

#include <cstddef>
#include <cstdint>

namespace comity::openmp::kmp {

using i32 = std::int32_t;
using u32 = std::uint32_t;
using i64 = std::int64_t;
using u64 = std::uint64_t;

struct ident {
    i32 reserved_1;
    i32 flags;
    i32 reserved_2, reserved_3;
    const char *source; // ";file;function;line;column;;"
};
enum ident_flag : i32 {
    ident_atomic_reduce = 0x10,
    ident_barrier_explicit = 0x20,
    ident_barrier_implicit = 0x40,
    ident_sections = 0x400,
    ident_distribute = 0x800,
};

// What a critical section's name is for the compiler: zero at first, the first word is ours.
using critical_name = i32[8];

} // namespace comity::openmp::kmp

// All of these may be called from any thread and in any region; those that wait may switch context.
#define COMITY_KMP extern "C" __attribute__((visibility("default")))
