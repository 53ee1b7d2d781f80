"""Errands: full-size fits that carry all they need, so that a worker of a cluster can do them as well as this process.

An errand is called with ``tell(done, total)``, which hears how far it is and may raise to end it. What it gives holds nobody
who listens any more, so that it can travel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from mklcore.arrays import Array, Labels
from mklcore.cluster import Tell, afar, scheduler_address
from mklcore.errors import told_elsewhere
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.lowrank.nystroem import Nystroem
from mklcore.path import Path, fit_path, path_grid
from mklcore.scoring import Scoring, scorer_of

STEPS = 100  # in which one fit is told, for what it still has to do nobody knows
R = TypeVar("R")


def run(errand: Callable[[Tell], R], tell: Tell) -> R:
    """What an errand gives: from a worker of the cluster that ``MKL_EXPLORER_SCHEDULER`` names, without one from this process."""
    return afar(errand, tell) if scheduler_address() else errand(tell)


@dataclass(frozen=True, eq=False)
class WholeFit:
    """One model on all rows X (n, d), y (n,), and its score on rows left out; ``asked`` is an estimator that is not fitted.

    It gives the model and its score. Told are ``STEPS``, by how many of the digits that ``tol`` asks for are there.
    """

    asked: Any
    X: Array
    y: Labels
    X_left: Array
    y_left: Labels
    scoring: Scoring = None

    def __call__(self, tell: Tell) -> tuple[Any, float]:
        model, tol = self.asked, float(self.asked.tol)

        def hear(record: Any) -> None:
            gap = getattr(record, "relative_gap", None)
            done = 0.0 if not gap or not np.isfinite(gap) else np.log(max(gap, tol)) / np.log(tol)
            tell(int(STEPS * np.clip(done, 0.0, 1.0)), STEPS)

        with told_elsewhere():
            model.set_params(callback=hear).fit(self.X, self.y)
        model.set_params(callback=None)
        if self.scoring is None:
            return model, float(model.score(self.X_left, self.y_left))
        return model, float(scorer_of(self.scoring)(model, self.X_left, self.y_left))


@dataclass(frozen=True, eq=False)
class FeaturePath:
    """A path on features of all rows X (n, d), y (n,), scored on X_val, y_val: the landmarks, the features and every point.

    The grid has ``size`` points of the parameter ``over``, of which the ``first`` are solved (None for all), and goes on by at
    most ``grow``; ``normalise`` and ``center`` as in ``KernelDictionary.grams``.
    """

    asked: Any
    kernels: KernelDictionary
    how: Nystroem
    normalise: str | None
    center: bool
    X: Array
    y: Labels
    X_val: Array
    y_val: Labels
    over: str
    size: int
    first: int | None = None
    grow: int = 0
    scoring: Scoring = None

    def __call__(self, tell: Tell) -> Path:
        last = [(0, self.first or self.size)]

        def hear(done: int, total: int) -> None:
            last[0] = done, total
            tell(done, total)

        self.asked.set_params(callback=lambda record: tell(*last[0]))
        with told_elsewhere():
            stack = self.how.features(self.kernels, self.X, self.normalise, self.center)
            grid = path_grid(self.asked, stack, self.y, self.over, self.size)[: self.first]
            path = fit_path(
                self.asked, stack, self.y, self.over, grid, stack.cross(self.X_val), self.y_val, hear,
                scoring=self.scoring, grow=self.grow,
            )  # fmt: skip
        for point in path.estimators:
            point.set_params(callback=None)
        return path
