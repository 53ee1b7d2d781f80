"""What the library says about the tables of the walks, without the app."""

from dataclasses import dataclass
from functools import cache as once

import numpy as np
import pandas as pd

from mklcore import load_sample
from mklcore.catalog import ESTIMATORS
from mklcore.data import Dataset, Split, read_table, three_way_split
from mklcore.data.dataset import joined_rows
from mklcore.kernels import RBF, KernelDictionary, Linear
from mklcore.paths.path import Path, fit_path, path_grid

KERNELS = "widths=2&degree=0&each=linear"  # in the app's address; ``known`` builds the same
SOURCES = ("sample", "upload")
BATCH = 12
GROW = 12  # points by which the app goes on


def prices(n: int = 90, seed: int = 5) -> bytes:
    """A table with four numbers, a category and a number to predict."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    kind = rng.integers(0, 2, n)
    y = 2 * X[:, 0] + np.sin(2 * X[:, 1]) + kind + 0.2 * rng.standard_normal(n)
    rows = [
        ",".join([*(f"{v:.4f}" for v in row), ("oak", "elm")[k], f"{target:.4f}"])
        for row, k, target in zip(X, kind, y, strict=True)
    ]
    return "\n".join(["length,width,age,weight,wood,price", *rows]).encode()


# What the library says


@dataclass(frozen=True, eq=False)
class Known:
    """A table with its parts and kernels, made without the app; ``batch`` are its first rows as a file."""

    table: Dataset
    parts: Split
    kernels: KernelDictionary
    batch: bytes


@once
def known(source: str) -> Known:
    if source == "sample":
        table = load_sample("iris")
        batch = pd.DataFrame(table.X[:BATCH], columns=list(table.feature_names)).to_csv(index=False).encode()
    else:
        table = read_table(prices())
        batch = b"\n".join(prices().splitlines()[: BATCH + 1])
    specs = [RBF(0.25, relative=True), RBF(4.0, relative=True), Linear()]
    specs += KernelDictionary.per_feature(Linear(), table.n_features)
    kernels = KernelDictionary(tuple(specs), feature_names=table.feature_names)
    return Known(table, three_way_split(table, 0.25, 0.25, 0), kernels, batch)


def problem_of(source: str, algorithm: str):
    """What ``fit_path`` takes before and after the values, as Explore asks for it when only the algorithm is chosen."""
    here, method = known(source), ESTIMATORS[algorithm]
    over, task, train = method.path_params[0], here.table.task, here.parts.train
    stack = here.kernels.grams(train.X, normalise=getattr(method.classifier, "default_normalise", None))
    usual = {control.name: control.default for control in method.controls if task in control.tasks}
    acting = {control.name: control.default for control in method.shown(task, over, usual)}
    model = method.estimator(task, kernels=here.kernels, stack=stack, **acting)
    rows, target = stack.cross(here.parts.validation.X), here.parts.validation.y
    return (model, stack, train.y, over), (rows, target)


@once
def path_of(source: str, algorithm: str) -> Path:
    """The path that Explore shows when nothing but the algorithm is chosen."""
    given, judges = problem_of(source, algorithm)
    over = given[3]
    grow = GROW if over in ("C", "lam") else 0  # while the last point is the best
    return fit_path(*given, path_grid(*given, 50 if over == "s" else 25), *judges, grow=grow)


def point_of(source: str, algorithm: str, value: float) -> Path:
    """The path of one point that is solved between the points of ``path_of``, started from the nearest one."""
    given, judges = problem_of(source, algorithm)
    path = path_of(source, algorithm)
    return fit_path(*given, [value], *judges, start=path.estimators[path.nearest(value)])


@once
def final_of(source: str, algorithm: str, value: float):
    """The model that Predict uses: the one at this value, fitted again on all rows but the test rows."""
    (model, _, _, over), _ = problem_of(source, algorithm)
    parts = known(source).parts
    rows = joined_rows(parts.train, parts.validation)
    name = ESTIMATORS[algorithm].path(over).attribute
    return model.set_params(**{name: int(value) if over == "s" else value}).fit(rows.table, rows.y)
