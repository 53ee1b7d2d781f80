"""Derive the search for a good model: what is tried on the whole table, the work that does it, and what it found."""

from dataclasses import replace

import numpy as np

from mklcore.data.dataset import Dataset
from mklcore.kernels.grams import GramStack
from mklcore.kernels.stacks import rows_of
from mklcore.selection.search import Candidate, ModelSearch, Outcome, Trial, candidates, search_models
from pages._parts.derive import caches, gram_stacks, scores, tables
from pages._parts.derive.derived import Derived, derived
from pages._parts.jobs.job import Job, Report
from pages._parts.params.parameters import DataParams, Params

MOST_ROWS = 1000  # of the table: every trial builds kernels of its own
STEPS = 50


def learned(params: Params) -> Dataset:
    """Return the rows that are searched: those of training and validation, at most ``MOST_ROWS``; test rows stay
    unseen.
    """
    train, validation, _ = tables.split(params)
    strings = zip(train.sequences, validation.sequences, strict=True)
    both = tuple((name, first + second) for (name, first), (_, second) in strings)
    X, y = np.vstack([train.X, validation.X]), np.concatenate([train.y, validation.y])
    seen = replace(train, X=X, y=y, sequences=both)
    return seen if seen.n_samples <= MOST_ROWS else seen.drawn(MOST_ROWS, params.seed)


def _ready(params: Params, rows: Dataset) -> GramStack | None:
    """Return the kernels of an uploaded stack on these rows, whose table holds their places; None for a table."""
    if not tables.on_stack(params):
        return None
    return gram_stacks.chosen_stack(params).take(rows_of(rows))


def found(params: Params) -> Derived[ModelSearch]:
    """Return what the search found."""
    return derived(params, "search", lambda one: (_about(one), scores.scoring(one), one.search_seconds))


def _about(params: Params) -> object:
    return params.part(DataParams), params.edited if tables.on_stack(params) else ""


def wanted(params: Params) -> tuple[Candidate, ...]:
    """Return what a search of a table tries."""
    return caches.result_cache(params).made(("searched for", _about(params)), lambda: candidates(learned(params)))


def job(params: Params) -> Job:
    """Return the work that searches; what was tried in a shorter search is not tried again."""
    rows, measure, given = learned(params), scores.scoring(params), found(params)
    before: dict[Trial, Outcome] = given.result_cache.made(("searched", _about(params), measure), dict)
    ready = _ready(params, rows)
    asked = candidates(rows, ready)

    def search(report: Report) -> ModelSearch:
        return search_models(
            rows, asked, seconds=float(params.search_seconds), seed=params.seed, scoring=measure, callback=report.tick,
            known=before, stack=ready,
        )  # fmt: skip

    return given.work("Search for a model", search, STEPS, slot="long")
