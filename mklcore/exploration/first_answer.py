"""The first answer for a table nothing is known about: which columns count, and how well they predict.

`explore` is what the app does for a stranger's table, as one call: rows drawn, the recommended dictionary, a certified path
over C, the point chosen on validation rows, how much every column counts, and plain models beside it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any, NamedTuple

import numpy as np

from mklcore.arrays import Array
from mklcore.catalog import ESTIMATORS
from mklcore.data.dataset import Dataset, Split, three_way_split
from mklcore.data.spectra import PREPARATIONS, can_be_prepared, prepared
from mklcore.data.splitting import rare_note
from mklcore.errors import DataError, KernelError
from mklcore.estimators.explain import kernels_by_columns, specs_of, weight_shares
from mklcore.estimators.importance import ColumnAnswer, column_importance
from mklcore.estimators.lp import LpMKLClassifier, LpMKLRegressor, UniformMKLClassifier, UniformMKLRegressor
from mklcore.exploration.intervals import Uncertain, calibrated
from mklcore.figures.takeaway import About, Problem, path_page
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.functions import Linear
from mklcore.kernels.grams import GramStack
from mklcore.kernels.units import units
from mklcore.notebook.framing import framed
from mklcore.paths.path import GROWTH, Path, fit_path, grown, no_better, path_grid
from mklcore.scoring import Scoring, label_of, rarest, scorer_of
from mklcore.selection.bandwidths import widened
from mklcore.selection.references import (
    FLAT,
    MOST,
    PLAIN,
    Reference,
    best_single_kernel,
    plain_references,
    single_kernels,
)

POINTS, COARSE = 13, 7  # of the usual grid, and where every point is the work of many classes
FURTHER = 12  # points beyond the usual grid, while the last is the best
MANY_CLASSES = 4  # from which the grid is coarse
WIDTHS = (0.25, 0.5, 1.0, 2.0, 4.0)  # of kernels of everything, where a plain RBF machine is ahead
WIDTH_ROWS = 400  # training rows on which it is found how far the widths go
PREPARED_GAIN = 5e-3  # of a score: less is no reason to prepare spectra
PREPARED = {
    "": "as they are",
    "rows": "standardised row by row",
    "differences": "with second differences",
    "both": "standardised row by row, with second differences",
}
RIVALS = {"linear": "a linear model", "RBF": "an RBF machine"}
BEHIND = 3  # points after the best one that have to be no better before the path ends
SURE_ROWS = 500  # validation rows by which a score hardly wavers: then one fewer is enough
STACK_MB = 300.0
SCORED_ROWS = 1000  # validation rows that choose
PERMUTED_ROWS = 500
LEAST_JUDGES = 2  # validation rows that R² is defined on
Tick = Callable[[int, int], Any]


class Rows(NamedTuple):
    """How many rows were used for training, of how many, and how they were drawn."""

    used: int
    of: int
    how: str


@dataclass(frozen=True, eq=False, repr=False)
class Exploration(Uncertain):
    """The first answer. ``columns`` are sorted by importance; ``baselines`` name -> validation score; ``index`` is the
    point of ``path`` chosen on validation rows, at most ``SCORED_ROWS`` of them, and ``model`` the fit there; ``score`` and
    ``baselines`` count all validation rows. ``seconds`` of processor and wall clock until path and columns were known.
    ``preparation`` of spectra that was taken, as ``data.spectra.prepared`` has it: model and dictionary see rows prepared so,
    plain models rows as they are."""

    rows: Rows
    dictionary: KernelDictionary
    path: Path
    index: int
    model: Any
    columns: tuple[ColumnAnswer, ...]
    baselines: dict[str, float]
    score: float
    scoring: str
    notes: tuple[str, ...]
    seconds: tuple[float, float]
    preparation: str
    _fitted: dict[str, Any] = field(repr=False)
    _test: Dataset = field(repr=False)
    _scorer: Any = field(repr=False)
    _learnt_from: Dataset = field(repr=False)

    def test_scores(self) -> dict[str, float]:
        """The scores on all test rows: "ours" and every baseline; look once, after choosing."""
        return _scores(self._scorer, {"ours": self.model} | self._fitted, self._test, self.preparation)

    def __repr__(self) -> str:
        told = f"{self.scoring} {self.score:.2f} on validation rows, {len(self.path.kernel_names)} kernels"
        return f"Exploration({told}, {len(self.path)} points)"

    def page(self, about: About | None = None) -> str:
        """One HTML file in which a person drags along the path, with the share of every column and the plain models beside it."""
        test = prepared(self._test, self.preparation)
        seen = [(one.name, one.columns) for one in units(test)]
        members = kernels_by_columns(specs_of(self.model), seen, test.source_names)
        found = weight_shares(self.path.weights, members)
        told = about or About(f"Which columns count, along {self.path.param}")
        lp = ESTIMATORS["lp"]
        solved = told.problems or (Problem("", lp.formula, lp.look_for, lp.cannot_tell),)
        rows = ("Rows for training", f"{self.rows.used:,} of {self.rows.of:,}")
        told = replace(told, problems=solved, facts=(*told.facts, rows))
        return path_page(
            self.path,
            told,
            index=self.index,
            columns=(found.names, found.values),
            references=tuple(self.baselines.items()),
        )

    def _repr_html_(self) -> str:
        return framed(self.page(), self._table())

    def _table(self) -> str:
        body = "".join(
            f"<tr><td>{escape(one.name)}</td><td>{'' if one.share is None else format(one.share, '.0%')}</td>"
            f"<td>{one.importance:.3g} ± {one.importance_sd:.2g}</td></tr>"
            for one in self.columns[:12]
        )
        beside = ", ".join(f"{escape(name)} {value:.3g}" for name, value in self.baselines.items())
        return (
            f"<p><b>{self.scoring} {self.score:.3g}</b> on validation rows ({beside}); {self.rows.used:,} of "
            f"{self.rows.of:,} rows for training</p><table><tr><th>column</th><th>weight</th><th>importance</th></tr>{body}</table>"
            f"<ul>{''.join(f'<li>{escape(note)}</li>' for note in self.notes)}</ul>"
        )


def explore(
    data: Dataset,
    *,
    seed: int = 0,
    max_rows: int = 2000,
    scoring: Any = None,
    callback: Tick | None = None,
    baselines: bool = True,
    preparation: str | None = None,
) -> Exploration:
    """Which columns of this table count, and how well do they predict?

    Splits the rows (half for training, a quarter each for validation and test), draws at most ``max_rows`` training rows,
    and fits sparse MKL (p = 1) with `KernelDictionary.recommended` along C; the grid goes on while its best point is
    the last. Where a linear model or an RBF machine is ahead on the validation rows, the kernels that model is made of and
    p = 2 are tried as well, and ``notes`` tell what was taken. ``scoring`` : a scikit-learn scorer or its name; None is
    accuracy for classes and R2 for numbers.
    ``callback(done, total)`` is called between steps; raise in it to cancel. ``baselines=False`` fits no plain models, so that
    nothing is tried where one is ahead: the first look. ``preparation`` of spectra, "" for as they are; None tries all on the
    validation rows where the columns are an ordered axis, and ``notes`` tell which was taken. DataError without a target.

    >>> from mklcore.data.samples import load_sample
    >>> found = explore(load_sample("iris"))
    >>> found.score > found.baselines["majority"]
    True
    """
    if data.task == "novelty":
        raise DataError("The table has no target, so no column can matter for it; name a target, or fit LpMKLOneClass.")
    tick = callback or (lambda done, total: None)
    clock = time.process_time(), time.perf_counter()
    parts = three_way_split(data, 0.25, 0.25, seed)
    dictionary = KernelDictionary.recommended(data)
    train, rows = _drawn(parts.train, data.n_samples, len(dictionary), max_rows, seed)
    judge = parts.validation.drawn(SCORED_ROWS, seed)
    if data.task == "regression" and judge.n_samples < LEAST_JUDGES:
        raise DataError(
            f"{data.n_samples} rows leave {judge.n_samples} to choose the model by, and the scores of a number need "
            f"{LEAST_JUDGES} rows. Add rows, or read the target as classes."
        )
    asked = scoring or ("r2" if data.task == "regression" else "accuracy")
    name, scorer = asked if isinstance(asked, str) else label_of(asked), scorer_of(asked)
    tick(0, 4)
    stack = dictionary.grams(train)
    blocks = stack.cross(judge)
    problem = _Problem(data, dictionary, stack, blocks, train, judge, scoring, seed)
    plain = plain_references(train, judge, scoring) if baselines else ()
    how, spoken = ("", []) if preparation is None and not baselines else _preparation(problem, preparation)
    problem, path, notes = _bettered(problem.prepared(how), plain)
    index = int(np.nanargmax(path.val_score))
    model = path.estimators[index]
    if data.task != "regression":
        calibrated(model, problem.blocks, problem.judge.y)
    tick(1, 4)
    shuffled = problem.judge.drawn(PERMUTED_ROWS, seed)
    columns = column_importance(model, shuffled.table, shuffled.y, units(problem.data), scoring=scoring, seed=seed)
    seconds = time.process_time() - clock[0], time.perf_counter() - clock[1]
    tick(2, 4)
    fitted, beside = _baselines(problem, path, plain) if baselines else ({}, {})
    if baselines and data.task == "multiclass" and (few := single_kernels(len(data.class_names))) < MOST:
        notes = [*notes, f"The best single kernel is looked for among the {few} most aligned with the target: "
                 f"each takes a machine for every one of {len(data.class_names)} classes."]  # fmt: skip
    tick(3, 4)
    score = float(path.val_score[index])
    if judge.n_samples < parts.validation.n_samples:
        told = _scores(scorer, {"ours": model} | fitted, parts.validation, how)
        score, beside = told["ours"], {one: told[one] for one in fitted}
    tick(4, 4)
    return Exploration(
        rows, problem.dictionary, path, index, model, columns, beside, score, name,
        (*_about(data), *_too_rare(data), *spoken, *notes), seconds, how, fitted, parts.test, scorer,
        problem.train,
    )  # fmt: skip


def _scores(scorer: Any, models: dict[str, Any], rows: Dataset, how: str) -> dict[str, float]:
    """The score of every model on all these rows; plain models see the columns alone, as they are."""
    seen = {name: rows.X if name in PLAIN else prepared(rows, how).table for name in models}
    return {name: float(scorer(model, seen[name], rows.y)) for name, model in models.items()}


class _Problem(NamedTuple):
    """What every model of a first answer is fitted on and judged by."""

    data: Dataset
    dictionary: KernelDictionary
    stack: GramStack
    blocks: Array
    train: Dataset
    judge: Dataset
    scoring: Scoring
    seed: int
    p: float = 1.0

    def on(self, dictionary: KernelDictionary) -> _Problem:
        """The same rows with other kernels."""
        stack = dictionary.grams(self.train)
        return self._replace(dictionary=dictionary, stack=stack, blocks=stack.cross(self.judge))

    def prepared(self, how: str) -> _Problem:
        """The same rows with spectra prepared so, and the kernels that are recommended for them."""
        if not how:
            return self
        data, train, judge = (prepared(part, how) for part in (self.data, self.train, self.judge))
        return self._replace(data=data, train=train, judge=judge).on(KernelDictionary.recommended(data))

    def fewer(self, most: int) -> _Problem:
        """At most ``most`` of the training rows, without kernels on them."""
        few = self.train.n_samples > most
        return self._replace(train=self.train.drawn(most, self.seed)) if few else self

    def along(self, model: Any, values: Any, until: Callable[[Any], bool] | None = None) -> Path:
        """The path of ``model`` over values of C, up to where ``until`` says so of a point."""
        return fit_path(
            model, self.stack, self.train.y, "C", values, self.blocks, self.judge.y, scoring=self.scoring, until=until
        )


def _drawn(train: Dataset, of: int, n_kernels: int, max_rows: int, seed: int) -> tuple[Dataset, Rows]:
    """At most ``max_rows`` training rows, and no more than the stack has room for."""
    room = int(np.sqrt(STACK_MB * 1e6 / (8 * n_kernels)))
    most = min(max_rows, room)
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


def grid_points(data: Dataset) -> int:
    """The points of a first path over C: fewer where every point is the work of many classes."""
    return COARSE if data.task == "multiclass" and len(data.class_names) >= MANY_CLASSES else POINTS


def _path(problem: _Problem) -> tuple[Path, list[str]]:
    """The path over C, continued while its best point is the last, and what is to be said."""
    kind = LpMKLRegressor if problem.data.task == "regression" else LpMKLClassifier
    asked = kind(kernels=problem.dictionary, p=problem.p)
    points = grid_points(problem.data)
    grid = path_grid(asked, problem.stack, problem.train.y, "C", points)
    behind = BEHIND - (problem.judge.n_samples >= SURE_ROWS)
    path = problem.along(asked, grid, no_better(problem.blocks, problem.judge.y, points // 2, behind, problem.scoring))
    if len(path) < len(grid):
        return path, []
    given = problem.stack, problem.train.y, problem.blocks, problem.judge.y
    with suppress(KernelError):  # as far as double precision carries
        while len(path) < points + FURTHER and path.at_edge is not None:
            path = grown(path, asked, *given, scoring=problem.scoring, grow=GROWTH)
    told = f"Best at the edge: the score still rises at C = {path.values[-1]:.4g}, the largest that was tried."
    return path, [told] if path.at_edge == -1 else []


def best_preparation(scores: Mapping[str, float]) -> str:
    """Which preparation of spectra to take, by their scores: as they are (""), unless another gains."""
    how = max(scores, key=scores.__getitem__)
    return how if scores[how] > scores[""] + PREPARED_GAIN else ""


def _preparation(problem: _Problem, asked: str | None) -> tuple[str, list[str]]:
    """How spectra are prepared, and what is to be said: what was asked for, or what does best on the validation rows."""
    if asked is not None or not (
        can_be_prepared(problem.data) and any(unit.kind == "band" for unit in units(problem.data))
    ):
        return asked or "", []
    few = problem.fewer(WIDTH_ROWS)
    few = problem if few is problem else few.on(problem.dictionary)
    scores = {how: _best(_path(few.prepared(how))[0]) for how in ("", *PREPARATIONS)}
    how = best_preparation(scores)
    told = ", ".join(f"{PREPARED[one]} {score:.3g}" for one, score in scores.items())
    return how, [
        f'Spectra are taken {PREPARED[how]} (validation scores: {told}); preparation="" leaves them as they are.'
    ]


# Where a plain model is ahead

_Answer = tuple[_Problem, Path, list[str]]


def _bettered(problem: _Problem, plain: Sequence[Reference]) -> _Answer:
    """The recommended kernels at p = 1, or what does better on the validation rows where a plain model is ahead there.

    Tried are then the kernels that model is made of, that of the better one first, and all recommended ones at p = 2, where
    many count a little; each as long as its model is still ahead of what was found.
    """
    found = _answer(problem)
    first, rivals = _best(found[1]), {one.name: one.score for one in plain if one.name in RIVALS}
    ahead = {
        name: rivals[name]
        for name in sorted(rivals, key=rivals.__getitem__, reverse=True)
        if rivals[name] > first + FLAT
    }
    for names, told, make in _others(problem, ahead):
        best = _best(found[1])
        if all(ahead[name] <= best + FLAT for name in names):
            continue
        other, path, notes = make()
        if _best(path) > best + FLAT:
            models = " and ".join(f"{RIVALS[name]} ({score:.3g})" for name, score in ahead.items())
            why = f"The recommended kernels reach {first:.3g} on the validation rows, behind {models}"
            found = other, path, [*notes, f"{why}: {told} reach {_best(path):.3g} and are used instead."]
    return found


def _best(path: Path) -> float:
    return float(np.nanmax(path.val_score))


def _others(
    problem: _Problem, ahead: Mapping[str, float]
) -> Iterator[tuple[tuple[str, ...], str, Callable[[], _Answer]]]:
    """What to try where these plain models are ahead: the models it is tried for, in words, and what makes it."""
    straight = KernelDictionary.recommended(problem.data, curved=False)
    for name in ahead:
        if name == "linear":
            yield ("linear",), "their straight lines alone", lambda: _answer(problem.on(straight))
        elif not problem.data.sequences:
            yield ("RBF",), "kernels of all columns together, at several widths,", lambda: _whole(problem)
    yield tuple(ahead), "all of them at once (p = 2)", lambda: _answer(problem._replace(p=2.0))


def _answer(problem: _Problem) -> _Answer:
    return problem, *_path(problem)


def _whole(problem: _Problem) -> _Answer:
    """Kernels of everything in a grid of widths, which goes on while its end carries most and the score gains.

    Which widths is found on at most ``WIDTH_ROWS`` rows: there a path takes a fraction of the time."""
    start = KernelDictionary.rbf_grid(WIDTHS) + KernelDictionary((Linear(),))
    few = problem.fewer(WIDTH_ROWS)
    tried: dict[KernelDictionary, _Answer] = {}

    def fit(dictionary: KernelDictionary) -> Path:
        tried[dictionary] = _answer(few.on(dictionary))
        return tried[dictionary][1]

    found = widened(fit, start)
    again = tried[found.dictionary] if few is problem else _answer(problem.on(found.dictionary))
    if found.at_edge is None:
        return again
    way = "widest" if found.at_edge == -1 else "narrowest"
    return again[0], again[1], [*again[2], f"Best at the edge: the {way} kernel carries most."]


def _as_far(along: Callable[[Any], Path], values: Any) -> Path:
    """The path over those values that double precision carries, or over the nearest smaller one."""
    while True:
        try:
            return along(values)
        except KernelError:
            values = values[:-1] if len(values) > 1 else values / 10.0


# Plain models beside it


def _baselines(problem: _Problem, path: Path, plain: Sequence[Reference]) -> tuple[dict[str, Any], dict[str, float]]:
    """The fitted plain models by name and their validation scores, each with its parameter chosen on the validation rows."""
    fitted, beside = {one.name: one.model for one in plain}, {one.name: one.score for one in plain}
    near = path.values[max(0, int(np.nanargmax(path.val_score)) - 2) :][:5]
    kind: Any = UniformMKLRegressor if problem.data.task == "regression" else UniformMKLClassifier
    lane = _as_far(lambda values: problem.along(kind(kernels=problem.dictionary), values), near)
    fitted["uniform sum"], beside["uniform sum"] = lane.estimators[lane.first_look], lane.val_score[lane.first_look]
    single = best_single_kernel(
        kind(kernels=problem.dictionary), problem.stack, problem.train.y, problem.blocks, problem.judge.y, problem.scoring,
    )  # fmt: skip
    fitted[single.name], beside[single.name] = single.model, single.score
    return fitted, {name: float(value) for name, value in beside.items()}
