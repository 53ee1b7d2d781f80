"""Derive the point of a path that folds choose, where rows are few: one validation set of fifty rows chooses badly."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from mklcore.data.dataset import Dataset, joined_rows
from mklcore.data.splitting import RANDOM, codes_of, fold_rows
from mklcore.errors import MKLError, suppress_convergence_warnings
from mklcore.kernels.measures import alignment_matrix
from mklcore.paths.path import Path, judged
from pages._parts.derive import caches, dictionaries, gram_stacks, low_rank, paths, scores, tables
from pages._parts.derive.gram_stacks import MEMORY_LIMIT_MB
from pages._parts.jobs.job import Piece, Report
from pages._parts.params.parameters import PathParams

FEW = 1000  # rows besides the test rows below which folds choose
FOLDS = 5
ROUGHLY = 1e-2  # relative gap at which points are compared
ALONG = ("C", "lam", "s")  # parameters along which folds choose


def rest(params: PathParams) -> Dataset:
    """Return all rows but the test rows."""
    parts = tables.split(params)
    make = lambda: joined_rows(parts.train, parts.validation)  # noqa: E731
    return caches.result_cache(params).made(("rest", parts.train.fingerprint, parts.validation.fingerprint), make)


def fits_whole(params: PathParams) -> bool:
    """Tell whether all training rows are used, and the kernels of all rows but the test rows can be held."""
    if tables.on_stack(params) or tables.table(params).task == "novelty" or low_rank.in_use(params):
        return False
    if gram_stacks.is_drawn(params):
        return False
    parts = tables.split(params)
    n_rows = len(parts.train.y) + len(parts.validation.y)
    return 8e-6 * len(dictionaries.dictionary(params)) * n_rows**2 <= MEMORY_LIMIT_MB


def wanted(params: PathParams) -> bool:
    """Tell whether folds choose the point of the path."""
    if params.hold_out != RANDOM or not fits_whole(params) or paths.runs_over(params).key not in ALONG:
        return False  # folds would learn from rows that are newer
    parts = tables.split(params)
    n_rows = len(parts.train.y) + len(parts.validation.y)
    return 2 * FOLDS < n_rows < FEW


def known(params: PathParams) -> bool:
    """Tell whether the point that is looked at first is settled."""
    path = paths.known(params)
    return path is not None and (path.chosen is not None or not path.can_choose or not wanted(params))


def piece(params: PathParams) -> Piece:
    """Return the piece of work that chooses a point of the path, which is there by then."""
    solved, rows = paths.solution(params), rest(params)
    over, attribute, scoring = paths.runs_over(params).key, paths.runs_over(params).attribute, scores.scoring(params)
    kernels, named = dictionaries.dictionary(params), dictionaries.scale(params)
    make, center, seed = paths.maker(params), params.center, params.seed

    def choose(report: Report) -> Path:
        path = solved.made
        codes = None if rows.task == "regression" else codes_of(rows.y)
        cuts = fold_rows(codes, rows.n_samples, FOLDS, seed)
        found = []
        for done, (train, test) in enumerate(cuts):
            stack = kernels.grams(rows.take(train), named, center)
            asked: Any = report.heard_by(make(partial(_itself, stack), partial(alignment_matrix, stack)))
            found.append(_scores(asked, stack, rows.y[train], stack.cross(rows.take(test)), rows.y[test], path,
                                 (over, attribute), scoring))  # fmt: skip
            report.tick(done + 1, len(cuts))
        return replace(path, chosen=best(np.array(found), path.finished))

    def there() -> Path | None:
        path = solved.value
        return path if path is not None and (path.chosen is not None or not path.can_choose) else None

    def refused(text: str) -> None:
        solved.keep(replace(solved.made, chosen=solved.made.first_look))

    return Piece(choose, solved.keep, FOLDS, refused, ("choice", solved.key), there)


def _itself(stack: Any) -> Any:
    return stack


def _scores(
    asked: Any, stack: Any, y: Any, blocks: Any, left_out: Any, path: Path, over: tuple[str, str], scoring: Any
) -> np.ndarray:
    """Return the scores of a fold along the values of the path; NaN from where it cannot be solved."""
    values = path.values.astype(int).tolist() if over[0] == "s" else path.values.tolist()
    rough = asked.copy_with("tol", ROUGHLY) if hasattr(asked, "tol") and asked.tol < ROUGHLY else asked
    points: list[Any] = []
    with suppress_convergence_warnings():
        try:
            points.extend(rough.along(*rough.training_stack(stack, y), over[0], values, over[1]))
        except MKLError:
            if not points:
                raise
    decided = points[0].decide_along(points, blocks)
    found = np.full(len(path), np.nan)
    found[: len(points)] = judged(points, decided, left_out, scoring)
    return found


def best(found: np.ndarray, finished: np.ndarray) -> int:
    """Return the point with the highest mean score (F, L) over folds among those that are finished, the first of
    equals.
    """
    mean = found.mean(axis=0)
    usable = np.where(finished, mean, np.nan) if np.isfinite(np.where(finished, mean, np.nan)).any() else mean
    return int(np.nanargmax(np.round(usable, 12)))
