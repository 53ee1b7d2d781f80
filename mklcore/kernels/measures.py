"""Numbers that describe a stack of Gram matrices K (M, n, n): alignment, spectra, rank, duplicates.

Every function takes a `GramStack` or an array and never forms a second array of M n^2 numbers, as long as the array
is C-contiguous float64.
"""

from typing import Any

import numpy as np

from mklcore._numba.decorators import jit_entry
from mklcore.arrays import Array, Mask
from mklcore.errors import DataError, KernelError, ParameterError
from mklcore.kernels.checks import one_blas_thread

DUPLICATE_TOLERANCE = 1e-10
CONSTANT_TOLERANCE = 1e-12
SAME_SCALE = 1e-9  # share by which the scales of exact copies may differ

UNCUT = (
    "scikit-learn's splitters cannot cut stacks: use mklcore.cross_validate_path, or a KernelDictionary inside a "
    "Pipeline; by hand, GramStack.from_array(K).take(rows) cuts both axes."
)


def as_stack(K: Any) -> Array:
    """K as a C-contiguous float64 array (M, n, n), read-only so that compiled functions see one type; no copy if it is
    one.

    Raises KernelError when K is not a numeric stack of square matrices.
    """
    raw = getattr(K, "values", K)
    try:
        array = np.asarray(raw)
    except ValueError as error:
        raise KernelError(f"A kernel stack must be a numeric array (M, n, n); this one is ragged ({error}).") from None
    if array.dtype.kind not in "biuf":
        raise KernelError(
            f"A kernel stack must be numeric; this one has dtype {array.dtype}. Convert it to float64 first."
        )
    if array.ndim != 3:
        hint = " For one kernel pass K[None]." if array.ndim == 2 else ""
        raise KernelError(f"A kernel stack must have three axes (M, n, n); this one has shape {array.shape}.{hint}")
    if array.shape[1] != array.shape[2]:
        raise KernelError(
            f"A kernel stack must hold square matrices (M, n, n); this one has shape {array.shape}. "
            f"Blocks between test and training rows belong to predict, not to fit. {UNCUT}"
        )
    if array.size == 0:
        raise KernelError(f"A kernel stack needs at least one kernel and one row; this one has shape {array.shape}.")
    view = np.ascontiguousarray(array, dtype=np.float64).view()
    view.flags.writeable = False
    return view


def alignment_matrix(K: Any) -> Array:
    """A_ij = <K_i, K_j>_F / (||K_i||_F ||K_j||_F), uncentred (Kloft et al. 2011, Figs. 5 and 6).

    K (M, n, n) stack or array. Returns (M, M), symmetric, in [0, 1] for PSD kernels, with 0 for a kernel that is 0.

    Parameters
    ----------
    K : ndarray of shape (M, n, n) or GramStack
        Gram matrices of the M kernels on the same n rows.

    Returns
    -------
    ndarray of shape (M, M)
        Alignments of every pair of kernels, 1 on the diagonal.

    Examples
    --------
    >>> alignment_matrix(np.stack([np.eye(2), 3 * np.eye(2)])).round(6).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    values = as_stack(K)
    flat = values.reshape(values.shape[0], -1)
    products = flat @ flat.T
    norms = np.sqrt(np.diag(products))
    present = norms > 0
    norms[~present] = 1.0
    alignment: Array = np.clip(products / np.outer(norms, norms), -1.0, 1.0)
    np.fill_diagonal(alignment, present.astype(np.float64))
    return alignment


def target_matrix(y: Any, task: str | None = None) -> Array:
    """Targets as columns Y (n, T): +-1 for two classes, one-hot for more, centred for regression.

    `task` is "binary", "multiclass", "regression" or None: then floats are a regression target (unless they are all
    -1 or +1) and everything else is labels. A two-dimensional y is taken as it is.
    """
    target = np.asarray(y)
    if task not in (None, "binary", "multiclass", "regression"):
        raise ParameterError(f'task must be "binary", "multiclass", "regression" or None, got {task!r}.')
    if target.ndim == 2:
        return np.ascontiguousarray(target, dtype=np.float64)
    if target.ndim != 1 or target.size == 0:
        raise DataError(f"A target must have one or two axes and at least one row, got shape {target.shape}.")
    if task is None and target.dtype.kind == "f" and not np.isin(target, (-1.0, 1.0)).all():
        task = "regression"
    if task == "regression":
        column: Array = target.astype(np.float64)[:, None]
        return column - float(column.mean())
    labels, codes = np.unique(target, return_inverse=True)
    if labels.size < 2:
        raise DataError(f"A target needs at least two classes, this one has only {labels[0]!r}.")
    if labels.size == 2:
        return np.where(codes[:, None] > 0, 1.0, -1.0)
    return np.eye(labels.size)[codes]


def target_alignment(K: Any, y: Any, task: str | None = None) -> Array:
    """Alignment of every kernel with the ideal kernel Y Y': <K_m, Y Y'>_F / (||K_m||_F ||Y Y'||_F), shape (M,).

    y (n,) labels or numbers, or (n, T) columns such as one-hot; see `target_matrix` for how y becomes Y.
    """
    values = as_stack(K)
    columns = target_matrix(y, task)
    if columns.shape[0] != values.shape[1]:
        raise DataError(f"The target has {columns.shape[0]} rows, the kernels have {values.shape[1]}.")
    ideal = np.linalg.norm(columns.T @ columns)
    aligned = np.array([np.sum(columns * (gram @ columns)) for gram in values])
    norms = np.array([np.linalg.norm(gram) for gram in values]) * ideal
    alignment: Array = np.divide(aligned, norms, out=np.zeros_like(aligned), where=norms > 0)
    return alignment


def eigenvalues(K: Any) -> Array:
    """Eigenvalues, largest first: (n,) for one matrix, (M, n) for a stack."""
    single = not hasattr(K, "values") and np.ndim(K) == 2
    values = as_stack(np.asarray(K)[None] if single else K)
    with one_blas_thread():
        spectra = np.array([np.linalg.eigvalsh(gram)[::-1] for gram in values])
    return spectra[0] if single else spectra


def effective_rank(K: Any) -> Array:
    """(sum of eigenvalues)^2 / (sum of their squares) = tr(K)^2 / ||K||_F^2, shape (M,); 0 for a kernel that is 0.

    1 when one direction holds everything, n when all directions are equal; needs no decomposition.
    """
    values = as_stack(K)
    traces = np.array([np.trace(gram) for gram in values])
    squares = np.array([np.vdot(gram, gram) for gram in values])
    ranks: Array = np.divide(traces**2, squares, out=np.zeros_like(traces), where=squares > 0)
    return ranks


def constant_kernels(K: Any, tolerance: float = CONSTANT_TOLERANCE) -> Mask:
    """Which kernels tell no two rows apart: tr(K)/n - 1'K1/n^2 is nothing beside tr(K)/n; shape (M,), bool."""
    values = as_stack(K)
    own = np.array([np.trace(gram) for gram in values]) / values.shape[1]
    constant: Mask = own - np.array([gram.mean() for gram in values]) <= tolerance * own
    return constant


def effective_rows(K: Any) -> Array:
    """On how many rows a kernel hangs: (sum_i s_i)^2 / sum_i s_i^2 of their squared distances s_i from the mean row,
    shape (M,).

    n where all rows are equally far from their mean in feature space, 2 where two rows are out and all others together:
    such a kernel aligns with any other that has a block there. 0 for a kernel that tells no two rows apart.

    >>> effective_rows(np.diag([1.0, 1.0, 0.0, 0.0])[None]).round(3).tolist()
    [2.769]
    """
    values = as_stack(K)
    spreads = np.array([np.maximum(gram.diagonal() - 2 * gram.mean(axis=0) + gram.mean(), 0.0) for gram in values])
    squares = (spreads**2).sum(axis=1)
    rows: Array = np.divide(spreads.sum(axis=1) ** 2, squares, out=np.zeros_like(squares), where=squares > 0)
    rows[constant_kernels(values)] = 0.0
    return rows


@jit_entry()
def _equal_up_to_scale(first: Array, second: Array, a: float, b: float, tolerance: float) -> bool:
    for i in range(first.shape[0]):
        worst = 0.0
        for j in range(first.shape[1]):
            gap = abs(first[i, j] * a - second[i, j] * b)
            worst = gap if gap > worst else worst
        if worst > tolerance:
            return False
    return True


def duplicates(K: Any, tolerance: float = DUPLICATE_TOLERANCE) -> tuple[tuple[int, ...], ...]:
    """Groups of kernels that are one kernel up to a positive factor: equal to `tolerance` once max_i K_ii = 1.

    Returns a tuple of index groups, each ascending with two members or more, ordered by their first index.
    """
    values = as_stack(K)
    n = values.shape[1]
    largest = values.diagonal(axis1=1, axis2=2).max(axis=1)
    factors = 1.0 / np.where(largest > 0, largest, 1.0)
    # A random projection of a few rows tells most kernels apart; only near-equal projections are compared in full.
    rows = np.unique(np.linspace(0, n - 1, min(n, 4)).astype(np.int64))
    probe = np.random.default_rng(0).uniform(-1.0, 1.0, (rows.size, n))
    keys = factors * np.array([np.vdot(probe, gram[rows]) for gram in values])
    slack = tolerance * np.abs(probe).sum() * (1 + 1e-6)
    groups: list[list[int]] = []
    for m in range(values.shape[0]):
        for group in groups:
            first = group[0]
            if abs(keys[m] - keys[first]) <= slack and _equal_up_to_scale(
                values[first], values[m], factors[first], factors[m], tolerance
            ):
                group.append(m)
                break
        else:
            groups.append([m])
    return tuple(tuple(group) for group in groups if len(group) > 1)


def exact_copies(K: Array) -> tuple[tuple[int, ...], ...]:
    """Groups of kernels of ``K`` (M, n, n) that are the same, scale included; the first of each group stands for
    all.
    """
    found = []
    for group in duplicates(K):
        by_scale: dict[float, list[int]] = {}
        for m in group:
            size = float(K[m].diagonal().max())
            same = next((known for known in by_scale if abs(known - size) <= SAME_SCALE * max(known, size)), size)
            by_scale.setdefault(same, []).append(m)
        found += [tuple(members) for members in by_scale.values() if len(members) > 1]
    return tuple(found)
