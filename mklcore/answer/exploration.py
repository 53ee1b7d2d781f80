"""What `explore` returns: a model, its path, and what is known of its columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy.sparse.csgraph import connected_components
from scipy.stats import t as student
from sklearn.base import clone
from sklearn.dummy import DummyClassifier, DummyRegressor

from mklcore._lazy import cached_property
from mklcore.answer.candidates import (
    AnswerRows,
    Request,
    ScoredCandidate,
    shown,
    standard_error,
    targets,
)
from mklcore.answer.chance import LEVEL, judge, p_value_of_refits
from mklcore.answer.raw_rows import AnswersRows
from mklcore.answer.references import WORDS, Reference, plain_references, with_words
from mklcore.answer.terms import HIGHER_ORDER, Term, WordEffect, decompose, strongest_words
from mklcore.answer.thresholds import USUAL, ErrorsByThreshold
from mklcore.answer.verdict import MOST_OF_ONE, ColumnEffect, ComparedReference, Verdict
from mklcore.arrays import Array, Indices, Labels, Mask, one_blas_thread
from mklcore.data.dataset import Dataset
from mklcore.data.splitting import RANDOM, codes_of
from mklcore.errors import DataError, KernelError, suppress_convergence_warnings
from mklcore.estimators.conformal import Conformal
from mklcore.estimators.shapley import shapley_along, shapley_values
from mklcore.figures.notebook import framed
from mklcore.figures.one_file import About, SolvedProblem, path_page
from mklcore.io.catalog import ESTIMATORS
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.stacks import block_of
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

WORK = 1.2e7  # multiplications of Shapley values, by which rows are counted
# Effects are averaged over at least `FEWEST` and at most `MOST` rows.
FEWEST = 20
MOST = 250
HELD_OUT = 0.25  # share of the rows on which plain models are chosen
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
    taken, ``notes`` why. ``known``, ``request``, ``taken``: the rows with their folds, what was
    fixed, and the scores of the model that was taken. ``threshold`` parts two classes, see `errors`.
    """

    known: AnswerRows
    request: Request
    taken: ScoredCandidate
    path: Path
    index: int
    model: Any
    notes: tuple[str, ...]
    _effects: tuple[ColumnEffect, ...]
    _plain: dict[str, Reference]
    _later: dict[str, Any] = field(default_factory=dict)
    threshold: float = USUAL

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
        return self.known.learn

    @property
    def test(self) -> Dataset | None:
        """The rows held out, which have chosen nothing."""
        return self.known.test

    @cached_property
    def judge(self) -> Dataset:
        """The rows that judge: the test rows; where none are held out, those that folds have
        judged, or all.
        """
        if self.test is not None:
            return self.test
        if self.taken.decisions is None:
            return self.learnt_from
        return self.known.few.take(np.flatnonzero(decided_rows(self.taken.decisions)))

    @cached_property
    def dragged(self) -> Dataset:
        """The rows of the path."""
        return self.request.some(self.learnt_from, len(self.path.estimators[0].training_target_))

    @property
    def rows(self) -> RowsUsed:
        """How many rows the path was fitted on."""
        used = self.dragged.n_samples
        of = self.learnt_from.n_samples
        if used == of:
            return RowsUsed(used, of, "all rows")
        return RowsUsed(
            used,
            of,
            "drawn at random" if self.request.hold_out == RANDOM else "nearest to those held out",
        )

    @property
    def baselines(self) -> dict[str, float]:
        """Validation scores of plain models, by name."""
        return {name: one.score for name, one in self._plain.items()}

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
        grown_by: dict[str, list[Array]] = {}
        for model, rows in judges:
            for name, more in self._grown(model, rows).items():
                grown_by.setdefault(name, []).append(mean_by_owner(more, rows.row_groups))
        chosen = self._figures.p_value if self.test is None else 0.0
        least = chosen if chosen > LEVEL else 0.0
        return {
            name: max(least, p_value_of_growth(np.concatenate(parts)))
            for name, parts in grown_by.items()
        }

    def _grown(self, model: Any, rows: Dataset) -> dict[str, Array]:
        """By how much the squared error of each row (n,) grows when a column is permuted, by its
        name.
        """
        given = self.read(rows)
        if not self.ranks_kernels:
            return growth_of_columns(model, self.judge, given, self.seed, rows.y)
        Y = targets(rows.y, getattr(model, "classes_", None))
        parts = model.contributions(given)
        if parts[0].size != Y.size:
            return {}  # votes between pairs of classes
        off = errors_of(model, given, Y)
        named = zip(model.kernel_names_, parts, strict=True)
        return {
            name: growth_without_part(part.reshape(Y.shape), off, self.seed) for name, part in named
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
        rows = self.judge.drawn(MOST, self.seed)
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
        rows = self.judge
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
        plain = self._plain if held_out else {}
        found = verdict_on(
            learnt,
            rows,
            self.judged,
            self.measure,
            self.seed,
            references={
                name: predictions(one.model, self.read(rows, one.model))
                for name, one in plain.items()
            },
            p_value=None if held_out else p_value_of_refits(self.known, self.request),
        )
        return replace(
            found,
            held_out=held_out,
            trees_read=not learnt.sequences,
            outlier=self._outlier(),
        )

    def _outlier(self) -> tuple[str, float] | None:
        """The row that makes up most of the squared error of numbers, by its leading column, and
        its share.
        """
        rows = self.judge
        if rows.task != "regression":
            return None
        errors = (self.judged.answers - rows.y) ** 2
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
    def judged(self) -> Predictions:
        """What is said of the rows that judge: by the model, or by those of folds where no row is
        held out.
        """
        decisions = self.taken.decisions
        if self.test is not None or decisions is None:
            return predictions(self.model, self.read(self.judge))
        said = shown(decisions[decided_rows(decisions)])
        return Predictions(self.model, said, self.model.label(said))

    @cached_property
    def errors(self) -> ErrorsByThreshold:
        """The errors of two classes at every threshold, and what they cost, on the rows that judge.

        DataError for numbers, for more classes, and for a table without a target.
        """
        rows = self.judge
        if rows.task != "binary":
            raise DataError(
                f"Errors at a threshold are those of two classes, and {rows.target_name!r} has "
                f"{_kind_of(rows)}."
            )
        first, second = self.model.classes_
        return ErrorsByThreshold(
            (str(first), str(second)),
            np.asarray(self.judged.decision, dtype=float).ravel(),
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
        models = {"ours": self.model} | {name: one.model for name, one in self._plain.items()}
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
        return replace(self, notes=notes, _plain=self._plain | more)

    def alone(self) -> Exploration:
        """The same answer without plain models beside it, so that its verdict need not fit them."""
        return replace(self, _plain={})

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
        few = self.judge.drawn(ALONG, self.seed)
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
        rows = self.dragged
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
            found, _ = columns_that_matter(self.known, model, self.request)
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
        """``rows`` as a model takes them: their features, or their block of the ready stack."""
        if self.request.stack is not None:
            return block_of(self.request.stack, rows, self.learnt_from)
        return (
            rows.table
            if model is None or hasattr(model, "kernel_names_")
            else with_words(rows, self.learnt_from).X
        )

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


def decided_rows(decisions: Array) -> Mask:
    """Which rows (n,) folds have judged: all of them, but the only row of a class."""
    found: Mask = np.logical_and.reduce(np.isfinite(decisions), axis=1)
    return found


def columns_that_matter(
    known: AnswerRows, model: Any, request: Request
) -> tuple[tuple[ColumnEffect, ...], tuple[str, ...]]:
    """The effects of source columns on held-out rows, or on rows learned from where none are held
    out: on as many as Shapley values have time for; and a note where kernels take the place of
    columns.
    """
    d = max(len(getattr(model, "source_columns_", ())), 1)
    n = len(model._map.rows) if getattr(model, "_map", None) is not None else 1
    work = n * d * max(d // 2, 1)
    held_out = known.learn if known.test is None else known.test
    rows = held_out.drawn(int(np.clip(WORK / work, FEWEST, MOST)), request.seed)
    read = rows if request.stack is None else block_of(request.stack, rows, known.learn)
    return effects(model, rows, read)


def effects(
    model: Any, rows: Dataset, read: Any = None
) -> tuple[tuple[ColumnEffect, ...], tuple[str, ...]]:
    """How much every source column matters on these rows, the largest effect first, and a note.

    Where columns cannot be separated, kernels take their place, and the note says why. ``read`` :
    the rows as the model takes them.
    """
    note: tuple[str, ...] = ()
    try:
        found = shapley_values(model, rows)
        values = np.atleast_3d(found.values)
        alone = np.atleast_3d(found.alone)
        names = [name for name, _ in model.source_columns_]
    except KernelError as error:
        values = alone = kernel_values(model, read)
        names = list(model.kernel_names_)
        note = (f"Kernels are ranked, not columns. {error}",)
    centred = values - values.mean(axis=0)
    total = centred.sum(axis=1)
    together = np.einsum("ijt,it->j", centred, total) / (float(np.sum(total * total)) or 1.0)
    sizes = np.abs(values).sum(axis=2)
    effect = sizes.mean(axis=0)
    error_of = sizes.std(axis=0, ddof=1) / np.sqrt(len(sizes))
    share = effect / (float(effect.sum()) or 1.0)
    sizes_alone = np.abs(alone).sum(axis=2).mean(axis=0)
    figures = np.column_stack([effect, share, sizes_alone, together, error_of])
    made = []
    for name, own in zip(names, figures.tolist(), strict=True):
        made.append(ColumnEffect(name, *own))
    return tuple(sorted(made, key=lambda one: (-one.effect, one.name))), note


def kernel_values(model: Any, read: Any) -> Array:
    """What every kernel adds (n, M, T) beyond its mean over the rows."""
    values = np.atleast_3d(np.moveaxis(model.contributions(read), 0, 1))
    centred: Array = values - values.mean(axis=0)
    return centred


# Could it be chance?


def errors_of(model: Any, given: Any, Y: Array) -> Array:
    """What a model decides about rows, less their targets ``Y``, (n, T) both."""
    decided: Array = getattr(model, "decision_function", model.predict)(given)
    return decided.reshape(Y.shape) - Y


def squared(off: Array) -> Array:
    """The squared errors (n,) of rows."""
    found: Array = np.sum(off * off, axis=1)
    return found


def growth_when_permuted(before: Array, permuted: Callable[[Indices], Array], seed: int) -> Array:
    """Growth of the squared error of each row (n,), on average over ``REPEATS`` permutations.

    ``before`` (n,) are the errors as they are, ``permuted`` returns those under an order of the rows.
    """
    rng = np.random.default_rng(seed)
    after = [permuted(rng.permutation(len(before))) for _ in range(REPEATS)]
    more: Array = np.mean(after, axis=0) - before
    return more


def growth_of_columns(
    model: Any, judge: Dataset, given: Array, seed: int, y: Labels | None = None
) -> dict[str, Array]:
    """By how much the squared error of each of the rows ``given`` (n, d), with target ``y`` (n,),
    grows when a column is permuted, by its name; columns that are correlated on the rows of
    ``judge`` are permuted together.
    """
    Y = targets(judge.y if y is None else y, getattr(model, "classes_", None))
    found: dict[str, Array] = {}
    before = squared(errors_of(model, given, Y))
    sources = dict(model.source_columns_)
    for names in correlated_sets(judge):
        columns = [j for name in names for j in sources[name]]

        def permuted(order: Indices, columns: list[int] = columns) -> Array:
            moved = np.array(given)
            moved[:, columns] = given[:, columns][order]
            return squared(errors_of(model, moved, Y))

        found |= dict.fromkeys(names, growth_when_permuted(before, permuted, seed))
    return found


def growth_without_part(part: Array, off: Array, seed: int) -> Array:
    """Growth of the squared error when ``part`` (n, T), one part of the model's output, is permuted.

    ``off`` (n, T) are the errors of the model.
    """
    return growth_when_permuted(squared(off), lambda order: squared(off - part + part[order]), seed)


def mean_by_owner(values: Array, owners: Labels | None) -> Array:
    """The mean over rows that belong together, which are one observation; the values (n,) where
    none do.
    """
    if owners is None:
        return values
    codes = codes_of(owners)
    return np.bincount(codes, values) / np.bincount(codes)


def p_value_of_growth(more: Array) -> float:
    """The p-value of "errors do not grow", of their growth (n,) row by row: Student's t, one-sided."""
    error = standard_error(more)
    if error == 0.0:
        return 0.0 if more.mean() > 0.0 else 1.0
    return float(student.sf(more.mean() / error, len(more) - 1))


def correlations(rows: Dataset) -> Array:
    """The largest |correlation| between features of two source columns (G, G), 0 where a column is
    constant.
    """
    X = rows.X - rows.X.mean(axis=0)
    X = X / np.maximum(np.sqrt(np.mean(X * X, axis=0)), 1e-300)
    order: list[int] = []
    starts: list[int] = []
    for _, members in rows.columns:
        starts.append(len(order))
        order.extend(members)
    each = np.abs(X.T @ X)[np.ix_(order, order)] / len(X)
    largest = np.maximum.reduceat(each, starts, axis=0)
    return np.maximum.reduceat(largest, starts, axis=1)


def correlated_sets(rows: Dataset) -> list[list[str]]:
    """The source columns in sets of those that are correlated above ``ALIKE``, directly or through
    others.
    """
    names = [name for name, _ in rows.columns]
    count, home = connected_components(correlations(rows) > ALIKE)
    sets: list[list[str]] = [[] for _ in range(count)]
    for name, place in zip(names, home, strict=True):
        sets[place].append(name)
    return sets + [[name] for name, _ in rows.strings if name not in names]
