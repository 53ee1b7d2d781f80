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

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.spatial.distance import cdist

from mklcore.arrays import Array, Indices, Labels
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
from mklcore.kernels.normalisation import standardised
from mklcore.kernels.stacks import rows_of
from mklcore.paths.folds import cut
from mklcore.paths.path import fit_path, judged, path_grid
from mklcore.paths.scoring import Scoring, predictions
from mklcore.sparse.best_k import without_relaxations

GRID = 10.0 ** np.arange(-1.0, 3.1, 0.5)  # values of C
SMALL = 400  # rows below which five folds are made, three from there on
WIDTHS = (0.25, 1.0, 4.0, 16.0)  # median distances
STRAIGHT = "straight lines"
ALONE = "single columns and pairs"
TOGETHER = "all columns together"
SMOOTH = RBF(1.0, relative=True)
WHOLE = {"all columns, rough": Laplacian(1.0, relative=True), "all columns, smooth": SMOOTH}
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

    @property
    def is_open(self) -> bool:
        """Whether members are compared and blended: at most C, scores and rows are fixed."""
        return not (
            self.further
            or any((self.method, self.kernels, self.stack, self.loss, self.over, self.p))
        )


@dataclass(frozen=True, eq=False)
class AnswerRows:
    """The rows of an answer: ``learn`` to fit on, ``test`` held out, ``few`` of ``learn`` on which
    ``folds`` compare candidates, and ``Y`` (n, T), the targets of ``few``.
    """

    learn: Dataset
    test: Dataset | None
    few: Dataset
    folds: tuple[tuple[Indices, Indices], ...]
    Y: Array
    classes: Labels | None
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Candidate:
    """A model to compare: its ``label``, its unfitted ``estimator``, and how folds score it: "low
    rank", "whole", which is one kernel of all columns, or a key of the catalog.
    """

    label: str
    estimator: Any
    way: str = "low rank"


@dataclass(frozen=True, eq=False)
class Member:
    """What a candidate is as a part of the one machine: a kernel of variance one in its feature
    space.

    ``kernel(k, narrower)`` : its kernel among the training rows of fold k, and of the rows left out
    with these, by `STRAIGHT`, `ALONE` and `TOGETHER`, which add up.
    ``parts(narrower)`` : each kernel that it sums, the variance of that kernel, and its share.
    Kernels of all columns are so many times ``narrower`` than folds chose.
    """

    kernel: Callable[[int, float], tuple[Array, dict[str, Array]]]
    parts: Callable[[float], Sequence[tuple[KernelSpec, float, float]]]


@dataclass(frozen=True, eq=False)
class ScoredCandidate:
    """A candidate along its parameter: ``values`` (L,), ``scores`` (F, L) by fold, and the
    decisions out of folds (n, T) at the best value.

    ``member`` : what it is as a part of the one machine; ``said_by`` : of that machine, the share
    of its decisions out of folds that straight lines have, single columns and pairs, and kernels of
    all columns.
    """

    candidate: Candidate
    param: str
    values: Array
    scores: Array
    decisions: Array | None = None
    member: Member | None = None
    said_by: dict[str, float] = field(default_factory=dict)
    chosen: int | None = None

    @property
    def best(self) -> int:
        """The index that was chosen, or that of the highest mean score, the first of equals."""
        return best_of(self.scores) if self.chosen is None else self.chosen

    @property
    def score(self) -> float:
        """The mean score there."""
        return float(self.scores[:, self.best].mean())

    @property
    def error(self) -> float:
        """Its standard error over folds."""
        return standard_error(self.scores[:, self.best])


def machine(
    task: str, kernels: KernelDictionary, p: float, approximation: Nystroem | None = None
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


def beside(kernels: KernelDictionary, data: Dataset) -> KernelDictionary:
    """The kernels on the table as it is, with the letters of its sequences and texts."""
    names = tuple(name for name, _ in data.strings)
    return kernels.beside(data.n_features, names, data.width) if names else kernels


def costs(request: Request) -> Array:
    """The values of C to compare: the one that is fixed, or `GRID`."""
    return GRID if request.C is None else np.array([float(request.C)])


def score_along(
    known: AnswerRows,
    one: Candidate,
    request: Request,
    tick: Callable[[], None] = lambda: None,
    over: tuple[str, Array] | None = None,
) -> ScoredCandidate:
    """Score a candidate at every value of its parameter; every fold fits the weights anew.

    ``over`` is the parameter of a method of the catalog with its values, as `runs_over` gives them.
    """
    if one.way == "low rank":
        return few_columns(known, one, request, tick)
    if one.way == "whole":
        return all_columns(known, one, request, tick)
    return by_estimator(known, one, request, tick, over or runs_over(known, one, request))


def out_of_folds(known: AnswerRows, parts: Sequence[Array]) -> Array:
    """Decisions (n, T) from those of every fold on the rows it has left out; NaN for rows that are
    in no fold.
    """
    found = np.full((known.few.n_samples, max(parts[0][0].size, 1)), np.nan)
    for (_, left_out), part in zip(known.folds, parts, strict=True):
        found[left_out] = part.reshape(len(part), -1)
    return found


def few_columns(
    known: AnswerRows,
    one: Candidate,
    request: Request,
    tick: Callable[[], None],
) -> ScoredCandidate:
    """Kernels of few columns by their features on all rows; every fold learns their weights anew."""
    few = known.few
    values = costs(request)
    p = one.estimator.p
    kernels = one.estimator.kernels
    bound = beside(kernels, few)
    stack = one.estimator.approximation.features(bound, few.table)
    table = stack.table.astype(np.float64)
    sizes = np.diff(stack.ends)
    alongs = []
    scores = []
    for train, left_out in known.folds:
        tick()
        learn = table[train]
        judge = table[left_out]
        along = low_rank_along(learn, stack.ends, known.Y[train], p, values, judge)
        alongs.append(list(along))
        decisions = [decided for decided, _ in alongs[-1]]
        scores.append(fold_scores(known, decisions, left_out, request.scoring))
    best = best_of(np.array(scores))
    specs = dict(zip(bound.names, kernels.specs, strict=True))
    used = [specs[name] for name in stack.names]
    along = low_rank_along(table, stack.ends, known.Y, p, values[: best + 1], table[:1])
    _, theta = list(along)[-1]
    weights = np.repeat(theta, sizes)
    variance = max(float(weights @ table.var(axis=0)), 1e-12)
    is_straight = np.repeat([spec.is_base or isinstance(spec, Delta) for spec in used], sizes)

    def kernel(k: int, narrower: float) -> tuple[Array, dict[str, Array]]:
        train, left_out = known.folds[k]
        weights = np.repeat(alongs[k][best][1], sizes) / variance
        rooted = table * np.sqrt(weights)
        learn = rooted[train]
        judge = rooted[left_out]
        across = {
            STRAIGHT: judge[:, is_straight] @ learn[:, is_straight].T,
            ALONE: judge[:, ~is_straight] @ learn[:, ~is_straight].T,
        }
        return learn @ learn.T, across

    shares = theta / variance
    parts = list(zip(used, stack.scales.tolist(), shares.tolist(), strict=True))
    decisions = [along[best][0] for along in alongs]
    return ScoredCandidate(
        one,
        "C",
        values,
        np.array(scores),
        out_of_folds(known, decisions),
        Member(kernel, lambda narrower: parts),
    )


def all_columns(
    known: AnswerRows,
    one: Candidate,
    request: Request,
    tick: Callable[[], None],
) -> ScoredCandidate:
    """A `Ranked` kernel of all columns: its width by the first fold, or by all where rows are few,
    and its C by all.

    Every second C is tried: the kernel is a member, and the one machine chooses a C of its own.
    """
    few = known.few
    values = costs(request)[::2]
    spec = one.estimator.kernels.specs[0]
    radial = spec.parts[0]
    rows = standardised(few.X)
    seen = spec.settle(rows).seen(rows)
    # Folds compare candidates: single precision is enough, and factorises twice as fast. The
    # kernel less 1 keeps its digits where it is wide, and a free intercept makes up for the 1.
    metric = "sqeuclidean" if radial.base == "squared" else "cityblock"
    apart = cdist(seen, seen, metric).astype(np.float32)
    middle = median_distance(radial.base, seen)

    def between(width: float) -> Array:
        rate = replace(radial, width=width * middle, relative=False).rate
        found: Array = np.expm1(np.float32(-rate) * apart)
        return found

    def on_fold(K: Array, fold: tuple[Indices, Indices]) -> tuple[Array, Array]:
        train, left_out = fold
        own = K[np.ix_(train, train)]
        variance = variance_of(own)
        return own / variance, K[np.ix_(left_out, train)] / variance

    def decided(width: float, folds: Sequence[tuple[Indices, Indices]]) -> list[list[Array]]:
        K = between(width)
        along = []
        for fold in folds:
            tick()
            train, _ = fold
            along.append(kernel_along(*on_fold(K, fold), known.Y[train], values))
        return along

    def scores_of(along: list[list[Array]]) -> Array:
        folds = zip(along, known.folds, strict=False)
        return np.array(
            [fold_scores(known, own, left_out, request.scoring) for own, (_, left_out) in folds]
        )

    count = 1 if len(rows) >= SMALL else len(known.folds)
    first = {width: decided(width, known.folds[:count]) for width in WIDTHS}
    width = max(WIDTHS, key=lambda width: scores_of(first[width]).mean(axis=0).max())
    along = first[width] + decided(width, known.folds[count:])
    scores = scores_of(along)
    best = best_of(scores)

    def kernel(k: int, narrower: float) -> tuple[Array, dict[str, Array]]:
        own, across = on_fold(between(width / narrower), known.folds[k])
        return own, {TOGETHER: across}

    def at(narrower: float) -> KernelSpec:
        kept: KernelSpec = replace(spec, parts=(replace(radial, width=width / narrower),))
        return kept

    def parts(narrower: float) -> list[tuple[KernelSpec, float, float]]:
        return [(at(narrower), variance_of(between(width / narrower)), 1.0)]

    kernels = replace(one.estimator.kernels, specs=(at(1.0),))
    return ScoredCandidate(
        replace(one, estimator=machine(few.task, kernels, 2.0)),
        "C",
        values,
        scores,
        out_of_folds(known, [own[best] for own in along]),
        Member(kernel, parts),
    )


def by_estimator(
    known: AnswerRows,
    one: Candidate,
    request: Request,
    tick: Callable[[], None],
    over: tuple[str, Array],
) -> ScoredCandidate:
    """Any estimator of the catalog along a parameter, ``over`` its name and values."""
    few = known.few
    estimator = one.estimator
    rows = few.table if request.stack is None else request.given(few)
    if few.strings:
        estimator = estimator.copy_with("kernels", beside(estimator.kernels, few))
    if getattr(estimator, "tol", ROUGHLY) < ROUGHLY:
        estimator = estimator.copy_with("tol", ROUGHLY)
    if one.way == "best_k":  # what a search proves is no matter of folds
        estimator = estimator.copy_with("max_relaxations", 1)
    paths = []
    for train, left_out in known.folds:
        learn, judge = cut(rows, train, left_out, few.n_samples)
        with suppress_convergence_warnings(), without_relaxations():
            path = fit_path(
                estimator,
                learn,
                few.y[train],
                *over,
                judge,
                few.y[left_out],
                lambda *_: tick(),
                scoring=request.scoring,
            )
        paths.append((path, judge))
    scores = np.array([path.val_score for path, _ in paths])
    best = best_of(scores)
    decisions = [predictions(path.estimators[best], judge).decision for path, judge in paths]
    return ScoredCandidate(one, *over, scores, out_of_folds(known, decisions))


def runs_over(known: AnswerRows, one: Candidate, request: Request) -> tuple[str, Array]:
    """What the path of a method of the catalog runs over, the first of its parameters that is not
    fixed, and where.
    """
    offered = [over for over in ESTIMATORS[one.way].paths if request.over in (None, over.key)]
    if not offered:
        raise ParameterError(
            f"The method {one.way!r} has no path over {request.over!r}; leave it out."
        )
    free = [
        over
        for over in offered
        if over.attribute not in request.parameters and over.key in ("C", "lam", "s", request.over)
    ]
    over = (free or offered)[0]
    if not free:
        return over.key, np.array([float(getattr(one.estimator, over.attribute))])
    with suppress_convergence_warnings():
        return over.key, path_grid(
            one.estimator, request.given(known.few), known.few.y, over.key, len(GRID)
        )


def folds_of(
    rows: Dataset,
    request: Request,
    count: int,
) -> list[tuple[Indices, Indices]]:
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


def fold_scores(
    known: AnswerRows, along: Sequence[Array], rows: Indices, scoring: Scoring
) -> Array:
    """The scores (L,) of decisions on the rows that a fold has left out."""
    stand_in = machine(known.learn.task, KernelDictionary.laplacian_grid([1.0]), 2.0)
    if known.classes is not None:
        stand_in.classes_ = known.classes
    decided = [shown(one) for one in along]
    scores = judged([stand_in] * len(along), decided, known.few.y[rows], scoring)
    return np.where(np.isfinite(scores), scores, -1e300)


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
