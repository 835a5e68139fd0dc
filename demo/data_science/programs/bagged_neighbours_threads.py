"""Cross-validated bagging of nearest neighbours: scikit-learn over OpenMP and OpenBLAS, in threads of joblib's, W (4), nested."""
from joblib import parallel_backend
from sklearn.datasets import make_classification
from sklearn.ensemble import BaggingClassifier
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from timing import finish, number, numbered, start


def main():
    data, labels = make_classification(8000, 40, n_informative=20, random_state=0)
    start()
    with parallel_backend("threading", n_jobs=number("W", 4)):
        neighbours = KNeighborsClassifier(7, algorithm="brute", n_jobs=2)
        model = BaggingClassifier(neighbours, 8, random_state=0, n_jobs=2)
        scores = cross_val_score(model, data, labels, cv=5)
    finish(**numbered("score", scores))


if __name__ == "__main__":
    main()
