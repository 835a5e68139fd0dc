// Tasks, by calling the ABI as compilers do: random programs of tasks whose results are known. What a task leaves
// behind is plain data that its parent reads after waiting, so ThreadSanitizer sees a wait that ends too early, and a
// wait that does not end at all is a test that does not either.
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

extern "C" {
void GOMP_parallel(void (*)(void *), void *, unsigned, unsigned);
bool GOMP_single_start();
void GOMP_barrier();
void GOMP_task(void (*)(void *), void *, void (*)(void *, void *), long, long, bool, unsigned, void **, int, void *);
void GOMP_taskwait();
void GOMP_taskwait_depend(void **);
void GOMP_taskyield();
void GOMP_taskgroup_start();
void GOMP_taskgroup_end();
void omp_fulfill_event(std::uintptr_t);
int omp_get_thread_num();
}

namespace {

constexpr unsigned untied = 1, final = 2, depends = 8, with_priority = 16, detach = 1u << 13;

template <class F> void call(void *f) { (*static_cast<F *>(f))(); }

template <class F> void single(unsigned ranks, F &&f) {
    auto body = [&] {
        if (GOMP_single_start()) f();
    };
    GOMP_parallel(call<decltype(body)>, &body, ranks, 0);
}

struct options {
    unsigned flags = 0;
    bool deferred = true; // if()
    int priority = 0;
    void **depend = nullptr;
};

template <class F> void task(F f, options o = {}) {
    static_assert(std::is_trivially_copyable_v<F>);
    GOMP_task(call<F>, &f, nullptr, sizeof f, alignof(F), o.deferred, o.flags | (o.depend ? depends : 0), o.depend,
              o.priority, nullptr);
}

// A task with an event; its own function gets the handle first.
template <class F> struct detached_data {
    void *event;
    F f;
};
template <class F> std::uintptr_t detached_task(F f, void **depend = nullptr) {
    detached_data<F> data{nullptr, f};
    void *event = nullptr;
    GOMP_task([](void *d) { static_cast<detached_data<F> *>(d)->f(); }, &data, nullptr, sizeof data, alignof(void *),
              true, detach | (depend ? depends : 0), depend, 0, &event);
    return reinterpret_cast<std::uintptr_t>(event);
}

class tasks : public testing::TestWithParam<unsigned> {
protected:
    unsigned ranks = GetParam();
};

// ---- Trees

struct node {
    std::uint32_t seed = 0;
    int depth = 0;
    bool waits = false; // for its children; else they may outlive it
    bool groups = false;
    int ran = 0; // times; plain
    long sum = 0;
    std::vector<std::unique_ptr<node>> children;
};

std::unique_ptr<node> grow(std::mt19937 &random, int depth, int &nodes) {
    auto n = std::make_unique<node>();
    n->seed = static_cast<std::uint32_t>(random());
    n->depth = depth;
    n->waits = random() % 3 != 0;
    n->groups = !n->waits && random() % 3 == 0;
    const unsigned most = depth == 0 ? 12 : depth < 8 ? 4 : 0;
    for (unsigned i = most ? 1 + static_cast<unsigned>(random() % most) : 0; i > 0 && nodes > 0; --i, --nodes)
        n->children.push_back(grow(random, depth + 1, nodes));
    return n;
}

bool all_below_ran(const node &n) {
    for (const auto &child : n.children)
        if (child->ran != 1 || !all_below_ran(*child)) return false;
    return true;
}

std::atomic<int> early{0};

void visit(node *n) {
    if (n->groups) GOMP_taskgroup_start();
    for (const auto &child : n->children) {
        options o;
        switch ((n->seed ^ child->seed) % 9) {
        case 0:
            o.deferred = false;
            break;
        case 1:
            o.flags = untied;
            break;
        case 2:
            if (child->depth > 6) o.flags = final;
            break;
        case 3:
            o.flags = with_priority;
            o.priority = static_cast<int>(child->seed % 7);
            break;
        default:
            break;
        }
        node *c = child.get();
        task([c] { visit(c); }, o);
        if (child->seed % 13 == 0) GOMP_taskyield();
    }
    n->sum = n->seed % 1000;
    ++n->ran;
    if (n->groups) {
        GOMP_taskgroup_end();
        if (!all_below_ran(*n)) early.fetch_add(1);
    } else if (n->waits) {
        GOMP_taskwait();
        for (const auto &child : n->children) {
            if (child->ran != 1) early.fetch_add(1);
            n->sum += child->waits ? child->sum : 0;
        }
    }
}

long sum_of_those_that_wait(const node &n) {
    long sum = n.seed % 1000;
    if (n.waits)
        for (const auto &child : n.children)
            if (child->waits) sum += sum_of_those_that_wait(*child);
    return sum;
}

TEST_P(tasks, random_trees_run_each_task_once_and_wait_for_what_they_say) {
    for (unsigned round = 0; round < 40; ++round) {
        std::mt19937 random(round);
        int nodes = 3000;
        const auto root = grow(random, 0, nodes);
        root->waits = round % 2;
        root->groups = round % 4 == 0;
        early = 0;
        single(ranks, [&] { visit(root.get()); });
        ASSERT_EQ(early, 0);
        ASSERT_EQ(root->ran, 1);
        ASSERT_TRUE(all_below_ran(*root)) << "in round " << round;
        if (root->waits) {
            ASSERT_EQ(root->sum, sum_of_those_that_wait(*root));
        }
    }
}

TEST_P(tasks, ranks_that_make_trees_at_the_same_time_wait_for_all_of_them_at_a_barrier) {
    for (unsigned round = 0; round < 10; ++round) {
        std::vector<std::unique_ptr<node>> roots;
        for (unsigned i = 0; i < ranks; ++i) {
            std::mt19937 random(round * 100 + i);
            int nodes = 400;
            roots.push_back(grow(random, 0, nodes));
            roots.back()->waits = roots.back()->groups = false;
        }
        std::atomic<int> missing{0};
        early = 0;
        auto body = [&] {
            visit(roots[static_cast<unsigned>(omp_get_thread_num())].get());
            GOMP_barrier();
            for (const auto &root : roots) missing += root->ran != 1 || !all_below_ran(*root);
        };
        GOMP_parallel(call<decltype(body)>, &body, ranks, 0);
        ASSERT_EQ(missing, 0);
        ASSERT_EQ(early, 0);
    }
}

// Each makes the next one before it does its own work, and waits for nothing.
void link(std::atomic<int> *done, int left) {
    if (left) task([done, left] { link(done, left - 1); });
    done->fetch_add(1, std::memory_order_relaxed);
}

TEST_P(tasks, a_long_chain_of_tasks_needs_little_stack) {
    std::atomic<int> done{0};
    single(ranks, [&] { link(&done, 100000); });
    EXPECT_EQ(done, 100001);
}

TEST_P(tasks, large_and_aligned_data_is_copied) {
    struct alignas(256) wide {
        std::array<int, 2000> values;
    };
    auto data = std::make_unique<wide>();
    std::atomic<int> wrong{0};
    single(ranks, [&] {
        for (int i = 0; i < 50; ++i) {
            data->values.fill(i);
            auto *counter = &wrong;
            task([copy = *data, i, counter] {
                *counter += reinterpret_cast<std::uintptr_t>(&copy) % 256 != 0;
                for (int value : copy.values) *counter += value != i;
            });
        }
    });
    EXPECT_EQ(wrong, 0);
}

// ---- Dependences

constexpr unsigned places = 5;
enum kind : std::uintptr_t { in = 1, out, inout, mutexinoutset, inoutset };

struct location {
    long written = 0;           // by those that exclude all others, or each other
    std::atomic<long> added{0}; // by inoutset
};

struct expectation {
    std::array<kind, places> kinds{}; // 0: not in the clause
    std::array<long, places> written{}, added{};
};

// What each task must find, by the program's order alone.
std::vector<expectation> plan(std::mt19937 &random, unsigned count) {
    std::vector<expectation> all(count);
    std::array<long, places> written{}, added{};
    for (expectation &e : all)
        for (unsigned p = 0; p < places; ++p) {
            if (random() % 2) continue;
            e.kinds[p] = static_cast<kind>(1 + random() % 5);
            e.written[p] = written[p];
            e.added[p] = added[p];
            if (e.kinds[p] == inoutset)
                ++added[p];
            else if (e.kinds[p] != in)
                ++written[p];
        }
    return all;
}

// Does it find what came before, whatever the others of its own kind have done?
bool right(const expectation &e, std::array<location, places> &data, bool writes) {
    bool good = true;
    for (unsigned p = 0; p < places; ++p) {
        location &l = data[p];
        if (!e.kinds[p]) continue;
        if (e.kinds[p] == mutexinoutset)
            good &= l.added == e.added[p]; // those of the set run in any order
        else if (e.kinds[p] == inoutset)
            good &= l.written == e.written[p];
        else
            good &= l.written == e.written[p] && l.added == e.added[p];
        if (!writes) continue;
        if (e.kinds[p] == inoutset)
            ++l.added;
        else if (e.kinds[p] != in)
            ++l.written;
    }
    return good;
}

// As compilers give it, in the form with depend objects: {0, n, writers, mutexinoutsets, readers, ...}.
struct clause {
    std::array<void *, 5 + places> words{};
    std::array<std::array<void *, 2>, places> objects{};

    clause(const expectation &e, std::array<location, places> &data) {
        std::uintptr_t count[4] = {};
        std::size_t next = 5;
        for (kind k : {out, mutexinoutset, in})
            for (unsigned p = 0; p < places; ++p)
                if (e.kinds[p] == k) {
                    words[next++] = &data[p];
                    ++count[k == out ? 0 : k == mutexinoutset ? 1 : 2];
                }
        for (unsigned p = 0; p < places; ++p)
            if (e.kinds[p] == inout || e.kinds[p] == inoutset) {
                objects[p] = {&data[p], reinterpret_cast<void *>(e.kinds[p])};
                words[next++] = objects[p].data();
            }
        words[1] = reinterpret_cast<void *>(next - 5);
        for (unsigned i = 0; i < 3; ++i) words[2 + i] = reinterpret_cast<void *>(count[i]);
    }
};

TEST_P(tasks, dependences_of_all_kinds_keep_the_order_of_the_program) {
    for (unsigned round = 0; round < 20; ++round) {
        std::mt19937 random(round);
        const auto all = plan(random, 300);
        std::array<location, places> data;
        std::atomic<int> wrong{0};
        single(ranks, [&] {
            for (std::size_t i = 0; i < all.size(); ++i) {
                clause c(all[i], data);
                const expectation *e = &all[i];
                auto *d = &data;
                auto *w = &wrong;
                if (i % 50 == 17) { // of the current task's own: it reads and writes nothing
                    expectation readers = *e;
                    for (kind &k : readers.kinds) k = k ? inout : kind{};
                    clause wait(readers, data);
                    GOMP_taskwait_depend(wait.words.data());
                    wrong += !right(*e, data, false);
                }
                task(
                    [e, d, w] {
                        if (!right(*e, *d, true)) w->fetch_add(1);
                    },
                    {.deferred = i % 23 != 0, .depend = c.words.data()});
            }
        });
        ASSERT_EQ(wrong, 0) << "in round " << round;
    }
}

TEST_P(tasks, a_location_with_many_readers_and_many_locations_stay_cheap) {
    std::vector<int> data(20000);
    std::atomic<int> wrong{0};
    single(ranks, [&] {
        for (std::size_t i = 0; i < data.size(); ++i) {
            int *one = &data[i];
            void *writes[] = {reinterpret_cast<void *>(1), reinterpret_cast<void *>(1), one};
            task([one] { *one = 1; }, {.depend = writes});
        }
        for (std::size_t i = 1; i < data.size(); ++i) {
            int *first = &data[0], *one = &data[i];
            auto *w = &wrong;
            void *reads[] = {reinterpret_cast<void *>(2), nullptr, first, one};
            task([first, one, w] { *w += *first != 1 || *one != 1; }, {.depend = reads});
        }
    });
    EXPECT_EQ(wrong, 0);
}

// In the form {0, n, writers, mutexinoutsets, readers, locations}. Each excludes others from one location of four, or
// from two: a location's line is long, and moves to another one's.
TEST_P(tasks, many_that_exclude_each_other_run_one_by_one_and_stay_cheap) {
    constexpr int count = 12000;
    struct location {
        std::atomic<bool> is_taken{false};
        int visits = 0;
    };
    std::array<location, 4> locations;
    std::atomic<int> wrong{0};
    single(ranks, [&] {
        for (int i = 0; i < count; ++i) {
            location *one = &locations[static_cast<std::size_t>(i) % 4];
            location *other = &locations[static_cast<std::size_t>(i / 4) % 4];
            auto *w = &wrong;
            void *depends[] = {nullptr, reinterpret_cast<void *>(2), nullptr, reinterpret_cast<void *>(2), nullptr, one,
                               other};
            task(
                [=] {
                    *w += one->is_taken.exchange(true);
                    ++one->visits;
                    if (other != one) {
                        *w += other->is_taken.exchange(true);
                        ++other->visits;
                    }
                    one->is_taken.store(false);
                    other->is_taken.store(false);
                },
                {.depend = depends});
        }
    });
    EXPECT_EQ(wrong, 0);
    int visits = 0;
    for (const location &l : locations) visits += l.visits;
    EXPECT_EQ(visits, count * 2 - count / 4); // where both are one it is visited once
}

// ---- Events

TEST_P(tasks, events_are_fulfilled_from_anywhere) {
    for (int round = 0; round < 40; ++round) {
        std::vector<std::uintptr_t> events(12);
        std::vector<int> ran(events.size());
        int after = 0;
        std::atomic<int> wrong{0};
        std::thread outside;
        single(ranks, [&] {
            void *writes[] = {reinterpret_cast<void *>(1), reinterpret_cast<void *>(1), &after};
            void *reads[] = {reinterpret_cast<void *>(1), nullptr, &after};
            for (std::size_t i = 0; i < events.size(); ++i) {
                int *one = &ran[i];
                events[i] = detached_task([one] { ++*one; }, i == 0 ? writes : nullptr);
            }
            int *a = &after;
            auto *w = &wrong;
            task([a, w] { *w += *a != 1; }, {.depend = reads});
            // The first by another thread, half of the others by tasks.
            outside = std::thread([&] {
                after = 1;
                for (std::size_t i = 0; i < events.size() / 2; ++i) omp_fulfill_event(events[i]);
            });
            auto *e = events.data();
            for (std::size_t i = events.size() / 2; i < events.size(); ++i) task([e, i] { omp_fulfill_event(e[i]); });
            if (round % 3 == 0) GOMP_taskwait();
            if (round % 3 == 0)
                for (int r : ran) wrong += r != 1;
        });
        for (int r : ran) wrong += r != 1;
        outside.join();
        ASSERT_EQ(wrong, 0) << "in round " << round;
    }
}

INSTANTIATE_TEST_SUITE_P(ranks, tasks, testing::Values(1u, 2u, 3u, 9u));

} // namespace
