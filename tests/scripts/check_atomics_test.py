"""scripts/check-atomics finds each kind of violation and accepts code without one."""
import unittest

from tree_case import TreeCase

STORE = "void f() {\n  slot.store(1, std::memory_order_release); // release[slot]\n}\n"
LOAD = "int g() {\n  // Sees what f wrote, acquire[slot]\n  return slot.load(\n      std::memory_order_acquire);\n}\n"


def source(text: str) -> dict[str, str]:
    return {"src/core/a.cpp": text}


class CheckAtomics(TreeCase):
    script = "check-atomics"

    def test_accepts_a_pair_in_two_files(self):
        self.assert_clean({"src/core/a.cpp": STORE, "include/comity/b.hpp": LOAD})

    def test_accepts_relaxed_without_a_tag(self):
        self.assert_clean(source("x.fetch_add(1, std::memory_order_relaxed);\n"))

    def test_accepts_one_acq_rel_operation_that_meets_itself(self):
        self.assert_clean(source("n.fetch_sub(1, std::memory_order_acq_rel); // acq_rel[last-reference]\n"))

    def test_accepts_a_weaker_failure_order_under_the_tag_of_success(self):
        self.assert_clean(source("// acq_rel[state]\nx.compare_exchange_weak(a, b, std::memory_order_acq_rel,\n"
                                 "                        std::memory_order_acquire);\n"))

    def test_ignores_code_in_comments_and_strings(self):
        self.assert_clean(source('// x.load() with memory_order_acquire\nauto s = "memory_order_release";\n'))

    def test_finds_an_operation_with_no_tag(self):
        self.assert_found(source("\nx.load(std::memory_order_acquire);\n"), "src/core/a.cpp:2:", "acquire names no partner")

    def test_finds_a_gcc_builtin_with_no_tag(self):
        self.assert_found(source("__atomic_store_n(&x, 1, __ATOMIC_RELEASE);\n"), "src/core/a.cpp:1:", "release names no partner")

    def test_does_not_take_the_tag_of_the_statement_before(self):
        self.assert_found(source(STORE + LOAD + "void h() {\n  s.store(1, std::memory_order_release); // release[slot]\n"
                                 "  s.store(2, std::memory_order_release);\n}\n"), "a.cpp:11:", "names no partner")

    def test_finds_a_tag_of_another_order_than_the_code(self):
        self.assert_found(source(STORE + LOAD + "x.load(std::memory_order_acquire); // release[slot]\n"),
                          "acquire names no partner")

    def test_finds_a_release_that_nobody_acquires(self):
        self.assert_found(source(STORE), "[slot]", "no end acquires")

    def test_finds_an_acquire_that_nobody_releases(self):
        self.assert_found(source(LOAD), "[slot]", "no end releases")

    def test_finds_a_seq_cst_with_nothing_to_be_ordered_against(self):
        self.assert_found(source("std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[sleep]\n"), "[sleep]", "only one")

    def test_finds_an_operation_that_names_no_order(self):
        self.assert_found(source("x.store(f(1));\n"), "a.cpp:1:", "store() names no memory order")


if __name__ == "__main__":
    unittest.main()
