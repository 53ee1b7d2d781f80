"""The rows that a graph of kernels sees: a table, or a stack of Gram matrices; and the graph on them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from mklcore.data.dataset import Dataset, row_fingerprints
from mklcore.errors import DataError, KernelError, ParameterError
from mklcore.kernels.operators import is_operator
from mklcore.solvers.hkl.graph import Graph
from mklcore.solvers.hkl.listed import ListedSpace


def check_graph(graph: Any, basis: Any, refit: bool) -> None:
    """ParameterError for what is no graph, or does not go with one."""
    if graph is None:
        return
    if not isinstance(graph, Graph):
        raise ParameterError(f"graph must be None or Graph(parents, kernels); got {graph!r}.")
    if basis is not None:
        raise ParameterError(
            "A graph brings its own kernels: leave basis out, or leave graph out for the grid of products."
        )
    if refit:
        raise ParameterError("refit=True needs kernels of rank one; those of a graph may be of any. Use refit=False.")


def checked_rows(model: Any, graph: Graph, X: Any, reset: bool) -> Any:
    """``X`` as the graph takes it: a validated table, or kernels as they are."""
    if isinstance(X, ListedSpace):
        return X
    if graph.is_precomputed or graph.kernels is None:
        return _ready(graph, X, reset, ready=isinstance(getattr(model, "design_", None), ListedSpace))
    if isinstance(X, Dataset):
        X = X.X
    rows = validate_data(model, X, reset=reset, dtype=np.float64, order="C", ensure_min_samples=2 if reset else 1)
    if reset:
        model.row_fingerprints_ = row_fingerprints(rows)
    return rows


def _ready(graph: Graph, X: Any, reset: bool, ready: bool) -> Any:
    """Rows of a graph whose kernels are not functions."""
    if reset and graph.is_precomputed:
        count = len(graph.kernels[0])
        if X is not None and not (is_operator(X) or isinstance(X, Dataset)) and np.ndim(X) < 3 and len(X) != count:
            raise DataError(f"The kernels of the graph have {count} rows, the table has {len(X)}.")
        return None
    if is_operator(X) or np.ndim(X) == 3:
        return X
    if not reset and ready:
        return X  # the space says what it expects
    raise KernelError(
        "A graph without kernel functions takes kernels in place of the table: a stack (M, n, n), one per node."
    )


def count_rows(graph: Graph, rows: Any) -> int:
    """How many training rows there are."""
    if is_operator(rows) or isinstance(rows, ListedSpace):
        return int(rows.n_samples)
    if rows is None:
        return int(graph.kernels.shape[1])
    return int(np.shape(rows)[1] if np.ndim(rows) == 3 else len(rows))


def space_of(graph: Graph, rows: Any, normalise: bool, memory_mb: float) -> ListedSpace:
    """The graph on training rows."""
    if isinstance(rows, ListedSpace):
        return rows
    return ListedSpace.of(graph, rows, normalise=normalise, memory_mb=memory_mb)
