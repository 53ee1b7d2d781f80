"""Sparse wins, non-sparse wins: which norm of the kernel weights errs least depends on how many kernels carry the
class.

Two Gaussian classes in R^50 that no rule parts better than the Bayes error, one linear kernel per feature, hinge loss,
the cost C by the error on rows of its own: the published toy in the small, over several draws.

Source: Kloft, Brefeld, Sonnenburg, Zien (2011), section 6.1; specification of the lp-norm solver, section 13.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.data.dataset import Dataset
from mklcore.data.synthetic import make_mkl_toy
from mklcore.errors import suppress_convergence_warnings
from mklcore.figures.style import number
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.functions import Linear
from mklcore.lessons.base import Lesson, Tick, silent
from mklcore.paths.path import Path, fit_path

N_FEATURES, N_TRAIN, N_CHECK = 50, 50, 4000
NORMS = (1.0, 8.0 / 7.0, 4.0 / 3.0, 2.0, 4.0, 8.0, np.inf)
FEW_NORMS = (1.0, 4.0 / 3.0, 2.0, 4.0, np.inf)
EVERY_NORM = (*(40.0 / (40 - k) for k in range(40)), np.inf)  # evenly spaced in 1/p
COSTS = 10.0 ** np.linspace(-3.0, 0.0, 6)
LEVELS = (1, 4, 9, 28, 50)
OPENING_LEVELS = (1, 9, 50)
DRAWS, LEVEL_DRAWS = 8, 3
ASKED = {"one": 1.0, "two": 2.0, "infinity": np.inf}  # the norms the question names


@dataclass(frozen=True, eq=False)
class Norms:
    """``errors`` (draws, P): test error in % at every norm; ``weights`` (P, M) in the first draw; ``bayes`` in %;
    ``short`` of the chosen machines stopped before their tolerance.
    """

    informative: int
    norms: tuple[float, ...]
    errors: Array
    weights: Array
    bayes: float
    short: int

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
        """Which of the norms asked about errs least; "same" where they differ by less than the draws leave open."""
        means = {key: float(self.at(norm).mean()) for key, norm in ASKED.items()}
        unsure = max(float(self.at(norm).std()) for norm in ASKED.values()) / np.sqrt(len(self.errors))
        return "same" if max(means.values()) - min(means.values()) <= unsure else min(means, key=means.__getitem__)

    @property
    def facts(self) -> dict[str, str]:
        """Figures for the text."""
        one, infinite = self.at(1.0), self.at(np.inf)
        return {
            "informative": str(self.informative),
            "draws": str(len(self.errors)),
            "bayes": number(self.bayes),
            "one": number(one.mean()),
            "two": number(self.at(2.0).mean()),
            "infinity": number(infinite.mean()),
            "one_wins": str(int((one < infinite).sum())),
            "infinity_wins": str(int((infinite < one).sum())),
            "best_norm": number(self.norms[self.best]),
            "best": number(self.mean[self.best]),
            "short": str(self.short),
            "machines": str(self.errors.size),
        }


@dataclass(frozen=True, eq=False)
class Levels:
    """The same question at every number of informative features, from one to all."""

    levels: tuple[Norms, ...]

    @property
    def answer(self) -> str:
        """The answer where every feature is informative."""
        return self.levels[-1].answer

    @property
    def facts(self) -> dict[str, str]:
        """Figures for the text: those where all features are informative, and where the best norm moves."""
        best = [level.norms[level.best] for level in self.levels]
        first = next(level for level in self.levels if level.norms[level.best] == max(best))
        return self.levels[-1].facts | {
            "short": str(sum(level.short for level in self.levels)),
            "machines": str(sum(level.errors.size for level in self.levels)),
            "fewest": str(self.levels[0].informative),
            "fewest_norm": number(best[0]),
            "all_norm": number(best[-1]),
            "first_all": str(first.informative),
        }


def sparse(tick: Tick = silent, seed: int = 0) -> Norms:
    """One of fifty features carries the class: errors at seven norms over eight draws."""
    tick(0, DRAWS)
    return _norms(1, seed, DRAWS, NORMS, lambda done: tick(done, DRAWS))


def dense(tick: Tick = silent, seed: int = 0) -> Levels:
    """From one to all of fifty features carry the class: errors at five norms over three draws each."""
    total = LEVEL_DRAWS * len(LEVELS)
    tick(0, total)
    return Levels(
        tuple(
            _norms(k, seed, LEVEL_DRAWS, FEW_NORMS, _after(tick, LEVEL_DRAWS * i, total)) for i, k in enumerate(LEVELS)
        )
    )


def opening(tick: Tick = silent, seed: int = 0) -> Levels:
    """The first picture of the app: errors at 41 norms where one, nine or all of fifty features carry the class."""
    total = DRAWS * len(OPENING_LEVELS)
    tick(0, total)
    return Levels(
        tuple(_norms(k, seed, DRAWS, EVERY_NORM, _after(tick, DRAWS * i, total)) for i, k in enumerate(OPENING_LEVELS))
    )


def _after(tick: Tick, before: int, total: int) -> Callable[[int], Any]:
    return lambda done: tick(before + done, total)


def _norms(count: int, seed: int, draws: int, norms: tuple[float, ...], tick: Callable[[int], Any]) -> Norms:
    found = []
    for draw in range(draws):
        found.append(toy_draw(count, (seed, count, draw), norms))
        tick(draw + 1)
    errors, weights, short = zip(*found, strict=True)
    truth = make_mkl_toy(2, count, 0, N_FEATURES)[1]
    return Norms(count, norms, np.array(errors), weights[0], 100.0 * truth.bayes_error, sum(short))


def toy_draw(
    count: int,
    seeds: Sequence[int],
    norms: Sequence[float],
    n_train: int = N_TRAIN,
    n_check: int = N_CHECK,
    costs: Array = COSTS,
    pause: Callable[[], Any] = lambda: None,
) -> tuple[list[float], Array, int]:
    """One draw of the toy with ``count`` informative features: test error in % and weights at every norm, with the cost
    that errs least on the validation rows, and how many of these machines stopped before their tolerance.
    """
    from mklcore.estimators.lp import LpMKLClassifier

    three = np.random.SeedSequence(seeds).generate_state(3)
    train, validation, test = (
        make_mkl_toy(n, count, int(s), N_FEATURES)[0] for n, s in zip((n_train, n_check, n_check), three, strict=True)
    )
    kernels = KernelDictionary(tuple(KernelDictionary.per_feature(Linear(), N_FEATURES)), standardize=False)
    stack = kernels.grams(train.X, normalise="multiplicative")
    errors, weights, short = [], [], 0
    for p in norms:
        pause()
        with suppress_convergence_warnings():
            path = fit_path(LpMKLClassifier(p=p), stack, train.y, "C", costs)
        best = int(np.argmin(_wrong(path, stack.scales, train, validation)))
        errors.append(float(_wrong(path, stack.scales, train, test)[best]))
        weights.append(path.weights[best])
        short += not path.statuses[best].ok
    return errors, np.array(weights), short


def _wrong(path: Path, scales: Array, train: Dataset, rows: Dataset) -> Array:
    """Share of wrong rows in % at every cost (L,); with linear kernels one weight per feature says it all."""
    columns = [point.weights_ / scales * (train.X.T @ point.dual_coef_) for point in path.estimators]
    offsets = np.array([point.intercept_ for point in path.estimators])
    top = path.estimators[0].classes_[1]
    says = rows.X @ np.column_stack(columns) + offsets > 0
    wrong: Array = np.mean(says != (rows.y == top)[:, None], axis=0)
    return 100.0 * wrong


_GIVEN = {"features": str(N_FEATURES), "rows": str(N_TRAIN)}
SPARSE = Lesson("sparse", DRAWS, sparse, _GIVEN, ("one", "two", "infinity", "same"))
DENSE = Lesson("dense", LEVEL_DRAWS * len(LEVELS), dense, _GIVEN, ("one", "two", "infinity", "same"))
