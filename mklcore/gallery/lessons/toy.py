"""The published toy: two Gaussian classes in R^50, one linear kernel per feature, few or many
features informative.

Source: Kloft, Brefeld, Sonnenburg, Zien (2011), section 6.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
        means = {key: float(self.at(norm).mean()) for key, norm in ASKED.items()}
        unsure = max(float(self.at(norm).std()) for norm in ASKED.values()) / np.sqrt(
            len(self.errors)
        )
        return (
            "same"
            if max(means.values()) - min(means.values()) <= unsure
            else min(means, key=means.__getitem__)
        )


def draws_of(count: int, seed: int, draws: int, norms: Sequence[float]) -> Level:
    """Errors and weights at ``norms`` over several draws with ``count`` informative features."""
    errors, weights = zip(
        *(toy_draw(count, (seed, count, draw), norms) for draw in range(draws)), strict=True
    )
    bayes = make_mkl_toy(2, count, 0, N_FEATURES)[1].bayes_error
    return Level(
        count,
        tuple(norms),
        np.array(errors),
        weights[0],
        100.0 * bayes,
    )


def toy_parts(
    count: int,
    seeds: Sequence[int],
    *sizes: int,
) -> tuple[list[Dataset], GramStack]:
    """Sets of rows with ``count`` informative features, and one kernel per feature on the rows of
    the first.
    """
    states = np.random.SeedSequence(seeds).generate_state(len(sizes))
    parts = [
        make_mkl_toy(n, count, int(state), N_FEATURES)[0]
        for n, state in zip(sizes, states, strict=True)
    ]
    kernels = KernelDictionary(
        tuple(KernelDictionary.per_feature(Linear(), N_FEATURES)), standardize=False
    )
    return parts, kernels.grams(parts[0].X, normalise="multiplicative")


def toy_draw(
    count: int,
    seeds: Sequence[int],
    norms: Sequence[float],
    n_train: int = N_TRAIN,
    n_check: int = N_CHECK,
    costs: Array = COSTS,
) -> tuple[list[float], Array]:
    """One draw of the toy with ``count`` informative features: test error in % and weights at every
    norm, with the cost that errs least on the validation rows.
    """
    (train, validation, test), stack = toy_parts(count, seeds, n_train, n_check, n_check)
    errors = []
    weights = []
    for p in norms:
        with suppress_convergence_warnings():
            path = fit_path(LpMKLClassifier(p=p), stack, train.y, "C", costs)
        # With linear kernels one weight per feature says it all.
        columns = [
            point.weights_ / stack.scales * (train.X.T @ point.dual_coef_)
            for point in path.estimators
        ]
        offsets = np.array([point.intercept_ for point in path.estimators])
        top = path.estimators[0].classes_[1]
        wrong, wrong_test = (
            np.mean(
                (rows.X @ np.column_stack(columns) + offsets > 0) != (rows.y == top)[:, None],
                axis=0,
            )
            for rows in (validation, test)
        )
        best = int(np.argmin(wrong))
        errors.append(100.0 * float(wrong_test[best]))
        weights.append(path.weights[best])
    return errors, np.array(weights)
