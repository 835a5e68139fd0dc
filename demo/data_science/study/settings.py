"""The programs, in the order of the table, and the settings under which each runs."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, List, Optional, Sequence, Tuple

DEFAULTS, COMITY = "defaults", "comity run"

# One thread in each library. TT, LJ, DT and W are read by the programs: PyTorch's, LightGBM's and duckdb's threads, and workers.
LIBRARIES = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS", "TT", "LJ", "DT")}

# What somebody who tunes by hand would try first: name -> environment. Numba's threads are the workers of its program.
TUNINGS: Dict[str, Dict[str, str]] = {
    "2 × 1": {"W": "2", "NUMBA_NUM_THREADS": "1", **LIBRARIES},
    "BLAS 1": {"OPENBLAS_NUM_THREADS": "1"},
    "one thread each": LIBRARIES,
    "one worker": {"W": "1"},
    "two workers": {"W": "2"},
}
KNOBS = sorted({knob for environment in TUNINGS.values() for knob in environment})
USUAL = ("2 × 1", "BLAS 1", "one thread each")
# Of programs that do not read W, or whose workers are two anyway: "2 × 1" would be "one thread each" a second time.
WITHOUT_WORKERS = ("BLAS 1", "one thread each")
TWO_WORKERS = ("2 × 1", "BLAS 1")


@dataclass(frozen=True)
class Program:
    name: str  # of its file in programs/
    title: str
    tunings: Tuple[str, ...] = USUAL
    hangs: Tuple[str, ...] = ()  # settings under which the stock libraries hang, so that they are not tried


# The stock libgomp does not survive a fork behind its back: in the child its threads are gone, and it waits for them.
AFTER_FORK = (DEFAULTS, "BLAS 1")

PROGRAMS = (
    Program("grid_search_loky", "grid search of PCA and logistic regression, loky", (*USUAL, "one worker")),
    Program("linear_algebra_threads", "four threads of eigenvalues, solve, svd and products of 350² (numpy)"),
    Program("pca_kmeans_neighbours", "PCA, k-means, nearest neighbours", WITHOUT_WORKERS),
    Program("boosted_trees_threads", "boosted trees (scikit-learn) in joblib's threads", (*USUAL, "one worker")),
    Program("dask_arrays", "dask arrays: products, svd, Cholesky"),
    Program("numba_prange_blas", "numba's `prange` around BLAS"),
    Program("lightgbm_threads", "LightGBM in four threads", (*USUAL, "one worker")),
    Program("xgboost_search_threads", "search over XGBoost in joblib's threads", (*USUAL, "one worker")),
    Program("faiss_threads", "faiss: index and four threads that search", (*USUAL, "one worker")),
    Program("torch_dataloader", "PyTorch, training with two `DataLoader` processes", TWO_WORKERS),
    Program("torch_transformer_threads", "PyTorch, a transformer in four threads and `jit.fork`", (*USUAL, "two workers")),
    Program("kmeans_forked", "k-means and numpy in four forked processes", hangs=AFTER_FORK),
    Program("frames_then_forest", "parquet, duckdb, polars, then a random forest", (*USUAL, "one worker", "two workers")),
    Program("bagged_neighbours_threads", "bagging of nearest neighbours in threads", (*USUAL, "one worker")),
    Program("producers_queue_kmeans", "producers, a queue, mini-batch k-means"),
    Program("scipy_mix", "scipy: transforms, matrix functions, differential evolution"),
    Program("lightgbm_then_fork", "LightGBM, then two forked processes with it", TWO_WORKERS, AFTER_FORK),
    Program("lightgbm_loky", "LightGBM in four loky processes"),
)


def chosen(names: Optional[Sequence[str]]) -> List[Program]:
    return [program for program in PROGRAMS if not names or program.name in names]


def settings(program: Program, round_number: int, try_all: bool) -> List[str]:
    """What may run in a round: the defaults, then the others, which begin with another one than in the round before."""
    names = [name for name in (*program.tunings, COMITY) if try_all or name not in program.hangs]
    by = round_number % len(names)
    defaults = [DEFAULTS] if try_all or DEFAULTS not in program.hangs else []
    return defaults + names[by:] + names[:by]
