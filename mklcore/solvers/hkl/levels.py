"""Levels of every variable, from a table of rows and a basis or from given Gram matrices, and how they are
normalised."""

from __future__ import annotations

from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.errors import KernelError
from mklcore.kernels.grams import check_gram
from mklcore.solvers.hkl.bases import Basis

_RANK_ONE = 1e-12  # a Gram matrix this close to an outer product is one


class Table:
    """The levels of a table of rows: a basis applied to every (standardised) column. ``X`` (n, p) are training rows."""

    def __init__(self, basis: Basis, X: Array, standardize: bool) -> None:
        self.p, self.q, self.n = int(X.shape[1]), int(basis.q), len(X)
        self.mean = X.mean(axis=0) if standardize else np.zeros(self.p)
        spread = X.std(axis=0) if standardize else np.ones(self.p)
        # Columns that are constant up to rounding become zeros instead of noise of unit size.
        constant = spread <= 1e-12 * np.maximum(1.0, np.abs(self.mean))
        self.scale = np.where(constant, np.inf if standardize else 1.0, spread)
        self.X = np.ascontiguousarray(((X - self.mean) / self.scale).T)
        self.basis = (
            basis.scaled_to(self.X.T) if hasattr(basis, "scaled_to") else basis
        )  # what all columns decide together
        self.states = [basis.fit(x) for x in self.X]

    def read(self) -> None:
        """Nothing is forgotten once the levels of the training rows were read."""

    def new_rows(self, rows: Any) -> tuple[Any, int]:
        """New rows (m, p) and m."""
        return rows, len(rows)

    def train(self, i: int) -> list[Array]:
        return self.basis.parts(self.states[i], self.X[i], self.X[i])

    def new(self, rows: Array, i: int) -> list[Array]:
        return self.basis.parts(self.states[i], (rows[:, i] - self.mean[i]) / self.scale[i], self.X[i])

    def level_name(self, name: str, level: int) -> str:
        return self.basis.level_name(name, level)


class Matrices:
    """Levels given as Gram matrices K (p, q+1, n, n); new rows come as blocks (p, q+1, m, n)."""

    def __init__(self, K: Any) -> None:
        K = numeric(K)
        if K.ndim != 4 or K.shape[2] != K.shape[3] or min(K.shape) < 1 or K.shape[1] < 2:
            raise KernelError(
                "A basis given as an array has one Gram matrix per variable and level: shape (p, q+1, n, n) with at "
                "least "
                f"two levels; got shape {K.shape}."
            )
        self.p, self.q, self.n = len(K), int(K.shape[1]) - 1, int(K.shape[2])
        for i in range(self.p):
            for j in range(self.q + 1):
                check_gram(f"Level {j} of variable {i + 1}", np.ascontiguousarray(K[i, j]))
        self.K: Array | None = K
        self.anchors = np.array([[_rank_one_anchor(gram) for gram in levels] for levels in K])

    def read(self) -> None:
        """Forget the Gram matrices, once the levels of the training rows were read."""
        self.K = None

    def new_rows(self, rows: Any) -> tuple[Array, int]:
        """Blocks (p, q+1, m, n) of new rows and m; KernelError for another shape."""
        rows, expected = numeric(rows), (self.p, self.q + 1, self.n)
        if rows.ndim != 4 or (rows.shape[0], rows.shape[1], rows.shape[3]) != expected:
            raise KernelError(
                f"Test blocks must be (p, q+1, n_new, n) with p = {expected[0]}, q+1 = {expected[1]} and n = "
                f"{expected[2]} training rows; got shape {rows.shape}."
            )
        return rows, int(rows.shape[2])

    def train(self, i: int) -> list[Array]:
        assert self.K is not None
        return [self._part(self.K[i, j], i, j) for j in range(self.q + 1)]

    def new(self, rows: Array, i: int) -> list[Array]:
        return [self._part(rows[i, j], i, j) for j in range(self.q + 1)]

    def _part(self, block: Array, i: int, j: int) -> Array:
        """A column where the training matrix has rank one: k(., x_r) / sqrt(k(x_r, x_r)) at its largest diagonal
        entry."""
        anchor = int(self.anchors[i, j])
        if anchor < 0:
            return np.array(block, dtype=float)
        if not hasattr(self, "_roots"):
            assert self.K is not None
            diagonal = np.einsum("ijkk->ijk", self.K)
            chosen = np.take_along_axis(diagonal, np.maximum(self.anchors, 0)[..., None], 2)[..., 0]
            self._roots: Array = np.sqrt(np.where(chosen > 0, chosen, 1.0))
        return block[:, anchor] / float(self._roots[i, j])

    def level_name(self, name: str, level: int) -> str:
        return f"{name}[{level}]"


def numeric(K: Any) -> Array:
    try:
        return np.asarray(K, dtype=np.float64)
    except (TypeError, ValueError):
        raise KernelError("A basis given as an array must hold numbers, in one shape (p, q+1, n, n).") from None


def _rank_one_anchor(gram: Array) -> int:
    """Where to read the column off a Gram matrix of rank one (or zero); -1 for any other."""
    r = int(np.argmax(np.diag(gram)))
    top = float(gram[r, r])
    if top <= 0.0:
        return r
    return r if np.max(np.abs(gram - np.outer(gram[:, r], gram[r]) / top)) <= _RANK_ONE * top else -1


class Scaling:
    """Centring and scaling of one level, learnt on the training rows: mean 0 in feature space, mean diagonal 1."""

    def __init__(self, part: Array) -> None:
        if part.ndim == 1:
            self.mean = float(part.mean())
            size = float(np.sqrt(np.mean((part - self.mean) ** 2)))
            self.size = size if size > 1e-10 * max(1.0, abs(self.mean)) else np.inf
            return
        self.rows: Array = part.mean(axis=1)
        self.total = float(part.mean())
        size = float(np.trace(part) / part.shape[0] - self.total)
        self.size = size if size > 1e-12 * max(1.0, abs(self.total)) else np.inf

    def __call__(self, part: Array) -> Array:
        if part.ndim == 1:
            return (part - self.mean) / self.size
        own: Array = part.mean(axis=1)
        return (part - own[:, None] - self.rows[None, :] + self.total) / self.size
