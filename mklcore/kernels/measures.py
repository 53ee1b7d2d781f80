"""Numbers that describe a stack of Gram matrices K (M, n, n): alignment, spectra, rank, duplicates.

Every function takes a `GramStack` or an array and never forms a second array of M n^2 numbers, as long as the array
is C-contiguous float64.
"""

from typing import Any

import numpy as np

from mklcore.arrays import Array, Mask, one_blas_thread
from mklcore.errors import DataError, ParameterError
from mklcore.kernels.grams import as_stack

CONSTANT_TOLERANCE = 1e-12


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
