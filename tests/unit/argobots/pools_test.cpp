#include "environment.hpp"

#include <deque>
#include <mutex>

namespace {

// A stack of units, as a pool of the program's own.
struct lifo {
    std::mutex lock;
    std::deque<ABT_unit> units;
    int made = 0, freed = 0, printed = 0;
};

lifo *data_of(ABT_pool p) {
    void *d = nullptr;
    ABT_pool_get_data(p, &d);
    return static_cast<lifo *>(d);
}

struct unit_of_mine {
    ABT_thread is;
};

ABT_unit make_unit(ABT_thread t) { return reinterpret_cast<ABT_unit>(new unit_of_mine{t}); }

ABT_pool_user_def definition() {
    ABT_pool_user_def d = ABT_POOL_USER_DEF_NULL;
    EXPECT_EQ(ABT_SUCCESS, ABT_pool_user_def_create(
                               [](ABT_pool p, ABT_thread t) {
                                   ++data_of(p)->made;
                                   return make_unit(t);
                               },
                               [](ABT_pool p, ABT_unit u) {
                                   ++data_of(p)->freed;
                                   delete reinterpret_cast<unit_of_mine *>(u);
                               },
                               [](ABT_pool p) -> ABT_bool {
                                   const std::lock_guard guard(data_of(p)->lock);
                                   return data_of(p)->units.empty();
                               },
                               [](ABT_pool p, ABT_pool_context) {
                                   lifo *l = data_of(p);
                                   const std::lock_guard guard(l->lock);
                                   if (l->units.empty()) return ABT_THREAD_NULL;
                                   ABT_unit u = l->units.back();
                                   l->units.pop_back();
                                   return reinterpret_cast<unit_of_mine *>(u)->is;
                               },
                               [](ABT_pool p, ABT_unit u, ABT_pool_context) {
                                   const std::lock_guard guard(data_of(p)->lock);
                                   data_of(p)->units.push_back(u);
                               },
                               &d));
    return d;
}

TEST_F(argobots, a_pool_of_the_program_s_own_decides_the_order) {
    ABT_pool_user_def def = definition();
    OK(ABT_pool_user_def_set_get_size(def, [](ABT_pool p) { return data_of(p)->units.size(); }));
    OK(ABT_pool_user_def_set_print_all(
        def, [](ABT_pool p, void *, void (*)(void *, ABT_thread)) { ++data_of(p)->printed; }));
    lifo mine;
    ABT_pool p = ABT_POOL_NULL;
    OK(ABT_pool_create(def, ABT_POOL_CONFIG_NULL, &p));
    OK(ABT_pool_set_data(p, &mine));
    OK(ABT_pool_user_def_free(&def));
    std::vector<int> order;
    std::function<void()> one = [&] { order.push_back(1); }, two = [&] { order.push_back(2); };
    ABT_thread a = start(p, one), b = start(p, two);
    ABT_unit unit = ABT_UNIT_NULL;
    ABT_thread back = ABT_THREAD_NULL;
    OK(ABT_thread_get_unit(a, &unit));
    OK(ABT_unit_get_thread(unit, &back));
    EXPECT_EQ(a, back);
    EXPECT_EQ(a, reinterpret_cast<unit_of_mine *>(unit)->is);
    std::size_t size = 0;
    OK(ABT_pool_get_size(p, &size));
    EXPECT_EQ(2U, size);
    OK(ABT_pool_print_all_threads(p, nullptr, [](void *, ABT_thread) {}));
    EXPECT_EQ(1, mine.printed);
    EXPECT_EQ(ABT_ERR_POOL, ABT_pool_pop_wait_thread(p, &back, 0.1)) << "it has no such function";
    EXPECT_EQ(ABT_ERR_POOL, ABT_pool_pop_threads(p, &back, 1, &size));

    ABT_xstream s = ABT_XSTREAM_NULL;
    OK(ABT_xstream_create_basic(ABT_SCHED_BASIC, 1, &p, ABT_SCHED_CONFIG_NULL, &s));
    OK(ABT_thread_free(&a));
    OK(ABT_thread_free(&b));
    EXPECT_EQ((std::vector<int>{2, 1}), order);
    OK(ABT_xstream_free(&s));
    EXPECT_EQ(2, mine.made);
    EXPECT_EQ(2, mine.freed);
    OK(ABT_pool_free(&p));
}

TEST_F(argobots, a_stream_with_a_pool_of_the_program_s_own_is_woken_by_a_push) {
    lifo mine;
    ABT_pool_user_def def = definition();
    ABT_pool p = ABT_POOL_NULL;
    OK(ABT_pool_create(def, ABT_POOL_CONFIG_NULL, &p));
    OK(ABT_pool_set_data(p, &mine));
    OK(ABT_pool_user_def_free(&def));
    ABT_xstream s = ABT_XSTREAM_NULL;
    OK(ABT_xstream_create_basic(ABT_SCHED_BASIC, 1, &p, ABT_SCHED_CONFIG_NULL, &s));
    std::atomic<int> ran{0};
    std::function<void()> body = [&] {
        ABT_thread_yield();
        ++ran;
    };
    for (int i = 0; i < 20; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(i % 3));
        ABT_thread t = start(p, body);
        OK(ABT_thread_free(&t));
    }
    EXPECT_EQ(20, ran.load());
    OK(ABT_xstream_free(&s));
    OK(ABT_pool_free(&p));
}

TEST_F(argobots, a_pool_can_be_defined_by_a_structure) {
    static std::deque<ABT_unit> units;
    units.clear();
    ABT_pool_def def{};
    def.access = ABT_POOL_ACCESS_MPMC;
    def.u_create_from_thread = make_unit;
    def.u_free = [](ABT_unit *u) { delete reinterpret_cast<unit_of_mine *>(*u); };
    def.p_get_size = [](ABT_pool) { return units.size(); };
    def.p_push = [](ABT_pool, ABT_unit u) { units.push_back(u); };
    def.p_pop = [](ABT_pool) {
        if (units.empty()) return ABT_UNIT_NULL;
        ABT_unit u = units.front();
        units.pop_front();
        return u;
    };
    def.p_remove = [](ABT_pool, ABT_unit u) {
        std::erase(units, u);
        return ABT_SUCCESS;
    };
    ABT_pool p = ABT_POOL_NULL;
    OK(ABT_pool_create(&def, ABT_POOL_CONFIG_NULL, &p));
    std::vector<int> order;
    std::function<void()> one = [&] { order.push_back(1); }, two = [&] { order.push_back(2); };
    ABT_thread a = start(p, one), b = start(p, two);
    ABT_unit unit = ABT_UNIT_NULL;
    OK(ABT_thread_get_unit(b, &unit));
    OK(ABT_pool_remove(p, unit));
    OK(ABT_self_schedule(b, ABT_POOL_NULL));
    OK(ABT_pool_pop(p, &unit));
    OK(ABT_xstream_run_unit(unit, p));
    EXPECT_EQ((std::vector<int>{2, 1}), order);
    OK(ABT_thread_free(&a));
    OK(ABT_thread_free(&b));
    OK(ABT_pool_free(&p));
}

TEST_F(argobots, the_built_in_pools_have_their_orders) {
    for (ABT_pool_kind kind : {ABT_POOL_FIFO, ABT_POOL_FIFO_WAIT, ABT_POOL_RANDWS}) {
        ABT_pool p = ABT_POOL_NULL;
        OK(ABT_pool_create_basic(kind, ABT_POOL_ACCESS_MPMC, ABT_FALSE, &p));
        std::function<void()> nothing = [] {};
        std::vector<ABT_thread> made;
        for (int i = 0; i < 3; ++i) made.push_back(start(p, nothing));
        ABT_thread first = ABT_THREAD_NULL, last = ABT_THREAD_NULL;
        OK(ABT_pool_pop_thread_ex(p, &first, ABT_POOL_CONTEXT_OWNER_PRIMARY));
        OK(ABT_pool_pop_thread_ex(p, &last, ABT_POOL_CONTEXT_OWNER_SECONDARY));
        EXPECT_EQ(kind == ABT_POOL_RANDWS ? made[2] : made[0], first);
        EXPECT_EQ(kind == ABT_POOL_RANDWS ? made[0] : made[1], last);
        EXPECT_EQ(ABT_ERR_POOL, ABT_pool_free(&p)) << "it is not empty";
        const ABT_thread both[] = {first, last};
        OK(ABT_pool_push_threads(pools[0], both, 2));
        ABT_thread rest[4] = {};
        std::size_t n = 0;
        OK(ABT_pool_pop_threads(p, rest, 4, &n));
        ASSERT_EQ(1U, n);
        OK(ABT_pool_push_thread(pools[0], rest[0]));
        for (ABT_thread &t : made) OK(ABT_thread_free(&t));
        OK(ABT_pool_free(&p));
        EXPECT_EQ(ABT_POOL_NULL, p);
    }
}

TEST_F(argobots, pop_wait_waits_for_a_push_or_the_time) {
    add_streams(1);
    ABT_pool p = ABT_POOL_NULL;
    OK(ABT_pool_create_basic(ABT_POOL_FIFO_WAIT, ABT_POOL_ACCESS_MPMC, ABT_FALSE, &p));
    ABT_thread t = ABT_THREAD_NULL;
    double from = ABT_get_wtime();
    OK(ABT_pool_pop_wait_thread(p, &t, 0.05));
    EXPECT_EQ(ABT_THREAD_NULL, t);
    EXPECT_GE(ABT_get_wtime() - from, 0.05);
    ABT_unit unit = ABT_UNIT_NULL;
    from = ABT_get_wtime();
    OK(ABT_pool_pop_timedwait(p, &unit, from + 0.02));
    EXPECT_EQ(ABT_UNIT_NULL, unit);
    EXPECT_GE(ABT_get_wtime(), from + 0.02);
    std::function<void()> nothing = [] {};
    ABT_thread made = ABT_THREAD_NULL;
    std::function<void()> pushes = [&] { made = start(p, nothing); };
    ABT_thread other = start(pools[1], pushes);
    OK(ABT_pool_pop_wait_thread(p, &t, 30));
    OK(ABT_thread_free(&other));
    EXPECT_EQ(made, t);
    OK(ABT_pool_push_thread(pools[0], t));
    OK(ABT_thread_free(&made));
    OK(ABT_pool_free(&p));
}

TEST_F(argobots, configurations_keep_values_by_key_and_type) {
    ABT_sched_config c = ABT_SCHED_CONFIG_NULL;
    const ABT_sched_config_var real{1, ABT_SCHED_CONFIG_DOUBLE}, pointer{2, ABT_SCHED_CONFIG_PTR};
    OK(ABT_sched_config_create(&c, ABT_sched_basic_freq, 7, real, 2.5, pointer, static_cast<void *>(&c),
                               ABT_sched_config_var_end));
    double r = 0;
    void *q = nullptr;
    int whole = 3;
    OK(ABT_sched_config_read(c, 3, &whole, &r, &q));
    EXPECT_EQ(3, whole);
    EXPECT_EQ(2.5, r);
    EXPECT_EQ(&c, q);
    ABT_sched_config_type type = ABT_SCHED_CONFIG_PTR;
    OK(ABT_sched_config_get(c, ABT_sched_basic_freq.idx, &type, &whole));
    EXPECT_EQ(ABT_SCHED_CONFIG_INT, type);
    EXPECT_EQ(7, whole);
    OK(ABT_sched_config_set(c, 1, ABT_SCHED_CONFIG_INT, nullptr));
    EXPECT_EQ(ABT_ERR_INV_ARG, ABT_sched_config_get(c, 1, nullptr, &r));
    EXPECT_EQ(ABT_ERR_INV_ARG, ABT_sched_config_set(c, 1, static_cast<ABT_sched_config_type>(9), &whole));
    OK(ABT_sched_config_free(&c));

    ABT_pool_config p = ABT_POOL_CONFIG_NULL;
    OK(ABT_pool_config_create(&p));
    OK(ABT_pool_config_set(p, 5, ABT_POOL_CONFIG_DOUBLE, &r));
    ABT_pool_config_type kind = ABT_POOL_CONFIG_INT;
    double read = 0;
    OK(ABT_pool_config_get(p, 5, &kind, &read));
    EXPECT_EQ(ABT_POOL_CONFIG_DOUBLE, kind);
    EXPECT_EQ(r, read);
    EXPECT_EQ(ABT_ERR_INV_ARG, ABT_pool_config_get(p, 6, nullptr, nullptr));
    OK(ABT_pool_config_free(&p));
}

} // namespace
