"""Whether a matrix from elsewhere is a kernel: finite, symmetric, positive semidefinite."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache

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
EXACT_ROWS = 1500  # up to so many rows a factor is made in one piece, and eigenvalues settle what it refuses
RANK = 16  # steps of a factor with pivots that are tried first: kernels of few columns need no more


@cache
def _pools() -> ThreadpoolController:
    """The pools of numpy's and of scipy's library, which is loaded first: a controller only knows the pools it has
    seen.
    """
    import scipy.linalg.blas  # noqa: F401

    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """One BLAS thread inside a loop over kernels, or in a function that it decorates: two took 2 to 13 times as long
    when other work shared the cores."""
    with _pools().limit(limits=1, user_api="blas"):
        yield


@jit_entry()
def copy_triangle(gram: Array, out: Array) -> int:
    """Copy the upper triangle of gram (n, n), and count the pairs of entries that a semidefinite matrix cannot have.

    These are entries that are not finite or above the largest diagonal entry, and pairs that differ by more than 1e-8
    of it. Tile by tile: of each tile below the diagonal a transposed copy is compared, so that both are read in rows.
    """
    n, size = gram.shape[0], 0.0
    for i in range(n):
        size = max(size, gram[i, i])
    slack, found = SYMMETRY_TOLERANCE * size, 0
    tile = np.empty((TILE, TILE))
    for top in range(0, n, TILE):
        bottom = min(top + TILE, n)
        for left in range(top, n, TILE):
            right = min(left + TILE, n)
            for j in range(left, right):
                below = gram[j, top:bottom]
                for i in range(below.size):
                    tile[i, j - left] = below[i]
            for i in range(top, bottom):
                above, mirrored, target = gram[i, left:right], tile[i - top], out[i, left:right]
                for j in range(above.size):
                    target[j] = above[j]
                    found += not (abs(above[j]) <= size + slack and abs(above[j] - mirrored[j]) <= slack)
    return found


@jit_entry()
def asymmetry(gram: Array) -> tuple[float, float]:
    """max |K_ij - K_ji| and max |K_ij|."""
    n = gram.shape[0]
    gap = 0.0
    size = 0.0
    for i in range(n):
        for j in range(n):
            gap = max(gap, abs(gram[i, j] - gram[j, i]))
            size = max(size, abs(gram[i, j]))
    return gap, size


@jit_entry({"reassoc", "contract"})
def low_rank_error(gram: Array) -> float:
    """||K - L L'||_F of the symmetric gram (n, n), L up to ``RANK`` steps of its Cholesky factor with pivots; infinity
    where more steps are needed (Harbrecht, Peters, Schneider, 2012).
    """
    n = gram.shape[0]
    factor, left, rest, pivot, rank = np.empty((RANK, n)), np.empty(n), np.empty(n), 0, 0
    for i in range(n):  # loops compile in a tenth of the time of numpy's functions and of assignments of arrays
        left[i] = gram[i, i]
        pivot = i if left[i] > left[pivot] else pivot
    enough = PSD_TOLERANCE * left[pivot]
    while left[pivot] > enough:
        if rank == RANK:
            return np.inf
        row, root, source = factor[rank], np.sqrt(left[pivot]), gram[pivot]
        for j in range(n):
            row[j] = source[j]
        for k in range(rank):
            share, before = factor[k, pivot], factor[k]
            for j in range(n):
                row[j] -= share * before[j]
        for j in range(n):
            row[j] /= root
            left[j] -= row[j] * row[j]
        pivot, rank = 0, rank + 1
        for j in range(1, n):
            pivot = j if left[j] > left[pivot] else pivot
    total = 0.0
    for i in range(n):
        source = gram[i]
        for j in range(n):
            rest[j] = source[j]
        for k in range(rank):
            share, before = factor[k, i], factor[k]
            for j in range(n):
                rest[j] -= share * before[j]
        for j in range(n):
            total += rest[j] * rest[j]
    return float(np.sqrt(total))


def check_gram(name: str, gram: Array, tick: Callable[[], None] = never_asked, room: Array | None = None) -> None:
    """KernelError unless gram (n, n) is finite, symmetric and positive semidefinite; see `GramStack.from_array`.

    tick : called every tenth of a second or so; what it raises ends the check. room (n, n) : what its factor is made
    in.
    """
    room = np.empty_like(gram) if room is None else room
    if copy_triangle(gram, room) or not has_factor(gram, room, tick):
        _explain(name, gram, tick)


def _explain(name: str, gram: Array, tick: Callable[[], None]) -> None:
    """KernelError with the number that failed, unless the eigenvalues allow what the quick tests did not."""
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
    """Whether gram + 1e-8 r I has a Cholesky factor, r a Rayleigh quotient, which never exceeds the largest eigenvalue:
    True is certain, False nearly so.
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
    return _has_factor(gram.copy(), quotient, tick)


def has_factor(gram: Array, room: Array, tick: Callable[[], None]) -> bool:
    """Whether a few steps of a Cholesky factor with pivots, or all of one, show that gram (n, n) is semidefinite.

    ``room`` (n, n) holds its upper triangle and is overwritten. The largest diagonal entry stands for the largest
    eigenvalue, which is at least that: True is certain.
    """
    size = float(gram.diagonal().max())
    return low_rank_error(gram) <= PSD_TOLERANCE * size or _has_factor(room, size, tick)


def _has_factor(room: Array, largest: float, tick: Callable[[], None]) -> bool:
    """Whether the matrix in the upper triangle of ``room`` has a Cholesky factor with 1e-8 ``largest`` added to its
    diagonal.

    In one piece where that takes a moment, and else panel by panel (left-looking, Golub and Van Loan, Matrix
    Computations, section 4.2.6), so that work on many rows can be ended.
    """
    n, factor = len(room), room.T
    room.flat[:: n + 1] += PSD_TOLERANCE * max(largest, 0.0)
    panel = n if n <= EXACT_ROWS else PANEL
    for left in range(0, n, panel):
        right = min(left + panel, n)
        if left:
            factor[left:, left:right] -= factor[left:, :left] @ factor[left:right, :left].T
        corner, failed = scipy.linalg.lapack.dpotrf(
            factor[left:right, left:right], lower=True, clean=False, overwrite_a=True
        )
        if failed:
            return False
        if right < n:
            factor[left:right, left:right] = corner
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
