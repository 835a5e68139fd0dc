#!/usr/bin/env python3
"""Cross-validates gradient-boosted trees on handwritten digits, the folds in parallel threads.

Four folds of scikit-learn's HistGradientBoostingClassifier on the 1797 scanned digits that ship with it, under joblib's
threading backend. Every fold opens some ten thousand short OpenMP regions (the libgomp inside scikit-learn's wheel) from a thread
of joblib's, so by default there are as many teams as folds at a time, each as wide as the machine.

Prints `TIME seconds` for the timed section and `RESULT name value` for each number that must not depend on how many
threads did the work.
"""

import argparse
import time

import joblib
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import cross_val_score


def scores(images, labels, jobs, folds, iterations):
    model = HistGradientBoostingClassifier(max_iter=iterations, random_state=0)
    with joblib.parallel_config(backend="threading", n_jobs=jobs):
        return cross_val_score(model, images, labels, cv=folds)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=-1, help="joblib's n_jobs (default: %(default)s, one a core)")
    parser.add_argument("--folds", type=int, default=4, help="default: %(default)s")
    parser.add_argument("--iterations", type=int, default=10, help="boosting rounds (default: %(default)s)")
    options = parser.parse_args()
    images, labels = load_digits(return_X_y=True)
    scores(images, labels, options.jobs, 2, 1)  # the first calls load libraries and start pools

    started = time.perf_counter()
    found = scores(images, labels, options.jobs, options.folds, options.iterations)
    print(f"TIME {time.perf_counter() - started:.6f}", flush=True)
    for fold, score in enumerate(found, 1):
        print(f"RESULT fold-{fold} {score:.12g}")


if __name__ == "__main__":
    main()
