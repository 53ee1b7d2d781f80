"""Columns that may give the target away, or the order of the rows: reported before the scores.

explains   one column alone predicts held-out rows nearly without error: a logarithm of the target, a status
               written afterwards
parts      a number is the sum, up to rounding, of up to three columns with fixed factors
order      a column rises or falls all along the rows: a row number, an identifier, a date that sorts them
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mklcore.arrays import Array, Labels
from mklcore.data.dataset import Dataset
from mklcore.data.splitting import codes_of, fold_rows

ROWS = 1000  # that are looked at
COLUMNS = 200  # source columns, those that go with the target most
FEWEST = 30  # rows from which anything is said
NEARLY = 0.98  # of a score of one column alone
AHEAD, FAR = 0.9, 5.0  # or this, where what is left is so many times less than of the second best column
PARTS, EXACT = 3, 1.0 - 1e-6  # columns of a sum, and its share of the variance
DIFFERENT = 0.5  # share of rows with values of their own in a column that may sort them


class Leak(NamedTuple):
    """A source column, why it is reported ("explains", "parts" or "order"), how strongly (0 to 1), and a sentence."""

    column: str
    kind: str
    strength: float
    text: str


def find_leaks(data: Dataset) -> tuple[Leak, ...]:
    """Columns of ``data`` that may give its target away, the strongest first, and those that sort its rows.

    At most 1000 rows are looked at and the 200 columns that go with the target most; nothing is said of fewer than 30
    rows. What is reported may be right to use: whether a value is known before the target is, only a person can say.

    >>> rows = np.random.default_rng(0).uniform(1.0, 9.0, (100, 2))
    >>> [leak.column for leak in find_leaks(Dataset(rows, np.exp(rows[:, 1]), ("a", "b"), "y", "regression"))]
    ['b']
    """
    if data.n_samples < FEWEST or not data.columns:
        return ()
    found = (
        {leak.column: leak for leak in reversed((*_explaining(data), *_parts(data)))} if data.task != "novelty" else {}
    )
    reported = sorted(found.values(), key=lambda leak: -leak.strength)
    return (*reported, *(leak for leak in _ordering(data) if leak.column not in found))


def rows_in_order(data: Dataset) -> str:
    """Where the newest rows stand if a column sorts the rows as a time does: "last", "first", or "" where none does."""
    found = _ordering(data) if data.n_samples >= FEWEST else []
    if not found:
        return ""
    values = data.X[:, dict(data.columns)[found[0].column][0]]
    return "last" if values[-1] > values[0] else "first"


def _explaining(data: Dataset) -> list[Leak]:
    few = data.drawn(ROWS, 0) if data.n_samples > ROWS else data
    regression = data.task == "regression"
    y = np.asarray(few.y, dtype=float) if regression else codes_of(few.y)
    if np.unique(y).size < 2:
        return []
    columns = list(few.columns)
    if len(columns) > COLUMNS:
        strength = [_going_along(few.X[:, list(members)], y) for _, members in columns]
        columns = [columns[j] for j in np.argsort(strength)[::-1][:COLUMNS]]
    folds = fold_rows(None if regression else y, len(y), 3, 0)
    scores = {name: _alone(few.X[:, list(members)], y, folds, regression) for name, members in columns}
    best = sorted(scores.values(), reverse=True)
    reported = []
    for name, score in scores.items():
        second = best[1] if len(best) > 1 and score == best[0] else 0.0
        apart = score >= AHEAD and score == best[0] and (1.0 - second) > FAR * (1.0 - score)
        if score >= NEARLY or apart:
            what = "of the variance of its ranks" if regression else "of the rows of every class on average"
            reported.append(Leak(
                name, "explains", score,
                f"{name} alone predicts {data.target_name} nearly without error ({score:.1%} {what}, on held-out "
                "rows). If its value is written after the target is known, or made from it, leave it out.",
            ))  # fmt: skip
    return reported


def _going_along(values: Array, y: Labels) -> float:
    """The largest |correlation| of ranks between a column and the target."""
    ranks = [np.argsort(np.argsort(column)) for column in (*values.T, y)]
    with np.errstate(invalid="ignore", divide="ignore"):
        return float(np.nanmax(np.abs([np.corrcoef(one, ranks[-1])[0, 1] for one in ranks[:-1]]), initial=0.0))


def _alone(values: Array, y: Labels, folds: Sequence[Any], regression: bool) -> float:
    """What a tree on these columns alone scores on held-out rows: R² of ranks, or the mean share of right rows."""
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    if np.ptp(values, axis=0).max() == 0.0:
        return 0.0
    target = np.argsort(np.argsort(y, kind="stable"), kind="stable").astype(float) if regression else y
    said, held = np.zeros(len(y)), np.zeros(len(y), dtype=bool)
    kind: Any = DecisionTreeRegressor if regression else DecisionTreeClassifier
    for train, rest in folds:
        model = kind(min_samples_leaf=3 if regression else 2, max_leaf_nodes=128, random_state=0)
        said[rest], held[rest] = model.fit(values[train], target[train]).predict(values[rest]), True
    said, target = said[held], target[held]
    if regression:
        spread = float(np.sum((target - target.mean()) ** 2))
        return max(0.0, 1.0 - float(np.sum((target - said) ** 2)) / spread) if spread > 0.0 else 0.0
    right = said == target
    return float(np.mean([right[target == k].mean() for k in np.unique(target)]))


def _parts(data: Dataset) -> list[Leak]:
    """The columns of a sum with fixed factors that is the target, found one after the other."""
    if data.task != "regression":
        return []
    few = data.drawn(ROWS, 0) if data.n_samples > ROWS else data
    y = np.asarray(few.y, dtype=float)
    numbers = [(name, members[0]) for name, members in few.columns if len(members) == 1]
    if not numbers or np.ptp(y) == 0.0:
        return []
    X = few.X[:, [j for _, j in numbers]]
    spread = X.std(axis=0)
    X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    y = (y - y.mean()) / y.std()
    chosen: list[int] = []
    left = y
    for _ in range(min(PARTS, X.shape[1], len(y) - 2)):
        chosen.append(int(np.argmax(np.abs(X.T @ left))))
        part = X[:, chosen]
        left = y - part @ np.linalg.lstsq(part, y, rcond=None)[0]
        explained = 1.0 - float(left @ left) / len(y)
        if explained >= EXACT and len(set(chosen)) > 1:
            names = [numbers[j][0] for j in chosen]
            reported = f"{' and '.join(names)} with fixed factors add up to {data.target_name}: they are its parts."
            return [Leak(name, "parts", explained, reported) for name in names]
    return []


def _ordering(data: Dataset) -> list[Leak]:
    """Columns of numbers that never turn along the rows, which are in that order for a reason."""
    found = []
    for name, members in data.columns:
        values = data.X[:, members[0]]
        steps = np.diff(values)
        turns = not (np.all(steps >= 0.0) or np.all(steps <= 0.0))
        if len(members) > 1 or turns or np.unique(values).size < DIFFERENT * len(values):
            continue
        found.append(Leak(
            name, "order", 1.0,
            f"{name} only {'rises' if steps.sum() > 0 else 'falls'} along the rows, as a row number or a time does. "
            "New rows are beyond it: leave it out, and where rows are in the order of time, test on the last ones.",
        ))  # fmt: skip
    return found
