"""Candidates scored along their parameter, on folds that fit the kernel weights again, and one
machine on all of them.

Squared loss on folds, for a whole grid of C at once: what candidates are compared by, with BLAS
alone.

    min_{||theta||_p <= 1}  sum_t  C/2 ||y_t - f_t - b_t||^2 + 1/2 sum_m ||w_mt||^2 / theta_m,   f_t = sum_m Phi_m w_mt

T targets, one per class, share the kernel weights theta, so that one factorisation serves all of
them. Kernels of few columns have features Phi_m of low rank: the sums Phi'Phi are taken once, and
every theta and C costs a system as large as the number of features. The weights go along C, updated
a few times at each: enough to compare, not a certificate, which the estimator that is fitted in the
end has. One kernel of all columns costs a factorisation a C.

The candidates are members of one machine. With F_m the out-of-fold predictions of member m,
centred, and G their Gram matrix, each member gets a weight

    w = argmin_{w >= 0}  ||Y - ybar - sum_m w_m F_m||^2 + r ||w - 1/q||^2,    r = (20 / n) tr(G) / q,

and the machine has the kernel K = sum_m w_m K_m / v_m, v_m the variance of K_m in its feature
space, and its own C by the same folds.

Source: Kloft, Brefeld, Sonnenburg, Zien (2011), equation (16), with the norms summed over targets;
Breiman (1996), Stacked regressions, for the weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import nnls
from scipy.spatial.distance import cdist

from mklcore.arrays import Array, Indices, Labels
from mklcore.data.dataset import Dataset
from mklcore.data.splitting import RANDOM, codes_of, fold_rows
from mklcore.errors import ParameterError, check_cancelled, suppress_convergence_warnings
from mklcore.estimators.joint import JointMKLClassifier
from mklcore.estimators.lp import LpMKLClassifier, LpMKLRegressor
from mklcore.io.catalog import ESTIMATORS
from mklcore.kernels.blends import Blend
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.features import Nystroem
from mklcore.kernels.functions import Delta, KernelSpec, median_distance
from mklcore.kernels.grams import GramStack
from mklcore.kernels.interactions import interacting
from mklcore.kernels.normalisation import column_statistics, standardise_rows, standardised
from mklcore.kernels.stacks import rows_of
from mklcore.paths.folds import cut
from mklcore.paths.path import fit_path, judged, path_grid
from mklcore.paths.scoring import Scoring, predictions
from mklcore.sparse.best_k import without_relaxations

GRID = 10.0 ** np.arange(-1.0, 3.1, 0.5)  # values of C
SMALL = 400  # rows below which five folds are made, three from there on
WIDTHS = (0.25, 1.0, 4.0, 16.0)  # median distances
MOST_PAIRS = 8
PULL = 20  # rows that the pull of the members' weights to equal ones counts as
# sum of the weights below which the members say nothing, so that they stay equal
LEAST_WEIGHT = 0.1
# rows of a second look, and how much narrower kernels of all columns are
SECOND = 3000
NARROWER = (1.0, 2.0, 4.0, 8.0)
LEAST_SHARE = 2e-3  # of all shares: a kernel below it is left out of the one machine
STRAIGHT = "straight lines"
ALONE = "single columns and pairs"
TOGETHER = "all columns together"
ROUGHLY = 1e-2  # relative gap at which folds compare the points of a path
# landmarks of a kernel of one column, and of all of them together
LOW_RANK = (10, 50)
MOST_FEATURES = 400
# number -> scores (L,), and decisions at a value
Fold = Callable[[int], tuple[Array, Callable[[int], Array]]]


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
    rank", "whole", which is one kernel of all columns, or a key of the catalog. ``pairs``: those
    are found again in every fold.
    """

    label: str
    estimator: Any
    way: str = "low rank"
    pairs: bool = False


FoldKernel = Callable[[int, float], tuple[Array, dict[str, Array]]]


@dataclass(frozen=True, eq=False)
class Member:
    """What a candidate is as a part of the one machine.

    ``kernel(k, narrower)`` : its kernel among the training rows of fold k, and of the rows left out
    with these, by `STRAIGHT`, `ALONE` and `TOGETHER`, which add up; kernels of all columns are so
    many times ``narrower``.
    ``parts`` : its kernels, the variance of each in its feature space, and its weight once that is
    one; ``variance`` of their weighted sum.
    """

    kernel: FoldKernel
    parts: tuple[tuple[KernelSpec, float, float], ...]
    variance: float


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


def landmarks(n_kernels: int, strings: bool) -> int:
    """How many landmarks each kernel of few columns gets; more where the table has strings."""
    return 4 * LOW_RANK[1] if strings else int(np.clip(MOST_FEATURES // n_kernels, *LOW_RANK))


def beside(kernels: KernelDictionary, data: Dataset) -> KernelDictionary:
    """The kernels on the table as it is, with the letters of its sequences and texts."""
    names = tuple(name for name, _ in data.strings)
    return kernels.beside(data.n_features, names, data.width) if names else kernels


def score_along(
    known: AnswerRows,
    one: Candidate,
    request: Request,
    tick: Callable[[], None] = lambda: None,
    over: tuple[str, Array] | None = None,
) -> ScoredCandidate:
    """Score a candidate at every value of its parameter; every fold fits the weights anew.

    ``over`` is the parameter with its values, as `runs_over` gives them.
    """
    values = GRID if request.C is None else np.array([float(request.C)])
    if one.way == "low rank":
        return few_columns(known, one, request, values, tick)
    if one.way == "whole":
        return all_columns(known, one, request, values, tick)
    param, values = over or runs_over(known, one, request)
    fold = _estimator_folds(known, one, request, param, values, tick)
    scores, decide = zip(*(fold(k) for k in range(len(known.folds))), strict=True)
    best = best_of(np.array(scores))
    decisions = out_of_folds(known, [decided(best) for decided in decide])
    return ScoredCandidate(one, param, values, np.array(scores), decisions)


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
    values: Array,
    tick: Callable[[], None] = lambda: None,
) -> ScoredCandidate:
    """Kernels of few columns by their features on all rows; every fold learns their weights anew."""
    few = known.few
    dictionary = one.estimator.kernels
    p = one.estimator.p

    @cache
    def features(pairs: Any) -> tuple[Array, Indices, Array, list[KernelSpec]]:
        kernels = (
            dictionary if pairs is None else KernelDictionary.interactions(few, candidates=pairs)
        )
        bound = beside(kernels, few)
        stack = one.estimator.approximation.features(bound, few.table)
        named = dict(zip(bound.names, kernels.specs, strict=True))
        specs = [named[name] for name in stack.names]
        return stack.table.astype(np.float64), stack.ends, stack.scales, specs

    def found_in(rows: Dataset) -> tuple[Array, Indices, Array, list[KernelSpec]]:
        return features(interacting(rows, 2, MOST_PAIRS) if one.pairs else None)

    by_fold = []
    scores = []
    for train, left_out in known.folds:
        tick()
        table, ends, _, specs = found_in(few.take(train)) if one.pairs else features(None)
        along = list(
            low_rank_along(
                table[train],
                ends,
                known.Y[train],
                p,
                values,
                table[left_out],
            )
        )
        scores.append(
            fold_scores(known, [decided for decided, _ in along], left_out, request.scoring)
        )
        by_fold.append((table, ends, specs, along))
    best = best_of(np.array(scores))

    def kernel(k: int, narrower: float) -> tuple[Array, dict[str, Array]]:
        train, left_out = known.folds[k]
        table, ends, specs, along = by_fold[k]
        sizes = np.diff(ends)
        rooted = table * np.sqrt(np.repeat(along[best][1], sizes))
        straight = np.repeat([spec.is_base or isinstance(spec, Delta) for spec in specs], sizes)
        across = {
            name: rooted[np.ix_(left_out, of)] @ rooted[np.ix_(train, of)].T
            for name, of in ((STRAIGHT, straight), (ALONE, ~straight))
        }
        return rooted[train] @ rooted[train].T, across

    table, ends, scales, specs = found_in(few)
    *_, (_, theta) = low_rank_along(
        table,
        ends,
        known.Y,
        p,
        values[: best + 1],
        table[:1],
    )
    own = np.repeat(np.arange(theta.size), np.diff(ends))
    variance = float(theta[own] @ table.var(axis=0))
    parts = tuple(zip(specs, scales.tolist(), theta.tolist(), strict=True))
    decisions = out_of_folds(known, [along[best][0] for *_, along in by_fold])
    return ScoredCandidate(
        one,
        "C",
        values,
        np.array(scores),
        decisions,
        Member(kernel, parts, variance),
    )


def all_columns(
    known: AnswerRows,
    one: Candidate,
    request: Request,
    grid: Array,
    tick: Callable[[], None] = lambda: None,
) -> ScoredCandidate:
    """A `Ranked` kernel of all columns: its width by the first fold, or by all where rows are few,
    and its C by all.
    """
    few = known.few
    spec = one.estimator.kernels.specs[0]
    rows = standardised(few.X)
    seen = spec.settle(rows).seen(rows)
    radial = spec.parts[0]
    apart = cdist(seen, seen, "sqeuclidean" if radial.base == "squared" else "cityblock")
    middle = median_distance(radial.base, seen)

    def between(width: float, these: Indices, those: Indices) -> Array:
        rate = replace(radial, width=width * middle, relative=False).rate
        found: Array = np.exp(-rate * apart[np.ix_(these, those)])
        return found

    @lru_cache(maxsize=1)
    def of_fold(width: float, k: int) -> tuple[Array, Array]:
        train, left_out = known.folds[k]
        return scaled(between(width, train, train), between(width, left_out, train))

    @cache
    def decided(width: float, k: int, C: float) -> Array:
        tick()
        return kernel_at(*of_fold(width, k), known.Y[known.folds[k][0]], C)

    def scores(width: float, values: Array, count: int = len(known.folds)) -> Array:
        along = [[decided(width, k, C) for C in values.tolist()] for k in range(count)]
        folds = zip(along, known.folds[:count], strict=True)
        return np.array(
            [fold_scores(known, own, left_out, request.scoring) for own, (_, left_out) in folds]
        )

    values, count = grid[::2], 1 if len(rows) >= SMALL else len(known.folds)
    width = max(WIDTHS, key=lambda w: float(scores(w, values, count).mean(axis=0).max()))
    best = float(values[best_of(scores(width, values))])
    values = np.array(
        sorted({*values.tolist(), *grid[np.isclose(np.abs(np.log10(grid / best)), 0.5)].tolist()})
    )
    judged_along = scores(width, values)
    best = float(values[best_of(judged_along)])
    decisions = out_of_folds(known, [decided(width, k, best) for k in range(len(known.folds))])

    def kernel(k: int, narrower: float) -> tuple[Array, dict[str, Array]]:
        own, across = of_fold(width / narrower, k)
        return own, {TOGETHER: across}

    kept = replace(spec, parts=(replace(radial, width=width),))
    size = max(
        1.0 - float(between(width, np.arange(len(rows)), np.arange(len(rows))).mean()), 1e-12
    )
    kernels = replace(one.estimator.kernels, specs=(kept,))
    candidate = replace(one, estimator=machine(few.task, kernels, 2.0))
    return ScoredCandidate(
        candidate, "C", values, judged_along, decisions, Member(kernel, ((kept, size, 1.0),), 1.0)
    )


def one_machine(
    known: AnswerRows,
    label: str,
    compared: Sequence[ScoredCandidate],
    request: Request,
    tick: Callable[[], None] = lambda: None,
) -> ScoredCandidate:
    """One machine on the weighted sum of the kernels of all members, and its C by the same folds."""
    values = GRID if request.C is None else np.array([float(request.C)])
    w = member_weights([one.decisions for one in compared if one.decisions is not None], known.Y)
    found = [
        (one.member, share)
        for one, share in zip(compared, w, strict=True)
        if one.member and share > 0.0
    ]
    members = [(member, share / max(member.variance, 1e-12)) for member, share in found]

    def kernel(k: int, narrower: float) -> tuple[Array, dict[str, Array]]:
        total = np.zeros(())
        across = dict[str, Array]()
        for member, share in members:
            own, others = member.kernel(k, narrower)
            total = total + share * own
            for name, part in others.items():
                across[name] = across.get(name, 0.0) + share * part
        return total, across

    shares = dict[KernelSpec, float]()
    sizes = dict[KernelSpec, float]()
    for member, share in members:
        for spec, size, own in member.parts:
            shares[spec] = shares.get(spec, 0.0) + share * own
            sizes[spec] = size
    least = LEAST_SHARE * max(shares.values())
    kept = {spec: share / sizes[spec] for spec, share in shares.items() if share > least}
    blend = Blend(
        parts=tuple(kept),
        shares=tuple(kept.values()),
        label=label,
    )
    member = Member(kernel, ((blend, 1.0, 1.0),), 1.0)
    return on_folds(known, blend, member, values, request, tick)


def on_folds(
    known: AnswerRows,
    blend: Blend,
    member: Member,
    values: Array,
    request: Request,
    tick: Callable[[], None],
    narrower: float = 1.0,
    C: float | None = None,
) -> ScoredCandidate:
    """A machine on one sum of kernels along C by folds; at the best C, or at the one that is given."""
    scores = []
    alongs = []
    groups = []
    for k, (train, left_out) in enumerate(known.folds):
        tick()
        K, across = member.kernel(k, narrower)
        every = sum(across.values())
        duals = [ridge(K, known.Y[train], cost) for cost in values]
        along = [every @ a + b for a, b in duals]
        scores.append(fold_scores(known, along, left_out, request.scoring))
        alongs.append(along)
        groups.append([{name: part @ a for name, part in across.items()} for a, _ in duals])
    best = best_of(np.array(scores)) if C is None else int(np.argmin(np.abs(values - C)))
    said = {
        name: out_of_folds(known, [parts[best][name] for parts in groups]) for name in groups[0][0]
    }
    decisions = out_of_folds(known, [along[best] for along in alongs])
    kernels = KernelDictionary((blend,), feature_names=known.learn.feature_names or None)
    # its variance is about one already
    estimator = machine(known.few.task, kernels, 2.0).copy_with("normalise", None)
    candidate = Candidate(blend.name(), estimator, "whole")
    return ScoredCandidate(
        candidate,
        "C",
        values,
        np.array(scores),
        decisions,
        member,
        covered(said),
        best,
    )


def second_look(
    known: AnswerRows,
    one: ScoredCandidate,
    request: Request,
    tick: Callable[[], None] = lambda: None,
) -> ScoredCandidate:
    """The one machine with narrower kernels of all columns and a larger C, where more rows than the
    folds have say so.

    On at most ``SECOND`` rows, of which a third judges: widths are halved, and C may be ten times
    as large, as long as the squared error falls and the score does not.
    """
    rows = request.some(known.learn, SECOND)
    if request.C is not None or rows.n_samples <= known.few.n_samples:
        return one
    train, left_out = folds_of(rows, request, 3)[0]
    bound: Any = beside(one.candidate.estimator.kernels, rows).specs[0]
    standard = standardise_rows(rows.table, *column_statistics(rows.table[train]))
    fixed, whole = bound.parted()
    known_part = np.zeros((len(standard), len(train)))
    if fixed is not None:
        known_part = fixed.settle(standard[train]).values(standard, standard[train])
    Y = targets(rows.y, known.classes)
    C = float(one.values[one.best])
    best = (1.0, C)
    found = (-np.inf, np.inf)
    first = standard[train[: known.few.n_samples]]
    for narrower in NARROWER if whole is not None else (1.0,):
        K = known_part
        before = best
        if whole is not None:
            K = K + whole.narrowed(narrower, first).settle(standard[train]).values(
                standard, standard[train]
            )
        for cost in GRID[(GRID > 0.99 * C) & (GRID < 10.1 * C)].tolist():
            tick()
            decided = kernel_at(K[train], K[left_out], Y[train], cost)
            score = float(
                fold_scores(replace(known, few=rows), [decided], left_out, request.scoring)[0]
            )
            error = float(np.mean((decided - Y[left_out]) ** 2))
            if score >= found[0] and error < found[1]:
                found = (score, error)
                best = (narrower, cost)
        if best == before and narrower > 1.0:
            break
    if best == (1.0, C) or one.member is None:
        return one
    few = standardised(known.few.table)
    blend: Any = one.candidate.estimator.kernels.specs[0]
    return on_folds(
        known,
        blend.narrowed(best[0], few),
        one.member,
        one.values,
        request,
        tick,
        *best,
    )


def covered(parts: dict[str, Array]) -> dict[str, float]:
    """The share of every part (n, T) in the variance of their sum: cov(part, sum) / var(sum); they
    add up to 1.
    """
    kept = {name: part[np.isfinite(part).all(axis=1)] for name, part in parts.items()}
    total = np.sum([*kept.values()], axis=0)
    total -= total.mean(axis=0)
    whole = float(np.sum(total * total)) or 1.0
    return {name: float(np.sum(part * total)) / whole for name, part in kept.items()}


def member_weights(decisions: Sequence[Array], Y: Array) -> Array:
    """The weight (q,) of every member by its decisions (n, T) out of folds; they sum to 1.

    min_{w >= 0} ||Y - ybar - sum_m w_m F_m||^2 + r ||w - 1/q||^2 with F_m less ybar, r worth
    ``PULL`` rows.
    """
    judged_rows = np.isfinite(np.hstack(decisions)).all(axis=1)
    target = Y[judged_rows]
    centre = target.mean(axis=0)
    A = np.array([(one[judged_rows] - centre).ravel() for one in decisions])
    q = len(A)
    G = A @ A.T
    pull = PULL / len(target) * np.trace(G) / q
    root = np.linalg.cholesky(G + (pull + 1e-9 * max(float(np.trace(G)), 1e-300)) * np.eye(q))
    w, _ = nnls(root.T, np.linalg.solve(root, A @ (target - centre).ravel() + pull / q))
    total = float(w.sum())
    return w / total if total > LEAST_WEIGHT else np.full(q, 1.0 / q)


def _estimator_folds(
    known: AnswerRows,
    one: Candidate,
    request: Request,
    param: str,
    values: Array,
    tick: Callable[[], None],
) -> Fold:
    """Any estimator of the catalog along a parameter."""
    few = known.few
    estimator = one.estimator
    rows = few.table if request.stack is None else request.given(few)
    if few.strings:
        estimator = estimator.copy_with("kernels", beside(estimator.kernels, few))
    if getattr(estimator, "tol", ROUGHLY) < ROUGHLY:
        estimator = estimator.copy_with("tol", ROUGHLY)
    if one.way == "best_k":  # what a search proves is no matter of folds
        estimator = estimator.copy_with("max_relaxations", 1)

    def fold(k: int) -> tuple[Array, Callable[[int], Array]]:
        train, left_out = known.folds[k]
        learn, judge = cut(rows, train, left_out, few.n_samples)
        more = judge, few.y[left_out], lambda *_: tick()
        with suppress_convergence_warnings(), without_relaxations():
            found = fit_path(
                estimator, learn, few.y[train], param, values, *more, scoring=request.scoring
            )
        return found.val_score, lambda place: predictions(found.estimators[place], judge).decision

    return fold


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
    np.maximum.at(newest, codes, np.arange(n_rows) * (1.0 if hold_out == "last" else -1.0))
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
    scores = judged(
        [stand_in] * len(along), [shown(one) for one in along], known.few.y[rows], scoring
    )
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
    return float(values.std(ddof=1) / np.sqrt(values.size)) if values.size > 1 else 0.0


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
    raw = np.maximum(norms, _LEAST * max(float(norms.max()), 1e-100)) ** (2.0 / (p + 1.0))
    theta: Array = raw / float(np.sum(raw**p)) ** (1.0 / p)
    return theta


def kernel_at(K: Array, across: Array, Y: Array, C: float) -> Array:
    """Decisions (m, T) by one kernel: ``K`` (n, n) of the training rows, ``across`` (m, n) of new
    rows with these.
    """
    a, b = ridge(K, Y, C)
    return across @ a + b


def ridge(K: Array, Y: Array, C: float) -> tuple[Array, Array]:
    """Duals (n, T) and intercepts (T,) of kernel ridge regression with a free intercept."""
    check_cancelled()
    centre = Y.mean(axis=0)  # far from zero a number has few digits left
    right = np.column_stack([Y - centre, np.ones(len(Y))])
    system = K.copy()
    system.flat[:: len(K) + 1] += 1.0 / C
    duals = cho_solve(
        cho_factor(system, overwrite_a=True, check_finite=False), right, check_finite=False
    )
    intercept = duals[:, :-1].sum(axis=0) / duals[:, -1].sum()
    return duals[:, :-1] - np.outer(duals[:, -1], intercept), intercept + centre


def scaled(K: Array, across: Array) -> tuple[Array, Array]:
    """A kernel with k(x, x) = 1 at variance one in its feature space, as
    ``normalise="multiplicative"`` has it.
    """
    size = max(1.0 - float(K.mean()), 1e-12)
    return K / size, across / size
