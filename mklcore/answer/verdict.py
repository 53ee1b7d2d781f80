"""What an answer amounts to, in figures and in one sentence made of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

SURE = 1.645  # standard errors: one-sided, five per cent
NAMED = 2  # columns that the sentence names
TREES = {"boosting": "gradient boosting", "forest": "a random forest"}  # in the order in which one is named
FEW_ROWS = 100  # rows on which models that differ may well look alike


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

    def __str__(self) -> str:
        return self.sentence()

    def sentence(self, name: Callable[[str], str] = str, table: str = "") -> str:
        """The sentence, in which the target, the columns and the ``table`` are written by ``name``."""
        target = f"{name(self.target)} in {name(table)}" if table else name(self.target)
        if self.better_than_guess is None:
            named = _listed([name(one) for one, _ in self.matters[:NAMED]])
            return f"{named} tell most which rows are unusual." if named else "No column tells which rows are unusual."
        where = f"{self.rows:,} held-out rows" if self.held_out else f"folds of {self.rows:,} rows, which is optimistic"
        if not self.better_than_guess:
            return (
                f"Predicting {target}: no better than guessing ({self._errors} on {where}), so no column is "
                "ranked. More rows, or columns that have to do with it, could help."
            )
        wrong = f"{self._errors[0].upper()}{self._errors[1:]}"
        return f"Predicting {target}: {self._ranking(name)} {wrong}. {self._beside(where)}"

    def _ranking(self, name: Callable[[str], str]) -> str:
        unit = "moves it by {} on average" if self.task == "regression" else "moves the decision by {} on average"
        told = [
            f"{name(column)} ({unit.format(rounded(effect)) if k == 0 else rounded(effect)})"
            for k, (column, effect) in enumerate(self.matters[:NAMED])
        ]
        if not told:
            return "every column could be chance."
        most = "matters" if len(told) == 1 else "matter"
        could = f"; {_listed([name(one) for one in self.chance])} could be chance" if self.chance else ""
        return f"{_listed(told)} {most} most{could}."

    @property
    def _errors(self) -> str:
        if self.task == "regression":
            return (
                f"typical error (root mean square) {rounded(self.typical_error)}; guessing the mean: "
                f"{rounded(self.guess_error)}"
            )
        return f"wrong for {self.typical_error:.1%} of the rows; guessing the largest class: {self.guess_error:.1%}"

    def _beside(self, where: str) -> str:
        told = {one.name: one for one in self.references}
        name = next((name for name in TREES if name in told), None)
        if name is None:
            return f"Not yet compared with a random forest ({where})."
        one, name = told[name], TREES[name]
        if one.place != "level":
            way = "Better" if one.place == "ahead" else "Worse"
            return f"{way} than {name} ({where})."
        if self.rows < FEW_ROWS:
            return f"Too few rows to tell it from {name} ({where})."
        return f"Not clearly different from {name} ({where})."


def rounded(value: float) -> str:
    """A number at three digits, in words a person reads: "26,000", "0.0123"."""
    if not math.isfinite(value):
        return "unknown"
    digits = 2 - math.floor(math.log10(abs(value))) if value else 0
    short = round(value, digits)
    return f"{short:,.0f}" if digits <= 0 else f"{short:,.{digits}f}".rstrip("0").rstrip(".")


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else list(names))
