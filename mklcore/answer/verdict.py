"""What an answer amounts to, in figures and in one sentence made of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

SURE = 1.645  # standard errors: one-sided, five per cent
NAMED, CHANCE_NAMED = 2, 3  # columns that the sentence names, and up to how many that could be chance
TREES = {"boosting": "gradient boosting", "forest": "a random forest"}
PLAIN = {"linear": "a linear model", "RBF": "one RBF kernel of all columns"} | TREES
FEW_ROWS = 100  # rows on which models that differ may well look alike


class ColumnEffect(NamedTuple):
    """How much a source column matters.

    ``effect`` : mean of |phi_j| over rows, in the unit of the target, summed over the decisions of classes; ``share``
    of the sum of effects; ``alone`` : mean of |v({j}) - v(nothing)|; ``variance`` : cov(phi_j, f) / var(f), which sums
    to 1 and may be negative; ``chance`` : whether the effect could be chance, None until asked.
    """

    name: str
    effect: float
    share: float
    alone: float
    variance: float
    chance: bool | None = None


class ComparedReference(NamedTuple):
    """A plain model on the rows that judge: its score, and ours minus its, with the standard error of that gap."""

    name: str
    score: float
    difference: float
    error: float

    @property
    def place(self) -> str:
        """Where our model stands beside it: "ahead", "behind", or "level" where the difference may be 0."""
        if not (math.isfinite(self.error) and abs(self.difference) > 2.0 * self.error):
            return "level"
        return "ahead" if self.difference > 0 else "behind"


@dataclass(frozen=True)
class Verdict:
    """How well a target is predicted, against guessing and against plain models; ``str`` of it is the sentence.

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
    better_than_guess : bool or None
        Whether the score is above that of guessing, one-sided at five per cent; None without a target.
    rows : int
        Number of rows that judge.
    held_out : bool
        Whether these rows chose nothing; else every row is judged by models fitted without it, after it has chosen.
    matters : tuple of (str, float)
        Columns and their effects, the largest first.
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
    """

    target: str
    task: str
    score_name: str
    score: float
    error: float
    guess: float
    better_than_guess: bool | None
    rows: int
    held_out: bool
    matters: tuple[tuple[str, float], ...] = ()
    chance: tuple[str, ...] = ()
    typical_error: float = math.nan
    guess_error: float = math.nan
    references: tuple[ComparedReference, ...] = ()
    trees_read: bool = True

    def __str__(self) -> str:
        return self.sentence()

    def sentence(self, name: Callable[[str], str] = str, table: str = "") -> str:
        """The sentence, in which target and columns are written by ``name``, and the ``table`` as it is."""
        rows = f"{self.rows:,} held-out rows" if self.held_out else f"folds of {self.rows:,} rows, which is optimistic"
        target, where = name(self.target), f" in {table}" if table else ""
        if self.better_than_guess is None:
            unusual = _listed([name(one) for one, _ in self.matters[:NAMED]]) or "no column in particular"
            return f"Most unusual rows{where}: {unusual} tell{'s' * (len(self.matters) < NAMED)} them from the others."
        wrong = self._errors
        if not self.better_than_guess:
            luck = ", a difference that could be chance" * (self.typical_error < self.guess_error)
            return (
                f"Predicting {target}{where}: no better than guessing. {wrong}{luck} ({rows}). No column is ranked; "
                "more rows or other columns could help."
            )
        return f"Predicting {target}{where}: {self._ranking(name)} {wrong}. {self._beside} ({rows})."

    def _ranking(self, name: Callable[[str], str]) -> str:
        unit = "moves it by {} on average" if self.task == "regression" else "moves the decision by {} on average"
        leading = [
            f"{name(column)} ({unit.format(rounded(effect, 2)) if k == 0 else rounded(effect, 2)})"
            for k, (column, effect) in enumerate(self.matters[:NAMED])
        ]
        if not leading:
            return "every column could be chance."
        most, count = "matters" if len(leading) == 1 else "matter", len(self.chance)
        short = [name(one) for one in self.chance] if count <= CHANCE_NAMED else [f"{count} other columns"]
        return f"{_listed(leading)} {most} most{f'; {_listed(short)} could be chance' * (count > 0)}."

    @property
    def _errors(self) -> str:
        if self.task == "regression":
            return (
                f"Typical error (root mean square) {rounded(self.typical_error)}; guessing the mean: "
                f"{rounded(self.guess_error)}"
            )
        ours, guess = (f"{100 * error:.1f}\u00a0%" for error in (self.typical_error, self.guess_error))
        return f"Wrong for {ours} of the rows; always guessing the largest class: {guess}"

    @property
    def _beside(self) -> str:
        """Where it stands beside the best of the plain models that are surely better, else the better of the trees."""
        if not self.held_out:
            return "No rows are held out to compare it with other models"
        better = [one for one in self.references if one.place == "behind" and one.name in PLAIN]
        trees = [one for one in self.references if one.name in TREES]
        one = max(better or trees, key=lambda one: one.score, default=None)
        if one is None:
            return "Not yet compared with a random forest" if self.trees_read else "Trees cannot read its sequences"
        name = PLAIN[one.name]
        if one.place == "ahead":
            return f"Better than {name}"
        if one.place == "behind":
            return f"Worse than {name}{': perhaps the target jumps, or many columns interact' * (one.name in TREES)}"
        few = self.rows < FEW_ROWS
        return f"Too few rows to tell it and {name} apart" if few else f"Not clearly different from {name}"


def rounded(value: float, digits: int = 3) -> str:
    """A number at so many digits, as a person reads it: "26,000", "0.0123"."""
    if not math.isfinite(value):
        return "unknown"
    places = digits - 1 - math.floor(math.log10(abs(value))) if value else 0
    short = round(value, places)
    return f"{short:,.0f}" if places <= 0 else f"{short:,.{places}f}".rstrip("0").rstrip(".")


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else list(names))
