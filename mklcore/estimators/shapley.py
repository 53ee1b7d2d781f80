"""Exact Shapley values of a kernel expansion per column of the table, without sampling.

    f(x) = sum_i a_i prod_j k_j(x_j, x_ij)
    v(S) = sum_i a_i prod_{j in S} k_j(x_j, x_ij) prod_{j not in S} kbar_ij

with kbar_ij the mean of k_j(., x_ij) over background rows: a column outside the coalition S is
drawn independently of the others. The multilinear extension of v gives

    phi_j = sum_i a_i (k_ij - kbar_ij) int_0^1 prod_{l != j} ( t k_il + (1 - t) kbar_il ) dt,

a polynomial of degree d - 1 in t, which Gauss-Legendre quadrature with ceil(d / 2) nodes integrates
exactly. Where kernels are smooth, fewer nodes already give twelve digits; this is checked, because
the values have to sum to v(all) - v(nothing). A source column of several 0/1 columns is one factor,
their product, and d counts factors. A polynomial kernel is not a product, but

    (x'z + c)^q = q! [u^q] e^{cu} prod_j e^{u x_j z_j},

so its factors are power series in u up to u^q, which are multiplied under the same integral. The
values of a sum of kernels are the sums of their values.

Source: Shapley (1953); Owen (1972), Multilinear extensions of games, for the integral; the products
are those of kernel machines as in Chau et al. (2022), RKHS-SHAP.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mklcore._lazy import cached_property
from mklcore.arrays import Array
from mklcore.errors import KernelError, check_cancelled
from mklcore.kernels.blends import Blend, Ranked
from mklcore.kernels.features import FeatureMap
from mklcore.kernels.functions import (
    RBF,
    Delta,
    KernelSpec,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Product,
    Sum,
)
from mklcore.kernels.interactions import ColumnMeasure, Interaction
from mklcore.kernels.kernel_map import standardise_rows

_FIRST_NODES = 8  # of the quadrature, before its sum is checked
_DIGITS = 1e-12  # accuracy of the sum of the values
# A product of all factors that underflows is negligible without the smallest of them, too.
_SMALLEST_FACTOR = 1e-250
_BLOCK = 4_000_000  # kernel values of one column at a time
_VALUES = 200_000  # kernel values of all factors at a time, so that they fit into the cache


class ShapleyValues(NamedTuple):
    """What every source column adds to the decision of a row.

    ``values`` (n, d) or (n, d, n_classes) sum with ``base`` to the decision. ``base`` is the
    decision with every column drawn independently from the background; it is not the mean
    prediction. ``alone``, shaped as ``values``, is v({j}) - v(nothing): what a column adds when
    every other column is absent.
    """

    values: Array
    base: Any
    alone: Array


def shapley_values(model: Any, X: Any) -> ShapleyValues:
    """What does every source column add to the decision of these rows?

    Parameters
    ----------
    model : fitted estimator
        A regressor or classifier whose kernels are products or sums of kernels of one source column
        each.
    X : array-like of shape (n, d) or Dataset
        Rows as ``model.predict`` takes them.

    Returns
    -------
    ShapleyValues
        Values per source column, in units of the decision, that sum with the base to the decision.

    Raises
    ------
    KernelError
        If a kernel of several columns is not such a product (the error names it), or if the model
        was fitted on ready kernels.

    References
    ----------
    Owen, G. (1972), Multilinear extensions of games, Management Science 18.

    Examples
    --------
    >>> from mklcore.data.samples import load_sample
    >>> from mklcore.estimators.lp import LpMKLRegressor
    >>> data = load_sample("sparse_polynomial")
    >>> model = LpMKLRegressor(p=2.0).fit(data)
    >>> found = shapley_values(model, data.X[:3])
    >>> bool(np.allclose(found.base + found.values.sum(axis=1), model.predict(data.X[:3])))
    True
    """
    return Explainer(model)(X)


def refuse_unexplained(model: Any) -> None:
    """Raise ``KernelError`` if a model is no sum over kernels, or its kernels have no columns."""
    check_is_fitted(model)
    if len(getattr(model, "pairs_", ())) > 1:
        raise KernelError(
            f"{type(model).__name__} lets pairs of classes vote, and votes are not a sum over "
            "kernels: Shapley values can explain LpMKLClassifier or JointMKLClassifier, which "
            "have one decision per class."
        )
    design = getattr(model, "design_", None)
    is_listed = design is None or getattr(design, "graph", None) is not None
    has_table = getattr(model, "background_", None) is not None
    if not has_table or (getattr(model, "_map", None) is None and is_listed):
        raise KernelError(
            "A model of ready kernels knows no columns, so nothing can be said per "
            "column: fit it on a table with a KernelDictionary."
        )


class Explainer:
    """Computes `shapley_values` of a model, or of several models that share their kernels.

    The means over the background are computed once, for all calls.
    """

    def __init__(self, *models: Any) -> None:
        self.model = model = models[0]
        refuse_unexplained(model)
        design = getattr(model, "design_", None)
        terms = _of_kernels(models) if design is None else _of_hull(model, design)
        self._terms = [(term, term.mean(model.background_)) for term in terms]

    @cached_property
    def base(self) -> Array:
        """The decision (T,) with every column drawn independently from the background."""
        row = self.model.background_[:1]
        decided: Array = getattr(self.model, "decision_function", self.model.predict)(row)
        found: Array = np.ravel(decided) - self.explained(row)[0][0].sum(axis=0)
        return found

    def __call__(self, X: Any) -> ShapleyValues:
        """The values of rows X, as ``model.predict`` takes them."""
        values, alone = self.explained(X)
        if len(self.base) == 1:
            return ShapleyValues(values[..., 0], float(self.base[0]), alone[..., 0])
        return ShapleyValues(values, self.base, alone)

    def explained(self, X: Any) -> tuple[Array, Array]:
        """The values (n, d, T) of rows X, with several models side by side, and those alone."""
        rows = np.asarray(self.model._checked_rows(X, reset=False), dtype=np.float64)
        outputs = self._terms[0][0].a.shape[1] if self._terms else 1
        values, alone = np.zeros((2, len(rows), len(self.model.source_columns_), outputs))
        for term, mean in self._terms:
            count = _FIRST_NODES
            for part, k in term.pieces(rows):
                check_cancelled()
                found, count = _integrated(k, mean, term, count)
                values[part, list(term.sources)] += found
                alone[part, list(term.sources)] += _integrand(0.0, k, mean, term)
        return values, alone


def shapley_along(models: Sequence[Any], X: Any) -> Array:
    """The values (L, n, d, T) of L models; kernels that they share are computed once."""
    first = getattr(models[0], "_map", None)
    shared = first is not None and all(model._map is first for model in models)
    explainers = [Explainer(*models)] if shared else [Explainer(model) for model in models]
    values = np.concatenate([explainer.explained(X)[0] for explainer in explainers], axis=2)
    return np.moveaxis(values.reshape(*values.shape[:2], len(models), -1), 2, 0)


# Terms: products with one factor per source column


@dataclass(frozen=True, eq=False)
class _ColumnTerm:
    """sum_i a_i prod_s k_s(x, x_i), with one factor k_s per source column.

    ``factors(rows)`` (s, q + 1, m, r) are power series for the columns ``sources`` (s,). They are
    multiplied with the series ``constant`` (q + 1,), and the coefficient of u^q counts. ``a`` is
    (r, T).
    """

    sources: tuple[int, ...]
    factors: Callable[[Array], Array]
    a: Array
    constant: Array

    def pieces(self, rows: Array) -> Iterator[tuple[slice, Array]]:
        """Yield batches of rows, as slices, with their factors."""
        step = max(1, _VALUES // self.factors(rows[:1]).size)
        for top in range(0, len(rows), step):
            part = slice(top, top + step)
            yield part, self.factors(rows[part])

    def mean(self, background: Array) -> Array:
        """The mean of the factors (s, q + 1, r) over the background rows."""
        found: Array = sum(k.sum(axis=2) for _, k in self.pieces(background)) / len(background)
        return found


def _integrated(
    k: Array,
    mean: Array,
    term: _ColumnTerm,
    count: int,
) -> tuple[Array, int]:
    """The integral over t (m, S, T), and the number of nodes that it needed.

    The number of nodes is doubled until the values sum to v(all) - v(nothing), up to ceil(S / 2)
    nodes, which are exact. The first try uses ``count``, the number that earlier rows needed: to
    check fewer nodes costs as much as to use them.
    """
    constant = term.constant[:, None, None]
    everything = reduce(_times, k, constant)[-1]
    nothing = reduce(_times, mean[:, :, None], constant)[-1]
    expected = (everything - nothing) @ term.a
    enough = math.ceil(len(k) / 2)
    count = min(enough, count)
    while True:
        nodes, shares = np.polynomial.legendre.leggauss(count)
        samples = [_integrand(0.5 * node + 0.5, k, mean, term) for node in nodes.tolist()]
        found: Array = np.tensordot(0.5 * shares, samples, axes=1)
        error = np.abs(found.sum(axis=1) - expected).max()
        if count == enough or error <= _DIGITS * np.abs(term.a).sum():
            return found, count
        count = min(enough, 2 * count)


def _integrand(t: float, k: Array, mean: Array, term: _ColumnTerm) -> Array:
    """What every column j adds (m, S, T) where each other column is present with probability t.

        [u^q] constant (k_j - mean_j) prod_{s != j} (t k_s + (1 - t) mean_s)

    The product without j is the product of all factors divided by factor j. Where a factor is zero,
    or factors are series, it is the product of the factors before it times that of the factors
    after it.
    """
    apart = k - mean[:, :, None]
    mixed = mean[:, :, None] + t * apart
    if k.shape[1] == 1 and np.abs(mixed).min() > _SMALLEST_FACTOR:
        whole = term.constant[0] * mixed[:, 0].prod(axis=0)
        relative = (apart[:, 0] / mixed[:, 0]).transpose(1, 0, 2)
        without_each: Array = relative @ (whole[:, :, None] * term.a)
        return without_each
    before = [np.broadcast_to(term.constant[:, None, None], k.shape[1:])]
    for factor in mixed[:-1]:
        before.append(_times(before[-1], factor))
    found = list[Array]()
    after = np.zeros(k.shape[1:])
    after[0] = 1.0
    for s in range(len(k) - 1, -1, -1):
        rest = _times(before[s], after)
        found.append(np.einsum("qmr,qmr->mr", apart[s], rest[::-1]) @ term.a)
        after = _times(after, mixed[s])
    return np.stack(found[::-1], axis=1)


def _times(one: Array, other: Array) -> Array:
    """The product of two power series (q + 1, m, r), up to u^q."""
    if len(one) == 1:
        return one * other
    return np.array([sum(one[p] * other[q - p] for p in range(q + 1)) for q in range(len(one))])


# The kernels of a dictionary


@dataclass(frozen=True)
class _ColumnProduct:
    """A product of kernels of one source column each.

    ``parts`` are (column, kernel, its mean over training rows). They are multiplied with
    (sum_s <x_s, z_s> + coef0)^degree over ``powers`` of (column, linear kernel), and with
    ``share``. A ``view`` transforms the rows first.
    """

    parts: tuple[tuple[int, KernelSpec, ColumnMeasure | None], ...] = ()
    powers: tuple[tuple[int, KernelSpec], ...] = ()
    degree: int = 0
    coef0: float = 0.0
    share: float = 1.0
    view: Ranked | None = None

    @property
    def sources(self) -> tuple[int, ...]:
        """The source columns, each once."""
        found = {part[0] for part in self.parts}
        found.update(power[0] for power in self.powers)
        return tuple(sorted(found))

    @property
    def constant(self) -> Array:
        """The series q! exp(coef0 u) up to u^q."""
        orders = np.arange(self.degree + 1)
        factorials = np.array([math.factorial(k) for k in orders], dtype=np.float64)
        found: Array = factorials[-1] * self.coef0**orders / factorials
        return found

    def factors(self, rows: Array, others: Array) -> Array:
        """A series (q + 1, m, r) per source, between ``rows`` (m, d) and ``others`` (r, d)."""
        places = {source: s for s, source in enumerate(self.sources)}
        out = np.zeros((len(places), self.degree + 1, len(rows), len(others)))
        out[:, 0] = 1.0
        for source, spec in self.powers:
            inner = spec.values(rows, others)
            for q in range(1, self.degree + 1):
                out[places[source], q] = out[places[source], q - 1] * inner / q
        for source, spec, measure in self.parts:
            values = spec.values(rows, others)
            if measure is not None:
                means = measure.means_at(spec, rows)[:, None]
                values -= means + measure.means_at(spec, others) - measure.grand
            out[places[source]] *= values
        return out


def _home_of(model: Any) -> dict[int, int]:
    """The source column that every column belongs to."""
    home = {}
    for source, (_, members) in enumerate(model.source_columns_):
        home.update(dict.fromkeys(members, source))
    return home


def _of_kernels(models: Sequence[Any]) -> list[_ColumnTerm]:
    """The terms of models of one dictionary, kernel by kernel, their coefficients side by side."""
    model = models[0]
    found = model._map
    home = _home_of(model)
    alone: dict[int, list[int]] = {}
    terms = []
    for m, spec in enumerate(found.specs):
        if not any(np.atleast_2d(one.weights_)[:, m].any() for one in models):
            continue
        if len({home[j] for j in spec.settled}) == 1:
            alone.setdefault(home[spec.settled[0]], []).append(m)
            continue
        if found.normalise == "spherical" and (found.center or not _is_unit(spec)):
            raise KernelError(
                f"{model.kernel_names_[m]} is scaled row by row (spherical), so it is no product "
                'over its columns: fit with normalise="multiplicative".'
            )
        a = np.concatenate([coefficients_of(one, m) for one in models], axis=1)
        for one in _products(spec, home, model.kernel_names_[m]):
            others = found.rows if one.view is None else one.view.seen(found.rows)
            factors = partial(_between, found, one, others)
            terms.append(_ColumnTerm(one.sources, factors, one.share * a, one.constant))
    return [*terms, *(_of_one_column(models, kernels, source) for source, kernels in alone.items())]


def _between(found: Any, product: _ColumnProduct, others: Array, rows: Array) -> Array:
    seen = standardise_rows(rows, found.column_means, found.column_scales)
    if product.view is not None:
        seen = product.view.seen(seen)
    return product.factors(seen, others)


def _of_one_column(models: Sequence[Any], kernels: list[int], source: int) -> _ColumnTerm:
    """Kernels of one source column as a single factor, however they are centred and scaled."""
    subset = models[0]._map.subset(kernels)
    step = max(1, _BLOCK // (len(kernels) * len(subset.rows)))

    def values(rows: Array) -> Array:
        parts = []
        for top in range(0, len(rows), step):
            blocks = subset.cross(rows[top : top + step])
            outputs = []
            for model in models:
                decision = model._parts(blocks, kernels).sum(axis=0)
                outputs.append(decision.reshape(blocks.shape[1], -1))
            parts.append(np.concatenate(outputs, axis=1))
        return np.concatenate(parts)[None, None]

    return _ColumnTerm(
        (source,), values, np.eye(values(models[0].background_[:1]).shape[3]), np.ones(1)
    )


def coefficients_of(model: Any, m: int) -> Array:
    """The coefficients (r, T) of kernel m before centring and scaling, on the rows of the map."""
    found = model._map
    dual = np.asarray(model._coefficients, dtype=np.float64)
    if model._dual_per_kernel:
        a = np.atleast_2d(dual[..., m, :]).T
    else:
        weights, duals = model._machines()
        a = (weights[:, m, None] * duals).T
    if isinstance(found, FeatureMap):
        expanded: Array = found.expanded(m, a[found.part(m)]) * found.scales[m] ** -0.5
        return expanded
    whole = np.zeros((len(found.rows), a.shape[1]))
    if found.normalise == "spherical":
        whole[found.kept] = a * found.factors[m, found.kept, None]
    else:
        whole[found.kept] = a / found.scales[m]
    return whole - whole.mean(axis=0) if found.center else whole


def _is_unit(spec: KernelSpec) -> bool:
    """Whether k(x, x) = 1 for every row."""
    if isinstance(spec, Product):
        return all(_is_unit(part) for part in spec.parts)
    return isinstance(spec, (RBF, Laplacian, Delta, Matern))


def _products(
    spec: KernelSpec,
    home: Mapping[int, int],
    name: str,
) -> list[_ColumnProduct]:
    """A settled kernel as a sum of products over source columns.

    Raises ``KernelError``, with the name of the kernel, if it is not such a sum.
    """
    seen = sorted({home[j] for j in spec.settled})
    if len(seen) == 1:
        parts = (
            zip(spec.parts, spec.measures, strict=True)
            if isinstance(spec, Interaction)
            else [(spec, None)]
        )
        return [_ColumnProduct(tuple((seen[0], part, measure) for part, measure in parts))]
    if isinstance(spec, Ranked):
        places = spec.places(
            {source: [j for j in spec.settled if home[j] == source] for source in seen}
        )
        factors = tuple(
            (source, replace(spec.parts[0], features=own), None) for source, own in places.items()
        )
        return [_ColumnProduct(factors, view=spec)]
    if isinstance(spec, (Sum, Blend)):
        shares = spec.shares if isinstance(spec, Blend) else (1.0,) * len(spec.parts)
        summands: list[_ColumnProduct] = []
        for part, share in zip(spec.parts, shares, strict=True):
            products = _products(part, home, name)
            summands += [replace(one, share=share * one.share) for one in products]
        return summands
    if isinstance(spec, (Product, Interaction)):
        measures = spec.measures if isinstance(spec, Interaction) else [None] * len(spec.parts)
        joined = [_ColumnProduct()]
        for part, measure in zip(spec.parts, measures, strict=True):
            own = _products(part, home, name)
            if measure is not None:
                if len(own) > 1 or len(own[0].sources) > 1 or own[0].powers:
                    raise _no_product(name)
                own = [_ColumnProduct(((own[0].sources[0], part, measure),))]
            if any(one.powers for one in joined) and any(one.powers for one in own):
                raise _no_product(name)
            joined = [_joined(one, other) for one in joined for other in own]
        return joined
    split = [(source, tuple(j for j in spec.settled if home[j] == source)) for source in seen]
    single = [(source, replace(spec, features=members)) for source, members in split]
    if isinstance(spec, Linear):
        return [_ColumnProduct(((source, part, None),)) for source, part in single]
    if isinstance(spec, Polynomial):
        powers = tuple((source, Linear(features=members)) for source, members in split)
        return [_ColumnProduct((), powers, spec.degree, spec.coef0)]
    is_gaussian = isinstance(spec, Matern) and math.isinf(spec.nu)
    if isinstance(spec, (RBF, Laplacian, Delta)) or is_gaussian:
        return [_ColumnProduct(tuple((source, part, None) for source, part in single))]
    raise _no_product(name)


def _joined(one: _ColumnProduct, other: _ColumnProduct) -> _ColumnProduct:
    power = one if one.powers else other
    return replace(power, parts=one.parts + other.parts, share=one.share * other.share)


def _no_product(name: str) -> KernelError:
    return KernelError(
        f"{name} sees several columns and is no product of kernels of one column each, so "
        "it has no Shapley values in closed form: use RBF, Laplacian, Delta, linear or "
        "polynomial kernels, or products and sums of them."
    )


# The nodes of a hull


def _of_hull(model: Any, design: Any) -> list[_ColumnTerm]:
    """The terms of a hull in a grid: every node is a product of one level per column."""
    home = _home_of(model)
    duals = np.asarray(model.dual_coef_).T.reshape(design.n, -1)
    weights = np.atleast_2d(model.weights_)
    terms = []
    for v, node in enumerate(model._nodes):
        own = design.levels_of(node)
        if not own:
            continue
        sources = tuple(sorted({home[i] for i in own}))
        levels = [(sources.index(home[i]), i, level) for i, level in own.items()]
        if model.refit:
            a = np.atleast_2d(model.refit_coef_[v])
        else:
            a = design.columns_of([node]) * duals * weights[:, v]
            a = a.sum(axis=0, keepdims=True) if design.is_column(node) else a
        factors = partial(_levels, design, len(sources), levels, len(a))
        terms.append(_ColumnTerm(sources, factors, a, np.ones(1)))
    return terms


def _levels(
    design: Any, count: int, levels: Sequence[tuple[int, int, int]], r: int, rows: Array
) -> Array:
    new = design.cross(rows)
    out = np.ones((count, 1, len(rows), r))
    for place, i, level in levels:
        part = new.level(i, level)
        out[place, 0] *= part[:, None] if part.ndim == 1 else part
    return out
