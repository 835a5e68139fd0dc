// Random fork-join trees in which each thread has a random technique and does random things: yields, waits for a mutex
// or an event, exits from the middle of nested calls, throws, leaves children to others to join, or detaches them.
// What a thread does follows from its seed alone, so that the same tree can be counted without threads.
#include "comity/sync.hpp"
#include "comity/thread.h"

#include "../../unit/sanitizers.hpp"
#include "random.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <vector>

namespace {

constexpr std::uint32_t number_of_techniques = COMITY_TECHNIQUE_AUTOMATIC + 1;

// What the thread of a seed is and does.
struct plan {
    comity_thread_attr_t attr{};
    bool in_two_steps;    // prepared and launched
    bool detached_later;  // by a call of comity_thread_detach
    std::uint32_t yields; // before it creates children
    std::uint32_t children;
    std::uint32_t join_order;
    bool waits, throws, exits;
    std::uint64_t seeds[3];

    plan(std::uint64_t seed, int depth, bool with_tls) {
        seeded_random r(seed);
        attr.technique = static_cast<comity_technique_t>(r(number_of_techniques));
        const std::uint32_t size = r(8);
        attr.stack_size = size == 0 ? 65536 : size == 1 ? 300'000 : 0;
        attr.own_tls = r(16) == 0 && with_tls;
        if (attr.technique == COMITY_TECHNIQUE_STACKLESS) attr.stack_size = 0, attr.own_tls = 0;
        attr.detached = r(8) == 0;
        in_two_steps = r(4) == 0;
        detached_later = !attr.detached && r(8) == 0;
        yields = r(3);
        children = depth > 0 ? r(4) : 0;
        join_order = r(4);
        waits = r(3) == 0;
        throws = r(4) == 0;
        exits = r(3) == 0;
        for (std::uint64_t &s : seeds) s = r.state = r.state * 3 + r(1000);
        if (stackless()) {
            yields = 0;
            waits = exits = false;
        }
    }
    bool stackless() const { return attr.technique == COMITY_TECHNIQUE_STACKLESS; }
    // Nobody joins it: a detached one, or the child of a thread that cannot wait.
    bool unjoined(const plan &parent) const { return attr.detached || detached_later || parent.stackless(); }
};

struct forest {
    std::atomic<std::uint64_t> detached_nodes{0};
    std::atomic<int> waiting{0};
    comity::mutex m;
    std::uint64_t under_mutex = 0;
    bool with_tls = false;
};

// A thread's argument, and its number of nodes that were joined.
struct node {
    forest *in;
    std::uint64_t seed;
    int depth;
    bool unjoined;
    std::uint64_t count = 0;
};

void *grow(void *argument);

int create(node &child, const plan &p, bool parent_cannot_wait, comity_thread_t *&t) {
    comity_thread_attr_t attr = p.attr;
    attr.detached = p.attr.detached || parent_cannot_wait;
    auto *own = child.unjoined ? new node(child) : &child;
    int error = 0;
    if (p.in_two_steps) {
        void *data = nullptr;
        error = comity_thread_prepare(
            &t, &attr, [](void *data) { return grow(*static_cast<node **>(data)); }, &data);
        if (error == 0) {
            *static_cast<node **>(data) = own;
            error = comity_thread_launch(t);
        }
    } else {
        error = comity_thread_create(&t, &attr, grow, own);
    }
    if (error == 0 && p.detached_later && !attr.detached) error = comity_thread_detach(t);
    return error;
}

void (*volatile leave)(void *) = comity_thread_exit; // the compiler need not know that it does not return

__attribute__((noinline)) void exit_from_below(std::uint64_t depth, void *result) {
    volatile std::uint64_t frame = depth;
    if (depth == 0)
        leave(result);
    else
        exit_from_below(depth - 1, result);
    frame = frame + 1;
}

void throw_and_catch(const plan &p, std::uint64_t seed) {
    try {
        throw seed;
    } catch (std::uint64_t caught) {
        if (!p.stackless()) comity_thread_yield(); // others throw and catch meanwhile
        EXPECT_EQ(caught, seed);
        try {
            throw;
        } catch (std::uint64_t again) {
            EXPECT_EQ(again, seed);
        }
    }
}

void wait_for_something(forest &f) {
    f.m.lock();
    const std::uint64_t before = ++f.under_mutex;
    comity_thread_yield();
    EXPECT_EQ(before, f.under_mutex);
    f.m.unlock();
}

std::uint64_t join_all(std::vector<comity_thread_t *> &threads, std::vector<node> &nodes, std::uint32_t order) {
    std::uint64_t sum = 0;
    const std::size_t n = threads.size();
    for (std::size_t i = 0; i < n; ++i) {
        const std::size_t which = order == 0 ? i : order == 1 ? n - 1 - i : (i + order - 1) % n;
        if (!threads[which]) continue;
        void *result = nullptr;
        EXPECT_EQ(comity_thread_join(threads[which], &result), 0);
        EXPECT_EQ(result, &nodes[which]);
        sum += nodes[which].count;
    }
    return sum;
}

void *grow(void *argument) {
    auto &self = *static_cast<node *>(argument);
    const plan p(self.seed, self.depth, self.in->with_tls);
    for (std::uint32_t i = 0; i < p.yields; ++i) comity_thread_yield();
    if (p.throws) throw_and_catch(p, self.seed);
    std::uint64_t count = 1;
    {
        std::vector<comity_thread_t *> threads(p.children);
        std::vector<node> nodes(p.children);
        for (std::uint32_t i = 0; i < p.children; ++i) {
            const plan child(p.seeds[i], self.depth - 1, self.in->with_tls);
            nodes[i] = {self.in, p.seeds[i], self.depth - 1, child.unjoined(p)};
            EXPECT_EQ(create(nodes[i], child, p.stackless(), threads[i]), 0);
            if (nodes[i].unjoined) threads[i] = nullptr;
        }
        if (p.waits) wait_for_something(*self.in);
        count += join_all(threads, nodes, p.join_order);
    }
    self.count = count;
    const auto exit_depth = static_cast<std::uint64_t>(self.depth & 3);
    if (self.unjoined) {
        self.in->detached_nodes += count;
        delete &self;
        argument = nullptr;
    }
    if (p.exits) exit_from_below(exit_depth, argument);
    return argument;
}

std::uint64_t count_serially(std::uint64_t seed, int depth) {
    const plan p(seed, depth, false);
    std::uint64_t nodes = 1;
    for (std::uint32_t i = 0; i < p.children; ++i) nodes += count_serially(p.seeds[i], depth - 1);
    return nodes;
}

// Grows a tree in a scope of its own; true when every node ran exactly once.
bool tree_is_whole(std::uint64_t seed, int depth, bool with_tls) {
    forest f;
    f.with_tls = with_tls;
    node root{&f, seed, depth, false};
    EXPECT_EQ(comity_threads_begin(), 0);
    comity_thread_t *t = nullptr;
    comity_thread_attr_t attr = plan(seed, depth, with_tls).attr;
    attr.detached = 0;
    EXPECT_EQ(comity_thread_create(&t, &attr, grow, &root), 0);
    EXPECT_EQ(comity_thread_join(t, nullptr), 0);
    comity_threads_end();
    const std::uint64_t should_be = count_serially(seed, depth);
    EXPECT_EQ(root.count + f.detached_nodes, should_be) << "tree " << seed;
    return root.count + f.detached_nodes == should_be;
}

constexpr std::uint64_t trees = thread_sanitizer || address_sanitizer ? 60 : 400;

} // namespace

TEST(technique_mixes, trees_of_random_techniques_have_every_node) {
    for (std::uint64_t seed = 1; seed <= trees; ++seed) ASSERT_TRUE(tree_is_whole(seed, 7, false));
}

TEST(technique_mixes, so_have_those_in_which_some_threads_have_their_own_tls) {
    for (std::uint64_t seed = 1; seed <= trees / 4; ++seed) ASSERT_TRUE(tree_is_whole(seed, 5, true));
}

TEST(technique_mixes, so_have_those_of_several_kernel_threads_at_once) {
    std::atomic<std::uint64_t> whole{0};
    std::vector<std::thread> kernel_threads;
    for (std::uint64_t i = 0; i < 4; ++i)
        kernel_threads.emplace_back([i, &whole] {
            for (std::uint64_t seed = 1; seed <= trees / 4; ++seed) whole += tree_is_whole(1000 * i + seed, 6, false);
        });
    for (std::thread &t : kernel_threads) t.join();
    EXPECT_EQ(whole, trees / 4 * 4);
}
