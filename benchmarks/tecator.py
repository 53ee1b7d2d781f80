"""Fat from near-infrared spectra of meat (tecator): SMKL, l1-norm MKL, one kernel for all bands, and PLS.

The protocol of Subrahmanya and Shin (2010) for near-infrared spectra: every spectrum standardised, second differences
appended, 10 bands x {linear, cubic, RBF of half and of twice the median distance} = 40 kernels, random splits 80/20,
NMSE = mean squared error over the variance of all targets, bands = bands with a surviving kernel. Columns are
standardised on the training rows as well. C is chosen on the training rows, by exact leave-one-out (kernel weights held
fixed) or by folds; the number of PLS components by folds. 24 of the 240 spectra are repeats, so every method's error is
a little too good.

Run: ``python -m benchmarks.tecator --data DIR``; DIR holds ``tecator.csv`` with columns nm850 ... nm1048, moisture,
fat, protein, and is taken from the environment variable MKLCORE_DATA where it is not given.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cross_decomposition import PLSRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mklcore as mkl

GRID = mkl.log_grid(1.0, 10**5, 11)
N_BANDS = 10


def spectra(folder: Path) -> mkl.Dataset:
    """The spectra as the protocol wants them, bands as groups."""
    data = mkl.data.read_spectra(folder / "tecator.csv", target="fat")
    (data,) = mkl.data.standardise_spectra(data)
    return mkl.data.with_bands(mkl.data.with_second_differences(data), N_BANDS)


def multiple_kernels(model: Any, train: mkl.Dataset, y: np.ndarray, rule: str) -> tuple[Any, float]:
    """The model at its best C, and the bands it uses."""
    kernels = mkl.kernels.spectral_dictionary(train.groups)
    best = mkl.choose_C(model.set_params(kernels=kernels), train.X, y, GRID, rule=rule).estimator
    return best, len({m // len(mkl.kernels.BAND_KERNELS) for m in best.selected_})


def single_kernel(train: mkl.Dataset, y: np.ndarray, rule: str) -> tuple[Any, float]:
    """The best of the four kernels on all columns; it uses every band."""
    choices = []
    for spec in mkl.kernels.BAND_KERNELS:
        model = mkl.UniformMKLRegressor(kernels=mkl.KernelDictionary((spec,)), normalise="trace")
        choices.append(mkl.choose_C(model, train.X, y, GRID, rule=rule))
    return min(choices, key=lambda choice: float(choice.errors.min())).estimator, N_BANDS


def partial_least_squares(train: mkl.Dataset, y: np.ndarray) -> tuple[Any, float]:
    """PLS on standardised columns, up to 25 components by 10 folds; it uses every band."""
    model = make_pipeline(StandardScaler(), PLSRegression(scale=False))
    folds = KFold(10, shuffle=True, random_state=0)
    grid = {"plsregression__n_components": list(range(1, 26))}
    return GridSearchCV(model, grid, cv=folds, scoring="neg_mean_squared_error").fit(train.X, y), N_BANDS


def methods(train: mkl.Dataset, y: np.ndarray, rule: str) -> Iterator[tuple[str, tuple[Any, float]]]:
    yield "SMKL log+gl", multiple_kernels(mkl.SMKLRegressor(), train, y, rule)
    yield "l1-MKL", multiple_kernels(mkl.LpMKLRegressor(p=1.0, normalise="trace"), train, y, rule)
    yield "single kernel", single_kernel(train, y, rule)
    yield "PLS", partial_least_squares(train, y)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("MKLCORE_DATA"))
    parser.add_argument("--splits", type=int, default=30)
    parser.add_argument("--rule", choices=("loo", "kfold"), default="loo")
    options = parser.parse_args()
    if options.data is None:
        parser.error("Name the folder of tecator.csv with --data DIR, or in the environment variable MKLCORE_DATA.")
    data, clock = spectra(Path(options.data)), time.perf_counter()
    table: dict[str, list[tuple[float, float]]] = {}
    for seed in range(options.splits):
        train, test = data.split(0.2, seed)
        mean, scale = train.y.mean(), train.y.std()
        for name, (model, bands) in methods(train, (train.y - mean) / scale, options.rule):
            errors = np.ravel(model.predict(test.X)) * scale + mean - test.y
            table.setdefault(name, []).append((float(np.mean(errors**2) / data.y.var()), bands))
    print(
        f"{options.splits} splits, C by {options.rule}, {time.perf_counter() - clock:.0f} s; mean +- 95 % interval of "
        f"the mean"
    )
    for name, rows in table.items():
        values = np.array(rows)
        errors, bands = 1.96 * values.std(axis=0, ddof=1) / np.sqrt(len(rows))
        means = values.mean(axis=0)
        print(f"{name:14s} NMSE {means[0]:.5f} +- {errors:.5f}   bands {means[1]:4.1f} +- {bands:.1f}")


if __name__ == "__main__":
    main()
