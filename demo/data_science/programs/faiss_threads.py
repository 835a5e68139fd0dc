"""faiss (OpenMP and OpenBLAS): builds an index, searches it under a ThreadPoolExecutor of W (4) threads, then one flat search."""
from concurrent.futures import ThreadPoolExecutor

import faiss
import numpy as np

from timing import finish, number, start

DIMENSIONS = 64
NEIGHBOURS = 10


def main():
    random = np.random.default_rng(0)
    points = random.standard_normal((60000, DIMENSIONS), dtype=np.float32)
    queries = random.standard_normal((10000, DIMENSIONS), dtype=np.float32)
    start()
    quantizer = faiss.IndexFlatL2(DIMENSIONS)
    index = faiss.IndexIVFFlat(quantizer, DIMENSIONS, 128)
    index.train(points)
    index.add(points)
    index.nprobe = 24
    with ThreadPoolExecutor(number("W", 4)) as pool:
        found = list(pool.map(lambda part: index.search(part, NEIGHBOURS), np.array_split(queries, 64)))
    flat = faiss.IndexFlatL2(DIMENSIONS)
    flat.add(points)
    distances, neighbours = flat.search(queries[:4000], NEIGHBOURS)
    finish(approximate=np.concatenate([part for part, _ in found]).sum(), exact=distances.sum(), neighbours=neighbours.sum())


if __name__ == "__main__":
    main()
