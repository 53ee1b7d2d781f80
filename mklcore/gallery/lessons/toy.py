"""The published toy: two Gaussian classes in R^50, one linear kernel per feature, few or many
features informative.

Source: Kloft, Brefeld, Sonnenburg, Zien (2011), section 6.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.data.dataset import Dataset
from mklcore.data.synthetic import make_mkl_toy
from mklcore.errors import suppress_convergence_warnings
from mklcore.estimators.lp import LpMKLClassifier
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.functions import Linear
from mklcore.kernels.grams import GramStack
from mklcore.paths.path import fit_path

N_FEATURES = 50
N_TRAIN = 50
N_CHECK = 4000
NORMS = (1.0, 8.0 / 7.0, 4.0 / 3.0, 2.0, 4.0, 8.0, np.inf)
FEW_NORMS = (1.0, 4.0 / 3.0, 2.0, 4.0, np.inf)
COSTS = 10.0 ** np.linspace(-3.0, 0.0, 6)
ASKED = {"one": 1.0, "two": 2.0, "infinity": np.inf}  # the norms that a lesson's question names


@dataclass(frozen=True, eq=False)
class Level:
    """``errors`` (draws, P): test error in % at every norm; ``weights`` (P, M) in the first draw;
    ``bayes`` in %.
    """

    informative: int
    norms: tuple[float, ...]
    errors: Array
    weights: Array
    bayes: float

    @property
    def mean(self) -> Array:
        """Test error in % at every norm (P,), the mean over the draws."""
        mean: Array = self.errors.mean(axis=0)
        return mean

    @property
    def best(self) -> int:
        """Index of the norm with the smallest mean error."""
        return int(np.argmin(self.mean))

    def at(self, norm: float) -> Array:
        """Test error in % at one norm in every draw (draws,)."""
        return self.errors[:, self.norms.index(norm)]

    @property
    def answer(self) -> str:
        """Which of the norms asked about errs least; "same" where they differ by less than the
        draws leave open.
        """
        errors = np.column_stack([self.at(norm) for norm in ASKED.values()])
        means = errors.mean(axis=0)
        unsure = errors.std(axis=0).max() / np.sqrt(len(errors))
        if np.ptp(means) <= unsure:
            return "same"
        return list(ASKED)[int(means.argmin())]


def draws_of(count: int, seed: int, draws: int, norms: Sequence[float]) -> Level:
    """Errors and weights at ``norms`` over several draws with ``count`` informative features."""
    errors = np.empty((draws, len(norms)))
    weights = np.empty((draws, len(norms), N_FEATURES))
    for draw in range(draws):
        errors[draw], weights[draw] = toy_draw(count, (seed, count, draw), norms)
    bayes = make_mkl_toy(2, count, 0, N_FEATURES)[1].bayes_error
    return Level(count, tuple(norms), errors, weights[0], 100.0 * bayes)


def toy_parts(
    count: int,
    seeds: Sequence[int],
    *sizes: int,
) -> tuple[list[Dataset], GramStack]:
    """Sets of rows with ``count`` informative features, and one kernel per feature on the rows of
    the first.
    """
    states = np.random.SeedSequence(seeds).generate_state(len(sizes))
    parts = []
    for n, state in zip(sizes, states, strict=True):
        parts.append(make_mkl_toy(n, count, int(state), N_FEATURES)[0])
    specs = tuple(KernelDictionary.per_feature(Linear(), N_FEATURES))
    kernels = KernelDictionary(specs, standardize=False)
    return parts, kernels.grams(parts[0].X, normalise="multiplicative")


def linear_model(stack: GramStack, X: Array, weights: Array, dual: Array) -> Array:
    """A model of one linear kernel per feature as one weight per feature (d,)."""
    return weights / stack.scales * (X.T @ dual)


def linear_errors(rows: Dataset, models: Array, offsets: Any = 0.0) -> Array:
    """The errors in % (L,) on some rows of linear ``models`` (d, L) with their ``offsets`` (L,)."""
    predicted = np.where(rows.X @ models + offsets > 0, 1, -1)
    errors: Array = 100.0 * np.mean(predicted != rows.y[:, None], axis=0)
    return errors


@suppress_convergence_warnings()
def toy_draw(
    count: int,
    seeds: Sequence[int],
    norms: Sequence[float],
    n_train: int = N_TRAIN,
    n_check: int = N_CHECK,
    costs: Array = COSTS,
) -> tuple[Array, Array]:
    """One draw of the toy with ``count`` informative features: test error in % (P,) and weights
    (P, M) at every norm, with the cost that errs least on the validation rows.
    """
    (train, validation, test), stack = toy_parts(count, seeds, n_train, n_check, n_check)
    errors = np.empty(len(norms))
    weights = np.empty((len(norms), N_FEATURES))
    for k, p in enumerate(norms):
        path = fit_path(LpMKLClassifier(p=p), stack, train.y, "C", costs)
        models = np.empty((N_FEATURES, len(costs)))
        for column, point in enumerate(path.estimators):
            models[:, column] = linear_model(stack, train.X, point.weights_, point.dual_coef_)
        offsets = np.array([point.intercept_ for point in path.estimators])
        best = int(np.argmin(linear_errors(validation, models, offsets)))
        errors[k] = linear_errors(test, models, offsets)[best]
        weights[k] = path.weights[best]
    return errors, weights
