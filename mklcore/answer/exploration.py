"""What `explore` returns: a model, its path, and what is known of its columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any, NamedTuple, TypeVar

import numpy as np
from sklearn.base import clone
from sklearn.dummy import DummyClassifier, DummyRegressor

from mklcore._lazy import cached_property
from mklcore.answer.candidates import (
    DividedRows,
    Request,
    ScoredCandidate,
    shown,
    standard_error,
    targets,
)
from mklcore.answer.chance import LEVEL, judge, p_value_of_refits
from mklcore.answer.effects import (
    MOST,
    columns_that_matter,
    correlated_sets,
    growth_of_columns,
    growth_of_kernels,
    growth_without_part,
    kernel_values,
    p_value_of_growth,
)
from mklcore.answer.raw_rows import AnswersRows
from mklcore.answer.references import WORDS, Reference, plain_references, with_words
from mklcore.answer.thresholds import USUAL, ErrorsByThreshold
from mklcore.answer.verdict import MOST_OF_ONE, ColumnEffect, ComparedReference, Verdict
from mklcore.arrays import Array, Labels, one_blas_thread
from mklcore.data.dataset import Dataset
from mklcore.data.splitting import RANDOM
from mklcore.errors import DataError, suppress_convergence_warnings
from mklcore.estimators.conformal import Conformal
from mklcore.estimators.inspection.terms import HIGHER_ORDER, Term, decompose
from mklcore.estimators.inspection.words import WordEffect, strongest_words
from mklcore.estimators.shapley import shapley_along
from mklcore.figures.notebook import framed
from mklcore.figures.one_file import About, SolvedProblem, path_page
from mklcore.io.catalog import ESTIMATORS
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.paths.path import PATH_ATTRIBUTES, Path, fit_path
from mklcore.paths.scoring import (
    Predictions,
    Scoring,
    balanced,
    compare_scores,
    label_of,
    predictions,
    rarest,
    scorer_of,
)

HELD_OUT = 0.25  # share of the rows on which plain models are chosen
ALONG = 40  # rows of the shares along a path
T = TypeVar("T")


class RowsUsed(NamedTuple):
    """How many rows the path was fitted on, of how many, and how they were drawn."""

    used: int
    of: int
    how: str


def later(make: Callable[[Exploration], T]) -> Any:
    """A property that is made when it is asked for, and known from then on to every copy of the
    answer.
    """

    def get(self: Exploration) -> T:
        if make.__name__ not in self._later:
            with one_blas_thread():
                self._later[make.__name__] = make(self)
        found: T = self._later[make.__name__]
        return found

    return property(get, doc=make.__doc__)


@dataclass(frozen=True, eq=False, repr=False)
class Exploration(AnswersRows):
    """The answer for a table.

    ``model`` is fitted on all rows but the test rows. The answer predicts raw rows, see
    `AnswersRows`; `save_model` keeps it in a file. ``path`` runs over its parameter, ``index`` is
    the point that folds chose, and its validation scores are the means over folds. ``columns`` are
    sorted by effect, ``baselines`` name -> validation score, ``label`` says which kind of model was
    taken, ``notes`` why. ``divided``, ``taken``: the rows with their folds and what was fixed, and
    the scores of the model that was taken. ``threshold`` parts two classes, see `errors`.
    """

    divided: DividedRows
    taken: ScoredCandidate
    path: Path
    index: int
    model: Any
    notes: tuple[str, ...]
    _effects: tuple[ColumnEffect, ...]
    _references: dict[str, Reference]
    _later: dict[str, Any] = field(default_factory=dict)
    threshold: float = USUAL

    @property
    def request(self) -> Request:
        """What was fixed."""
        return self.divided.request

    @property
    def label(self) -> str:
        """Which kind of model was taken."""
        return self.taken.candidate.label

    @property
    def dictionary(self) -> KernelDictionary:
        """Its kernels."""
        found: KernelDictionary = self.taken.candidate.estimator.kernels
        return found

    @property
    def score(self) -> float:
        """Its score by folds."""
        return self.taken.score

    @property
    def scoring(self) -> str:
        """What the score is called."""
        return (
            self.path.score_name if self.learnt_from.task == "novelty" else label_of(self.measure)
        )

    @property
    def measure(self) -> Scoring:
        """How the score is taken."""
        return self.request.scoring or (
            "r2" if self.learnt_from.task == "regression" else "accuracy"
        )

    @property
    def seed(self) -> int:
        """The seed of the random draws."""
        return self.request.seed

    @property
    def learnt_from(self) -> Dataset:
        """The rows that the model learned from."""
        return self.divided.learn

    @property
    def test(self) -> Dataset | None:
        """The rows held out, which have chosen nothing."""
        return self.divided.test

    @cached_property
    def judging_rows(self) -> Dataset:
        """The rows that judge: the test rows; where none are held out, those that folds have left
        out, or all.
        """
        if self.test is not None:
            return self.test
        if self.taken.decisions is None:
            return self.learnt_from
        return self.divided.sample.take(self.divided.left_out)

    @cached_property
    def path_rows(self) -> Dataset:
        """The rows that the path is fitted on."""
        return self.request.some(self.learnt_from, len(self.path.estimators[0].training_target_))

    @property
    def rows(self) -> RowsUsed:
        """How many rows the path was fitted on."""
        used = self.path_rows.n_samples
        of = self.learnt_from.n_samples
        is_random = self.request.hold_out == RANDOM
        how = "drawn at random" if is_random else "nearest to those held out"
        return RowsUsed(used, of, how if used < of else "all rows")

    @property
    def baselines(self) -> dict[str, float]:
        """Validation scores of plain models, by name."""
        return {name: one.score for name, one in self._references.items()}

    @property
    def columns(self) -> tuple[ColumnEffect, ...]:
        """The source columns, the largest effect first; ``chance`` is there once `could_be_chance`
        was asked.
        """
        if self._later.get("column_p_values") is None:
            return self._effects
        known = self.could_be_chance or {}
        return tuple(one._replace(chance=known.get(one.name)) for one in self._effects)

    @property
    def could_be_chance(self) -> dict[str, bool] | None:
        """Whether a column could be chance, by name: whether permuting it does not surely raise the
        squared error, see `column_p_values`; None where nothing can be held out.
        """
        found = self.column_p_values
        return None if found is None else {name: p_value > LEVEL for name, p_value in found.items()}

    @later
    def column_p_values(self) -> dict[str, float] | None:
        """The p-value of "permuting this column raises no squared error", by name: paired row by
        row, one-sided.

        Columns are permuted on the held-out rows; where there are none, on the rows that each fold
        leaves out, with the model of that fold (see `conformal`). These rows have chosen the model:
        where they show no sign of a relation, the p-value of a column is that of the verdict at
        least. Columns correlated above ``ALIKE`` are permuted together. None for a ready stack
        without held-out rows, and for too few rows to hold some out. DataError without a target.
        """
        if self.learnt_from.task == "novelty":
            raise DataError(
                "Without a target no error can grow: what could be chance is not known."
            )
        if self.test is not None:
            judges = [(self.model, self.test)]
        else:
            try:
                folds = self.conformal
            except DataError:  # of a ready stack, or of fewer than nine rows
                return None
            parts = zip(folds.models_, folds.held_out_, strict=True)
            judges = [(model, self.learnt_from.take(rows)) for model, rows in parts]
        sets = [] if self.ranks_kernels else correlated_sets(self.judging_rows)
        growth: dict[str, list[Array]] = {}
        for model, rows in judges:
            if self.ranks_kernels:
                grown = growth_of_kernels(model, rows, self.read(rows), self.seed)
            else:
                grown = growth_of_columns(model, rows, sets, self.seed)
            for name, more in grown.items():
                growth.setdefault(name, []).append(more)
        # Without held-out rows, the rows that judge have chosen the model.
        p_value = self._figures.p_value if self.test is None else 0.0
        least = p_value if p_value > LEVEL else 0.0
        return {
            name: max(least, p_value_of_growth(np.concatenate(parts)))
            for name, parts in growth.items()
        }

    @later
    def terms(self) -> tuple[Term, ...]:
        """What single columns and pairs say in ``model``: shares of the variance that sum to 1, the
        largest first, and one remainder that names no column.

        A pair is named where held-out rows say that it acts together: their squared error grows by
        ``importance`` when what it says is permuted, see `Term.is_sure`, which tells the same of
        the remainder.
        """
        found = decompose(self.model, self.learnt_from, pairs=True)
        rows = self.judging_rows.drawn(MOST, self.seed)
        values = found.parts.values(rows.table)
        off = values.sum(axis=0) + np.ravel(self.model.intercept_)
        off -= targets(rows.y, getattr(self.model, "classes_", None))

        def measured(columns: tuple[str, ...], share: float, part: Array) -> Term:
            if self.test is None:
                return Term(columns, share)
            more = growth_without_part(part, off, self.seed)
            return Term(columns, share, float(more.mean()), standard_error(more))

        remainder = values.sum(axis=0)
        named = []
        for one in found.terms:
            part = values[found.parts.columns.index(one.columns)]
            term = measured(one.columns, one.share, part)
            is_single = len(one.columns) == 1 and one.columns != HIGHER_ORDER
            if is_single or (len(one.columns) == 2 and term.is_sure):
                named.append(term)
                remainder = remainder - part
        if len(named) < len(found.terms) or not named:
            left = 1.0 - sum(term.share for term in named)
            named.append(measured((), left, remainder))
        return tuple(sorted(named, key=lambda term: -term.share))

    @property
    def verdict(self) -> Verdict:
        """How well the target is predicted, against guessing and the plain models; its text is one
        sentence, which says what could be chance once that was asked.
        """
        matters = tuple(one for one in self.columns if one.effect > 0.0 and not one.chance)
        chance = tuple(one.name for one in self.columns if one.chance)
        return replace(self._figures, matters=matters, chance=chance)

    @cached_property
    @one_blas_thread()
    def _figures(self) -> Verdict:
        """The figures on the test rows, or out of folds where none are held out."""
        learnt = self.learnt_from
        rows = self.judging_rows
        held_out = self.test is not None
        if learnt.task == "novelty":
            return Verdict(
                learnt.target_name,
                learnt.task,
                self.scoring,
                self.score,
                np.nan,
                np.nan,
                None,
                rows.n_samples,
                held_out,
            )
        references = {}
        if held_out:
            for name, one in self._references.items():
                references[name] = predictions(one.model, self.read(rows, one.model))
        found = verdict_on(
            learnt,
            rows,
            self.judging_predictions,
            self.measure,
            self.seed,
            references=references,
            p_value=None if held_out else self._refits_p_value,
        )
        return replace(
            found,
            held_out=held_out,
            trees_read=not learnt.sequences,
            outlier=self._outlier(),
        )

    @later
    def _refits_p_value(self) -> float:
        """The p-value of no relation where no row is held out; plain models do not change it."""
        return p_value_of_refits(self.divided)

    def _outlier(self) -> tuple[str, float] | None:
        """The row that makes up most of the squared error of numbers, by its leading column, and
        its share.
        """
        rows = self.judging_rows
        if rows.task != "regression":
            return None
        errors = (self.judging_predictions.answers - rows.y) ** 2
        row = int(errors.argmax())
        share = float(errors[row] / (errors.sum() or 1.0))
        if share <= MOST_OF_ONE:
            return None
        name = rows.target_name
        value = float(rows.y[row])
        leading = self._effects[0].name
        members = dict(rows.columns).get(leading, ())
        # a number, not a category
        if len(members) == 1 and np.unique(rows.X[:, members]).size > 2:
            name = leading
            value = float(rows.X[row, members[0]])
        return f"{name} {value:.10g}", share  # as the table has it

    @later
    def judging_predictions(self) -> Predictions:
        """What is said of the rows that judge: by the model, or by those of folds where no row is
        held out.
        """
        decisions = self.taken.decisions
        if self.test is not None or decisions is None:
            return predictions(self.model, self.read(self.judging_rows))
        said = shown(decisions)
        return Predictions(self.model, said, self.model.label(said))

    @cached_property
    def errors(self) -> ErrorsByThreshold:
        """The errors of two classes at every threshold, and what they cost, on the rows that judge.

        DataError for numbers, for more classes, and for a table without a target.
        """
        rows = self.judging_rows
        if rows.task != "binary":
            raise DataError(
                f"Errors at a threshold are those of two classes, and {rows.target_name!r} has "
                f"{_kind_of(rows)}."
            )
        first, second = self.model.classes_
        return ErrorsByThreshold(
            (str(first), str(second)),
            np.asarray(self.judging_predictions.decision, dtype=float).ravel(),
            np.asarray(rows.y == second),
            self.test is not None,
            rows.row_groups,
            self.seed,
        )

    @later
    def conformal(self) -> Conformal:
        """CV+ around the model: kernel weights are learned anew in each of five folds, C stays as
        it was chosen.
        """
        rows = self.learnt_from
        if self.request.stack is not None:
            raise DataError(
                "A ready stack has no rows that new folds could build kernels on, so it "
                "has no intervals."
            )
        return Conformal(clone(self.model)).fit(rows, rows.y)

    @property
    def known_conformal(self) -> Conformal | None:
        """The intervals where they were computed."""
        return self._later.get("conformal")

    def test_scores(self) -> dict[str, float]:
        """The scores on all test rows, of "ours" and of every baseline; look once, after choosing.

        DataError where no row was held out.
        """
        if self.test is None:
            raise DataError(
                "No row was held out: explore(data, test_size=0.25) keeps a quarter of "
                "the rows to score on."
            )
        measure = scorer_of(self.measure)
        rows = self.test
        models = {"ours": self.model} | {name: one.model for name, one in self._references.items()}
        return {
            name: float(measure(model, self.read(rows, model), rows.y))
            for name, model in models.items()
        }

    def compare(self, names: Sequence[str] = ("forest", "boosting")) -> Exploration:
        """The same answer with more plain models beside it: chosen on a quarter of the rows, fitted
        on all of them.
        """
        rows = self.learnt_from
        notes = self.notes
        if rows.sequences:
            return replace(
                self, notes=(*notes, "Trees cannot read sequences, so none are compared with.")
            )
        if rows.texts:
            notes = (
                *notes,
                (
                    f"Forest and boosting read the {WORDS} most frequent words of the "
                    "texts as columns."
                ),
            )
        train, validation = rows.split(HELD_OUT, self.seed)
        found = plain_references(
            with_words(train, train), with_words(validation, train), self.request.scoring, names
        )
        whole = with_words(rows, rows)
        more = {name: replace(one, rows=whole) for name, one in found.items()}
        return replace(self, notes=notes, _references=self._references | more)

    def alone(self) -> Exploration:
        """The same answer without plain models beside it, so that its verdict need not fit them."""
        return replace(self, _references={})

    def words(self, name: str, most: int = 12) -> tuple[WordEffect, ...]:
        """The words of a text column that move the decision most, see `strongest_words`."""
        return strongest_words(self.model, name, most)

    @later
    def effects_along(self) -> Array:
        """The effect of every source column (L, G) at each point of the path, in the order of
        ``columns``: on few rows, but at ``index``, where it is that of ``columns``.
        """
        found = self.effects_of(self.path.estimators)
        found[self.index] = [one.effect for one in self.columns]
        return found

    def effects_of(self, points: Sequence[Any]) -> Array:
        """The effects (L, G) of models of the path, in the order of ``columns``, on few rows."""
        few = self.judging_rows.drawn(ALONG, self.seed)
        if self.ranks_kernels:
            names = list(self.model.kernel_names_)
            read = self.read(few)
            values = np.array([kernel_values(point, read) for point in points])
        else:
            names = [name for name, _ in self.model.source_columns_]
            values = shapley_along(points, few)
        order = [names.index(one.name) for one in self.columns]
        sizes = np.abs(values).mean(axis=1).sum(axis=2)
        found: Array = sizes[:, order]
        return found

    @property
    def ranks_kernels(self) -> bool:
        """Whether kernels take the place of columns, see `effects`."""
        return {one.name for one in self._effects} != {
            name for name, _ in getattr(self.model, "source_columns_", ())
        }

    def at(self, value: float) -> Path:
        """The path at another value of its parameter, as a path of that point alone; no fold has
        scored it.
        """
        near = self.path.estimators[self.path.nearest(value)]
        rows = self.path_rows
        param = self.path.param
        with one_blas_thread(), suppress_convergence_warnings():
            return fit_path(
                near, self.request.given(rows), rows.y, param, [value], scoring=self.request.scoring
            )

    def of_model(self, model: Any) -> Exploration:
        """The answer about another model of the path: its columns and its verdict, on the same
        held-out rows.

        DataError where no row was held out: folds have judged the chosen model alone.
        """
        if self.test is None:
            raise DataError(
                "No row was held out, so how well a model does that folds did not choose "
                "is not known."
            )
        with one_blas_thread():
            found, _ = columns_that_matter(self.divided, model)
        index = self.path.nearest(getattr(model, PATH_ATTRIBUTES[self.path.param]))
        return replace(
            self,
            model=model,
            index=index,
            _effects=found,
            _later={},
            threshold=USUAL,
        )

    def read(self, rows: Dataset, model: Any = None) -> Any:
        """``rows`` as the model, or a plain one beside it, takes them."""
        if model is None or hasattr(model, "kernel_names_"):
            return self.divided.read(rows)
        return with_words(rows, self.learnt_from).X

    def __repr__(self) -> str:
        return (
            f"Exploration({self.label}, {self.scoring} {self.score:.3g} by folds, "
            f"{len(self.path)} points)"
        )

    def page(self, about: About | None = None, index: int | None = None) -> str:
        """One HTML file in which a person drags along the path from the point ``index``, the chosen
        one unless another is given, with the share of every column and the plain models beside it.
        """
        described = about or About(f"Which columns matter, along {self.path.param}")
        lp = ESTIMATORS["lp"]
        solved = described.problems or (SolvedProblem("", lp.formula, lp.look_for, lp.cannot_tell),)
        rows = ("Rows of the path", f"{self.rows.used:,} of {self.rows.of:,}")
        described = replace(described, problems=solved, facts=(*described.facts, rows))
        return path_page(
            self.path,
            described,
            index=self.index if index is None else index,
            columns=(self.columns, self.effects_along),
            references=tuple(self.baselines.items()),
            says=(str(self.verdict),),
        )

    def _repr_html_(self) -> str:
        body = "".join(
            f"<tr><td>{escape(one.name)}</td><td>{one.share:.1%}</td><td>{one.effect:.3g}</td></tr>"
            for one in self.columns[:12]
        )
        notes = "".join(f"<li>{escape(note)}</li>" for note in self.notes)
        table = f"<table><tr><th>column</th><th>share</th><th>effect</th></tr>{body}</table>"
        return framed(
            self.page(), f"<p><b>{escape(str(self.verdict))}</b></p>{table}<ul>{notes}</ul>"
        )


def _kind_of(rows: Dataset) -> str:
    """What a target has that is not of two classes."""
    known = {"regression": "numbers", "novelty": "none"}
    return known.get(rows.task, f"{len(rows.class_names)} classes")


def verdict_on(
    learnt: Dataset,
    rows: Dataset,
    said: Predictions,
    scoring: Scoring,
    seed: int,
    *,
    references: Mapping[str, Predictions] | None = None,
    p_value: float | None = None,
) -> Verdict:
    """The verdict on predictions ``said`` of ``rows`` by a model of the rows ``learnt``, without
    what is said of columns.

    ``references`` : what other models say; ``p_value`` of no relation, None for that of a
    permutation test.
    """
    guess: Any = DummyRegressor() if learnt.task == "regression" else DummyClassifier()
    guess.fit(np.zeros((learnt.n_samples, 1)), learnt.y)
    guessing = predictions(guess, np.zeros((rows.n_samples, 1)))
    others = references or {}
    compared = [said, guessing, *others.values()]
    ours, guessed, *scores = compare_scores(compared, rows.y, scoring, seed)
    found = judge(
        rows.y, said, guessing, scoring, seed, row_groups=rows.row_groups, p_value=p_value
    )
    balanced_scores = None
    if rarest(learnt) is not None:
        balanced_scores = (balanced(rows.y, said.answers), balanced(rows.y, guessing.answers))
    beside = [
        ComparedReference(name, score.score, score.gap, score.gap_error, score.floor)
        for name, score in zip(others, scores, strict=True)
    ]
    return Verdict(
        learnt.target_name,
        learnt.task,
        label_of(scoring),
        ours.score,
        ours.error,
        guessed.score,
        found.relation,
        rows.n_samples,
        True,
        typical_error=typical_error(said.answers, rows),
        guess_error=typical_error(guessing.answers, rows),
        references=tuple(beside),
        p_value=found.p_value,
        measure=found.measure,
        association=found.association,
        balanced=balanced_scores,
        log_of=learnt.log_of,
    )


def typical_error(answers: Labels, rows: Dataset) -> float:
    """The root mean squared error of numbers, the share of wrong classes."""
    if rows.task == "regression":
        return float(np.sqrt(np.mean((answers - rows.y) ** 2)))
    return float(np.mean(answers != rows.y))
