"""Decision values of models that were fitted without the rows: what probabilities are learnt from."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from mklcore.arrays import Array, Indices, Labels
from mklcore.data.dataset import Dataset
from mklcore.data.splitting import codes_of, fold_rows, repeated
from mklcore.errors import DataError
from mklcore.kernels.operators import is_operator
from mklcore.paths.splitters import cut

FOLDS = 5


def held_out_decisions(model: Any, X: Any, y: Labels) -> tuple[Indices, Array]:
    """Which rows were held out, and their decision values, by ``model`` fitted again on ``FOLDS`` folds.

    ``X`` a table, a stack or a ``Dataset``, ``y`` (n,) labels. A class of one row is never held out. DataError where
    fewer than two classes have two rows, and for ready Gram matrices (p, q+1, n, n), which cannot be cut.
    """
    if not (is_operator(X) or isinstance(X, Dataset) or hasattr(X, "iloc") or hasattr(X, "release")):
        X = np.asarray(X)
    if getattr(X, "ndim", 2) == 4 or hasattr(X, "release"):
        raise DataError(
            "probability=True refits on folds of the rows, and ready Gram matrices per level cannot be cut."
        )
    weights = getattr(model, "sample_weight_", None)
    counted = np.ones(y.size, dtype=bool) if weights is None else weights > 0
    counts = np.unique(y[counted], return_counts=True)[1]
    if np.count_nonzero(counts >= 2) < 2:
        raise DataError(
            "probability=True holds rows of every class out, so two classes need at least two rows each; the class "
            "sizes are "
            f"{', '.join(map(str, counts[:6]))}."
        )
    seed = int(model.random_state) if isinstance(model.random_state, (int, np.integer)) else 0
    folds = fold_rows(codes_of(y), y.size, min(FOLDS, int(np.count_nonzero(repeated(y)))), seed)
    found: Array | None = None
    seen = np.zeros(y.size, dtype=bool)
    for train, held in folds:
        part, rest = cut(X, train, held, y.size)
        fresh = clone(model).set_params(probability=False, callback=None)
        fitted = fresh.fit(part, y[train]) if weights is None else fresh.fit(part, y[train], weights[train])
        said = fitted.decide_blocks(rest) if is_operator(X) else fitted.decision_function(rest)
        found = np.zeros((y.size, *said.shape[1:])) if found is None else found
        found[held], seen[held] = said, True
    rows = np.flatnonzero(seen & counted)
    return rows, found[rows]  # type: ignore[index]  # there are folds
