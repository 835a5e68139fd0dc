"""Products, svd, normalising and Cholesky of chunked arrays: numpy's OpenBLAS in dask's threads, W of them or one a core."""
import dask
import dask.array
import numpy as np

from timing import finish, number, start

COLUMNS = 600


def main():
    random = np.random.default_rng(0)
    whole = random.standard_normal((6000, COLUMNS))
    workers = number("W")
    threads = {} if workers is None else {"num_workers": workers}
    start()
    with dask.config.set(scheduler="threads", **threads):
        chunked = dask.array.from_array(whole, chunks=(1000, COLUMNS))
        gram = (chunked.T @ chunked).compute()
        _, singular, _ = dask.array.linalg.svd(chunked)
        (singular,) = dask.compute(singular)
        ((chunked - chunked.mean(0)) / chunked.std(0)).sum().compute()
        tasks = [dask.delayed(np.linalg.cholesky)(gram + shift * np.eye(COLUMNS)) for shift in range(100)]
        factors = dask.compute(*tasks)
    finish(trace=np.trace(gram), largest=singular[0], smallest=singular[-1], factors=sum(factor.sum() for factor in factors))


if __name__ == "__main__":
    main()
