"""A fitted model taken apart: what single columns say, what pairs and larger sets say together, and
how much each counts.

The kernels of a model are sorted by the columns they see, and what those of one set say is added
up: f = b + sum_t f_t. The share of a term is its variance on the training rows over the sum of the
variances of all terms. Of `KernelDictionary.interactions` and independent columns these are Sobol's
indices of f; correlated columns have correlated terms, whose correlation is listed beside them. A
linear kernel of several columns is a sum over these, and is taken apart.

A kernel of all columns can say what single columns say, too. What it says is regressed on functions
of single columns, and if asked of pairs that act together in it, by kernel ridge regression on the
training rows; these parts go to the columns and pairs, and what is left is the term "higher order".

Source: Sobol (1993), Sensitivity estimates for nonlinear mathematical models; Lu, Boukouvalas and
Hensman (2022), section 4.2.

What a model or one of its terms does: a curve over one column, a surface over two.

Which words of a text, and which letters of a sequence at which place, carry what a model says: the
mean decision with a word put there, above the mean,

    Q(w, i) = mean_x f(x with w at place i) - mean_x f(x)

over rows x as they come. Nothing is fitted again, and any kernel on sequences can be asked. Source:
Sonnenburg, Zien, Philips and Raetsch, POIMs: positional oligomer importance matrices, 2008; here
the mean runs over rows instead of random strings.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from pandas import DataFrame
from sklearn.base import is_outlier_detector

from mklcore.arrays import Array, one_blas_thread
from mklcore.data.columns import PARTS
from mklcore.data.dataset import Dataset
from mklcore.data.sequences import END
from mklcore.errors import ParameterError
from mklcore.estimators.shapley import coefficients_of
from mklcore.kernels.blends import Blend
from mklcore.kernels.dictionary import KernelDictionary, Unit, units
from mklcore.kernels.features import FeatureMap
from mklcore.kernels.functions import KernelSpec
from mklcore.kernels.interactions import Interaction, interacting
from mklcore.kernels.sequences import SequenceKernel, Words

HIGHER_ORDER = ("higher order",)
ALL_COLUMNS = "all columns together"
SEVERAL_GROUPS = "some columns together"
NOVELTY = ("unusual", "ordinary")
PROJECTED_ROWS = 500  # on which functions of single columns are taken out of kernels of all columns
RIDGES = np.logspace(-6.0, 1.0, 15)  # times the number of rows
SURE = 2.0  # standard errors from zero
MOST_NAMED = 8  # source columns of a set beyond which it is of higher order
CURVE_POINTS = 80
SURFACE_POINTS = 40
MOST_CATEGORIES = 40
_SURFACE_VALUES = 2.5e7
LETTER_ROWS = 30
LETTER_STEPS = 4e8  # letters compared, at one nanosecond or so each
MOST_LETTERS = 24
WORDS = 10  # that are named
Columns = tuple[str, ...]


class Term(NamedTuple):
    """What a set of columns says together: its share of the variance, and what the score loses
    without it.

    ``importance``: by how much the squared error on held-out rows grows when what this term says
    goes to other rows, ``importance_sd`` its standard error over the rows; None where no rows were
    held out.
    """

    columns: Columns
    share: float
    importance: float | None = None
    importance_sd: float | None = None

    @property
    def is_sure(self) -> bool:
        """Whether held-out rows say that the error grows without it."""
        return bool(
            self.importance is not None and self.importance > SURE * (self.importance_sd or 0.0)
        )


@dataclass(frozen=True, eq=False, repr=False)
class Decomposition:
    """The terms of a model, the largest share first; shares add up to 1, and ``terms`` is () for a
    constant model.

    values (T, n, K) : the terms at the training rows, without their means, for K outputs;
    correlations (T, T) : between terms, over rows and outputs; parts : what gives them at any rows.
    """

    terms: tuple[Term, ...]
    values: Array
    correlations: Array
    parts: TermValues

    def __repr__(self) -> str:
        listed = ", ".join(
            f"{' × '.join(term.columns)} {term.share:.1%}" for term in self.terms[:6]
        )
        return (
            f"Decomposition({len(self.terms)} terms: "
            f"{listed}{', …' if len(self.terms) > 6 else ''})"
        )

    def place(self, columns: Sequence[str]) -> int:
        """Where the term of these columns stands. ParameterError where there is none."""
        for place, term in enumerate(self.terms):
            if set(term.columns) == set(columns):
                return place
        raise ParameterError(
            f"The model has no term of {' × '.join(columns)}; its terms are {self!r}."
        )


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
        Whether functions of pairs, beside those of single columns, are taken out of kernels of all
        columns.

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
    by_size = np.argsort(-variances, kind="stable")
    order = by_size[variances[by_size] > 1e-12 * total].tolist()
    terms = tuple(Term(parts.columns[t], float(variances[t] / total)) for t in order)
    flat = values[order].reshape(len(order), int(np.prod(values.shape[1:])))
    flat = flat / np.linalg.norm(flat, axis=1, keepdims=True)
    return Decomposition(terms, values[order], flat @ flat.T, parts)


class TermValues:
    """The terms of a model, by the ``columns`` that each sees, and their values on any rows.

    ``data`` names the columns of the rows that the model was fitted on. ParameterError for a model
    that knows no columns.
    """

    def __init__(self, model: Any, data: Dataset, pairs: bool = False) -> None:
        names = _Names(data)
        self.model = model = unblended(model)
        self._kernels: dict[Columns, list[int]] = {}
        self._slopes: dict[Columns, list[tuple[int, Array]]] = {}
        for m, seen in _seen(model):
            if not seen:
                continue
            columns = names.of(seen)
            if (
                isinstance(seen, KernelSpec)
                and seen.is_base
                and (len(columns) > 1 or columns == HIGHER_ORDER)
            ):
                for j, slope in self._slopes_of(m):  # a linear kernel of several source columns
                    self._slopes.setdefault((names.home[j],), []).append((j, slope))
            else:
                self._kernels.setdefault(columns, []).append(m)
        self._alone: _Alone | None = None
        if whole := self._kernels.get(HIGHER_ORDER):
            step = -(-data.n_samples // PROJECTED_ROWS)
            few = data.take(np.arange(0, data.n_samples, step))
            said = _outputs(model, few.table, whole).sum(axis=0)
            self._alone = _Alone(few, said, names, pairs)
        every = [*self._kernels, *self._slopes]
        if self._alone is not None:
            every += self._alone.columns
        self.columns = tuple(dict.fromkeys(every))

    def values(self, rows: Array, terms: Sequence[Columns] | None = None) -> Array:
        """(T, n, K) at ``rows`` as the model takes them, of all terms or of some of them."""
        chosen = self.columns if terms is None else terms
        outputs = max(1, int(np.size(self.model.intercept_)))
        out = np.zeros((len(chosen), len(rows), outputs))
        for term, columns in zip(out, chosen, strict=True):
            if kernels := self._kernels.get(columns):
                term += _outputs(self.model, rows, kernels).sum(axis=0)
            for j, slope in self._slopes.get(columns, ()):
                mean = self.model._map.column_means[j]
                term += np.outer(rows[:, j] - mean, slope)
            if self._alone is not None and columns == HIGHER_ORDER:
                term -= self._alone.values(rows, self._alone.columns)
            elif self._alone is not None and columns in self._alone.columns:
                term += self._alone.values(rows, [columns])
        return out

    def _slopes_of(self, m: int) -> list[tuple[int, Array]]:
        """What a linear kernel says per unit of each of its columns, (K,)."""
        found = self.model._map
        columns = list(found.specs[m].settled)
        scales = found.column_scales[columns]
        steps = np.tile(found.column_means, (len(columns) + 1, 1))
        steps[np.arange(len(columns)), columns] += scales
        said = _outputs(self.model, steps, [m])[0]
        slopes = (said[:-1] - said[-1]) / scales[:, None]
        return list(zip(columns, slopes, strict=True))


class _Alone:
    """Functions of single columns, and if asked of ``pairs`` that act together, that come nearest
    to ``values`` (n, K) on the rows of ``data``: additive kernel ridge regression, its penalty by
    generalised cross-validation. ``columns`` names them.
    """

    @one_blas_thread()
    def __init__(self, data: Dataset, values: Array, names: _Names, pairs: bool) -> None:
        said_most = values[:, int(np.argmax(values.var(axis=0)))]
        target = replace(data, y=said_most, task="regression", class_names=())
        stack = KernelDictionary.interactions(
            data, candidates=interacting(target, 2) if pairs else ()
        ).grams(data)
        # the curved kernel, where there is one
        last = {names.of(spec): m for m, spec in enumerate(stack.specs or ())}
        self._stack = stack.select(list(last.values()))
        self.columns = tuple(last)
        spectrum, vectors = np.linalg.eigh(self._stack.values.sum(axis=0))
        sizes = np.maximum(spectrum, 0.0)
        said = vectors.T @ (values - values.mean(axis=0))

        def error(ridge: float) -> float:
            lost = ridge / (sizes + ridge)
            residuals = lost[:, None] * said
            free = max(float(lost.sum()), 1e-9)
            return float(np.sum(residuals**2)) / free**2

        ridge = min((RIDGES * len(values)).tolist(), key=error)
        self._dual = vectors @ (said / (sizes + ridge)[:, None])

    def values(self, rows: Array, some: Sequence[Columns]) -> Array:
        """(n_new, K) of the sum of some of them at ``rows``."""
        places = [self.columns.index(columns) for columns in some]
        kernel = self._stack.select(places).cross(rows).sum(axis=0)
        found: Array = kernel @ self._dual
        return found


class _Names:
    """What sets of features are called: by source columns, or by the unit (group, band, cluster)
    that holds them.
    """

    def __init__(self, data: Dataset) -> None:
        self.home: dict[int, str] = {}
        for name, members in data.columns:
            self.home |= dict.fromkeys(members, name)
        for name, _ in data.strings:
            self.home |= dict.fromkeys(data.letter_columns(name), name)
        names = list(dict.fromkeys(self.home.values()))
        self.order = {name: place for place, name in enumerate(names)}
        self.units: tuple[Unit, ...] = units(data)

    def of(self, seen: KernelSpec | frozenset[int]) -> Columns:
        """The columns of the term that a kernel, or a product that sees these columns, belongs to."""
        if isinstance(seen, Interaction) and len(seen.parts) > 1:
            names = [self._one(part.settled) for part in seen.parts]
            return tuple(sorted(names, key=lambda name: self.order.get(name, len(self.order))))
        sources = self._sources(seen.settled if isinstance(seen, KernelSpec) else seen)
        if len(sources) == 1 or not isinstance(seen, KernelSpec):
            return sources
        if unit := self._unit(seen.settled):
            return (unit,)
        return (
            HIGHER_ORDER
            if len(sources) == len(self.order) or len(sources) > MOST_NAMED
            else sources
        )

    def _one(self, columns: Sequence[int]) -> str:
        sources = self._sources(columns)
        return sources[0] if len(sources) == 1 else self._unit(columns) or " and ".join(sources)

    def _sources(self, columns: Iterable[int]) -> Columns:
        names = {self.home[j] for j in columns}
        return tuple(sorted(names, key=self.order.__getitem__))

    def _unit(self, columns: Sequence[int]) -> str | None:
        for unit in self.units:
            if set(columns) <= set(unit.columns):
                return unit.name
        return None


def _seen(model: Any) -> list[tuple[int, KernelSpec | frozenset[int]]]:
    """Every kernel in use, and its function or the columns it sees; ParameterError where neither is
    known.
    """
    if getattr(model, "_map", None) is None and hasattr(model, "hull_"):
        return [
            (m, frozenset(j for j, level in enumerate(node) if level))
            for m, node in enumerate(model.hull_)
        ]
    return [(m, specs_of(model)[m]) for m in kernels_in_use(model)]


def _outputs(model: Any, rows: Array, kernels: Sequence[int]) -> Array:
    """(m, n, K): what some kernels say at ``rows``; (0, n, 1) of no kernel."""
    if not kernels:
        return np.zeros((0, len(rows), 1))
    names = getattr(model, "feature_names_in_", None)
    given = rows if names is None else DataFrame(rows, columns=names)
    return np.asarray(model.contributions(given, kernels), dtype=float).reshape(
        len(kernels), len(rows), -1
    )


# The parts of a model


def unblended(model: Any) -> Any:
    """The same fitted model with every kernel of its blend as a kernel of its own, at weight one.

    The shares of a blend are scales of its kernels, and its duals theirs; of an approximated model
    the kernels are those with the landmarks. A model without a blend comes back as it is.
    """
    found = getattr(model, "_map", None)
    if found is None or [spec.family for spec in found.specs] != [Blend.family]:
        return model
    (blend,) = found.specs
    plain = found.landmarks if isinstance(found, FeatureMap) else found
    shares = np.asarray(blend.shares)
    other = copy.copy(model)
    other.__dict__.pop("feature_coef_", None)
    names = getattr(model, "table_columns_", None)
    other.kernel_names_ = KernelDictionary(blend.parts, feature_names=names).names
    split = replace(
        plain, specs=blend.parts, scales=1.0 / shares, grand_means=np.zeros(shares.size)
    )
    other._map = replace(
        split,
        normalise=None,
        center=False,
        weights=None,
    ).against(plain.rows)
    duals = coefficients_of(model, 0)
    other.n_train_ = len(plain.rows)
    if np.ndim(model.weights_) == 2:
        other.weights_ = np.ones((len(model.weights_), shares.size))
        other.dual_coef_ = duals.T
    else:
        other.weights_ = np.ones(shares.size)
        other.dual_coef_ = duals[:, 0] if np.ndim(model.dual_coef_) == 1 else duals
    return other


def problem_names(model: Any) -> tuple[str, ...]:
    """What the outputs of a model with several are called: one class each, or a pair of classes; ()
    for one output.
    """
    classes = [str(name) for name in getattr(model, "classes_", ())]
    if np.size(model.intercept_) < 2:
        return ()
    pairs = getattr(model, "pairs_", None)
    if pairs is not None:
        return tuple(f"{classes[second]} against {classes[first]}" for first, second in pairs)
    return tuple(classes) or tuple(f"target {k + 1}" for k in range(len(model.intercept_)))


def weights_by_class(model: Any) -> tuple[tuple[str, ...], Array] | None:
    """Names (T,) and kernel weights (T, M) of the problems behind a model, or None where one set of
    weights serves all.
    """
    weights = np.asarray(model.weights_, dtype=float)
    return None if weights.ndim == 1 else (problem_names(model), weights)


def kernels_in_use(model: Any) -> list[int]:
    """The kernels that have a weight, for any output."""
    weights = np.atleast_2d(np.asarray(model.weights_, dtype=float))
    used: list[int] = np.flatnonzero((weights > 0).any(axis=0)).tolist()
    return used


def training_rows(model: Any) -> Array:
    """The training table (n, d) behind a fitted model, in the units it came in."""
    transform = _map_of(model)
    rows: Array = transform.rows * transform.column_scales + transform.column_means
    return rows


def specs_of(model: Any) -> tuple[KernelSpec, ...]:
    """The kernels of a fitted model, with settled columns and widths; ParameterError for a model of
    a ready stack.
    """
    specs: tuple[KernelSpec, ...] = _map_of(model).specs
    return specs


def _map_of(model: Any) -> Any:
    transform = getattr(model, "_map", None)
    if transform is None:
        raise ParameterError(
            "This model was fitted on a ready kernel stack, so it knows no columns. Fit "
            "it on a table with a KernelDictionary."
        )
    return transform


def kernels_by_columns(
    specs: Sequence[KernelSpec], groups: Sequence[tuple[str, Sequence[int]]], names: Sequence[str]
) -> dict[str, list[int]]:
    """Which kernels look at what: group of columns, single column, or all columns -> indices of
    kernels.

    ``specs`` M resolved kernels, ``groups`` (name, column indices) pairs, ``names`` (d,) of the
    columns, as in ``Dataset.source_names``. A kernel whose columns are in one group counts for the
    group; where there are no groups, for its column; an interaction for the columns that it is of.
    """
    found: dict[str, list[int]] = {}
    home = {j: name for name, members in groups for j in members}
    for m, spec in enumerate(specs):
        columns = spec.settled
        places = {
            home.get(j, names[j] if j < len(names) else spec.label or "sequence") for j in columns
        }
        if isinstance(spec, Interaction) and len(spec.parts) > 1:
            label = " × ".join(dict.fromkeys(home.get(j, names[j]) for j in columns))
        elif len(columns) == len(names) > 1:
            label = ALL_COLUMNS
        elif len(places) == 1:
            label = places.pop()
        else:
            label = (
                SEVERAL_GROUPS if groups else f"{len(columns)} columns, {names[columns[0]]} first"
            )
        found.setdefault(label, []).append(m)
    return found


# Curves and surfaces


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
    said = _one_output(_outputs(model, rows, seen).sum(axis=0), output)
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
    usual = _one_output(parts.values(data.X, [term])[0], output).mean()
    found = _one_output(parts.values(at, [term])[0], output) - usual
    return TermEffect(axes, found.reshape(shape))


def _one_output(said: Array, output: int) -> Array:
    """One of the outputs of a model, of decisions (n, K), or its only one."""
    column: Array = said[:, min(output, said.shape[1] - 1)]
    return column


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
        names = tuple(
            data.feature_names[members[k]].partition("=")[2] or data.feature_names[members[k]]
            for k in common
        )
        return Axis(
            name,
            np.arange(len(common), dtype=float),
            names,
            counts[common],
        ), np.eye(len(members))[common]
    different, counts = np.unique(own[:, 0], return_counts=True)
    if len(different) == 2:
        category = data.feature_names[members[0]].partition("=")[2]
        called = (
            (f"not {category}", category)
            if category
            else tuple(f"{value:.10g}" for value in different)
        )
        return Axis(
            name,
            np.arange(2.0),
            called,
            counts.astype(float),
        ), different[:, None]
    at = np.linspace(different[0], different[-1], points)
    return Axis(
        name,
        at,
        (),
        own[:, 0],
        is_day(data, name, members[0]),
    ), at[:, None]


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
    rows = training_rows(model)
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
    values = _decided(model, at)
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


def _decided(model: Any, rows: Array) -> Array:
    """Decision values from the kernels in use alone; votes between pairs need every machine."""
    if len(getattr(model, "pairs_", ())) > 1:
        votes: Array = model._decisions(rows)
        return votes
    parts = model.contributions(rows, kernels_in_use(model))
    outputs: Array = parts.sum(axis=0) + model.intercept_
    return outputs


def _widened(column: Array, points: int) -> Array:
    low = float(column.min())
    high = float(column.max())
    room = 0.05 * (high - low) or 0.5
    return np.linspace(low - room, high + room, points)


# Words of texts, letters of sequences


class WordEffect(NamedTuple):
    """What a ``word`` adds, on average, to the decisions (T,) of texts that have it, and the share
    of ``rows`` that do.
    """

    word: str
    effect: Array
    rows: float


def strongest_words(model: Any, name: str, most: int = 12) -> tuple[WordEffect, ...]:
    """The words of the text column ``name`` that move the decision most over all rows, the
    strongest first.

    ParameterError where the model reads no such text.
    """
    model = unblended(model)
    found = model._map
    kernels = [
        m for m, spec in enumerate(found.specs) if isinstance(spec, Words) and spec.label == name
    ]
    if not kernels:
        raise ParameterError(f"No kernel of the model reads a text {name!r}.")
    spec = found.specs[kernels[0]]
    vectors = spec.vectors(found.rows)
    slopes = vectors.T @ sum(coefficients_of(model, m) for m in kernels)
    often = np.asarray((vectors > 0).mean(axis=0)).ravel()
    usual = np.asarray(vectors.mean(axis=0)).ravel() / np.maximum(often, 1e-12)
    effect = slopes * usual[:, None]
    moved = often * np.abs(effect).sum(axis=1)
    order = np.argsort(-moved, kind="stable")[:most]
    return tuple(
        WordEffect(spec.vocabulary[j], effect[j], float(often[j]))
        for j in order.tolist()
        if often[j] > 0
    )


class Word(NamedTuple):
    """A word, the place (from 0) of its first letter, and what it adds to the decision there."""

    word: str
    place: int
    effect: float


@dataclass(frozen=True, eq=False)
class Positions:
    """``values`` (A, L): what letter a at place i adds to the decision, over ``rows`` rows;
    ``words``, the strongest first.
    """

    letters: tuple[str, ...]
    values: Array
    words: tuple[Word, ...]
    rows: int

    @property
    def importance(self) -> Array:
        """The largest effect of any letter at every place, (L,)."""
        largest: Array = np.abs(self.values).max(axis=0)
        return largest


def positional_importance(
    model: Any, data: Dataset, *, sequence: int = 0, k: int = 6, output: int = 0, seed: int = 0
) -> Positions:
    """Which letters at which places of a sequence move the decisions of a fitted model, and which
    words of ``k`` letters.

    ``model`` fitted on a ``Dataset`` with sequences, ``data`` rows of the same kind, of which at
    most 30 are drawn with ``seed``; ``sequence`` its number from 0, ``output`` one of several.
    Places are counted from 0, as far as the shortest string drawn. ParameterError where no kernel
    in use sees the sequence.

    >>> from mklcore.data.synthetic import make_sequences
    >>> from mklcore.estimators.lp import LpMKLClassifier
    >>> from mklcore.kernels.dictionary import SequenceDictionary
    >>> from mklcore.kernels.sequences import WeightedDegree
    >>> data, truth = make_sequences(120, 30, [("TATAAT", 12)], seed=0, mutation=0.0)
    >>> model = LpMKLClassifier(kernels=SequenceDictionary([WeightedDegree(6)])).fit(data)
    >>> positional_importance(model, data).words[0][:2]
    ('TATAAT', 12)
    """
    model = unblended(model)
    weights = np.atleast_2d(np.asarray(model.weights_, dtype=float)).sum(axis=0)
    own = [
        m
        for m, spec in enumerate(specs_of(model))
        if isinstance(spec, SequenceKernel) and spec.place == sequence and weights[m] > 0
    ]
    if not own:
        raise ParameterError(
            f"No kernel in use sees sequence number {sequence}: its letters do not move "
            "the decisions."
        )
    columns = list(specs_of(model)[own[0]].settled)
    n_letters = model._map.rows.shape[1] - data.n_features
    rows = data.with_letters(n_letters // len(data.sequences))
    lengths = (rows[:, columns] != END).sum(axis=1)
    shortest = int(lengths.min())
    found, counts = np.unique(rows[:, columns], return_counts=True)
    order = np.argsort(-counts[found != END], kind="stable")[:MOST_LETTERS]
    letters = np.sort(found[found != END][order])
    steps = shortest * letters.size * model.n_train_ * len(columns) * len(own)
    most = min(LETTER_ROWS, len(rows))
    drawn = int(np.clip(LETTER_STEPS / max(steps, 1), 2, most))
    chosen = np.random.default_rng(seed).choice(len(rows), drawn, replace=False)
    some = rows[np.sort(chosen)]

    def said(word: Any, place: int) -> float:
        """The mean decision with a word put there."""
        moved = some.copy()
        moved[:, columns[place : place + len(word)]] = word
        parts = model.contributions(moved, own).sum(axis=0).reshape(drawn, -1)
        return float(_one_output(parts, output).mean())

    usual = said((), 0)
    k = min(k, shortest)
    values = np.empty((len(letters), shortest))
    for a, i in np.ndindex(values.shape):
        values[a, i] = said((letters[a],), i) - usual
    best = letters[values.argmax(axis=0)]
    words = []
    for i in range(shortest - k + 1):
        word = best[i : i + k]
        text = "".join(map(chr, word.astype(int)))
        words.append(Word(text, i, said(word, i) - usual))
    words.sort(key=lambda one: (-one.effect, one.place))
    return Positions(
        tuple(map(chr, letters.astype(int))),
        values,
        tuple(words[:WORDS]),
        drawn,
    )
