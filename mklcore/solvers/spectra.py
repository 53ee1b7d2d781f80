"""Eigendecompositions of a whole stack, laid end to end so that one product serves every kernel.

    K_j = U_j diag(d_j) U_j',    d_j > n eps d_max    (the eigen-cut of the specification, section 0)

Made once per stack and used for every lambda: scores of MKL-GOMP and the exact block solves of greedy coordinate
descent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from mklcore.arrays import Array, Indices, one_blas_thread
from mklcore.errors import KernelError
from mklcore.kernels.operators import Capability, KernelOperator, as_operator, is_stored


@dataclass(frozen=True)
class SpectraSettings:
    """What the eigenvectors of all kernels are bounded by.

    Where more are asked for, the stack is refused.
    """

    most_mb: float = 2000.0  # of eigenvectors of kernels that are not stored
    many: float = 0.25  # share of the kernels from which on all are scored in one product


SETTINGS = SpectraSettings()


@dataclass(frozen=True, eq=False)
class Spectra:
    """``vectors`` (P, n): the eigenvectors of all M kernels as rows, kernel after kernel; ``values`` (P,) their
    eigenvalues > 0; ``starts`` (M + 1,) where each kernel begins; ``owner`` (P,) the kernel each row belongs to. The
    vectors of kernels that are not stored are in single precision: half the room, and half the time of every score."""

    vectors: Array
    values: Array
    starts: Indices
    owner: Indices

    @classmethod
    def of(cls, K: Array | KernelOperator) -> Spectra:
        """Decompose every kernel of ``K`` (M, n, n): O(M n^3) time, at most as much memory as ``K``; of kernels that
        are not stored the factors alone, O(r n) memory each for r eigenvalues above the cut."""
        K = as_operator(K)
        if not is_stored(K):
            return cls._of_factors(K)
        M, n = K.n_kernels, K.n_samples
        vectors, values = np.empty((M * n, n)), np.empty(M * n)  # rows beyond the ranks are never touched
        starts = np.zeros(M + 1, dtype=np.int64)
        with one_blas_thread():
            for j in range(M):
                d, U = np.linalg.eigh(K.gram(j))
                keep = d > n * np.finfo(float).eps * max(float(d[-1]), 0.0)
                starts[j + 1] = starts[j] + np.count_nonzero(keep)
                vectors[starts[j] : starts[j + 1]] = U[:, keep].T
                values[starts[j] : starts[j + 1]] = d[keep]
        owner = np.repeat(np.arange(M), np.diff(starts))
        return cls(vectors[: starts[-1]], values[: starts[-1]], starts, owner)

    @classmethod
    def _of_factors(cls, K: KernelOperator) -> Spectra:
        """K_j = L L' with as few columns as it takes, and the eigenvectors of L'L; KernelError where they would not
        fit."""
        M, n = K.n_kernels, K.n_samples
        room = int(SETTINGS.most_mb * 1e6 / (4 * n))
        vectors: Any = np.empty((room, n), dtype=np.float32)  # rows that are never written take no memory
        values = np.empty(room)
        starts = np.zeros(M + 1, dtype=np.int64)
        with one_blas_thread():
            for j in range(M):
                L = factor_of(K, j)
                d, V = np.linalg.eigh(L @ L.T)
                keep = d > n * np.finfo(float).eps * max(float(d.max(initial=0.0)), 0.0)
                begin, end = int(starts[j]), int(starts[j]) + int(np.count_nonzero(keep))
                if end > room:
                    raise KernelError(
                        f"The eigenvectors of {M} kernels on {n} rows need more than {SETTINGS.most_mb:.0f} MB: "
                        f"{end} were found in the first {j + 1}. Use fewer rows or kernels, or smoother ones "
                        "(larger widths)."
                    )
                vectors[begin:end] = (V[:, keep] / np.sqrt(d[keep])).T @ L
                values[begin:end], starts[j + 1] = d[keep], end
        owner = np.repeat(np.arange(M), np.diff(starts))
        return cls(vectors[: starts[-1]], values[: starts[-1]], starts, owner)

    @property
    def n_kernels(self) -> int:
        return self.starts.size - 1

    @property
    def n_samples(self) -> int:
        return int(self.vectors.shape[1])

    def rows(self, j: int) -> slice:
        """Where kernel ``j`` is in ``vectors`` and ``values``."""
        return slice(int(self.starts[j]), int(self.starts[j + 1]))

    def scores(self, R: Array, shrink: float, candidates: Indices) -> Array:
        """I_j of MKL-GOMP for the residual ``R`` (n, T) and ``shrink`` = lam n, (M,); minus infinity outside
        ``candidates``.

        I_j = (1/n) sum_i d_i / (d_i + shrink) ||u_i'R||^2, the gain of one kernel on the residual (specification, A.2).
        """
        share = self.values / (self.values + shrink)
        out, own = np.full(self.n_kernels, -np.inf), R.astype(self.vectors.dtype, copy=False)
        if candidates.size > SETTINGS.many * self.n_kernels:
            energy = share * np.sum((self.vectors @ own) ** 2, axis=1)
            found = np.bincount(self.owner, energy, minlength=self.n_kernels) / self.n_samples
            out[candidates] = found[candidates]
            return out
        for j in candidates:
            part = self.rows(j)
            out[j] = share[part] @ np.sum((self.vectors[part] @ own) ** 2, axis=1) / self.n_samples
        return out

    def forms(self, r: Array) -> Array:
        """r'K_j r for every kernel and ``r`` (n,), as (M,)."""
        energy = self.values * (self.vectors @ r) ** 2
        return np.bincount(self.owner, energy, minlength=self.n_kernels).astype(np.float64, copy=False)

    def largest(self) -> Array:
        """The largest eigenvalue of every kernel, (M,); 0 for a kernel that is 0."""
        return np.array([self.values[self.rows(j)].max(initial=0.0) for j in range(self.n_kernels)])


def factor_of(K: KernelOperator, j: int) -> Array:
    """L (r, n) with K_j = L'L. KernelError where the kernels cannot be factored one by one."""
    if Capability.FACTORS not in K.capabilities:
        raise KernelError(f"Scores of kernels that are not stored need {Capability.FACTORS.value}; these have none.")
    kernels: Any = K
    found: Array = kernels.factor(j)
    return found


def exact_score(L: Array, R: Array, shrink: float) -> float:
    """The score of one kernel in double precision, (1/n) tr Z'(L L' + shrink I)^(-1) Z with Z = L R, from rows ``L``
    (r, n) of which K = L'L."""
    inner = L @ L.T
    inner.flat[:: inner.shape[0] + 1] += shrink
    z = L @ R
    return float(
        np.sum(
            z
            * scipy.linalg.cho_solve(
                scipy.linalg.cho_factor(inner, lower=True, check_finite=False), z, check_finite=False
            )
        )
    ) / len(R)
