"""The first answer for a table nothing is known about: which columns count, and how well they predict.

`explore` is what the app does for a stranger's table, as one call: rows drawn, the recommended dictionary, a certified path
over C, the point chosen on validation rows, how much every column counts, and plain models beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, NamedTuple

import numpy as np

from mklcore.arrays import Array, Indices
from mklcore.data.dataset import Dataset, three_way_split
from mklcore.errors import DataError
from mklcore.estimators.explain import kernels_by_columns, specs_of
from mklcore.estimators.lp import LpMKLClassifier, LpMKLRegressor, UniformMKLClassifier, UniformMKLRegressor
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.grams import GramStack
from mklcore.kernels.measures import target_alignment
from mklcore.kernels.units import Unit, units
from mklcore.path import Path, fit_path, joined, path_grid
from mklcore.references import plain_references
from mklcore.scoring import Decided, label_of, rarest, scorer_of

POINTS = 13
FURTHER = 8  # points beyond the usual grid, solved only while the score still rises
STRIDE = 3  # points between two looks at the scores: beyond the best one they are the slow ones
LEAST = 6
BEHIND = 3  # points after the best one that have to be no better before the path ends
FLAT = 1e-3  # gain in score below which going on does not pay
STACK_MB = 700.0
SCORED_ROWS = 2000  # validation rows that choose; all left-out rows are scored at the end
PERMUTED_ROWS = 500
REPEATS = 5
CANDIDATES = 5  # single kernels that are tried, those most aligned with the target
Tick = Callable[[int, int], Any]


class Rows(NamedTuple):
    """How many rows were used for training, of how many, and how they were drawn."""

    used: int
    of: int
    how: str


class ColumnAnswer(NamedTuple):
    """One column of the table (or group, band, cluster): its share of weight, and what the score loses without it.

    ``share`` of the weight on kernels that see only this column; None where no kernel does. ``importance``: mean loss of
    validation score when its values are shuffled among the rows, ``importance_sd`` its spread over the shuffles.
    """

    name: str
    share: float | None
    importance: float
    importance_sd: float


@dataclass(frozen=True, eq=False)
class Exploration:
    """The first answer. ``columns`` are sorted by importance; ``baselines`` name -> validation score; ``index`` is the
    point of ``path`` chosen on validation rows and ``model`` the fit there."""

    rows: Rows
    dictionary: KernelDictionary
    path: Path
    index: int
    model: Any
    columns: tuple[ColumnAnswer, ...]
    baselines: dict[str, float]
    score: float
    scoring: str
    notes: tuple[str, ...]
    _fitted: dict[str, Any] = field(repr=False)
    _test: Dataset = field(repr=False)
    _scorer: Any = field(repr=False)

    def test_scores(self) -> dict[str, float]:
        """The scores on all test rows: "ours" and every baseline; look once, after choosing."""
        models = {"ours": self.model} | self._fitted
        return {name: float(self._scorer(model, self._test.X, self._test.y)) for name, model in models.items()}

    def _repr_html_(self) -> str:
        body = "".join(
            f"<tr><td>{escape(one.name)}</td><td>{'' if one.share is None else format(one.share, '.0%')}</td>"
            f"<td>{one.importance:.3g} ± {one.importance_sd:.2g}</td></tr>"
            for one in self.columns[:12]
        )
        beside = ", ".join(f"{escape(name)} {value:.3g}" for name, value in self.baselines.items())
        return (
            f"<p><b>{self.scoring} {self.score:.3g}</b> on validation rows ({beside}); {self.rows.used:,} of "
            f"{self.rows.of:,} rows for training</p><table><tr><th>column</th><th>weight</th><th>importance</th></tr>{body}</table>"
            f"<ul>{''.join(f'<li>{escape(note)}</li>' for note in self.notes)}</ul>"
        )


def explore(
    data: Dataset, *, seed: int = 0, max_rows: int = 2000, scoring: Any = None, callback: Tick | None = None
) -> Exploration:
    """Which columns of this table count, and how well do they predict?

    Splits the rows (half for training, a quarter each for validation and test), draws at most ``max_rows`` training rows,
    and fits lp-norm MKL at p = 4/3 with `KernelDictionary.recommended` along C; the grid goes on while its best point is
    the last. ``scoring`` : a scikit-learn scorer or its name; None is accuracy for classes and R2 for numbers.
    ``callback(done, total)`` is called between steps; raise in it to cancel. DataError for a table without a target.

    >>> from mklcore.data.samples import load_sample
    >>> found = explore(load_sample("iris"))
    >>> found.score > found.baselines["majority"]
    True
    """
    if data.task == "novelty":
        raise DataError("The table has no target, so no column can matter for it; name a target, or fit LpMKLOneClass.")
    tick = callback or (lambda done, total: None)
    parts = three_way_split(data, 0.25, 0.25, seed)
    dictionary = KernelDictionary.recommended(data)
    train, rows = _drawn(parts.train, data.n_samples, len(dictionary), max_rows, seed)
    judge = (
        parts.validation if parts.validation.n_samples <= SCORED_ROWS else _some(parts.validation, SCORED_ROWS, seed)
    )
    asked = scoring or ("r2" if data.task == "regression" else "accuracy")
    name, scorer = asked if isinstance(asked, str) else label_of(asked), scorer_of(asked)
    stack = dictionary.grams(train.X)
    tick(0, 4)
    path, notes = _path(data.task, dictionary, stack, train, judge, scoring)
    scores = path.val_score
    index = int(np.nanargmax(scores))
    model = path.estimators[index]
    tick(1, 4)
    seen = units(data)
    columns = _columns(model, seen, judge, scorer, _shares(model, seen, data, stack), seed)
    tick(2, 4)
    fitted = _baselines(data.task, train, stack, judge, asked, path, scores)
    tick(3, 4)
    beside = {key: float(scorer(one, judge.X, judge.y)) for key, one in fitted.items()}
    tick(4, 4)
    return Exploration(
        rows, dictionary, path, index, model, columns, beside, float(scores[index]), name,
        (*_about(data), *notes), fitted, parts.test, scorer,
    )  # fmt: skip


def _drawn(train: Dataset, of: int, n_kernels: int, max_rows: int, seed: int) -> tuple[Dataset, Rows]:
    """At most ``max_rows`` training rows, and no more than the stack has room for."""
    room = int(np.sqrt(STACK_MB * 1e6 / (8 * n_kernels)))
    most = min(max_rows, room)
    if train.n_samples <= most:
        return train, Rows(train.n_samples, of, "all training rows")
    kind = "drawn by class" if train.task != "regression" else "drawn at random"
    return _some(train, most, seed), Rows(most, of, f"{kind} from {train.n_samples:,} training rows")


def _some(data: Dataset, count: int, seed: int) -> Dataset:
    return data.split(test_size=count, seed=seed)[1]


def _about(data: Dataset) -> list[str]:
    """What a score alone does not tell about this target."""
    if data.task == "regression":
        return []
    labels, counts = np.unique(data.y, return_counts=True)
    largest = counts.max() / counts.sum()
    notes = [f"The largest class, {labels[counts.argmax()]!s}, holds {largest:.1%} of the rows."]
    if rarest(data) is not None:
        notes.append('A class is rare: scoring="balanced_accuracy" or "matthews_corrcoef" gives it its weight.')
    return notes


def _path(
    task: str, dictionary: KernelDictionary, stack: GramStack, train: Dataset, judge: Dataset, scoring: Any
) -> tuple[Path, list[str]]:
    """The path over C, continued while its best point is the last, and what is to be said."""
    kind = LpMKLRegressor if task == "regression" else LpMKLClassifier
    asked = kind(kernels=dictionary, p=4 / 3)
    grid = path_grid(asked, stack, train.y, "C", POINTS)
    ratio = grid[1] / grid[0]
    grid = np.concatenate([grid, grid[-1] * ratio ** np.arange(1, FURTHER + 1)])
    pieces: list[Path] = []
    scores = np.empty(0)
    for first in range(0, len(grid), STRIDE):
        start = pieces[-1].estimators[-1] if pieces else None
        values = grid[first : first + STRIDE]
        pieces.append(fit_path(asked, train.X, train.y, "C", values, judge.X, judge.y, start=start, scoring=scoring))
        scores = np.append(scores, pieces[-1].val_score)
        if len(scores) >= LEAST and int(scores.argmax()) < len(scores) - BEHIND:
            return joined(pieces), []
    edge = int(scores.argmax()) == len(scores) - 1 and scores[-1] - scores[-2] > FLAT
    told = f"Best at the edge: the score still rises at C = {grid[-1]:.4g}, the largest that was tried."
    return joined(pieces), [told] if edge else []


# Which columns count


def _shares(model: Any, seen: tuple[Unit, ...], data: Dataset, stack: GramStack) -> dict[str, float]:
    """The share of weight on kernels that see one unit only, by its name."""
    weights = np.atleast_2d(model.weights_).sum(axis=0)
    total = float(weights.sum()) or 1.0
    known = {unit.name for unit in seen}
    members = kernels_by_columns(stack.specs or (), [(u.name, u.columns) for u in seen], data.source_names)
    return {name: float(weights[own].sum()) / total for name, own in members.items() if name in known}


def _columns(
    model: Any, seen: tuple[Unit, ...], judge: Dataset, scorer: Any, shares: dict[str, float], seed: int
) -> tuple[ColumnAnswer, ...]:
    """Every unit with its share and its permutation importance, the most important first."""
    rows = judge if judge.n_samples <= PERMUTED_ROWS else _some(judge, PERMUTED_ROWS, seed)
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(rows.n_samples) for _ in range(REPEATS)]
    shuffled = _Shuffled(model, rows)
    full = shuffled.score(scorer, None, orders[0])
    found = []
    for unit in seen:
        losses = [full - shuffled.score(scorer, unit, order) for order in orders]
        share = shares.get(unit.name)
        found.append(ColumnAnswer(unit.name, share, float(np.mean(losses)), float(np.std(losses, ddof=1))))
    return tuple(sorted(found, key=lambda one: (-one.importance, one.name)))


class _Shuffled:
    """A fitted model on rows in which one unit is shuffled, kernel by kernel.

    What a kernel says that sees only this unit is shuffled with it; what one says that does not see it stays. So only
    kernels that see the unit and more are computed again.
    """

    def __init__(self, model: Any, rows: Dataset) -> None:
        self.model, self.rows = model, rows
        self.said = model.contributions(rows.X)
        weights = np.atleast_2d(model.weights_).sum(axis=0)
        self.sees = [frozenset(spec.columns(rows.n_features)) for spec in specs_of(model)]
        self.live = [m for m, weight in enumerate(weights) if weight > 0]

    def score(self, scorer: Any, unit: Unit | None, order: Indices) -> float:
        total = self.said.sum(axis=0) if unit is None else self._shuffled(unit, order)
        return float(scorer(Decided(self.model, total + self.model.intercept_), self.rows.X, self.rows.y))

    def _shuffled(self, unit: Unit, order: Indices) -> Array:
        own = frozenset(unit.columns)
        alone = [m for m in self.live if self.sees[m] <= own]
        mixed = [m for m in self.live if self.sees[m] & own and not self.sees[m] <= own]
        kept = [m for m in self.live if not self.sees[m] & own]
        total: Array = self.said[kept].sum(axis=0) + self.said[alone].sum(axis=0)[order]
        if mixed:
            X = self.rows.X.copy()
            columns = np.array(unit.columns)
            X[:, columns] = X[np.ix_(order, columns)]
            total = total + self.model.contributions(X, mixed).sum(axis=0)
        return total


# Plain models beside it


def _baselines(
    task: str, train: Dataset, stack: GramStack, judge: Dataset, scoring: Any, path: Path, scores: Array
) -> dict[str, Any]:
    """The fitted plain models by name, each with its own parameter chosen on the validation rows."""
    scorer = scorer_of(scoring)

    def best(models: Sequence[Any]) -> Any:
        fitted = [model.fit(train.X, train.y) for model in models]
        return fitted[int(np.argmax([scorer(model, judge.X, judge.y) for model in fitted]))]

    near = path.values[max(0, int(np.nanargmax(scores)) - 2) :][:5]
    uniform: Any = UniformMKLRegressor if task == "regression" else UniformMKLClassifier
    found = {one.name: one.model for one in plain_references(train, judge, scoring)}
    found["uniform sum"] = best([uniform(kernels=path.estimators[0].kernels, C=float(C)) for C in near])
    aligned = np.argsort(-np.nan_to_num(target_alignment(stack, train.y, task)), kind="stable")[:CANDIDATES]
    specs = stack.specs or ()
    alone = [KernelDictionary((specs[int(m)],)) for m in aligned]
    found["best single kernel"] = best([uniform(kernels=one, C=float(C)) for one in alone for C in near[1:4]])
    return found
