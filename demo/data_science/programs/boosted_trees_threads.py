"""Boosted trees with nine settings: scikit-learn's HistGradientBoostingRegressor (its libgomp) in W (4) of joblib's threads."""
from joblib import Parallel, delayed
from sklearn.datasets import make_regression
from sklearn.ensemble import HistGradientBoostingRegressor

from timing import finish, number, numbered, start

TRAINING = 6000


def fit(data, target, learning_rate, depth):
    model = HistGradientBoostingRegressor(learning_rate=learning_rate, max_depth=depth, max_iter=40, random_state=0)
    model.fit(data[:TRAINING], target[:TRAINING])
    return model.score(data[TRAINING:], target[TRAINING:])


def main():
    data, target = make_regression(8000, 20, noise=5, random_state=0)
    settings = [(learning_rate, depth) for learning_rate in (0.05, 0.1, 0.2) for depth in (3, 5, None)]
    start()
    scores = Parallel(n_jobs=number("W", 4), prefer="threads")(delayed(fit)(data, target, *setting) for setting in settings)
    finish(**numbered("score", scores))


if __name__ == "__main__":
    main()
