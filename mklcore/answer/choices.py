"""How far a choice of few kernels is from the best choice of as many: searched, and in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mklcore.arrays import Array, Indices
from mklcore.errors import Progress
from mklcore.figures import captions, style
from mklcore.io.catalog import ESTIMATORS
from mklcore.paths.path import Path, fit_path

SAME = 1e-6  # share of an objective by which equal ones may differ
_NAMED = 3  # most kernels that a sentence names on one side
_OF_PURSUIT = ("n_kernels", "loss")  # parameters of MKL-GOMP that a search has otherwise
MOST_SIZES = 10  # sizes of a path whose best choices are searched for
Named = Callable[[str], str]


def is_searched(path: Path) -> bool:
    """Whether the best choices of as many kernels can be searched for: along s, with squared loss
    and kernels that are not approximated.
    """
    model = path.estimators[0]
    is_exact = getattr(model, "approximation", None) is None
    return path.param == "s" and is_exact and bool(np.isfinite(path.dual_gap).any())


def best_choices(
    path: Path,
    X: Any,
    y: Any,
    callback: Progress,
) -> Path:
    """The best kernels for the sizes of a path of MKL-GOMP, on the rows ``X`` and the target ``y``
    that it was fitted on: the smallest ``MOST_SIZES`` sizes, with the relaxations of a page.
    """
    model = path.estimators[0]
    task = "binary" if hasattr(model, "classes_") else "regression"
    shared = {name: own for name, own in model.get_params().items() if name not in _OF_PURSUIT}
    unfitted = ESTIMATORS["best_k"].estimator(task, **shared)
    sizes = np.unique(path.n_nonzero[path.n_nonzero > 0])[:MOST_SIZES]
    return fit_path(unfitted, X, y, "s", sizes.tolist(), callback=callback)


def excesses(best: Path, X: Any, y: Any, others: Mapping[str, Path]) -> dict[str, Array]:
    """How much larger the objective of each method's first k kernels is than that of the best k.

    Gives, by the name of the method, a share (L,) for every size k of ``best``. NaN: no point of
    the path has k kernels, or the k-th and the next weigh alike. Negative: the search of the best
    ended early and missed them.

    ``X`` and ``y`` are the rows of ``best``. The first k kernels of a method are the k largest
    weights at the point of its path that uses the fewest kernels, but at least k; the nearest to
    the point that folds chose where several use as few. They are learned anew with the problem of
    ``best``.
    """
    found = {name: np.full(len(best), np.nan) for name in others}
    same = {name: one for name, one in others.items() if one.kernel_names == best.kernel_names}
    if not same:
        return found
    model = best.estimators[0]
    problem = model.problem(*model.training_stack(X, y))
    for name, other in same.items():
        for place, size in enumerate(best.n_nonzero):
            first = _first_kernels(other, int(size))
            if first is not None:
                found[name][place] = problem.value(first) / best.objective[place] - 1.0
    return found


def _first_kernels(path: Path, size: int) -> Indices | None:
    """The first ``size`` kernels of a method, None where its path does not say which they are."""
    enough = np.flatnonzero(path.n_nonzero >= size)
    if not enough.size:
        return None
    away = np.abs(np.arange(len(path)) - path.first_look)
    point = min(enough, key=lambda k: (path.n_nonzero[k], away[k]))
    weights = path.weights[point]
    order: Indices = np.argsort(-weights, kind="stable")
    last, following = np.append(weights[order], 0.0)[size - 1 : size + 1]
    return order[:size] if last > following else None  # else they are not the largest alone


def behind_best(
    path: Path,
    index: int,
    best: Path | None = None,
    named: Named = str,
) -> str:
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
        if gap <= SAME:
            return f"The chosen {kernels} {are} proven best."
        return f"The objective of the best {kernels} is at most {style.percent(gap)} lower."
    lowest = float(best.objective[place])
    bound = max(value * (1.0 - gap), lowest * (1.0 - float(best.relative_gap[place])))
    is_proven = bound >= lowest * (1.0 - SAME)
    excess = value / lowest - 1.0
    if excess <= SAME:
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


def alternatives(
    best: Path,
    index: int,
) -> list[tuple[tuple[str, ...], float]]:
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
    wanted = _settings(path, index)
    for place in range(len(best)):
        if _settings(best, place) == wanted and best.n_nonzero[place] == path.n_nonzero[index]:
            return place
    return None


def _settings(path: Path, index: int) -> tuple[Any, ...]:
    """What the problem of a point depends on, beside rows and kernels."""
    model = path.estimators[index]
    return getattr(model, "lam", None), getattr(model, "fit_intercept", None)


def _exchanged(
    path: Path,
    index: int,
    best: Path,
    place: int,
    named: Named,
) -> str:
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
