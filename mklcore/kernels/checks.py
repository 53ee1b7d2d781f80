"""Whether a matrix from elsewhere is a kernel: finite, symmetric, positive semidefinite."""

import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import numpy as np
import scipy
from threadpoolctl import ThreadpoolController

from mklcore._numba.decorators import jit_entry
from mklcore.arrays import Array
from mklcore.errors import KernelError, never_asked

SYMMETRY_TOLERANCE = 1e-8
PSD_TOLERANCE = 1e-8
TILE = 64
PANEL = 512  # columns of a Cholesky factor made at a time: a tenth of a second where they are long
EXACT_ROWS = 1500  # up to so many rows the eigenvalues themselves settle what the factor refuses


@cache
def _pools() -> ThreadpoolController:
    """The pools of numpy's and of scipy's library, which is loaded first: a controller only knows the pools it has
    seen.
    """
    import scipy.linalg.blas  # noqa: F401

    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager[Any]:
    """One BLAS thread inside a loop over kernels: two took 2 to 13 times as long when other work shared the cores."""
    limit: AbstractContextManager[Any] = _pools().limit(limits=1, user_api="blas")
    return limit


@jit_entry()
def asymmetry(gram: Array) -> tuple[float, float]:
    """max |K_ij - K_ji| and max |K_ij|, tile by tile."""
    n = gram.shape[0]
    gap = 0.0
    size = 0.0
    for top in range(0, n, TILE):
        for left in range(top, n, TILE):
            for i in range(top, min(top + TILE, n)):
                for j in range(left, min(left + TILE, n)):
                    gap = max(gap, abs(gram[i, j] - gram[j, i]))
                    size = max(size, abs(gram[i, j]), abs(gram[j, i]))
    return gap, size


def check_gram(name: str, gram: Array, tick: Callable[[], None] = never_asked) -> None:
    """KernelError unless gram (n, n) is finite, symmetric and positive semidefinite; see `GramStack.from_array`.

    tick : called every tenth of a second or so; what it raises ends the check.
    """
    if not np.isfinite(gram).all():
        i, j = np.argwhere(~np.isfinite(gram))[0]
        raise KernelError(
            f"{name} is not finite: entry ({i}, {j}) is {gram[i, j]}. Recompute it, or leave out the rows it "
            "belongs to."
        )
    gap, size = asymmetry(gram)
    tick()
    if gap > SYMMETRY_TOLERANCE * size:
        raise KernelError(
            f"{name} is not symmetric: max |K_ij - K_ji| is {gap:.3g}, at most {SYMMETRY_TOLERANCE * size:.3g} was "
            "expected. Use (K + K') / 2 if the difference is rounding."
        )
    if size == 0 or is_semidefinite(gram, tick):
        return
    smallest, largest = _extremes(gram, tick)
    if smallest < -PSD_TOLERANCE * max(largest, 0.0):
        found = f"{smallest:.3g}" if np.isfinite(smallest) else "below that"
        raise KernelError(
            f"{name} is not positive semidefinite: its smallest eigenvalue is {found}, at least "
            f"{-PSD_TOLERANCE * max(largest, 0.0):.3g} (-1e-8 of the largest) was expected. "
            "Compute it in float64, or clip its negative eigenvalues to 0."
        )


def is_semidefinite(gram: Array, tick: Callable[[], None] = never_asked) -> bool:
    """Whether gram + 1e-8 r I has a Cholesky factor, r at most its largest eigenvalue: True is certain, False nearly
    so.

    r is a Rayleigh quotient, which never exceeds the largest eigenvalue. The factor is made panel by panel
    (left-looking, Golub and Van Loan, Matrix Computations, section 4.2.6), so that work on many rows can be ended.
    """
    vector = np.random.default_rng(0).standard_normal(len(gram))
    quotient = 0.0
    for _ in range(1 if len(gram) <= EXACT_ROWS else 6):
        vector = gram @ vector
        norm = float(np.linalg.norm(vector))
        if norm == 0:
            break
        vector /= norm
        quotient = float(vector @ gram @ vector)
        tick()
    factor = gram.copy()
    factor.flat[:: len(gram) + 1] += PSD_TOLERANCE * max(quotient, 0.0)
    for left in range(0, len(gram), PANEL):
        right = min(left + PANEL, len(gram))
        if left:
            factor[left:, left:right] -= factor[left:, :left] @ factor[left:right, :left].T
        corner, failed = scipy.linalg.lapack.dpotrf(factor[left:right, left:right], lower=True)
        if failed:
            return False
        factor[left:right, left:right] = corner
        if right < len(gram):
            factor[right:, left:right] = scipy.linalg.blas.dtrsm(
                1.0, corner, factor[right:, left:right].T, lower=True
            ).T
        tick()
    return True


def _extremes(gram: Array, tick: Callable[[], None]) -> tuple[float, float]:
    """The smallest and the largest eigenvalue; on many rows by Lanczos steps, whose smallest is at least the true
    one.
    """
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

    if len(gram) <= EXACT_ROWS:
        spectrum = np.linalg.eigvalsh(gram)
        return float(spectrum[0]), float(spectrum[-1])

    def times(vector: Array) -> Array:
        tick()
        product: Array = gram @ vector
        return product

    operator = LinearOperator(gram.shape, matvec=times, dtype=np.float64)
    start = np.random.default_rng(1).standard_normal(len(gram))
    ends = []
    for which in ("SA", "LA"):
        try:
            ends += list(eigsh(operator, k=1, which=which, v0=start, tol=1e-3, maxiter=20, return_eigenvectors=False))
        except ArpackNoConvergence:  # the factor has failed, so there is a negative one, and it is close to others
            ends.append(-np.inf if which == "SA" else float(start @ gram @ start / (start @ start)))
    return float(ends[0]), float(ends[1])


def clip_gram(gram: Array, tick: Callable[[], None] = never_asked) -> tuple[Array, float | None]:
    """gram (n, n) with negative eigenvalues set to 0, and the smallest of them; the same gram and None if it is PSD.

    Entries that are not finite are left to `check_gram`, which refuses them.
    """
    if not np.isfinite(gram).all() or is_semidefinite(gram, tick):
        return gram, None
    spectrum, vectors = np.linalg.eigh(0.5 * (gram + gram.T))
    if spectrum[0] >= -PSD_TOLERANCE * max(spectrum[-1], 0.0):
        return gram, None
    flat = (vectors * np.maximum(spectrum, 0.0)) @ vectors.T
    return 0.5 * (flat + flat.T), float(spectrum[0])


def clipped(values: Array, names: Sequence[str]) -> Array:
    """The stack (M, n, n) with negative eigenvalues of indefinite kernels set to 0; a UserWarning names each of
    them.
    """
    out = values
    for m, (name, gram) in enumerate(zip(names, values, strict=True)):
        flat, smallest = clip_gram(gram)
        if smallest is None:
            continue
        out = values.copy() if out is values else out
        out[m] = flat
        warnings.warn(
            f"{name} is not positive semidefinite (smallest eigenvalue {smallest:.3g}); its negative eigenvalues were "
            "set to 0, so predictions from unclipped test blocks no longer belong to it.",
            UserWarning,
            stacklevel=3,
        )
    return out
