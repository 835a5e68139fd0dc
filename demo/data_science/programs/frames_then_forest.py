"""Tables through parquet, duckdb (DT threads), polars and pyarrow, each with a thread pool, then scikit-learn's random forest (W jobs)."""
import os
import tempfile

import duckdb
import numpy as np
import pandas  # noqa: F401  (duckdb makes its frames)
import polars
import pyarrow
import pyarrow.parquet
from sklearn.ensemble import RandomForestClassifier

from timing import finish, number, start

ROWS = 2000000
QUERY = "select k, avg(x) ax, stddev(y) sy, count(*) c, quantile_cont(x, .5) q from stored group by k order by k"


def table():
    random = np.random.default_rng(0)
    return pyarrow.table({
        "k": random.integers(0, 3000, ROWS),
        "c": random.integers(0, 50, ROWS),
        "x": random.standard_normal(ROWS),
        "y": random.standard_normal(ROWS),
    })


def by_duckdb(stored):
    connection = duckdb.connect()
    threads = number("DT")
    if threads is not None:
        connection.execute(f"set threads={threads}")
    for _ in range(3):
        frame = connection.execute(QUERY).df()
    return frame[["ax", "sy", "c", "q"]].to_numpy()


def by_polars(stored):
    frame = polars.from_arrow(stored)
    sums = [polars.col("x").sum().alias("sx"), polars.col("y").max().alias("my"),
            polars.col("x").sort().head(5).mean().alias("h")]
    for _ in range(5):
        grouped = frame.lazy().group_by("k").agg(*sums).sort("k").collect()
    return grouped[["sx", "my", "h"]].to_numpy()


def by_arrow(stored):
    return stored.group_by("k").aggregate([("x", "variance")]).sort_by("k")["x_variance"].to_numpy()


def main():
    made = table()
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "table.parquet")
        start()
        pyarrow.parquet.write_table(made, file)
        stored = pyarrow.parquet.read_table(file)
        features = np.c_[by_duckdb(stored), by_polars(stored), by_arrow(stored)]
        labels = (features[:, 0] > 0) ^ (features[:, 5] > 3)
        forest = RandomForestClassifier(60, n_jobs=number("W", -1), random_state=0).fit(features, labels)
        finish(features=features.sum(), importance=forest.feature_importances_[0])


if __name__ == "__main__":
    main()
