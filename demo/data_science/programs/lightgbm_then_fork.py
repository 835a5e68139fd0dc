"""LightGBM (OpenMP) in the parent, then in a pool of two forked processes, LJ threads in each."""
import multiprocessing

import lightgbm
import numpy as np

from timing import finish, number, numbered, start

random = np.random.default_rng(0)
data = random.standard_normal((5000, 20))
labels = (data[:, 0] + data[:, 1] > 0).astype(int)


def fit(place):
    model = lightgbm.LGBMClassifier(n_estimators=30, random_state=place, n_jobs=number("LJ"), verbose=-1)
    return model.fit(data, labels).predict_proba(data)[:, 1].sum()


def main():
    start()
    alone = fit(0)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        forked = pool.map(fit, range(6))
    finish(alone=alone, **numbered("forked", forked))


if __name__ == "__main__":
    main()
