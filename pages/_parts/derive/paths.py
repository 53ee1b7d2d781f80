"""Derive an answer: the estimator the parameters ask for, the path the worker computes, and one exact point of it."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from mklcore.catalog import Algorithm, Control, PathParameter, Variant
from mklcore.data.dataset import Split
from mklcore.errors import MKLError, suppress_convergence_warnings
from mklcore.estimators.importance import ColumnAnswer
from mklcore.kernels.grams import GramStack
from mklcore.paths.path import Path, fit_path, grown, path_grid, rescored
from mklcore.selection import SelectionFrequency, selection_frequency
from mklcore.selection.scoring import SCORINGS
from pages._parts.derive import (
    all_rows,
    dictionaries,
    earlier,
    gram_stacks,
    low_rank,
    measuring,
    scores,
    tables,
)
from pages._parts.derive.derived import Derived, derived
from pages._parts.derive.gram_stacks import Grams
from pages._parts.jobs.job import Job, Piece, Report
from pages._parts.params.algorithms import METHODS, Setting, applicable
from pages._parts.params.parameters import LOW_RANK, DataParams, KernelParams, Params, PathParams
from pages._parts.session.memory import Answered, memory
from pages._parts.session.uploads import MissingFileError

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

POINTS = 25
FEATURE_POINTS, FEATURE_FIRST = (
    13,
    9,
)  # on features: as coarse a grid, of which the first are solved; the rest while it pays
GROW = (
    12  # points by which C or lambda go on beyond the usual grid while the last is the best; as many again per request
)
SIZES = 50  # of a path over the number of kernels: one run gives all of them
RESAMPLES = 20
SHOWN_EVERY = 1.0  # seconds between two looks at the points of a path that are solved so far
QUICK_SECONDS = 0.7  # a point that the neighbours solved in less is solved while the person waits
POINT_SECONDS = 2e-8  # for a point of a path, per entry of the stack
BASELINES = ("uniform", "best", "aligned")
SMALL_ENTRIES = 60e6  # kernels x rows x rows up to which a path starts without being asked for


def algorithm(params: PathParams) -> Algorithm:
    """Return the algorithm in use."""
    return METHODS[params.algorithm]


def runs_over(params: PathParams) -> PathParameter:
    """Return the parameter the path runs over."""
    method = algorithm(params)
    return method.path(params.path if params.path in method.path_params else method.path_params[0])


def estimator(params: PathParams) -> "BaseEstimator":
    """Return the unfitted estimator the parameters ask for, all but the parameter of the path."""
    stack = lambda: gram_stacks.grams(params).train  # noqa: E731
    return maker(params)(stack, lambda: measuring.measures(params).between)


def maker(params: PathParams) -> Callable[[Callable[[], GramStack], Callable[[], Any]], "BaseEstimator"]:
    """Return what makes the estimator from a stack and its alignments, each asked for only where a penalty depends on
    it.
    """
    method, task = algorithm(params), tables.table(params).task
    settings: dict[str, Any] = {control.name: params.setting(control) for control in acting(params)}
    settings["approximation"] = low_rank.approximation(params)
    kernels: Any = "precomputed" if tables.on_stack(params) else dictionaries.dictionary(params)
    if method.prepare is None:
        return lambda stack, alignment: method.estimator(task, kernels=kernels, **settings)
    return lambda stack, alignment: method.estimator(
        task, kernels=kernels, stack=stack(), alignment=alignment, **settings
    )


def acting(params: PathParams) -> tuple[Control, ...]:
    """Return the controls that have an effect under these parameters: not the path's own, nor what another switches
    off.
    """
    method, task = algorithm(params), tables.table(params).task
    values: dict[str, Setting] = {control.name: params.setting(control) for control in applicable(method, task)}
    return method.shown(task, runs_over(params).key, values)


def words_for(params: PathParams) -> Algorithm | Variant:
    """Return whose formula and words hold under these parameters: a control may change what is solved."""
    acts = {control.name: params.setting(control) for control in acting(params)}
    return algorithm(params).words_for(acts, tables.table(params).task)


def key(params: PathParams) -> object:
    """Return the key of the path these parameters ask for."""
    return solution(params).key


def solution(params: PathParams) -> Derived[Path]:
    """Return the path these parameters ask for."""
    return derived(params, "path", asked_for)


def asked_for(params: PathParams) -> PathParams:
    """Return these parameters up to the path; what works on exact kernels alone is the same whatever is said of
    landmarks.
    """
    found = params.part(PathParams)
    return found if found.way == LOW_RANK and low_rank.is_able(found) else low_rank.exactly(found)


def known(params: PathParams) -> Path | None:
    """Return the path if it has been computed."""
    return solution(params).value


def is_small(params: PathParams) -> bool:
    """Tell whether the path may start without being asked for: it is small, or all it needs is another score."""
    if _otherwise_scored(params) is not None or low_rank.in_use(params):
        return True
    return gram_stacks.entries(params) <= SMALL_ENTRIES


@dataclass(frozen=True, eq=False)
class Prepared:
    """What a path is computed from, looked up while the session is known: a worker knows none.

    Of a grid of ``size`` points the ``first`` are solved, None for all, and then those beyond while it pays.
    """

    parts: Split
    held: Callable[[], Grams]
    asked: Any
    over: str
    scoring: str | None
    grow: int = 0
    size: int = POINTS
    first: int | None = None

    @property
    def grams(self) -> Grams:
        """Return the kernels, which features are only made for when they are asked for."""
        return self.held()

    def solve(
        self,
        report: Report | None = None,
        values: Sequence[float] | None = None,
        start: Any = None,
        show: Callable[[Path], None] | None = None,
    ) -> Path:
        """Return the path through ``values``, or the whole one; ``start`` is the nearest model that is known.

        ``show`` is given now and then the path through the points solved by then.
        """
        asked, grams, y, y_val = self.asked, self.grams, self.parts.train.y, self.parts.validation.y
        whole = path_grid(asked, grams.train, y, self.over, self.size)[: self.first] if values is None else values
        given = asked, grams.train, y, self.over, whole, grams.validation, y_val
        more: dict[str, Any] = {"scoring": self.scoring, "grow": self.grow if values is None else 0}
        if report is None:
            return fit_path(*given, start=start, **more)
        report.heard_by(asked)
        return fit_path(*given, report.tick, start, so_far=None if show is None else _seldom(show), **more)

    def further(self, path: Path, report: Report) -> Path:
        """Return a path that is solved already, gone on where its best point is at an end."""
        train, validation = self.parts.train, self.parts.validation
        report.heard_by(self.asked)
        return grown(
            path,
            self.asked,
            self.grams.train,
            train.y,
            self.grams.validation,
            validation.y,
            report.tick,
            self.scoring,
            GROW,
        )

    def again(self, path: Path) -> Path:
        """Return a path that is solved already, measured by the score in use."""
        train, validation = self.parts.train, self.parts.validation
        return rescored(path, self.grams.train, train.y, self.grams.validation, validation.y, self.scoring)


def prepared(params: PathParams) -> Prepared:
    """Return what the path of these parameters is computed from. Raises ``MKLError``."""
    over, scoring = runs_over(params).key, scores.scoring(params)
    return Prepared(
        low_rank.parts(params), low_rank.work(params), estimator(params), over, scoring, growth(params),
        *grid(params),
    )  # fmt: skip


def grid(params: PathParams) -> tuple[int, int | None]:
    """Return how many points the grid of a path has, and how many of them are solved unasked; None for all."""
    over, coarse = runs_over(params).key, low_rank.in_use(params)
    if over == "s":
        return SIZES, None
    return (FEATURE_POINTS, FEATURE_FIRST if over == "C" else None) if coarse else (POINTS, None)


def growth(params: PathParams) -> int:
    """Return by how many points the path may go on beyond its grid while its best point is the last."""
    return GROW * (1 + params.further) if runs_over(params).key in ("C", "lam") else 0


def _otherwise_scored(params: PathParams) -> Path | None:
    """Return the same path measured by another score, where its models are available."""
    for name in ("", *SCORINGS):
        found = known(replace(params, scoring=name))
        if found is not None and found.estimators[0] is not None:
            return found
    return None


def piece(params: PathParams, refused: Callable[[str], None] | None = None) -> Piece:
    """Return the piece of work that gives the path; it is stored in the cache."""
    given, found, before = prepared(params), solution(params), _otherwise_scored(params)
    if before is not None:
        return found.piece(lambda report: given.again(before), 1, refused)
    shorter = None if not params.further else known(replace(params, further=params.further - 1))
    if shorter is not None and shorter.estimators[0] is not None:
        return found.piece(lambda report: given.further(given.again(shorter), report), GROW, refused)
    keep_part = so_far(params).keep

    def make(report: Report) -> Path:
        return given.solve(report, show=partial(_lay, keep_part, report))

    return found.piece(make, given.size, refused)


def _lay(lay: Callable[[Path], None], report: Report, path: Path) -> None:
    """Lay the path through the points solved so far, and have it looked at."""
    lay(path)
    report.news()


def _seldom(show: Callable[[Path], None]) -> Callable[[Callable[[], Path]], None]:
    """Return what ``fit_path`` tells of the points so far, which ``show`` is called with now and then."""
    clock = [time.monotonic()]

    def so_far(make: Callable[[], Path]) -> None:
        if time.monotonic() - clock[0] > SHOWN_EVERY:
            show(make())
            clock[0] = time.monotonic()

    return so_far


def so_far(params: PathParams) -> Derived[Path]:
    """Return the path through the points that are solved so far, while the others are on their way."""
    return derived(params, "so far", asked_for)


def are_usual(*every: PathParams) -> bool:
    """Tell whether the paths of these parameters need compiled what is compiled first alone."""
    return all(map(_is_usual, every))


def _is_usual(params: PathParams) -> bool:
    """Tell whether the path is one of those that everybody sees first: nothing is set, and the table suggests its
    kernels.
    """
    if params.algorithm != "lp" or params.path or params.settings or params.way:
        return False
    try:
        return gram_stacks.are_usual(params) and is_small(params)
    except (MKLError, MissingFileError):
        return False  # there is no table, and the caller gets the reason


def job(params: PathParams) -> Job:
    """Return the work that gives the path."""
    more = {"usual": are_usual(params), "counts": "points", "seconds": seconds(params)}
    return solution(params).job("Path", piece(params), **more)


def seconds(params: PathParams) -> float:
    """Return roughly how long the path will take: what has been measured of its kind corrects it."""
    return 0.1 + POINT_SECONDS * grid(params)[0] * low_rank.entries(params)


def exact(params: PathParams, value: float) -> Derived[Path]:
    """Return the exact answer at ``value`` as a path of one point, scored on all validation rows."""
    found = derived(params, ("point", value), asked_for)
    return replace(found, is_wanted=lambda now: found.is_wanted(now) and (now.at or 0.0) == value)


def point(params: PathParams, value: float) -> Path:
    """Return the exact answer at ``value``, solved now if need be. Raises ``ParameterError``."""
    found = exact(params, value)
    with suppress_convergence_warnings():
        return found.result_cache.made(found.key, lambda: _solved(params, value)(None))


def _solved(params: PathParams, value: float) -> Callable[[Report | None], Path]:
    given, near, judge = prepared(params), _near(params, value), all_rows.judge(params)
    return lambda report: judge(given.solve(report, [value], near), None)


def _near(params: PathParams, value: float) -> Any:
    """Return the model of the path that is nearest to ``value``, where the path is there."""
    path = known(params)
    return None if path is None else path.estimators[path.nearest(value)]


def point_piece(params: PathParams, value: float) -> Piece:
    """Return the piece of work that gives the exact answer at ``value``."""
    return exact(params, value).piece(_solved(params, value))


def point_job(params: PathParams, value: float) -> Job:
    """Return the work that gives the exact answer at ``value``."""
    return exact(params, value).job(f"Solving at {value:.4g}", point_piece(params, value), usual=are_usual(params))


def is_quick(params: PathParams, path: Path, value: float) -> bool:
    """Tell whether a point near ``value`` may be solved, and scored, while the person waits."""
    if all_rows.wanted(params):
        return False
    spent = path.seconds[path.nearest(value)] if path.param != "s" else path.seconds[0]
    return float(spent) <= QUICK_SECONDS


# Baselines and stability


def baseline(params: PathParams, name: str) -> PathParams:
    """Return the parameters of a baseline on the same table and kernels, with the same loss: a path that Explore shows
    too.
    """
    shared = tuple((k, value) for k, value in params.settings if k in ("loss", "epsilon"))
    asked = params.part(PathParams)
    return replace(asked, algorithm=name, path="", settings=shared, further=0, way="", landmarks=0)


def picture(params: PathParams, path: Path, tag: object = None) -> tuple[object, Path]:
    """Return the name and the path a picture of ``path``, called ``tag``, is drawn from: the one that came earlier
    where both look the same, for a picture that changes in a digit nobody sees loses its zoom.
    """
    before = earlier.path(params)
    if before is not None and (path is before or earlier.alike(path, before)):
        return ("earlier", key(params)), before
    return tag or key(params), path


def frequency(params: PathParams, value: float) -> Derived[SelectionFrequency]:
    """Return how often each kernel was used in refits at ``value``."""
    return derived(params, ("frequency", value), asked_for)


def frequency_job(params: PathParams, value: float) -> Job:
    """Return the work that refits on halves of the training rows at ``value``."""
    given, over = prepared(params), runs_over(params)
    given.asked.set_params(**{over.attribute: int(value) if over.key == "s" else value})

    def refit(report: Report) -> SelectionFrequency:
        report.heard_by(given.asked)
        return selection_frequency(
            given.asked, given.grams.train, given.parts.train.y, RESAMPLES, params.seed, report.tick
        )

    return frequency(params, value).work("Refits", refit, RESAMPLES)


def test_score(params: PathParams, path: Path, index: int) -> float:
    """Return the score of one point on the test rows."""
    return scores.measured(params, path.estimators[index], gram_stacks.test_rows(params), tables.split(params).test.y)


def follow(params: Params) -> None:
    """Drop this session's path, and say so, when the table or the kernels it belongs to are no longer those in use."""
    mind = memory()
    before = None if mind.answer is None else mind.answer.params
    if before is not None and before.part(KernelParams) != params.part(KernelParams):
        what = "table or its split" if before.part(DataParams) != params.part(DataParams) else "kernels"
        mind.notice = f"The {what} changed, so the path computed before is dropped. Explore computes it anew."
        mind.answer = None


@dataclass(frozen=True, eq=False)
class Answer:
    """A path to show, the parameters it belongs to, and whether it waits for its successor.

    ``stage`` says why, where the successor is the same answer made better: a first look at a few rows, with the columns
    that are distinguishable from zero there in ``columns`` and the standard ``error`` of its score, or the points that
    are solved so far. Empty where it is an older answer.
    ``earlier``: it answers these parameters, and came with the project or, with a ``stage``, from a machine that still
    solves it; its models are not there yet.
    """

    path: Path
    params: Params
    waiting: bool
    stage: str = ""
    columns: tuple[ColumnAnswer, ...] = ()
    earlier: bool = False
    error: float = math.nan

    @property
    def older(self) -> bool:
        """Tell whether this is an answer to what was asked before, which is drawn fainter."""
        return self.waiting and not self.stage

    @property
    def tag(self) -> tuple[object, ...]:
        """Return what tells this path from others of the same parameters."""
        return key(self.params), self.stage, len(self.path), self.path.val_score.tobytes(), self.path.chosen


def answer(params: Params) -> Answer | None:
    """Return what there is to show: the path asked for, else the one before it, else nothing."""
    mind, path = memory(), known(params)
    if path is not None:
        mind.answer, mind.notice = Answered(path, params), ""
    before = earlier.path(params) if path is None else None
    if before is not None:
        return Answer(before, params, waiting=False, earlier=True)
    if mind.answer is None:
        return None
    return Answer(mind.answer.path, mind.answer.params, waiting=path is None)
