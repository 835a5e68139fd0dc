// The workloads of the benchmarks are what they say, and a wrong result is refused.
#include <gtest/gtest.h>

#include "fib/group.hpp"
#include "forkjoin/forkjoin.hpp"
#include "matmul/group.hpp"
#include "nqueens/group.hpp"
#include "uts/group.hpp"

namespace {

// Runs a task at once: the simplest group there is.
struct at_once {
    template <class Function> void run(Function f) { f(); }
    void wait() {}
};

TEST(sha1, is_the_standards) {
    const bench::sha1_digest one{0x81fe8bfe, 0x87576c3e, 0xcb22426f, 0x8e578473, 0x82917acf};
    EXPECT_EQ(bench::sha1_of(nullptr, 0, 0x61626364), one); // "abcd"
    const bench::sha1_digest two{0x425af12a, 0x0743502b, 0x322e93a0, 0x15bcf868, 0xe324d56a};
    const std::uint32_t word = 0x61626364;
    EXPECT_EQ(bench::sha1_of(&word, 1, 0x65666768), two); // "abcdefgh"
}

TEST(uts, has_the_published_number_of_nodes) {
    bench::uts_problem problem{10, 19};
    problem.result = bench::uts_group<at_once>(problem.root(), problem.depth);
    EXPECT_EQ(problem.result, 4'130'071);
    problem.check();
}

TEST(nqueens, counts_every_board) {
    for (int n = 1; n <= 9; ++n) {
        bench::nqueens_problem problem{n};
        problem.result = bench::nqueens_group<at_once>({}, problem.all());
        problem.check();
    }
}

TEST(fib, is_right_for_every_small_number) {
    for (int n = 0; n < 20; ++n) {
        bench::fib_problem problem{n};
        problem.result = bench::fib_group<at_once>(n);
        problem.check();
    }
}

TEST(matmul, multiplies) {
    bench::matmul_problem problem(64);
    problem.prepare();
    bench::matmul_group<at_once>(problem.whole());
    problem.check();
}

TEST(forkjoin, exactly_the_share_of_threads_yields_and_the_same_ones_in_every_run) {
    for (const int deviation : {0, 1, 10, 50, 99, 100}) {
        const std::vector<unsigned char> yields = bench::forkjoin::choose_yielding(4096, deviation);
        EXPECT_EQ(std::count(yields.begin(), yields.end(), 1), (4096 * deviation + 50) / 100);
        EXPECT_EQ(yields, bench::forkjoin::choose_yielding(4096, deviation));
    }
    const std::vector<unsigned char> yields = bench::forkjoin::choose_yielding(4096, 50);
    const auto half = std::count(yields.begin(), yields.begin() + 2048, 1);
    EXPECT_GT(half, 900); // they are spread
    EXPECT_LT(half, 1150);
}

// A kit that forgets its last thread.
struct forgetful {
    void round(const unsigned char *, std::size_t n, bool) {
        for (std::size_t i = 1; i < n; ++i) bench::forkjoin::count_body();
    }
};

TEST(refusal_DeathTest, wrong_results_end_the_program) {
    EXPECT_EXIT((bench::fib_problem{10, 54}.check()), testing::ExitedWithCode(1), "refused: wrong Fibonacci number");
    EXPECT_EXIT((bench::nqueens_problem{8, 91}.check()), testing::ExitedWithCode(1),
                "refused: wrong number of solutions");
    EXPECT_EXIT((bench::uts_problem{3, 19, 253}.check()), testing::ExitedWithCode(1), "refused: wrong number of nodes");
    bench::matmul_problem product(32);
    product.prepare();
    bench::matmul_group<at_once>(product.whole());
    product.c[77] += 1;
    EXPECT_EXIT(product.check(), testing::ExitedWithCode(1), "refused: wrong product");
    forgetful kit;
    EXPECT_EXIT(bench::forkjoin::verify(kit, bench::forkjoin::choose_yielding(8, 0), false), testing::ExitedWithCode(1),
                "refused: not every thread ran exactly once");
}

} // namespace
