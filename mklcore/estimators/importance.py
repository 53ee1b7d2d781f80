"""Which columns count: what the score of a fitted model loses when the values of a column are shuffled among the rows.

Nothing is fitted again. What a kernel says that sees only the shuffled columns is shuffled with them, what one says
that does not see them stays, so that only kernels that see them among others are computed anew. Models of ready stacks
answer kernel by kernel.

Source: Breiman, Random forests, 2001, section 10; several columns that belong together are shuffled jointly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from mklcore.arrays import Array, Indices, Labels
from mklcore.errors import ParameterError
from mklcore.estimators.base import weighted_blocks
from mklcore.estimators.explain import kernels_by_columns
from mklcore.kernels.dictionary import Unit
from mklcore.kernels.maps import KernelMap
from mklcore.selection.scoring import Judge, Scoring

REPEATS = 5
GROUPS, LEAST_ROWS = 20, 20  # of held-out rows that are left out in turn, and rows below which no error is given
Tick = Callable[[int, int], Any]


class ColumnAnswer(NamedTuple):
    """One column of the table (or group, band, cluster): its share of weight, and what the score loses without it.

    ``share`` of the weight on kernels that see only this column; None where no kernel does. ``importance``: mean loss
    of validation score when its values are shuffled among the rows, ``importance_sd`` its standard error over the rows,
    as `ScoreLoss` has it.
    """

    name: str
    share: float | None
    importance: float
    importance_sd: float


def column_importance(
    model: Any,
    X: Any,
    y: Any,
    seen: Sequence[Unit],
    *,
    scoring: Scoring = None,
    repeats: int = REPEATS,
    seed: int = 0,
    callback: Tick | None = None,
) -> tuple[ColumnAnswer, ...]:
    """What the score of ``model`` on rows it was not fitted on loses without each of ``seen``, the most important
    first.

    ``model`` a fitted estimator of this library with a target; ``X`` rows (n, d) and ``y`` (n,), or a test block (M, n,
    n_train) for a model of a ready stack, whose units are its kernels by index (``kernel_units``). ``scoring`` as in
    ``fit_path``, None the model's own score (accuracy or R2). ``callback(done, total)`` between units; raise in it to
    cancel. ParameterError for models without a score to lose.

    >>> from mklcore.data.samples import load_sample
    >>> from mklcore.estimators.lp import LpMKLClassifier
    >>> from mklcore.kernels.dictionary import units
    >>> train, held_out = load_sample("iris").split(0.3, seed=0)
    >>> found = column_importance(LpMKLClassifier().fit(train.X, train.y), held_out.X, held_out.y, units(train))
    >>> found[0].name.startswith("petal")
    True
    """
    if not hasattr(model, "path_score") or hasattr(model, "offset_"):
        raise ParameterError(
            f"{type(model).__name__} learns no target, so no column can matter for its score. Take a model that "
            f"predicts."
        )
    tick = callback or (lambda done, total: None)
    rng, shuffled = np.random.default_rng(seed), _shuffler(model, X)
    orders = [rng.permutation(len(y)) for _ in range(repeats)]
    loss = ScoreLoss(model, y, scoring, shuffled.decisions(None, orders[0]), rng)
    shares = weight_share(model, seen)
    found = []
    for done, unit in enumerate(seen):
        tick(done, len(seen))
        lost = loss(shuffled.decisions(unit, order) for order in orders)
        found.append(ColumnAnswer(unit.name, shares.get(unit.name), *lost))
    tick(len(seen), len(seen))
    return tuple(sorted(found, key=lambda one: (-one.importance, -(one.share or 0.0), one.name)))


class ScoreLoss:
    """What the score of ``model`` on rows with the target ``y`` (n,) loses where its ``decision`` changes.

    Its standard error is that of the delete-a-group jackknife, so that rows are paired; infinite below ``LEAST_ROWS``.
    """

    def __init__(self, model: Any, y: Labels, scoring: Scoring, decision: Array, rng: np.random.Generator) -> None:
        groups = [np.arange(len(y))]
        if len(y) >= LEAST_ROWS:
            order = rng.permutation(len(y))
            groups += [np.sort(np.delete(order, np.s_[g::GROUPS])) for g in range(GROUPS)]
        self._judges = [(rows, judge_of(model, y[rows], scoring)) for rows in groups]
        self._full = self._scores(decision)

    def __call__(self, changed: Iterable[Array]) -> tuple[float, float]:
        """Mean loss over several changed decisions, and its standard error."""
        lost = np.mean([self._full - self._scores(decision) for decision in changed], axis=0)
        error = float(np.sqrt((GROUPS - 1) * np.var(lost[1:]))) if lost.size > 1 else np.inf
        return float(lost[0]), error

    def _scores(self, decision: Array) -> Array:
        return np.array([judge(decision[rows]) for rows, judge in self._judges])


def kernel_units(names: Sequence[str]) -> tuple[Unit, ...]:
    """The kernels of a ready stack as units: nothing is known of its columns."""
    return tuple(Unit(name, (m,), "kernel") for m, name in enumerate(names))


def weight_share(model: Any, seen: Sequence[Unit]) -> dict[str, float]:
    """The share of kernel weight on kernels that see one unit only, by its name; units that no kernel sees alone are
    missing.

    The weight of a constant, which sees no column, counts nowhere.
    """
    weights = np.atleast_2d(np.asarray(model.weights_, dtype=float)).sum(axis=0)
    said = None if seen and seen[0].kind == "kernel" else _sees(model)
    heard = weights if said is None else weights[[m for m, own in enumerate(said) if own]]  # a constant sees none
    total, known = float(heard.sum()) or 1.0, {unit.name for unit in seen}
    members = kernels_of(model, seen)
    return {name: float(weights[own].sum()) / total for name, own in members.items() if name in known}


def kernels_of(model: Any, seen: Sequence[Unit]) -> dict[str, list[int]]:
    """Which kernels of a model, by index, see one unit only, by its name; other kernels stand under other names."""
    if seen and seen[0].kind == "kernel":
        return {unit.name: list(unit.columns) for unit in seen}
    sees = _sees(model)
    if sees is None:
        return {}
    specs = getattr(getattr(model, "_map", None), "specs", None)
    if specs is not None:
        names = [f"column {j}" for j in range(model.n_features_in_)]
        return kernels_by_columns(specs, [(unit.name, unit.columns) for unit in seen], names)
    homes = {unit.name: frozenset(unit.columns) for unit in seen}
    return {name: own for name, home in homes.items() if (own := [m for m, s in enumerate(sees) if s and s <= home])}


def _sees(model: Any) -> list[frozenset[int]] | None:
    """Which columns each kernel of a model sees; None where it cannot be known."""
    if getattr(model, "_map", None) is not None:
        return [frozenset(spec.columns(model.n_features_in_)) for spec in model._map.specs]
    if getattr(model, "graph", None) is not None:
        return _seen_by_nodes(model)
    if hasattr(model, "hull_"):
        return [frozenset(j for j, level in enumerate(node) if level) for node in model.hull_]
    return None


def _seen_by_nodes(model: Any) -> list[frozenset[int]] | None:
    """Which columns each node of a hull on a graph sees, where its kernels are functions of columns."""
    kernels = model.design_.levels
    if kernels.transform is None:
        return None
    every = [frozenset(spec.columns(model.n_features_in_)) for spec in kernels.transform.specs]
    places = [int(kernels.place[node[0][0]]) for node in model._nodes]
    return [every[place] if place >= 0 else frozenset() for place in places]


# Decisions with one unit shuffled


def _shuffler(model: Any, X: Any) -> Any:
    """How the decisions of a model are had: put together from what its kernels say where they add up to it."""
    if np.ndim(X) == 3:
        return _Kernels(model, X)
    adds_up = len(getattr(model, "pairs_", ())) < 2 and hasattr(model, "_map")
    return _Parts(model, X) if adds_up else _Whole(model, X)


class _Parts:
    """Kernel by kernel: only kernels that see the unit among other columns are computed again."""

    def __init__(self, model: Any, X: Array) -> None:
        self.model, self.X = model, np.asarray(X, dtype=float)
        weights = np.atleast_2d(model.weights_).sum(axis=0)
        self.live = [m for m, weight in enumerate(weights) if weight > 0]
        self.sees = _sees(model) or []
        self.said = dict(zip(self.live, model.contributions(self.X, self.live), strict=True))

    def decisions(self, unit: Unit | None, order: Indices) -> Array:
        """Decision values with the rows of ``unit`` in this order."""
        own = frozenset() if unit is None else frozenset(unit.columns)
        total = np.zeros_like(np.broadcast_to(self.model.intercept_, self._shape()))
        mixed = []
        for m in self.live:
            if not self.sees[m] & own:
                total = total + self.said[m]
            elif self.sees[m] <= own:
                total = total + self.said[m][order]
            else:
                mixed.append(m)
        if mixed and unit is not None:
            total = total + _spoken(self.model, _moved(self.X, unit, order), mixed)
        result: Array = total + self.model.intercept_
        return result

    def _shape(self) -> tuple[int, ...]:
        return (len(self.X), *np.shape(self.model.intercept_))


class _Whole:
    """Row by row: all that is known is how the model decides on rows."""

    def __init__(self, model: Any, X: Array) -> None:
        self.model, self.X = model, np.asarray(X, dtype=float)

    def decisions(self, unit: Unit | None, order: Indices) -> Array:
        """Decision values with the rows of ``unit`` in this order."""
        found: Array = self.model._decisions(self.X if unit is None else _moved(self.X, unit, order))
        return found


class _Kernels:
    """Kernels of a ready stack: the rows of one block are shuffled."""

    def __init__(self, model: Any, blocks: Array) -> None:
        self.model, self.blocks = model, np.asarray(blocks, dtype=float)
        self.adds_up = len(getattr(model, "pairs_", ())) < 2
        self.said = model.contributions(self.blocks) if self.adds_up else None

    def decisions(self, unit: Unit | None, order: Indices) -> Array:
        """Decision values with the rows of the kernels of ``unit`` in this order."""
        chosen = [] if unit is None else list(unit.columns)
        if self.said is None:
            blocks = self.blocks.copy()
            blocks[chosen] = blocks[chosen][:, order]
            found: Array = self.model._decisions(blocks)
            return found
        kept = np.delete(self.said, chosen, axis=0).sum(axis=0)
        total: Array = kept + self.said[chosen].sum(axis=0)[order] + self.model.intercept_
        return total


def _moved(X: Array, unit: Unit, order: Indices) -> Array:
    moved, columns = X.copy(), np.array(unit.columns)
    moved[:, columns] = X[np.ix_(order, columns)]
    return moved


def _spoken(model: Any, X: Array, kernels: list[int]) -> Array:
    """What some kernels say together; training rows with a dual of zero are never looked at."""
    weights, dual = np.asarray(model.weights_)[..., kernels], np.asarray(model.dual_coef_)
    if weights.ndim > 1 or dual.ndim > 1 or model._map.center or not isinstance(model._map, KernelMap):
        found: Array = model.contributions(X, kernels).sum(axis=0)
        return found
    used = np.flatnonzero(dual)
    blocks = _some_rows(model._map.subset(kernels), used).cross(X)
    return weighted_blocks(blocks, weights[None], dual[None, used])[:, 0]


def _some_rows(part: Any, rows: Indices) -> Any:
    """A map of new rows against some training rows only, for kernels that are not centred."""
    return replace(
        part,
        rows=part.rows[rows],
        factors=part.factors[:, rows],
        row_means=part.row_means[:, rows],
        kept=np.arange(rows.size),
    )


def judge_of(model: Any, y: Labels, scoring: Scoring) -> Callable[[Array], float]:
    """The score of decision values against ``y``: that of ``scoring``, or the model's own."""
    if scoring is None:
        return lambda decision: float(model.path_score(model.label(decision), y))
    return partial(Judge(y, scoring), model)
