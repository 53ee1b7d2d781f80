"""What the library says about the tables of the walks, without the app."""

from functools import cache as once

import numpy as np

from mklcore import RBF, KernelDictionary, Linear, load_sample, read_table
from mklcore.answer.candidates import Request
from mklcore.answer.explore import answered
from tests.helpers.pages import csv

KERNELS = "widths=2&degree=0&each=linear"  # in the app's address; ``known`` builds the same
BATCH = 12


def prices(n=90, seed=5):
    """A table with four numbers, a category and a number to predict."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    kind = rng.integers(0, 2, n)
    y = 2 * X[:, 0] + np.sin(2 * X[:, 1]) + kind + 0.2 * rng.standard_normal(n)
    numbers = dict(zip(("length", "width", "age", "weight"), X.T.round(4), strict=True))
    return csv({**numbers, "wood": np.array(["oak", "elm"])[kind], "price": y.round(4)})


# What the library says


@once
def known(source):
    """The table of a walk, read without the app."""
    return load_sample("iris") if source == "sample" else read_table(prices())


@once
def found_of(source, algorithm):
    """The answer of Explore when nothing but kernels and algorithm are chosen."""
    table = known(source)
    specs = [RBF(0.25, relative=True), RBF(4.0, relative=True), Linear()]
    specs += KernelDictionary.per_feature(Linear(), table.n_features)
    kernels = KernelDictionary(tuple(specs), feature_names=table.feature_names)
    method = None if algorithm == "lp" else algorithm
    return answered(table, Request(kernels=kernels, method=method))


def path_of(source, algorithm):
    """Its path."""
    return found_of(source, algorithm).path


def model_of(source, algorithm, place):
    """The model that Predict uses at this point of the path."""
    found = found_of(source, algorithm)
    return found.model if place == found.index else found.path.estimators[place]
