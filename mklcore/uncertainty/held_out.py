"""Split conformal prediction from what a fitted model said of rows it was not fitted on: no further fit.

With n such rows and k = ceil(level (n + 1)), an interval is the prediction plus and minus the k-th smallest |error|,
and a set holds every class whose margin score is at most the k-th smallest margin score of the true classes.
Source: as in ``conformal``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mklcore.arrays import Array, Labels, Mask
from mklcore.errors import DataError, ParameterError

_LEVELS = 1e-9  # rounding of level (n + 1)


def rank_of(level: float, n: int) -> int:
    """Which of n ordered scores is needed; DataError where the level needs more of them."""
    k = int(np.ceil(level * (n + 1) - _LEVELS))
    if k > n:
        raise DataError(
            f"A level of {level:g} needs at least {int(np.ceil(level / (1.0 - level) - _LEVELS))} held-out rows, and "
            f"there are {n}. Use a lower level, more rows, or cv=5 instead of a split."
        )
    return k


def checked_level(level: object) -> float:
    """The level as a number; ParameterError where it is not between 0 and 1."""
    good = isinstance(level, (int, float, np.number)) and not isinstance(level, bool)
    if not (good and 0.0 < float(level) < 1.0):  # type: ignore[arg-type]  # it is a number
        raise ParameterError(f"level is the share of rows to cover and must be between 0 and 1; got {level!r}.")
    return float(level)  # type: ignore[arg-type]


def margins(said: Array) -> Array:
    """The largest output of the other classes minus that of each class, for outputs (..., T) of T classes."""
    two = np.partition(said, -2, axis=-1)[..., -2:]
    best, second = two[..., 1:], two[..., :1]
    return np.where(said == best, second, best) - said


@dataclass(frozen=True, eq=False)
class HeldOutScores:
    """Conformity scores (n,) of held-out rows, small where they conform, and the ``classes`` of a classifier."""

    scores: Array
    classes: Labels | None = None

    @classmethod
    def of_numbers(cls, said: Array, y: Array) -> HeldOutScores:
        """From predictions and targets (n,)."""
        return cls(np.abs(np.asarray(y, dtype=float) - np.asarray(said, dtype=float)))

    @classmethod
    def of_classes(cls, decision: Array, y: Labels, classes: Labels) -> HeldOutScores:
        """From decision values (n,) of two classes or (n, T), labels (n,) and all ``classes`` (T,) in sorted order."""
        scores = margins(_columns(decision))
        return cls(scores[np.arange(len(scores)), np.searchsorted(classes, y)], classes)

    def interval(self, said: Array, level: float = 0.9) -> Array:
        """Lower and upper ends (n_new, 2) around predictions (n_new,). DataError where there are too few rows."""
        size = self._threshold(level)
        centre = np.asarray(said, dtype=float)
        return np.column_stack([centre - size, centre + size])

    def sets(self, decision: Array, level: float = 0.9) -> Mask:
        """The classes (n_new, T) in the set of each row, that of the largest output always. DataError as above."""
        said = _columns(decision)
        found: Mask = margins(said) <= self._threshold(level)
        found[np.arange(len(said)), said.argmax(axis=1)] = True
        return found

    def _threshold(self, level: float) -> float:
        k = rank_of(checked_level(level), self.scores.size)
        return float(np.partition(self.scores, k - 1)[k - 1])


def _columns(decision: Array) -> Array:
    said = np.asarray(decision, dtype=float)
    said = said[:, 0] if said.ndim == 2 and said.shape[1] == 1 else said
    return np.column_stack([-said, said]) if said.ndim == 1 else said
