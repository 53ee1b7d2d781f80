"""What `explore` returns: a model, its path, and what is known of its columns.

Which of several answers for one table is best, by how much, and which needs the fewest kernels for the same score.

Scores are taken on the same rows, which chose nothing where rows are held out; gaps are paired, see
`mklcore.paths.scoring`. The answer that folds put first is the one that others are compared with: to choose it by
the rows that judge would flatter it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from typing import Any, NamedTuple, TypeVar

import numpy as np
from sklearn.base import clone

from mklcore.answer.conformal import Conformal
from mklcore.answer.folds import targets
from mklcore.answer.shapley import ShapleyValues, shapley_along, shapley_values
from mklcore.answer.terms import HIGHER_ORDER, Term, TermValues, decompose
from mklcore.answer.verdict import FEW_ROWS, SURE, ColumnEffect, ComparedReference, Verdict, rounded
from mklcore.answer.words import PLAIN_WORDS, WordEffect, strongest_words, with_words
from mklcore.arrays import Array, Labels, Mask, one_blas_thread
from mklcore.data.dataset import Dataset
from mklcore.errors import DataError, KernelError, suppress_convergence_warnings
from mklcore.figures.notebook import framed
from mklcore.figures.style import joined
from mklcore.figures.takeaway import About, SolvedProblem, path_page
from mklcore.io.catalog import ESTIMATORS
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.grams import GramStack
from mklcore.kernels.stacks import block_of, rows_of
from mklcore.paths.path import PATH_ATTRIBUTES, Path, fit_path
from mklcore.paths.scoring import SHARES, Predictions, Scoring, compare_scores, label_of, predictions, scorer_of

WORK = 1e8  # multiplications of Shapley values, by which rows are counted
FEWEST, MOST = 20, 500  # rows whose mean effect is taken
ALIKE = 0.9  # correlation from which columns are permuted together
REPEATS = 5  # permutations
T = TypeVar("T")
ALONG = 40  # rows of the shares along a path


class RowsUsed(NamedTuple):
    """How many rows the path was fitted on, of how many, and how they were drawn."""

    used: int
    of: int
    how: str


def later(make: Callable[[Exploration], T]) -> Any:
    """A property that is made when it is asked for, and known from then on to every copy of the answer."""

    def get(self: Exploration) -> T:
        if make.__name__ not in self._later:
            with one_blas_thread():
                self._later[make.__name__] = make(self)
        found: T = self._later[make.__name__]
        return found

    return property(get, doc=make.__doc__)


@dataclass(frozen=True, eq=False)
class Baseline:
    """A plain model: its validation ``score``, and the ``model``, which is fitted on ``rows`` when it is asked for."""

    score: float
    unfitted: Any
    rows: Dataset

    @cached_property
    def model(self) -> Any:
        """The fitted model."""
        with one_blas_thread(), suppress_convergence_warnings():
            own = hasattr(self.unfitted, "kernels")
            return clone(self.unfitted).fit(self.rows if own else self.rows.X, self.rows.y)


@dataclass(frozen=True, eq=False, repr=False)
class Exploration:
    """The answer for a table.

    ``model`` is fitted on all rows but the test rows and takes rows as `Dataset.X` has them, a `Dataset`, or a data
    frame with its columns. ``path`` runs over its parameter, ``index`` is the point that folds chose, and its
    validation scores are the means over folds. ``columns`` are sorted by effect, ``baselines`` name -> validation
    score, ``label`` says which kind of model was taken, ``notes`` why.
    """

    rows: RowsUsed
    label: str
    dictionary: KernelDictionary
    path: Path
    index: int
    model: Any
    score: float
    standard_error: float
    scoring: str
    notes: tuple[str, ...]
    learnt_from: Dataset
    test: Dataset | None
    seed: int
    _effects: tuple[ColumnEffect, ...]
    _plain: dict[str, Baseline]
    _scoring: Scoring
    _out_of_folds: Predictions | None
    dragged: Dataset
    _stack: GramStack | None = None
    _later: dict[str, Any] = field(default_factory=dict)

    @property
    def baselines(self) -> dict[str, float]:
        """Validation scores of plain models, by name."""
        return {name: one.score for name, one in self._plain.items()}

    @property
    def columns(self) -> tuple[ColumnEffect, ...]:
        """The source columns, the largest effect first; ``chance`` is there once `could_be_chance` was asked."""
        known: dict[str, bool] = self._later.get("could_be_chance", {})
        return tuple(one._replace(chance=known.get(one.name)) for one in self._effects)

    @later
    def could_be_chance(self) -> dict[str, bool]:
        """Whether no squared error is surely larger when a column is permuted on held-out rows, by name.

        Columns correlated above ``ALIKE`` are permuted together. Rows are the test rows, or those learned from where
        none are held out. DataError without a target.
        """
        if self.learnt_from.task == "novelty":
            raise DataError("Without a target no error can grow: what could be chance is not known.")
        if self._ranks_kernels:
            return kernels_by_chance(self.model, self.read(self._judge), self._judge.y, self.seed)
        return could_be_chance(self.model, self._judge, self.seed)

    @later
    def terms(self) -> tuple[Term, ...]:
        """What single columns and pairs say in ``model``: shares of the variance that sum to 1, the largest first, and
        one remainder that names no column.

        A pair is named where held-out rows say that it acts together: their squared error grows by ``importance`` when
        what it says is permuted, see `Term.is_sure`, which tells the same of the remainder.
        """
        found = decompose(self.model, self.learnt_from, pairs=True)
        lost = self._lost(found.parts, {columns: [t] for t, columns in enumerate(found.parts.columns)})
        terms = [Term(one.columns, one.share, *lost[one.columns]) for one in found.terms]
        named: dict[tuple[str, ...], Term] = {
            one.columns: one for one in terms
            if one.columns != HIGHER_ORDER and (len(one.columns) == 1 or (len(one.columns) == 2 and one.is_sure))
        }  # fmt: skip
        if len(named) < len(found.terms) or not named:
            others = [t for t, columns in enumerate(found.parts.columns) if columns not in named]
            share = 1.0 - sum(one.share for one in named.values())
            named[()] = Term((), share, *self._lost(found.parts, {(): others})[()])
        return tuple(sorted(named.values(), key=lambda one: -one.share))

    def _lost(
        self, parts: TermValues, groups: dict[tuple[str, ...], list[int]]
    ) -> dict[tuple[str, ...], tuple[float | None, float | None]]:
        """By how much the squared error on held-out rows grows when some terms are permuted, and its standard error."""
        if self.test is None:
            return dict.fromkeys(groups, (None, None))
        rows = self.test.drawn(MOST, self.seed)
        values, Y = parts.values(rows.table), targets(rows.y, getattr(self.model, "classes_", None))
        away = values.sum(axis=0) + np.ravel(self.model.intercept_) - Y
        found: dict[tuple[str, ...], tuple[float | None, float | None]] = {}
        rng = np.random.default_rng(self.seed)
        orders = [rng.permutation(len(Y)) for _ in range(REPEATS)]
        for columns, places in groups.items():
            own = values[places].sum(axis=0)
            more = np.mean([((away - own + own[order]) ** 2 - away**2).sum(axis=1) for order in orders], axis=0)
            found[columns] = float(more.mean()), float(more.std(ddof=1) / np.sqrt(len(more)))
        return found

    @property
    def verdict(self) -> Verdict:
        """How well the target is predicted, against guessing and the plain models; its text is one sentence, which says
        what could be chance once that was asked.
        """
        matters = tuple((one.name, one.effect) for one in self.columns if one.effect > 0.0 and not one.chance)
        chance = tuple(one.name for one in self.columns if one.chance)
        return replace(self._figures, matters=matters, chance=chance)

    @cached_property
    def _figures(self) -> Verdict:
        with one_blas_thread():
            return verdict(self)

    @later
    def conformal(self) -> Conformal:
        """CV+ around the model: kernel weights are learned anew in each of five folds, C stays as it was chosen."""
        rows = self.learnt_from
        if self._stack is not None:
            raise DataError("A ready stack has no rows that new folds could build kernels on, so it has no intervals.")
        return Conformal(clone(self.model)).fit(rows if rows.strings else rows.X, rows.y)

    def predict_interval(self, X: Any, level: float = 0.9) -> Array:
        """Intervals (n_new, 2) that hold the target of new rows with probability ``level``, see `Conformal`."""
        found: Array = self.conformal.predict_interval(X, level)
        return found

    def predict_set(self, X: Any, level: float = 0.9) -> Mask:
        """Which classes (n_new, n_classes) are in the set that holds the class of new rows with probability
        ``level``, see `Conformal`.
        """
        found: Mask = self.conformal.predict_set(X, level)
        return found

    def test_scores(self) -> dict[str, float]:
        """The scores on all test rows, of "ours" and of every baseline; look once, after choosing.

        DataError where no row was held out.
        """
        if self.test is None:
            raise DataError(
                "No row was held out: explore(data, test_size=0.25) keeps a quarter of the rows to score on."
            )
        measure, rows = scorer_of(self._scoring or _usual(self.learnt_from)), self.test
        models = {"ours": self.model} | {name: one.model for name, one in self._plain.items()}
        return {name: float(measure(model, self.read(rows, model), rows.y)) for name, model in models.items()}

    def compare(self, names: Sequence[str] = ("forest", "boosting")) -> Exploration:
        """The same answer with more plain models beside it, which are fitted now."""
        from mklcore.answer.explore import further_references

        rows, notes = self.learnt_from, self.notes
        if rows.sequences:
            return replace(self, notes=(*notes, "Trees cannot read sequences, so none are compared with."))
        if rows.texts:
            notes = (*notes, f"Forest and boosting read the {PLAIN_WORDS} most frequent words of the texts as columns.")
        return replace(
            self, notes=notes, _plain=self._plain | further_references(rows, names, self._scoring, self.seed)
        )

    def words(self, name: str, most: int = 12) -> tuple[WordEffect, ...]:
        """The words of a text column that move the decision most, see `strongest_words`."""
        return strongest_words(self.model, name, most)

    @later
    def effects_along(self) -> Array:
        """The effect of every source column (L, G) at each point of the path, in the order of ``columns``: on few rows,
        but at ``index``, where it is that of ``columns``.
        """
        found = self._effects_of(self.path.estimators)
        found[self.index] = [one.effect for one in self.columns]
        return found

    @property
    def shares_along(self) -> Array:
        """The share of every source column (L, G) at each point of the path, in the order of ``columns``."""
        return shares(self.effects_along)

    def effects_of(self, point: Any) -> list[float]:
        """The effects of a model of the path, in the order of ``columns``."""
        found: list[float] = self._effects_of([point])[0].tolist()
        return found

    def _effects_of(self, points: Sequence[Any]) -> Array:
        few = self._judge.drawn(ALONG, self.seed)
        if self._ranks_kernels:
            names, read = list(self.model.kernel_names_), self.read(few)
            values = np.array([kernel_values(point, read) for point in points])
        else:
            names, values = [name for name, _ in self.model.source_columns_], shapley_along(points, few)
        order = [names.index(one.name) for one in self.columns]
        found: Array = np.abs(values).mean(axis=1).sum(axis=2)[:, order]
        return found

    @property
    def _ranks_kernels(self) -> bool:
        """Whether kernels take the place of columns, see `effects`."""
        return {one.name for one in self._effects} != {name for name, _ in getattr(self.model, "source_columns_", ())}

    def at(self, value: float) -> Path:
        """The path at another value of its parameter, as a path of that point alone; no fold has scored it."""
        near, rows = self.path.estimators[self.path.nearest(value)], self.dragged
        with one_blas_thread(), suppress_convergence_warnings():
            return fit_path(near, self.given(rows), rows.y, self.path.param, [value], scoring=self._scoring)

    def of_model(self, model: Any) -> Exploration:
        """The answer about another model of the path: its columns and its verdict, on the same held-out rows.

        DataError where no row was held out: folds have judged the chosen model alone.
        """
        if self.test is None:
            raise DataError("No row was held out, so how well a model does that folds did not choose is not known.")
        rows = judged_rows(model, self.test, self.seed)
        with one_blas_thread():
            found, _ = effects(model, rows, self.read(rows))
        index = self.path.nearest(getattr(model, PATH_ATTRIBUTES[self.path.param]))
        return replace(self, model=model, index=index, _effects=found, _later={})

    def given(self, rows: Dataset) -> Any:
        """What a model was fitted on: rows, or their kernels of the ready stack."""
        return rows if self._stack is None else self._stack.take(rows_of(rows))

    @property
    def _judge(self) -> Dataset:
        return self.learnt_from if self.test is None else self.test

    def read(self, rows: Dataset, model: Any = None) -> Any:
        """``rows`` as a model takes them: their features, or their block of the ready stack."""
        if self._stack is not None:
            return block_of(self._stack, rows, self.learnt_from)
        return rows.table if model is None or hasattr(model, "kernel_names_") else with_words(rows, self.learnt_from).X

    def __repr__(self) -> str:
        return f"Exploration({self.label}, {self.scoring} {self.score:.3g} by folds, {len(self.path)} points)"

    def page(self, about: About | None = None, index: int | None = None) -> str:
        """One HTML file in which a person drags along the path from the point ``index``, the chosen one unless another
        is given, with the share of every column and the plain models beside it.
        """
        described = about or About(f"Which columns matter, along {self.path.param}")
        lp = ESTIMATORS["lp"]
        solved = described.problems or (SolvedProblem("", lp.formula, lp.look_for, lp.cannot_tell),)
        rows = ("Rows of the path", f"{self.rows.used:,} of {self.rows.of:,}")
        described = replace(described, problems=solved, facts=(*described.facts, rows))
        return path_page(
            self.path, described, index=self.index if index is None else index,
            columns=(self.columns, self.effects_along), references=tuple(self.baselines.items()),
            says=(str(self.verdict),),
        )  # fmt: skip

    def _repr_html_(self) -> str:
        body = "".join(
            f"<tr><td>{escape(one.name)}</td><td>{one.share:.1%}</td><td>{one.effect:.3g}</td></tr>"
            for one in self.columns[:12]
        )
        notes = "".join(f"<li>{escape(note)}</li>" for note in self.notes)
        table = f"<table><tr><th>column</th><th>share</th><th>effect</th></tr>{body}</table>"
        return framed(self.page(), f"<p><b>{escape(str(self.verdict))}</b></p>{table}<ul>{notes}</ul>")


def _usual(data: Dataset) -> str:
    return "r2" if data.task == "regression" else "accuracy"


def judged_rows(model: Any, rows: Dataset, seed: int) -> Dataset:
    """As many of ``rows`` as Shapley values have time for."""
    d = max(len(getattr(model, "source_columns_", ())), 1)
    n = len(model._map.rows) if getattr(model, "_map", None) is not None else 1
    count = int(np.clip(WORK / (n * d * max(d // 2, 1)), FEWEST, MOST))
    return rows.drawn(count, seed)


def effects(model: Any, rows: Dataset, read: Any = None) -> tuple[tuple[ColumnEffect, ...], str]:
    """How much every source column matters on these rows, the largest effect first, and a note.

    Where columns cannot be separated, kernels take their place, and the note says why. ``read`` : the rows as the
    model takes them.
    """
    try:
        found: ShapleyValues = shapley_values(model, rows)
        values, alone = (part if part.ndim == 3 else part[:, :, None] for part in (found.values, found.alone))
        names, note = [name for name, _ in model.source_columns_], ""
    except KernelError as error:
        values = alone = kernel_values(model, read)
        names, note = list(model.kernel_names_), f"Kernels are ranked, not columns. {error}"
    total = values.sum(axis=1) - values.sum(axis=1).mean(axis=0)
    spread = float(np.sum(total * total))
    effect = np.abs(values).mean(axis=0).sum(axis=1)
    sizes = np.abs(alone).mean(axis=0).sum(axis=1)
    together = np.einsum("ijt,it->j", values - values.mean(axis=0), total) / (spread or 1.0)
    share = effect / (float(effect.sum()) or 1.0)
    made = [
        ColumnEffect(*one)
        for one in zip(names, effect.tolist(), share.tolist(), sizes.tolist(), together.tolist(), strict=True)
    ]
    return tuple(sorted(made, key=lambda one: (-one.effect, one.name))), note


def kernel_values(model: Any, read: Any) -> Array:
    """What every kernel adds (n, M, T) beyond its mean over the rows."""
    values = np.atleast_3d(np.moveaxis(model.contributions(read), 0, 1))
    centred: Array = values - values.mean(axis=0)
    return centred


def kernels_by_chance(model: Any, read: Any, y: Labels, seed: int) -> dict[str, bool]:
    """The same of kernels, where these are ranked: what one of them says goes to other rows."""
    parts = model.contributions(read)
    Y, order = targets(y, getattr(model, "classes_", None)), np.random.default_rng(seed).permutation(len(y))
    if parts[0].size != Y.size:
        return {}  # votes between pairs of classes
    decided = np.asarray(getattr(model, "decision_function", model.predict)(read)).reshape(Y.shape)
    before = ((decided - Y) ** 2).sum(axis=1)
    found = {}
    for name, part in zip(model.kernel_names_, parts.reshape(len(parts), *Y.shape), strict=True):
        more = ((decided - part + part[order] - Y) ** 2).sum(axis=1) - before
        found[name] = not more.mean() > SURE * more.std(ddof=1) / np.sqrt(len(more))
    return found


def shares(effects: Array) -> Array:
    """Effects (..., G) as shares of their sum; those of a constant model are 0."""
    total: Array = effects.sum(axis=-1, keepdims=True)
    return effects / np.where(total > 0.0, total, 1.0)


def could_be_chance(model: Any, rows: Dataset, seed: int) -> dict[str, bool]:
    """Whether permuting a source column, with those correlated with it, raises no squared error for sure: paired row
    by row, one-sided at five per cent.
    """
    sources = dict(model.source_columns_)
    rng, table = np.random.default_rng(seed), np.asarray(rows.table)
    orders = [rng.permutation(len(table)) for _ in range(REPEATS)]
    Y = targets(rows.y, getattr(model, "classes_", None))
    before = _squared_errors(model, table, Y)
    found: dict[str, bool] = {}
    for names in correlated_sets(rows):
        columns, more = [j for name in names for j in sources[name]], np.zeros(len(table))
        for order in orders:
            moved = table.copy()
            moved[:, columns] = table[np.ix_(order, columns)]
            more += (_squared_errors(model, moved, Y) - before) / REPEATS
        sure = more.mean() > SURE * more.std(ddof=1) / np.sqrt(len(more))
        found |= dict.fromkeys(names, not sure)
    return found


def _squared_errors(model: Any, table: Array, Y: Array) -> Array:
    decided = np.asarray(getattr(model, "decision_function", model.predict)(table))
    errors: Array = np.sum((decided.reshape(Y.shape) - Y) ** 2, axis=1)
    return errors


def correlations(rows: Dataset) -> Array:
    """The largest |correlation| between features of two source columns (G, G), 0 where a column is constant."""
    X = rows.X - rows.X.mean(axis=0)
    X = X / np.maximum(np.sqrt(np.mean(X * X, axis=0)), 1e-300)
    each = np.abs(X.T @ X) / len(X)
    starts = np.cumsum([0, *(len(members) for _, members in rows.columns)])[:-1]
    order = [j for _, members in rows.columns for j in members]
    return np.maximum.reduceat(np.maximum.reduceat(each[np.ix_(order, order)], starts, axis=0), starts, axis=1)


def correlated_sets(rows: Dataset) -> list[list[str]]:
    """The source columns in sets of those that are correlated above ``ALIKE``, directly or through others."""
    from scipy.sparse.csgraph import connected_components

    names = [name for name, _ in rows.columns]
    count, home = connected_components(correlations(rows) > ALIKE)
    letters = [[name] for name, _ in rows.strings if name not in names]
    return [[name for name, place in zip(names, home, strict=True) if place == k] for k in range(count)] + letters


def judged(found: Exploration) -> tuple[Dataset, Predictions, Scoring]:
    """The test rows, or those learned from where none are held out, what is said of them, and the score."""
    rows = found._judge
    said = found._out_of_folds if found.test is None else None
    return rows, said or predictions(found.model, found.read(rows)), found._scoring or _usual(found.learnt_from)


def verdict(found: Exploration) -> Verdict:
    """The figures on the test rows, or out of folds where none are held out."""
    rows, learnt = found._judge, found.learnt_from
    if learnt.task == "novelty":
        return Verdict(learnt.target_name, "novelty", found.scoring, found.score, np.nan, np.nan, None, rows.n_samples,
                       found.test is not None)  # fmt: skip
    _, own, scoring = judged(found)
    said = [own, predictions(_guessing(learnt), np.zeros((rows.n_samples, 1)))]
    plain = {} if found.test is None else found._plain
    said += [predictions(one.model, found.read(rows, one.model)) for one in plain.values()]
    ours, guessed, *others = compare_scores(said, rows.y, scoring, found.seed)
    better = bool(guessed.gap > SURE * guessed.gap_error) if np.isfinite(guessed.gap_error) else guessed.gap > 0.0
    wrong, guessed_wrong = (_typical_error(one.answers, rows.y, learnt.task) for one in said[:2])
    references = [
        ComparedReference(name, one.score, one.gap, one.gap_error) for name, one in zip(plain, others, strict=True)
    ]
    return Verdict(
        learnt.target_name, learnt.task, label_of(scoring), ours.score, ours.error, guessed.score, better,
        rows.n_samples, found.test is not None, (), (), wrong, guessed_wrong, tuple(references),
        not learnt.sequences,
    )  # fmt: skip


def _guessing(learnt: Dataset) -> Any:
    from sklearn.dummy import DummyClassifier, DummyRegressor

    kind = DummyRegressor if learnt.task == "regression" else DummyClassifier
    return kind().fit(np.zeros((learnt.n_samples, 1)), learnt.y)


def _typical_error(answers: Labels, y: Labels, task: str) -> float:
    return float(np.sqrt(np.mean((answers - y) ** 2))) if task == "regression" else float(np.mean(answers != y))


# Several answers for one table


class ComparedAnswer(NamedTuple):
    """One answer: its ``score`` by folds, and on the rows that judge ``judged`` with its ``error``, the ``gap`` of the
    first answer's score to it with ``gap_error``; and how many of how many kernels it uses.
    """

    name: str
    score: float
    judged: float
    error: float
    gap: float
    gap_error: float
    kernels: int
    of: int

    @property
    def place(self) -> str:
        """Where it stands beside the first: "level" where the gap may be 0, else "behind" or "ahead"."""
        if not math.isfinite(self.gap_error) or abs(self.gap) <= 2.0 * self.gap_error:
            return "level"
        return "behind" if self.gap > 0 else "ahead"


@dataclass(frozen=True)
class Comparison:
    """Answers, the one that folds put first in front; ``str`` of it is one sentence.

    Parameters
    ----------
    answers : tuple of ComparedAnswer
        At least two, the first is that of the highest score by folds.
    score_name : str
        What the scores are called.
    rows : int
        Number of rows that judge.
    held_out : bool
        Whether these rows chose nothing.
    """

    answers: tuple[ComparedAnswer, ...]
    score_name: str
    rows: int
    held_out: bool

    def __str__(self) -> str:
        return self.sentence()

    def sentence(self, name: Callable[[str], str] = str) -> str:
        """The sentence, in which answers are written by ``name``."""
        where = f"{self.rows:,} held-out rows" if self.held_out else f"folds of {self.rows:,} rows, which is optimistic"
        first, *others = self.answers
        level = [first, *(one for one in others if one.place == "level")]
        alike = [one for one in level if one is first or one.gap <= one.gap_error]
        sparse = min(alike, key=lambda one: one.kernels)
        needs = sparse.kernels < max(one.kernels for one in level)
        if len(level) == len(self.answers) and self.rows < FEW_ROWS:
            return f"Too few rows to tell them apart ({where})."
        named = [name(one.name) for one in level if not (needs and len(level) > 2 and one is sparse)]
        parts = [f"{joined(named)} are level" if len(named) > 1 else f"{name(first.name)} is best"]
        if needs:
            parts.append(f"{name(sparse.name)} needs {sparse.kernels} of {sparse.of} kernels for the same score")
        for place in ("behind", "ahead"):
            found = [one for one in others if one.place == place]
            if found:
                gaps, verb = joined([self._gap(abs(one.gap)) for one in found]), "is" if len(found) == 1 else "are"
                parts.append(f"{joined([name(one.name) for one in found])} {verb} {place} by {gaps}")
        return f"{'; '.join(parts)} ({where})."

    def _gap(self, gap: float) -> str:
        return f"{100 * gap:.1f} points" if self.score_name in SHARES else rounded(gap)


def compare_answers(found: Mapping[str, Exploration]) -> Comparison:
    """How do several answers for the same table compare?

    Parameters
    ----------
    found : mapping
        At least two answers of `explore` by name, for one table, with the same seed and rows held out.

    Returns
    -------
    Comparison
        Scores on the same rows, paired gaps to the answer that folds put first, and kernels in use.

    Raises
    ------
    DataError
        for fewer than two answers, for answers on other rows, and for tables without a target

    Examples
    --------
    >>> from mklcore.answer.explore import explore
    >>> from mklcore.data.samples import load_sample
    >>> data = load_sample("diabetes")
    >>> answers = {f"p = {p:g}": explore(data, method="lp", p=p) for p in (1.0, 2.0)}
    >>> "held-out rows" in str(compare_answers(answers))
    True
    """
    if len(found) < 2:
        raise DataError(f"A comparison needs at least two answers; got {len(found)}.")
    ordered = sorted(found.items(), key=lambda item: -item[1].score)
    first = ordered[0][1]
    if first.learnt_from.task == "novelty":
        raise DataError("Without a target no score says which answer is better: choose a target.")
    judges = [judged(one) for _, one in ordered]
    if len({(rows.fingerprint, one.scoring) for (rows, *_), (_, one) in zip(judges, ordered, strict=True)}) > 1:
        raise DataError("These answers are judged on other rows, or by other scores: use one table, seed and scoring.")
    rows, _, scoring = judges[0]
    with one_blas_thread():
        measured = compare_scores([said for _, said, _ in judges], rows.y, scoring, first.seed)
    answers = tuple(
        ComparedAnswer(
            name, one.score, own.score, own.error, own.gap, own.gap_error,
            int(one.path.n_nonzero[one.index]), len(one.path.kernel_names),
        )
        for (name, one), own in zip(ordered, measured, strict=True)
    )  # fmt: skip
    return Comparison(answers, first.scoring, rows.n_samples, first.test is not None)
