"""Truncated svd (OpenBLAS) and LightGBM (OpenMP), LJ threads, eight times in W (4) of joblib's (loky's) processes."""
import numpy as np
from joblib import Parallel, delayed

from timing import finish, number, numbered, start


def fit(place):
    import lightgbm  # in the processes alone: the parent never loads it
    from sklearn.decomposition import TruncatedSVD
    random = np.random.default_rng(place)
    data = random.standard_normal((4000, 60))
    labels = (data[:, :5].sum(1) + 0.3 * random.standard_normal(4000) > 0).astype(int)
    plane = TruncatedSVD(20, random_state=0).fit_transform(data)
    model = lightgbm.LGBMClassifier(n_estimators=40, random_state=0, n_jobs=number("LJ"), verbose=-1).fit(data, labels)
    return model.score(data, labels) + abs(plane).sum()


def main():
    start()
    found = Parallel(n_jobs=number("W", 4))(delayed(fit)(place) for place in range(8))
    finish(**numbered("found", found))


if __name__ == "__main__":
    main()
