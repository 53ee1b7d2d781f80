"""Derive the terms of a model: what columns say alone and what they say together, with shares, curves and surfaces."""

from typing import Any

from mklcore.estimators.effects import HALVES, TermEffect, half_refits, term_effect
from mklcore.estimators.terms import Columns, Decomposition, decompose
from mklcore.paths.path import Path
from pages._parts.derive import caches, gram_stacks, low_rank, paths, tables
from pages._parts.derive.derived import Derived, derived
from pages._parts.jobs.job import Job, Report
from pages._parts.params.parameters import PathParams

ROWS = 500  # training rows on which shares are taken


def can_be_found(params: PathParams) -> bool:
    """Tell whether a model of these parameters has terms: kernels of columns and a target."""
    return not tables.on_stack(params) and tables.table(params).task != "novelty"


def terms(params: PathParams, path: Path, index: int) -> Decomposition:
    """Return the terms of the model at one point of the path."""
    model, train = path.estimators[index], gram_stacks.parts(params).train
    return caches.result_cache(params).made(
        _name("terms", params, path, index), lambda: decompose(model, train.drawn(ROWS, params.seed))
    )


def effect(params: PathParams, path: Path, index: int, columns: Columns, output: int) -> TermEffect:
    """Return the curve or the surface of one term, with a band where refits are there."""
    model, train = path.estimators[index], gram_stacks.parts(params).train.drawn(ROWS, params.seed)
    halves = refits(params, float(path.values[index])).value or ()
    return caches.result_cache(params).made(
        (_name("effect", params, path, index), columns, output, len(halves)),
        lambda: term_effect(model, train, columns, output=output, refits=halves),
    )


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

    return found.job("Band", found.piece(fit, 2 * HALVES))


def _name(what: str, params: PathParams, path: Path, index: int) -> tuple[object, ...]:
    return what, paths.key(params), path.param, float(path.values[index]), id(path.estimators[index])
