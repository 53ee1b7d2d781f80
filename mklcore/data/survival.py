"""Times until an event with known truth: a few pathways of genes decide, others do not, and some rows are censored."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mklcore.arrays import Array
from mklcore.errors import ParameterError

Groups = tuple[tuple[str, tuple[int, ...]], ...]


class SurvivalData(NamedTuple):
    """Rows ``X`` (n, d), target ``y`` (n, 2) of times and events, ``groups`` of columns; ``informative``, the names of
    those that decide, and ``risk`` (n,), the true logarithm of the hazard.
    """

    X: Array
    y: Array
    groups: Groups
    informative: tuple[str, ...]
    risk: Array


def make_survival(
    n: int,
    n_pathways: int = 10,
    n_genes: int = 8,
    n_informative: int = 2,
    *,
    censored: float = 0.3,
    strength: float = 1.5,
    seed: int = 0,
) -> SurvivalData:
    """Pathways of genes that vary together, a few of which decide how early an event comes.

    Every gene is 0.6 z + 0.8 noise with z its pathway's own signal; risk = ``strength`` times the mean of the z that
    decide, scaled to variance 1; times are exponential with hazard exp(risk), and about a share ``censored`` of the
    rows is seen only until a random time before the event. ParameterError for sizes that do not fit.

    >>> data = make_survival(50, seed=1)
    >>> data.X.shape, len(data.groups), data.informative
    ((50, 80), 10, ('pathway 1', 'pathway 2'))
    """
    if min(n, n_pathways, n_genes) < 1 or not 1 <= n_informative <= n_pathways or not 0 <= censored < 1:
        raise ParameterError(
            "make_survival needs sizes of 1 or more, no more informative pathways than there are, and censored in "
            "[0, 1)."
        )
    rng = np.random.default_rng(seed)
    signal = rng.standard_normal((n, n_pathways))
    X = 0.6 * np.repeat(signal, n_genes, axis=1) + 0.8 * rng.standard_normal((n, n_pathways * n_genes))
    risk = strength * signal[:, :n_informative].mean(axis=1) * np.sqrt(n_informative)
    time = rng.exponential(np.exp(-risk))
    is_censored = rng.random(n) < censored
    time = np.where(is_censored, time * rng.random(n), time)
    names = [f"pathway {k + 1}" for k in range(n_pathways)]
    groups = tuple((name, tuple(range(k * n_genes, (k + 1) * n_genes))) for k, name in enumerate(names))
    return SurvivalData(X, np.column_stack([time, ~is_censored]), groups, tuple(names[:n_informative]), risk)
