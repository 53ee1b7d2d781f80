"""What a model, or one of its terms, does: a curve over one column, a surface over two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import is_outlier_detector

from mklcore.arrays import Array
from mklcore.data.columns import PARTS
from mklcore.data.dataset import Dataset
from mklcore.errors import ParameterError
from mklcore.estimators.inspection.parts import (
    kernels_in_use,
    map_of,
    one_output,
    outputs_of,
    specs_of,
    unblended,
)
from mklcore.estimators.inspection.terms import Columns, TermValues

NOVELTY = ("unusual", "ordinary")
CURVE_POINTS = 80
SURFACE_POINTS = 40
MOST_CATEGORIES = 40
_SURFACE_VALUES = 2.5e7


@dataclass(frozen=True)
class Axis:
    """The values of one source column: ``at`` (m,) numbers, or ``names`` (m,) of categories;
    ``rows`` what the training rows hold: numbers (n,), or counts (m,). With ``is_date`` the numbers
    are days since 1970.
    """

    name: str
    at: Array
    names: tuple[str, ...]
    rows: Array
    is_date: bool = False


@dataclass(frozen=True, eq=False)
class TermEffect:
    """What one or two columns add over their ``axes``: ``values`` (m,) or (m_2, m_1), rows along
    the second axis.
    """

    axes: tuple[Axis, ...]
    values: Array

    @property
    def columns(self) -> Columns:
        """The names of its columns."""
        return tuple(axis.name for axis in self.axes)


def column_effect(
    model: Any,
    data: Dataset,
    name: str,
    *,
    output: int = 0,
) -> TermEffect | None:
    """What one source column of ``data`` does to a fitted model, all others at their means: above
    that of its mean.

    ``data`` its training rows, ``output`` one of several. None for several columns that are no
    category. ParameterError for models of ready stacks.
    """
    members = list(dict(data.columns)[name])
    model = unblended(model)
    is_category = np.isin(np.round(data.X[:, members], 9), (0.0, 1.0)).all()
    if len(members) > 1 and not is_category:
        return None
    axis, places = _axis(data, name, members, CURVE_POINTS)
    rows = np.tile(data.table.mean(axis=0), (len(places) + 1, 1))
    rows[1:, members] = places
    specs = specs_of(model)
    seen = [m for m in kernels_in_use(model) if set(members) & set(specs[m].settled)]
    said = one_output(outputs_of(model, rows, seen).sum(axis=0), output)
    return TermEffect((axis,), said[1:] - said[0])


def term_effect(
    model: Any, data: Dataset, columns: Sequence[str], *, output: int = 0
) -> TermEffect:
    """What do one or two source ``columns`` of ``data`` add to a fitted ``model``, as a term of its
    own?

    Parameters
    ----------
    model : fitted on the rows of ``data`` with a dictionary of columns
    data : its training rows
    columns : the source columns of the term, by name
    output : which one of several outputs

    Raises
    ------
    ParameterError
        where the model has no such term, or one of more than two columns

    Examples
    --------
    >>> from mklcore.data.samples import load_sample
    >>> from mklcore.estimators.lp import LpMKLRegressor
    >>> from mklcore.kernels.dictionary import KernelDictionary
    >>> data = load_sample("sparse_polynomial")
    >>> model = LpMKLRegressor(kernels=KernelDictionary.interactions(data), C=10.0).fit(data.X, data.y)
    >>> term_effect(model, data, ("x03", "x10")).values.shape
    (40, 40)
    """
    members = dict(data.columns)
    named = tuple(columns)
    if not 1 <= len(named) <= 2 or any(name not in members for name in named):
        raise ParameterError(
            f"An effect is drawn over one or two columns of the table, by name; got {named!r}."
        )
    parts = TermValues(model, data)
    term = next((one for one in parts.columns if set(one) == set(named)), None)
    if term is None:
        raise ParameterError(
            f"The model has no term of {' × '.join(named)}; decompose names those it has."
        )
    points = CURVE_POINTS if len(named) == 1 else SURFACE_POINTS
    along = [_axis(data, name, members[name], points) for name in named]
    axes = tuple(axis for axis, _ in along)
    places = [place for _, place in reversed(along)]
    shape = [len(place) for place in places]
    at = np.tile(data.X.mean(axis=0), (int(np.prod(shape)), 1))
    for row, values in zip(at, product(*places), strict=True):
        for name, value in zip(reversed(named), values, strict=True):
            row[list(members[name])] = value
    usual = one_output(parts.values(data.X, [term])[0], output).mean()
    found = one_output(parts.values(at, [term])[0], output) - usual
    return TermEffect(axes, found.reshape(shape))


def _axis(
    data: Dataset,
    name: str,
    members: Sequence[int],
    points: int,
) -> tuple[Axis, Array]:
    """The values along one column, and what its features are there (m, s)."""
    own = data.X[:, list(members)]
    if len(members) > 1:
        counts = own.sum(axis=0)
        common = np.sort(np.argsort(-counts, kind="stable")[:MOST_CATEGORIES])
        called = [data.feature_names[members[k]] for k in common]
        names = tuple(one.partition("=")[2] or one for one in called)
        at = np.arange(float(len(common)))
        return Axis(name, at, names, counts[common]), np.eye(len(members))[common]
    different, counts = np.unique(own[:, 0], return_counts=True)
    if len(different) == 2:
        category = data.feature_names[members[0]].partition("=")[2]
        names = (f"not {category}", category)
        if not category:
            names = tuple(f"{value:.10g}" for value in different)
        rows = counts.astype(float)
        return Axis(name, np.arange(2.0), names, rows), different[:, None]
    at = np.linspace(different[0], different[-1], points)
    is_date = is_day(data, name, members[0])
    return Axis(name, at, (), own[:, 0], is_date), at[:, None]


def is_day(data: Dataset, name: str, feature: int) -> bool:
    """Whether a feature of a source column is the day of a date, as `read_table` counts it: in days
    since 1970.
    """
    return data.feature_names[feature] == f"{PARTS[-1]} of {name}"


@dataclass(frozen=True, eq=False)
class Surface:
    """A model over two columns, the others at ``fixed``: ``values`` (m, m), rows along ``y``,
    columns along ``x``.

    The signed score for two classes (0 is the border), the prediction for a number, the index into
    ``classes`` for more; without a target the classes are those of ``NOVELTY``.
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


def decision_surface(
    model: Any,
    columns: tuple[int, int],
    *,
    points: int | None = None,
) -> Surface:
    """A fitted model on a grid of two columns over their training ranges, every other column at its
    training mean.

    ``columns`` two different indices, ``points`` per side, by default as many as take well under a
    second. ParameterError for anything else, and for stacks.
    """
    kernel_map = map_of(model)
    rows = kernel_map.rows * kernel_map.column_scales + kernel_map.column_means
    first, second = (int(column) for column in columns)
    if first == second or not {first, second} <= set(range(rows.shape[1])):
        raise ParameterError(
            f"A surface needs two different columns from 0 to {rows.shape[1] - 1}; got {columns!r}."
        )
    points = _affordable(model) if points is None else points
    x, y = (_widened(rows[:, column], points) for column in (first, second))
    fixed = rows.mean(axis=0)
    at = np.tile(fixed, (points * points, 1))
    at[:, first] = np.tile(x, points)
    at[:, second] = np.repeat(y, points)
    classes = tuple(str(name) for name in getattr(model, "classes_", ()))
    values = model._decisions(at)
    if is_outlier_detector(model):
        classes = NOVELTY
        values = values - model.offset_
    if len(classes) > 2:
        values = np.argmax(values, axis=1).astype(float)
    return Surface(
        (first, second),
        x,
        y,
        values.reshape(points, points),
        classes,
        fixed,
    )


def _affordable(model: Any) -> int:
    """Points per side for which the kernel values in use stay within ``_SURFACE_VALUES``."""
    values = model.n_train_ * max(len(kernels_in_use(model)), 1)
    return int(np.clip(np.sqrt(_SURFACE_VALUES / values), 16, 60))


def _widened(column: Array, points: int) -> Array:
    low = float(column.min())
    high = float(column.max())
    room = 0.05 * (high - low) or 0.5
    return np.linspace(low - room, high + room, points)
