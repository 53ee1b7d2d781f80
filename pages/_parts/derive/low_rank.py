"""Derive low rank: kernels by their features at a few landmarks, so that all training rows are used where a stack holds
some.

Only the path and what is read off it work on features; whatever looks at Gram matrices goes on with those of the drawn
rows.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from mklcore.catalog import NOVELTY
from mklcore.data.dataset import Split
from mklcore.kernels.features import Nystroem
from pages._parts.derive import gram_stacks, tables
from pages._parts.derive.dictionaries import dictionary, normalisation, scale
from pages._parts.derive.gram_stacks import Grams
from pages._parts.params.algorithms import METHODS
from pages._parts.params.parameters import LOW_RANK, KernelParams, PathParams
from pages._parts.session.memory import memory

P = TypeVar("P", bound=PathParams)
MANY = 4000  # training rows above which it starts unasked, after the first answer
LANDMARKS = 100
LIMIT_MB = 1600.0  # of features, were every kernel of full rank; they seldom are


def why_not(params: PathParams) -> str:
    """Return why the kernels in use cannot be approximated; nothing where they can."""
    if tables.on_stack(params):
        return "A ready kernel stack has no columns in which landmarks could be chosen."
    data = tables.table(params)
    if data.task == NOVELTY or not is_able(params):
        label = f"{METHODS[params.algorithm].label}{' without a target' * (data.task == NOVELTY)}"
        return f"{label} works on Gram matrices alone; lp-norm MKL and MKL-GOMP can do with features."
    return "Sequences have no columns in which landmarks could be chosen." if data.sequences else ""


def is_able(params: PathParams) -> bool:
    """Tell whether the method can work on features, whatever the table."""
    return METHODS[params.algorithm].is_approximable


def in_use(params: PathParams) -> bool:
    """Tell whether the path of these parameters is on features."""
    return params.way == LOW_RANK and not why_not(params)


def exactly(params: P) -> P:
    """Return the same parameters with the kernels themselves, on the rows that a stack holds."""
    return replace(params, way="", landmarks=0) if params.way or params.landmarks else params


def approximately(params: P) -> P:
    """Return the same parameters with features on all rows."""
    return replace(params, way=LOW_RANK)


def approximation(params: PathParams) -> Nystroem | None:
    """Return the approximation in use, None where the kernels are exact."""
    return Nystroem(params.landmarks or LANDMARKS, params.seed) if in_use(params) else None


def parts(params: PathParams) -> Split:
    """Return the split whose rows the path is on: with features all training rows, as far as memory holds their
    features.

    The validation rows that choose are those of the exact sample, so that both are chosen alike.
    """
    drawn = gram_stacks.parts(params)
    if not in_use(params):
        return drawn
    whole = tables.split(params)
    most = int(LIMIT_MB * 1e6 / (4 * len(dictionary(params)) * (params.landmarks or LANDMARKS)))
    most = max(len(drawn.train.y), min(params.rows or len(whole.train.y), most))
    return tables.drawn(params, most, len(drawn.validation.y))


def entries(params: PathParams) -> float:
    """Return the size of what the path is computed from: kernels x rows x rows, or kernels x rows x landmarks."""
    if not in_use(params):
        return gram_stacks.entries(params)
    return float(len(dictionary(params))) * len(parts(params).train.y) * (params.landmarks or LANDMARKS)


def work(params: PathParams) -> Callable[[], Grams]:
    """Return what gives the kernels of the path. With features it makes them when it is called, on any thread."""
    if not in_use(params):
        found = gram_stacks.grams(params)
        return lambda: found
    how, cut, kernels, room = approximation(params), parts(params), dictionary(params), gram_stacks.budget()
    assert how is not None
    named = scale(params)
    # A session keeps one stack of its own and, so that neither drives the other out, one set of features.
    owner = memory().caches.results if params.is_upload else None
    key = ("features", replace(params.part(KernelParams), normalise=normalisation(params)), how, len(cut.train.y))

    def make() -> Grams:
        stack = how.features(kernels, cut.train.table, named, params.center)
        return Grams(stack, stack.cross(cut.validation.table))

    size = 4.0 * how.n_components * len(kernels) * (len(cut.train.y) + len(cut.validation.y))
    return lambda: room.made(key, size, make, owner)
