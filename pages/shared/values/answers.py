"""The library's answer for what a page asks: the same pipeline as `mkl.explore`, with what the
person fixed.

    match answer.get(params):
        case Ready(found): draw(found)                    # an `Exploration`
        case Pending(share, text, part): draw what the stages in `part` have found
        case Failed(sentence, repairs): st.error(sentence)

What takes longer is work of its own on the finished answer: `further`, `chance`, `intervals`,
`terms`, `norm_map`, `best_choices`; `excesses` is about the answers of several methods, which
`shown` gives.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

from sklearn.base import clone

from mklcore.answer.candidates import Request, ScoredCandidate, machine
from mklcore.answer.exploration import Exploration
from mklcore.answer.explore import STAGES, answered, stages
from mklcore.answer.thresholds import USUAL as USUAL_THRESHOLD
from mklcore.arrays import Array, one_blas_thread
from mklcore.data.dataset import Dataset
from mklcore.errors import MKLError, suppress_convergence_warnings
from mklcore.estimators import best_k
from mklcore.io.catalog import Algorithm, Control, PathParameter, Preset, Variant
from mklcore.io.catalog.controls import RELAXATIONS
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.features import Nystroem
from mklcore.paths.choosing import CrossValidated, cross_validate_path
from mklcore.paths.path import Path, path_grid
from pages.shared.session import parameters
from pages.shared.session.parameters import (
    ANSWER,
    LOW_RANK,
    METHODS,
    MethodParams,
    Params,
    Setting,
    TableParams,
    applicable,
)
from pages.shared.session.state import memory
from pages.shared.values import dictionaries, tables
from pages.shared.work import work
from pages.shared.work.work import Failed, Found, Pending, Ready

# The method


OPEN = ("p", "loss")  # what is chosen unless a person fixes it


def algorithm(params: Params) -> Algorithm:
    """Return the algorithm in use."""
    return METHODS[params.algorithm]


def runs_over(params: Params) -> PathParameter:
    """Return the parameter the path runs over."""
    method = algorithm(params)
    return method.path(params.path if params.path in method.path_params else method.path_params[0])


def acting(params: Params) -> tuple[Control, ...]:
    """Return the controls that have an effect under these parameters: not the path's own, nor what
    another switches off.
    """
    method = algorithm(params)
    task = tables.table(params).task
    values: dict[str, Setting] = {
        control.name: params.setting(control) for control in applicable(method, task)
    }
    return method.shown(task, runs_over(params).key, values)


def words_for(params: Params) -> Algorithm | Variant:
    """Return whose formula and words hold under these parameters: a control may change what is
    solved.
    """
    acts = {control.name: params.setting(control) for control in acting(params)}
    return algorithm(params).words_for(acts, tables.table(params).task)


def solved(method: Algorithm, found: Exploration) -> Algorithm | Variant:
    """Return whose formula and words hold for the model of an answer."""
    acts = {name: getattr(found.model, name, None) for name in ("loss", "p")}
    return method.words_for(acts, found.learnt_from.task)


def holds(preset: Preset, params: Params, task: str) -> bool:
    """Whether the parameters are those of the preset."""
    fixed = dict(params.settings)
    acting = applicable(METHODS[params.algorithm], task)
    usual = {control.name: control.default for control in acting if not is_open(params, control)}
    path = not preset.path or preset.path == runs_over(params).key
    return path and all((usual | fixed).get(name) == value for name, value in preset.settings)


def is_open(params: Params, control: Control) -> bool:
    """Whether folds choose a parameter unless a person fixes it."""
    return params.algorithm == "lp" and control.name in OPEN


LANDMARKS = 100
SECONDS = 3.0  # of an answer, about
# of the processor between two stages that are shown: every one draws the page again
SHOWN_SECONDS = 1.0
FEW_ROWS = 2000  # up to which plain models are fitted within a moment
# controls that the pipeline calls by name
FIXED = {"p": "p", "C": "C", "lam": "lam", "n_kernels": "s", "loss": "loss"}
USUAL = Params()
TABLE_SUGGESTS = ("together", "curved", "pairs", "spectrum", "places", "shift", "edited")
Progress = Callable[..., None]


@dataclass(frozen=True)
class Partial:
    """What the stages that are over have found, by name."""

    found: dict[str, Any]

    @property
    def compared(self) -> list[ScoredCandidate]:
        """The candidates with their scores, () before."""
        return self.found.get("path", [])

    @property
    def refit(self) -> tuple[Path, int, Any] | None:
        """The path, the point that was chosen, and the model."""
        return self.found.get("refit")

    @property
    def sampled(self) -> str:
        """On which rows a path is fitted whose model on all rows is on its way; "" where on all."""
        folds = self.found.get("table")
        if self.refit is None or folds is None:
            return ""
        used = len(self.refit[0].estimators[0].training_target_)
        of = folds.learn.n_samples
        if used == of:
            return ""
        rows = f"{used:,} of {of:,} rows"
        return f"The path is fitted on {rows}; the model on all of them is on its way."

    @property
    def answer(self) -> Exploration | None:
        """The answer before plain models are fitted beside it; None before, and of few rows."""
        return self.found.get("references")


def request(params: Params) -> Request:
    """What the person fixed; all else is chosen. Raises ``MKLError``."""
    method = algorithm(params)
    ready = tables.on_stack(params)
    given = {control.name: params.setting(control) for control in acting(params)}
    given = {name: given[name] for name, _ in params.settings if name in given}
    fixed: dict[str, Any] = {FIXED[name]: given.pop(name) for name in tuple(given) if name in FIXED}
    if method.key != "lp" or params.path or given:
        fixed["method"] = method.key
    if params.way == LOW_RANK and method.is_approximable:
        fixed["approximation"] = Nystroem(params.landmarks or LANDMARKS, params.seed)
    if params.normalise != "auto":
        fixed["normalise"] = None if params.normalise == "none" else params.normalise
    if ready:
        fixed["stack"] = dictionaries.chosen_stack(params)
    elif not params.recommended or any(
        getattr(params, name) != getattr(USUAL, name) for name in TABLE_SUGGESTS
    ):
        fixed["kernels"] = dictionaries.dictionary(params)
    return Request(
        **fixed,
        scoring=params.scoring or None,
        max_rows=params.rows or None,
        seed=params.seed,
        test_size=None if params.test == USUAL.test else params.test,
        over=params.path or None,
        settings=tuple(given.items()),
        center=params.center,
        hold_out=params.hold_out,
    )


def key(params: Params) -> Params:
    """The parameters that the answer depends on, all others at their usual values."""
    return replace(params.of(*ANSWER), validation=USUAL.validation, stratified=True)


def get(params: Params, asked: bool = True) -> Found:
    """The `Exploration`, the share and the `Partial` of the one in the making, or why there is
    none.
    """
    try:
        data = tables.table(params)
        what = request(params)
    except MKLError as error:
        return Failed(str(error), error.repairs)
    # the usual way compiles a few functions, sooner than another process all of them
    compiled = not what.is_open
    return work.get(
        ("answer", key(params)),
        _make(data, what),
        title="Answer",
        asked=asked,
        seconds=SECONDS,
        compiled=compiled,
    )


FIRST_ROWS = 1000  # of the answer that comes first
# rows and bytes of a table from which there is one
MANY_ROWS = 10_000
MANY_BYTES = 1e6


class FirstAnswer(NamedTuple):
    """The answer from a sample of ``rows`` of the rows ``of`` a table, to look at while that from
    all of them is computed: no file, and nothing that is computed later, is made from it.
    """

    found: Exploration
    rows: int
    of: int


def first(params: Params) -> FirstAnswer | None:
    """The first answer, None as long as it is not there, and where there is none: for a small
    table, and where a person has chosen more than the table and how it is read.
    """
    file = memory().uploads.get(params.data)
    is_plain = params.of(*ANSWER) == params.of(TableParams)
    if file is None or file.is_stack or not is_plain or len(file.content) < MANY_BYTES:
        return None
    if work.peek(("answer", key(params))) is not None:
        return None
    read = tables.reader(params, FIRST_ROWS)

    def make(progress: Progress) -> FirstAnswer | None:
        rows, of = read()
        if of < MANY_ROWS:
            return None
        found = answered(rows, Request(), work.counted(progress, "stages of a sample"))
        return FirstAnswer(completed(found.alone()), rows.n_samples, of)

    known = work.get(
        ("first answer", key(params)), make, title="First answer", seconds=SECONDS, compiled=False
    )
    return known.value if isinstance(known, Ready) else None


def completed(found: Exploration) -> Exploration:
    """Return the answer with what its bars and its sentence need: plain models are fitted for that
    here, and not while a page is drawn.
    """
    found.effects_along  # noqa: B018
    found.verdict.score  # noqa: B018
    return found


def _make(
    data: Dataset,
    what: Request,
) -> Callable[[Progress], Exploration]:

    def make(progress: Progress) -> Exploration:
        found = dict[str, Any]()
        shown = time.thread_time()

        def tick(done: int, total: int) -> None:
            progress(done / total, STAGES[done])

        with one_blas_thread():
            for name, value in stages(data, what, tick):
                if isinstance(value, Exploration):
                    progress(0.95, STAGES[-1])
                    if value.learnt_from.n_samples > FEW_ROWS:
                        progress(None, "", Partial({**found, name: completed(value.alone())}))
                    return completed(value)
                found[name] = value
                path_asked_for = name == "refit" and not what.is_open
                if path_asked_for or time.thread_time() - shown > SHOWN_SECONDS:
                    progress(None, "", Partial(dict(found)))
                    shown = time.thread_time()
        raise AssertionError("stages end with an answer")

    return make


# Later stages, each on the finished answer


def further(params: Params, asked: bool = True) -> Found:
    """The answer with a forest and boosted trees beside it."""
    make = lambda found, _: completed(found.compare())  # noqa: E731
    return _later(params, "further", make, "Forest and boosted trees", asked)


def chance(params: Params, asked: bool = True) -> Found:
    """Whether each column could be chance, by name."""
    make = lambda found, _: found.could_be_chance  # noqa: E731
    return _later(params, "chance", make, "What could be chance", asked)


def intervals(params: Params, asked: bool = True) -> Found:
    """What tells how sure a prediction is: `Conformal` around the model."""
    return _later(params, "intervals", lambda found, _: found.conformal, "Intervals", asked)


def terms(params: Params, asked: bool = True) -> Found:
    """What single columns and pairs say."""
    return _later(params, "terms", lambda found, _: found.terms, "Columns and pairs", asked)


MAP_NORMS = tuple(
    1.0 / share if share else math.inf for share in (1.0, 5 / 6, 2 / 3, 0.5, 1 / 3, 1 / 6, 0.0)
)
MAP_COSTS = 9
MAP_ROWS = 400
MAP_FOLDS = 3


def has_map(found: Exploration) -> bool:
    """Whether the model has a norm and C, and rows that can be cut into folds."""
    return {"p", "C"} <= found.model.get_params().keys() and found.request.stack is None


def mapped(found: Exploration) -> Any:
    """The model whose map is drawn: that of the answer, or, where it has one kernel and no norm has
    an effect, one of a kernel per column and width.
    """
    if len(found.path.kernel_names) > 1:
        return clone(found.model)
    data = found.learnt_from
    return machine(data.task, KernelDictionary.recommended(data, whole=False), 2.0)


def norm_map(params: Params) -> Found:
    """Validation scores of the model over p and C, by folds of some of its rows: `CrossValidated`."""

    def make(found: Exploration, progress: Progress) -> CrossValidated:
        rows = found.request.some(found.path_rows, MAP_ROWS)
        model = mapped(found)
        costs = path_grid(model, rows, rows.y, "C", MAP_COSTS)
        grids: dict[str, Any] = {"p": MAP_NORMS, "C": costs}
        tick = work.counted(progress, "norms on folds")
        with one_blas_thread(), suppress_convergence_warnings():
            return cross_validate_path(
                model,
                rows,
                rows.y,
                params=grids,
                n_splits=MAP_FOLDS,
                seed=found.seed,
                callback=tick,
                scoring=found.request.scoring,
            )

    return _later(params, "norm map", make, "Map of p and C", seconds=20.0, compiled=True)


def _later(
    params: Params,
    name: str,
    make: Callable[[Exploration, Progress], Any],
    title: str,
    asked: bool = True,
    seconds: float = 1.0,
    compiled: bool = False,
) -> Found:
    # what a released cursor looks at once more
    if (known := work.peek((name, key(params)))) is not None:
        return Ready(known)
    whole = get(params, asked)
    if not isinstance(whole, Ready):
        return whole
    return work.get(
        (name, key(params)),
        lambda progress: make(whole.value, progress),
        title=title,
        asked=asked,
        seconds=seconds,
        compiled=compiled,
    )


def best_known(params: Params) -> Exploration | None:
    """The answer as far as it is known by now: with trees beside it once they are there."""
    now = key(params)
    return work.peek(("further", now)) or work.peek(("answer", now))


def known_choices(params: Params) -> Path | None:
    """The best choices of as many kernels as MKL-GOMP takes, where they are known by now: from
    `best_choices`, or from the answer of "Best k kernels".
    """
    found: Path | None = work.peek(("best choices", key(params)))
    if found is not None:
        return found
    shared = {control.name for control in METHODS["best_k"].controls}
    settings = tuple(pair for pair in params.settings if pair[0] in shared)
    for over in ("", "s"):
        beside = replace(params, algorithm="best_k", path=over, settings=settings)
        known = best_known(beside)
        if known is not None:
            return known.path
    return None


def best_choices(params: Params) -> Found:
    """The best choices of as many kernels as MKL-GOMP takes along its path: a `Path`."""

    def make(found: Exploration, progress: Progress) -> Path:
        rows = found.path_rows
        tick = work.counted(progress, "sizes")
        with one_blas_thread(), suppress_convergence_warnings():
            return best_k.best_choices(
                found.path, found.request.given(rows), rows.y, RELAXATIONS, tick
            )

    return _later(params, "best choices", make, "Best choices", seconds=10.0, compiled=True)


def threshold(params: Params, found: Exploration) -> float:
    """The threshold at which the chosen model parts two classes; the usual one for other targets."""
    is_of_two = found.learnt_from.task == "binary"
    return params.threshold if is_of_two and params.threshold else USUAL_THRESHOLD


# The methods of Compare


@dataclass(frozen=True, eq=False)
class ComparedMethod:
    """What one method has to show: its name and parameters, its answer, its path as soon as that is
    there, and where it is or why there is none.
    """

    label: str
    method: MethodParams
    params: Params
    found: Exploration | None = None
    path: Path | None = None
    note: str = ""
    failed: Failed | None = None


@lru_cache(maxsize=64)
def methods(params: Params) -> tuple[MethodParams, ...]:
    """The methods that the parameters ask for."""
    return parameters.read_methods(params.methods)


@lru_cache(maxsize=256)
def method_params(params: Params, method: MethodParams) -> Params:
    """The parameters of a method's answer: that its path is named fixes the method."""
    return replace(
        params.of(*ANSWER), algorithm=method.algorithm, path=method.over, settings=method.settings
    )


def shown(params: Params) -> list[ComparedMethod]:
    """What there is to show, method by method; what is not there is asked for."""
    methods_shown = methods(params)
    every = list[ComparedMethod]()
    for method, label in zip(
        methods_shown, parameters.labels(methods_shown, tables.table(params).task), strict=True
    ):
        one = ComparedMethod(label, method, method_params(params, method))
        match get(one.params):
            case Ready(found):
                one = replace(one, found=found, path=found.path)
            case Pending(_, _, part):
                path = part.refit[0] if part is not None and part.refit else None
                one = replace(one, path=path, note="On its way.")
            case failed:
                one = replace(one, note=failed.sentence, failed=failed)
        every.append(one)
    return every


def best_k_among(every: Sequence[ComparedMethod]) -> Exploration | None:
    """The first answer of "Best k kernels" along k that is there, None without one."""
    for one in every:
        if one.method.algorithm != "best_k" or one.found is None:
            continue
        if one.found.path.param == "s":
            return one.found
    return None


def excesses(every: Sequence[ComparedMethod], best: Exploration) -> Found:
    """By how much the first k kernels of every other method that is there are above the best k, by
    its name.
    """
    ready = list[Params]()
    others = dict[str, Path]()
    for one in every:
        if one.found is None:
            continue
        ready.append(key(one.params))
        if one.method.algorithm != "best_k":
            others[one.label] = one.found.path

    def make(progress: Progress) -> dict[str, Array]:
        rows = best.path_rows
        return best_k.excesses(best.path, best.request.given(rows), rows.y, others)

    name = "behind the best", *ready
    return work.get(name, make, title="Beside the best kernels", compiled=False)
