"""The terms of a fitted model: what single columns say, what pairs and larger sets say together, and how much each
counts.

The kernels of a model are sorted by the columns they see, and what those of one set say is added up: f = b + sum_t f_t.
The share of a term is its variance on the training rows over the sum of the variances of all terms. Of
`KernelDictionary.interactions` and independent columns these are Sobol's indices of f; correlated columns have
correlated terms, whose correlation is listed beside them. A linear kernel of several columns is a sum over these, and
is taken apart.

A kernel of all columns can say what single columns say, too. What it says is regressed on functions of single columns,
and if asked of pairs that act together in it, by kernel ridge regression on the training rows; these parts go to the
columns and pairs, and what is left is the term "higher order".

Source: Sobol (1993), Sensitivity estimates for nonlinear mathematical models; Lu, Boukouvalas and Hensman (2022),
section 4.2.

What one term of a model does: a curve over one column, a surface over two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from mklcore.answer.explain import kernels_in_use
from mklcore.arrays import Array, one_blas_thread
from mklcore.data.dataset import Dataset
from mklcore.errors import ParameterError
from mklcore.kernels.dictionary import KernelDictionary, Unit, units
from mklcore.kernels.functions import KernelSpec
from mklcore.kernels.interactions import Interaction, interacting

HIGHER_ORDER = ("higher order",)
PROJECTED_ROWS = 500  # on which functions of single columns are taken out of kernels of all columns
RIDGES = np.logspace(-6.0, 1.0, 15)  # times the number of rows
SURE = 2.0  # standard errors from zero
MOST_NAMED = 8  # source columns of a set beyond which it is of higher order
Columns = tuple[str, ...]


class Term(NamedTuple):
    """What a set of columns says together: its share of the variance, and what the score loses without it.

    ``importance``: mean loss of score on held out rows when the values of this term alone are shuffled among the rows,
    ``importance_sd`` its standard error over the rows; None where no rows were held out. ``probability`` of being
    selected, or None.
    """

    columns: Columns
    share: float
    importance: float | None = None
    importance_sd: float | None = None
    probability: float | None = None

    @property
    def is_sure(self) -> bool:
        """Whether held-out rows say that the score loses something without it."""
        return bool(self.importance is not None and self.importance > SURE * (self.importance_sd or 0.0))


@dataclass(frozen=True, eq=False, repr=False)
class Decomposition:
    """The terms of a model, the largest share first; shares add up to 1, and ``terms`` is () for a constant model.

    values (T, n, K) : the terms at the training rows, without their means, for K outputs; correlations (T, T) : between
    terms, over rows and outputs; kernels : which kernels of the model make a term; parts : what gives them at any rows.
    """

    terms: tuple[Term, ...]
    values: Array
    correlations: Array
    kernels: tuple[tuple[int, ...], ...]
    parts: TermValues

    def __repr__(self) -> str:
        listed = ", ".join(f"{' × '.join(term.columns)} {term.share:.1%}" for term in self.terms[:6])
        return f"Decomposition({len(self.terms)} terms: {listed}{', …' if len(self.terms) > 6 else ''})"

    def place(self, columns: Sequence[str]) -> int:
        """Where the term of these columns stands. ParameterError where there is none."""
        for place, term in enumerate(self.terms):
            if set(term.columns) == set(columns):
                return place
        raise ParameterError(f"The model has no term of {' × '.join(columns)}; its terms are {self!r}.")


def decompose(
    model: Any,
    data: Dataset,
    *,
    pairs: bool = False,
) -> Decomposition:
    """What do single columns say to a fitted ``model``, and what do they say together?

    Parameters
    ----------
    model : fitted estimator
        Fitted on a table with a dictionary, or by hierarchical kernel learning.
    data : Dataset
        The training rows, whose source columns name the terms.
    pairs : bool, default False
        Whether functions of pairs, beside those of single columns, are taken out of kernels of all columns.

    Returns
    -------
    Decomposition
        The terms of the model with share and correlation.

    Raises
    ------
    ParameterError
        for a model of ready stacks, which knows no columns

    References
    ----------
    Lu, X., Boukouvalas, A. and Hensman, J. (2022), Additive Gaussian processes revisited, ICML.

    Examples
    --------
    >>> from mklcore.data.samples import load_sample
    >>> from mklcore.estimators.lp import LpMKLRegressor
    >>> from mklcore.kernels.dictionary import KernelDictionary
    >>> data = load_sample("sparse_polynomial")
    >>> kernels = KernelDictionary.interactions(data)
    >>> found = decompose(LpMKLRegressor(kernels=kernels, p=2, C=1.0).fit(data.X, data.y), data)
    >>> found.terms[0].columns, round(sum(term.share for term in found.terms), 9)
    (('x03', 'x10'), 1.0)
    """
    parts = TermValues(model, data, pairs)
    values = parts.values(data.table)
    values = values - values.mean(axis=1, keepdims=True)
    variances = np.mean(values * values, axis=1).mean(axis=1)
    total = float(variances.sum())
    order = [t for t in np.argsort(-variances, kind="stable").tolist() if variances[t] > 1e-12 * total]
    terms = tuple(Term(parts.columns[t], float(variances[t] / total)) for t in order)
    flat = values[order].reshape(len(order), values[0].size if len(values) else 0)
    sizes = np.sqrt(np.sum(flat * flat, axis=1))
    return Decomposition(
        terms,
        values[order],
        (flat / sizes[:, None]) @ (flat / sizes[:, None]).T,
        tuple(parts.kernels[t] for t in order),
        parts,
    )


class TermValues:
    """The terms of a model: ``columns`` that each sees, ``kernels`` that make it, and their values on any rows.

    ``data`` names the columns of the rows that the model was fitted on. ParameterError for a model that knows no
    columns.
    """

    def __init__(self, model: Any, data: Dataset, pairs: bool = False) -> None:
        self.model, self._pairs = model, pairs
        names = _Names(data)
        found: dict[Columns, list[int]] = {}
        self.split: list[int] = []  # linear kernels of several source columns
        for m, seen in _seen(model):
            if not seen:
                continue
            columns = names.of(seen)
            if isinstance(seen, KernelSpec) and seen.is_base and (len(columns) > 1 or columns == HIGHER_ORDER):
                self.split.append(m)
                for j in seen.settled:
                    found.setdefault((names.home[j],), []).append(m)
            else:
                found.setdefault(columns, []).append(m)
        self._alone = self._split_off(found.get(HIGHER_ORDER, []), data, names)
        for columns in () if self._alone is None else self._alone.columns:
            found.setdefault(columns, [])
        self.columns, self.kernels = tuple(found), tuple(tuple(dict.fromkeys(own)) for own in found.values())
        self.home = names.home

    def _split_off(self, kernels: list[int], data: Dataset, names: _Names) -> _Alone | None:
        """What functions of single columns say of the kernels of all columns, where there are some."""
        if not kernels:
            return None
        few = data.take(np.arange(0, data.n_samples, -(-data.n_samples // PROJECTED_ROWS)))
        return _Alone(few, _outputs(self.model, few.table, kernels).sum(axis=0), names, self._pairs)

    def values(self, rows: Array, terms: Sequence[int] | None = None) -> Array:
        """(T, n, K) at ``rows`` as the model takes them, of all terms or of some by their places."""
        places = list(range(len(self.columns)) if terms is None else terms)
        asked = dict.fromkeys(m for t in places for m in self.kernels[t])
        whole = [m for m in asked if m not in self.split]
        said = dict(zip(whole, _outputs(self.model, rows, whole), strict=True))
        slopes = {m: self._slopes(m) for m in asked if m in self.split}
        outputs = max(1, int(np.size(self.model.intercept_)))
        out = np.zeros((len(places), len(rows), outputs))
        for term, t in zip(out, places, strict=True):
            columns = self.columns[t]
            for m in self.kernels[t]:
                if m in said:
                    term += said[m]
                    continue
                for j in slopes[m]:
                    if (self.home[j],) == columns:
                        term += np.outer(rows[:, j], slopes[m][j])
            if self._alone is not None and columns == HIGHER_ORDER:
                for own in self._alone.columns:
                    term -= self._alone.values(rows, own)
            elif self._alone is not None and columns in self._alone.columns:
                term += self._alone.values(rows, columns)
        return out

    def _slopes(self, m: int) -> dict[int, Array]:
        """What a linear kernel says per unit of each of its columns, (K,)."""
        found = self.model._map
        columns = found.specs[m].settled
        steps = np.tile(found.column_means, (len(columns) + 1, 1))
        steps[np.arange(len(columns)), list(columns)] += found.column_scales[list(columns)]
        said = _outputs(self.model, steps, [m])[0]
        return {j: (said[k] - said[-1]) / found.column_scales[j] for k, j in enumerate(columns)}


class _Alone:
    """Functions of single columns, and if asked of ``pairs`` that act together, that come nearest to ``values`` (n, K)
    on the rows of ``data``: additive kernel ridge regression, its penalty by generalised cross-validation. ``columns``
    names them.
    """

    def __init__(self, data: Dataset, values: Array, names: _Names, pairs: bool) -> None:
        said_most = values[:, int(np.argmax(values.var(axis=0)))]
        target = replace(data, y=said_most, task="regression", class_names=())
        found = interacting(target, 2) if pairs else ()
        stack = KernelDictionary.interactions(data, candidates=found).grams(data)
        seen = [names.of(spec) for spec in stack.specs or ()]
        last = {columns: m for m, columns in enumerate(seen)}  # the curved kernel, where there is one
        self._stack, self.columns = stack.select(list(last.values())), tuple(last)
        with one_blas_thread():
            sizes, vectors = np.linalg.eigh(self._stack.values.sum(axis=0))
            said, n = vectors.T @ (values - values.mean(axis=0)), len(values)
            sizes = np.maximum(sizes, 0.0)

            def error(ridge: float) -> float:
                lost = ridge / (sizes + ridge)
                return float(np.sum((lost[:, None] * said) ** 2) / max(float(lost.sum()), 1e-9) ** 2)

            ridge = min((float(n * k) for k in RIDGES), key=error)
            self._dual = vectors @ (said / (sizes + ridge)[:, None])

    def values(self, rows: Array, columns: Columns) -> Array:
        """(n_new, K) of one of them at ``rows``."""
        place = self.columns.index(columns)
        found: Array = self._stack.select([place]).cross(rows)[0] @ self._dual
        return found


class _Names:
    """What sets of features are called: by source columns, or by the unit (group, band, cluster) that holds them."""

    def __init__(self, data: Dataset) -> None:
        self.home: dict[int, str] = {j: name for name, members in data.columns for j in members}
        self.letters = {j: name for name, _ in data.strings for j in data.letter_columns(name)}
        self.home |= self.letters
        self.order = {name: place for place, name in enumerate(dict.fromkeys(self.home.values()))}
        self.units: tuple[Unit, ...] = units(data)

    def of(self, seen: KernelSpec | frozenset[int]) -> Columns:
        """The columns of the term that a kernel, or a product that sees these columns, belongs to."""
        if isinstance(seen, Interaction) and len(seen.parts) > 1:
            return tuple(sorted((self._one(part.settled) for part in seen.parts), key=self._place))
        columns = seen.settled if isinstance(seen, KernelSpec) else tuple(seen)
        sources = sorted({self.home[j] for j in columns}, key=self._place)
        if len(sources) == 1:
            return (sources[0],)
        if isinstance(seen, KernelSpec):
            if (unit := self._unit(columns)) is not None:
                return (unit,)
            if len(sources) == len(self.order) or len(sources) > MOST_NAMED:
                return HIGHER_ORDER
        return tuple(sources)

    def _one(self, columns: Sequence[int]) -> str:
        sources = {self.home[j] for j in columns}
        return (
            sources.pop()
            if len(sources) == 1
            else self._unit(columns) or " and ".join(sorted(sources, key=self._place))
        )

    def _unit(self, columns: Sequence[int]) -> str | None:
        own = set(columns)
        return next((unit.name for unit in self.units if own <= set(unit.columns)), None)

    def _place(self, name: str) -> int:
        return self.order.get(name, len(self.order))


def _seen(model: Any) -> list[tuple[int, KernelSpec | frozenset[int]]]:
    """Every kernel in use, and its function or the columns it sees; ParameterError where neither is known."""
    found = getattr(model, "_map", None)
    if found is not None:
        return [(m, found.specs[m]) for m in kernels_in_use(model)]
    if hasattr(model, "hull_"):
        return [(m, frozenset(j for j, level in enumerate(model.hull_[m]) if level)) for m in range(len(model.hull_))]
    raise ParameterError(
        "This model was fitted on a ready kernel stack, so it knows no columns. Fit it on a table with a "
        "KernelDictionary."
    )


def _outputs(model: Any, rows: Array, kernels: list[int]) -> Array:
    """(m, n, K): what some kernels say at ``rows``."""
    if not kernels:
        return np.empty((0, len(rows), 1))
    said = np.asarray(model.contributions(rows, kernels), dtype=float)
    found: Array = said.reshape(len(kernels), len(rows), -1)
    return found


# What a term adds, as a curve or a surface

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
