"""Ten seeds of ``make_spectra``: does SMKL find the informative bands, and with how many fewer than l1-norm MKL?

Both methods see the same 40 kernels (10 bands x {linear, cubic, two RBF}) and take the C with the smallest error on the
same validation rows; the test rows are used once. Run: ``python -m benchmarks.spectra_bands``.
"""

from __future__ import annotations

import argparse

import numpy as np

import mklcore as mkl

TRAIN, VALIDATION, TEST = 100, 100, 300
GRID = mkl.log_grid(1.0, 10**4, 17)
METHODS = {
    "SMKL log+gl": mkl.SMKLRegressor(),
    "l1-MKL": mkl.LpMKLRegressor(p=1.0, normalise="trace"),
}


def one_seed(seed: int, n_informative: int) -> tuple[set[str], dict[str, tuple[float, set[str]]]]:
    """The informative bands, and for every method its test NMSE and the bands its kernels look at."""
    data, truth = mkl.make_spectra(TRAIN + VALIDATION + TEST, 100, n_informative, seed)
    parts = np.split(np.arange(data.n_samples), [TRAIN, TRAIN + VALIDATION])
    train, validation, test = (data.take(rows) for rows in parts)
    mean, scale = train.y.mean(), train.y.std()
    kernels = mkl.kernels.spectral_dictionary(data.groups)
    bands = [spec.label for spec in kernels]
    found = {}
    for name, model in METHODS.items():
        y_val = (validation.y - mean) / scale
        model = model.set_params(kernels=kernels)
        path = mkl.fit_path(model, train.X, (train.y - mean) / scale, "C", GRID, validation.X, y_val)
        best = path.estimators[int(np.argmax(path.val_score))]
        errors = best.predict(test.X) * scale + mean - test.y
        used = {bands[m] for m in np.flatnonzero(best.weights_ > 1e-6 * best.weights_.max())}
        found[name] = (float(np.mean(errors**2) / data.y.var()), used)
    return {f"band {b}" for b in truth.informative_bands}, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--informative", type=int, default=3)
    options = parser.parse_args()
    table: dict[str, list[tuple[float, int, bool]]] = {name: [] for name in METHODS}
    for seed in range(options.seeds):
        truth, found = one_seed(seed, options.informative)
        for name, (error, used) in found.items():
            table[name].append((error, len(used), truth <= used))
            print(f"seed {seed}  {name:12s} NMSE {error:.4f}  {len(used):2d} bands, all informative: {truth <= used}")
    for name, rows in table.items():
        errors, counts, complete = np.array(rows, dtype=float).T
        print(
            f"{name:12s} NMSE {errors.mean():.4f}, bands {counts.mean():.1f}, informative found "
            f"{int(complete.sum())}/{len(rows)}"
        )


if __name__ == "__main__":
    main()
