"""What an answer amounts to, and how several answers for one table compare, in figures and in one
sentence of them.

Scores are taken on the same rows, which chose nothing where rows are held out; gaps are paired, see
`mklcore.paths.scoring`. The answer that folds put first is the one that others are compared with:
to choose it by the rows that judge would flatter it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from mklcore.arrays import one_blas_thread
from mklcore.errors import DataError
from mklcore.figures.style import joined
from mklcore.paths.scoring import SHARES, PairedScore, compare_scores

if TYPE_CHECKING:
    from mklcore.answer.exploration import Exploration

# what the permutation test of `chance` can find
BETTER = "better"
RELATED = "related"
NONE = "none"
SURE = 1.645  # standard errors: one-sided, five per cent
# columns that the sentence names, and where the third is level with the second
NAMED = 2
MOST_NAMED = 3
CHANCE_NAMED = 3  # up to how many columns that could be chance are named
TREES = {"boosting": "gradient boosting", "forest": "a random forest"}
PLAIN = {"linear": "a linear model", "RBF": "one RBF kernel of all columns"} | TREES
LEVEL = ("same", "level")  # places of models of which none is better
MOST_OF_ONE = 0.25  # share of the squared error from which one row is named
FEW_ROWS = 100  # rows on which models that differ may well look alike


class ColumnEffect(NamedTuple):
    """How much a source column matters.

    ``effect`` : mean of |phi_j| over rows, in the unit of the target, summed over the decisions of
    classes; ``share`` of the sum of effects; ``alone`` : mean of |v({j}) - v(nothing)|;
    ``variance`` : cov(phi_j, f) / var(f), which sums to 1 and may be negative; ``error`` : standard
    error of the effect over rows; ``chance`` : whether the effect could be chance, None until
    asked.
    """

    name: str
    effect: float
    share: float
    alone: float
    variance: float
    error: float = math.nan
    chance: bool | None = None

    def is_level(self, other: ColumnEffect) -> bool:
        """Whether the difference of two effects may be chance."""
        return abs(self.effect - other.effect) <= SURE * math.hypot(self.error, other.error)


class ComparedReference(NamedTuple):
    """A plain model on the rows that judge: its score, and ours minus its, with the standard error
    of that gap.
    """

    name: str
    score: float
    difference: float
    error: float
    floor: float = 0.0

    @property
    def place(self) -> str:
        """Where our model stands beside it, see `PairedScore.place`."""
        return PairedScore(self.score, math.nan, self.difference, self.error, self.floor).place


def surely_better(references: Sequence[ComparedReference]) -> ComparedReference | None:
    """The best of the plain models that are surely better than ours."""
    better = [one for one in references if one.place == "behind" and one.name in PLAIN]
    return max(better, key=lambda one: one.score, default=None)


def worse_than(better: ComparedReference) -> str:
    """What is said of a model behind a plain one, and why it may be."""
    why = ": perhaps the target jumps, or many columns interact" if better.name in TREES else ""
    return f"worse than {PLAIN[better.name]}{why}"


@dataclass(frozen=True)
class Verdict:
    """How well a target is predicted, against guessing and against plain models; ``str`` of it is
    the sentence.

    Parameters
    ----------
    target : str
        Name of the target.
    task : str
        "binary", "multiclass", "regression" or "novelty".
    score_name : str
        What ``score`` is called.
    score : float
        Score on the rows that judge.
    error : float
        Standard error of the score; NaN where rows are too few for one.
    guess : float
        Score of guessing the mean, or the largest class.
    relation : str or None
        "better" than guessing, "related" to the target without being better, or "none", see
        `judge`; None without a target.
    rows : int
        Number of rows that judge.
    held_out : bool
        Whether these rows chose nothing; else every row is judged by models fitted without it,
        after it has chosen.
    matters : tuple of ColumnEffect
        Columns that matter, the largest effect first.
    chance : tuple of str
        Columns whose effect could be chance; () until asked.
    typical_error : float
        Root mean squared error of numbers, share of wrong classes.
    guess_error : float
        The same of guessing.
    references : tuple of ComparedReference
        Plain models on the same rows.
    trees_read : bool
        Whether trees can read the table; not where it has sequences.
    p_value : float
        Of no relation between what is predicted and the target.
    measure, association : str, float
        How well the rows are ordered, and what that is called, see `Judgement`.
    outlier : tuple of str and float, or None
        The row that makes up more than ``MOST_OF_ONE`` of the squared error, as a reader finds it,
        and its share.
    beside : bool
        Whether the sentence says where it stands beside other models.
    balanced : tuple of float and float, or None
        Where a class is rare, the balanced accuracy of the model and of guessing: the mean over
        classes of the share of their rows that is right.
    log_of : str
        The column whose logarithm is predicted, of which effects and errors are changes in per
        cent; "" elsewhere.
    """

    target: str
    task: str
    score_name: str
    score: float
    error: float
    guess: float
    relation: str | None
    rows: int
    held_out: bool
    matters: tuple[ColumnEffect, ...] = ()
    chance: tuple[str, ...] = ()
    typical_error: float = math.nan
    guess_error: float = math.nan
    references: tuple[ComparedReference, ...] = ()
    trees_read: bool = True
    p_value: float = math.nan
    measure: str = ""
    association: float = math.nan
    outlier: tuple[str, float] | None = None
    beside: bool = True
    balanced: tuple[float, float] | None = None
    log_of: str = ""

    def __str__(self) -> str:
        return self.sentence()

    def sentence(
        self,
        name: Callable[[str], str] = str,
        table: str = "",
    ) -> str:
        """The sentence, in which target and columns are written by ``name``, and the ``table`` as
        it is.
        """
        target = name(self.target)
        where = f" in {table}" if table else ""
        if self.relation is None:
            leading = [name(one.name) for one in self.leading]
            unusual = joined(leading) if leading else "no column in particular"
            return (
                f"Most unusual rows{where}: {unusual} tell{'s' * (len(leading) < 2)} them from "
                "the others."
            )
        if self.log_of:
            target = f"{name(self.log_of)} by its logarithm"
        opening = f"Predicting {target}{where}:"
        rows = judged_by(self.rows, self.held_out)
        if self.relation == NONE:
            luck = ", a difference that could be chance" * (self.typical_error < self.guess_error)
            return (
                f"{opening} no sign of a relation. {self._errors}{luck} "
                f"({rows}).{self._largest(name)} No column is ranked; more rows or other "
                "columns could help."
            )
        if self.relation == RELATED:
            return (
                f"{opening} related, but not better than guessing: {self._ranking(name)} "
                f"{self._order} ({rows}).{self._largest(name)}"
            )
        beside = f".{self._largest(name)} {self._beside}" if self.beside else ""
        text = f"{opening} {self._ranking(name)} {self._errors}{beside} ({rows})."
        return text if self.beside else text + self._largest(name)

    @property
    def better_than_guess(self) -> bool | None:
        """Whether the target is predicted better than by guessing; None without a target."""
        return None if self.relation is None else self.relation == BETTER

    def _largest(self, name: Callable[[str], str]) -> str:
        """The row on which the squared error hangs, where there is one."""
        if self.outlier is None:
            return ""
        row, share = self.outlier
        return f" One row ({name(row)}) makes up {100 * share:.0f}\u00a0% of the squared error."

    @property
    def _order(self) -> str:
        """A clause for predictions that order the rows better than chance, but whose error is not
        below that of guessing.
        """
        ours, guess = self._ours_and_guess
        what = "typical error" if self.task == "regression" else "share of wrong rows"
        compared = f"its {what}, {ours}, is not below that of guessing, {guess}"
        if self.typical_error < self.guess_error:  # another score was asked for
            scores = rounded(self.score), rounded(self.guess)
            compared = (
                f"its {self.score_name}, {scores[0]}, is not above that of guessing, {scores[1]}"
            )
        orders = "tells the classes apart" if self.task == "multiclass" else "orders the rows"
        found = f"{self.measure} {rounded(self.association, 2)}"
        return f"It {orders} better than chance ({found}), but {compared}"

    @property
    def leading(self) -> tuple[ColumnEffect, ...]:
        """The columns that the sentence names: two, and a third that is level with the second."""
        first = self.matters[:MOST_NAMED]
        return (
            first if len(first) == MOST_NAMED and first[-1].is_level(first[-2]) else first[:NAMED]
        )

    def _ranking(self, name: Callable[[str], str]) -> str:
        if not self.matters:
            return "every column could be chance."
        moved = "it" if self.task == "regression" else "the decision"
        effects = [change(one.effect, self.log_of, 2) for one in self.leading]
        effects[0] = f"moves {moved} by {effects[0]} on average"
        leading = [
            f"{name(one.name)} ({effect})"
            for one, effect in zip(self.leading, effects, strict=True)
        ]
        most = "matters" if len(leading) == 1 else "matter"
        count = len(self.chance)
        short = (
            [name(one) for one in self.chance]
            if count <= CHANCE_NAMED
            else [f"{count} other columns"]
        )
        return (
            f"{joined(leading)} {most} most{f'; {joined(short)} could be chance' if short else ''}."
        )

    @property
    def _ours_and_guess(self) -> tuple[str, str]:
        """The typical error and that of guessing, as a reader sees them."""
        if self.task == "regression":
            return (
                change(self.typical_error, self.log_of),
                change(self.guess_error, self.log_of),
            )
        return f"{100 * self.typical_error:.1f}\u00a0%", f"{100 * self.guess_error:.1f}\u00a0%"

    @property
    def _errors(self) -> str:
        ours, guess = self._ours_and_guess
        if self.task == "regression":
            return f"Typical error (root mean square) {ours}; guessing the mean: {guess}"
        text = f"Wrong for {ours} of the rows; always guessing the largest class: {guess}"
        if self.balanced is None:
            return text
        right, guessed = (f"{100 * share:.0f}\u00a0%" for share in self.balanced)
        return (
            f"{text}. A class is rare: counting all classes alike, {right} are right; by "
            f"guessing {guessed}"
        )

    @property
    def _beside(self) -> str:
        """Where it stands beside the best of the plain models that are surely better, else the
        better of the trees.
        """
        if not self.held_out:
            return "No rows are held out to compare it with other models"
        trees = [one for one in self.references if one.name in TREES]
        one = surely_better(self.references) or max(
            trees,
            key=lambda one: one.score,
            default=None,
        )
        if one is None:
            return (
                "Not yet compared with a random forest"
                if self.trees_read
                else "Trees cannot read its sequences"
            )
        if one.place == "behind":
            return f"W{worse_than(one)[1:]}"
        if one.place == "ahead":
            return f"Better than {PLAIN[one.name]}"
        if one.place == "same":
            return f"The same as {PLAIN[one.name]}"
        few = self.rows < FEW_ROWS
        return (
            f"Too few rows to tell it and {PLAIN[one.name]} apart"
            if few
            else f"Not clearly different from {PLAIN[one.name]}"
        )


def judged_by(rows: int, held_out: bool) -> str:
    """Which rows have judged."""
    return f"{rows:,} held-out rows" if held_out else f"folds of {rows:,} rows, which is optimistic"


def rounded(value: float, digits: int = 3) -> str:
    """A number at so many digits, as a person reads it: "26,000", "0.0123"."""
    if not math.isfinite(value):
        return "unknown"
    places = digits - 1 - math.floor(math.log10(abs(value))) if value else 0
    short = round(value, places)
    return f"{short:,.0f}" if places <= 0 else f"{short:,.{places}f}".rstrip("0").rstrip(".")


def change(size: float, log_of: str, digits: int = 3) -> str:
    """A change of the target as a person reads it: of its logarithm as per cent of the target."""
    if not log_of:
        return rounded(size, digits)
    return f"{rounded(100 * math.expm1(min(size, 700.0)), digits)}\u00a0%"


# Several answers for one table


class ComparedAnswer(NamedTuple):
    """One answer: its ``score`` by folds, and on the rows that judge ``judged`` with its ``error``,
    the ``gap`` of the first answer's score to it with ``gap_error`` and ``floor``; how many of how
    many kernels it uses; and its ``relation`` to the target, see `judge`.
    """

    name: str
    score: float
    judged: float
    error: float
    gap: float
    gap_error: float
    kernels: int
    of: int
    floor: float = 0.0
    relation: str | None = None

    @property
    def place(self) -> str:
        """Where it stands beside the first: "same", "level" where the gap may be 0, else "behind"
        or "ahead".
        """
        first = PairedScore(
            self.judged,
            self.error,
            self.gap,
            self.gap_error,
            self.floor,
        ).place
        return {"ahead": "behind", "behind": "ahead"}.get(first, first)


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
    references : tuple of ComparedReference
        Plain models beside the first answer, on the same rows.
    """

    answers: tuple[ComparedAnswer, ...]
    score_name: str
    rows: int
    held_out: bool
    references: tuple[ComparedReference, ...] = ()

    def __str__(self) -> str:
        return self.sentence()

    def sentence(self, name: Callable[[str], str] = str) -> str:
        """The sentence, in which answers are written by ``name``."""
        first, *others = self.answers
        unrelated = [one for one in self.answers if one.relation == NONE]
        if len(unrelated) == len(self.answers):
            rows = judged_by(self.rows, self.held_out)
            return f"None of them shows a sign of a relation to the target ({rows})."
        level = [first, *(one for one in others if one.place in LEVEL)]
        alike = [one for one in level if one is first or one.gap <= one.gap_error]
        sparse = min(alike, key=lambda one: one.kernels)
        needs = sparse.kernels < max(one.kernels for one in level)
        better = surely_better(self.references)
        named = [
            name(one.name) for one in level if not (needs and len(level) > 2 and one is sparse)
        ]
        parts = [f"{joined(named)} are level" if len(named) > 1 else f"{name(first.name)} is best"]
        if needs:
            parts.append(
                f"{name(sparse.name)} needs {sparse.kernels} of {sparse.of} kernels for "
                "the same score"
            )
        if len(level) == len(self.answers) and self.rows < FEW_ROWS:
            parts = ["Too few rows to tell them apart"]
        for place in ("behind", "ahead"):
            found = [one for one in others if one.place == place]
            if found:
                gaps = joined([self._gap(abs(one.gap)) for one in found])
                verb = "is" if len(found) == 1 else "are"
                parts.append(
                    f"{joined([name(one.name) for one in found])} {verb} {place} by {gaps}"
                )
        if better is not None:
            parts.append(f"{name(first.name)} is {worse_than(better)}")
        if unrelated:
            verb = "shows" if len(unrelated) == 1 else "show"
            parts.append(
                f"{joined([name(one.name) for one in unrelated])} {verb} no sign of a "
                "relation to the target"
            )
        if RELATED in {one.relation for one in self.answers} <= {RELATED, NONE}:
            parts.append("none is better than guessing")
        return f"{'; '.join(parts)} ({judged_by(self.rows, self.held_out)})."

    def _gap(self, gap: float) -> str:
        return f"{100 * gap:.1f} points" if self.score_name in SHARES else rounded(gap)


def compare_answers(found: Mapping[str, Exploration]) -> Comparison:
    """How do several answers for the same table compare?

    Parameters
    ----------
    found : mapping
        At least two answers of `explore` by name, for one table, with the same seed and rows held
        out.

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
    if len({(one.judge.fingerprint, one.scoring) for _, one in ordered}) > 1:
        raise DataError(
            "These answers are judged on other rows, or by other scores: use one table, "
            "seed and scoring."
        )
    with one_blas_thread():
        measured = compare_scores(
            [one.judged for _, one in ordered], first.judge.y, first.measure, first.seed
        )
    answers = []
    for (name, one), own in zip(ordered, measured, strict=True):
        kernels = int(one.path.n_nonzero[one.index]), len(one.path.kernel_names)
        answers.append(
            ComparedAnswer(
                name,
                one.score,
                *own[:4],
                *kernels,
                own.floor,
                one.verdict.relation,
            )
        )
    return Comparison(
        tuple(answers),
        first.scoring,
        first.judge.n_samples,
        first.test is not None,
        first.verdict.references,
    )
