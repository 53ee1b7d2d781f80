"""What one term of a model does: a curve over one column, a surface over two, with a band by refits on halves of the
rows.

The band is the delete-half jackknife: with f the term of the model and f_b that of the same model fitted on half of the
rows,

    se(x)^2 = mean_b (f_b(x) - f(x))^2

over pairs of halves that together make up the rows. It says how much the term would move with other rows; that the
model may be of the wrong form is not in it.

Source: Shao and Wu (1989), A general theory for jackknife variance estimation, Annals of Statistics 17, equation (2.2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from mklcore.answer.terms import Columns, TermValues
from mklcore.arrays import Array
from mklcore.data.dataset import Dataset
from mklcore.data.splitting import codes_of, fold_rows
from mklcore.errors import ParameterError, suppress_convergence_warnings
from mklcore.kernels.grams import GramStack

CURVE_POINTS, SURFACE_POINTS = 80, 40
MOST_CATEGORIES = 40
HALVES = 5  # pairs of halves


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
    without its mean over the training rows; ``error`` its standard error, of the same shape, or None without refits.
    """

    axes: tuple[Axis, ...]
    values: Array
    error: Array | None = None

    @property
    def columns(self) -> Columns:
        """The names of its columns."""
        return tuple(axis.name for axis in self.axes)


def term_effect(
    model: Any, data: Dataset, columns: Sequence[str], *, output: int = 0, refits: Sequence[Any] = ()
) -> TermEffect:
    """What do one or two source ``columns`` of ``data`` add to a fitted ``model``, as a term of its own?

    Parameters
    ----------
    model : fitted on the rows of ``data`` with a dictionary of columns
    data : its training rows
    columns : the source columns of the term, by name
    output : which one of several outputs
    refits : the same model fitted on halves of the rows, as ``half_refits`` returns them; they give the standard error

    Raises
    ------
    ParameterError
        where the model has no such term, or one of more than two columns

    References
    ----------
    Shao, J. and Wu, C. F. J. (1989), A general theory for jackknife variance estimation, Annals of Statistics 17.

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
    error = None
    if refits:
        others = [_values(one, data, named, at, output) for one in refits]
        gaps = np.array([(0.0 if other is None else other) - values for other in others])
        error = np.sqrt(np.mean(gaps * gaps, axis=0)).reshape(shape)
    return TermEffect(axes, values.reshape(shape), error)


def half_refits(
    model: Any,
    data: Dataset,
    *,
    stack: GramStack | None = None,
    pairs: int = HALVES,
    seed: int = 0,
    callback: Callable[[int, int], Any] | None = None,
) -> tuple[Any, ...]:
    """The same estimator fitted on both halves of ``pairs`` random cuts of the rows, by class where there are classes.

    ``stack``: the kernels on these rows where they are there already; scales and means then stay those of all rows.
    ``callback(done, total)`` between fits; raise in it to cancel.
    """
    from sklearn.base import clone

    codes = None if data.task == "regression" else codes_of(data.y)
    halves = [rows for k in range(pairs) for rows in fold_rows(codes, data.n_samples, 2, seed + k)[0]]
    found = []
    for done, rows in enumerate(halves):
        if callback is not None:
            callback(done, len(halves))
        with suppress_convergence_warnings():
            own = np.sort(rows)
            seen = data.table[own] if stack is None else stack.take(own)
            again = clone(model)
            if "callback" in again.get_params(deep=False):  # it followed the fit of the model itself
                again.set_params(callback=None)
            found.append(again.fit(seen, data.y[own]))
    return tuple(found)


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
