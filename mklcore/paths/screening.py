"""Screening of columns before a hull is searched: which of very many columns are worth a place in the grid."""

from __future__ import annotations

from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.errors import DataError, ParameterError
from mklcore.hkl.design import Design
from mklcore.hkl.graph import Node

_BLOCK = 1000  # columns worked on at once: (1000, p) products


def column_scores(X: Any, y: Any, *, order: int = 1, basis: Any = None) -> Array:
    """Score each column by the small kernels of HKL's grid that touch it, for screening thousands of columns.

    The score of column i is max_v y'K_v y / (n y'y) over nodes v of the grid that touch i, with y centred (several
    classes: the largest over their indicators) and K_v of mean diagonal one: the largest squared correlation of the
    target with one feature of the column. ``order=1`` looks at every level of the column alone, ``order=2`` also at
    the product of the column with each other one, all p (p - 1) / 2 of them, in 4 n p^2 multiplications.

    A hull that is searched among the best columns is certified within these columns, and says nothing of the others: a
    column that acts in products of three alone is missed by both orders.

    Parameters
    ----------
    X : array of shape (n, p)
        Rows and columns, numbers only.
    y : array of shape (n,)
        Numbers; classes by name or of a boolean or integer type with at most 20 values.
    order : {1, 2}, default 1
        How many columns a node may touch.
    basis : Basis, str or None
        What a column's kernels are, as in ``HKLRegressor``; None for polynomials of degree 4.

    Returns
    -------
    scores : array of shape (p,)
        Between 0 and 1, as ``sklearn.feature_selection.SelectKBest`` wants them.

    Raises
    ------
    ParameterError
        ``order`` is neither 1 nor 2.
    DataError
        Rows of X and y differ in number, or y is constant.

    References
    ----------
    Bach (2008), section 4.2 (relevance of a node); Fan and Lv (2008), sure independence screening.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.feature_selection import SelectKBest
    >>> from sklearn.pipeline import make_pipeline
    >>> from mklcore import HKLRegressor, PolynomialBasis
    >>> from mklcore.paths import column_scores
    >>> X = np.random.default_rng(0).standard_normal((300, 500))
    >>> y = X[:, 3] + X[:, 8] + X[:, 3] * X[:, 8]
    >>> model = make_pipeline(SelectKBest(column_scores, k=8), HKLRegressor(PolynomialBasis(2), lam=1e-3)).fit(X, y)
    >>> bool(model[-1].certified_)
    True
    """
    if order not in (1, 2):
        raise ParameterError(f"order must be 1 or 2; got {order!r}.")
    X, targets = np.asarray(X, dtype=float), _centred(np.asarray(y))
    if len(X) != len(targets):
        raise DataError(f"X has {len(X)} rows and y has {len(targets)}; they must be the same rows.")
    scores = _alone(X, targets, basis)
    return scores if order == 1 else np.maximum(scores, _in_pairs(X, targets))


def _centred(y: Array) -> Array:
    """Targets (n, T) of mean zero and length one; of classes their indicators."""
    if y.dtype.kind in "OUSb" or (y.dtype.kind in "iu" and len(np.unique(y)) <= 20):
        y = np.equal.outer(y, np.unique(y)).astype(float)
    y = np.reshape(y, (len(y), -1)) - y.mean(axis=0)
    lengths = np.linalg.norm(y, axis=0)
    if not np.all(lengths > 0):
        raise DataError("The target is the same in every row, so that no column is related to it.")
    found: Array = y / lengths
    return found


def _alone(X: Array, targets: Array, basis: Any) -> Array:
    probe = Design(X[:, :1], basis)
    block = _BLOCK if probe.all_columns else 10
    nodes: list[Node] = [((i, level),) for i in range(block) for level in range(1, probe.q + 1)]
    found = []
    for first in range(0, X.shape[1], block):
        design = Design(X[:, first : first + block], basis)
        asked = nodes[: design.p * design.q]
        forms = [design.forms(asked, np.ascontiguousarray(target)) for target in targets.T]
        found.append(np.max(forms, axis=0).reshape(design.p, -1).max(axis=1))
    return np.minimum(np.concatenate(found) / len(X), 1.0)


def _in_pairs(X: Array, targets: Array) -> Array:
    """max_j (sum_r y_r x_ri x_rj)^2 / sum_r x_ri^2 x_rj^2 of standardised columns, a block of columns at a time."""
    spread = X.std(axis=0)
    X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    squares, found = X**2, np.zeros(X.shape[1])
    for first in range(0, X.shape[1], _BLOCK):
        part = slice(first, first + _BLOCK)
        size = squares[:, part].T @ squares
        for target in targets.T:
            related = ((X[:, part].T * target) @ X) ** 2 / np.where(size > 0, size, 1.0)
            related[np.arange(len(related)), first + np.arange(len(related))] = 0.0  # a square is a level, not a pair
            found[part] = np.maximum(found[part], related.max(axis=1))
    return found
