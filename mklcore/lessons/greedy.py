"""Greedy against convex: a step that looks best is never taken back by one method, and fades under the other.

The target is the sum of two columns; a third column is a noisy copy of that sum and looks best alone. MKL-GOMP takes it
first and keeps it. Under the l1 norm it enters first, too, and fades as the cost grows, because nothing is decided for
good.

Source: Sindhwani and Lozano (2011), algorithm 1, and theorem 2 on when greedy choices are right; Kloft et al. (2011),
equation (1) with p = 1.
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
from mklcore.paths.path import Path, fit_path

N_ROWS, N_NOISE = 100, 7
TARGET_NOISE, DECOY_NOISE, RIDGE = 0.3, 0.5, 1e-3
SIZES = (1, 2, 3, 4, 5)
COSTS = 10.0 ** np.linspace(-3.0, 2.0, 21)
NAMES = ("a", "b", "c", *(f"noise {k + 1}" for k in range(N_NOISE)))
MAKERS, DECOY = (0, 1), 2


@dataclass(frozen=True, eq=False)
class Greedy:
    """``gomp`` over the number of kernels, with the kernels it holds in ``held``; ``convex`` over C with p = 1."""

    gomp: Path
    held: tuple[tuple[int, ...], ...]
    convex: Path

    @property
    def shares(self) -> Array:
        """Shares of the weight under the l1 norm, (L, M)."""
        shares: Array = self.convex.weights / self.convex.weights.sum(axis=1, keepdims=True)
        return shares

    @property
    def best(self) -> int:
        """Index of the best validation score under the l1 norm."""
        return int(np.argmax(self.convex.val_score))

    @property
    def top(self) -> tuple[int, ...]:
        """The two kernels with the most weight under the l1 norm at its best."""
        return tuple(sorted(np.argsort(-self.shares[self.best], kind="stable")[:2].tolist()))

    @property
    def answer(self) -> str:
        """Who has the two columns that made the target among its first two kernels."""
        greedy, convex = set(self.held[1]) == set(MAKERS), self.top == MAKERS
        return "both" if greedy and convex else "greedy" if greedy else "convex" if convex else "neither"

    @property
    def facts(self) -> dict[str, str]:
        """Figures for the text."""
        decoy = self.shares[:, DECOY]
        found = next((size for size, held in zip(SIZES, self.held, strict=True) if set(MAKERS) <= set(held)), SIZES[-1])
        return {
            "first": NAMES[self.held[0][0]],
            "pair": " and ".join(NAMES[m] for m in sorted(self.held[1])),
            "pair_r2": f"{self.gomp.val_score[1]:.2f}",
            "found": str(found),
            "found_r2": f"{self.gomp.val_score[SIZES.index(found)]:.2f}",
            "top": " and ".join(NAMES[m] for m in self.top),
            "decoy_first": number(100 * decoy[0]),
            "decoy_best": number(100 * decoy[self.best]),
            "best_C": number(self.convex.values[self.best]),
            "best_r2": f"{self.convex.val_score[self.best]:.2f}",
            "best_used": str(int(self.convex.n_nonzero[self.best])),
        }


def greedy(tick: Tick = silent, seed: int = 0) -> Greedy:
    """Solve both methods on one draw of the table."""
    from mklcore.estimators.gomp import GOMPRegressor
    from mklcore.estimators.lp import LpMKLRegressor

    pieces = COSTS.size + 1
    tick(0, pieces)
    X, y = _table(seed)
    kernels = KernelDictionary(tuple(KernelDictionary.per_feature(Linear(), X.shape[1])))
    stack = kernels.grams(X[:N_ROWS], normalise="multiplicative")
    blocks, target, check = stack.cross(X[N_ROWS:]), y[:N_ROWS], y[N_ROWS:]
    with suppress_convergence_warnings():
        gomp = fit_path(GOMPRegressor(lam=RIDGE, fit_intercept=True), stack, target, "s", SIZES, blocks, check)
        convex = fit_path(
            LpMKLRegressor(p=1.0, tol=1e-5), stack, target, "C", COSTS, blocks, check,
            lambda done, _: tick(done, pieces),
        )  # fmt: skip
    tick(pieces, pieces)
    held = tuple(tuple(int(m) for m in model.selected_) for model in gomp.estimators)
    return Greedy(gomp, held, convex)


def _table(seed: int) -> tuple[Array, Array]:
    """Training rows, then as many validation rows: a, b, their noisy sum c, and columns of noise."""
    rng = np.random.default_rng([seed, 3])
    X = rng.standard_normal((2 * N_ROWS, len(NAMES)))
    total = X[:, MAKERS[0]] + X[:, MAKERS[1]]
    X[:, DECOY] = total + DECOY_NOISE * X[:, DECOY]
    y: Array = total + TARGET_NOISE * rng.standard_normal(2 * N_ROWS)
    return X, y


_GIVEN = {"rows": str(N_ROWS), "noise": str(N_NOISE), "allowed": "two"}
GREEDY = Lesson("greedy", COSTS.size + 1, greedy, _GIVEN, ("both", "greedy", "convex", "neither"))
