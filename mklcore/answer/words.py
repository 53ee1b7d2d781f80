"""Which words of a text column move the decision, and which way."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mklcore.answer.shapley import coefficients_of
from mklcore.arrays import Array
from mklcore.errors import ParameterError
from mklcore.kernels.sequences import Words


class WordEffect(NamedTuple):
    """What a ``word`` adds, on average, to the decisions (T,) of texts that have it, and the share of ``rows`` that
    do.
    """

    word: str
    effect: Array
    rows: float


def strongest_words(model: Any, name: str, most: int = 12) -> tuple[WordEffect, ...]:
    """The words of the text column ``name`` that move the decision most over all rows, the strongest first.

    ParameterError where the model reads no such text.
    """
    found = model._map
    kernels = [m for m, spec in enumerate(found.specs) if isinstance(spec, Words) and spec.label == name]
    if not kernels:
        raise ParameterError(f"No kernel of the model reads a text {name!r}.")
    spec = found.specs[kernels[0]]
    vectors = spec.vectors(found.rows)
    slopes = vectors.T @ sum(coefficients_of(model, m) for m in kernels)
    often = np.asarray((vectors > 0).mean(axis=0)).ravel()
    effect = slopes * (np.asarray(vectors.mean(axis=0)).ravel() / np.maximum(often, 1e-12))[:, None]
    order = np.argsort(-np.abs(effect).sum(axis=1) * often, kind="stable")[:most]
    return tuple(WordEffect(spec.vocabulary[j], effect[j], float(often[j])) for j in order.tolist() if often[j] > 0)
