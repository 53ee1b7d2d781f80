"""n = 10,000 rows, d = 20, M = 20 kernels, no Gram matrix stored: seconds, memory and gap of the interleaved solver.

python benchmarks/interleaved_large.py [--n 10000]

The limit beside it is what computing every row of every kernel once takes: a fit that reads each of its rows once
cannot be faster by more than the share of rows it never needs. The last dictionary has seven kernels on a hundred
columns.
"""

import argparse
import resource
import time

import numpy as np

import mklcore as mkl
from mklcore.kernels.operators.lazy import PIECE, LazyKernels


def every_row_once(kernels: mkl.KernelDictionary, X: np.ndarray) -> float:
    """CPU seconds."""
    rows, start = LazyKernels.build(kernels, X), time.process_time()
    for top in range(0, len(X), PIECE):
        rows.rows(np.arange(top, min(top + PIECE, len(X))))
    return time.process_time() - start


parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
parser.add_argument("--n", type=int, default=10_000)
n = parser.parse_args().n
rng = np.random.default_rng(0)
wide = rng.standard_normal((n, 100))
X = wide[:, :20]
y = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.standard_normal(n) > 0
mkl._numba.warmup.warm_up()
dictionaries = {
    "one feature per kernel": mkl.KernelDictionary.per_feature(mkl.RBF(1.0, relative=True), 20),
    "shared features": mkl.KernelDictionary.rbf_grid(mkl.log_grid(0.25, 4, 20)),
    "a hundred columns": mkl.KernelDictionary(
        (mkl.Linear(), *(mkl.RBF(w, relative=True) for w in (0.25, 0.5, 1.0, 2.0)), mkl.Polynomial(2))
    )
    + mkl.KernelDictionary((mkl.Laplacian(1.0, relative=True),)),
}
for name, kernels in dictionaries.items():
    table = wide if name == "a hundred columns" else X
    limit = every_row_once(kernels, table)
    for p in (2.0, 4 / 3):
        start, cpu = time.perf_counter(), time.process_time()
        model = mkl.LpMKLClassifier(kernels=kernels, p=p, C=1.0, solver="interleaved", max_iter=5000).fit(table, y)
        seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{name}, p = {p:.4g}: {seconds:.1f} s ({cpu:.1f} CPU s, "
            f"{cpu / limit:.1f} times every row once), relative gap {model.relative_gap_:.1e}, "
            f"{np.count_nonzero(model.dual_coef_)} support rows, peak {peak:.0f} MB, {model.status_.name}"
        )
