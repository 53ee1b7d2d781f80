"""Derive the choice of a path's parameter without its validation rows: leave-one-out, folds, or folds over (λ, s)."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mklcore.paths.path import log_grid
from mklcore.selection import choose, cross_validate_path
from mklcore.selection.choose_c import choose_C
from pages._parts.derive import paths, scores, tables
from pages._parts.derive.derived import Derived, derived
from pages._parts.jobs.job import Job, Report
from pages._parts.params.parameters import PathParams

FOLDS = 5
LAMS, SIZES = 9, 12
WAYS = {
    "loo": "exact leave-one-out",
    "kfold": "folds",
}


@dataclass(frozen=True, eq=False)
class Tuned:
    """What was compared: ``measure`` over ``values`` (L,), or over ``lams`` and ``sizes`` (L, S); ``at`` is the chosen
    value of the path's parameter, ``place`` the choice, ``measured`` how.
    """

    measure: str
    measured: str
    values: np.ndarray
    scores: np.ndarray
    at: float
    place: tuple[int, ...]
    lams: np.ndarray | None = None
    sizes: np.ndarray | None = None


def can(params: PathParams) -> bool:
    """Tell whether there is something to choose this way: a path over C, or methods that add kernels one by one."""
    if scores.scoring(params) is None:
        return False
    over = paths.runs_over(params).key
    task = tables.table(params).task
    has_loss = any(one.name == "loss" and task in one.tasks for one in paths.algorithm(params).controls)
    return (over == "C" and has_loss) or _is_greedy(params)


def _is_greedy(params: PathParams) -> bool:
    kind = paths.algorithm(params).kind(tables.table(params).task)  # an estimator would ask for the Gram matrices
    return paths.runs_over(params).key in ("lam", "s") and hasattr(kind, "along_grid")


def tuned(params: PathParams) -> Derived[Tuned]:
    """Return what was chosen, with its key."""
    return derived(params, "tuned", paths.key)


def job(params: PathParams, values: np.ndarray) -> Job:
    """Return the work that chooses, along the ``values`` of the path on the screen."""
    given, measure = paths.prepared(params), scores.special(params)
    stack, y = given.grams.train, given.parts.train.y
    greedy, seed, over = _is_greedy(params), params.seed, given.over

    def along(report: Report) -> Tuned:
        found = choose_C(
            given.asked, stack, y, values, n_splits=FOLDS, seed=seed, callback=report.tick, scoring=measure
        )
        place = int(np.flatnonzero(found.values == found.C)[0])
        return Tuned(found.measure, WAYS[found.rule], found.values, found.errors, found.C, (place,))

    def over_both(report: Report) -> Tuned:
        low, high = given.asked.lam_range(stack, y)
        lams, sizes = log_grid(low, high, LAMS), np.arange(1.0, min(SIZES, stack.n_kernels) + 1)
        found: Any = cross_validate_path(
            given.asked, stack, y, params={"lam": lams, "s": sizes}, cv=FOLDS, seed=seed, callback=report.tick,
            scoring=measure,
        )  # fmt: skip
        i, j = choose(found)
        at = float(lams[i]) if over == "lam" else float(sizes[j])
        return Tuned(found.score_name, f"{FOLDS} folds", values, found.val_score, at, (i, j), lams, sizes)

    work = over_both if greedy else along
    found = tuned(params)
    piece = found.piece(work, FOLDS * LAMS if greedy else len(values))
    return found.job("Choosing without validation rows", piece, usual=paths.are_usual(params))
