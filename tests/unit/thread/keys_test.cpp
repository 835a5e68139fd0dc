// Keys and names of threads, for each technique.
#include "comity/thread.h"

#include "techniques.hpp"

#include <atomic>
#include <cerrno>
#include <string>
#include <vector>

namespace {

std::atomic<int> destroyed{0};
std::atomic<int> wrong{0};
comity_key_t first, second;

class thread_keys : public each_technique {
protected:
    void SetUp() override {
        destroyed = wrong = 0;
        ASSERT_EQ(comity_key_create(&first, [](void *) { ++destroyed; }), 0);
        ASSERT_EQ(comity_key_create(&second, nullptr), 0);
    }
    void TearDown() override {
        EXPECT_EQ(comity_key_delete(first), 0);
        EXPECT_EQ(comity_key_delete(second), 0);
    }
};
INSTANTIATE_TEST_SUITE_P(each, thread_keys, all_techniques, technique_name);

void *set_and_compare(void *value) {
    wrong += comity_key_get(first) != nullptr;
    wrong += comity_key_set(first, value) != 0;
    wrong += comity_key_set(second, &wrong) != 0;
    if (!is_stackless(comity_thread_self())) comity_thread_yield();
    wrong += comity_key_get(first) != value;
    wrong += comity_key_get(second) != &wrong;
    return value;
}

} // namespace

TEST_P(thread_keys, hold_a_value_for_each_thread_and_destroy_it_once) {
    ASSERT_EQ(comity_threads_begin(), 0);
    std::vector<int> values(40);
    std::vector<comity_thread_t *> threads;
    for (int &v : values) threads.push_back(create(set_and_compare, &v));
    for (comity_thread_t *t : threads) EXPECT_EQ(comity_thread_join(t, nullptr), 0);
    comity_threads_end();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(destroyed, 40);
}

TEST_P(thread_keys, are_destroyed_when_a_thread_exits_in_the_middle) {
    if (GetParam() == COMITY_TECHNIQUE_STACKLESS) GTEST_SKIP() << "a stackless thread ends by returning";
    comity_thread_t *t = create(
        [](void *) -> void * {
            comity_key_set(first, &wrong);
            comity_thread_exit(&destroyed);
        },
        nullptr);
    void *result = nullptr;
    EXPECT_EQ(comity_thread_join(t, &result), 0);
    EXPECT_EQ(result, &destroyed);
    EXPECT_EQ(destroyed, 1);
}

TEST(keys, destructors_run_again_while_they_set_values_but_not_for_ever) {
    static comity_key_t key;
    static std::atomic<int> rounds;
    rounds = 0;
    ASSERT_EQ(comity_key_create(&key,
                                [](void *value) {
                                    ++rounds;
                                    comity_key_set(key, value);
                                }),
              0);
    comity_thread_t *t = nullptr;
    ASSERT_EQ(comity_thread_create(
                  &t, nullptr,
                  [](void *) -> void * {
                      comity_key_set(key, &rounds);
                      return nullptr;
                  },
                  nullptr),
              0);
    EXPECT_EQ(comity_thread_join(t, nullptr), 0);
    EXPECT_EQ(rounds, 4);
    EXPECT_EQ(comity_key_delete(key), 0);
}

TEST(keys, a_new_key_in_the_place_of_an_old_one_has_no_values) {
    comity_thread_t *t = nullptr;
    ASSERT_EQ(comity_thread_create(
                  &t, nullptr,
                  [](void *) -> void * {
                      comity_key_t old = 0, young = 0;
                      static int value;
                      EXPECT_EQ(comity_key_create(&old, nullptr), 0);
                      EXPECT_EQ(comity_key_set(old, &value), 0);
                      EXPECT_EQ(comity_key_get(old), &value);
                      EXPECT_EQ(comity_key_delete(old), 0);
                      EXPECT_EQ(comity_key_get(old), nullptr);
                      EXPECT_EQ(comity_key_create(&young, nullptr), 0);
                      EXPECT_EQ(young, old);
                      EXPECT_EQ(comity_key_get(young), nullptr);
                      EXPECT_EQ(comity_key_delete(young), 0);
                      return nullptr;
                  },
                  nullptr),
              0);
    EXPECT_EQ(comity_thread_join(t, nullptr), 0);
}

TEST(keys, that_are_too_many_or_do_not_exist_are_errors) {
    std::vector<comity_key_t> keys;
    comity_key_t k = 0;
    int error = 0;
    while ((error = comity_key_create(&k, nullptr)) == 0) keys.push_back(k);
    EXPECT_EQ(error, EAGAIN);
    EXPECT_EQ(keys.size(), static_cast<std::size_t>(COMITY_KEYS_MAX));
    for (const comity_key_t each : keys) EXPECT_EQ(comity_key_delete(each), 0);
    EXPECT_EQ(comity_key_delete(k), EINVAL);
    EXPECT_EQ(comity_key_delete(COMITY_KEYS_MAX), EINVAL);
    EXPECT_EQ(comity_key_create(nullptr, nullptr), EINVAL);
    EXPECT_EQ(comity_key_set(0, &k), EPERM);
    EXPECT_EQ(comity_key_get(COMITY_KEYS_MAX), nullptr);
}

TEST(names, are_kept_and_cut) {
    comity_thread_t *t = nullptr;
    ASSERT_EQ(comity_thread_create(
                  &t, nullptr, [](void *p) { return p; }, nullptr),
              0);
    char name[64] = "x";
    EXPECT_EQ(comity_thread_name(t, name, sizeof name), 0);
    EXPECT_STREQ(name, "");
    EXPECT_EQ(comity_thread_set_name(t, "a name"), 0);
    EXPECT_EQ(comity_thread_name(t, name, sizeof name), 0);
    EXPECT_STREQ(name, "a name");
    EXPECT_EQ(comity_thread_name(t, name, 3), 0);
    EXPECT_STREQ(name, "a ");
    EXPECT_EQ(comity_thread_set_name(t, std::string(100, 'x').c_str()), 0);
    EXPECT_EQ(comity_thread_name(t, name, sizeof name), 0);
    EXPECT_EQ(std::string(name), std::string(COMITY_THREAD_NAME_MAX, 'x'));
    EXPECT_EQ(comity_thread_set_name(t, nullptr), EINVAL);
    EXPECT_EQ(comity_thread_name(t, nullptr, 3), EINVAL);
    EXPECT_EQ(comity_thread_name(t, name, 0), EINVAL);
    EXPECT_EQ(comity_thread_join(t, nullptr), 0);
    // the descriptor serves the next thread, which has none
    ASSERT_EQ(comity_thread_create(
                  &t, nullptr, [](void *p) { return p; }, nullptr),
              0);
    EXPECT_EQ(comity_thread_name(t, name, sizeof name), 0);
    EXPECT_STREQ(name, "");
    EXPECT_EQ(comity_thread_join(t, nullptr), 0);
}
