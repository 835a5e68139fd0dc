// A rank that forks while one of Comity's own kernel threads runs it: for the C library it is the thread of the rank's
// thread-local storage that forks, and the kernel thread's own is nobody's in the child.
#include "core/carrier.hpp"
#include "core/tls/base.hpp"
#include "model/spmd/team.hpp"

#include "../sanitizers.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

using namespace comity;

constexpr int on_no_worker = 77, threads = 4;

// In the child: do threads that are made now share thread-local storage with the kernel thread below us?
int shared_by_new_threads(std::uintptr_t below) {
    std::atomic<int> shared{0};
    std::latch all(threads); // all of them live at once
    std::vector<std::thread> made;
    for (int i = 0; i < threads; ++i)
        made.emplace_back([&] {
            if (core::tls_base() == below) ++shared;
            all.arrive_and_wait();
        });
    for (auto &t : made) t.join();
    return shared;
}

TEST(fork, on_a_worker_leaves_its_thread_local_storage_to_nobody_else) {
    if (thread_sanitizer) GTEST_SKIP() << "ThreadSanitizer lets a forked child make no threads";
    struct shared {
        std::atomic<int> status{-1};
        static void body(void *argument, unsigned rank) {
            auto &s = *static_cast<shared *>(argument);
            if (rank == 0) { // so the other rank is with the other hart
                while (s.status == -1) {
                }
                return;
            }
            const core::carrier *k = core::current_carrier();
            if (k->adopted) {
                s.status = on_no_worker;
                return;
            }
            const pid_t child = fork();
            if (child == 0) _exit(shared_by_new_threads(k->tls_base));
            int status = 0;
            const bool ended = waitpid(child, &status, 0) == child && WIFEXITED(status);
            s.status = ended ? WEXITSTATUS(status) : 99;
        }
    } s;
    spmd::run(spmd::prepare(2), shared::body, &s);
    if (s.status == on_no_worker) GTEST_SKIP() << "no worker took up the rank";
    EXPECT_EQ(s.status, 0);
}

} // namespace
