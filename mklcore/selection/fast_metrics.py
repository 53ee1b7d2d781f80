"""Scores of plain arrays: to the last digit what scikit-learn's scorers give, without all they look at before they
count.

A path of 25 points is scored 50 times against the same two targets. The scorers of scikit-learn look at everything they
are given as if for the first time, which takes far longer than the counting itself. A tally looks at its target once;
whatever is not plain (other kinds of labels, a class that the target lacks, what is not finite) it leaves to them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from mklcore.arrays import Array, Indices, Labels

Tally: TypeAlias = Callable[[Any], float | None]  # of answers, or of decisions: the score, None where others must look


def kind_of(labels: Any) -> str:
    """What an array (n,) of labels holds: "words", "truths", "numbers" that are whole, or "" for all that needs another
    look.
    """
    if not (isinstance(labels, np.ndarray) and labels.ndim == 1 and labels.size):
        return ""
    kind = labels.dtype.kind
    if kind == "f" and bool(np.all(np.isfinite(labels) & (np.rint(labels) == labels))):
        return "numbers"
    if kind == "O":  # words as pandas holds them
        return "words" if set(map(type, labels)) == {str} else ""
    return {"U": "words", "b": "truths", "i": "numbers", "u": "numbers"}.get(kind, "")


def tally_of(name: str, y: Any) -> Tally | None:
    """How the score that scikit-learn calls ``name`` is counted against the target ``y`` (n,); None where it is not
    counted here.

    Scores of ``RANKED`` take decisions (n,), all others answers (n,).
    """
    if name in OF_CLASSES or name in RANKED:
        if not kind_of(y):
            return None
        labels, codes = np.unique(y, return_inverse=True)
        if labels.size < 2:
            return None
        return _ranked(codes) if name in RANKED else _counted(OF_CLASSES[name], y, labels, codes)
    plain = isinstance(y, np.ndarray) and y.ndim == 1 and y.size > 1 and y.dtype in (np.float64, np.int64)
    return _measured(OF_NUMBERS[name], y.astype(np.float64)) if name in OF_NUMBERS and plain else None


def _counted(score: Callable[[Indices], float], y: Labels, labels: Labels, codes: Indices) -> Tally:
    """A score of the table of counts, true classes by predicted ones."""
    kind, size = kind_of(y), labels.size

    def tally(said: Any) -> float | None:
        if not (isinstance(said, np.ndarray) and said.shape == codes.shape and kind_of(said) == kind):
            return None
        places = np.minimum(np.searchsorted(labels, said), size - 1)
        if np.any(labels[places] != said):
            return None
        return score(np.bincount(codes * size + places, minlength=size * size).reshape(size, size))

    return tally


def _accuracy(table: Indices) -> float:
    return float(np.trace(table) / table.sum())


def _balanced(table: Indices) -> float:
    return float(np.mean(np.diagonal(table) / table.sum(axis=1)))


def _f1(table: Indices) -> float:
    return float(np.mean(2.0 * np.diagonal(table) / (table.sum(axis=1) + table.sum(axis=0))))


def _matthews(table: Indices) -> float:
    true, said, n = table.sum(axis=1, dtype=np.float64), table.sum(axis=0, dtype=np.float64), float(table.sum())
    spread = (n**2 - said @ said) * (n**2 - true @ true)
    return 0.0 if spread == 0 else float((float(np.trace(table)) * n - true @ said) / np.sqrt(spread))


def _ranked(codes: Indices) -> Tally | None:
    """The area under the curve of true against false positives, of two classes."""
    if codes.max() != 1:
        return None

    def tally(decision: Any) -> float | None:
        plain = isinstance(decision, np.ndarray) and decision.shape == codes.shape and decision.dtype == np.float64
        if not plain or not np.all(np.isfinite(decision)):
            return None
        order = np.argsort(-decision, kind="stable")
        ends = np.append(np.flatnonzero(np.diff(decision[order])), codes.size - 1)  # of rows with one decision
        true = np.cumsum(codes[order])[ends].astype(np.float64)
        false = 1.0 + ends - true
        if true.size > 2:  # what is on a straight line is left out, as there: sums are rounded alike
            corner = np.concatenate([[True], (np.diff(false, 2) != 0) | (np.diff(true, 2) != 0), [True]])
            true, false = true[corner], false[corner]
        true, false = np.append(0.0, true), np.append(0.0, false)
        return float(np.trapezoid(true / true[-1], false / false[-1]))

    return tally


def _measured(score: Callable[[Array, float, int], float], y: Array) -> Tally | None:
    """A score of the errors of numbers, beside the sum of squares around their mean."""
    column = y[:, None]  # summed as scikit-learn does, so that the last digits agree
    spread = float(np.sum((column - column.mean(axis=0)) ** 2, axis=0)[0])
    if not (np.isfinite(spread) and spread > 0.0):
        return None

    def tally(said: Any) -> float | None:
        if not (isinstance(said, np.ndarray) and said.shape == y.shape and said.dtype == np.float64):
            return None
        found = score(column - said[:, None], spread, y.size)
        return found if np.isfinite(found) else None

    return tally


def _explained(errors: Array, spread: float, n: int) -> float:
    return 1.0 - float(np.sum(errors**2, axis=0)[0]) / spread


def _squared(errors: Array, spread: float, n: int) -> float:
    return -float(np.mean(errors**2, axis=0)[0])


def _root(errors: Array, spread: float, n: int) -> float:
    return -float(np.sqrt(np.mean(errors**2, axis=0)[0]))


def _absolute(errors: Array, spread: float, n: int) -> float:
    return -float(np.mean(np.abs(errors), axis=0)[0])


OF_CLASSES = {"accuracy": _accuracy, "balanced_accuracy": _balanced, "f1_macro": _f1, "matthews_corrcoef": _matthews}
OF_NUMBERS = {
    "r2": _explained,
    "neg_mean_squared_error": _squared,
    "neg_root_mean_squared_error": _root,
    "neg_mean_absolute_error": _absolute,
}
RANKED = frozenset({"roc_auc"})
