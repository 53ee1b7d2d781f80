"""Derive lanes: the parameters of each, the paths the worker computes one after the other, exact points.

A lane is the same thing as a state of Explore: both look on the same shelf, so neither computes what the other has.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial

from mklcore.errors import MKLError
from mklcore.paths.path import Path
from pages._parts.derive import earlier, gram_stacks, low_rank, tables
from pages._parts.derive import paths as derive_paths
from pages._parts.jobs.job import Job
from pages._parts.params import lanes as params_lanes
from pages._parts.params.lanes import Lane
from pages._parts.params.parameters import METHODS, KernelParams, Params, PathParams, accepts
from pages._parts.session.memory import LastLane, memory


@dataclass(frozen=True, eq=False)
class Shown:
    """What one lane has to show: its name, its parameters, its path if there is one, and why not if there is none.

    ``waiting``: the path is an older one of this lane, shown until its successor is there. ``earlier``: it came with
    the project, and its models are not there yet.
    """

    label: str
    lane: Lane
    params: PathParams
    path: Path | None = None
    waiting: bool = False
    error: str = ""
    earlier: bool = False


def lanes(params: Params) -> tuple[Lane, ...]:
    """Return the lanes the parameters ask for."""
    return _read(params.lanes)


@lru_cache(maxsize=64)
def _read(text: str) -> tuple[Lane, ...]:
    return params_lanes.read(text, METHODS, accepts)  # a page asks a dozen times


def of_explore(params: Params) -> Lane:
    """Return what Explore shows as a lane."""
    return params_lanes.lane(METHODS[params.algorithm], params.path, dict(params.settings), accepts)


@lru_cache(maxsize=256)
def lane_params(params: Params, lane: Lane) -> PathParams:
    """Return the parameters under which Explore would show the lane, on exact kernels; Explore's own where it shows
    just this.
    """
    asked = low_rank.exactly(params.part(PathParams))
    if of_explore(params) == lane:
        return asked
    return replace(asked, algorithm=lane.algorithm, path=lane.path, settings=lane.settings, further=0)


def usable(params: Params, names: Sequence[str]) -> list[str]:
    """Return those of the algorithms, by key, that the app knows and the table has a task for."""
    return [name for name in names if name in METHODS] if tables.table(params).task != "novelty" else []


# Paths


def key(params: Params) -> object:
    """Return the name of the work on all lanes."""
    return "compare", tuple(derive_paths.key(lane_params(params, lane)) for lane in lanes(params))


def missing(params: Params) -> list[PathParams]:
    """Return the parameters of the lanes that have neither a path nor a reason to have none."""
    asked = dict.fromkeys(lane_params(params, lane) for lane in lanes(params))
    return [
        one for one in asked if derive_paths.known(one) is None and derive_paths.key(one) not in memory().lanes.errors
    ]


def is_small(params: Params, wanted: Sequence[PathParams]) -> bool:
    """Tell whether the paths may start without being asked for."""
    stack = gram_stacks.grams(wanted[0]).train
    return len(wanted) * stack.n_kernels * stack.n_samples**2 <= 2 * derive_paths.SMALL_ENTRIES


def job(params: Params) -> Job:
    """Return the work that gives every missing path, lane by lane; each lies on the shelf as soon as it ends.

    A lane that is refused keeps the reason, now or once it is its turn, and holds up none of the others.
    """
    pieces, errors = [], memory().lanes.errors
    for one in missing(params):
        refused = partial(errors.__setitem__, derive_paths.key(one))
        try:
            pieces.append(derive_paths.piece(one, refused))
        except MKLError as error:
            refused(str(error))
    name = key(params)
    needs = derive_paths.needs(*missing(params))
    seconds = sum(map(derive_paths.seconds, missing(params)))
    return Job(
        name, "Paths of all lanes", tuple(pieces), lambda now: key(now) == name, needs=needs, seconds=seconds
    )  # fmt: skip


def forget_errors(params: Params) -> None:
    """Forget why lanes have no path, so that they are asked for once more."""
    for lane in lanes(params):
        memory().lanes.errors.pop(derive_paths.key(lane_params(params, lane)), None)


def shown(params: Params) -> list[Shown]:
    """Return what there is to show, lane by lane: its path, else the one this lane had before, else nothing."""
    asked, mind = lanes(params), memory().lanes
    labels = params_lanes.labels(asked, METHODS, tables.table(params).task)
    found = []
    for place, (lane, label) in enumerate(zip(asked, labels, strict=True)):
        one = lane_params(params, lane)
        path, error, last = derive_paths.known(one), mind.errors.get(derive_paths.key(one), ""), mind.shown.get(place)
        if path is not None:
            mind.shown[place] = LastLane(label, lane, path, one)
            found.append(Shown(label, lane, one, path))
        elif (before := earlier.path(one)) is not None:
            found.append(Shown(label, lane, one, before, earlier=True))
        elif not error and last is not None and last.params.part(KernelParams) == one.part(KernelParams):
            found.append(Shown(last.label, last.lane, last.params, last.path, waiting=True))
        else:
            found.append(Shown(label, lane, one, error=error))
    return found


# Exact points


def points(drawn: Sequence[Shown], value: float) -> list[Path | None]:
    """Return the answer of every lane solved at ``value`` itself; all None until they are there.

    Answers that take no time are solved at once. Raises ``MKLError`` where the value cannot be solved at.
    """
    ready, unknown = _ready(drawn), _unknown(drawn, value)
    if all(derive_paths.is_quick(one.params, one.path, value) for one in unknown if one.path is not None):
        found = {id(one): derive_paths.point(one.params, value) for one in ready}
        return [found.get(id(one)) for one in drawn]
    if not unknown:
        return [derive_paths.exact(one.params, value).value for one in drawn]
    return [None] * len(drawn)


def _ready(drawn: Sequence[Shown]) -> list[Shown]:
    return [one for one in drawn if one.path is not None and not (one.waiting or one.earlier)]


def _unknown(drawn: Sequence[Shown], value: float) -> list[Shown]:
    return [one for one in _ready(drawn) if derive_paths.exact(one.params, value).value is None]


def points_key(params: Params, value: float) -> object:
    """Return the name of the work on exact points."""
    return "compare points", key(params), value


def points_job(params: Params, drawn: Sequence[Shown], value: float) -> Job:
    """Return the work that solves the lanes at ``value``. Raises ``MKLError``."""
    pieces = tuple(derive_paths.point_piece(one.params, value) for one in _unknown(drawn, value))
    name = points_key(params, value)
    return Job(name, f"Solving every lane at {value:.4g}", pieces, lambda now: points_key(now, value) == name)
