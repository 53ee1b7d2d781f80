"""Compile every leaf once, or load it from the cache, so that no first click waits for a compiler."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.estimators import ESTIMATORS, Algorithm
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.finishing import NORMALISATIONS
from mklcore.kernels.functions import KERNELS
from mklcore.kernels.grams import GramStack
from mklcore.kernels.measures import alignment_matrix
from mklcore.solvers.bundle import saddle_point
from mklcore.solvers.hkl.bases import ANOVABasis
from mklcore.solvers.working_set import FROM_KERNELS


def warm_up(progress: Callable[[float, str], None] | None = None) -> None:
    """Run every kernel and every algorithm once on sixteen rows; ``progress(share done, what comes next)``.

    Safe to call from a background thread. Takes seconds in a fresh installation and well under one with the cache.
    """
    rng = np.random.default_rng(0)
    X = rng.standard_normal((16, 3))
    y = (X[:, 0] + 0.3 * rng.standard_normal(16) > 0).astype(int)
    tasks: list[tuple[str, Callable[[], Any]]] = [("kernels", partial(_kernels, X))]
    tasks.append(("mixtures of duals", partial(saddle_point, np.ones(2), np.ones((3, 2, 2)))))
    tasks += [(algorithm.label, partial(_algorithm, algorithm, X, y)) for algorithm in ESTIMATORS.values()]
    for k, (name, task) in enumerate(tasks):
        if progress is not None:
            progress(k / len(tasks), name)
        task()
    if progress is not None:
        progress(1.0, "ready")


def _kernels(X: Array) -> None:
    defaults: list[dict[str, Any]] = [{p.name: p.default for p in entry.parameters} for entry in KERNELS.values()]
    pairs = zip(KERNELS.values(), defaults, strict=True)
    specs = KernelDictionary(tuple(entry.spec(**parameters) for entry, parameters in pairs))
    for normalise in NORMALISATIONS:
        for center in (False, True):
            stack = specs.grams(X, normalise=normalise, center=center)
            stack.cross(X[:5])
    alignment_matrix(GramStack.from_array(stack.values.copy()))


def _algorithm(algorithm: Algorithm, X: Array, y: Array) -> None:
    if algorithm.on == "table":
        _table_algorithm(algorithm, X, y)
        return
    stack = KernelDictionary.rbf_grid(np.geomspace(0.25, 4.0, FROM_KERNELS)).grams(X)
    for task, target in (("binary", y), ("regression", X[:, 1])):
        losses = next((c.choices for c in algorithm.controls if c.name == "loss" and task in c.tasks), (None,))
        for loss in losses:
            parameters = {} if loss is None else {"loss": loss}
            model = algorithm.estimator(task, kernels="precomputed", **parameters)
            model.fit(stack, target)
            model.fit(stack.values.copy(), target)
            if any(control.kind == "p" for control in algorithm.controls):
                model.set_params(p=2.0).fit(stack, target)
    if algorithm.novelty is not None:
        algorithm.estimator("novelty", kernels="precomputed").fit(stack)


def _table_algorithm(algorithm: Algorithm, X: Array, y: Array) -> None:
    """Levels as columns and as blocks go through different leaves; a small budget goes the way without tables."""
    for basis in (None, ANOVABasis()):
        for memory in (64, 0.05):
            algorithm.estimator("regression", basis=basis, memory_mb=memory, lam=0.1).fit(X, X[:, 1]).predict(X[:5])
    algorithm.estimator("binary", loss="hinge", lam=0.1).fit(X, y)
