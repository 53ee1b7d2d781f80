"""Kernels of a functional ANOVA: one-column kernels without their mean, products of them, and which
products to try.

With k_s a kernel on one column and mu_s the distribution of its training values,

    k~_s(u, v) = k_s(u, v) - r_s(u) - r_s(v) + g_s,    r_s(u) = int k_s(u, .) d mu_s,    g_s = int r_s d mu_s

has integral 0 over mu_s in either argument, and the kernel of the columns S is the product of k~_s
over s in S. Every function of its space has integral 0 over each of its columns with the others
held fixed: a pair carries nothing that a function of one of its columns could. mu_s is the
empirical distribution of the training rows, and new rows use it as well. A column of more than
``MOST_NODES`` distinct values is summed up by ``GROUPS`` means of groups of equal size, unless the
kernel asks for equality, which no mean has.

`interacting` finds the pairs, and larger sets, whose products explain what a sum over columns
leaves. Every source column becomes a few orthonormal functions of it without mean: Legendre
polynomials of its ranks, or indicators of its values. An additive model of all of them is fitted by
ridge regression; a set of columns is scored by how far the products of its first functions
correlate with the residuals r_i: rows w_i = r_i phi_i have mean 0 where the columns do not act
together, which is tested by Hotelling's T^2. Residuals may vary more here than there, since their
own size is part of w_i. Kept are the sets that chance alone would hardly give, the strongest first;
sets of three are scored on what a model with the pairs leaves, and so on. The order is the same for
the same table: nothing is drawn. Where there are many columns the size of the residuals is looked
at first: where x_a x_b is missing from a model, their squares rise with the square of x_a, so that
a column that acts only together with others is not overlooked.

Source: Durrande, Ginsbourger, Roustant and Carraro (2013), ANOVA kernels and RKHS of zero mean
functions for model-based sensitivity analysis, which divides by g_s where this subtracts: k - r r /
g is empty for a linear kernel; Lu, Boukouvalas and Hensman (2022), Additive Gaussian processes
revisited; Hotelling (1931), The generalization of Student's ratio; White (1980), A
heteroskedasticity-consistent covariance matrix estimator and a direct test for heteroskedasticity.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, ClassVar, Self

import numpy as np
import scipy

from mklcore.arrays import Array, one_blas_thread, read_only
from mklcore.data.dataset import Dataset
from mklcore.errors import KernelError, ParameterError
from mklcore.kernels.functions import (
    COMPOSED,
    Delta,
    KernelSpec,
    Product,
    RowKernel,
    columns_as_text,
)

MOST_NODES = 512  # distinct values of a column up to which its distribution is kept as it is
GROUPS = 256
_BLOCK = 512  # rows whose means are computed together

MOST_TERMS = 20  # sets that are kept
MOST_COLUMNS = 60  # source columns whose pairs are looked at
ROWS = 2000  # from which sets are found
LEVEL = 0.01  # expected number of sets that are kept where nothing acts together
# functions of a column of numbers: in the additive model, and in products
ALONE = 8
TOGETHER = 3
MOST_VALUES = 8  # of a category that have a function of their own
MOST_OUTPUTS = 4  # classes that are looked at, the most frequent ones
_RIDGES = np.logspace(-4.0, 3.0, 22)
Names = tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class ColumnMeasure:
    """The distribution of a column's training values, and the means of one kernel over it.

    nodes (u, s) : distinct rows of the s columns that the kernel sees, in rising order; shares (u,)
    their probability; means (u,) : r at the nodes; grand : g.
    """

    nodes: Array
    shares: Array
    means: Array
    grand: float

    def __post_init__(self) -> None:
        for name in ("nodes", "shares", "means"):
            object.__setattr__(
                self, name, read_only(np.ascontiguousarray(getattr(self, name), dtype=np.float64))
            )
        nodes = self.nodes
        shares = self.shares
        means = self.means
        if (
            nodes.ndim != 2
            or not len(nodes)
            or shares.shape != (len(nodes),)
            or means.shape != shares.shape
        ):
            raise KernelError(
                "A column measure has nodes (u, s), shares (u,) and means (u,) with u from 1 on."
            )
        parts = (nodes, shares, means, np.array(self.grand))
        if not all(np.isfinite(part).all() for part in parts) or not (shares > 0).all():
            raise KernelError("A column measure has finite nodes and means, and shares above 0.")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ColumnMeasure) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[bytes, bytes, bytes, float]:
        return self.nodes.tobytes(), self.shares.tobytes(), self.means.tobytes(), self.grand

    def __repr__(self) -> str:
        return f"ColumnMeasure({len(self.nodes)} values)"

    @classmethod
    def of(cls, part: KernelSpec, rows: Array, weights: Array | None = None) -> Self:
        """The measure of the columns that a settled kernel sees in the training ``rows`` (n, d)."""
        nodes, shares = summed_values(
            rows[:, list(part.settled)], weights, summed=not isinstance(part, Delta)
        )
        means = _means(_local(part), nodes, nodes, shares)
        return cls(nodes, shares, means, float(shares @ means))

    def means_at(self, part: KernelSpec, rows: Array) -> Array:
        """r (a,) at whole ``rows`` (a, d): read off where a value was met in training, computed
        elsewhere.
        """
        seen = rows[:, list(part.settled)]
        if seen.shape[1] > 1:
            distinct, where = np.unique(seen, axis=0, return_inverse=True)
            found: Array = _means(_local(part), distinct, self.nodes, self.shares)[where.ravel()]
            return found
        column = seen[:, 0]
        known = self.nodes[:, 0]
        place = np.minimum(np.searchsorted(known, column), len(known) - 1)
        out = self.means[place]
        new = np.flatnonzero(known[place] != column)
        if new.size:
            distinct, where = np.unique(column[new], return_inverse=True)
            out[new] = _means(_local(part), distinct[:, None], self.nodes, self.shares)[where]
        return out


def summed_values(seen: Array, weights: Array | None, summed: bool) -> tuple[Array, Array]:
    """Distinct rows (u, s) and their shares; if ``summed``, means of equal groups of a single
    column that has too many of them.
    """
    nodes, where, counts = np.unique(seen, axis=0, return_inverse=True, return_counts=True)
    if weights is not None:
        counts = np.bincount(where.ravel(), weights, len(nodes))
        nodes = nodes[counts > 0]
        counts = counts[counts > 0]
    if weights is None and summed and seen.shape[1] == 1 and len(nodes) > MOST_NODES:
        edges = np.arange(GROUPS + 1) * len(seen) // GROUPS
        sizes = np.diff(edges)
        nodes, where = np.unique(
            np.add.reduceat(np.sort(seen[:, 0]), edges[:-1]) / sizes, return_inverse=True
        )
        return nodes[:, None], np.bincount(where, sizes) / len(seen)
    return nodes, counts / counts.sum()


def _local(part: KernelSpec) -> KernelSpec:
    """The kernel on a table of its own columns alone."""
    return replace(part, features=tuple(range(len(part.settled))))


def _means(part: KernelSpec, points: Array, nodes: Array, shares: Array) -> Array:
    """sum_v shares_v k(point, node_v) at every point (a, s)."""
    if part.is_base:
        inner: Array = points @ (shares @ nodes)
        return inner
    out = np.empty(len(points))
    for top in range(0, len(points), _BLOCK):
        out[top : top + _BLOCK] = part.values(points[top : top + _BLOCK], nodes) @ shares
    return out


@dataclass(frozen=True, init=False, repr=False)
class Interaction(Product):
    """k(x, z) = k~_1(x, z) k~_2(x, z) ...: kernels of different columns, each without its mean over
    the training rows.

    One kernel alone is the main effect of its columns: the kernel itself, centred. Several of them
    are what these columns do together and none of them, nor any smaller set, does alone.
    ``measures`` are the distributions of the columns, which training rows settle. ParameterError
    for parts that share a column, and for kernels of whole rows or of sequences.

    Parameters
    ----------
    *given : KernelSpec
        The kernels to combine, as positional arguments.
    parts : sequence of KernelSpec
        The kernels to combine, as a keyword.
    features : tuple of int or None, default None
        Columns that the kernel sees; None for all of them.
    label : str or None, default None
        Name to show in place of the one that is made from the parameters.
    measures : sequence
        Distributions of the columns, settled on the training rows.

    Examples
    --------
    >>> from mklcore.kernels.functions import RBF, Linear
    >>> Interaction(Linear(features=(0,)), RBF(1.0, features=(1,))).name(("age", "fare"))
    'age × fare, linear × RBF 1'
    """

    measures: tuple[ColumnMeasure, ...] = ()

    family: ClassVar[str] = "interaction"
    hue: ClassVar[str] = "#44AA99"
    least: ClassVar[int] = 1

    def __init__(
        self,
        *given: KernelSpec,
        parts: Sequence[KernelSpec] = (),
        features: Any = None,
        label: Any = None,
        measures: Sequence[ColumnMeasure] = (),
    ):
        object.__setattr__(self, "measures", tuple(measures))
        super().__init__(*given, parts=parts, features=features, label=label)

    def __post_init__(self) -> None:
        super().__post_init__()
        if any(isinstance(part, RowKernel) or part.reads_strings for part in self.parts):
            raise ParameterError(
                "Interaction takes kernels of columns, such as RBF(1.0, features=(0,)); "
                f"got {self.parts!r}."
            )
        if len(self.measures) not in (0, len(self.parts)):
            raise ParameterError(
                f"Interaction takes one measure per part or none, got {len(self.measures)}."
            )
        known = [set(part.features) for part in self.parts if isinstance(part.features, tuple)]
        if len(known) < len(self.parts) > 1:
            raise ParameterError(
                "The parts of an Interaction name their columns, as features=(0,); got "
                f"{self.parts!r}."
            )
        if sum(map(len, known)) > len(set().union(*known)):
            raise ParameterError(
                f"The parts of an Interaction see different columns; got {self.parts!r}."
            )
        for part, measure in zip(self.parts, self.measures, strict=False):
            if measure.nodes.shape[1] != len(part.settled):
                raise ParameterError(
                    f"The measure of {part!r} has {measure.nodes.shape[1]} columns."
                )

    def name(self, feature_names: Sequence[str] | None = None) -> str:
        if len(self.parts) == 1:
            return self.parts[0].name(feature_names)
        seen = [part.label or columns_as_text(part.settled, feature_names) for part in self.parts]
        return f"{f' {self.sign} '.join(seen)}, {self.title}"

    def settle(
        self, rows: Array, weights: Array | None = None, medians: dict[Any, float] | None = None
    ) -> Self:
        found = super().settle(rows, weights, medians)
        known = self.measures or tuple(
            ColumnMeasure.of(part, rows, weights) for part in found.parts
        )
        return replace(found, measures=known)

    def between(self, left: Array, right: Array, upper: bool, out: Array) -> None:
        own = self._means_of(left)
        other = own if left is right else self._means_of(right)
        out[...] = 1.0
        for part, measure, mine, theirs in zip(
            self.parts, self._settled_measures, own, other, strict=True
        ):
            factor = part.values(left, right, upper)
            factor += (measure.grand - mine)[:, None] - theirs
            out *= factor

    def own(self, rows: Array) -> Array:
        means = self._means_of(rows)
        out = np.ones(len(rows))
        for part, measure, mean in zip(self.parts, self._settled_measures, means, strict=True):
            out *= part.own(rows) - 2 * mean + measure.grand
        return out

    def _means_of(self, rows: Array) -> Array:
        """r_s at every row, (S, a)."""
        pairs = zip(self.parts, self._settled_measures, strict=True)
        return np.array([measure.means_at(part, rows) for part, measure in pairs])

    @property
    def _settled_measures(self) -> tuple[ColumnMeasure, ...]:
        if not self.measures:
            raise KernelError(f"{self!r} has met no training rows yet, so its means are not known.")
        return self.measures


COMPOSED[Interaction.family] = Interaction


# -- which columns act together


def interacting(data: Dataset, order: int = 2, most: int = MOST_TERMS) -> tuple[Names, ...]:
    """The sets of 2 to ``order`` source columns that act together on the target, by name, the
    strongest first.

    At most ``most`` of them. Sets of three and more grow from the pairs that were found. () where
    there is no target, or nothing that stands out.

    >>> from mklcore.data.dataset import Dataset
    >>> X = np.random.default_rng(0).standard_normal((200, 3))
    >>> interacting(Dataset(X, X[:, 0] * X[:, 1] + X[:, 2]))
    (('x0', 'x1'),)
    """
    if data.task == "novelty" or len(data.columns) < 2:
        return ()
    step = -(-data.n_samples // ROWS)
    X = data.X[::step]
    targets = _targets(data)[::step]
    with one_blas_thread():
        functions = [_functions(X[:, list(members)]) for _, members in data.columns]
        chosen = [j for j in _promising(functions, targets) if functions[j].shape[1]]
        grown: list[tuple[int, ...]] = list(combinations(sorted(chosen), 2))
        found: dict[tuple[int, ...], float] = {}
        terms = [functions[j] for j in chosen]
        for _ in range(2, order + 1):
            if not terms or not grown:
                break
            left = _residuals(terms, targets)
            level = np.log(LEVEL / len(grown))
            scores = {one: _score(_products(functions, one), left) for one in grown}
            kept = sorted(
                (one for one in grown if scores[one] < level), key=lambda one: (scores[one], one)
            )[:most]
            found |= {one: scores[one] for one in kept}
            terms += [_orthonormal(_products(functions, one)) for one in kept]
            grown = list(_grown(kept, chosen))
    order_of = sorted(found, key=lambda one: (found[one], one))
    return tuple(tuple(data.columns[j][0] for j in one) for one in order_of[:most])


def _targets(data: Dataset) -> Array:
    """The target as columns (n, T) of mean 0 and variance 1: numbers, or one column for each of the
    most frequent classes.
    """
    if data.task == "regression":
        found = np.asarray(data.y, dtype=float)[:, None]
    else:
        labels, counts = np.unique(data.y, return_counts=True)
        common = labels[np.argsort(-counts, kind="stable")]
        asked = common[1:2] if len(common) == 2 else common[:MOST_OUTPUTS]
        found = np.column_stack([data.y == label for label in asked]).astype(float)
    found = found - found.mean(axis=0)
    spread = np.sqrt(np.mean(found * found, axis=0))
    scaled: Array = found / np.where(spread > 0, spread, 1.0)
    return scaled


def _functions(seen: Array) -> Array:
    """Orthonormal functions (n, q) of the values of one source column, each of mean 0; simple ones
    first.
    """
    _, codes = np.unique(seen, axis=0, return_inverse=True)
    codes = codes.ravel()
    count = int(codes.max()) + 1
    if seen.shape[1] > 1 or count <= TOGETHER + 1:
        common = np.argsort(-np.bincount(codes), kind="stable")[: min(count - 1, MOST_VALUES)]
        raw = (codes[:, None] == common).astype(float)
    else:
        ranks = (2.0 * scipy.stats.rankdata(seen[:, 0]) - 1.0) / len(seen) - 1.0
        raw = np.polynomial.legendre.legvander(ranks, min(ALONE, count - 1))[:, 1:]
    return _orthonormal(raw - raw.mean(axis=0))


def _orthonormal(raw: Array) -> Array:
    """An orthonormal basis of the columns of ``raw``, which keeps their order."""
    if not raw.shape[1]:
        return raw
    basis, triangle = np.linalg.qr(raw)
    kept = np.abs(np.diag(triangle)) > 1e-8 * max(float(np.abs(triangle).max()), 1e-300)
    found: Array = basis[:, kept]
    return found


def _promising(functions: Sequence[Array], targets: Array) -> list[int]:
    """The columns whose pairs are looked at: all, or those that matter for the target or for the
    size of what is left of it.
    """
    if len(functions) <= MOST_COLUMNS:
        return list(range(len(functions)))
    half = MOST_COLUMNS // 2
    alone = np.array([np.sum((one.T @ targets) ** 2) / max(one.shape[1], 1) for one in functions])
    first = np.argsort(-alone, kind="stable")[:half].tolist()
    left = _residuals([functions[j] for j in first], targets)
    sizes = left * left - np.mean(left * left, axis=0)
    unequal = np.array([np.sum((one.T @ sizes) ** 2) / max(one.shape[1], 1) for one in functions])
    second = [j for j in np.argsort(-unequal, kind="stable").tolist() if j not in first]
    return sorted(first + second[: MOST_COLUMNS - half])


def _residuals(functions: Sequence[Array], targets: Array) -> Array:
    """What ridge regression on all functions leaves of each target (n, T); the penalty has the
    smallest error in generalised cross-validation.
    """
    table = np.column_stack([one for one in functions if one.shape[1]])
    n = len(table)
    out = np.empty_like(targets)
    sizes, vectors = np.linalg.eigh(table.T @ table)
    kept = np.maximum(sizes, 0.0) / (np.maximum(sizes, 0.0) + _RIDGES[:, None])
    for t, target in enumerate(targets.T):
        seen = vectors.T @ (table.T @ target)
        coefficients = (vectors @ (seen / (np.maximum(sizes, 0.0) + _RIDGES[:, None])).T).T
        left = target - coefficients @ table.T
        errors = np.sum(left * left, axis=1) / np.maximum(n - 1.0 - kept.sum(axis=1), 1e-3) ** 2
        out[:, t] = left[np.argmin(errors)]
    return out


def _products(functions: Sequence[Array], columns: Sequence[int]) -> Array:
    """Products (n, q) of the first functions of some columns without their mean; those of low order
    first.
    """
    products = np.ones((len(functions[columns[0]]), 1))
    depths = np.zeros(1)
    for j in columns:
        few = functions[j][:, :TOGETHER]
        products = (products[:, :, None] * few[:, None, :]).reshape(len(few), -1)
        depths = np.maximum(depths[:, None], np.arange(few.shape[1])).ravel()
    products = products[:, np.argsort(depths, kind="stable")]
    found: Array = products - products.mean(axis=0)
    return found


def _score(products: Array, left: Array) -> float:
    """The smallest logarithm of a p-value that the first 1, half or all products are uncorrelated
    with a target's residuals.
    """
    n, q = products.shape
    scale = np.sqrt(np.sum(products * products, axis=0))
    products = products[:, scale > 1e-8 * max(float(scale.max()), 1e-300)]
    sizes = sorted({size for size in (1, 4, q) if size <= min(products.shape[1], n // 5)})
    best = 0.0
    for residual in left.T:
        weighed = products * residual[:, None]
        sums = weighed.sum(axis=0)
        spread = weighed.T @ weighed
        for size in sizes:
            explained = _form(spread[:size, :size], sums[:size]) / n
            ratio = (n - size) / size * explained / max(1.0 - explained, 1e-12)
            # of Fisher's F, without the checks of its class
            tail = float(scipy.special.fdtrc(size, n - size, ratio))
            best = min(best, float(np.log(tail)) if tail > 0.0 else -np.inf)
    return best + float(np.log(max(len(sizes), 1) * left.shape[1]))


def _form(spread: Array, sums: Array) -> float:
    """sums' spread^+ sums, without directions whose spread is nought."""
    values, vectors = np.linalg.eigh(spread)
    kept = values > 1e-10 * values[-1]
    return float(np.sum((sums @ vectors[:, kept]) ** 2 / values[kept]))


def _grown(sets: Sequence[tuple[int, ...]], columns: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Sets of one more column, each once."""
    yield from dict.fromkeys(
        tuple(sorted((*one, j))) for one in sets for j in columns if j not in one
    )
