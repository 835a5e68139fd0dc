"""Random search over XGBoost (its libgomp): scikit-learn's RandomizedSearchCV in W (4) of joblib's threads."""
import xgboost
from joblib import parallel_backend
from sklearn.datasets import make_classification
from sklearn.model_selection import RandomizedSearchCV

from timing import finish, number, numbered, start

CHOICES = {"max_depth": [3, 5, 7], "learning_rate": [0.05, 0.1, 0.3]}


def main():
    data, labels = make_classification(5000, 25, n_informative=12, random_state=0)
    start()
    with parallel_backend("threading", n_jobs=number("W", 4)):
        model = xgboost.XGBClassifier(n_estimators=40, tree_method="hist", random_state=0)
        search = RandomizedSearchCV(model, CHOICES, n_iter=5, cv=3, random_state=0)
        search.fit(data, labels)
    finish(**numbered("score", search.cv_results_["mean_test_score"]))


if __name__ == "__main__":
    main()
