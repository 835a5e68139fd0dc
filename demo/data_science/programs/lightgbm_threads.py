"""LightGBM (the system's libgomp) with nine settings under a ThreadPoolExecutor of W (4) threads, LJ threads in each."""
from concurrent.futures import ThreadPoolExecutor

import lightgbm
from sklearn.datasets import make_classification

from timing import finish, number, numbered, start

TRAINING = 6000


def main():
    data, labels = make_classification(8000, 30, n_informative=15, random_state=0)

    def fit(setting):
        leaves, learning_rate = setting
        model = lightgbm.LGBMClassifier(n_estimators=40, num_leaves=leaves, learning_rate=learning_rate, random_state=0,
                                        n_jobs=number("LJ"), verbose=-1, deterministic=True, force_row_wise=True)
        model.fit(data[:TRAINING], labels[:TRAINING])
        return model.score(data[TRAINING:], labels[TRAINING:])

    settings = [(leaves, learning_rate) for leaves in (7, 15, 31) for learning_rate in (0.05, 0.1, 0.2)]
    start()
    with ThreadPoolExecutor(number("W", 4)) as pool:
        scores = list(pool.map(fit, settings))
    finish(**numbered("score", scores))


if __name__ == "__main__":
    main()
