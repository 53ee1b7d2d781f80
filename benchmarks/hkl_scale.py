"""How far hierarchical kernel learning reaches: a path of nine lambdas over 10^14 and over 10^89 kernels.

    python -m benchmarks.hkl_scale            p = 20 and p = 128, n = 200, polynomial of degree 4
    python -m benchmarks.hkl_scale --p 20

Prints, for every lambda: status, certified gap, hull, nodes looked at, seconds; then the total and the peak memory.
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings

import numpy as np

import mklcore as mkl

LAMBDAS = 10.0 ** np.arange(0, -4.01, -0.5)


def run(p: int, n: int, seed: int) -> None:
    data, _ = mkl.make_sparse_polynomial(n, p, seed)
    model = mkl.HKLRegressor(tol=1e-3)
    begun = time.perf_counter()
    path = mkl.fit_path(model, data.X, data.y, "lam", LAMBDAS)
    spent = time.perf_counter() - begun
    kernels = mkl.figures.kernel_count(path.estimators[0].n_dag_kernels_)
    print(
        f"p = {p}, n = {n}, {kernels} kernels, depth weight "
        f"{path.estimators[0]._weights_of(path.estimators[0].design_).base:g}"
    )
    print("lambda     status      gap       hull  looked at  solves  seconds")
    for lam, point, seconds in zip(LAMBDAS, path.estimators, path.seconds, strict=True):
        print(
            f"{lam:<10.3g} {point.status_.name:<10}  {point.relative_gap_:.1e}  {len(point.hull_):4d}  "
            f"{point.n_visited_:9d}  "
            f"{point.n_solves_:6d}  {seconds:7.2f}"
        )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"total {spent:.1f} s, peak memory {peak:.0f} MB\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--p", type=int, nargs="*", default=[20, 128])
    parser.add_argument("--n", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    warnings.simplefilter("ignore", mkl.NotConvergedWarning)  # the status column says it
    for p in asked.p:
        run(p, asked.n, asked.seed)


if __name__ == "__main__":
    main()
