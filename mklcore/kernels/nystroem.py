"""Nystroem's approximation: kernels by their values at a few landmark rows, the same rows for all of them.

    K ~ K_nm K_mm^+ K_mn = Phi Phi',     Phi = K_nm V L^(-1/2)     with K_mm = V L V', small eigenvalues left out

Landmarks are drawn by the seeding of k-means++ among the standardised rows: the next one falls on a row with
probability proportional to its squared distance from those that are there, so that the rows are covered; or by
leverage, so that the rows which no others stand for are there. All kernels share them, and
kernels of the same columns share the distances to them. A kernel of rank r below m has r features: a linear kernel of
one column has one, and loses nothing.

Source: Williams and Seeger (2001), Using the Nystroem method to speed up kernel machines; Arthur and Vassilvitskii
(2007) for the seeding; Zhang and Kwok (2010) for cluster centres as landmarks; El Alaoui and Mahoney (2015), Fast
randomized kernel ridge regression with statistical guarantees, for ridge leverage scores, and Musco and Musco (2017)
for their estimate from a first sample.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy

from mklcore.arrays import Array, Indices
from mklcore.errors import ParameterError, check_cancelled
from mklcore.kernels.checks import one_blas_thread
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.finishing import Finishing
from mklcore.kernels.maps import KernelMap, as_rows, column_scaling, standardise_rows
from mklcore.kernels.operators.factored import FeatureMap, FeatureStack, diagonals
from mklcore.kernels.operators.lazy import resolved

_ROUNDED = 1e-6  # share of a trace that single precision may lose
_CUT = 1e-8  # of the trace at the landmarks: where no landmark holds more that is new, the others are left out
_LOOKED_AT = 10_000  # rows among which landmarks are drawn
_PILOT = 50  # landmarks of the features that leverage is read off
CHOICES = ("kmeans", "leverage")


@dataclass(frozen=True)
class Nystroem:
    """Solve the problem of low-rank kernels instead: M blocks of at most ``n_components`` features instead of M Gram
    matrices.

    Memory is 4 n M n_components bytes at most, time grows linearly with the rows. ``random_state`` a whole number draws
    the landmarks; ``choose`` says how: "kmeans" spreads them over the rows, "leverage" prefers rows that the others do
    not stand for under the mean of the kernels, each scaled to trace 1. With as many components as rows the kernels are
    the exact ones. Pass it to an estimator as ``approximation``; what is certified then is the problem of the
    approximated kernels, and ``approximation_error_`` (M,) tells which share of each kernel's trace is lost.

    Parameters
    ----------
    n_components : int, default 200
        Number of landmarks, from 1.
    random_state : int, default 0
        Seed of everything that is drawn at random; a number gives the same fit each time.
    choose : str, default "kmeans"
        How landmarks are chosen: "kmeans" spreads them over the rows, "leverage" prefers rows that the others do not
        stand for.

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
    choose: str = "kmeans"

    def __post_init__(self) -> None:
        if self.choose not in CHOICES:
            raise ParameterError(f"choose of Nystroem must be one of {', '.join(CHOICES)}; got {self.choose!r}.")
        for name, least in (("n_components", 1), ("random_state", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
                raise ParameterError(f"{name} of Nystroem must be a whole number from {least} on; got {value!r}.")
            object.__setattr__(self, name, int(value))

    def foresee(self, n_kernels: int, n_samples: int) -> int:
        """Bytes of the features at most: every kernel of full rank."""
        return 4 * n_kernels * n_samples * min(self.n_components, n_samples)

    def landmarks(self, rows: Array) -> Indices:
        """Which of the standardised ``rows`` (n, d) are the landmarks, in rising order, spread over the rows."""
        from sklearn.cluster import kmeans_plusplus

        n = len(rows)
        if self.n_components >= n:
            return np.arange(n)
        rng = np.random.default_rng(self.random_state)
        among = self._among(n, rng)
        _, chosen = kmeans_plusplus(
            rows[among], self.n_components, random_state=int(rng.integers(2**31)), n_local_trials=1
        )
        return np.unique(among[chosen])

    def _among(self, n: int, rng: np.random.Generator) -> Indices:
        """The rows among which landmarks are drawn."""
        most = max(_LOOKED_AT, 2 * self.n_components)
        return np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))

    def _by_leverage(self, dictionary: KernelDictionary, rows: Array, means: Array, scales: Array) -> Indices:
        """Landmarks drawn with probability proportional to the leverage of a row in the features of a few first
        ones."""
        first = replace(self, n_components=min(_PILOT, self.n_components), choose="kmeans").landmarks(rows)
        if self.n_components >= len(rows):
            return np.arange(len(rows))
        rng = np.random.default_rng(self.random_state)
        among = self._among(len(rows), rng)
        raw = _with_roots(_plain_map(dictionary, rows, means, scales, rows[first]), rows[first])
        table = raw.of_standardised(rows[among]).table.astype(np.float64)
        for m in range(len(raw.specs)):
            table[:, raw.part(m)] /= max(float(np.linalg.norm(table[:, raw.part(m)])), 1e-300)
        scores = leverages(table, float(np.sum(table * table)) / self.n_components)
        chosen: Indices = np.sort(rng.choice(among, self.n_components, replace=False, p=scores / scores.sum()))
        return chosen

    def features(
        self,
        dictionary: KernelDictionary,
        X: Any,
        normalise: str | None = "multiplicative",
        center: bool = False,
    ) -> FeatureStack:
        """The features of every kernel of ``dictionary`` on the training rows X (n, d), centred and normalised as
        asked.

        Traces are exact; the variance that "multiplicative" divides by takes the mean of the approximated kernel.
        Kernels that are constant on the training rows are left out and named in ``notes``.
        """
        rows = as_rows(X)
        means, scales = column_scaling(rows, dictionary.specs, dictionary.standardize)
        rows = standardise_rows(rows, means, scales)
        with one_blas_thread():
            spread = self.choose == "kmeans"
            chosen = self.landmarks(rows) if spread else self._by_leverage(dictionary, rows, means, scales)
            raw = _with_roots(_plain_map(dictionary, rows, means, scales, rows[chosen]), rows[chosen])
            return _on_rows(raw, dictionary.names, rows, normalise, center)


def column_features(
    dictionary: KernelDictionary, X: Any, normalise: str | None = "multiplicative", center: bool = False
) -> FeatureStack:
    """The features of linear kernels on the training rows X (n, d): the columns that each sees; nothing is lost.

    In the place of landmarks stand the unit vectors, with which a linear kernel gives the columns themselves.
    """
    rows = as_rows(X)
    means, scales = column_scaling(rows, dictionary.specs, dictionary.standardize)
    rows = standardise_rows(rows, means, scales)
    unit = np.eye(rows.shape[1])
    with one_blas_thread():
        plain = _plain_map(dictionary, rows, means, scales, unit)
        seen = [spec.columns(len(unit)) for spec in plain.specs]
        raw = _map_to(plain, [unit[:, columns] for columns in seen])
        return _on_rows(raw, dictionary.names, rows, normalise, center)


def _on_rows(raw: FeatureMap, names: tuple[str, ...], rows: Array, normalise: str | None, center: bool) -> FeatureStack:
    """The features of the standardised training rows (n, d), centred and normalised."""
    finishing = Finishing.of(names, len(rows), normalise, center)
    own = diagonals(raw.specs, rows)
    transform = _finished(raw, finishing, _settle(finishing, raw, rows, own), finishing.kept)
    kept = finishing.kept
    stack = FeatureStack(
        transform.of_standardised(rows).table,
        transform,
        tuple(names[m] for m in kept),
        tuple(spec.family for spec in transform.specs),
        np.zeros(kept.size),
        tuple(finishing.notes),
    )
    exact = (own - 2 * finishing.row_means + finishing.grand_means[:, None])[kept] * finishing.factors[kept] ** 2
    lost = 1.0 - stack.diagonals().sum(axis=1) / np.maximum(exact.sum(axis=1), 1e-300)
    object.__setattr__(stack, "approximation_error", np.where(lost > _ROUNDED, np.minimum(lost, 1.0), 0.0))
    return stack


def leverages(table: Array, ridge: float) -> Array:
    """The ridge leverage scores diag(K (K + ridge I)^(-1)) (n,) of K = Phi Phi', from its features Phi (n, D).

    They sum to the effective dimension, which is at most tr K / ridge.
    """
    inner = table.T @ table
    inner.flat[:: inner.shape[0] + 1] += ridge
    half = scipy.linalg.solve_triangular(np.linalg.cholesky(inner), table.T, lower=True, check_finite=False)
    scores: Array = np.maximum(np.sum(half * half, axis=0), 1e-12)
    return scores


def _plain_map(dictionary: KernelDictionary, rows: Array, means: Array, scales: Array, landmarks: Array) -> KernelMap:
    """The kernels against the landmarks without centring or scale; relative widths are settled on all rows."""
    specs, m = resolved(dictionary, rows), len(landmarks)
    flat = np.ones(len(specs)), np.ones((len(specs), m)), np.zeros((len(specs), m)), np.zeros(len(specs))
    return KernelMap(specs, landmarks, means, scales, *flat, np.arange(m))


def _with_roots(plain: KernelMap, landmarks: Array) -> FeatureMap:
    """The map to features that are neither centred nor scaled."""
    roots = []
    _ = plain.by_column  # laid out once, and handed to every subset
    for m in range(len(plain.specs)):
        check_cancelled()
        K = plain.subset([m]).cross_standardised(landmarks)[0]
        roots.append(_root(0.5 * (K + K.T)))
    return _map_to(plain, roots)


def _root(K: Array) -> Array:
    """R (m, r) with R R' the inverse of K among the r landmarks that stand for all m up to rounding, zero elsewhere.

    They are the pivots of a Cholesky factorisation: a tenth of the work of eigenvectors, less where r is small.
    """
    factor, pivots, rank, _ = scipy.linalg.lapack.dpstrf(K, tol=_CUT * max(float(np.trace(K)), 0.0), lower=1)
    root = np.zeros((len(K), rank))
    lower = np.tril(factor[:rank, :rank])
    root[pivots[:rank] - 1] = scipy.linalg.solve_triangular(lower, np.eye(rank), lower=True, check_finite=False).T
    return root


def _map_to(plain: KernelMap, roots: list[Array]) -> FeatureMap:
    """The map by one root (m, r) a kernel, neither centred nor scaled."""
    ends = np.cumsum([0, *(root.shape[1] for root in roots)])
    M = len(roots)
    return FeatureMap(plain, np.hstack(roots), ends, np.zeros(ends[-1]), np.ones(M), ends[:-1])


def _settle(finishing: Finishing, raw: FeatureMap, rows: Array, own: Array) -> Array:
    """Find scales and means from exact diagonals ``own`` (M, n) and approximated row sums; returns the mean features
    (D,)."""
    n, M = len(rows), len(raw.specs)
    totals, mean, sums = np.zeros((M, raw.roots.shape[0])), np.zeros(int(raw.ends[-1])), np.empty((M, n))
    for _, m, block in raw.plain(rows):
        totals[m] += block.sum(axis=0)
    for m in range(M):
        mean[raw.part(m)] = totals[m] @ raw.roots[:, raw.part(m)] / n
        sums[m] = n * float(mean[raw.part(m)] @ mean[raw.part(m)])  # without centring only their mean is asked for
    if finishing.center:
        for part, m, block in raw.plain(rows):
            sums[m, part] = n * (block @ (raw.roots[:, raw.part(m)] @ mean[raw.part(m)]))
    for m in range(len(sums)):
        finishing.settle(m, own[m], sums[m])
    return mean


def _finished(raw: FeatureMap, finishing: Finishing, mean: Array, kept: Indices) -> FeatureMap:
    """The map with centring and scales, for the kernels that are left."""
    whole = replace(
        raw,
        means=mean if finishing.center else np.zeros_like(mean),
        scales=finishing.scales,
        normalise=finishing.normalise,
        center=finishing.center,
    ).subset(kept)
    return replace(whole, places=whole.ends[:-1])
