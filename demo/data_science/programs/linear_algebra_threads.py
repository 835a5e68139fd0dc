"""Eigenvalues, solve, svd and products of 350 x 350 matrices: numpy's OpenBLAS under a ThreadPoolExecutor of W (4) threads."""
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from timing import finish, number, start

SIZE = 350


def decompose(matrix):
    square = matrix @ matrix.T
    eigenvalues = np.linalg.eigvalsh(square)
    solution = np.linalg.solve(square + np.eye(SIZE), matrix)
    singular = np.linalg.svd(matrix, compute_uv=False)
    return eigenvalues[-1] + solution.sum() + singular[0]


def main():
    random = np.random.default_rng(0)
    matrices = [random.standard_normal((SIZE, SIZE)) for _ in range(72)]
    start()
    with ThreadPoolExecutor(number("W", 4)) as pool:
        found = list(pool.map(decompose, matrices))
    finish(sum=sum(found), fourth=found[3])


if __name__ == "__main__":
    main()
