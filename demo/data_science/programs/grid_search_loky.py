"""Grid search of PCA and logistic regression: scikit-learn over OpenBLAS in joblib's (loky's) processes, W of them or one a core."""
from sklearn.datasets import make_classification
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from timing import finish, number, numbered, start

GRID = {"pca__n_components": [40, 100], "logisticregression__C": [0.01, 0.1, 1]}


def main():
    data, labels = make_classification(3000, 150, n_informative=40, random_state=0)
    start()
    model = make_pipeline(PCA(random_state=0), LogisticRegression(max_iter=150))
    search = GridSearchCV(model, GRID, cv=5, n_jobs=number("W", -1))
    search.fit(data, labels)
    finish(best=search.best_score_, **numbered("score", search.cv_results_["mean_test_score"]))


if __name__ == "__main__":
    main()
