// Unbalanced tree search: counts the nodes of a tree that is known only as it is walked. A node is a SHA-1 hash; the
// hash of its own and a child's number is the child, and its last word decides how many children it has. The tree is T1
// of the UTS benchmark: geometric with 4 children on average down to depth 10, root 19: 4,130,071 nodes.
#pragma once

#include <cmath>

#include "../support/tree.hpp"
#include "sha1.hpp"

namespace bench {

struct uts_node {
    sha1_digest state;
    int depth = 0;

    static uts_node root(std::uint32_t seed) {
        sha1_digest zero{};
        return {sha1_of(zero.data(), 4, seed), 0};
    }
    uts_node child(int number) const {
        return {sha1_of(state.data(), 5, static_cast<std::uint32_t>(number)), depth + 1};
    }
};

struct uts_problem {
    static constexpr const char *name = "uts";
    static constexpr int most_children = 100;
    static constexpr double branching = 4;

    int depth, seed;
    long result = 0;

    static uts_problem read(arguments &options) {
        const int depth = options.whole("depth", 10, 1, 10);
        return {depth, options.whole("seed", 19, 0, 1 << 30)};
    }
    uts_problem smaller() const { return {depth > 4 ? depth - 4 : depth, seed}; }
    uts_node root() const { return uts_node::root(static_cast<std::uint32_t>(seed)); }
    void prepare() { result = -1; }
    void check() const {
        // Sizes of the trees of seed 19, by depth.
        static constexpr long sizes[] = {1, 6, 65, 254, 944, 3987, 16000, 63914, 257042, 1031269, 4130071};
        demand(seed != 19 || result == sizes[depth], "wrong number of nodes");
        demand(result > 0, "no nodes");
    }

    // Geometrically distributed with mean `branching`; nothing below the deepest level.
    static int count_children(const uts_node &node, int deepest) {
        if (node.depth >= deepest) return 0;
        const double uniform = static_cast<double>(node.state[4] & 0x7fffffffu) / 2147483648.0;
        static const double scale = std::log(1 - 1 / (1 + branching));
        const int count = static_cast<int>(std::floor(std::log(1 - uniform) / scale));
        return count < most_children ? count : most_children;
    }
};

} // namespace bench
