"""Kernels of a functional ANOVA: one-column kernels without their mean, and products of them.

With k_s a kernel on one column and mu_s the distribution of its training values,

    k~_s(u, v) = k_s(u, v) - r_s(u) - r_s(v) + g_s,    r_s(u) = int k_s(u, .) d mu_s,    g_s = int r_s d mu_s

has integral 0 over mu_s in either argument, and the kernel of the columns S is the product of k~_s over s in S. Every
function of its space has integral 0 over each of its columns with the others held fixed: a pair carries nothing that a
function of one of its columns could. mu_s is the empirical distribution of the training rows, and new rows use it as
well. A column of more than ``MOST_NODES`` distinct values is summed up by ``GROUPS`` means of groups of equal size,
unless the kernel asks for equality, which no mean has.

Source: Durrande, Ginsbourger, Roustant and Carraro (2013), ANOVA kernels and RKHS of zero mean functions for
model-based sensitivity analysis, which divides by g_s where this subtracts: k - r r / g is empty for a linear kernel;
Lu, Boukouvalas and Hensman (2022), Additive Gaussian processes revisited.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from mklcore._numba.decorators import jit_entry
from mklcore.arrays import Array, Indices, read_only
from mklcore.errors import KernelError, ParameterError
from mklcore.kernels.columns import columns_as_text
from mklcore.kernels.composed import COMPOSED, MOST_PARTS, Composed, own_values, settled_part, values_of
from mklcore.kernels.fills import bases, exponentials
from mklcore.kernels.functions import Delta, KernelSpec, RowKernel
from mklcore.kernels.sums import inner_product

MOST_NODES = 512  # distinct values of a column up to which its distribution is kept as it is
GROUPS = 256
_BLOCK = 512  # rows whose means are computed together
INNER, SQUARED, ABSOLUTE, EQUAL = range(4)  # what a factor is a function of, for the compiled fill


@dataclass(frozen=True, eq=False, repr=False)
class ColumnMeasure:
    """The distribution of a column's training values, and the means of one kernel over it.

    nodes (u, s) : distinct rows of the s columns that the kernel sees, in rising order; shares (u,) their probability;
    means (u,) : r at the nodes; grand : g.
    """

    nodes: Array
    shares: Array
    means: Array
    grand: float
    digest: str = field(init=False, default="")

    def __post_init__(self) -> None:
        for name in ("nodes", "shares", "means"):
            object.__setattr__(self, name, read_only(np.ascontiguousarray(getattr(self, name), dtype=np.float64)))
        nodes, shares, means = self.nodes, self.shares, self.means
        if nodes.ndim != 2 or not len(nodes) or shares.shape != (len(nodes),) or means.shape != shares.shape:
            raise KernelError("A column measure has nodes (u, s), shares (u,) and means (u,) with u from 1 on.")
        parts = (nodes, shares, means, np.array(self.grand))
        if not all(np.isfinite(part).all() for part in parts) or not (shares > 0).all():
            raise KernelError("A column measure has finite nodes and means, and shares above 0.")
        digest = hashlib.blake2b(b"".join(part.tobytes() for part in parts), digest_size=16).hexdigest()
        object.__setattr__(self, "digest", digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ColumnMeasure) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"ColumnMeasure({len(self.nodes)} values)"

    @classmethod
    def of(cls, part: KernelSpec, rows: Array, weights: Array | None = None) -> Self:
        """The measure of the columns that a settled kernel sees in the training ``rows`` (n, d)."""
        nodes, shares = _summary(rows[:, list(part.settled)], weights, summed=not isinstance(part, Delta))
        means = _means(_local(part), nodes, nodes, shares)
        return cls(nodes, shares, means, float(shares @ means))

    def means_at(self, part: KernelSpec, rows: Array) -> Array:
        """r (a,) at whole ``rows`` (a, d): read off where a value was met in training, computed elsewhere."""
        seen = rows[:, list(part.settled)]
        if seen.shape[1] > 1:
            distinct, where = np.unique(seen, axis=0, return_inverse=True)
            found: Array = _means(_local(part), distinct, self.nodes, self.shares)[where.ravel()]
            return found
        column, known = seen[:, 0], self.nodes[:, 0]
        place = np.minimum(np.searchsorted(known, column), len(known) - 1)
        out, new = self.means[place], np.flatnonzero(known[place] != column)
        if new.size:
            distinct, where = np.unique(column[new], return_inverse=True)
            out[new] = _means(_local(part), distinct[:, None], self.nodes, self.shares)[where]
        return out


def _summary(seen: Array, weights: Array | None, summed: bool) -> tuple[Array, Array]:
    """Distinct rows (u, s) and their shares; if ``summed``, means of equal groups of a single column that has too many
    of them.
    """
    nodes, where, counts = np.unique(seen, axis=0, return_inverse=True, return_counts=True)
    if weights is not None:
        counts = np.bincount(where.ravel(), weights, len(nodes))
        nodes, counts = nodes[counts > 0], counts[counts > 0]
    if weights is None and summed and seen.shape[1] == 1 and len(nodes) > MOST_NODES:
        edges = np.arange(GROUPS + 1) * len(seen) // GROUPS
        sizes = np.diff(edges)
        nodes, where = np.unique(np.add.reduceat(np.sort(seen[:, 0]), edges[:-1]) / sizes, return_inverse=True)
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
    if part.rate is not None and nodes.shape[1] == 1 and part.base in ("squared", "absolute"):
        radial_means(nodes[:, 0].copy(), read_only(shares), part.base == "squared", part.rate, points[:, 0].copy(), out)
        return out
    for top in range(0, len(points), _BLOCK):
        out[top : top + _BLOCK] = values_of(part, points[top : top + _BLOCK], nodes, False) @ shares
    return out


@jit_entry()
def radial_means(nodes: Array, shares: Any, squared: Any, rate: float, points: Array, out: Array) -> None:
    """out[i] = sum_v shares[v] exp(-rate base(points[i], nodes[v])): base their squared or absolute difference."""
    base, values = np.empty(nodes.size), np.empty(nodes.size)
    for i in range(points.size):
        bases(nodes, points[i], squared, base)
        exponentials(base, rate, values)
        out[i] = inner_product(values, shares)


@jit_entry({"contract"})
def fill_products(
    kinds: Indices, rates: Array, left: Array, right: Array, left_means: Array, right_means: Array, grand: Array,
    upper: bool, out: Array
) -> None:  # fmt: skip
    """out[i, j] = prod_s [k_s(left[s, i], right[s, j]) - left_means[s, i] - right_means[s, j] + grand[s]] for j >= i if
    ``upper``.

    ``kinds`` (S,) tell what k_s is: ``INNER`` u v, ``SQUARED`` or ``ABSOLUTE`` exp(-rates[s] base), ``EQUAL`` [u = v].
    """
    base, values = np.empty(out.shape[1]), np.empty(out.shape[1])
    for i in range(out.shape[0]):
        start = i if upper else 0
        target, gaps, found = out[i, start:], base[start:], values[start:]
        for s in range(kinds.size):
            here, column, means = left[s, i], right[s, start:], right_means[s, start:]
            shift = grand[s] - left_means[s, i]
            if kinds[s] == INNER:
                for j in range(found.size):
                    found[j] = here * column[j]
            elif kinds[s] == EQUAL:
                for j in range(found.size):
                    found[j] = 1.0 if column[j] == here else 0.0
            else:
                bases(column, here, kinds[s] == SQUARED, gaps)
                exponentials(gaps, rates[s], found)
            if s == 0:
                for j in range(found.size):
                    target[j] = found[j] + shift - means[j]
            else:
                for j in range(found.size):
                    target[j] *= found[j] + shift - means[j]


@dataclass(frozen=True, init=False, repr=False)
class Interaction(Composed):
    """k(x, z) = k~_1(x, z) k~_2(x, z) ...: kernels of different columns, each without its mean over the training rows.

    One kernel alone is the main effect of its columns: the kernel itself, centred. Several of them are what these
    columns do together and none of them, nor any smaller set, does alone. ``measures`` are the distributions of the
    columns, which training rows settle. ParameterError for parts that share a column, and for kernels of whole rows or
    of sequences.

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
    sign: ClassVar[str] = "×"
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
                f"Interaction takes kernels of columns, such as RBF(1.0, features=(0,)); got {self.parts!r}."
            )
        if len(self.measures) not in (0, len(self.parts)):
            raise ParameterError(f"Interaction takes one measure per part or none, got {len(self.measures)}.")
        known = [set(part.features) for part in self.parts if isinstance(part.features, tuple)]
        if len(known) < len(self.parts) > 1:
            raise ParameterError(
                f"The parts of an Interaction name their columns, as features=(0,); got {self.parts!r}."
            )
        if sum(map(len, known)) > len(set().union(*known)):
            raise ParameterError(f"The parts of an Interaction see different columns; got {self.parts!r}.")
        for part, measure in zip(self.parts, self.measures, strict=False):
            if measure.nodes.shape[1] != len(part.settled):
                raise ParameterError(f"The measure of {part!r} has {measure.nodes.shape[1]} columns.")

    @property
    def title(self) -> str:
        return f" {self.sign} ".join(part.title for part in self.parts)

    def name(self, feature_names: Sequence[str] | None = None) -> str:
        if len(self.parts) == 1:
            return self.parts[0].name(feature_names)
        seen = [part.label or columns_as_text(part.settled, feature_names) for part in self.parts]
        return f"{f' {self.sign} '.join(seen)}, {self.title}"

    def met(self, rows: Array, weights: Array | None = None) -> Self:
        parts = [settled_part(part, rows, weights) for part in self.parts]
        known = self.measures or tuple(ColumnMeasure.of(part, rows, weights) for part in parts)
        return replace(self._of(parts), measures=known)

    def between(self, left: Array, right: Array, upper: bool, out: Array) -> None:
        means = [self._means_of(left)]
        means.append(means[0] if left is right else self._means_of(right))
        quick = [s for s, part in enumerate(self.parts) if _kind(part) is not None]
        if quick:
            grand = np.array([self._settled_measures[s].grand for s in quick])
            kinds = np.array([_kind(self.parts[s]) for s in quick], dtype=np.int64)
            rates = np.array([self.parts[s].rate or 0.0 for s in quick])
            columns = [_single(self.parts[s], left, right) for s in quick]
            one, other = (np.ascontiguousarray([pair[k] for pair in columns]) for k in (0, 1))
            fill_products(kinds, rates, one, other, means[0][quick], means[1][quick], grand, upper, out)
        else:
            out[...] = 1.0
        for s in (s for s in range(len(self.parts)) if s not in quick):
            factor = values_of(self.parts[s], left, right, upper)
            out *= factor - means[0][s][:, None] - means[1][s] + self._settled_measures[s].grand

    def own(self, rows: Array) -> Array:
        means = self._means_of(rows)
        out = np.ones(len(rows))
        for part, measure, mean in zip(self.parts, self._settled_measures, means, strict=True):
            out *= own_values(part, rows) - 2 * mean + measure.grand
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

    def _join(self, out: Array, more: Array) -> None:
        out *= more


def _kind(part: KernelSpec) -> int | None:
    """What the compiled fill takes a part as; None where it has to be computed apart."""
    if isinstance(part, Delta):
        return EQUAL
    if len(part.settled) > 1:
        return None
    if part.is_base:
        return INNER
    if part.rate is not None:
        return {"squared": SQUARED, "absolute": ABSOLUTE}.get(part.base)
    return None


def _single(part: KernelSpec, left: Array, right: Array) -> tuple[Array, Array]:
    """The column that a part sees in both tables; several columns of a category become one number, alike where they
    agree.
    """
    columns = list(part.settled)
    if len(columns) == 1:
        return left[:, columns[0]], right[:, columns[0]]
    one, other = left[:, columns], right[:, columns]
    _, codes = np.unique(np.concatenate([one, other]), axis=0, return_inverse=True)
    numbers: Array = codes.ravel().astype(np.float64)
    return numbers[: len(one)], numbers[len(one) :]


COMPOSED[Interaction.family] = Interaction
__all__ = ["MOST_PARTS", "ColumnMeasure", "Interaction"]
