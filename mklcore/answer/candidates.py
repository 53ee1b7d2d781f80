"""Candidates scored along their parameter, on folds that fit the kernel weights again.

Squared loss on folds, for a whole grid of C at once: what candidates are compared by, with BLAS
alone.

    min_{||theta||_p <= 1}  sum_t  C/2 ||y_t - f_t - b_t||^2 + 1/2 sum_m ||w_mt||^2 / theta_m,   f_t = sum_m Phi_m w_mt

T targets, one per class, share the kernel weights theta, so that one factorisation serves all of
them. Kernels of few columns have features Phi_m of low rank: the sums Phi'Phi are taken once, and
every theta and C costs a system as large as the number of features. The weights go along C, updated
a few times at each: enough to compare, not a certificate, which the estimator that is fitted in the
end has. One kernel of all columns costs a factorisation a C.

Source: Kloft, Brefeld, Sonnenburg, Zien (2011), equation (16), with the norms summed over targets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.spatial.distance import cdist

from mklcore.arrays import Array, Indices, Labels, Mask
from mklcore.data.dataset import Dataset
from mklcore.data.splitting import RANDOM, codes_of, fold_rows
from mklcore.errors import ParameterError, check_cancelled, suppress_convergence_warnings
from mklcore.estimators.joint import JointMKLClassifier
from mklcore.estimators.lp import LpMKLClassifier, LpMKLRegressor
from mklcore.io.catalog import ESTIMATORS
from mklcore.kernels.blends import Ranked
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.features import Nystroem
from mklcore.kernels.functions import RBF, Delta, KernelSpec, Laplacian, median_distance
from mklcore.kernels.grams import GramStack
from mklcore.kernels.kernel_map import standardised
from mklcore.kernels.stacks import block_of, rows_of
from mklcore.paths.folds import cut
from mklcore.paths.path import fit_path, judged, path_grid
from mklcore.paths.scoring import Scoring, predictions
from mklcore.sparse.best_k import without_relaxations

GRID = 10.0 ** np.arange(-1.0, 3.1, 0.5)  # values of C
# Every second C is tried for a kernel of all columns: it is a member, and the one machine chooses a
# C of its own.
COARSE = 2
SMALL = 400  # rows below which five folds are made, three from there on
EXACT = 5000  # rows up to which one kernel of all columns is taken as it is
WIDTHS = (0.25, 1.0, 4.0, 16.0)  # median distances
SMOOTH = RBF(1.0, relative=True)
WHOLE = {"all columns, rough": Laplacian(1.0, relative=True), "all columns, smooth": SMOOTH}
# the groups of kernels whose shares in the one machine are said
STRAIGHT = "straight lines"
ALONE = "single columns and pairs"
TOGETHER = "all columns together"
ROUGHLY = 1e-2  # relative gap at which folds compare the points of a path
# landmarks of a kernel of one column, and of all of them together
LOW_RANK = (10, 50)
MOST_FEATURES = 400


@dataclass(frozen=True)
class Request:
    """What the caller has fixed; None is chosen.

    ``over`` : key of the parameter that the path runs along; ``settings`` : other parameters of the
    method, as the catalog calls them; ``hold_out`` as in `three_way_split`; ``stack`` : ready
    kernels, of whose rows the table holds the numbers.
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
        found = {
            "p": self.p,
            "C": self.C,
            "lam": self.lam,
            "n_kernels": self.s,
            "loss": self.loss,
        }
        return {name: value for name, value in found.items() if value is not None}

    @property
    def further(self) -> dict[str, Any]:
        """Parameters that a method takes where it has them."""
        found = {"center": self.center or None, "approximation": self.approximation}
        kept = {name: value for name, value in found.items() if value is not None} | dict(
            self.settings
        )
        return kept if self.normalise == "auto" else kept | {"normalise": self.normalise}

    @property
    def is_open(self) -> bool:
        """Whether members are compared and blended: at most C, scores and rows are fixed."""
        return not (
            self.further
            or any((self.method, self.kernels, self.stack, self.loss, self.over, self.p))
        )

    def costs(self, step: int = 1) -> Array:
        """The values of C to compare: the one that is fixed, or every ``step``-th of `GRID`."""
        return GRID[::step] if self.C is None else np.array([float(self.C)])

    def given(self, rows: Dataset) -> Any:
        """What a model learns from: the rows, or their kernels of the ready stack."""
        return rows if self.stack is None else self.stack.take(rows_of(rows))

    def some(self, rows: Dataset, count: int) -> Dataset:
        """So many of the rows: drawn, or the newest where the held-out rows are newer still."""
        if self.hold_out == RANDOM or rows.n_samples <= count:
            return rows.drawn(count, self.seed)
        return rows.take(
            np.arange(rows.n_samples)[-count:] if self.hold_out == "last" else np.arange(count)
        )


@dataclass(frozen=True, eq=False)
class DividedRows:
    """The rows of an answer to a ``request``: ``learn`` to fit on, ``test`` held out, a ``sample``
    of ``learn`` on which ``folds`` compare candidates, and ``Y`` (n, T), the targets of the sample.
    """

    request: Request
    learn: Dataset
    test: Dataset | None
    sample: Dataset
    folds: tuple[tuple[Indices, Indices], ...]
    Y: Array
    classes: Labels | None
    notes: tuple[str, ...]

    @property
    def left_out(self) -> Indices:
        """The rows of the sample that some fold leaves out, which each row is once at most: all of
        them, but the only row of a class and the oldest of rows in the order of time.
        """
        return np.sort(np.concatenate([rows for _, rows in self.folds]))

    def out_of_folds(self, parts: Sequence[Array]) -> Array:
        """Decisions (m, T) about the rows ``left_out`` from those of every fold on its own."""
        rows = np.concatenate([rows for _, rows in self.folds])
        decisions = np.concatenate([part.reshape(len(part), -1) for part in parts])
        ordered: Array = decisions[np.argsort(rows)]
        return ordered

    def read(self, rows: Dataset) -> Any:
        """``rows`` as a model takes them: their features, or their block of the ready stack."""
        stack = self.request.stack
        return rows.table if stack is None else block_of(stack, rows, self.learn)

    def scores(self, along: Sequence[Array], y: Labels) -> Array:
        """The scores (L,) of decisions (m, T) at each value of a parameter, for the target ``y``."""
        stand_in = machine(self.learn.task, None, 2.0)
        if self.classes is not None:
            stand_in.classes_ = self.classes
        decided = [shown(one) for one in along]
        scores = judged([stand_in] * len(along), decided, y, self.request.scoring)
        return np.where(np.isfinite(scores), scores, -1e300)


@dataclass(frozen=True, eq=False)
class Candidate:
    """A model to compare: its ``label``, its unfitted ``estimator``, the ``values`` (L,) of its
    parameter ``param``, and how folds score it: "low rank", "whole", which is one kernel of all
    columns, or a key of the catalog.
    """

    label: str
    estimator: Any
    values: Array
    way: str = "low rank"
    param: str = "C"


class Member(Protocol):
    """What a candidate is as a part of the one machine: a kernel of variance one in its feature
    space. Kernels of all columns are so many times ``narrower`` than folds chose.
    """

    def on_fold(self, k: int, narrower: float) -> tuple[Array, dict[str, Array]]:
        """The kernel among the training rows of fold k, and that of the rows left out with these,
        by `STRAIGHT`, `ALONE` and `TOGETHER`, which add up.
        """

    def parts(self, narrower: float) -> Sequence[tuple[KernelSpec, float, float]]:
        """Each kernel that it sums, the variance of that kernel, and its share."""


@dataclass(frozen=True, eq=False)
class ScoredCandidate:
    """A candidate along its parameter: ``scores`` (F, L) by fold, and the decisions (m, T) out of
    folds at the best value, see `DividedRows.left_out`.

    ``member`` : what it is as a part of the one machine; ``variance_shares`` : of that machine, the
    share of its decisions out of folds that straight lines have, single columns and pairs, and
    kernels of all columns.
    """

    candidate: Candidate
    scores: Array
    decisions: Array | None = None
    member: Member | None = None
    variance_shares: dict[str, float] = field(default_factory=dict)
    chosen: int | None = None

    @property
    def best(self) -> int:
        """The index that was chosen, or that of the highest mean score, the first of equals."""
        return best_of(self.scores) if self.chosen is None else self.chosen

    @property
    def best_value(self) -> float:
        """The value of the parameter there."""
        return float(self.candidate.values[self.best])

    @property
    def score(self) -> float:
        """The mean score there."""
        return float(self.scores[:, self.best].mean())

    @property
    def error(self) -> float:
        """Its standard error over folds."""
        return standard_error(self.scores[:, self.best])


def machine(
    task: str, kernels: KernelDictionary | None, p: float, approximation: Nystroem | None = None
) -> Any:
    """lp-norm learning with the squared loss; classes share their weights."""
    kinds = {
        "regression": LpMKLRegressor,
        "binary": LpMKLClassifier,
        "multiclass": JointMKLClassifier,
    }
    kind: Any = kinds[task]
    return kind(p=p, loss="squared", kernels=kernels, approximation=approximation)


def of_all_columns(data: Dataset, radial: KernelSpec) -> KernelDictionary:
    """One kernel of all columns by values and ranks."""
    categories = [j for _, members in data.columns if len(members) > 1 for j in members]
    return KernelDictionary(
        (Ranked(radial, categories=categories),), feature_names=data.feature_names
    )


def landmarks(n_kernels: int, strings: bool) -> int:
    """How many landmarks each kernel of few columns gets; more where the table has strings."""
    return 4 * LOW_RANK[1] if strings else int(np.clip(MOST_FEATURES // n_kernels, *LOW_RANK))


def score_along(divided: DividedRows, one: Candidate) -> ScoredCandidate:
    """Score a candidate at every value of its parameter; every fold fits the weights anew."""
    if one.way == "low rank":
        return few_columns(divided, one)
    if one.way == "whole":
        return all_columns(divided, one)
    return by_estimator(divided, one)


@dataclass(frozen=True, eq=False)
class FeatureMember:
    """Kernels of few columns as a member: features ``table`` (n, D) of the sample, to which kernel
    each belongs (D,), the weights (M,) by fold and of all rows, and the kernels with their scales.
    """

    folds: Sequence[tuple[Indices, Indices]]
    table: Array
    kernel_of: Indices
    fold_weights: Sequence[Array]
    weights: Array
    specs: Sequence[KernelSpec]
    scales: Array

    @property
    def variance(self) -> float:
        """The variance of the weighted sum in its feature space."""
        return max(float(self.weights[self.kernel_of] @ self.table.var(axis=0)), 1e-12)

    def on_fold(self, k: int, narrower: float) -> tuple[Array, dict[str, Array]]:
        train, left_out = self.folds[k]
        weights = self.fold_weights[k][self.kernel_of] / self.variance
        rooted = self.table * np.sqrt(weights)
        learn = rooted[train]
        new = rooted[left_out]
        are_straight = [spec.is_base or isinstance(spec, Delta) for spec in self.specs]
        straight: Mask = np.array(are_straight)[self.kernel_of]
        across = {
            STRAIGHT: new[:, straight] @ learn[:, straight].T,
            ALONE: new[:, ~straight] @ learn[:, ~straight].T,
        }
        return learn @ learn.T, across

    def parts(self, narrower: float) -> list[tuple[KernelSpec, float, float]]:
        shares = self.weights / self.variance
        return list(zip(self.specs, self.scales.tolist(), shares.tolist(), strict=True))


def few_columns(divided: DividedRows, one: Candidate) -> ScoredCandidate:
    """Kernels of few columns by their features on all rows; every fold learns their weights anew."""
    sample = divided.sample
    estimator = one.estimator
    bound = estimator.kernels.on(sample)
    stack = estimator.approximation.features(bound, sample.table)
    table = stack.table.astype(np.float64)
    alongs = []
    scores = []
    for train, left_out in divided.folds:
        learn = table[train], stack.ends, divided.Y[train]
        along = list(low_rank_along(*learn, estimator.p, one.values, table[left_out]))
        alongs.append(along)
        scores.append(divided.scores([decided for decided, _ in along], sample.y[left_out]))
    best = best_of(np.array(scores))
    first = one.values[: best + 1]
    *_, (_, weights) = low_rank_along(table, stack.ends, divided.Y, estimator.p, first, table[:1])
    specs = dict(zip(bound.names, estimator.kernels.specs, strict=True))
    sizes = np.diff(stack.ends)
    member = FeatureMember(
        divided.folds,
        table,
        np.repeat(np.arange(len(sizes)), sizes),
        [along[best][1] for along in alongs],
        weights,
        [specs[name] for name in stack.names],
        stack.scales,
    )
    decisions = divided.out_of_folds([along[best][0] for along in alongs])
    return ScoredCandidate(one, np.array(scores), decisions, member)


class RankedMember:
    """A `Ranked` kernel of all columns on the rows of the sample, at multiples of the median
    distance; as a member it has the ``width`` that folds chose.

    Folds compare candidates: single precision is enough, and factorises twice as fast.
    """

    width = 1.0

    def __init__(self, divided: DividedRows, spec: Ranked) -> None:
        rows = standardised(divided.sample.X)
        seen = spec.settle(rows).seen(rows)
        self.folds = divided.folds
        self.spec = spec
        self.radial: Any = spec.parts[0]
        metric = "sqeuclidean" if self.radial.base == "squared" else "cityblock"
        self.distances = cdist(seen, seen, metric).astype(np.float32)
        self.median = median_distance(self.radial.base, seen)

    def less_one(self, width: float) -> Array:
        """The kernel less 1, which keeps its digits where it is wide; a free intercept makes up for
        the 1.
        """
        radial = replace(self.radial, width=width * self.median, relative=False)
        found: Array = np.expm1(np.float32(-radial.rate) * self.distances)
        return found

    def blocks(self, less_one: Array, k: int) -> tuple[Array, Array]:
        """The kernel of fold k, scaled to variance one: among its training rows, and of those left
        out with these.
        """
        train, left_out = self.folds[k]
        own = less_one[np.ix_(train, train)]
        variance = variance_of(own)
        return own / variance, less_one[np.ix_(left_out, train)] / variance

    def on_fold(self, k: int, narrower: float) -> tuple[Array, dict[str, Array]]:
        own, across = self.blocks(self.less_one(self.width / narrower), k)
        return own, {TOGETHER: across}

    def parts(self, narrower: float) -> list[tuple[KernelSpec, float, float]]:
        variance = variance_of(self.less_one(self.width / narrower))
        return [(self.at(narrower), variance, 1.0)]

    def at(self, narrower: float) -> Ranked:
        """The kernel itself."""
        return replace(self.spec, parts=(replace(self.radial, width=self.width / narrower),))


def all_columns(divided: DividedRows, one: Candidate) -> ScoredCandidate:
    """A `Ranked` kernel of all columns: its width by the first fold, or by all where rows are few,
    and its C by all.
    """
    member = RankedMember(divided, one.estimator.kernels.specs[0])
    sample = divided.sample

    def scored(width: float, folds: Sequence[int]) -> list[tuple[list[Array], Array]]:
        """Decisions and scores along C, by fold."""
        less_one = member.less_one(width)
        found = []
        for k in folds:
            train, left_out = divided.folds[k]
            along = kernel_along(*member.blocks(less_one, k), divided.Y[train], one.values)
            found.append((along, divided.scores(along, sample.y[left_out])))
        return found

    every = range(len(divided.folds))
    some = every if sample.n_samples < SMALL else every[:1]
    first = {width: scored(width, some) for width in WIDTHS}
    best_scores = {
        width: np.mean([scores for _, scores in found], axis=0).max()
        for width, found in first.items()
    }
    member.width = max(WIDTHS, key=lambda width: best_scores[width])
    found = first[member.width] + scored(member.width, every[len(some) :])
    scores = np.array([scores for _, scores in found])
    best = best_of(scores)
    kernels = replace(one.estimator.kernels, specs=(member.at(1.0),))
    candidate = replace(one, estimator=machine(sample.task, kernels, 2.0))
    decisions = divided.out_of_folds([along[best] for along, _ in found])
    return ScoredCandidate(candidate, scores, decisions, member)


def by_estimator(divided: DividedRows, one: Candidate) -> ScoredCandidate:
    """Any estimator of the catalog along its parameter."""
    sample = divided.sample
    request = divided.request
    estimator = one.estimator
    rows = sample.table if request.stack is None else request.given(sample)
    if sample.strings:
        estimator = estimator.copy_with("kernels", estimator.kernels.on(sample))
    if getattr(estimator, "tol", ROUGHLY) < ROUGHLY:
        estimator = estimator.copy_with("tol", ROUGHLY)
    if one.way == "best_k":  # what a search proves is no matter of folds
        estimator = estimator.copy_with("max_relaxations", 1)
    scores = []
    paths = []
    for train, left_out in divided.folds:
        learn, new = cut(rows, train, left_out, sample.n_samples)
        with suppress_convergence_warnings(), without_relaxations():
            path = fit_path(
                estimator,
                learn,
                sample.y[train],
                one.param,
                one.values,
                new,
                sample.y[left_out],
                scoring=request.scoring,
            )
        scores.append(path.val_score)
        paths.append((path, new))
    best = best_of(np.array(scores))
    parts = [predictions(path.estimators[best], new).decision for path, new in paths]
    return ScoredCandidate(one, np.array(scores), divided.out_of_folds(parts))


def run_of(divided: DividedRows, key: str, estimator: Any) -> tuple[str, Array]:
    """What the path of a method of the catalog runs over, the first of its parameters that is not
    fixed, and where.
    """
    request = divided.request
    offered = [over for over in ESTIMATORS[key].paths if request.over in (None, over.key)]
    if not offered:
        raise ParameterError(f"The method {key!r} has no path over {request.over!r}; leave it out.")
    free = [
        over
        for over in offered
        if over.attribute not in request.parameters and over.key in ("C", "lam", "s", request.over)
    ]
    over = (free or offered)[0]
    if not free:
        return over.key, np.array([float(getattr(estimator, over.attribute))])
    sample = divided.sample
    with suppress_convergence_warnings():
        values = path_grid(estimator, request.given(sample), sample.y, over.key, len(GRID))
    return over.key, values


def folds_of(rows: Dataset, request: Request, count: int) -> list[tuple[Indices, Indices]]:
    """Row numbers to learn from and row numbers to judge by, a pair per fold."""
    if request.hold_out != RANDOM:
        return list(later_rows(rows.n_samples, count, request.hold_out, rows.row_groups))
    codes = None if rows.task == "regression" else codes_of(rows.y)
    return fold_rows(codes, rows.n_samples, count, request.seed, rows.row_groups)


def later_rows(
    n_rows: int, count: int, hold_out: str, owners: Labels | None = None
) -> Iterator[tuple[Indices, Indices]]:
    """Folds that judge by rows that are newer than all they learn from; an owner's rows are as new
    as the newest.
    """
    from sklearn.model_selection import TimeSeriesSplit

    codes = np.arange(n_rows) if owners is None else codes_of(owners)
    newest = np.full(codes.max() + 1, -np.inf)
    age = np.arange(n_rows) if hold_out == "last" else -np.arange(n_rows)
    np.maximum.at(newest, codes, age)
    order = np.argsort(newest, kind="stable")
    for train, test in TimeSeriesSplit(min(count, 3)).split(order):
        yield (
            np.flatnonzero(np.isin(codes, order[train])),
            np.flatnonzero(np.isin(codes, order[test])),
        )


def shown(decisions: Array) -> Array:
    """Decisions (n, T) as a model gives them: (n,) where there is one."""
    return decisions[:, 0] if decisions.shape[1] == 1 else decisions


def best_of(scores: Array) -> int:
    """The index of the highest mean (F, L), the first of equals."""
    means = scores.mean(axis=0)
    return int(np.flatnonzero(means >= means.max() - 1e-12)[0])


def standard_error(values: Array) -> float:
    """Standard error of the mean of ``values``; 0 for a single value."""
    if values.size < 2:
        return 0.0
    return float(values.std(ddof=1) / np.sqrt(values.size))


# Squared loss for a whole grid of C at once

# updates of the weights at the first C, and at each that follows
FIRST = 8
NEXT = 3
_LEAST = 1e-10  # of the largest norm: a weight of zero would stay zero


def targets(y: Labels, classes: Labels | None) -> Array:
    """The targets (n, T): the number, -1 and +1 for two classes, or one such column per class."""
    if classes is None:
        return np.asarray(y, dtype=np.float64)[:, None]
    one = classes[1:] if len(classes) == 2 else classes
    return np.where(np.asarray(y)[:, None] == one, 1.0, -1.0)


def low_rank_along(
    table: Array, ends: Indices, Y: Array, p: float, grid: Array, new: Array
) -> Iterator[tuple[Array, Array]]:
    """Decisions (m, T) on features ``new`` (m, D), and the kernel weights (M,), at every C of a
    rising ``grid``.

    ``table`` (n, D) features of the training rows, kernel k from column ``ends[k]`` to ``ends[k +
    1]``; ``Y`` (n, T).
    """
    means = table.mean(axis=0)
    centre = Y.mean(axis=0)
    sizes = np.diff(ends)
    own = np.repeat(np.arange(len(sizes)), sizes)
    count = len(sizes)
    centred = table - means
    inner = centred.T @ centred
    reach = centred.T @ (Y - centre)
    theta = np.full(count, count ** (-1.0 / p))
    for k, C in enumerate(grid):
        check_cancelled()
        for _ in range(FIRST if k == 0 else NEXT):
            spread = np.sqrt(theta)[own]
            system = inner * spread[:, None] * spread
            system.flat[:: len(system) + 1] += 1.0 / C
            v = cho_solve(
                cho_factor(system, overwrite_a=True, check_finite=False), reach * spread[:, None]
            )
            norms = np.sqrt(theta * np.bincount(own, (v * v).sum(axis=1), count))
            used = theta
            theta = _weights(norms, p)
        yield (new - means) @ (v * spread[:, None]) + centre, used


def _weights(norms: Array, p: float) -> Array:
    """theta of the norms ||w_m|| (M,), on the sphere of the p-norm."""
    least = _LEAST * max(float(norms.max()), 1e-100)
    raw = np.maximum(norms, least) ** (2.0 / (p + 1.0))
    theta: Array = raw / float(np.sum(raw**p)) ** (1.0 / p)
    return theta


def kernel_along(K: Array, across: Array, Y: Array, values: Array) -> list[Array]:
    """Decisions (m, T) by one kernel at every C of ``values``: ``K`` (n, n) of the training rows, ``across`` (m,
    n) of new rows with these.
    """
    return [across @ a + b for a, b in ridge_along(K, Y, values)]


def ridge_along(K: Array, Y: Array, values: Array) -> Iterator[tuple[Array, Array]]:
    """Duals (n, T) and intercepts (T,) of kernel ridge regression with a free intercept, at every
    C of ``values``.

    The intercept makes the duals sum to 0, so that they solve (H K H + I / C) a = H Y with H = I -
    11' / n. Without the mean of the kernel this is well conditioned, and what is added to the
    diagonal is at least what rounding can take from the spectrum.
    """
    n = len(K)
    centre = Y.mean(axis=0)
    means = K.mean(axis=0, dtype=np.float64)
    centred = (K - means - means[:, None] + means.mean()).astype(K.dtype)
    diagonal = centred.diagonal().copy()
    rounding = n * float(np.finfo(K.dtype).eps) * float(diagonal.max())
    for C in values.tolist():
        check_cancelled()
        system = centred.copy()
        system.flat[:: n + 1] = diagonal + max(1.0 / C, rounding)
        factor = cho_factor(system, overwrite_a=True, check_finite=False)
        duals = cho_solve(factor, Y - centre, check_finite=False)
        yield duals, centre - means @ duals


def variance_of(K: Array) -> float:
    """The variance in its feature space of a kernel with k(x, x) = 1, of which ``K`` is 1 less."""
    return max(-float(K.mean()), 1e-12)
