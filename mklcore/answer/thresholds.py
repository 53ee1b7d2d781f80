"""The errors of a classifier of two classes at every threshold of its decision, and what they cost.

A row is called the second class where its decision is above the threshold t. With N rows, of which
FP(t) are called so by mistake and FN(t) are missed, the cost of a row is

    cost(t) = (c_FP FP(t) + c_FN FN(t)) / N.

It changes only where t passes a decision, so that the thresholds between neighbouring decisions
hold them all. The threshold of least cost looks better on the rows that it was chosen on than on
others: ``cost_elsewhere`` chooses it by four fifths of the rows and takes its cost on the rest.

Source: Fawcett (2006), An introduction to ROC analysis, Pattern Recognition Letters 27; Elkan
(2001), The foundations of cost-sensitive learning, IJCAI.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score, confusion_matrix, roc_auc_score

from mklcore._lazy import cached_property
from mklcore.arrays import Array, Labels, Mask
from mklcore.data.splitting import fold_rows
from mklcore.errors import DataError, ParameterError
from mklcore.figures import style
from mklcore.parameters import is_finite_number

USUAL = 0.0  # the threshold of every model
FOLDS = 5
MOST_STEPS = 240  # thresholds that a slider has


def check_threshold(model: Any, threshold: Any) -> float:
    """The threshold as a number. ParameterError for what is none, and for a model without two
    classes.
    """
    if len(getattr(model, "classes_", ())) != 2:
        raise ParameterError("A threshold parts two classes, and this model predicts others.")
    if not is_finite_number(threshold):
        raise ParameterError(f"threshold must be a finite number; got {threshold!r}.")
    return float(threshold)


def _check_costs(false_positive: Any, false_negative: Any) -> None:
    for name, cost in (("false_positive", false_positive), ("false_negative", false_negative)):
        if not (is_finite_number(cost) and cost >= 0.0):
            raise ParameterError(f"{name} is what such an error costs, 0 or more; got {cost!r}.")


@dataclass(frozen=True, eq=False)
class ErrorsByThreshold:
    """The errors on rows that no model was fitted on, at every threshold.

    classes : the names of both classes
    decisions : (n,), the decision value of each row
    is_second : (n,), whether the row is of the second class
    held_out : True for rows that nothing was chosen on; False for rows that folds left out and then
        used to choose the model
    row_groups : (n,), which rows belong together
    seed : seed of the folds of `cost_elsewhere`
    """

    classes: tuple[str, str]
    decisions: Array
    is_second: Mask
    held_out: bool = True
    row_groups: Labels | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if len(self.decisions) == 0 or self.is_second.all() or not self.is_second.any():
            raise DataError(
                "The rows that judge are all of one class, so errors at a threshold are not known."
            )

    @cached_property
    def thresholds(self) -> Array:
        """Rising thresholds (L,): one below all decisions, one between each two neighbours, and one
        above all; 0 stands for its neighbours.
        """
        values = np.unique(self.decisions)
        room = 0.05 * (float(np.ptp(values)) or 1.0)
        inner = 0.5 * (values[:-1] + values[1:])
        found = np.array([values[0] - room, *inner, values[-1] + room])
        found[np.searchsorted(values, USUAL, side="right")] = USUAL
        return found

    def _counts(self, thresholds: Any, rows: Any = ...) -> tuple[Array, Array]:
        """False positives and false negatives (L,) among ``rows``, all of them unless some are
        given.
        """
        decisions = self.decisions[rows]
        is_second = self.is_second[rows]
        first = np.sort(decisions[~is_second])
        second = np.sort(decisions[is_second])
        false_positives = first.size - np.searchsorted(first, thresholds, side="right")
        false_negatives = np.searchsorted(second, thresholds, side="right")
        return false_positives, false_negatives

    def confusion(self, threshold: float = USUAL) -> Array:
        """How many rows of each class (down) are called each class (across), (2, 2)."""
        found: Array = confusion_matrix(self.is_second, self.decisions > threshold)
        return found

    def costs(
        self,
        false_positive: float = 1.0,
        false_negative: float = 1.0,
        thresholds: Any = None,
    ) -> Array:
        """What a row costs on average (L,) at every threshold.

        ``false_positive`` : the cost of a row of the first class that is called the second;
        ``false_negative`` : that of a row of the second class that is called the first.
        """
        _check_costs(false_positive, false_negative)
        at = self.thresholds if thresholds is None else np.atleast_1d(thresholds)
        wrong, missed = self._counts(at)
        return (false_positive * wrong + false_negative * missed) / self.is_second.size

    def cheapest(self, false_positive: float = 1.0, false_negative: float = 1.0) -> float:
        """The threshold of least cost on these rows; of equal ones the nearest to 0."""
        return _cheapest(self.thresholds, self.costs(false_positive, false_negative))

    def cost_elsewhere(
        self, false_positive: float = 1.0, false_negative: float = 1.0
    ) -> float | None:
        """Mean cost of a row when the threshold is chosen on the other four fifths of the rows.

        None where a class has fewer than five rows, or where fewer than five groups of rows exist.
        """
        _check_costs(false_positive, false_negative)
        codes = self.is_second.astype(np.intp)
        owners = np.arange(codes.size) if self.row_groups is None else self.row_groups
        if min(*np.bincount(codes), np.unique(owners).size) < FOLDS:
            return None
        total = 0.0
        for train, left_out in fold_rows(codes, codes.size, FOLDS, self.seed, self.row_groups):
            wrong, missed = self._counts(self.thresholds, train)
            threshold = _cheapest(self.thresholds, false_positive * wrong + false_negative * missed)
            wrong, missed = self._counts(threshold, left_out)
            total += float(false_positive * wrong + false_negative * missed)
        return total / codes.size

    @property
    def roc(self) -> tuple[Array, Array]:
        """Shares (L,) of the first class's rows that are called the second, and of the second
        class's rows that are found, at every threshold.
        """
        wrong, missed = self._counts(self.thresholds)
        second = self.is_second.sum()
        return wrong / (self.is_second.size - second), 1.0 - missed / second

    @property
    def area(self) -> float:
        """The area under the ROC curve: how often, of two rows of different classes, that of the
        second has the larger decision; ties count half.
        """
        return float(roc_auc_score(self.is_second, self.decisions))

    @property
    def precision(self) -> Array:
        """The share (L,) of the rows called the second class that are, NaN where none is called so."""
        wrong, missed = self._counts(self.thresholds)
        right = self.is_second.sum() - missed
        called = right + wrong
        found: Array = np.full(called.size, np.nan)
        np.divide(right, called, out=found, where=called > 0)
        return found

    @property
    def average_precision(self) -> float:
        """The mean precision over the second class's rows, each at the threshold just below it."""
        return float(average_precision_score(self.is_second, self.decisions))

    def steps(self, *always: float) -> Array:
        """At most about 240 of the thresholds, which a slider can hold, with those given and 0."""
        every = self.thresholds
        some = np.unique(np.linspace(0, every.size - 1, min(every.size, MOST_STEPS)).astype(int))
        return np.unique([*every[some], USUAL, *always])

    def says(
        self, threshold: float, false_positive: float = 1.0, false_negative: float = 1.0
    ) -> str:
        """One threshold in a sentence: its errors and their cost."""
        first, second = self.classes
        table = self.confusion(threshold)
        cost = float(self.costs(false_positive, false_negative, threshold)[0])
        counts = table.sum(axis=1)
        return (
            f"Above a decision of {style.number(threshold)} a row is called {second!r}. Of "
            f"{style.counted(int(counts[0]), 'row')} of {first!r} {_are(table[0, 1])} called so "
            f"by mistake, of {style.counted(int(counts[1]), 'row')} of {second!r} "
            f"{_are(table[1, 0])} missed: a cost of {style.number(cost)} a row."
        )

    def advice(self, false_positive: float = 1.0, false_negative: float = 1.0) -> str:
        """The cheapest threshold in words, with what it may cost on other rows."""
        least = self.cheapest(false_positive, false_negative)
        own, usual = self.costs(false_positive, false_negative, [least, USUAL])
        said = (
            f"On these rows 0, the usual threshold, is cheapest: {style.number(float(own))} a row."
        )
        if least != USUAL:
            said = (
                f"On these rows the threshold {style.number(least)} is cheapest, "
                f"{style.number(float(own))} a row; 0 costs {style.number(float(usual))}."
            )
        elsewhere = self.cost_elsewhere(false_positive, false_negative)
        if elsewhere is None:
            return f"{said} They are too few to tell what it costs on others."
        outlook = "expect about that of new rows"
        if not self.held_out:
            outlook = "new rows may cost more, for these have also chosen the model"
        return (
            f"{said} Chosen by four fifths of them and tried on the rest, the cheapest threshold "
            f"costs {style.number(elsewhere)} a row: {outlook}."
        )

    @property
    def whose(self) -> str:
        """Which rows these are, in a sentence."""
        count = style.counted(self.decisions.size, "row")
        if self.held_out:
            return (
                f"Counted on {count} that were held out: they chose neither the model nor anything "
                "in it."
            )
        return (
            f"No row was held out. Counted on {count}, each judged by a model that was fitted "
            "without it; these folds also chose between models."
        )


def _are(count: int) -> str:
    """How many rows, with their verb."""
    return f"{count} {'is' if count == 1 else 'are'}"


def _cheapest(thresholds: Array, costs: Array) -> float:
    least = np.flatnonzero(costs <= costs.min() + 1e-12)
    return float(thresholds[least[np.argmin(np.abs(thresholds[least]))]])
