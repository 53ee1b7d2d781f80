"""Kernels of a functional ANOVA: centred kernels of one column, their products, and which to try.

With k_s a kernel on one column and mu_s the distribution of its training values,

    k~_s(u, v) = k_s(u, v) - r_s(u) - r_s(v) + g_s,
    r_s(u) = int k_s(u, .) d mu_s,    g_s = int r_s d mu_s

has integral 0 over mu_s in either argument, and the kernel of the columns S is the product of k~_s
over s in S. Every function of its space has integral 0 over each of its columns with the others
held fixed, so a pair carries nothing that a function of one of its columns could. mu_s is the
empirical distribution of the training rows, also for new rows. The distribution of a column with
more than ``MOST_NODES`` distinct values is summarised by ``GROUPS`` means of groups of equal size,
unless the kernel tests for equality, which no mean has.

`interacting` finds the pairs and larger sets of columns whose products explain what a sum over
columns leaves unexplained. Every source column becomes a few orthonormal functions of mean 0:
Legendre polynomials of its ranks, or indicators of its values. An additive model of all of them is
fitted by ridge regression. A set of columns is then scored by how strongly the products of its
first functions correlate with the residuals r_i: rows w_i = r_i phi_i have mean 0 where the columns
do not interact, which Hotelling's T^2 tests. The variance of the residuals may differ between rows,
since w_i contains their size. Only sets that chance would hardly produce are returned, the
strongest first. Sets of three are scored on what a model with the pairs leaves, and so on. The
result is deterministic.

Where there are many columns, the size of the residuals decides which pairs are tried: where x_a x_b
is missing from a model, the squared residuals increase with the square of x_a, so that a column
that acts only together with others is not overlooked.

Sources: Durrande, Ginsbourger, Roustant and Carraro (2013), ANOVA kernels and RKHS of zero mean
functions for model-based sensitivity analysis. It divides by g_s where this module subtracts, but k
- r r / g is 0 for a linear kernel. Lu, Boukouvalas and Hensman (2022), Additive Gaussian processes
revisited; Hotelling (1931), The generalization of Student's ratio; White (1980), A
heteroskedasticity-consistent covariance matrix estimator and a direct test for heteroskedasticity.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Self

import numpy as np
import scipy

from mklcore.arrays import Array, Columns, Names, distinct_rows, one_blas_thread, read_only
from mklcore.data.dataset import Dataset
from mklcore.errors import KernelError, ParameterError
from mklcore.kernels.functions import (
    COMPOSED,
    Delta,
    KernelSpec,
    Medians,
    Product,
    RowKernel,
    columns_as_text,
)

MOST_NODES = 512  # distinct values of a column whose distribution is exact
GROUPS = 256
_BLOCK = 512  # rows whose means are computed together

MOST_TERMS = 20  # sets that are returned
MOST_COLUMNS = 60  # source columns whose pairs are tried
ROWS = 2000  # rows on which sets are scored
LEVEL = 0.01  # expected number of sets that are returned where no columns interact
ALONE = 8  # functions of a numeric column in the additive model
TOGETHER = 3  # functions of a column in products
MOST_VALUES = 8  # values of a category that have a function
MOST_OUTPUTS = 4  # the most frequent classes
_RIDGES = np.logspace(-4.0, 3.0, 22)


class ArrayRecord:
    """A frozen dataclass of arrays and numbers, made with ``eq=False``, that compares contents."""

    def _freeze_arrays(self, *names: str) -> None:
        """Make these fields read-only arrays of floats, C-contiguous."""
        for name in names:
            array = np.ascontiguousarray(getattr(self, name), dtype=np.float64)
            self.__dict__[name] = read_only(array)

    @property
    def _key(self) -> tuple[Any, ...]:
        values = vars(self).values()
        return tuple(one.tobytes() if isinstance(one, np.ndarray) else one for one in values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


@dataclass(frozen=True, eq=False, repr=False)
class ColumnMeasure(ArrayRecord):
    """The distribution of a column's training values, and the means of one kernel over it.

    nodes (u, s): distinct rows of the s columns that the kernel sees, in rising order; shares (u,):
    their probabilities; means (u,): r at the nodes; grand: g.
    """

    nodes: Array
    shares: Array
    means: Array
    grand: float

    def __post_init__(self) -> None:
        self._freeze_arrays("nodes", "shares", "means")
        nodes = self.nodes
        shares = self.shares
        means = self.means
        is_table = nodes.ndim == 2 and len(nodes) > 0
        if not is_table or not shares.shape == means.shape == (len(nodes),):
            raise KernelError(
                "A column measure has nodes (u, s), shares (u,) and means (u,) with u from 1 on."
            )
        parts = (nodes, shares, means, np.array(self.grand))
        are_finite = all(np.isfinite(part).all() for part in parts)
        if not are_finite or not (shares > 0).all():
            raise KernelError("A column measure has finite nodes and means, and shares above 0.")

    def __repr__(self) -> str:
        return f"ColumnMeasure({len(self.nodes)} values)"

    @classmethod
    def of(cls, part: KernelSpec, rows: Array, weights: Array | None = None) -> Self:
        """The measure of the columns that a resolved kernel sees in the training ``rows``."""
        nodes, shares = summed_values(
            rows[:, list(part.settled)], weights, summed=not isinstance(part, Delta)
        )
        means = _means(_local(part), nodes, nodes, shares)
        return cls(nodes, shares, means, float(shares @ means))

    def means_at(self, part: KernelSpec, rows: Array) -> Array:
        """r (a,) at whole ``rows`` (a, d), computed only for values that training did not have."""
        seen = rows[:, list(part.settled)]
        if seen.shape[1] > 1:
            return self._computed(part, seen)
        column = seen[:, 0]
        known = self.nodes[:, 0]
        places = np.minimum(np.searchsorted(known, column), len(known) - 1)
        out = self.means[places]
        new = np.flatnonzero(known[places] != column)
        if new.size:
            out[new] = self._computed(part, column[new][:, None])
        return out

    def _computed(self, part: KernelSpec, points: Array) -> Array:
        distinct, places, _ = distinct_rows(points)
        return _means(_local(part), distinct, self.nodes, self.shares)[places]


def summed_values(seen: Array, weights: Array | None, summed: bool) -> tuple[Array, Array]:
    """Distinct rows (u, s) and their shares.

    If ``summed``, a single column with too many distinct values is summarised by means of equal
    groups.
    """
    nodes, places, counts = distinct_rows(seen)
    if weights is not None:
        counts = np.bincount(places, weights, len(nodes))
        nodes = nodes[counts > 0]
        counts = counts[counts > 0]
    if weights is None and summed and seen.shape[1] == 1 and len(nodes) > MOST_NODES:
        edges = np.arange(GROUPS + 1) * len(seen) // GROUPS
        sizes = np.diff(edges)
        sums = np.add.reduceat(np.sort(seen[:, 0]), edges[:-1])
        means = sums / sizes
        nodes, places = np.unique(means, return_inverse=True)
        return nodes[:, None], np.bincount(places, sizes) / len(seen)
    return nodes, counts / counts.sum()


def _local(part: KernelSpec) -> KernelSpec:
    """The kernel on a table that holds its columns alone."""
    return replace(part, features=tuple(range(len(part.settled))))


def _means(part: KernelSpec, points: Array, nodes: Array, shares: Array) -> Array:
    """sum_v shares_v k(point, node_v) at every point (a, s)."""
    if part.is_base:
        return points @ (shares @ nodes)
    out = np.empty(len(points))
    for start in range(0, len(points), _BLOCK):
        block = slice(start, start + _BLOCK)
        out[block] = part.values(points[block], nodes) @ shares
    return out


@dataclass(frozen=True, init=False, repr=False)
class Interaction(Product):
    """k(x, z) = k~_1(x, z) k~_2(x, z) ...: centred kernels of different columns, multiplied.

    One kernel alone is the main effect of its columns: the kernel itself, centred. Several kernels
    are what their columns do together and what no smaller set of them does. ``measures`` are the
    distributions of the columns, which are settled on the training rows. Raises ``ParameterError``
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

    family = "interaction"
    hue = "#44AA99"
    min_parts = 1

    def __init__(
        self,
        *given: KernelSpec,
        parts: Sequence[KernelSpec] = (),
        features: Any = None,
        label: Any = None,
        measures: Sequence[ColumnMeasure] = (),
    ):
        self.__dict__["measures"] = tuple(measures)
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
        columns = [set(part.features) for part in self.parts if isinstance(part.features, tuple)]
        if len(columns) < len(self.parts) > 1:
            raise ParameterError(
                "The parts of an Interaction name their columns, as features=(0,); got "
                f"{self.parts!r}."
            )
        if sum(map(len, columns)) > len(set().union(*columns)):
            raise ParameterError(
                f"The parts of an Interaction see different columns; got {self.parts!r}."
            )
        for part, measure in zip(self.parts, self.measures, strict=False):
            width = measure.nodes.shape[1]
            if width != len(part.settled):
                raise ParameterError(f"The measure of {part!r} has {width} columns.")

    def name(self, feature_names: Sequence[str] | None = None) -> str:
        if len(self.parts) == 1:
            return self.parts[0].name(feature_names)
        seen = [part.label or columns_as_text(part.settled, feature_names) for part in self.parts]
        return f"{f' {self.sign} '.join(seen)}, {self.title}"

    def settle(
        self, rows: Array, weights: Array | None = None, medians: Medians | None = None
    ) -> Self:
        settled = super().settle(rows, weights, medians)
        measures = self.measures
        if not measures:
            measures = tuple(ColumnMeasure.of(part, rows, weights) for part in settled.parts)
        return replace(settled, measures=measures)

    def between(self, left: Array, right: Array, upper: bool, out: Array) -> None:
        left_means = self._means_of(left)
        right_means = left_means if left is right else self._means_of(right)
        out[...] = 1.0
        for k, measure in enumerate(self._settled_measures):
            factor = self.parts[k].values(left, right, upper)
            factor += (measure.grand - left_means[k])[:, None] - right_means[k]
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


# -- which columns interact


def interacting(
    data: Dataset,
    order: int = 2,
    most: int = MOST_TERMS,
) -> tuple[Names, ...]:
    """The sets of 2 to ``order`` source columns that interact on the target, the strongest first.

    At most ``most`` sets are returned, by the names of their columns. Sets of three and more grow
    from the pairs. () where there is no target, or where nothing stands out.

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
        candidates: list[Columns] = list(combinations(sorted(chosen), 2))
        scores: dict[Columns, float] = {}
        terms = [functions[j] for j in chosen]
        for _ in range(2, order + 1):
            if not terms or not candidates:
                break
            residuals = _residuals(terms, targets)
            level = np.log(LEVEL / len(candidates))
            significant = {}
            for columns in candidates:
                score = _score(_products(functions, columns), residuals)
                if score < level:
                    significant[columns] = score
            strongest = _strongest(significant, most)
            scores |= {columns: significant[columns] for columns in strongest}
            terms += [_orthonormal(_products(functions, columns)) for columns in strongest]
            candidates = list(_grown(strongest, chosen))
    sets = _strongest(scores, most)
    return tuple(tuple(data.columns[j][0] for j in columns) for columns in sets)


def _strongest(
    scores: dict[Columns, float],
    most: int,
) -> list[Columns]:
    return sorted(scores, key=lambda columns: (scores[columns], columns))[:most]


def _targets(data: Dataset) -> Array:
    """The target as columns (n, T) of mean 0 and variance 1.

    A numeric target is one column; classes have an indicator column for each of the most frequent
    ones.
    """
    if data.task == "regression":
        columns = np.asarray(data.y, dtype=float)[:, None]
    else:
        labels, counts = np.unique(data.y, return_counts=True)
        common = labels[np.argsort(-counts, kind="stable")]
        classes = common[1:2] if len(common) == 2 else common[:MOST_OUTPUTS]
        columns = np.column_stack([data.y == label for label in classes]).astype(float)
    columns = columns - columns.mean(axis=0)
    spread = np.sqrt(np.mean(columns * columns, axis=0))
    scaled: Array = columns / np.where(spread > 0, spread, 1.0)
    return scaled


def _functions(seen: Array) -> Array:
    """Orthonormal functions (n, q) of one source column, each of mean 0, the simplest first."""
    _, codes, _ = distinct_rows(seen)
    count = int(codes.max()) + 1
    if seen.shape[1] > 1 or count <= TOGETHER + 1:
        by_frequency = np.argsort(-np.bincount(codes), kind="stable")
        common = by_frequency[: min(count - 1, MOST_VALUES)]
        raw = (codes[:, None] == common).astype(float)
    else:
        ranks = scipy.stats.rankdata(seen[:, 0])
        places = (2.0 * ranks - 1.0) / len(seen) - 1.0
        degree = min(ALONE, count - 1)
        raw = np.polynomial.legendre.legvander(places, degree)[:, 1:]
    return _orthonormal(raw - raw.mean(axis=0))


def _orthonormal(raw: Array) -> Array:
    """An orthonormal basis of the columns of ``raw``, in their order."""
    if not raw.shape[1]:
        return raw
    basis, triangle = np.linalg.qr(raw)
    largest = max(float(np.abs(triangle).max()), 1e-300)
    return basis[:, np.abs(np.diag(triangle)) > 1e-8 * largest]


def _promising(functions: Sequence[Array], targets: Array) -> list[int]:
    """The columns whose pairs are tried: all, or those that explain most.

    Half of them explain the target best, the others the squared residuals of the first half.
    """
    if len(functions) <= MOST_COLUMNS:
        return list(range(len(functions)))
    half = MOST_COLUMNS // 2
    first = _ranked(functions, targets)[:half]
    squares = _residuals([functions[j] for j in first], targets) ** 2
    ranked = _ranked(functions, squares - np.mean(squares, axis=0))
    second = [j for j in ranked if j not in first]
    return sorted(first + second[: MOST_COLUMNS - half])


def _ranked(functions: Sequence[Array], targets: Array) -> list[int]:
    """The columns by how much each of their functions explains of the targets on average."""
    explained = []
    for values in functions:
        total = np.sum((values.T @ targets) ** 2)
        explained.append(total / max(values.shape[1], 1))
    order: list[int] = np.argsort(-np.array(explained), kind="stable").tolist()
    return order


def _residuals(functions: Sequence[Array], targets: Array) -> Array:
    """The residuals (n, T) of ridge regression on all functions.

    The penalty of each target has the smallest error in generalised cross-validation.
    """
    table = np.column_stack([values for values in functions if values.shape[1]])
    n = len(table)
    out = np.empty_like(targets)
    spectrum, vectors = np.linalg.eigh(table.T @ table)
    spectrum = np.maximum(spectrum, 0.0)
    shifted = spectrum + _RIDGES[:, None]
    degrees_of_freedom = (spectrum / shifted).sum(axis=1)
    for t, target in enumerate(targets.T):
        projected = vectors.T @ (table.T @ target)
        coefficients = projected / shifted @ vectors.T
        residuals = target - coefficients @ table.T
        free = np.maximum(n - 1.0 - degrees_of_freedom, 1e-3)
        squares = np.sum(residuals * residuals, axis=1)
        errors = squares / free**2
        out[:, t] = residuals[np.argmin(errors)]
    return out


def _products(functions: Sequence[Array], columns: Sequence[int]) -> Array:
    """Products (n, q) of the first functions of some columns, centred, those of low order first."""
    products = np.ones((len(functions[columns[0]]), 1))
    depths = np.zeros(1)
    for j in columns:
        factors = functions[j][:, :TOGETHER]
        pairs = products[:, :, None] * factors[:, None, :]
        products = pairs.reshape(len(factors), -1)
        depths = np.maximum.outer(depths, np.arange(factors.shape[1])).ravel()
    products = products[:, np.argsort(depths, kind="stable")]
    centred: Array = products - products.mean(axis=0)
    return centred


def _score(products: Array, residuals: Array) -> float:
    """The smallest log p-value for products and the residuals of some target to be uncorrelated.

    The first 1, 4 or all products are tested, with a Bonferroni correction.
    """
    n, q = products.shape
    scale = np.sqrt(np.sum(products * products, axis=0))
    products = products[:, scale > 1e-8 * max(float(scale.max()), 1e-300)]
    most = min(products.shape[1], n // 5)
    sizes = sorted({size for size in (1, 4, q) if size <= most})
    best = 0.0
    for residual in residuals.T:
        weighted = products * residual[:, None]
        sums = weighted.sum(axis=0)
        spread = weighted.T @ weighted
        for size in sizes:
            explained = _form(spread[:size, :size], sums[:size]) / n
            unexplained = max(1.0 - explained, 1e-12)
            ratio = (n - size) / size * explained / unexplained
            # The tail of Fisher's F distribution, without the checks of scipy's class for it.
            tail = float(scipy.special.fdtrc(size, n - size, ratio))
            best = min(best, float(np.log(tail)) if tail > 0.0 else -np.inf)
    n_tests = max(len(sizes), 1) * residuals.shape[1]
    return best + float(np.log(n_tests))


def _form(spread: Array, sums: Array) -> float:
    """sums' spread^+ sums, without the directions in which the spread is 0."""
    values, vectors = np.linalg.eigh(spread)
    positive = values > 1e-10 * values[-1]
    projected = sums @ vectors[:, positive]
    return float(np.sum(projected**2 / values[positive]))


def _grown(
    sets: Sequence[Columns],
    columns: Sequence[int],
) -> Iterator[Columns]:
    """The sets with one more column, each of them once."""
    grown: dict[Columns, None] = {}
    for members in sets:
        others = [j for j in columns if j not in members]
        grown |= dict.fromkeys(tuple(sorted((*members, j))) for j in others)
    yield from grown
