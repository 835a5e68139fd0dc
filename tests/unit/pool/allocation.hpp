// Memory that is gone when a test wants it so.
#pragma once

#include <cstddef>

extern bool memory_is_gone;     // every allocation fails
extern std::size_t allocations; // so many so far
