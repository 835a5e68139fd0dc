// What the programs that measure the overhead of OpenMP's constructs share: the work in a construct, and the choice of
// one by --construct.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "arguments.hpp"

namespace bench {

inline constexpr int delay_iterations = 50; // about 50 ns

inline void delay() {
    for (int i = 0; i < delay_iterations; ++i) asm volatile("" ::: "memory");
}

// The one of `constructs` (each with a name) that --construct names; without it, the first.
template <class Construct, std::size_t count>
const Construct &choose_construct(arguments &options, const Construct (&constructs)[count]) {
    std::vector<std::string> names;
    for (const Construct &one : constructs) names.emplace_back(one.name);
    const std::string wanted = options.word("construct", constructs[0].name, names);
    const Construct *chosen = constructs;
    while (wanted != chosen->name) ++chosen;
    return *chosen;
}

} // namespace bench
