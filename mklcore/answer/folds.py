"""Candidates scored along their parameter, on folds that fit the kernel weights again.

Squared loss on folds, for a whole grid of C at once: what candidates are compared by, with BLAS alone.

    min_{||theta||_p <= 1}  sum_t  C/2 ||y_t - f_t - b_t||^2 + 1/2 sum_m ||w_mt||^2 / theta_m,   f_t = sum_m Phi_m w_mt

T targets, one per class, share the kernel weights theta, so that one factorisation serves all of them. Kernels of few
columns have features Phi_m of low rank: the sums Phi'Phi are taken once, and every theta and C costs a system as large
as the number of features. The weights go along C, updated a few times at each: enough to compare, not a certificate,
which the estimator that is fitted in the end has. One kernel of all columns costs a factorisation a C.

Source: Kloft, Brefeld, Sonnenburg, Zien (2011), equation (16), with the norms summed over targets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.spatial.distance import cdist

from mklcore.arrays import Array, Indices, Labels
from mklcore.data.dataset import Dataset
from mklcore.data.splitting import RANDOM, codes_of
from mklcore.errors import ParameterError, check_cancelled, suppress_convergence_warnings
from mklcore.estimators.joint import JointMKLClassifier
from mklcore.estimators.lp import LpMKLClassifier, LpMKLRegressor
from mklcore.io.catalog import ESTIMATORS
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.features import Nystroem
from mklcore.kernels.functions import Laplacian
from mklcore.kernels.grams import GramStack
from mklcore.kernels.interactions import interacting
from mklcore.kernels.maps import column_statistics, standardise_rows
from mklcore.kernels.stacks import rows_of
from mklcore.paths.folds import cut
from mklcore.paths.path import fit_path, judged, path_grid
from mklcore.paths.scoring import Scoring, predictions

GRID = 10.0 ** np.arange(-1.0, 3.1, 0.5)  # values of C
WIDTHS, WIDER, MOST_WIDTHS = (0.25, 1.0, 4.0), 4.0, 6  # median distances; a grid whose edge wins goes on by this ratio
FINALISTS = 2  # widths that all folds judge
MOST_PAIRS = 8
ROUGHLY = 1e-2  # relative gap at which folds compare the points of a path
LOW_RANK, MOST_FEATURES = (15, 50), 800  # landmarks of a kernel of one column, and of all of them together
Fold = Callable[[int], tuple[Array, Callable[[int], Array]]]  # number -> scores (L,), and decisions at a value


@dataclass(frozen=True)
class Asked:
    """What the caller has fixed; None is chosen.

    ``over`` : key of the parameter that the path runs along; ``settings`` : other parameters of the method, as the
    catalog calls them; ``hold_out`` as in `three_way_split`; ``stack`` : ready kernels, of whose rows the table holds
    the numbers.
    """

    kernels: KernelDictionary | None = None
    method: str | None = None
    p: float | None = None
    C: float | None = None
    lam: float | None = None
    s: int | None = None
    loss: Any = None
    scoring: Scoring = None
    max_rows: int | None = None
    seed: int = 0
    test_size: float | None = None
    over: str | None = None
    settings: tuple[tuple[str, Any], ...] = ()
    normalise: str | None = "auto"
    center: bool = False
    approximation: Nystroem | None = None
    hold_out: str = RANDOM
    stack: GramStack | None = None

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of an estimator that are fixed."""
        found = {"p": self.p, "C": self.C, "lam": self.lam, "n_kernels": self.s, "loss": self.loss}
        return {name: value for name, value in found.items() if value is not None}

    @property
    def further(self) -> dict[str, Any]:
        """Parameters that a method takes where it has them."""
        found = {"center": self.center or None, "approximation": self.approximation}
        kept = {name: value for name, value in found.items() if value is not None} | dict(self.settings)
        return kept if self.normalise == "auto" else kept | {"normalise": self.normalise}

    def given(self, rows: Dataset) -> Any:
        """What a model learns from: the rows, or their kernels of the ready stack."""
        return rows if self.stack is None else self.stack.take(rows_of(rows))

    def some(self, rows: Dataset, count: int) -> Dataset:
        """So many of the rows: drawn, or the newest where the held-out rows are newer still."""
        if self.hold_out == RANDOM or rows.n_samples <= count:
            return rows.drawn(count, self.seed)
        return rows.take(np.arange(rows.n_samples)[-count:] if self.hold_out == "last" else np.arange(count))

    @property
    def is_open(self) -> bool:
        """Whether methods are compared: at most p, C, scores and rows are fixed."""
        return not (self.further or any((self.method, self.kernels, self.stack, self.loss, self.over)))


@dataclass(frozen=True, eq=False)
class FoldedTable:
    """Rows to learn from and the ``test`` rows; ``few`` of them to choose on, in ``folds``; targets (n, T) of these."""

    learn: Dataset
    test: Dataset | None
    few: Dataset
    folds: tuple[tuple[Indices, Indices], ...]
    Y: Array
    classes: Labels | None
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Candidate:
    """A model to compare: its ``label``, its unfitted ``estimator``, and how folds score it: "low rank", "whole", which
    is one kernel of all columns, or a key of the catalog. ``pairs``: those are found again in every fold.
    """

    label: str
    estimator: Any
    way: str = "low rank"
    pairs: bool = False


@dataclass(frozen=True, eq=False)
class Judged:
    """A candidate along its parameter: ``values`` (L,), ``scores`` (F, L) by fold, and the decisions out of folds
    (n, T) at the best value."""

    candidate: Candidate
    param: str
    values: Array
    scores: Array
    decisions: Array | None = None

    @property
    def best(self) -> int:
        """The index of the highest mean score, the first of equals."""
        return best_of(self.scores)

    @property
    def score(self) -> float:
        """The mean score there."""
        return float(self.scores[:, self.best].mean())

    @property
    def error(self) -> float:
        """Its standard error over folds."""
        return standard_error(self.scores[:, self.best])


def machine(task: str, kernels: KernelDictionary, p: float, approximation: Nystroem | None = None) -> Any:
    """lp-norm learning with the squared loss; classes share their weights."""
    kinds = {"regression": LpMKLRegressor, "binary": LpMKLClassifier, "multiclass": JointMKLClassifier}
    kind: Any = kinds[task]
    return kind(p=p, loss="squared", kernels=kernels, approximation=approximation)


def landmarks(n_kernels: int, strings: bool) -> int:
    """Of every kernel of few columns; strings take more."""
    return 4 * LOW_RANK[1] if strings else int(np.clip(MOST_FEATURES // n_kernels, *LOW_RANK))


def beside(kernels: KernelDictionary, data: Dataset) -> KernelDictionary:
    """The kernels on the table as it is, with the letters of its sequences and texts."""
    names = tuple(name for name, _ in data.strings)
    return kernels.beside(data.n_features, names, data.width) if names else kernels


def path(
    known: FoldedTable, one: Candidate, asked: Asked, tick: Callable[[], None] = lambda: None,
    over: tuple[str, Array] | None = None,
) -> Judged:  # fmt: skip
    """A candidate along its parameter, on folds that fit its weights again; ``over``: as `runs_over` gives it."""
    param, values = "C", GRID if asked.C is None else np.array([float(asked.C)])
    if one.way in ESTIMATORS:
        param, values = over or runs_over(known, one, asked)
        fold = _estimator_folds(known, one, asked, param, values, tick)
    elif one.way == "whole":
        one, values, fold = _whole_folds(known, one, asked, values, tick)
    else:
        fold = _low_rank_folds(known, one, asked, values)
    scores, decided = [], []
    for k in range(len(known.folds)):
        tick()
        own, decide = fold(k)
        scores.append(own)
        decided.append(decide)
    best = best_of(np.array(scores))
    parts = [decide(best) for decide in decided]
    decisions = np.full((known.few.n_samples, *parts[0].shape[1:]), np.nan)
    for (_, left_out), part in zip(known.folds, parts, strict=True):
        decisions[left_out] = part
    return Judged(one, param, values, np.array(scores), decisions.reshape(len(decisions), -1))


def _low_rank_folds(known: FoldedTable, one: Candidate, asked: Asked, values: Array) -> Fold:
    """Kernels of few columns by their features."""

    def fold(k: int) -> tuple[Array, Callable[[int], Array]]:
        train, left_out = known.folds[k]
        rows, kernels = known.few.take(train), one.estimator.kernels
        if one.pairs:
            kernels = KernelDictionary.interactions(rows, candidates=interacting(rows, 2, MOST_PAIRS))
        stack = one.estimator.approximation.features(beside(kernels, rows), rows.table)
        Z, new = (part.astype(np.float64) for part in (stack.table, stack.cross(known.few.table[left_out]).table))
        along = list(low_rank_along(Z, stack.ends, known.Y[train], one.estimator.p, values, new))
        return fold_scores(known, along, left_out, asked.scoring), along.__getitem__

    return fold


def _whole_folds(
    known: FoldedTable, one: Candidate, asked: Asked, grid: Array, tick: Callable[[], None]
) -> tuple[Candidate, Array, Fold]:
    """One kernel of all columns: widths on the first fold, on a grid that goes on where its edge wins, then the best of
    them on all folds, and last two more values of C beside the best.
    """
    few, spec = known.few, one.estimator.kernels.specs[0]
    rows = standardise_rows(few.X, *column_statistics(few.X))
    is_laplacian = isinstance(spec, Laplacian)
    apart = cdist(rows, rows, "cityblock" if is_laplacian else "sqeuclidean")
    middle = float(np.median(apart[apart > 0]))

    @lru_cache(maxsize=1)
    def kernel(width: float, k: int) -> tuple[Array, Array]:
        train, left_out = known.folds[k]
        size = width * middle if is_laplacian else 2.0 * width**2 * middle
        return scaled(*(np.exp(apart[np.ix_(part, train)] / -size) for part in (train, left_out)))

    @cache
    def decided(width: float, k: int, C: float) -> Array:
        tick()
        return kernel_at(*kernel(width, k), known.Y[known.folds[k][0]], C)

    def score(width: float, k: int, values: Array) -> Array:
        along = [decided(width, k, C) for C in values.tolist()]
        return fold_scores(known, along, known.folds[k][1], asked.scoring)

    def scores(width: float, values: Array) -> Array:
        return np.array([score(width, k, values) for k in range(len(known.folds))])

    values = grid[::2] if len(grid) > 1 else grid
    first: dict[float, float] = {}
    waiting = list(WIDTHS) if is_laplacian else [float(spec.width)]
    while waiting:
        width = waiting.pop()
        first[width] = float(score(width, 0, values).max())
        best = max(first, key=first.__getitem__)
        if not waiting and 1 < len(first) < MOST_WIDTHS and best in (min(first), max(first)):
            waiting = [best / WIDER if best == min(first) else best * WIDER]
    finalists = sorted(first, key=lambda w: -first[w])[:FINALISTS]
    width = max(finalists, key=lambda w: float(scores(w, values).mean(axis=0).max()))
    if len(values) > 1:
        C = values[best_of(scores(width, values))]
        values = np.array(sorted({*values.tolist(), *grid[np.isclose(np.abs(np.log10(grid / C)), 0.5)].tolist()}))
    kernels = replace(one.estimator.kernels, specs=(replace(spec, width=width),))
    fold = lambda k: (score(width, k, values), lambda place: decided(width, k, float(values[place])))  # noqa: E731
    return replace(one, estimator=machine(few.task, kernels, 2.0)), values, fold


def _estimator_folds(
    known: FoldedTable, one: Candidate, asked: Asked, param: str, values: Array, tick: Callable[[], None]
) -> Fold:
    """Any estimator of the catalog along a parameter."""
    few, estimator = known.few, one.estimator
    rows = few.table if asked.stack is None else asked.given(few)
    if few.strings:
        estimator = estimator.copy_with("kernels", beside(estimator.kernels, few))
    if getattr(estimator, "tol", ROUGHLY) < ROUGHLY:
        estimator = estimator.copy_with("tol", ROUGHLY)

    def fold(k: int) -> tuple[Array, Callable[[int], Array]]:
        train, left_out = known.folds[k]
        learn, judge = cut(rows, train, left_out, few.n_samples)
        more = judge, few.y[left_out], lambda *_: tick()
        with suppress_convergence_warnings():
            found = fit_path(estimator, learn, few.y[train], param, values, *more, scoring=asked.scoring)
        return found.val_score, lambda place: predictions(found.estimators[place], judge).decision

    return fold


def runs_over(known: FoldedTable, one: Candidate, asked: Asked) -> tuple[str, Array]:
    """What the path of a method of the catalog runs over, the first of its parameters that is not fixed, and where."""
    offered = [over for over in ESTIMATORS[one.way].paths if asked.over in (None, over.key)]
    if not offered:
        raise ParameterError(f"The method {one.way!r} has no path over {asked.over!r}; leave it out.")
    free = [
        over for over in offered if over.attribute not in asked.parameters and over.key in ("C", "lam", "s", asked.over)
    ]
    over = (free or offered)[0]
    if not free:
        return over.key, np.array([float(getattr(one.estimator, over.attribute))])
    with suppress_convergence_warnings():
        return over.key, path_grid(one.estimator, asked.given(known.few), known.few.y, over.key, len(GRID))


def later_rows(
    n_rows: int, count: int, hold_out: str, owners: Labels | None = None
) -> Iterator[tuple[Indices, Indices]]:  # fmt: skip
    """Folds that judge by rows that are newer than all they learn from; an owner's rows are as new as the newest."""
    from sklearn.model_selection import TimeSeriesSplit

    codes = np.arange(n_rows) if owners is None else codes_of(owners)
    newest = np.full(codes.max() + 1, -np.inf)
    np.maximum.at(newest, codes, np.arange(n_rows) * (1.0 if hold_out == "last" else -1.0))
    order = np.argsort(newest, kind="stable")
    for train, test in TimeSeriesSplit(min(count, 3)).split(order):
        yield np.flatnonzero(np.isin(codes, order[train])), np.flatnonzero(np.isin(codes, order[test]))


def fold_scores(known: FoldedTable, along: Sequence[Array], rows: Indices, scoring: Scoring) -> Array:
    """The scores (L,) of decisions on the rows that a fold has left out."""
    stand_in = machine(known.learn.task, KernelDictionary.laplacian_grid([1.0]), 2.0)
    if known.classes is not None:
        stand_in.classes_ = known.classes
    scores = judged([stand_in] * len(along), [shown(one) for one in along], known.few.y[rows], scoring)
    return np.where(np.isfinite(scores), scores, -1e300)


def shown(decisions: Array) -> Array:
    """Decisions (n, T) as a model gives them: (n,) where there is one."""
    return decisions[:, 0] if decisions.shape[1] == 1 else decisions


def best_of(scores: Array) -> int:
    """The index of the highest mean (F, L), the first of equals."""
    means = scores.mean(axis=0)
    return int(np.flatnonzero(means >= means.max() - 1e-12)[0])


def standard_error(values: Array) -> float:
    """Of the mean; 0 of one value."""
    return float(values.std(ddof=1) / np.sqrt(values.size)) if values.size > 1 else 0.0


# Squared loss for a whole grid of C at once

FIRST, NEXT = 8, 3  # updates of the weights at the first C, and at each that follows
_LEAST = 1e-10  # of the largest norm: a weight of zero would stay zero


def targets(y: Labels, classes: Labels | None) -> Array:
    """The targets (n, T): the number, -1 and +1 for two classes, or one such column per class."""
    if classes is None:
        return np.asarray(y, dtype=np.float64)[:, None]
    one = classes[1:] if len(classes) == 2 else classes
    return np.where(np.asarray(y)[:, None] == one, 1.0, -1.0)


def low_rank_along(table: Array, ends: Indices, Y: Array, p: float, grid: Array, new: Array) -> Iterator[Array]:
    """Decisions (m, T) on features ``new`` (m, D) at every C of a rising ``grid``.

    ``table`` (n, D) features of the training rows, kernel k from column ``ends[k]`` to ``ends[k + 1]``; ``Y`` (n, T).
    """
    means, centre = table.mean(axis=0), Y.mean(axis=0)
    sizes = np.diff(ends)
    own, count = np.repeat(np.arange(len(sizes)), sizes), len(sizes)
    centred = table - means
    inner, reach = centred.T @ centred, centred.T @ (Y - centre)
    theta = np.full(count, count ** (-1.0 / p))
    for k, C in enumerate(grid):
        check_cancelled()
        for _ in range(FIRST if k == 0 else NEXT):
            spread = np.sqrt(theta)[own]
            system = inner * spread[:, None] * spread
            system.flat[:: len(system) + 1] += 1.0 / C
            v = cho_solve(cho_factor(system, overwrite_a=True, check_finite=False), reach * spread[:, None])
            norms = np.sqrt(theta * np.bincount(own, (v * v).sum(axis=1), count))
            theta = _weights(norms, p)
        yield (new - means) @ (v * spread[:, None]) + centre


def _weights(norms: Array, p: float) -> Array:
    """theta of the norms ||w_m|| (M,), on the sphere of the p-norm."""
    raw = np.maximum(norms, _LEAST * max(float(norms.max()), 1e-100)) ** (2.0 / (p + 1.0))
    theta: Array = raw / float(np.sum(raw**p)) ** (1.0 / p)
    return theta


def kernel_at(K: Array, across: Array, Y: Array, C: float) -> Array:
    """Decisions (m, T) by one kernel: ``K`` (n, n) of the training rows, ``across`` (m, n) of new rows with these."""
    check_cancelled()
    centre = Y.mean(axis=0)  # far from zero a number has few digits left
    right = np.column_stack([Y - centre, np.ones(len(Y))])
    system = K.copy()
    system.flat[:: len(K) + 1] += 1.0 / C
    duals = cho_solve(cho_factor(system, overwrite_a=True, check_finite=False), right, check_finite=False)
    intercept = duals[:, :-1].sum(axis=0) / duals[:, -1].sum()
    found: Array = across @ (duals[:, :-1] - np.outer(duals[:, -1], intercept)) + intercept + centre
    return found


def scaled(K: Array, across: Array) -> tuple[Array, Array]:
    """A kernel with k(x, x) = 1 at variance one in its feature space, as ``normalise="multiplicative"`` has it."""
    size = max(1.0 - float(K.mean()), 1e-12)
    return K / size, across / size
