"""Derive the terms of a model: what columns say alone and what they say together, with shares, curves and surfaces."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mklcore.estimators.effects import HALVES, TermEffect, half_refits, term_effect
from mklcore.estimators.terms import HIGHER_ORDER, Columns, Decomposition, Drop, decompose, term_drops
from mklcore.paths.path import Path
from pages._parts.derive import caches, gram_stacks, low_rank, paths, scores, tables
from pages._parts.derive.derived import Derived, derived
from pages._parts.jobs.job import Job, Piece, Report
from pages._parts.params.parameters import PathParams

__all__ = [
    "HIGHER_ORDER",
    "Along",
    "along",
    "can_be_found",
    "effect",
    "job",
    "piece",
    "refits",
    "shares_of",
    "terms",
]
ROWS = 500  # training rows on which shares are taken
ALONG_ROWS = 300  # of them at every point of a path
DROP_ROWS = 1000  # validation rows on which drops are measured
LEAST = 1e-3  # share of a term that is named


@dataclass(frozen=True, eq=False)
class Along:
    """The terms of the models along a path: ``columns`` of each, the largest at the point ``at`` first, their
    ``shares`` (L, T) of the variance, which sum to 1 with ``others`` (L,), and the ``drops`` there: what the score
    loses without each term, with its standard error; None where there are no held-out rows.
    """

    at: int
    columns: tuple[Columns, ...]
    shares: np.ndarray
    drops: tuple[Drop | None, ...]

    @property
    def indistinct(self) -> tuple[bool, ...]:
        """Return of which terms the drop is not distinguishable from zero."""
        return tuple(one is not None and not one.is_sure for one in self.drops)


def can_be_found(params: PathParams) -> bool:
    """Tell whether a model of these parameters has terms: kernels of columns and a target."""
    return not tables.on_stack(params) and tables.table(params).task != "novelty"


def terms(params: PathParams, path: Path, index: int) -> Decomposition:
    """Return the terms of the model at one point of the path."""
    model, train = path.estimators[index], gram_stacks.parts(params).train
    return caches.result_cache(params).made(
        _name("terms", params, path, index), lambda: decompose(model, train.drawn(ROWS, params.seed))
    )


def shares_of(params: PathParams, path: Path, columns: tuple[Columns, ...]) -> np.ndarray:
    """Return the shares (L, T) of these terms in the models of a path of few points."""
    found = [{one.columns: one.share for one in terms(params, path, k).terms} for k in range(len(path))]
    return np.array([[one.get(name, 0.0) for name in columns] for one in found]).reshape(len(path), len(columns))


def effect(params: PathParams, path: Path, index: int, columns: Columns, output: int) -> TermEffect:
    """Return the curve or the surface of one term, with a band where refits are there."""
    model, train = path.estimators[index], gram_stacks.parts(params).train.drawn(ROWS, params.seed)
    halves = refits(params, float(path.values[index])).value or ()
    return caches.result_cache(params).made(
        (_name("effect", params, path, index), columns, output, len(halves)),
        lambda: term_effect(model, train, columns, output=output, refits=halves),
    )


def along(params: PathParams) -> Derived[Along]:
    """Return the terms along the path."""
    return derived(params, "terms along", paths.key)


def n_rows(params: PathParams) -> int:
    """Return on how many validation rows drops are measured."""
    return min(DROP_ROWS, gram_stacks.parts(params).validation.n_samples)


def piece(params: PathParams) -> Piece:
    """Return the piece of work that takes the models of a path, which is there by then, apart."""
    path, parts, scoring, seed = paths.solution(params), gram_stacks.parts(params), scores.scoring(params), params.seed
    found = along(params)

    def take_apart(report: Report) -> Along:
        solved = path.made
        few = parts.train.drawn(ALONG_ROWS, seed)
        each = []
        for k, model in enumerate(solved.estimators):
            each.append({one.columns: one.share for one in decompose(model, few).terms})
            report.tick(k + 1, len(solved) + 1)
        at = solved.first_look
        most = {name: max(one.get(name, 0.0) for one in each) for one in each for name in one}
        columns = sorted((name for name, share in most.items() if share >= LEAST),
                         key=lambda name: (-each[at].get(name, 0.0), -most[name], name))  # fmt: skip
        shares = np.array([[one.get(name, 0.0) for name in columns] for one in each]).reshape(len(each), len(columns))
        here = [name for name in columns if name in each[at]]
        rows = parts.validation.drawn(DROP_ROWS, seed)
        drops = term_drops(solved.estimators[at], few, rows, here, scoring=scoring, seed=seed)
        return Along(at, tuple(columns), shares, tuple(drops.get(name, Drop(0.0, 0.0)) for name in columns))

    return found.piece(take_apart, 5)


def refits(params: PathParams, value: float) -> Derived[tuple[Any, ...]]:
    """Return the same model fitted on halves of the training rows."""
    return derived(params, ("halves", value), paths.key)


def job(params: PathParams, path: Path, index: int) -> Job:
    """Return the work that fits the model again on halves of the training rows."""
    model, train = path.estimators[index], gram_stacks.parts(params).train
    stack = None if low_rank.in_use(params) else gram_stacks.grams(params).train
    found = refits(params, float(path.values[index]))

    def fit(report: Report) -> tuple[Any, ...]:
        return half_refits(model, train, stack=stack, seed=params.seed, callback=report.tick)

    return found.work("Band", fit, 2 * HALVES)


def _name(what: str, params: PathParams, path: Path, index: int) -> tuple[object, ...]:
    return what, paths.key(params), path.param, float(path.values[index]), id(path.estimators[index])
