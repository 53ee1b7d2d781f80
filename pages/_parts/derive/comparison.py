"""Derive methods: the parameters of each, the paths the worker computes one after the other, exact points.

A method is the same thing as a state of Explore: both use the same cache, so neither computes what the other has.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial

from mklcore.errors import MKLError
from mklcore.paths.path import Path
from pages._parts.derive import earlier, gram_stacks, low_rank, tables
from pages._parts.derive import paths as derive_paths
from pages._parts.derive.derived import together
from pages._parts.jobs.job import Job
from pages._parts.params import methods as params_methods
from pages._parts.params.algorithms import METHODS
from pages._parts.params.methods import Method
from pages._parts.params.parameters import KernelParams, Params, PathParams
from pages._parts.session.memory import LastMethod, memory


@dataclass(frozen=True, eq=False)
class Shown:
    """What one method has to show: its name, its parameters, its path if there is one, and why not if there is none.

    ``waiting``: the path is an older one of this method, shown until its successor is there. ``earlier``: it came with
    the project, and its models are not there yet.
    """

    label: str
    method: Method
    params: PathParams
    path: Path | None = None
    waiting: bool = False
    error: str = ""
    earlier: bool = False


def methods(params: Params) -> tuple[Method, ...]:
    """Return the methods the parameters ask for."""
    return _read(params.methods)


@lru_cache(maxsize=64)
def _read(text: str) -> tuple[Method, ...]:
    return params_methods.read(text)  # a page asks a dozen times


def of_explore(params: Params) -> Method:
    """Return what Explore shows as a method."""
    return params_methods.method(params.algorithm, params.path, **dict(params.settings))


@lru_cache(maxsize=256)
def method_params(params: Params, method: Method) -> PathParams:
    """Return the parameters under which Explore would show the method, on exact kernels; Explore's own where it shows
    just this.
    """
    asked = low_rank.exactly(params.part(PathParams))
    if of_explore(params) == method:
        return asked
    return replace(asked, algorithm=method.algorithm, path=method.path, settings=method.settings, further=0)


def usable(params: Params, names: Sequence[str]) -> list[str]:
    """Return those of the algorithms, by key, that the app knows and the table has a task for."""
    return [name for name in names if name in METHODS] if tables.table(params).task != "novelty" else []


# Paths


def key(params: Params) -> object:
    """Return the name of the work on all methods."""
    return "compare", tuple(derive_paths.key(method_params(params, method)) for method in methods(params))


def missing(params: Params) -> list[PathParams]:
    """Return the parameters of the methods that have neither a path nor a reason to have none."""
    asked = dict.fromkeys(method_params(params, method) for method in methods(params))
    return [
        one for one in asked if derive_paths.known(one) is None and derive_paths.key(one) not in memory().methods.errors
    ]


def is_small(params: Params, wanted: Sequence[PathParams]) -> bool:
    """Tell whether the paths may start without being asked for."""
    stack = gram_stacks.grams(wanted[0]).train
    return len(wanted) * stack.n_kernels * stack.n_samples**2 <= 2 * derive_paths.SMALL_ENTRIES


def job(params: Params) -> Job:
    """Return the work that gives every missing path, method by method; each is in the cache as soon as it ends.

    A method that is refused keeps the reason, now or once it is its turn, and holds up none of the others.
    """
    pieces, errors = [], memory().methods.errors
    for one in missing(params):
        refused = partial(errors.__setitem__, derive_paths.key(one))
        try:
            pieces.append(derive_paths.piece(one, refused))
        except MKLError as error:
            refused(str(error))
    usual = derive_paths.are_usual(*missing(params))
    seconds = sum(map(derive_paths.seconds, missing(params)))
    return together(params, key, "Paths of all methods", pieces, usual=usual, seconds=seconds)


def shown(params: Params) -> list[Shown]:
    """Return what there is to show, method by method: its path, else the one this method had before, else nothing."""
    asked, mind = methods(params), memory().methods
    labels = params_methods.labels(asked, tables.table(params).task)
    found = []
    for place, (method, label) in enumerate(zip(asked, labels, strict=True)):
        one = method_params(params, method)
        path, error, last = derive_paths.known(one), mind.errors.get(derive_paths.key(one), ""), mind.shown.get(place)
        if path is not None:
            path = replace(path, chosen=None)  # folds choose for some methods only, and once Explore was open
            mind.shown[place] = LastMethod(label, method, path, one)
            found.append(Shown(label, method, one, path))
        elif (before := earlier.path(one)) is not None:
            found.append(Shown(label, method, one, before, earlier=True))
        elif not error and last is not None and last.params.part(KernelParams) == one.part(KernelParams):
            found.append(Shown(last.label, last.method, last.params, last.path, waiting=True))
        else:
            found.append(Shown(label, method, one, error=error))
    return found


# Exact points

Values = Sequence[float | None]


def points(drawn: Sequence[Shown], values: Values) -> list[Path | None]:
    """Return the answer of every method solved at its own of ``values``; None where none is asked for, and for all
    until they are there.

    Answers that take no time are solved at once. Raises ``MKLError`` where a value cannot be solved at.
    """
    asked, unknown = _asked(drawn, values), _unknown(drawn, values)
    if unknown and not all(derive_paths.is_quick(one.params, one.path, at) for one, at in unknown if one.path):
        return [None] * len(drawn)
    found = {id(one): derive_paths.point(one.params, at) for one, at in asked}
    return [found.get(id(one)) for one in drawn]


def _asked(drawn: Sequence[Shown], values: Values) -> list[tuple[Shown, float]]:
    ready = zip(drawn, values, strict=True)
    return [(one, at) for one, at in ready if at is not None and one.path and not (one.waiting or one.earlier)]


def _unknown(drawn: Sequence[Shown], values: Values) -> list[tuple[Shown, float]]:
    return [(one, at) for one, at in _asked(drawn, values) if derive_paths.exact(one.params, at).value is None]


def points_key(params: Params, values: Values) -> object:
    """Return the name of the work on exact points."""
    return "compare points", key(params), tuple(values)


def points_job(params: Params, drawn: Sequence[Shown], values: Values) -> Job:
    """Return the work that solves the methods at ``values``. Raises ``MKLError``."""
    pieces = [derive_paths.point_piece(one.params, at) for one, at in _unknown(drawn, values)]
    return together(params, lambda one: points_key(one, values), "Solving every method here", pieces)
