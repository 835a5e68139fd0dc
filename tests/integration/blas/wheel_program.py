"""Real linear algebra by numpy's own OpenBLAS, in the ways in which threads and processes use it; prints what failed."""
import multiprocessing
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy
import threadpoolctl

SIZE, COUNT = 160, 16
random = numpy.random.default_rng(0)
MATRICES = [random.standard_normal((SIZE, SIZE)) for _ in range(COUNT)]


def solve(matrix):
    """Products, a singular value decomposition, and an LU factorisation, whose jobs OpenBLAS gives to its own pool."""
    large = numpy.tile(matrix, (4, 4))
    return float(numpy.linalg.svd(matrix @ matrix.T)[1].sum() + numpy.linalg.slogdet(large + 9 * numpy.eye(len(large)))[1] + (large @ large).sum())


def solve_number(i):
    return solve(MATRICES[i])


def threads_of_blas():
    return [pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]


def limits_between_calls():
    """Calls of several threads are kept sequential where they would lose: that is no limit, and must not become one. True: the user's own number is always seen."""
    own = threads_of_blas()
    with ThreadPoolExecutor(2) as pool:
        for _ in range(20):
            list(pool.map(lambda matrix: numpy.linalg.svd(matrix @ matrix), MATRICES))
            with threadpoolctl.threadpool_limits(1, "blas"):
                numpy.linalg.svd(MATRICES[0])
            if threads_of_blas() != own:
                return False
    return True


def main():
    failed = []

    def check(name, holds):
        if not holds:
            failed.append(name)

    with threadpoolctl.threadpool_limits(1, "blas"):
        check("a limit of 1 is seen", threads_of_blas() == [1])
        right = [solve(m) for m in MATRICES]
        check("a limit of 1 holds", threads_of_blas() == [1])
    check("limits between calls of several threads", limits_between_calls())
    same = lambda results: numpy.allclose(right, results, rtol=1e-12)
    check("one thread", same([solve(m) for m in MATRICES]))
    with ThreadPoolExecutor(6) as pool:
        check("six threads", all(same(list(pool.map(solve, MATRICES))) for _ in range(3)))
    with multiprocessing.get_context("fork").Pool(2) as pool:
        check("forked processes", same(pool.map(solve_number, range(COUNT))))
    check("after the fork", same([solve(m) for m in MATRICES]))
    print("failed:", ", ".join(failed) or "none")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
