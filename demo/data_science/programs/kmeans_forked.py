"""k-means (scikit-learn's libgomp), svd and products (OpenBLAS) in W (4) forked processes, after the parent has used both."""
import multiprocessing

import numpy as np
from sklearn.cluster import KMeans

from timing import finish, number, start

random = np.random.default_rng(0)
matrix = random.standard_normal((600, 600))
points = random.standard_normal((4000, 10))


def job(place):
    shifted = matrix + place
    largest = np.linalg.svd(shifted[:300, :300], compute_uv=False)[0]
    inertia = KMeans(8, n_init=1, random_state=place).fit(points).inertia_
    return largest + inertia + (shifted @ shifted).trace()


def main():
    (matrix @ matrix).sum()
    KMeans(8, n_init=1, random_state=0).fit(points)
    start()
    with multiprocessing.get_context("fork").Pool(number("W", 4)) as pool:
        found = pool.map(job, range(96), chunksize=2)
    finish(sum=sum(found))


if __name__ == "__main__":
    main()
