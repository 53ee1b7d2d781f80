"""How stable a selection is: how often it comes out the same on other rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from mklcore.arrays import Array, Labels, one_blas_thread
from mklcore.data.splitting import codes_of, split_rows
from mklcore.errors import DataError, suppress_convergence_warnings
from mklcore.hkl.graph import Node

HALVES = 20  # how many half samples are drawn
FEWEST_ROWS = 20  # half of fewer rows would be too small to judge a selection


@dataclass(frozen=True, eq=False)
class Stability:
    """How often columns and extreme points are selected on half samples.

    Parameters
    ----------
    columns : ndarray of shape (p,)
        Share of the half samples on which a node of the hull uses the column.
    extreme_points : dict
        Node -> share of the half samples on which it is an extreme point, in falling order; nodes
        that were never extreme points are left out.
    rounds : int
        Number of half samples.
    """

    columns: Array
    extreme_points: dict[Node, float]
    rounds: int


def selection_stability(
    model: Any,
    X: Array,
    y: Labels,
    *,
    rounds: int | None = None,
    seed: int = 0,
    row_groups: Labels | None = None,
    callback: Callable[[int, int], None] | None = None,
) -> Stability:
    """How often would the same columns and extreme points be selected on other rows?

    The model is fitted again, with its lam and all other parameters, on samples of half the rows,
    drawn without replacement and with every class in its share.

    Parameters
    ----------
    model : HKLClassifier or HKLRegressor
        The model whose selection is judged; it is not changed.
    X : ndarray of shape (n, p)
        The rows it was fitted on.
    y : ndarray of shape (n,)
        Their target.
    rounds : int, optional
        Number of half samples, ``HALVES`` (20) unless given.
    seed : int, default 0
        Seed of the draws.
    row_groups : array of shape (n,), optional
        Groups of rows that belong together: all rows of a group are in a sample, or none of them.
    callback : callable, optional
        Called as ``callback(done, total)`` after every fit. Raise an exception in it to cancel.

    Returns
    -------
    Stability
        Shares of the half samples, from 0 to 1.

    Raises
    ------
    DataError
        for fewer than ``FEWEST_ROWS`` rows, and for groups that cannot be cut in two halves

    References
    ----------
    Meinshausen and Buehlmann (2010), Stability selection, section 2: half samples, selection
    frequencies.

    Examples
    --------
    >>> from mklcore.data.samples import load_sample
    >>> from mklcore.estimators.hkl import HKLRegressor
    >>> data = load_sample("diabetes").drawn(80, 0)
    >>> model = HKLRegressor(lam=0.3)
    >>> selection_stability(model, data.X[:, :3], data.y, rounds=2).columns.shape
    (3,)
    """
    n = len(y)
    count = HALVES if rounds is None else rounds
    if n < FEWEST_ROWS:
        raise DataError(
            f"Half of {n} rows is too small a sample to judge a selection; at least "
            f"{FEWEST_ROWS} rows are needed."
        )
    rng = np.random.default_rng(seed)
    classes = codes_of(y) if is_classifier(model) else None
    columns = np.zeros(X.shape[1])
    counts = dict[Node, int]()
    with one_blas_thread(), suppress_convergence_warnings():
        for done in range(count):
            draw = int(rng.integers(2**31))
            rows = np.sort(
                split_rows(
                    classes,
                    n,
                    [0.5],
                    draw,
                    row_groups=row_groups,
                )[0]
            )
            fitted = clone(model).set_params(callback=None).fit(X[rows], y[rows])
            columns += np.any(np.array(fitted.hull_).reshape(-1, X.shape[1]), axis=0)
            for node in fitted.extreme_points_:
                counts[node] = counts.get(node, 0) + 1
            if callback is not None:
                callback(done + 1, count)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    extreme_points = {node: times / count for node, times in ordered}
    return Stability(columns / count, extreme_points, count)
