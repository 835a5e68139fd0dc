"""Products and eigenvalues in numba's `prange` (TBB where it is installed, else OpenMP): scipy's OpenBLAS in numba's threads."""
import numba
import numpy as np

from timing import finish, start


@numba.njit(parallel=True, cache=True)
def spectra(matrices, found):
    for place in numba.prange(matrices.shape[0]):
        gram = np.dot(matrices[place], matrices[place].T)
        found[place] = np.linalg.eigvalsh(gram)[-1] + np.trace(gram)


@numba.njit(parallel=True, cache=True)
def kernel_sums(points):
    count = points.shape[0]
    sums = np.zeros(count)
    for one in numba.prange(count):
        for other in range(count):
            distance = 0.0
            for axis in range(points.shape[1]):
                distance += (points[one, axis] - points[other, axis]) ** 2
            sums[one] += np.exp(-distance)
    return sums


def main():
    random = np.random.default_rng(0)
    matrices = random.standard_normal((60, 180, 180))
    found = np.zeros(60)
    points = random.standard_normal((2500, 8))
    spectra(matrices[:2], found[:2])  # the first calls compile, or read what was compiled before
    kernel_sums(points[:4])
    start()
    for _ in range(8):
        spectra(matrices, found)
    for _ in range(12):
        total = kernel_sums(points).sum()
    finish(spectra=found.sum(), kernel=total)
    print("numba's threads:", numba.threading_layer())


if __name__ == "__main__":
    main()
