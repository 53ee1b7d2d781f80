"""Derive scores on all rows left out, where only some of the validation rows chose: the same path, measured anew."""

from collections.abc import Sequence

from mklcore.paths.held_out import steps
from mklcore.paths.path import Path
from pages._parts.derive import all_rows, caches, low_rank, paths, tables
from pages._parts.jobs.job import Job, Piece
from pages._parts.params.parameters import KernelParams, PathParams


def known(params: PathParams) -> bool:
    """Tell whether the path is scored on all of them."""
    path = paths.known(params)
    return path is not None and caches.result_cache(params).get(_named(paths.key(params))) is path


def _named(path: object) -> object:
    return "left out", path


def missing(several: Sequence[PathParams]) -> list[PathParams]:
    """Return those whose path is there with its models, but scored on some rows only."""
    found = []
    for params in several:
        path = paths.known(params)
        if path is not None and path.estimators[0] is not None and all_rows.wanted(params) and not known(params):
            found.append(params)
    return found


def key(several: Sequence[PathParams]) -> object:
    """Return the key of the work on several paths."""
    return "left out", tuple(paths.key(params) for params in several)


def job(several: Sequence[PathParams]) -> Job:
    """Return the work that scores paths that are solved on all validation rows."""
    belongs = [paths.key(params) for params in several]
    return Job(
        key(several), "Scores on all rows left out", tuple(piece(params) for params in several),
        lambda now: now.part(KernelParams) == several[0].part(KernelParams) or paths.key(now) in belongs,
        usual=paths.are_usual(*several),
    )  # fmt: skip


def piece(params: PathParams) -> Piece:
    """Return the piece of work that scores one path, which is there by then; it takes the place of the one before."""
    judge, solved = all_rows.judge(params), paths.solution(params)
    rows = len(tables.split(params).validation.y)
    foreseen = 1 if low_rank.in_use(params) else steps(low_rank.work(params)().train, rows)

    def lay(path: Path) -> None:
        solved.keep(path)
        solved.result_cache.put(_named(solved.key), path)

    return Piece(lambda report: judge(solved.made, report.tick), lay, foreseen)
