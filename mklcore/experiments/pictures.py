"""Two methods beyond the five papers, each fitted on generated rows with known truth, as numbers for a picture."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mklcore.arrays import Array, Mask
from mklcore.estimators.feature_scaling import FeatureScalingRegressor
from mklcore.estimators.joint import JointMKLRegressor
from mklcore.experiments.base import pause
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.functions import Linear

N_TRAIN, N_TEST = 150, 300
VIEWS, TARGETS, VIEW_COLUMNS = 4, 3, 4
BANDS, BAND = (2, 6), 4  # which of the bands of so many columns decide
COLUMNS = 32


class JointFound(NamedTuple):
    """R2 on held-out rows (targets,) and what every view explains of it (views, targets), with the weights (views,)."""

    targets: tuple[str, ...]
    views: tuple[str, ...]
    shares: Array
    r2: Array
    weights: Array
    gap: float


class ScalesFound(NamedTuple):
    """The scale learned for every column (d,), which of them decide, and R2 on held-out rows."""

    scales: Array
    decides: Mask
    r2: float


def joint(seed: int) -> JointFound:
    """Three targets, each of which depends on two of four views; one set of kernel weights for all of them."""
    rng = np.random.default_rng([seed, 0])
    X = rng.standard_normal((N_TRAIN + N_TEST, VIEWS * VIEW_COLUMNS))
    own = X.reshape(len(X), VIEWS, VIEW_COLUMNS).sum(axis=2) / 2.0
    truth = np.array([[1.0, 0.5, 0.0], [0.5, 0.0, 1.0], [0.0, 1.0, 0.5], [0.0, 0.0, 0.0]])
    Y = own @ truth + 0.4 * rng.standard_normal((len(X), TARGETS))
    groups = [(f"view {v + 1}", tuple(range(VIEW_COLUMNS * v, VIEW_COLUMNS * (v + 1)))) for v in range(VIEWS)]
    kernels = KernelDictionary.per_group(Linear(), groups)
    pause()
    model = JointMKLRegressor(kernels=kernels, p=1.0, C=1.0).fit(X[:N_TRAIN], Y[:N_TRAIN])
    found = model.explained_by(X[N_TRAIN:], Y[N_TRAIN:])
    shares = np.array(list(found.values()))
    names = tuple(name for name, _ in groups)
    gap = float(np.max(model.dual_gap_) / abs(float(model.objective_)))
    return JointFound(
        tuple(f"target {t + 1}" for t in range(TARGETS)), names, shares, shares.sum(axis=0), model.weights_, gap
    )


def scales(seed: int) -> ScalesFound:
    """A spectrum of 32 columns of which two bands decide, and a Gaussian kernel with a scale for every column."""
    rng = np.random.default_rng([seed, 1])
    X = rng.standard_normal((N_TRAIN + N_TEST, COLUMNS))
    first, second = (X[:, BAND * band : BAND * (band + 1)].mean(axis=1) * 2.0 for band in BANDS)
    y = np.sin(first) + second**2 / 2.0 + 0.1 * rng.standard_normal(len(X))
    groups = [(f"band {k + 1}", tuple(range(BAND * k, BAND * (k + 1)))) for k in range(COLUMNS // BAND)]
    pause()
    model = FeatureScalingRegressor(C=10.0, groups=groups).fit(X[:N_TRAIN], y[:N_TRAIN])
    decides = np.isin(np.arange(COLUMNS) // BAND, BANDS)
    return ScalesFound(np.abs(model.scales_), decides, float(model.score(X[N_TRAIN:], y[N_TRAIN:])))


class Picture(NamedTuple):
    """One picture: its title, what is fitted on which rows, the class that does it, and ``compute(seed)``."""

    title: str
    about: str
    estimator: str
    compute: Callable[[int], Any]


PICTURES = {
    "joint": Picture(
        "Several targets, one set of kernel weights",
        "Three targets and four views of four columns; each target depends on two views, none on view 4. One weight "
        "per view is learned for all targets at once.",
        "JointMKLRegressor",
        joint,
    ),
    "scales": Picture(
        "A scale for every column",
        "A spectrum of 32 columns in eight bands; bands 3 and 7 decide, through a sine and a square. One Gaussian "
        "kernel has a scale for every column, and a group selection term removes bands.",
        "FeatureScalingRegressor",
        scales,
    ),
}  # fmt: skip
