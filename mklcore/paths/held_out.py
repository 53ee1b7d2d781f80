"""The score of a path on all rows that were left out, where only some of them chose its best point.

A few hundred rows say at once which point is good; what the model is worth is stated on all that are there. Kernel
values of many rows against the training rows are too many to be held, so that they are made, used and forgotten a few
at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from mklcore.arrays import Array, Labels
from mklcore.kernels.grams import GramStack
from mklcore.paths.path import Path, judged
from mklcore.selection.scoring import Scoring

BLOCK_MB = 64.0  # of kernel values at a time


def steps(stack: GramStack, n_rows: int) -> int:
    """In how many stretches ``n_rows`` rows are looked at."""
    return -(-n_rows // _rows_at_a_time(stack))


def _rows_at_a_time(stack: GramStack) -> int:
    numbers = getattr(stack.transform, "numbers_per_row", stack.n_kernels * stack.n_samples)
    return max(1, int(BLOCK_MB * 1e6 / (8 * numbers)))


def scored_on(
    path: Path,
    stack: GramStack,
    X: Array,
    y: Labels,
    scoring: Scoring = None,
    callback: Callable[[int, int], Any] | None = None,
) -> Path:
    """The same path, its ``val_score`` measured on other rows; nothing is solved again.

    ``X`` (n, d), a ``Dataset.table``, and ``y`` (n,): those rows and their target.
    ``stack`` the training stack of the path, made by a dictionary, or its features; ``scoring`` as in ``fit_path``.
    ``callback(done, total)`` after every stretch of rows, raise in it to cancel. KernelError for a stack that cannot
    evaluate its kernels.
    """
    points, step, total = path.estimators, _rows_at_a_time(stack), steps(stack, len(y))
    said: list[list[Array]] = []
    for done, first in enumerate(range(0, len(y), step), 1):
        said.append(points[0].decide_along(points, stack.cross(X[first : first + step])))
        if callback is not None:
            callback(done, total)
    decided = [np.concatenate(parts) for parts in zip(*said, strict=True)]
    return replace(path, val_score=judged(points, decided, y, scoring))
