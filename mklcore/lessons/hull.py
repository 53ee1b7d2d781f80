"""Hulls and interactions: a search that looks at a few hundred kernels and is certain about millions.

A target made of products of columns. Hierarchical kernel learning lets a product enter only after its factors, so that
most of the grid is ruled out unseen, and the certificate says so; a sum of functions of single columns cannot follow
the products.

Source: Bach (2008), sections 3 and 5; specification of hierarchical kernel learning, sections 2 and 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mklcore.data.dataset import Dataset
from mklcore.data.synthetic import make_sparse_polynomial
from mklcore.errors import suppress_convergence_warnings
from mklcore.figures.hulls import kernel_count
from mklcore.figures.style import number
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.functions import Polynomial
from mklcore.lessons.base import Lesson, Tick, silent
from mklcore.paths.path import Path, fit_path, path_grid
from mklcore.solvers.hkl.bases import PolynomialBasis
from mklcore.solvers.hkl.design import Design

N_COLUMNS, N_ROWS, DEGREE, POINTS = 12, 250, 3, 12
SEED = 4  # several true products of two columns, so that the grid has something to show
Pair = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Hulls:
    """The certified path, from few nodes to many; ``pair`` are the columns of a true product; ``additive`` the best
    validation R² of sparse MKL on single columns; ``monomials`` the truth, as tuples of columns.
    """

    path: Path
    names: tuple[str, ...]
    pair: Pair
    monomials: tuple[tuple[int, ...], ...]
    additive: float

    @property
    def models(self) -> tuple[Any, ...]:
        """The fitted model at every lambda."""
        return self.path.estimators

    @property
    def kernels(self) -> int:
        """How many kernels the grid holds."""
        return int(self.models[0].n_dag_kernels_)

    @property
    def visited(self) -> list[int]:
        """How many kernels the search looked at, at every lambda."""
        return [int(model.n_visited_) for model in self.models]

    @property
    def best(self) -> int:
        """Index of the best validation score."""
        return int(np.nanargmax(self.path.val_score))

    def holds(self, index: int) -> bool:
        """Tell whether the product of the pair is in the hull."""
        first, second = self.pair
        return any(node[first] and node[second] for node in self.models[index].hull_)

    @property
    def answer(self) -> str:
        """How large a part of the grid the search looked at, at most."""
        share = max(self.visited) / self.kernels
        return "all" if share > 0.5 else "tenth" if share > 0.03 else "hundredth" if share > 0.001 else "less"

    @property
    def facts(self) -> dict[str, str]:
        """Figures for the text."""
        model = self.models[self.best]
        entered = [k for k in range(len(self.models)) if self.holds(k)]
        first, second = (self.names[i] for i in self.pair)
        return {
            "visited": kernel_count(max(self.visited)),
            "one_in": kernel_count(self.kernels // max(self.visited)),
            "hull": str(len(model.hull_)),
            "order": str(model.interaction_order_),
            "r2": number(self.path.val_score[self.best]),
            "additive": number(self.additive),
            "first": first,
            "second": second,
            "enters": number(self.path.values[entered[0]]) if entered else "none",
            "gap": number(100.0 * float(np.max(self.path.relative_gap))),
            "certified": str(sum(bool(m.certified_) for m in self.models)),
            "points": str(len(self.models)),
            "products": str(sum(len(m) > 1 for m in self.monomials)),
        }


def hulls(tick: Tick = silent, seed: int = SEED) -> Hulls:
    """Certified hulls along lambda, and the best that a sum over single columns reaches."""
    from mklcore.estimators.hkl import HKLRegressor

    total = POINTS + 1
    tick(0, total)
    data, truth = make_sparse_polynomial(2 * N_ROWS, N_COLUMNS, seed)
    train, check = data.take(range(N_ROWS)), data.take(range(N_ROWS, 2 * N_ROWS))
    model = HKLRegressor(basis=PolynomialBasis(DEGREE), memory_mb=400)
    design: Any = Design(train.X, model.basis, names=list(data.feature_names), memory_mb=400)
    with suppress_convergence_warnings():
        values = path_grid(model, design, train.y, "lam", POINTS)[::-1]
        path = fit_path(model, design, train.y, "lam", values, check.X, check.y, lambda done, _: tick(done, total))
        additive = _additive(train, check)
    tick(total, total)
    return Hulls(path, data.feature_names, _pair(truth.monomials, path), truth.monomials, additive)


def _additive(train: Dataset, check: Dataset) -> float:
    """Best validation R² of l1-norm MKL on one polynomial kernel per column."""
    from mklcore.estimators.lp import LpMKLRegressor

    kernels = KernelDictionary(tuple(KernelDictionary.per_feature(Polynomial(DEGREE), N_COLUMNS)))
    stack, model = kernels.grams(train.X), LpMKLRegressor(p=1.0)
    values = path_grid(model, stack, train.y, "C", 15)
    return float(np.nanmax(fit_path(model, stack, train.y, "C", values, stack.cross(check.X), check.y).val_score))


def _pair(monomials: tuple[tuple[int, ...], ...], path: Path) -> Pair:
    """The true product of two columns that enters first; where there is none, the two most relevant columns."""

    def enters(pair: tuple[int, ...]) -> int:
        inside = [any(node[pair[0]] and node[pair[1]] for node in m.hull_) for m in path.estimators]
        return inside.index(True) if True in inside else len(inside)

    pairs = sorted((m for m in monomials if len(m) == 2), key=enters)
    ranked = np.argsort(-np.asarray(path.estimators[-1].relevance_), kind="stable")
    first, second = pairs[0] if pairs else sorted(ranked[:2].tolist())
    return int(first), int(second)


_GIVEN = {
    "columns": str(N_COLUMNS),
    "levels": str(DEGREE + 1),
    "degree": str(DEGREE),
    "kernels": kernel_count((DEGREE + 1) ** N_COLUMNS),
    "rows": str(N_ROWS),
}
HULL = Lesson("hull", POINTS + 1, hulls, _GIVEN, ("all", "tenth", "hundredth", "less"))
