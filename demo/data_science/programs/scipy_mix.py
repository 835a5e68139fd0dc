"""Transforms (pocketfft's threads), matrix functions (scipy's OpenBLAS) and differential evolution in W (4) threads of an executor."""
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import scipy.fft
import scipy.linalg
import scipy.optimize

from timing import finish, number, start

random = np.random.default_rng(0)
images = random.standard_normal((48, 256, 256))
matrix = random.standard_normal((400, 400))
matrix = matrix @ matrix.T + 400 * np.eye(400)


def cost(shift):
    shifted = matrix[:80, :80] + np.diag(np.r_[shift, np.zeros(76)] ** 2)
    return float(np.sum(np.linalg.solve(shifted, matrix[:80, 0]) ** 2))


def functions(place):
    exponential = scipy.linalg.expm(matrix[:200, :200] / (500 + place)).trace()
    factored = scipy.linalg.lu_factor(matrix + place)[0].sum()
    triangular = scipy.linalg.qr(matrix, mode="r")[0][0, 0]
    return exponential + factored + triangular


def main():
    workers = number("W", 4)
    start()
    spectrum = scipy.fft.fft2(images, workers=workers)
    convolved = scipy.fft.ifft2(spectrum * spectrum, workers=workers).real
    with ThreadPoolExecutor(workers) as pool:
        found = list(pool.map(functions, range(64)))
        minimum = scipy.optimize.differential_evolution(cost, [(-3, 3)] * 4, workers=pool.map, updating="deferred", maxiter=30,
                                                        seed=0, polish=False)
    finish(convolved=convolved.sum(), functions=sum(found), minimum=minimum.fun)


if __name__ == "__main__":
    main()
