"""What an answer amounts to, in figures and in one sentence of them.

Scores are taken on the same rows, which chose nothing where rows are held out; gaps are paired, see
`mklcore.paths.scoring`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mklcore.figures.style import joined
from mklcore.paths.scoring import PairedScore

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
