"""Duplicates: the same kernel several times over changes nothing in what can be fitted, and a lot in what is reported.

That is so at p = 1, which the lesson solves. At p > 1 the optimum moves as well: c copies act as one kernel c^(1 - 1/p)
times as large.

Source: Jin, Yang and Mahdavi (2013), section 2, with the caveat of the specification (B.6): the split among copies is
not unique. MKL-GOMP as in Sindhwani and Lozano (2011); its estimators look for copies before they start.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mklcore.arrays import Array
from mklcore.errors import suppress_convergence_warnings
from mklcore.figures.style import number
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.functions import Linear
from mklcore.lessons.base import Lesson, Tick, silent
from mklcore.solvers.baselines import Counterexample, duplicate_counterexample

MOST = 10
RESAMPLES = 20
ROWS = 80
PIECES = MOST + RESAMPLES // 5
TWIN_NOISE = 0.05  # standard deviation by which either twin differs from what they share


@dataclass(frozen=True, eq=False)
class Copies:
    """``examples``: the problem with 2, 3, ... copies of A; ``twins`` (resamples, 2): weights of two near copies at p =
    1.
    """

    examples: tuple[Counterexample, ...]
    twins: Array
    gomp_kept: int

    @property
    def answer(self) -> str:
        """Which kernel the rule "keep the largest" keeps with the most copies; "depends" where solvers disagree."""
        kept = set(self.examples[-1].two_stage.values())
        return "depends" if len(kept) > 1 else kept.pop().lower()

    @property
    def facts(self) -> dict[str, str]:
        """Figures for the text."""
        last = self.examples[-1]
        turns = next((e for e in self.examples if e.two_stage["symmetric"] == "B"), last)
        share = self.twins[:, 0] / np.maximum(self.twins.sum(axis=1), 1e-300)
        return {
            "a": number(last.two_kernels[0]),
            "b": number(last.two_kernels[1]),
            "copies": str(last.copies),
            "each": number(last.symmetric[0]),
            "first": number(last.block_descent[0]),
            "turns": str(turns.copies),
            "kernels": str(last.copies + 1),
            "gomp_kept": str(self.gomp_kept),
            "gomp_first": last.greedy["MKL-GOMP, with copies"],
            "resamples": str(len(share)),
            "one_only": str(int((share > 0.99).sum())),
            "two_only": str(int((share < 0.01).sum())),
            "both": str(int(((share >= 0.01) & (share <= 0.99)).sum())),
        }


def copies(tick: Tick = silent, seed: int = 5) -> Copies:
    """Two kernels, the better one two to ten times over; then two near copies on halves of the rows."""
    tick(0, PIECES)
    examples = []
    for count in range(2, MOST + 1):
        examples.append(duplicate_counterexample(copies=count))
        tick(count, PIECES)
    twins = []
    for k in range(RESAMPLES):
        twins.append(_twin_weights(seed, k))
        tick(MOST + (k + 1) // 5, PIECES)
    return Copies(tuple(examples), np.array(twins), _kept_by_gomp(seed))


def _twin_table(seed: int) -> tuple[Array, Array]:
    rng = np.random.default_rng([seed, 1])
    shared = rng.standard_normal(ROWS)
    X = np.column_stack([shared, shared, rng.standard_normal(ROWS)])
    X[:, :2] += TWIN_NOISE * rng.standard_normal((ROWS, 2))
    return X, shared + 0.5 * X[:, 2] + 0.5 * rng.standard_normal(ROWS)


def _twin_weights(seed: int, k: int) -> Array:
    """Weights of the two near copies at p = 1 on a random half of the rows."""
    from mklcore.estimators.lp import LpMKLRegressor

    X, y = _twin_table(seed)
    half = np.random.default_rng([seed, 2, k]).permutation(ROWS)[: ROWS // 2]
    kernels = KernelDictionary(tuple(KernelDictionary.per_feature(Linear(), 3)))
    weights: Array = LpMKLRegressor(kernels=kernels, p=1.0).fit(X[half], y[half]).weights_
    return weights[:2]


def _kept_by_gomp(seed: int) -> int:
    """How many of the kernels MKL-GOMP uses when one of three columns comes ten times over."""
    from mklcore.estimators.gomp import GOMPRegressor

    X, y = _twin_table(seed)
    many = X[:, [0] * MOST + [2]]
    kernels = KernelDictionary(tuple(KernelDictionary.per_feature(Linear(), MOST + 1)))
    with suppress_convergence_warnings():  # fewer kernels than asked for: that is the point
        return int(GOMPRegressor(kernels=kernels, n_kernels=MOST + 1, score_tol=0.0).fit(many, y).n_kernels_)


COPIES = Lesson("copies", PIECES, copies, {"most": str(MOST)}, ("a", "b", "depends"))
