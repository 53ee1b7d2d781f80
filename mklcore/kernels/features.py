"""Features of many kernels side by side, K_m ~ Phi_m Phi_m', and Nystroem's approximation.

Block m of a table Phi (n, D) holds the features of kernel m, columns ``ends[m]`` to ``ends[m +
1]``. Tables are stored in single precision and summed in double precision, so that certificates of
the approximated kernels Phi_m Phi_m' hold to the usual digits. Nystroem's approximation is

    K ~ K_nm K_mm^+ K_mn = Phi Phi',     Phi = K_nm R

with R R' the inverse of K_mm among m landmark rows. All kernels share the landmarks, which the
seeding of k-means++ draws among the standardised rows: each next landmark is a row with probability
proportional to its squared distance from the earlier ones, so that landmarks cover the rows. A
kernel of rank r below m has r features: a linear kernel of one column has one, and loses nothing.

Source: Williams and Seeger (2001), Using the Nystroem method to speed up kernel machines; Arthur
and Vassilvitskii (2007) for the seeding; Zhang and Kwok (2010) for cluster centres as landmarks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from mklcore._lazy import cached_property
from mklcore.arrays import Array, Indices, Names, one_blas_thread
from mklcore.errors import check_cancelled
from mklcore.kernels.kernel_map import (
    CONSTANT_TOLERANCE,
    KernelMap,
    Mapped,
    normalised,
    spherical_factors,
)
from mklcore.kernels.operators import Capability, DenseSum
from mklcore.parameters import check_whole

Table = NDArray[np.float32]
_NEARLY = 1e-9  # share of the mean diagonal that is added to a singular system
_KEPT = 16_000_000  # features that are kept in double precision beside the table: 128 MB
_VALUES = 2_000_000  # kernel values, or features in double precision, that are held at a time
_ROUNDED = 1e-6  # share of a trace that single precision may lose
# Further landmarks are left out once they add less than this share of the trace.
_CUT = 1e-8
_LOOKED_AT = 10_000  # rows among which landmarks are drawn


class Block:
    """The features of one kernel on some rows, (n_new, r).

    ``block @ u`` takes the kernel's own coefficients from u (D,) or (D, T).
    """

    def __init__(self, values: Table, place: slice) -> None:
        self.values = values
        self.place = place

    def __matmul__(self, coefficients: Array) -> Array:
        return np.asarray(self.values @ np.asarray(coefficients)[self.place])


@dataclass(frozen=True, eq=False)
class FeatureBlocks:
    """Features in place of kernel blocks (M, n_new, n), with one ``Block`` for every kernel.

    table : (n_new, D'), the features
    ends : (M + 1,), where each kernel begins in the table
    places : (M,), where each kernel begins in the coefficients of the whole model
    """

    table: Table
    ends: Indices
    places: Indices

    @property
    def shape(self) -> tuple[int, int, int]:
        """(M, n_new, D')."""
        return self.ends.size - 1, *self.table.shape

    def __len__(self) -> int:
        return self.ends.size - 1

    def __getitem__(self, m: int) -> Block:
        values = self.table[:, self.ends[m] : self.ends[m + 1]]
        start = int(self.places[m])
        return Block(values, slice(start, start + values.shape[1]))

    def __iter__(self) -> Iterator[Block]:
        return map(self.__getitem__, range(len(self)))


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """How rows become features: specs and plain arrays, all that an approximated model needs.

    landmarks : the plain kernels against the landmark rows; without rows, features are columns
    roots : (m, D), R of every kernel side by side
    ends : (M + 1,), where each kernel begins in the features
    means : (D,), of the features on the training rows; zeros without centring
    scales : (M,), the factor by which each kernel was divided
    places : (M,), where each kernel begins in the coefficients of a model
    normalise, center : as in ``KernelMap``
    """

    landmarks: KernelMap
    roots: Array
    ends: Indices
    means: Array
    scales: Array
    places: Indices
    normalise: str | None = None
    center: bool = False

    @property
    def specs(self) -> Any:
        """The resolved kernels."""
        return self.landmarks.specs

    @property
    def copies(self) -> bool:
        """Whether the features are columns of the table."""
        return len(self.landmarks.rows) == 0

    @cached_property
    def seen(self) -> Indices:
        """The column (D,) that each copied feature is of."""
        return np.concatenate([spec.settled for spec in self.specs])

    @property
    def rows(self) -> Array:
        """The standardised rows (m, d) on which models expand.

        They are the landmarks, or the unit vectors of copied columns.
        """
        return np.eye(self.column_means.size) if self.copies else self.landmarks.rows

    def expanded(self, m: int, u: Array) -> Array:
        """Coefficients (m, T) on ``rows`` from coefficients u (r, T) on the features of kernel m."""
        if not self.copies:
            return self.roots[:, self.part(m)] @ u
        out = np.zeros((self.column_means.size, u.shape[1]))
        out[self.seen[self.part(m)]] = u
        return out

    @property
    def column_means(self) -> Array:
        return self.landmarks.column_means

    @property
    def column_scales(self) -> Array:
        return self.landmarks.column_scales

    @property
    def numbers_per_row(self) -> int:
        """How many numbers a row costs while its features are made."""
        return len(self.specs) * len(self.landmarks.rows) + int(self.ends[-1])

    def part(self, m: int) -> slice:
        """The columns of kernel m."""
        return slice(int(self.ends[m]), int(self.ends[m + 1]))

    def columns(self, kernels: Any) -> Indices:
        """The columns of some kernels, one after the other."""
        chosen = np.asarray(kernels, dtype=np.int64)
        sizes = np.diff(self.ends)[chosen]
        starts = np.cumsum(sizes) - sizes  # where each kernel's columns begin among those chosen
        columns: Indices = np.arange(sizes.sum()) + np.repeat(self.ends[chosen] - starts, sizes)
        return columns

    def subset(self, kernels: Any) -> FeatureMap:
        """The map for some of the kernels, which keep their places among the coefficients."""
        chosen = [int(m) for m in kernels]
        columns = self.columns(chosen)
        return replace(
            self,
            landmarks=self.landmarks.subset(chosen),
            roots=np.ascontiguousarray(self.roots[:, columns]),
            ends=np.cumsum([0, *np.diff(self.ends)[chosen]]),
            means=self.means[columns],
            scales=self.scales[chosen],
            places=self.places[chosen],
        )

    def cross(self, X_new: Any) -> FeatureBlocks:
        """The features of new rows X_new (n_new, d).

        Raises ``DataError`` when X_new is not a finite table with d columns.
        """
        return self.of_standardised(self.landmarks.standardised(X_new))

    def of_standardised(self, new: Array) -> FeatureBlocks:
        """The features of rows (n_new, d) that are standardised already."""
        table = np.empty((len(new), self.means.size), dtype=np.float32)
        if self.copies:
            for part in _parts(len(new), self.means.size):
                table[part] = self._copied(new[part])
            return FeatureBlocks(table, self.ends, self.places)
        for part, m, block in self.plain(new):
            own = self.part(m)
            mean = self.means[own]
            values = block @ self.roots[:, own] - mean
            if self.normalise == "spherical":
                grand = float(mean @ mean)
                diagonal = self.specs[m].own(new[part])
                values *= spherical_factors(diagonal, values @ mean + grand, grand)[:, None]
            else:
                values *= self.scales[m] ** -0.5
            table[part, own] = values
        return FeatureBlocks(table, self.ends, self.places)

    def _copied(self, new: Array) -> Array:
        """The features (n_new, D) where they are columns."""
        columns = new[:, self.seen]
        values = columns - self.means
        factors = self.scales[None] ** -0.5
        if self.normalise == "spherical":
            own = sum_by_kernel(values**2, self.ends)
            rounding = CONSTANT_TOLERANCE * sum_by_kernel(columns**2, self.ends)
            factors = np.where(own > rounding, own, np.inf) ** -0.5
        return values * np.repeat(factors, np.diff(self.ends), axis=1)

    def plain(self, new: Array) -> Iterator[tuple[slice, int, Array]]:
        """Kernel values (r, m) against the landmarks, neither centred nor scaled.

        Yields a few rows and one kernel at a time: the rows, the kernel and the values.
        """
        values = None
        for part in _parts(len(new), len(self.specs) * len(self.rows)):
            check_cancelled()
            # The memory is used again: fresh memory costs as much as the values.
            values = self.landmarks.cross_standardised(new[part], out=values)
            for m, block in enumerate(values):
                yield part, m, block


def _parts(n_rows: int, numbers_per_row: int) -> Iterator[slice]:
    """Consecutive rows, so many at a time that their numbers fit into memory together."""
    step = max(16, _VALUES // max(1, numbers_per_row))
    for top in range(0, n_rows, step):
        yield slice(top, min(top + step, n_rows))


class FactoredSum:
    """sum_m theta_m Phi_m Phi_m', stored as the features and one weight for each of them."""

    matrix = None

    def __init__(self, kernels: Features, theta: Array) -> None:
        self.kernels = kernels
        self.theta = theta
        self.weights = kernels.spread(theta)
        # The newest shift that all rows share, and what solves with it.
        self._factored: tuple[float, Callable[[Array], Array]] | None = None

    def matvec(self, a: Array) -> Array:
        """K_theta a for a (n,) or (n, T)."""
        u = self.kernels.coefficients(a)
        return self.kernels.times((self.weights * u.T).T)

    def diagonal(self) -> Array:
        """K_theta(x_i, x_i), (n,)."""
        return self.theta @ self.kernels.diagonals()

    def block(self, rows: Indices) -> Array:
        """K_theta among some rows, (r, r)."""
        own = self.kernels.table[rows].astype(np.float64)
        return (own * self.weights) @ own.T

    def solve(self, rhs: Array, shift: float | Array) -> Array:
        """(K_theta + diag(shift))^-1 rhs for rhs (n,) or (n, T)."""
        level = float(np.max(shift))
        if np.min(shift) < level:
            return self.factor(shift)(rhs)
        if self._factored is None or self._factored[0] != level:
            self._factored = level, self.factor(level)
        return self._factored[1](rhs)

    def factor(self, shift: float | Array) -> Callable[[Array], Array]:
        """A function that solves (K_theta + diag(shift)) z = r for r (n,) or (n, T) and shift > 0.

        With h the shift, s the weights of the features and B = Phi diag(s)^(1/2), Woodbury's
        identity is

            z = r / h - B inner^(-1) B'(r / h) / h,     inner = I + B' diag(1/h) B

        The factor takes O(n D^2), every column of r after that O(n D). Raises ``LinAlgError`` where
        the inner system is singular to rounding.
        """
        kernels = self.kernels
        live = np.flatnonzero(self.weights)
        roots = np.sqrt(self.weights[live])
        h = np.broadcast_to(shift, (kernels.n_samples,))
        # The Gram matrix of all features is used if it is there or needed for most of them.
        has_gram = "gram_of_features" in vars(kernels) or 2 * live.size > self.weights.size
        if np.ndim(shift) == 0 and has_gram:
            inner = kernels.gram_of_features[np.ix_(live, live)] / float(shift)
        else:
            inner = kernels.weighed_gram(1.0 / h, live)
        inner *= roots[:, None] * roots
        inner.flat[:: live.size + 1] += 1.0
        inverse = scipy.linalg.cho_factor(inner, lower=False, overwrite_a=True, check_finite=False)

        def solve(right: Array) -> Array:
            table = right.reshape(h.size, -1) / h[:, None]
            reach = np.zeros((live.size, table.shape[1]))
            for part, B in kernels.pieces(live):
                reach += B.T @ table[part]
            reach *= roots[:, None]
            inward = roots[:, None] * scipy.linalg.cho_solve(inverse, reach, check_finite=False)
            for part, B in kernels.pieces(live):
                table[part] -= (B @ inward) / h[part, None]
            found: Array = table.reshape(right.shape)
            return found

        return solve

    def solve_block(self, rows: Indices, shift: Array, rhs: Array) -> Array:
        """(K_theta[rows, rows] + diag(shift))^-1 rhs, by the smaller of rows and features.

        A shift of 0 is raised to what keeps the system regular.
        """
        mean = float(self.diagonal()[rows].mean())
        if rows.size <= np.count_nonzero(self.weights):
            return DenseSum(self.block(rows)).solve(rhs, shift + 1e-10 * mean)
        is_all = rows.size == self.kernels.n_samples
        some = self if is_all else FactoredSum(self.kernels.take(rows), self.theta)
        return some.solve(rhs, np.maximum(shift, _NEARLY * mean))


@dataclass(frozen=True, eq=False)
class Features(Mapped):
    """M kernels on n training rows by their features, in place of a ``GramStack``.

    table : (n, D), float32, the features
    transform : the map that computes features of new rows
    names, notes : as in ``GramStack``
    approximation_error : (M,), the share of each kernel's trace that the features lose
    """

    table: Table
    transform: FeatureMap
    names: Names
    approximation_error: Array
    notes: Names = ()

    capabilities = frozenset({Capability.STORED, Capability.FACTORS, Capability.FEATURES})

    @property
    def ends(self) -> Indices:
        return self.transform.ends

    @property
    def n_kernels(self) -> int:
        return len(self.names)

    @property
    def n_samples(self) -> int:
        return len(self.table)

    @property
    def values(self) -> FeatureBlocks:
        """The features of the training rows themselves."""
        return FeatureBlocks(self.table, self.ends, self.ends[:-1])

    def cross(self, X_new: Any) -> FeatureBlocks:
        """The features of new rows."""
        return self.transform.cross(X_new)

    def blocks(self, X_new: Any = None) -> FeatureBlocks:
        """The features of new rows, or of the training rows."""
        return self.values if X_new is None else self.cross(X_new)

    def take(self, rows: Any) -> Features:
        """The kernels on some of the training rows; landmarks, scales and centring stay."""
        return replace(self, table=np.ascontiguousarray(self.table[rows]))

    def block(self, rows: Any, columns: Any = None) -> FeatureBlocks:
        """The features of some of the rows, which do not depend on the ``columns``."""
        return replace(self.values, table=self.table[rows])

    # -- sums in double precision, a few rows at a time

    def pieces(self, features: Indices | None = None) -> Iterator[tuple[slice, Array]]:
        """Rows of the table, or of some ``features``, in double precision; not to be written to."""
        n, D = self.table.shape
        some: Any = slice(None) if features is None or features.size == D else features
        if self.table.size <= _KEPT:
            yield slice(0, n), self._doubles[:, some]
            return
        for part in _parts(n, D):
            yield part, self.table[part].astype(np.float64)[:, some]

    @cached_property
    def _doubles(self) -> Array:
        return np.ascontiguousarray(self.table, dtype=np.float64)

    def coefficients(self, a: Array) -> Array:
        """u = Phi'a (D,), or (D, T) for a (n, T).

        The scores of the model with the dual a are f = sum_m theta_m Phi_m u_m.
        """
        u = np.zeros((self.table.shape[1], *np.shape(a)[1:]))
        for part, piece in self.pieces():
            u += piece.T @ a[part]
        return u

    def times(self, v: Array) -> Array:
        """Phi v (n,) for v (D,), or (n, T) for v (D, T)."""
        f = np.empty((self.n_samples, *np.shape(v)[1:]))
        for part, piece in self.pieces():
            f[part] = piece @ v
        return f

    def matvec(self, a: Array, kernels: Indices | None = None) -> Array:
        """K_m a of the approximated kernels for a (n,), of all (M, n) or of some (k, n)."""
        chosen = self if kernels is None else self.select(kernels)
        u = chosen.coefficients(a)
        G = np.empty((chosen.n_kernels, self.n_samples))
        for part, piece in chosen.pieces():
            G[:, part] = sum_by_kernel(piece * u, chosen.ends).T
        return G

    def quad(self, a: Array, kernels: Indices | None = None) -> Array:
        """a'K_m a = ||Phi_m'a||^2 for a (n,), of all kernels (M,) or of some (k,).

        For a (n, T) it is the sum over its columns.
        """
        u = self.coefficients(a).reshape(self.table.shape[1], -1)
        forms = sum_by_kernel(np.sum(u * u, axis=1), self.ends)
        return forms if kernels is None else forms[kernels]

    def combine(self, weights: Array) -> FactoredSum:
        """sum_m weights_m Phi_m Phi_m' for weights (M,), without computing the matrix."""
        return FactoredSum(self, weights)

    def combine_block(self, weights: Array, rows: Indices) -> Array:
        """sum_m weights_m K_m among some rows, (r, r)."""
        return FactoredSum(self, weights).block(rows)

    def decision(self, weights: Array, a: Array) -> Array:
        """sum_m weights_m K_m a on the training rows, (n,)."""
        return self.times(self.spread(weights) * self.coefficients(a))

    def rows(self, i: Indices | slice) -> Array:
        """Rows i (b,) of every approximated kernel, (M, b, n)."""
        factors = map(self.factor, range(self.n_kernels))
        return np.array([L[:, i].T @ L for L in factors])

    def gram(self, m: int) -> Array:
        """The Gram matrix of one approximated kernel, (n, n)."""
        L = self.factor(m)
        return L.T @ L

    def select(self, kernels: Indices) -> Features:
        """Some of the kernels."""
        table = np.ascontiguousarray(self.table[:, self.transform.columns(kernels)])
        return Features(
            table,
            self.transform.subset(kernels),
            self.names_of(kernels),
            self.approximation_error[kernels],
        )

    def factor(self, m: int) -> Array:
        """L (r, n) with K_m = L'L: the features of kernel m."""
        return np.ascontiguousarray(self.table[:, self.transform.part(m)].T.astype(np.float64))

    def diagonals(self) -> Array:
        """||phi_m(x_i)||^2, the diagonals of the approximated kernels, (M, n)."""
        return self._squares

    def spread(self, weights: Array) -> Array:
        """One number per kernel (M,) as one per feature (D,)."""
        return np.repeat(weights, np.diff(self.ends))

    @cached_property
    def _squares(self) -> Array:
        """||phi_m(x_i)||^2, the diagonals of the approximated kernels, (M, n)."""
        out = np.empty((self.n_kernels, self.n_samples))
        for part, piece in self.pieces():
            out[:, part] = sum_by_kernel(piece * piece, self.ends).T
        return out

    @cached_property
    def gram_of_features(self) -> Array:
        """Phi'Phi (D, D), which the squared loss needs of the rows beside Phi'1 and Phi'y."""
        return self.weighed_gram(np.ones(self.n_samples))

    def weighed_gram(self, w: Array, features: Indices | None = None) -> Array:
        """Phi' diag(w) Phi (D, D) for weights of rows w (n,), or among some of the features."""
        D = self.table.shape[1] if features is None else features.size
        total = np.zeros((D, D), order="F")
        for part, piece in self.pieces(features):
            scaled = (piece * np.sqrt(w)[part, None]).T
            total = scipy.linalg.blas.dsyrk(
                1.0,
                scaled,
                beta=1.0,
                c=total,
                overwrite_c=True,
            )
        found: Array = total + total.T  # the upper triangle alone is filled
        found.flat[:: D + 1] *= 0.5
        return found

    def __repr__(self) -> str:
        return (
            f"Features({self.n_kernels} kernels, {self.n_samples} rows, {self.table.shape[1]} "
            "features)"
        )


@dataclass(frozen=True)
class Nystroem:
    """An approximation of kernels by low rank: at most ``n_components`` features for each.

    Pass it to an estimator as ``approximation``. Memory is at most 4 n M n_components bytes, and
    time grows linearly with the rows. The certificate then is that of the problem with approximated
    kernels, and ``approximation_error_`` (M,) is the share of each kernel's trace that is lost.
    With as many components as rows the kernels are exact.

    Parameters
    ----------
    n_components : int, default 200
        Number of landmarks, from 1.
    random_state : int, default 0
        Seed of everything that is drawn at random; a number gives the same fit each time.

    Examples
    --------
    >>> from mklcore.data.samples import load_sample
    >>> from mklcore.estimators.lp import LpMKLClassifier
    >>> data = load_sample("breast_cancer")
    >>> model = LpMKLClassifier(p=4 / 3, approximation=Nystroem(50)).fit(data.X, data.y)
    >>> bool(model.score(data.X, data.y) > 0.95), model.approximation_error_.shape == model.weights_.shape
    (True, True)
    """

    n_components: int = 200
    random_state: int = 0

    def __post_init__(self) -> None:
        for name, least in (("n_components", 1), ("random_state", 0)):
            check_whole(f"{name} of Nystroem", getattr(self, name), least)
            self.__dict__[name] = int(getattr(self, name))

    def landmarks(self, rows: Array) -> Indices:
        """The landmarks among the standardised ``rows`` (n, d), in rising order."""
        from sklearn.cluster import kmeans_plusplus  # not at start-up

        n = len(rows)
        if self.n_components >= n:
            return np.arange(n)
        rng = np.random.default_rng(self.random_state)
        most = max(_LOOKED_AT, 2 * self.n_components)
        among = np.arange(n)
        if n > most:
            among = np.sort(rng.choice(n, most, replace=False))
        seed = int(rng.integers(2**31))
        _, chosen = kmeans_plusplus(
            rows[among], self.n_components, random_state=seed, n_local_trials=1
        )
        return np.unique(among[chosen])

    def features(
        self,
        dictionary: Any,
        X: Any,
        normalise: str | None = "multiplicative",
        center: bool = False,
    ) -> Features:
        """The features of every kernel of ``dictionary`` on the training rows X (n, d).

        Traces are exact; the variance by which "multiplicative" divides uses the mean of the
        approximated kernel. Kernels that are constant on the training rows are left out and named
        in ``notes``.
        """
        training = KernelMap.on(X, dictionary, normalise)
        rows = training.rows
        with one_blas_thread():
            plain = training.take(self.landmarks(rows))
            roots = []
            for m in range(len(plain.specs)):
                check_cancelled()
                roots.append(_root(plain.cross_standardised(plain.rows, [m])[0]))
            sizes = [root.shape[1] for root in roots]
            raw = _plain_map(plain, np.hstack(roots), sizes)
            diagonals = np.array([spec.own(rows) for spec in plain.specs])
            means = np.zeros(raw.means.size)
            sums = np.zeros_like(diagonals)
            if center or normalise == "multiplicative":
                for _, m, block in raw.plain(rows):
                    means[raw.part(m)] += block.sum(axis=0) @ roots[m] / len(rows)
            if center:
                for part, m, block in raw.plain(rows):
                    towards_mean = roots[m] @ means[raw.part(m)]
                    sums[m, part] = len(rows) * (block @ towards_mean)
            return _on_rows(
                raw,
                dictionary.names,
                rows,
                normalise,
                center,
                means,
                diagonals,
                sums,
            )


def scatter_of(stack: Features, y: Array, w: Array, centred: bool) -> Array:
    """Z' diag(w) Z (D + 1, D + 1) of Z = [Phi, y] for weights w (n,) of mean one, about the means
    if ``centred``.
    """
    even = bool(np.all(w == 1.0))
    S = stack.gram_of_features if even else stack.weighed_gram(w)
    first = stack.coefficients(w)
    middle = float(w @ y) / y.size if centred else 0.0
    c = stack.coefficients(w * (y - middle))
    energy = float(w @ (y - middle) ** 2)
    if centred:
        S = S - np.outer(first, first / y.size)
    return np.block([[S, c[:, None]], [c[None], np.array([[energy]])]])


def column_features(
    dictionary: Any, X: Any, normalise: str | None = "multiplicative", center: bool = False
) -> Features:
    """The features of linear kernels on the training rows X (n, d): the columns that each sees.

    Nothing is lost, and no kernel value is computed: the columns are copied.
    """
    training = KernelMap.on(X, dictionary, normalise)
    rows = training.rows
    sizes = [len(spec.settled) for spec in training.specs]
    without_roots = np.empty((0, sum(sizes)))
    raw = _plain_map(training.take(np.arange(0)), without_roots, sizes)
    values = rows[:, raw.seen]
    means = values.mean(axis=0)
    diagonals = sum_by_kernel(values**2, raw.ends).T
    sums = sum_by_kernel(values * means, raw.ends).T * len(rows)
    return _on_rows(raw, dictionary.names, rows, normalise, center, means, diagonals, sums)


def sum_by_kernel(values: Array, ends: Indices) -> Array:
    """Sums (..., M) of the values (..., D) of features over those of each kernel."""
    filled = np.flatnonzero(np.diff(ends))
    if filled.size == len(ends) - 1 == values.shape[-1]:  # one feature per kernel
        return values
    out = np.zeros((*values.shape[:-1], len(ends) - 1))
    if filled.size:
        out[..., filled] = np.add.reduceat(values, ends[filled], axis=-1)
    return out


def _root(K: Array) -> Array:
    """R (m, r) with R R' the inverse of K among r landmarks that represent all m up to rounding.

    These are the pivots of a Cholesky factorisation, which takes a tenth of the time of
    eigenvectors, or less where r is small. R is 0 at the other landmarks.
    """
    K = 0.5 * (K + K.T)
    factor, pivots, rank, _ = scipy.linalg.lapack.dpstrf(
        K, tol=_CUT * max(float(np.trace(K)), 0.0), lower=1
    )
    root = np.zeros((len(K), rank))
    lower = np.tril(factor[:rank, :rank])
    root[pivots[:rank] - 1] = scipy.linalg.solve_triangular(
        lower, np.eye(rank), lower=True, check_finite=False
    ).T
    return root


def _plain_map(plain: KernelMap, roots: Array, sizes: list[int]) -> FeatureMap:
    """The map by the ``roots`` (m, D) of kernels with these numbers of features, not scaled."""
    ends = np.cumsum([0, *sizes])
    return FeatureMap(
        plain,
        roots,
        ends,
        np.zeros(roots.shape[1]),
        np.ones(len(sizes)),
        ends[:-1],
    )


def _on_rows(
    raw: FeatureMap,
    names: Names,
    rows: Array,
    normalise: str | None,
    center: bool,
    means: Array,
    diagonals: Array,
    sums: Array,
) -> Features:
    """The features of the standardised training rows (n, d), centred and normalised.

    The numbers needed are the means (D,) of the features, the exact diagonals (M, n), and the row
    sums (M, n) of the approximated kernels.
    """
    totals = sum_by_kernel((len(rows) * means) ** 2, raw.ends)
    scaled, kept, notes, diagonals = normalised(
        raw.landmarks,
        names,
        normalise,
        center,
        diagonals,
        totals,
        sums,
    )
    subset = replace(raw, means=means * center).subset(kept)
    transform = replace(
        subset,
        scales=scaled.scales,
        places=subset.ends[:-1],
        normalise=normalise,
        center=center,
    )
    stack = Features(
        transform.of_standardised(rows).table,
        transform,
        tuple(names[m] for m in kept),
        np.zeros(kept.size),
        notes,
    )
    traces = np.maximum(diagonals.sum(axis=1), 1e-300)
    lost = np.minimum(1.0 - stack.diagonals().sum(axis=1) / traces, 1.0)
    stack.approximation_error[:] = np.where(lost > _ROUNDED, lost, 0.0)
    return stack
