"""W (4) threads make data with numpy's OpenBLAS; the main thread takes it from a queue for scikit-learn's mini-batch k-means (OpenMP)."""
import queue
import threading

import numpy as np
from sklearn.cluster import MiniBatchKMeans

from timing import finish, number, start

ITEMS = 120

waiting = queue.Queue(8)
places = iter(range(ITEMS))
lock = threading.Lock()
weights = np.random.default_rng(9).standard_normal((256, 256))


def produce():
    while True:
        with lock:
            place = next(places, None)
        if place is None:
            waiting.put(None)
            return
        data = np.random.default_rng(place).standard_normal((1024, 256))
        waiting.put((place, np.tanh(data @ weights) @ weights.T))


def consume(producers):
    """What was computed from each item, by its place; the items come in any order."""
    found = {}
    clusters = MiniBatchKMeans(8, random_state=0, n_init=1, batch_size=1024)
    ended = 0
    while ended < producers:
        item = waiting.get()
        if item is None:
            ended += 1
            continue
        place, data = item
        gram = data[:, :64].T @ data[:, :64]
        found[place] = np.linalg.norm(data, axis=1).sum() + np.linalg.eigvalsh(gram)[-1]
        if place % 8 == 0:
            clusters.fit(data[:, :32])
            found[place] += clusters.inertia_
    return found


def main():
    start()
    threads = [threading.Thread(target=produce) for _ in range(number("W", 4))]
    for thread in threads:
        thread.start()
    found = consume(len(threads))
    for thread in threads:
        thread.join()
    finish(sum=sum(found[place] for place in range(ITEMS)))


if __name__ == "__main__":
    main()
