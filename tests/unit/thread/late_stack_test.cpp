// Threads of lazy techniques that start when there is no memory for their stacks: they wait until others have left
// theirs. Here a stack has 64 MiB (COMITY_STACK_SIZE), and the address space room for a few.
#include "comity/sync.hpp"
#include "comity/thread.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <string>
#include <sys/resource.h>
#include <vector>

using namespace std::chrono_literals;

namespace {

constexpr rlim_t mebi = 1 << 20;

class little_address_space {
public:
    explicit little_address_space(rlim_t more) {
        getrlimit(RLIMIT_AS, &before_);
        rlimit limit = before_;
        limit.rlim_cur = in_use() + more;
        setrlimit(RLIMIT_AS, &limit);
    }
    ~little_address_space() { setrlimit(RLIMIT_AS, &before_); }
    little_address_space(const little_address_space &) = delete;
    little_address_space &operator=(const little_address_space &) = delete;

private:
    static rlim_t in_use() {
        unsigned long pages = 0;
        if (FILE *f = std::fopen("/proc/self/statm", "r")) {
            if (std::fscanf(f, "%lu", &pages) != 1) pages = 0;
            std::fclose(f);
        }
        return pages * 4096;
    }
    rlimit before_{};
};

struct parts {
    comity_technique_t how;
    std::size_t stack_size; // 0: the default
    const char *name;
};

class late_stack : public testing::TestWithParam<parts> {};

} // namespace

TEST_P(late_stack, comes_from_a_thread_that_has_ended) {
    constexpr int many = 100; // more than all of these tests leave for the next ones
    const comity::threads scope;
    const little_address_space limit(640 * mebi);
    comity::event go;
    std::atomic<int> started{0};
    struct shared {
        comity::event &go;
        std::atomic<int> &started;
    } all{go, started};
    comity_thread_attr_t a{};
    a.technique = GetParam().how;
    a.stack_size = GetParam().stack_size;
    std::vector<comity_thread_t *> made(many);
    for (auto &t : made)
        ASSERT_EQ(comity_thread_create(
                      &t, &a,
                      [](void *argument) -> void * {
                          auto &in = *static_cast<shared *>(argument);
                          ++in.started;
                          in.go.wait();
                          return nullptr;
                      },
                      &all),
                  0);
    comity::this_thread::sleep_for(400ms); // all that can start have
    EXPECT_LT(started, many);
    go.set();
    for (auto *t : made) EXPECT_EQ(comity_thread_join(t, nullptr), 0);
    EXPECT_EQ(started, many);
}

INSTANTIATE_TEST_SUITE_P(techniques, late_stack,
                         testing::Values(parts{COMITY_TECHNIQUE_FULL_L, 0, "full_l"},
                                         parts{COMITY_TECHNIQUE_ROC_L, 0, "roc_l"},
                                         parts{COMITY_TECHNIQUE_SS_L, 0, "ss_l"}, parts{COMITY_TECHNIQUE_SC, 0, "sc"},
                                         parts{COMITY_TECHNIQUE_FULL_L, 32 * mebi, "full_l_of_its_own_size"}),
                         [](const auto &of) { return std::string(of.param.name); });
