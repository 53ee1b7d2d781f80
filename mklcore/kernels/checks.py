"""Whether a matrix from elsewhere is a kernel: finite, symmetric, positive semidefinite."""

import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numba import njit
from scipy.linalg.lapack import dpotrf
from threadpoolctl import ThreadpoolController

from mklcore.arrays import Array
from mklcore.errors import KernelError

SYMMETRY_TOLERANCE = 1e-8
PSD_TOLERANCE = 1e-8
TILE = 64
# Made after numpy's and scipy's libraries are loaded: a controller only knows the pools it has seen.
_POOLS = ThreadpoolController()


def one_blas_thread() -> AbstractContextManager[Any]:
    """One BLAS thread inside a loop over kernels: two took 2 to 13 times as long when other work shared the cores."""
    limit: AbstractContextManager[Any] = _POOLS.limit(limits=1, user_api="blas")
    return limit


@njit(cache=True, nogil=True)
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


def check_gram(name: str, gram: Array) -> None:
    """KernelError unless gram (n, n) is finite, symmetric and positive semidefinite; see `GramStack.from_array`."""
    if not np.isfinite(gram).all():
        i, j = np.argwhere(~np.isfinite(gram))[0]
        raise KernelError(
            f"{name} is not finite: entry ({i}, {j}) is {gram[i, j]}. Recompute it, or leave out the rows it "
            "belongs to."
        )
    gap, size = asymmetry(gram)
    if gap > SYMMETRY_TOLERANCE * size:
        raise KernelError(
            f"{name} is not symmetric: max |K_ij - K_ji| is {gap:.3g}, at most {SYMMETRY_TOLERANCE * size:.3g} was "
            "expected. Use (K + K') / 2 if the difference is rounding."
        )
    # A Rayleigh quotient never exceeds the largest eigenvalue, so passing with it is passing; a failure is settled
    # by the eigenvalues themselves.
    vector = gram @ np.random.default_rng(0).standard_normal(gram.shape[0])
    norm = float(np.linalg.norm(vector))
    jittered = gram.copy()
    if norm > 0:
        vector /= norm
        jittered.flat[:: gram.shape[0] + 1] += PSD_TOLERANCE * max(float(vector @ gram @ vector), 0.0)
    _, failed = dpotrf(jittered.T, lower=True, overwrite_a=True, clean=False)
    if not failed:
        return
    spectrum = np.linalg.eigvalsh(gram)
    if spectrum[0] < -PSD_TOLERANCE * max(spectrum[-1], 0.0):
        raise KernelError(
            f"{name} is not positive semidefinite: its smallest eigenvalue is {spectrum[0]:.3g}, at least "
            f"{-PSD_TOLERANCE * max(spectrum[-1], 0.0):.3g} (-1e-8 of the largest) was expected. "
            "Compute it in float64, or clip its negative eigenvalues to 0."
        )


def clip_gram(gram: Array) -> tuple[Array, float | None]:
    """gram (n, n) with negative eigenvalues set to 0, and the smallest of them; the same gram and None if it is PSD.

    Entries that are not finite are left to `check_gram`, which refuses them in words.
    """
    if not np.isfinite(gram).all():
        return gram, None
    spectrum, vectors = np.linalg.eigh(0.5 * (gram + gram.T))
    if spectrum[0] >= -PSD_TOLERANCE * max(spectrum[-1], 0.0):
        return gram, None
    flat = (vectors * np.maximum(spectrum, 0.0)) @ vectors.T
    return 0.5 * (flat + flat.T), float(spectrum[0])


def clipped(values: Array, names: Sequence[str]) -> Array:
    """The stack (M, n, n) with negative eigenvalues of indefinite kernels set to 0; a UserWarning names each of them."""
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
