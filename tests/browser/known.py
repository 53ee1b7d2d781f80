"""What the library says about the tables of the walks, without the app."""

from dataclasses import dataclass
from functools import cache as once

import numpy as np
import pandas as pd

from mklcore import load_sample
from mklcore.answer.candidates import Request
from mklcore.answer.explore import answered
from mklcore.data import Dataset, Split, read_table, three_way_split
from mklcore.kernels import RBF, KernelDictionary, Linear

KERNELS = "widths=2&degree=0&each=linear"  # in the app's address; ``known`` builds the same
SOURCES = ("sample", "upload")
BATCH = 12


def prices(n=90, seed=5):
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
    """A table with its parts and kernels, made without the app; ``batch`` are its first rows as a
    file.
    """

    table: Dataset
    parts: Split
    kernels: KernelDictionary
    batch: bytes


@once
def known(source):
    if source == "sample":
        table = load_sample("iris")
        batch = (
            pd.DataFrame(table.X[:BATCH], columns=list(table.feature_names))
            .to_csv(index=False)
            .encode()
        )
    else:
        table = read_table(prices())
        batch = b"\n".join(prices().splitlines()[: BATCH + 1])
    specs = [RBF(0.25, relative=True), RBF(4.0, relative=True), Linear()]
    specs += KernelDictionary.per_feature(Linear(), table.n_features)
    kernels = KernelDictionary(tuple(specs), feature_names=table.feature_names)
    return Known(table, three_way_split(table, 0.25, 0.25, 0), kernels, batch)


@once
def found_of(source, algorithm):
    """The answer of Explore when nothing but kernels and algorithm are chosen."""
    here = known(source)
    return answered(
        here.table, Request(kernels=here.kernels, method=None if algorithm == "lp" else algorithm)
    )


def path_of(source, algorithm):
    """Its path."""
    return found_of(source, algorithm).path


def point_of(source, algorithm, value):
    """The path of one point that is solved between the points of ``path_of``."""
    return found_of(source, algorithm).at(value)


def model_of(source, algorithm, value):
    """The model that Predict uses at this value."""
    found = found_of(source, algorithm)
    place = found.path.nearest(value)
    if not np.isclose(found.path.values[place], value):
        return found.at(value).estimators[0]
    return found.model if place == found.index else found.path.estimators[place]
