// What an order by descent promises with one hart: threads run as function calls would, those that come back find
// their place, and who uses up his quota lets those left of him go first.
#include "kinds.hpp"

#include "comity/fork.hpp"
#include "comity/sync.hpp"

#include <functional>
#include <map>
#include <memory>
#include <thread>

namespace {

class depth_first : public testing::TestWithParam<int> {
protected:
    comity_scheduler_attr_t with_quota(std::size_t bytes) const {
        comity_scheduler_attr_t a = kinds::attributes(GetParam());
        a.quota = bytes;
        return a;
    }
};
INSTANTIATE_TEST_SUITE_P(all, depth_first,
                         testing::Values(COMITY_SCHEDULER_SPACE_EFFICIENT, COMITY_SCHEDULER_DF_DEQUES),
                         [](const auto &i) { return kinds::names.at(static_cast<unsigned>(i.param)); });

// Who waited goes on at the place that he had, and who goes first depends on nothing else.
class depth_first_in_places : public depth_first {};
INSTANTIATE_TEST_SUITE_P(all, depth_first_in_places, testing::Values(COMITY_SCHEDULER_SPACE_EFFICIENT),
                         [](const auto &i) { return kinds::names.at(static_cast<unsigned>(i.param)); });

using log = std::vector<int>;

struct opened {
    explicit opened(const comity_scheduler_attr_t &a) { EXPECT_EQ(comity_threads_begin_with(&a), 0); }
    ~opened() { comity_threads_end(); }
    opened(const opened &) = delete;
    opened &operator=(const opened &) = delete;
};

void call(log &l, int name, int depth) {
    l.push_back(name);
    for (int i = 0; i < 3 && depth > 0; ++i) call(l, name * 4 + i, depth - 1);
    l.push_back(-name);
}

void create(log &l, int name, int depth, const comity::thread::attributes &a) {
    l.push_back(name);
    std::vector<comity::thread> children;
    for (int i = 0; i < 3 && depth > 0; ++i)
        children.emplace_back(a, [&l, name, depth, i, &a] { create(l, name * 4 + i, depth - 1, a); });
    l.push_back(-name);
    for (comity::thread &t : children) t.join();
}

} // namespace

TEST_P(depth_first, runs_threads_of_every_technique_as_calls_would_run) {
    log expected;
    call(expected, 1, 5);
    for (const comity::technique t : kinds::techniques)
        for (const bool own_tls : {false, true}) {
            if (t == comity::technique::stackless) continue;
            const kinds::scope s(GetParam());
            log l;
            create(l, 1, 5, {.technique = t, .own_tls = own_tls});
            EXPECT_EQ(l, expected) << static_cast<int>(t);
        }
}

TEST_P(depth_first, runs_a_stackless_thread_before_its_creator_goes_on) {
    const kinds::scope s(GetParam());
    log l;
    comity::thread outer([&l] {
        comity::thread t({.technique = comity::technique::stackless}, [&l] { l.push_back(1); });
        l.push_back(2);
        t.join();
    });
    outer.join();
    EXPECT_EQ(l, (log{1, 2}));
}

// What a stackless thread creates cannot run before it has ended, but before its creator goes on.
TEST_P(depth_first_in_places, runs_what_a_stackless_thread_creates_next) {
    const kinds::scope s(GetParam());
    log l;
    comity::thread outer([&l] {
        std::vector<comity::thread> inner(2);
        comity::thread t({.technique = comity::technique::stackless}, [&] {
            for (int i = 0; i < 2; ++i)
                inner[static_cast<std::size_t>(i)] = comity::thread([&l, i] { l.push_back(2 + i); });
            l.push_back(1);
        });
        l.push_back(4);
        t.join();
        for (comity::thread &i : inner) i.join();
    });
    outer.join();
    EXPECT_EQ(l, (log{1, 2, 3, 4}));
}

TEST_P(depth_first_in_places, gives_those_that_waited_their_places_back) {
    const kinds::scope s(GetParam());
    log l;
    std::vector<comity::event> go(4);
    std::vector<comity::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&l, &go, i] {
            go[static_cast<std::size_t>(i)].wait();
            l.push_back(i);
            comity::thread child([&l, i] { l.push_back(10 + i); });
            l.push_back(20 + i);
            child.join();
        });
    for (const std::size_t i : {2, 0, 3, 1}) go[i].set();
    for (comity::thread &t : threads) t.join();
    EXPECT_EQ(l, (log{0, 10, 20, 1, 11, 21, 2, 12, 22, 3, 13, 23}));
}

TEST_P(depth_first_in_places, lets_others_go_first_when_a_thread_yields_and_keeps_its_place) {
    const kinds::scope s(GetParam());
    log l;
    comity::event go;
    comity::thread first([&] {
        go.wait();
        l.push_back(1);
    });
    comity::thread second([&] {
        comity::this_thread::yield(); // to the program's thread
        l.push_back(2);
        comity::thread child([&l] { l.push_back(3); });
        child.join();
        go.set(); // to the left
        comity::thread other([&l] { l.push_back(4); });
        other.join(); // waits: the first one goes on
        l.push_back(5);
    });
    l.push_back(0);
    first.join();
    second.join();
    EXPECT_EQ(l, (log{0, 2, 3, 4, 1, 5}));
}

TEST_P(depth_first, runs_higher_priorities_first_and_keeps_the_order_within_one) {
    const kinds::scope s(GetParam());
    log l;
    comity::thread creator({.priority = 5}, [&l] {
        std::vector<comity::thread> all;
        for (const int priority : {3, 7, 3, 5, 7, 4})
            all.emplace_back(comity::thread::attributes{.priority = static_cast<unsigned char>(priority)},
                             [&l, priority, i = all.size()] { l.push_back(priority * 10 + static_cast<int>(i)); });
        l.push_back(0);
        for (comity::thread &t : all) t.join();
    });
    creator.join();
    EXPECT_EQ(l, (log{71, 53, 74, 0, 45, 30, 32}));
}

TEST_P(depth_first, keeps_both_halves_of_a_fork_before_what_its_caller_does_next) {
    const kinds::scope s(GetParam());
    log l;
    comity::thread outer([&l] {
        comity::join(
            [&l] {
                comity::join([&l] { l.push_back(1); }, [&l] { l.push_back(2); });
                comity::this_thread::yield();
                l.push_back(3);
            },
            [&l] { l.push_back(4); });
        l.push_back(5);
    });
    outer.join();
    std::sort(l.begin(), l.begin() + 4); // who yields lets the other half go first
    EXPECT_EQ(l, (log{1, 2, 3, 4, 5}));
}

TEST_P(depth_first, runs_what_comes_from_elsewhere_behind_all) {
    const kinds::scope s(GetParam());
    log l;
    comity::thread outer([&l] {
        comity_thread_t *t = nullptr;
        ASSERT_EQ(comity_thread_create_under(
                      comity_scheduler_self(), nullptr, &t, nullptr,
                      [](void *l) -> void * {
                          comity::thread child([l] { static_cast<log *>(l)->push_back(3); });
                          static_cast<log *>(l)->push_back(4);
                          child.join();
                          return nullptr;
                      },
                      &l),
                  0);
        l.push_back(1);
        comity::thread child([&l] { l.push_back(2); });
        child.join();
        EXPECT_EQ(comity_thread_join(t, nullptr), 0);
        l.push_back(5);
    });
    outer.join();
    EXPECT_EQ(l, (log{1, 2, 3, 4, 5}));
}

TEST_P(depth_first, keeps_its_order_for_threads_that_live_again) {
    const kinds::scope s(GetParam());
    log l;
    comity::thread outer([&l] {
        const auto add = [](void *l) -> void * {
            static_cast<log *>(l)->push_back(1);
            return nullptr;
        };
        comity_thread_t *t = nullptr;
        ASSERT_EQ(comity_thread_create(&t, nullptr, add, &l), 0);
        for (int i = 0; i < 3; ++i) {
            l.push_back(2);
            ASSERT_EQ(comity_thread_wait(t, nullptr), 0);
            ASSERT_EQ(comity_thread_revive(t, add, &l), 0);
        }
        EXPECT_EQ(comity_thread_join(t, nullptr), 0);
    });
    outer.join();
    EXPECT_EQ(l, (log{1, 2, 1, 2, 1, 2, 1}));
}

// ---- The quota

namespace {

// A thread that has woken one left of it allocates pieces; how many it had when the other one went on.
int pieces_until_preempted(const comity_scheduler_attr_t &a, std::size_t bytes, std::size_t freed = 0) {
    const opened s(a);
    comity::event go;
    int pieces = 0, then = -1;
    comity::thread left([&] {
        go.wait();
        then = pieces;
    });
    comity::thread right([&] {
        go.set();
        for (; pieces < 20; ++pieces) {
            comity::this_scheduler::charge(bytes);
            comity::this_scheduler::credit(freed);
        }
    });
    left.join();
    right.join();
    return then;
}

} // namespace

TEST_P(depth_first_in_places, preempts_who_has_used_up_the_quota) {
    EXPECT_EQ(pieces_until_preempted(with_quota(1000), 300), 3);
    EXPECT_EQ(pieces_until_preempted(with_quota(1000), 100), 10);
    EXPECT_EQ(pieces_until_preempted(with_quota(1000), 1000), 1);
    EXPECT_EQ(pieces_until_preempted(with_quota(SIZE_MAX), 1000), 20); // never
}

TEST_P(depth_first_in_places, lets_a_thread_allocate_again_what_it_has_freed) {
    EXPECT_EQ(pieces_until_preempted(with_quota(1000), 300, 300), 20);
    EXPECT_EQ(pieces_until_preempted(with_quota(1000), 300, 200), 8);
    EXPECT_EQ(pieces_until_preempted(with_quota(1000), 300, SIZE_MAX), 20); // no more than one quota at a time
}

TEST_P(depth_first_in_places, lets_those_on_the_left_go_before_an_allocation_above_the_quota) {
    EXPECT_EQ(pieces_until_preempted(with_quota(1000), 1001), 0);
    EXPECT_EQ(pieces_until_preempted(with_quota(1000), 50'000), 0);
    EXPECT_EQ(pieces_until_preempted(with_quota(1000), SIZE_MAX), 0);
}

TEST_P(depth_first_in_places, gives_a_new_quota_with_each_dispatch) {
    const opened s(with_quota(1000));
    log l;
    comity::event go;
    comity::thread left([&] {
        go.wait();
        l.push_back(2);
    });
    comity::thread right([&] {
        comity::this_scheduler::charge(900);
        comity::thread child([] { comity::this_scheduler::charge(900); });
        comity::this_scheduler::charge(900); // picked again since
        go.set();
        comity::this_scheduler::charge(100);
        l.push_back(1);
        comity::this_scheduler::charge(1);
        l.push_back(3);
        child.join();
    });
    left.join();
    right.join();
    EXPECT_EQ(l, (log{1, 2, 3}));
}

TEST(quota, means_nothing_elsewhere) {
    comity_scheduler_charge(SIZE_MAX);
    comity_scheduler_credit(SIZE_MAX);
    for (int kind = 0; kind < COMITY_SCHEDULER_SPACE_EFFICIENT; ++kind) {
        const kinds::scope s(kind);
        comity::thread t([] {
            for (int i = 0; i < 3; ++i) comity_scheduler_charge(SIZE_MAX);
            comity_scheduler_credit(SIZE_MAX);
        });
        t.join();
        comity_scheduler_charge(1);
    }
}

TEST_P(depth_first, charges_neither_stackless_threads_nor_those_of_the_program) {
    const opened s(with_quota(1));
    comity::thread t({.technique = comity::technique::stackless}, [] {
        for (int i = 0; i < 3; ++i) comity_scheduler_charge(1'000'000);
    });
    t.join();
    std::thread outside([] { comity_scheduler_charge(1'000'000); });
    outside.join();
}

// ---- Other orders

TEST_P(depth_first_in_places, keeps_what_waits_in_its_order_when_it_comes_back) {
    const kinds::scope s(GetParam());
    log l;
    comity::event go;
    comity::thread creator([&l, &go] {
        std::vector<comity::thread> waiting;
        for (int i = 0; i < 4; ++i)
            waiting.emplace_back([&l, &go, i] {
                go.wait();
                l.push_back(i);
            });
        go.set();
        kinds::replace(COMITY_SCHEDULER_SPACE_EFFICIENT);
        for (comity::thread &t : waiting) t.join();
    });
    creator.join();
    EXPECT_EQ(l, (log{0, 1, 2, 3}));
}

TEST_P(depth_first, takes_over_threads_that_were_created_under_another) {
    for (int before = 0; before < kinds::count; ++before) {
        const kinds::scope s(before);
        std::atomic<int> ran{0};
        std::vector<comity::thread> threads;
        const std::function<void(int)> tree = [&](int depth) {
            ++ran;
            if (depth == 0) return;
            comity::thread a([&tree, depth] { tree(depth - 1); }), b([&tree, depth] { tree(depth - 1); });
            comity::this_thread::yield();
            a.join();
            b.join();
        };
        for (int i = 0; i < 3; ++i) threads.emplace_back([&tree] { tree(4); });
        comity::this_thread::yield();
        kinds::replace(GetParam());
        for (int i = 0; i < 3; ++i) threads.emplace_back([&tree] { tree(4); });
        comity::this_thread::yield();
        kinds::replace(before);
        for (comity::thread &t : threads) t.join();
        EXPECT_EQ(ran, 6 * 31) << kinds::names.at(static_cast<unsigned>(before));
    }
}
