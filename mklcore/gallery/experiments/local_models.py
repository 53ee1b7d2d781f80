"""Who is related to a new thing? One model per thing of a network that is known, each on the same kernels of things.

    s(j, i) = f_i(j),   f_i fitted to tell the things related to i from the others, over the known things except i

A pair of a known thing i and a new thing j is scored by what the model of i says of j. Several kernels of things are
combined by whatever estimator is passed. Source: Bleakley, Biau and Vert (2007), as used by Kloft et al. (2011),
section 6.4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from mklcore.arrays import Array, Indices
from mklcore.errors import DataError, ParameterError, suppress_convergence_warnings
from mklcore.kernels.grams import GramStack, as_stack

FEWEST = 3  # related things that a model needs: fewer leave the problem ill-defined


def local_scores(
    estimator: Any,
    K: Any,
    network: Any,
    known: Any,
    new: Any,
    *,
    fewest: int = FEWEST,
    callback: Callable[[int, int], Any] | None = None,
) -> Array:
    """Scores (a, b) of every pair of a new and a known thing: the larger, the likelier they are related.

    ``estimator`` an unfitted classifier of this library, not changed; ``K`` (M, n, n) kernels between all n things;
    ``network`` (n, n) symmetric, 1 where two are related and 0 elsewhere, read between known things only; ``known``
    (b,) and ``new`` (a,) indices. A known thing with fewer than ``fewest`` relations to known things gets no model:
    NaN. ``callback(done, total)`` after every model; raise in it to cancel. DataError where the network does not fit
    the kernels.
    """
    if not is_classifier(estimator):
        raise ParameterError(
            f"A local model tells related from unrelated: pass a classifier; got {type(estimator).__name__}."
        )
    values, related = as_stack(K), np.asarray(network, dtype=float)
    if (
        related.shape != values.shape[1:]
        or not np.array_equal(related, related.T)
        or not np.isin(related, (0, 1)).all()
    ):
        raise DataError(
            f"A network is a symmetric table of 0 and 1, {values.shape[1]} x {values.shape[1]} as the kernels; got "
            f"the shape "
            f"{related.shape}, or another number, or a pair that is related one way only."
        )
    rows, others = _indices("known", known, len(related)), _indices("new", new, len(related))
    out = np.full((others.size, rows.size), np.nan)
    for place, one in enumerate(rows):
        rest = rows[rows != one]
        y = related[one, rest]
        if fewest <= y.sum() < y.size:
            with suppress_convergence_warnings():  # one of hundreds of models may stop short of its tolerance
                model = clone(estimator).fit(GramStack.from_array(values[:, rest[:, None], rest]), y)
            out[:, place] = model.decide_blocks(np.ascontiguousarray(values[:, others[:, None], rest]))
        if callback is not None:
            callback(place + 1, rows.size)
    return out


def _indices(name: str, given: Any, n: int) -> Indices:
    found = np.asarray(given)
    if found.ndim != 1 or not found.size or found.dtype.kind not in "iu" or found.min() < 0 or found.max() >= n:
        raise ParameterError(
            f"{name} are indices of things, whole numbers from 0 to {n - 1}, at least one; got {given!r}."
        )
    return found.astype(np.int64)
