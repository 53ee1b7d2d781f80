"""What one term of a model does: a curve over one column, a surface over two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from mklcore.answer.terms import Columns, TermValues
from mklcore.arrays import Array
from mklcore.data.dataset import Dataset
from mklcore.errors import ParameterError

CURVE_POINTS, SURFACE_POINTS = 80, 40
MOST_CATEGORIES = 40


@dataclass(frozen=True)
class Axis:
    """The values of one source column: ``at`` (m,) numbers, or ``names`` (m,) of categories; ``rows`` what the training
    rows hold: numbers (n,), or counts (m,).
    """

    name: str
    at: Array
    names: tuple[str, ...]
    rows: Array


@dataclass(frozen=True, eq=False)
class TermEffect:
    """A term of one or two columns over their ``axes``: ``values`` (m,) or (m_2, m_1), rows along the second axis,
    without its mean over the training rows.
    """

    axes: tuple[Axis, ...]
    values: Array

    @property
    def columns(self) -> Columns:
        """The names of its columns."""
        return tuple(axis.name for axis in self.axes)


def term_effect(model: Any, data: Dataset, columns: Sequence[str], *, output: int = 0) -> TermEffect:
    """What do one or two source ``columns`` of ``data`` add to a fitted ``model``, as a term of its own?

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
        raise ParameterError(f"An effect is drawn over one or two columns of the table, by name; got {named!r}.")
    points = CURVE_POINTS if len(named) == 1 else SURFACE_POINTS
    axes, places = zip(*(_axis(data, name, members[name], points) for name in named), strict=True)
    at = np.tile(data.X.mean(axis=0), (int(np.prod([len(place) for place in places])), 1))
    for row, parts in zip(at, product(*reversed(places)), strict=True):
        for name, part in zip(reversed(named), parts, strict=True):
            row[list(members[name])] = part
    shape = tuple(len(place) for place in reversed(places))
    values = _values(model, data, named, at, output)
    if values is None:
        raise ParameterError(f"The model has no term of {' × '.join(named)}; decompose names those it has.")
    return TermEffect(axes, values.reshape(shape))


def _values(model: Any, data: Dataset, columns: Columns, at: Array, output: int) -> Array | None:
    """The term of these columns at rows ``at`` without its mean over the rows of ``data``; None where there is none."""
    parts = TermValues(model, data)
    place = next((t for t, one in enumerate(parts.columns) if set(one) == set(columns)), None)
    if place is None:
        return None
    both = parts.values(np.vstack([data.X, at]), [place])[0]
    found: Array = both[len(data.X) :, min(output, both.shape[1] - 1)]
    return found - float(both[: len(data.X), min(output, both.shape[1] - 1)].mean())


def _axis(data: Dataset, name: str, members: Sequence[int], points: int) -> tuple[Axis, Array]:
    """The values along one column, and what its features are there (m, s)."""
    own = data.X[:, list(members)]
    if len(members) > 1:
        counts = own.sum(axis=0)
        common = np.sort(np.argsort(-counts, kind="stable")[:MOST_CATEGORIES])
        names = tuple(
            data.feature_names[members[k]].partition("=")[2] or data.feature_names[members[k]] for k in common
        )
        return Axis(name, np.arange(len(common), dtype=float), names, counts[common]), np.eye(len(members))[common]
    different, counts = np.unique(own[:, 0], return_counts=True)
    if len(different) == 2:
        category = data.feature_names[members[0]].partition("=")[2]
        called = (f"not {category}", category) if category else tuple(f"{value:g}" for value in different)
        return Axis(name, np.arange(2.0), called, counts.astype(float)), different[:, None]
    at = np.linspace(different[0], different[-1], points)
    return Axis(name, at, (), own[:, 0]), at[:, None]
