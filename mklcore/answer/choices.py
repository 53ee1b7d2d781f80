"""How far a choice of few kernels is from the best choice of as many, in words."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mklcore.figures import captions, style
from mklcore.paths.path import Path

_SAME = 1e-6  # share of an objective by which equal ones may differ
_NAMED = 3  # most kernels that a sentence names on one side
Named = Callable[[str], str]


def behind_best(path: Path, index: int, best: Path | None = None, named: Named = str) -> str:
    """How far the kernels of a point of ``path`` are from the best choice of as many; "" without a
    certificate.

    ``best`` is a path of the best k kernels on the same rows; it is ignored where it was solved
    with another lam, for other kernels, or not for this number of them. ``named`` writes the name
    of a kernel.
    """
    value = float(path.objective[index])
    gap = float(path.relative_gap[index])
    if not np.isfinite(gap):
        return ""
    size = int(path.n_nonzero[index])
    kernels = f"{size} kernels" if size > 1 else "kernel"
    are = "are" if size > 1 else "is"
    place = None if best is None else _same_problem(path, index, best)
    if best is None or place is None:
        if gap <= _SAME:
            return f"The chosen {kernels} {are} proven best."
        return f"The objective of the best {kernels} is at most {style.percent(gap)} lower."
    lowest = float(best.objective[place])
    bound = max(value * (1.0 - gap), lowest * (1.0 - float(best.relative_gap[place])))
    is_proven = bound >= lowest * (1.0 - _SAME)
    excess = value / lowest - 1.0
    if excess <= _SAME:
        if is_proven:
            return f"The chosen {kernels} {are} proven best."
        left = style.percent(1.0 - bound / value)
        return (
            f"The search found nothing better than the chosen {kernels}; the best {are} at "
            f"most {left} lower."
        )
    found = "" if is_proven else " that were found"
    said = f"The objective is {style.percent(excess)} above that of the best {kernels}{found}"
    more = (
        "" if is_proven else f" The best can be {style.percent(1.0 - bound / lowest)} lower still."
    )
    return f"{said}: {_exchanged(path, index, best, place, named)}.{more}"


def alternatives(best: Path, index: int) -> list[tuple[tuple[str, ...], float]]:
    """The choices within 1 % of the best that the search met, the best first: their kernels, and by
    which share their objective is above the lowest.
    """
    labels = captions.labels(best.kernel_names, best.kernel_families)
    lowest = float(best.objective[index])
    return [
        (tuple(labels[m] for m in chosen), max(found / lowest - 1.0, 0.0))
        for chosen, found in best.estimators[index].alternatives_
    ]


def _same_problem(path: Path, index: int, best: Path) -> int | None:
    """The point of ``best`` that solves the problem of this point, None where there is none."""
    if path.kernel_names != best.kernel_names:
        return None
    lam = getattr(path.estimators[index], "lam", None)
    for place, model in enumerate(best.estimators):
        if model.lam == lam and best.n_nonzero[place] == path.n_nonzero[index]:
            return place
    return None


def _exchanged(path: Path, index: int, best: Path, place: int, named: Named) -> str:
    """Which kernels were taken where others belong."""
    labels = captions.labels(path.kernel_names, path.kernel_families)
    own = np.asarray(path.weights[index]) > 0.0
    theirs = np.asarray(best.weights[place]) > 0.0
    taken = [named(labels[m]) for m in np.flatnonzero(own & ~theirs)]
    missed = [named(labels[m]) for m in np.flatnonzero(theirs & ~own)]
    if not taken or len(taken) > _NAMED:
        return f"{len(taken)} of its kernels are not among them"
    return (
        f"it took {style.joined(taken)} where {style.joined(missed)} "
        f"{'belongs' if len(missed) == 1 else 'belong'}"
    )
