"""Derive what a score is worth: plain models on the same rows, the uniform sum, and the best single kernel."""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path as File
from typing import Any

import numpy as np

from mklcore.data.dataset import Dataset
from mklcore.paths.path import Path
from mklcore.selection.references import PLAIN, Reference, best_single_kernel, plain_references
from mklcore.selection.scoring import scorer_of
from pages._parts.derive import all_rows, earlier, gram_stacks, left_out, low_rank, paths, scores, tables
from pages._parts.derive.derived import Derived, derived, together
from pages._parts.jobs import worker
from pages._parts.jobs.job import Job, Piece, Report
from pages._parts.params import places
from pages._parts.params.algorithms import METHODS
from pages._parts.params.parameters import PathParams
from pages._parts.session import board

ENTRIES = (
    8e6  # kernels x rows x rows up to which they are computed unasked: every single kernel takes machines of its own
)
SINGLE = "best single kernel"
LABELS = {
    "majority": "majority class",
    "mean": "mean",
    "linear": "linear model",
    "RBF": "RBF SVM",
    "forest": "random forest",
    "boosting": "gradient boosting",
    "uniform": "uniform sum",
    SINGLE: SINGLE,
}


def names(params: PathParams) -> list[str]:
    """Return the references that there can be: a ready stack has no columns, a table without a target has no score."""
    task = tables.table(params).task
    if task == "novelty":
        return []
    nothing = "mean" if task == "regression" else "majority"
    plain = [nothing] if tables.on_stack(params) else [nothing, "linear", "RBF", "forest", "boosting"]
    return [*plain, *(("uniform",) if METHODS["uniform"].fits(task) else ()), SINGLE]


@lru_cache(maxsize=64)
def _method(params: PathParams) -> PathParams:
    return paths.baseline(params, "uniform")


def key(params: PathParams) -> object:
    """Return the key of the work on all references: plain models are fitted on the rows that the path is fitted on."""
    asked = paths.asked_for(params)
    return "references", paths.key(_method(params)), asked.way, asked.landmarks


def plain(params: PathParams) -> Derived[tuple[Reference, ...]]:
    """Return the plain models."""
    return derived(params, "plain", key)


def single(params: PathParams) -> Derived[Reference]:
    """Return the best single kernel."""
    return derived(params, "single", lambda one: paths.key(_method(one)))


def known(params: PathParams) -> dict[str, Reference | None]:
    """Return the references by name, None where one is not known yet; those that came with the project have no
    model.
    """
    found = computed(params)
    before: dict[str, Reference | None] = {one.name: one for one in earlier.references(_method(params))}
    if before and not any(found.values()):  # all that came with the project, which may be older than one of the models
        return before
    return {name: one or before.get(name) for name, one in found.items()}


def computed(params: PathParams) -> dict[str, Reference | None]:
    """Return the references by name, None where one has not been computed here."""
    found: dict[str, Reference | None] = {one.name: one for one in plain(params).value or ()}
    found |= {"uniform": _uniform(paths.known(_method(params))), SINGLE: single(params).value}
    return {name: found.get(name) for name in names(params)}


def forget(params: PathParams) -> None:
    """Forget what was computed."""
    for one in (plain(params), single(params), paths.solution(_method(params))):
        one.drop()


def file(params: PathParams) -> File:
    """Return the file in which the references of these parameters come with the project."""
    return earlier.references_file(_method(params))


def came_earlier(found: Mapping[str, Reference | None]) -> bool:
    """Tell whether some of them came with the project."""
    return any(one is not None and one.model is None for one in found.values())


def _uniform(path: Path | None) -> Reference | None:
    if path is None or np.isnan(path.val_score).all():
        return None
    index = path.first_look
    where = places.label("C", float(path.values[index]))
    return Reference("uniform", float(path.val_score[index]), where, path.estimators[index])


def are_small(params: PathParams) -> bool:
    """Tell whether the references may be computed unasked."""
    stack = gram_stacks.grams(params).train
    return stack.n_kernels * stack.n_samples**2 <= ENTRIES


def nobody_waits() -> bool:
    """Tell whether no one is waiting for the worker: what nobody asked for comes last."""
    mine = board.held()
    return (mine is None or not mine.live) and not worker.LINES["short"].everyone()


def job(params: PathParams) -> Job:
    """Return the work that gives the references that are missing, the quickest first."""
    missing = {k for k, one in computed(params).items() if one is None}
    parts, grams, given = gram_stacks.parts(params), gram_stacks.grams(params), paths.prepared(_method(params))
    measure, rest = scores.scoring(params), tables.split(params).validation if all_rows.wanted(params) else None
    pieces: list[Piece] = []

    def alone(report: Report) -> Reference:
        machine: Any = report.heard_by(given.asked)
        found = best_single_kernel(
            machine, grams.train, parts.train.y, grams.validation, parts.validation.y, measure, report.tick
        )
        return _on_all(found, rest, measure)

    if missing - {"uniform", SINGLE}:
        pieces.append(plain_piece(params))
    if "uniform" in missing:
        pieces.append(paths.piece(_method(params)))
        if rest is not None:
            pieces.append(left_out.piece(_method(params)))
    if SINGLE in missing:
        pieces.append(single(params).piece(alone, grams.train.n_kernels))
    usual = paths.are_usual(_method(params))
    return together(params, key, "Plain models to compare with", pieces, usual=usual, asked=False)


def plain_piece(params: PathParams) -> Piece:
    """Return the piece of work that fits the plain models, on the rows that the path is fitted on."""
    parts, measure = low_rank.parts(params), scores.scoring(params)
    rest = tables.split(params).validation if all_rows.wanted(params) else None
    asked = [one for one in names(params) if one not in ("uniform", SINGLE)]

    def compare(report: Report) -> tuple[Reference, ...]:
        found = plain_references(parts.train, parts.validation, measure, report.tick, asked)
        return tuple(_on_all(one, rest, measure) for one in found)

    return plain(params).piece(compare, len(asked))


def _on_all(one: Reference, rest: Dataset | None, measure: str | None) -> Reference:
    """Return a reference with its score on all rows left out, where only some of them chose it."""
    if rest is None:
        return one
    seen = rest.X if one.name in PLAIN else rest.table
    return replace(one, score=float(scorer_of(measure)(one.model, seen, rest.y)))


def lines(found: dict[str, Reference | None]) -> list[tuple[str, float]]:
    """Return the known references as lines of a chart: short name and score."""
    return [(name.replace("best single kernel", "best single"), one.score) for name, one in found.items() if one]
