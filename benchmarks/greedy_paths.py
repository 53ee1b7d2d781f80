"""A path of 30 kernels over 20 lambdas at n = 500, M = 100, and what one more lambda costs against the first."""

import numpy as np

import mklcore as mkl
from benchmarks.lines import cpu
from mklcore.kernels.checks import one_blas_thread

N, N_VALIDATION, FEATURES, SIZE = 500, 250, 60, 30


def problem() -> tuple[mkl.GramStack, np.ndarray, np.ndarray, np.ndarray]:
    """100 kernels: 40 widths over all columns, one RBF kernel per column; the target uses four columns."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N + N_VALIDATION, FEATURES))
    y = X[:, 0] + np.sin(2 * X[:, 1]) + X[:, 2] * X[:, 3] + 0.3 * rng.standard_normal(N + N_VALIDATION)
    kernels = mkl.KernelDictionary.rbf_grid(np.geomspace(0.2, 4, 40).tolist())
    kernels += mkl.KernelDictionary.per_feature(mkl.RBF(1.0, relative=True), FEATURES)
    stack = kernels.grams(X[:N])
    return stack, y[:N], stack.cross(X[N:]), y[N:]


def main() -> None:
    stack, y, blocks, y_validation = problem()
    lams = mkl.log_grid(1e-4, 1e2, 20)
    print(f"n = {stack.n_samples}, M = {stack.n_kernels}, {SIZE} kernels, {lams.size} lambdas")
    with one_blas_thread():
        for name, model in (
            ("MKL-GOMP", mkl.GOMPRegressor(score_tol=0.0, n_kernels=SIZE)),
            ("greedy descent, Algorithm 1", mkl.GreedyMKLRegressor(n_kernels=SIZE)),
        ):
            grid = lams if name == "MKL-GOMP" else mkl.paths.path_grid(model, stack, y, "lam", lams.size)[::-1]
            mkl.fit_path(model, stack, y, "lam", grid[:1])  # compiled before the clock starts
            first, _ = cpu(lambda model=model, grid=grid: mkl.fit_path(model, stack, y, "lam", grid[:1]))
            total, path = cpu(lambda model=model, grid=grid: mkl.fit_path(model, stack, y, "lam", grid))
            more = (total - first) / (grid.size - 1)
            print(
                f"{name}: path {total:.2f} CPU s; first lambda {first:.2f} s (with {stack.n_kernels} decompositions), "
                f"one more "
                f"{more:.3f} s on average: {100 * more / first:.1f} % of the first; kernels {path.n_nonzero.min()} to "
                f"{path.n_nonzero.max()}; all ended well: {all(status.ok for status in path.statuses)}"
            )
        model = mkl.GOMPRegressor(score_tol=0.0)
        seconds, curve = cpu(
            lambda: mkl.validation_curve(model, stack, y, blocks, y_validation, lams, range(1, SIZE + 1))
        )
        print(
            f"validation curve over {lams.size} x {SIZE}: {seconds:.2f} CPU s; best R² "
            f"{curve.scores[curve.best]:.3f} at lambda = {curve.lam:.3g}, {curve.size} kernels"
        )


if __name__ == "__main__":
    main()
