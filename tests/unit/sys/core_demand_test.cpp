// Whether cores are short, as the kernel says it, and where it does not.
#include "sys/core_demand.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "sys/cpu_limits.hpp"

using namespace comity::sys;

namespace {

// The highest descriptor of a file that the process has open, or -1.
int descriptor_of(const char *path) {
    int highest = -1;
    for (int fd = 0; fd < 2048; ++fd) {
        char link[64], target[64];
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        const ssize_t length = readlink(link, target, sizeof target - 1);
        if (length < 0) continue;
        target[length] = '\0';
        if (std::strcmp(target, path) == 0) highest = fd;
    }
    return highest;
}

int what_is_wrong_with_its_number() {
    const int first = dup(0);
    close(first);
    watch_core_demand();
    const int next = dup(0), own = descriptor_of("/proc/loadavg");
    if (next != first) return 1;
    if (own < 512) return 2;
    const int other = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
    if (dup2(other, own) != own) return 3;
    usleep(1000); // an answer counts for less
    if (!are_cores_short()) return 4;
    close(own);
    usleep(1000);
    return are_cores_short() ? 0 : 5;
}

} // namespace

TEST(core_demand, is_what_the_kernel_says) {
    EXPECT_FALSE(are_more_runnable("0.10 0.20 0.30 1/100 4711\n", 2));
    EXPECT_FALSE(are_more_runnable("10.0 20.0 30.0 2/100 4711\n", 2));
    EXPECT_TRUE(are_more_runnable("0.10 0.20 0.30 3/100 4711\n", 2));
    EXPECT_FALSE(are_more_runnable("0.10 0.20 0.30 64/100 4711\n", 64));
}

TEST(core_demand, is_high_where_it_cannot_be_told) {
    for (const char *text : {"", " ", "0.10", "0.10 0.20 0.30 ", "0.10 0.20 0.30 x/100", "0.10 0.20 0.30 1",
                             "a b c d e", "0.00 0.00 0.00 0/0 0"})
        EXPECT_TRUE(are_more_runnable(text, 2)) << text;
    EXPECT_EXIT(std::_Exit(are_cores_short() ? 0 : 1), testing::ExitedWithCode(0), ""); // nobody watches
    EXPECT_EXIT(std::_Exit(static_cast<int>(cores_missing_lately())), testing::ExitedWithCode(0), "");
}

TEST(core_demand, is_high_while_more_threads_compute_than_there_are_cores) {
    watch_core_demand();
    std::atomic<bool> over{false};
    std::vector<std::thread> busy;
    for (unsigned i = 0; i < 2 * read_cpu_limits().online; ++i)
        busy.emplace_back([&] {
            while (!over) {
            }
        });
    // Else the test's time is up.
    for (bool seen = false; !seen;) seen = are_cores_short();
    const cpu_limits limits = read_cpu_limits();
    const bool is_told = limits.quota_thousandths == 0 && limits.affinity >= limits.online;
    // Of twice as many threads as there are cores that compute, one for each core has none.
    for (bool seen = !is_told; !seen;) seen = cores_missing_lately() >= limits.online;
    over = true;
    for (std::thread &t : busy) t.join();
}

TEST(core_demand, takes_no_low_number_and_reads_no_file_of_the_programs) {
    EXPECT_EXIT(std::_Exit(what_is_wrong_with_its_number()), testing::ExitedWithCode(0), "");
}
