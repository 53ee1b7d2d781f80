"""What a fitted model has learnt, taken apart: functions of one column, a surface over two, weights per class.

Everything is read off the model's own parts, f = sum_m f_m + b: nothing is fitted here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.errors import ParameterError
from mklcore.kernels.functions import KernelSpec
from mklcore.kernels.interactions import Interaction

ALL_COLUMNS, SEVERAL_GROUPS = "all columns together", "some columns together"
NOVELTY = ("unusual", "ordinary")
_SURFACE_VALUES = 2.5e7


def problem_names(model: Any) -> tuple[str, ...]:
    """What the outputs of a model with several are called: one class each, or a pair of classes; () for one output."""
    classes = [str(name) for name in getattr(model, "classes_", ())]
    if np.ndim(model.intercept_) == 0 or len(np.atleast_1d(model.intercept_)) < 2:
        return ()
    pairs = getattr(model, "pairs_", None)
    if pairs is not None:
        return tuple(f"{classes[second]} against {classes[first]}" for first, second in pairs)
    return tuple(classes) or tuple(f"target {k + 1}" for k in range(len(model.intercept_)))


def weights_by_class(model: Any) -> tuple[tuple[str, ...], Array] | None:
    """Names (T,) and kernel weights (T, M) of the problems behind a model, or None where one set of weights serves
    all.
    """
    weights = np.asarray(model.weights_, dtype=float)
    return None if weights.ndim == 1 else (problem_names(model), weights)


def kernels_in_use(model: Any) -> list[int]:
    """The kernels that have a weight, for any output."""
    weights = np.atleast_2d(np.asarray(model.weights_, dtype=float))
    return [int(m) for m in np.flatnonzero((weights > 0).any(axis=0))]


@dataclass(frozen=True, eq=False)
class Effect:
    """What one column does to a model with all others at their typical values.

    ``values`` (m,) the model minus its value at the typical row, at ``at``: positions (m,) of a number in its own
    units, or ``names`` (m,) of a category's values, else (). ``rows`` what the training rows hold: numbers (n,), or
    counts (m,).
    """

    at: Array
    values: Array
    names: tuple[str, ...]
    rows: Array


def column_effect(
    model: Any, columns: Sequence[int], names: Sequence[str], *, output: int = 0, points: int = 80
) -> Effect | None:
    """What a column of a table does to a fitted model, all other columns at their means: the sum of its f_m and more.

    ``columns`` its feature indices, several for the 0/1 columns of a category, ``names`` (d,) of the features;
    ``output`` one of several. None for several columns that are no category. ParameterError for models of ready stacks.
    """
    rows = training_rows(model)
    own = rows[:, list(columns)]
    typical = rows.mean(axis=0)
    if len(columns) == 1:
        at = np.linspace(own.min(), own.max(), points)
        moved = np.tile(typical, (points + 1, 1))
        moved[1:, columns[0]] = at
        return Effect(at, _above(model, moved, columns, output), (), own[:, 0])
    if not np.isin(np.round(own, 9), (0.0, 1.0)).all():
        return None
    moved = np.tile(typical, (len(columns) + 1, 1))
    moved[1:, list(columns)] = np.eye(len(columns))
    values = tuple(names[j].partition("=")[2] or names[j] for j in columns)
    return Effect(np.arange(len(columns), dtype=float), _above(model, moved, columns, output), values, own.sum(axis=0))


def _above(model: Any, moved: Array, columns: Sequence[int], output: int) -> Array:
    """The decision at ``moved`` minus that at its first row: of the kernels alone that see a moved column."""
    seen = [m for m in kernels_in_use(model) if not set(columns).isdisjoint(specs_of(model)[m].settled)]
    said = model.contributions(moved, seen).sum(axis=0)
    said = said.reshape(len(said), -1)
    said = said[:, min(output, said.shape[1] - 1)]
    found: Array = said[1:] - said[0]
    return found


def training_rows(model: Any) -> Array:
    """The training table (n, d) behind a fitted model, in the units it came in."""
    transform = _map_of(model)
    rows: Array = transform.rows * transform.column_scales + transform.column_means
    return rows


def specs_of(model: Any) -> tuple[KernelSpec, ...]:
    """The kernels of a fitted model, with settled columns and widths; ParameterError for a model of a ready stack."""
    specs: tuple[KernelSpec, ...] = _map_of(model).specs
    return specs


def _map_of(model: Any) -> Any:
    transform = getattr(model, "_map", None)
    if transform is None:
        raise ParameterError(
            "This model was fitted on a ready kernel stack, so it knows no columns. Fit it on a table with a "
            "KernelDictionary."
        )
    return transform


@dataclass(frozen=True, eq=False)
class Surface:
    """A model over two columns, the others at ``fixed``: ``values`` (m, m), rows along ``y``, columns along ``x``.

    The signed score for two classes (0 is the border), the prediction for a number, the index into ``classes`` for
    more; without a target the classes are those of ``NOVELTY``.
    """

    columns: tuple[int, int]
    x: Array
    y: Array
    values: Array
    classes: tuple[str, ...]
    fixed: Array

    @property
    def kind(self) -> str:
        """ "score" for two classes, "class" for more, "number" for a regression."""
        return {0: "number", 2: "score"}.get(len(self.classes), "class")


def decision_surface(model: Any, columns: tuple[int, int], *, points: int | None = None) -> Surface:
    """A fitted model on a grid of two columns over their training ranges, every other column at its training mean.

    ``columns`` two different indices, ``points`` per side, by default as many as take well under a second.
    ParameterError for anything else, and for stacks.
    """
    from sklearn.base import is_outlier_detector

    rows = training_rows(model)
    first, second = (int(column) for column in columns)
    if first == second or not (0 <= first < rows.shape[1] and 0 <= second < rows.shape[1]):
        raise ParameterError(f"A surface needs two different columns from 0 to {rows.shape[1] - 1}; got {columns!r}.")
    points = _affordable(model) if points is None else points
    x, y = (_widened(rows[:, column], points) for column in (first, second))
    fixed = rows.mean(axis=0)
    at = np.tile(fixed, (points * points, 1))
    at[:, first], at[:, second] = np.tile(x, points), np.repeat(y, points)
    classes = tuple(str(name) for name in getattr(model, "classes_", ()))
    values = _outputs(model, at)
    if is_outlier_detector(model):
        classes, values = NOVELTY, values - model.offset_
    if len(classes) > 2:
        values = np.argmax(values, axis=1).astype(float)
    return Surface((first, second), x, y, values.reshape(points, points), classes, fixed)


def _affordable(model: Any) -> int:
    """Points per side for which the kernel values in use stay within ``_SURFACE_VALUES``."""
    used = max(len(kernels_in_use(model)), 1)
    return int(np.clip(np.sqrt(_SURFACE_VALUES / (model.n_train_ * used)), 16, 60))


def _outputs(model: Any, rows: Array) -> Array:
    """Decision values from the kernels in use alone; votes between pairs need every machine."""
    if len(getattr(model, "pairs_", ())) > 1:
        votes: Array = model._decisions(rows)
        return votes
    outputs: Array = model.contributions(rows, kernels_in_use(model)).sum(axis=0) + model.intercept_
    return outputs


def _widened(column: Array, points: int) -> Array:
    low, high = float(column.min()), float(column.max())
    room = 0.05 * (high - low) or 0.5
    return np.linspace(low - room, high + room, points)


def kernels_by_columns(
    specs: Sequence[KernelSpec],
    groups: Sequence[tuple[str, Sequence[int]]],
    names: Sequence[str],
    views: Sequence[tuple[str, Sequence[int]]] = (),
) -> dict[str, list[int]]:
    """Which kernels look at what: group of columns, single column, or all columns -> indices of kernels.

    ``specs`` M resolved kernels, ``groups`` (name, column indices) pairs, ``names`` (d,) of the columns, as in
    ``Dataset.source_names``. A kernel whose columns are in one group counts for the group; where there are no groups,
    for its column; an interaction for the columns that it is of; a kernel on exactly the columns of one of ``views``,
    also (name, column indices) pairs, for that view.
    """
    found: dict[str, list[int]] = {}
    home = {j: name for name, members in groups for j in members}
    view_of = {frozenset(members): name for name, members in views}
    for m, spec in enumerate(specs):
        columns = spec.settled
        places = {home.get(j, names[j] if j < len(names) else spec.label or "sequence") for j in columns}
        if isinstance(spec, Interaction) and len(spec.parts) > 1:
            label = " × ".join(dict.fromkeys(home.get(j, names[j]) for j in columns))
        elif frozenset(columns) in view_of:
            label = view_of[frozenset(columns)]
        elif len(columns) == len(names) > 1:
            label = ALL_COLUMNS
        elif len(places) == 1:
            label = places.pop()
        else:
            label = SEVERAL_GROUPS if groups else f"{len(columns)} columns, {names[columns[0]]} first"
        found.setdefault(label, []).append(m)
    return found
