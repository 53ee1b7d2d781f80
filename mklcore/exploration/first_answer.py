"""The first answer for a table nothing is known about: which columns count, and how well they predict.

`explore` is what the app does for a stranger's table, as one call: rows drawn, the recommended dictionary, a certified
path over C, the point chosen on validation rows, how much every column counts, and plain models beside it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline

from mklcore.arrays import Array, Labels
from mklcore.catalog import ESTIMATORS
from mklcore.data.dataset import Dataset, Split, joined_rows, three_way_split
from mklcore.data.splitting import RANDOM, codes_of, fold_rows, rare_note
from mklcore.errors import DataError, KernelError, ParameterError, suppress_convergence_warnings
from mklcore.estimators.explain import kernels_by_columns, specs_of, weight_shares
from mklcore.estimators.importance import ColumnAnswer, column_importance
from mklcore.estimators.joint import JointMKLClassifier
from mklcore.estimators.lp import UniformMKLClassifier, UniformMKLRegressor
from mklcore.estimators.terms import Term, decompose
from mklcore.exploration.candidates import (
    CHOSEN_ON,
    COMPARED_WORK,
    FEW,
    FOLDS,
    PATH_WORK,
    Candidate,
    Ground,
    Judged,
    contenders,
    grid_points,
    offered,
    pairs,
    rows_within,
    sparse,
    taken,
    with_loss,
)
from mklcore.exploration.intervals import Uncertain, calibrated
from mklcore.exploration.large import MANY_MORE, on_all_rows
from mklcore.exploration.scaling import as_pipeline, seen_through, steps_before
from mklcore.exploration.screening import screened
from mklcore.figures.takeaway import About, Problem, path_page
from mklcore.kernels.checks import one_blas_thread
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.units import units
from mklcore.notebook.framing import framed
from mklcore.paths.path import GROWTH, Path, fit_path, grown, no_better, path_grid
from mklcore.selection.references import MOST, PLAIN, Reference, best_single_kernel, plain_references, single_kernels
from mklcore.selection.scoring import Scoring, label_of, rarest, scorer_of

FURTHER = 12  # points beyond the usual grid, while the last is the best
BEHIND = 3  # points after the best one that have to be no better before the path ends
SURE_ROWS = 500  # validation rows by which a score hardly wavers: then one fewer is enough
STACK_MB = 300.0
LARGE_JUDGES = 5000  # validation rows that judge where all rows are used
SCORED_ROWS = 1000  # validation rows that choose
PERMUTED_ROWS = 500
OTHER_LOSSES = ("hinge", "logistic")  # tried for the best candidate; the last for two classes
OWN_SCORES = ("r2", "accuracy")  # of models without another
FAR = 0.1  # relative gap of a refit that is no model
LEAST_JUDGES = 2  # validation rows that R² is defined on
Tick = Callable[[int, int], Any]


class Rows(NamedTuple):
    """How many rows were used for training, of how many, and how they were drawn."""

    used: int
    of: int
    how: str


class Preliminary(NamedTuple):
    """What is known before the models are compared: the columns by importance and the score, both of the richest
    model on at most ``CHOSEN_ON`` training rows, how many those were, and the seconds of processor and wall clock until
    then.
    """

    columns: tuple[ColumnAnswer, ...]
    score: float
    n_rows: int
    seconds: tuple[float, float]


@dataclass(frozen=True, eq=False, repr=False)
class Exploration(Uncertain):
    """The first answer.

    ``path`` is that of the model that was chosen, along C, fitted on the rows for training and scored on validation
    rows, at most ``SCORED_ROWS`` of them; ``index`` the point that was taken, by folds where rows are few. ``columns``
    are sorted by importance; ``baselines`` name -> validation score; ``score`` and ``baselines`` count all validation
    rows, and ``standard_error`` is that of the score which chose. ``seconds`` of processor and wall clock until path
    and columns were known. ``scaling`` of the columns: "" or "normal scores".

    ``model`` is fitted on all rows but the test rows, when it is first asked for, and takes rows as the table has them.
    """

    rows: Rows
    dictionary: KernelDictionary
    path: Path
    index: int
    columns: tuple[ColumnAnswer, ...]
    baselines: dict[str, float]
    score: float
    standard_error: float
    scoring: str
    notes: tuple[str, ...]
    seconds: tuple[float, float]
    scaling: str
    _candidate: Candidate = field(repr=False)
    _fitted: dict[str, Any] = field(repr=False)
    _learnt_from: Dataset = field(repr=False)
    _test: Dataset | None = field(repr=False)
    _scorer: Any = field(repr=False)
    _left_out: tuple[Array, Labels] = field(repr=False)
    _seen: tuple[Dataset, Dataset] = field(repr=False)

    @cached_property
    def model(self) -> Pipeline:
        """The chosen model on all rows but the test rows: a Pipeline of what stands before the machine, and the
        machine.

        It takes rows as ``Dataset.X`` has them, ``Dataset.table`` where there are sequences.
        """
        rows = self._learnt_from
        steps = steps_before(rows, self.scaling)
        with one_blas_thread():
            machine = _fitted(self._candidate, float(self.path.values[self.index]), seen_through(steps, rows))
        if self._learnt_from.task != "regression":
            calibrated(machine, *self._left_out)
        return as_pipeline(steps, machine)

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """What single columns and sets of columns say in ``model``: shares of the variance that sum to 1, the
        largest first, and what the validation score loses without each, measured on the model of ``path``.
        """
        machine, (train, judge) = self.path.estimators[self.index], self._seen
        held_out = judge.drawn(PERMUTED_ROWS, 0)
        return decompose(machine, train, held_out, scoring=None if self.scoring in OWN_SCORES else self.scoring).terms

    def test_scores(self) -> dict[str, float]:
        """The scores on all test rows: "ours", which is ``model``, and every baseline, the plain ones fitted again
        on the same rows; look once, after choosing. DataError where no row was held out.
        """
        if self._test is None:
            raise DataError(
                "No row was held out: explore(data, test_size=0.25) keeps a quarter of the rows to score on."
            )
        found = {name: _again(name, model, self._learnt_from) for name, model in self._fitted.items()}
        return _scores(self._scorer, {"ours": self.model} | found, self._test)

    def __repr__(self) -> str:
        text = f"{self.scoring} {self.score:.2f} on validation rows, {len(self.path.kernel_names)} kernels"
        return f"Exploration({text}, {len(self.path)} points)"

    def page(self, about: About | None = None) -> str:
        """One HTML file in which a person drags along the path, with the share of every column and the plain models
        beside it.
        """
        table = self._learnt_from
        seen = [(one.name, one.columns) for one in units(table)]
        members = kernels_by_columns(specs_of(self.path.estimators[self.index]), seen, table.source_names)
        found = weight_shares(self.path.weights, members)
        described = about or About(f"Which columns count, along {self.path.param}")
        lp = ESTIMATORS["lp"]
        solved = described.problems or (Problem("", lp.formula, lp.look_for, lp.cannot_tell),)
        rows = ("Rows for training", f"{self.rows.used:,} of {self.rows.of:,}")
        described = replace(described, problems=solved, facts=(*described.facts, rows))
        return path_page(
            self.path,
            described,
            index=self.index,
            columns=(found.names, found.values),
            references=tuple(self.baselines.items()),
        )

    def _repr_html_(self) -> str:
        return framed(self.page(), self._table())

    def _table(self) -> str:
        body = "".join(
            f"<tr><td>{escape(one.name)}</td><td>{'' if one.share is None else format(one.share, '.0%')}</td>"
            f"<td>{one.importance:.3g}{_error(one.importance_sd)}</td></tr>"
            for one in self.columns[:12]
        )
        beside = ", ".join(f"{escape(name)} {value:.3g}" for name, value in self.baselines.items())
        return (
            f"<p><b>{self.scoring} {self.score:.3g}</b> on validation rows ({beside}); {self.rows.used:,} of "
            f"{self.rows.of:,} rows for "
            f"training</p><table><tr><th>column</th><th>weight</th><th>importance</th></tr>{body}</table>"
            f"<ul>{''.join(f'<li>{escape(note)}</li>' for note in self.notes)}</ul>"
        )


@one_blas_thread()  # two take twice the seconds of the processor, and no less of the clock
def explore(
    data: Dataset,
    *,
    seed: int = 0,
    max_rows: int = 2000,
    scoring: Any = None,
    callback: Tick | None = None,
    baselines: bool = True,
    test_size: float = 0.25,
    hold_out: str = RANDOM,
    preliminary: Callable[[Preliminary], Any] | None = None,
) -> Exploration:
    """Which columns of this table count, and how well do they predict?

    Holds out a share ``test_size`` of the rows, 0 for none. Of the rest a quarter to a third judges, the others are for
    training, at most ``max_rows`` of them at first. Chosen among are straight lines, functions of single columns
    (`KernelDictionary.recommended`), pairs of them and kernels of all columns beside them, plain or with scales of the
    columns by relevance, sparse (p = 1) or not (p = 2), each along C: by folds below ``FEW`` rows, else on the
    validation rows. A richer model is taken where it gains more than one standard error. ``notes`` tell what was taken
    and how sure that is; ``model`` is that model on all rows but those held out.

    ``scoring`` : a scikit-learn scorer or its name; None is accuracy for classes and R2 for numbers. ``callback(done,
    total)`` is called between steps; raise in it to cancel. ``baselines=False`` fits no plain models.
    DataError without a target.

    Parameters
    ----------
    data : Dataset
        The table with its target.
    seed : int, default 0
        Seed of the random draws: the same number gives the same result.
    max_rows : int, default 2000
        Most rows that are read or used; more are refused, or drawn at random.
    scoring : str, callable or None, default None
        Score to measure: a name of ``SCORINGS`` or a callable ``(estimator, X, y)``; None for the usual score of the
        task.
    callback : callable or None, default None
        Called after every step with a record of it; raising ``CancelledError`` ends the fit.
    baselines : bool, default True
        Whether plain models are fitted beside it.
    test_size : float, default 0.25
        Share of the rows that are held out for one final score, in [0, 1).
    hold_out : str, default "random"
        "last" or "first" for rows in the order of time, as in `three_way_split`: the newest rows are held out, those
        before them judge, and nothing is chosen by folds.
    preliminary : callable or None, default None
        Called with a `Preliminary` ranking of the columns, as soon as a first model is fitted; the answer itself can
        take several times as long. Not called where the rows are too few for one. ``seconds`` of the answer count it.

    Returns
    -------
    Exploration
        The chosen model with its path, baselines and notes.

    Examples
    --------
    >>> from mklcore.data.samples import load_sample
    >>> found = explore(load_sample("iris"))
    >>> found.score > found.baselines["majority"]
    True
    """
    tick = callback or (lambda done, total: None)
    clock = _Clock()
    problem = _problem(data, test_size, max_rows, scoring, seed, hold_out)
    name, scorer = _measure(data, scoring)
    tick(0, 4)
    choice = _chosen(problem, lambda: tick(0, 4), _announced(problem, clock, preliminary))
    answer = _answer(problem, choice)
    tick(1, 4)
    columns = _ranking(problem, answer.point, answer.seen.judge)
    seconds = clock.seconds()
    tick(2, 4)
    fitted, beside = _beside(problem, answer) if baselines else ({}, [])
    tick(3, 4)
    scored = _scores(scorer, {"ours": as_pipeline(answer.seen.steps, answer.point)} | fitted, problem.validation)
    tick(4, 4)
    seen = answer.seen
    return Exploration(
        answer.rows, seen.candidate.dictionary, answer.path, answer.chosen, columns,
        {one: scored[one] for one in fitted}, scored["ours"], choice.best.error, name,
        (*_about(data), *_too_rare(data), choice.note, *answer.notes, *beside), seconds,
        seen.candidate.scaling, seen.candidate, fitted, answer.learnt_from, problem.test, scorer,
        (answer.point.decide_blocks(seen.blocks), seen.judge.y), (seen.train, seen.judge),
    )  # fmt: skip


def _problem(data: Dataset, test_size: float, max_rows: int, scoring: Scoring, seed: int, hold_out: str) -> _Problem:
    """The rows of the table by what they are for; DataError where they are too few, or have no target."""
    if data.task == "novelty":
        raise DataError("The table has no target, so no column can matter for it; name a target, or fit LpMKLOneClass.")
    rest, own, validation, test = _cut(data, test_size, seed, hold_out)
    n_kernels = len(KernelDictionary.recommended(rest, whole=False)) + 3
    train, rows = _drawn(own, rest.n_samples, n_kernels, max_rows, seed)
    judge = validation.drawn(SCORED_ROWS, seed)
    if data.task == "regression" and judge.n_samples < LEAST_JUDGES:
        raise DataError(
            f"{data.n_samples} rows leave {judge.n_samples} to choose the model by, and the scores of a number need "
            f"{LEAST_JUDGES} rows. Add rows, or read the target as classes."
        )
    return _Problem(rest, own, train, judge, validation, test, rows, scoring, seed, hold_out)


def _measure(data: Dataset, scoring: Any) -> tuple[str, Any]:
    """The name of the score and its scorer."""
    asked = scoring or ("r2" if data.task == "regression" else "accuracy")
    return asked if isinstance(asked, str) else label_of(asked), scorer_of(asked)


def _answer(problem: _Problem, choice: _Choice) -> _Answer:
    """The path of the chosen candidate: on features of all rows where they are many and this is not worse than what
    chose, else exact."""
    chosen = choice.best
    if problem.is_large(len(chosen.candidate.dictionary)):
        steps = steps_before(problem.rest, chosen.candidate.scaling)
        own, judges = (
            seen_through(steps, part) for part in (problem.own, problem.validation.drawn(LARGE_JUDGES, problem.seed))
        )
        richer = choice.richer if own.n_samples >= MANY_MORE * choice.n_rows else []
        found = on_all_rows([chosen.candidate, *richer], own, judges, problem.scoring)
        if found is not None and found.score >= chosen.score - chosen.error:
            train = seen_through(steps, problem.train)
            seen = _Seen(found.candidate, steps, train, found.judge, found.stack, found.blocks, problem.scoring)
            rows = problem.rows._replace(used=own.n_samples, how=found.summary)
            return _Answer(seen, found.path, found.path.first_look, problem.rest, rows, [])
    seen = problem.of(chosen.candidate)
    path, notes = _path(seen, chosen)
    index = path.nearest(chosen.value) if chosen.by_folds else path.first_look
    learnt_from = problem.train if problem.is_large(len(chosen.candidate.dictionary)) else problem.rest
    return _Answer(seen, path, index, learnt_from, problem.rows, notes)


def _ranking(problem: _Problem, machine: Any, judge: Dataset) -> tuple[ColumnAnswer, ...]:
    """What the score of a machine on these rows loses when a column is permuted."""
    rows = judge.drawn(PERMUTED_ROWS, problem.seed)
    seen = units(problem.rest)
    return column_importance(machine, rows.table, rows.y, seen, scoring=problem.scoring, seed=problem.seed)


def _beside(problem: _Problem, answer: _Answer) -> tuple[dict[str, Any], list[str]]:
    """The plain models, fitted, and what is to be said of them."""
    plain = plain_references(problem.train, problem.judge, problem.scoring)
    notes = _behind(plain, float(answer.path.val_score[answer.chosen]))
    classes = len(problem.rest.class_names)
    if problem.rest.task == "multiclass" and (few := single_kernels(classes)) < MOST:
        notes.append(
            f"The best single kernel is looked for among the {few} most aligned with the target: each takes a machine "
            f"for every one of {classes} classes."
        )
    seen = answer.seen
    if seen.candidate.approximation is not None:  # exact kernels, on the sample
        seen = problem.of(replace(seen.candidate, approximation=None))
    return _baselines(seen, answer.path.values[max(0, answer.chosen - 2) :][:5], plain), notes


def _cut(data: Dataset, test_size: float, seed: int, hold_out: str) -> tuple[Dataset, Dataset, Dataset, Dataset | None]:
    """All rows but the test rows, of them those for training and those that judge, and the test rows."""
    if isinstance(test_size, bool) or not 0.0 <= test_size < 1.0:
        raise ParameterError(f"test_size is the share of rows to hold out, from 0 to below 1; got {test_size!r}.")
    if not test_size:
        train, validation = data.split(0.25, seed, hold_out)
        return data, train, validation, None
    train, validation, test = three_way_split(data, (1.0 - test_size) / 3.0, test_size, seed, hold_out=hold_out)
    return joined_rows(train, validation), train, validation, test


def _scores(scorer: Any, models: dict[str, Any], rows: Dataset) -> dict[str, float]:
    """The score of every model on all these rows; plain models see the columns alone."""
    return {
        name: float(scorer(model, rows.X if name in PLAIN else rows.table, rows.y)) for name, model in models.items()
    }


def _again(name: str, model: Any, rest: Dataset) -> Any:
    """A baseline with the parameters that were chosen for it, fitted on all these rows."""
    from sklearn.base import clone

    if name in PLAIN:
        return clone(model).fit(rest.X, rest.y)
    return model


class _Problem(NamedTuple):
    """The rows that a first answer learns from and is judged on, as the table has them: ``rest`` all but the ``test``
    rows, of them ``own`` to learn from and ``validation``; ``train`` and ``judge`` are those that are used first.
    """

    rest: Dataset
    own: Dataset
    train: Dataset
    judge: Dataset
    validation: Dataset
    test: Dataset | None
    rows: Rows
    scoring: Scoring
    seed: int
    hold_out: str

    def of(self, candidate: Candidate) -> _Seen:
        """The same as the kernels of a candidate see it."""
        steps = steps_before(self.rest, candidate.scaling)
        train, judge = (seen_through(steps, part) for part in (self.train, self.judge))
        stack = candidate.dictionary.grams(train)
        return _Seen(candidate, steps, train, judge, stack, stack.cross(judge), self.scoring)

    def is_large(self, n_kernels: int) -> bool:
        """Whether the kernels of all rows would take more room than a stack may."""
        return 8e-6 * n_kernels * self.rest.n_samples**2 > STACK_MB

    def ground(self) -> Ground:
        """The rows on which candidates are compared: folds of all where they are few and in no order, else some of
        these.
        """
        if self.hold_out == RANDOM and self.rest.n_samples < FEW:
            y = self.rest.y
            codes = None if self.rest.task == "regression" else codes_of(y)
            return Ground(self.rest, tuple(fold_rows(codes, y.size, min(FOLDS, y.size), self.seed)), self.scoring)
        most = rows_within(self.train, 2 * len(self.rest.columns) + 3, COMPARED_WORK)
        few = self.train.drawn(min(CHOSEN_ON, most), self.seed)
        both = joined_rows(few, self.judge)
        cut = np.arange(few.n_samples), np.arange(few.n_samples, both.n_samples)
        return Ground(both, (cut,), self.scoring)


class _Clock:
    """Seconds of the processor and of the wall since it was made."""

    def __init__(self) -> None:
        self._start = time.process_time(), time.perf_counter()

    def seconds(self) -> tuple[float, float]:
        """How many have passed."""
        return time.process_time() - self._start[0], time.perf_counter() - self._start[1]


class _Choice(NamedTuple):
    """The candidate that is taken, a sentence about it, the richest candidate where that is another one on the same
    columns, and the training rows on which they were compared."""

    best: Judged
    note: str
    richer: list[Candidate]
    n_rows: int


class _Seen(NamedTuple):
    """What every model on the kernels of one candidate is fitted on and judged by."""

    candidate: Candidate
    steps: list[tuple[str, Any]]
    train: Dataset
    judge: Dataset
    stack: Any
    blocks: Any
    scoring: Scoring

    def along(self, model: Any, values: Any, until: Callable[[Any], bool] | None = None) -> Path:
        """The path of ``model`` over values of C, up to where ``until`` says so of a point."""
        return fit_path(
            model, self.stack, self.train.y, "C", values, self.blocks, self.judge.y, scoring=self.scoring, until=until
        )


class _Answer(NamedTuple):
    """The path of the chosen candidate on what its kernels have ``seen``, the point that is taken, the rows that the
    final model is fitted on, those that were used, and what is to be said."""

    seen: _Seen
    path: Path
    chosen: int
    learnt_from: Dataset
    rows: Rows
    notes: list[str]

    @property
    def point(self) -> Any:
        """The fitted model that is taken."""
        return self.path.estimators[self.chosen]


def _drawn(train: Dataset, of: int, n_kernels: int, max_rows: int, seed: int) -> tuple[Dataset, Rows]:
    """At most ``max_rows`` training rows, and no more than the stack has room for."""
    room = int(np.sqrt(STACK_MB * 1e6 / (8 * n_kernels)))
    most = min(max_rows, room, rows_within(train, n_kernels, PATH_WORK))
    if train.n_samples <= most:
        return train, Rows(train.n_samples, of, "all training rows")
    kind = "drawn by class" if train.task != "regression" else "drawn at random"
    return train.drawn(most, seed), Rows(most, of, f"{kind} from {train.n_samples:,} training rows")


def _about(data: Dataset) -> list[str]:
    """What a score alone does not tell about this target."""
    if data.task == "regression":
        return []
    labels, counts = np.unique(data.y, return_counts=True)
    largest = counts.max() / counts.sum()
    notes = [f"The largest class, {labels[counts.argmax()]!s}, holds {largest:.1%} of the rows."]
    if rarest(data) is not None:
        notes.append('A class is rare: scoring="balanced_accuracy" or "matthews_corrcoef" gives it its weight.')
    return notes


def _too_rare(data: Dataset) -> list[str]:
    """The classes whose rows all stay in training, as one sentence."""
    note = "" if data.task == "regression" else rare_note(data.y, len(Split._fields))
    return [note] if note else []


def _path(problem: _Seen, chosen: Judged) -> tuple[Path, list[str]]:
    """The path over C, at least up to where the candidate was best, continued while its best point is the last; and
    what is to be said.
    """
    asked = chosen.candidate.machine(problem.train.task)
    points = grid_points(problem.train)
    grid = path_grid(asked, problem.stack, problem.train.y, "C", points)
    if chosen.candidate.joint:
        return problem.along(asked, chosen.value * np.array([0.1, 1.0, 10.0])), []
    behind = BEHIND - (problem.judge.n_samples >= SURE_ROWS)
    least = max(points // 2, int(np.searchsorted(grid, chosen.value)) + 1 if chosen.by_folds else 0)
    path = problem.along(asked, grid, no_better(problem.blocks, problem.judge.y, least, behind, problem.scoring))
    if len(path) < len(grid):
        return path, []
    given = problem.stack, problem.train.y, problem.blocks, problem.judge.y
    with suppress(KernelError):  # as far as double precision carries
        while len(path) < points + FURTHER and path.at_edge is not None:
            path = grown(path, asked, *given, scoring=problem.scoring, grow=GROWTH)
    note = f"Optimum at the grid boundary: the score rises until C = {path.values[-1]:.4g}, the largest value tried."
    return path, [note] if path.at_edge == -1 and not chosen.by_folds else []


def _announced(
    problem: _Problem, clock: _Clock, tell: Callable[[Preliminary], Any] | None
) -> Callable[[Ground, Judged], Any]:
    """What makes a preliminary ranking of a first model and hands it to ``tell``, if anybody asks for one."""

    def announce(ground: Ground, one: Judged) -> None:
        if tell is None:
            return
        try:
            machine, left_out = ground.first_machine(one)
            columns = _ranking(problem, machine, left_out)
        except (DataError, KernelError):  # too few rows for one; the answer itself rests on more
            return
        tell(Preliminary(columns, one.score, ground.pairs[0][0].size, clock.seconds()))

    return announce


def _chosen(problem: _Problem, tick: Callable[[], Any], announce: Callable[[Ground, Judged], Any]) -> _Choice:
    """Compares the candidates, and the best of them with other norms and losses; ``announce`` is given the richest as
    soon as it is judged."""
    train, ground = problem.train, problem.ground()
    found = screened(train, KernelDictionary.recommended(train, whole=False), problem.seed)
    seen = seen_through(steps_before(train, found.scaling), train)
    richest, *plainer = offered(seen, found.scaling, found.whole, pairs(seen))
    tried = [ground.judge(richest, tick, 1)]
    announce(ground, tried[0])
    tried += [ground.judge(one, tick, 1) for one in plainer]
    best = taken(tried)
    joint = best.candidate.joint
    others = [sparse(best.candidate)] if best.candidate.rank and not joint else []
    if not joint and train.task != "regression" and not problem.is_large(len(best.candidate.dictionary)):
        others += [with_loss(best.candidate, loss) for loss in OTHER_LOSSES[: 2 if train.task == "binary" else 1]]
    tried += [ground.judge(one, tick, 1) for one in others]
    best, compared = taken([best, *(one for one in tried if one.candidate in others)]), tried
    if ground.by_folds:
        impressions = {one.candidate: one for one in tried}
        finalists = sorted(contenders(tried), key=lambda one: -one.rank)  # kernels of the richest serve the others
        compared = [ground.judge(one, tick, first=impressions[one]) for one in finalists]
        best = taken(compared)
        tried = [*compared, *(one for one in tried if one.candidate not in finalists)]
    last = max(tried, key=lambda one: (one.candidate.rank, one.score)).candidate
    richer = [last] if last.rank > best.candidate.rank and last.scaling == best.candidate.scaling else []
    return _Choice(best, _summary(best, compared, tried), richer, ground.pairs[0][0].size)


def _summary(best: Judged, compared: Sequence[Judged], tried: Sequence[Judged]) -> str:
    """What was taken, how sure that is, and what else was tried: ``compared`` on all folds, the others on one."""
    by = f"{FOLDS} folds" if best.by_folds else "the validation rows"
    others: dict[str, str] = {}
    for known, where in ((compared, ""), (tried, " on one fold")):
        for one in sorted(known, key=lambda one: -one.score):
            others.setdefault(one.candidate.label, f"{one.score:.3g}{where}")
    del others[best.candidate.label]
    beside = "; ".join(f"{label} {score}" for label, score in others.items())
    scaled = ", columns as normal scores of their ranks" if best.candidate.scaling else ""
    taken = f"{best.candidate.label}{scaled}, p = {best.candidate.p:g}, {best.candidate.loss} loss"
    first = f"Taken by {by}: {taken}, {best.score:.3g}"
    error = f" ± {best.error:.2g}" if best.error else ""
    return f"{first}{error}" + (f"; {beside}." if beside else ".")


def _fitted(candidate: Candidate, C: float, rows: Dataset) -> Any:
    """The candidate on these rows at ``C``, or at a smaller value where double precision does not carry this one."""
    for value in (C, C / 10.0, C / 100.0):
        with suppress(KernelError), suppress_convergence_warnings():
            machine = candidate.machine(rows.task, value).fit(rows)
            if machine.relative_gap_ is None or np.max(machine.relative_gap_) <= FAR:
                return machine
    return candidate.machine(rows.task, C / 1000.0).fit(rows)


def _as_far(along: Callable[[Any], Path], values: Any) -> Path:
    """The path over those values that double precision carries, or over the nearest smaller one."""
    while True:
        try:
            return along(values)
        except KernelError:
            values = values[:-1] if len(values) > 1 else values / 10.0


# Plain models beside it


def _behind(plain: Sequence[Reference], score: float) -> list[str]:
    """What it means where boosting is ahead by more than its standard error."""
    ahead = [one for one in plain if one.name == "boosting" and one.score - score > one.error]
    return [
        f"Gradient boosting reaches {one.score:.3g} ± {one.error:.2g} on validation rows, ahead of {score:.3g}: the "
        "target has steps, or many columns act together at once, which smooth kernels of few columns do not follow."
        for one in ahead
    ]


def _baselines(problem: _Seen, near: Array, plain: Sequence[Reference]) -> dict[str, Any]:
    """The fitted plain models by name, each with its parameter chosen on the validation rows; all take rows of the
    table. ``near``: values of C for the plain sum of kernels.
    """
    fitted = {one.name: one.model for one in plain}
    kernels = problem.candidate.dictionary
    kind: Any = UniformMKLRegressor if problem.train.task == "regression" else UniformMKLClassifier
    plain_sum = (
        JointMKLClassifier(p=np.inf, loss="squared", kernels=kernels)
        if problem.candidate.joint
        else kind(kernels=kernels)
    )
    uniform = _as_far(lambda values: problem.along(plain_sum, values), near)
    single = best_single_kernel(
        plain_sum, problem.stack, problem.train.y, problem.blocks, problem.judge.y, problem.scoring
    )
    fitted["uniform sum"] = as_pipeline(problem.steps, uniform.estimators[uniform.first_look])
    fitted[single.name] = as_pipeline(problem.steps, single.model)
    return fitted


def _error(error: float) -> str:
    """An error behind its figure; nothing where rows are too few for one."""
    return f" ± {error:.2g}" if np.isfinite(error) else ""
