"""Could it be chance? Permutation tests of a whole answer.

Does a prediction say more than guessing? Its decisions F (n, T) are compared with the targets Y (n,
T), one column per class, by

    S = max over values and ranks of  sum_t <Y_t, F_t> / (sum_st <Y_s, Y_t> <F_s, F_t>)^(1/2),   columns of mean 0

which is the correlation for numbers, the mean decision margin of the true class for classes, and on
ranks, which one outlier does not move, the rank correlation or the area under the ROC curve. The
p-value is the share of permutations of the rows of Y whose S is at least as large.

Where the rows chose nothing, F stays as it is. Where all rows were learned from, the predictions
out of folds have been chosen by their score, so that permuting them would find relations in noise.
There the targets are permuted first, and the plain machines below are fitted again, out of folds,
to every permutation; the best of them stands for each.

    kernel ridge regression on straight lines, on single columns and on all columns together, at some values of C
    all columns and their squares, weighted by a power of their correlation with the target: for few true columns

All of them are linear in the targets or nearly so: one factorisation serves every permutation.
Source: Phipson and Smyth (2010), Permutation p-values should never be zero; Golland et al. (2005),
Permutation tests for classification.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata
from sklearn.metrics import roc_auc_score

from mklcore.answer.candidates import DividedRows, Request, kernel_along, landmarks, targets
from mklcore.answer.verdict import BETTER, NONE, RELATED
from mklcore.arrays import Array, Indices, Labels
from mklcore.data.dataset import Dataset
from mklcore.data.splitting import RANDOM, codes_of, fold_rows
from mklcore.errors import check_cancelled
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.features import Nystroem
from mklcore.kernels.kernel_map import standardised
from mklcore.paths.scoring import Predictions, Scoring

LEVEL = 0.05
PERMUTATIONS = 999  # of rows that chose nothing
REFITS = 199  # permutations for which machines are fitted again
# of these refits
MOST_ROWS = 600
MOST_CLASSES = 10
FOLDS = 5
MOST_NUMBERS = 5e7  # of the Gram matrices of given kernels
COSTS = np.array([0.1, 1.0, 10.0, 100.0])  # values of C
WIDTHS = (0.25, 1.0, 4.0)  # of the kernel of all columns, times the median distance
POWERS = (3, 9)  # of the correlations by which columns are weighted
TIE = 1e-9  # statistics that differ by less are equal but for rounding


class Judgement(NamedTuple):
    """What predictions amount to beside guessing.

    ``relation`` : "better" where they are related to the target and score above guessing, "related"
    where they are related only, else "none"; ``p_value`` of no relation; ``measure`` : the name of
    ``association``, which is how well the rows are ordered ("rank correlation", "area under the ROC
    curve") or, where values say more, "correlation".
    """

    relation: str
    p_value: float
    measure: str
    association: float


def judge(
    y: Labels,
    said: Predictions,
    guessing: Predictions,
    scoring: Scoring,
    seed: int = 0,
    *,
    row_groups: Labels | None = None,
    p_value: float | None = None,
) -> Judgement:
    """Are these predictions better than guessing?

    Parameters
    ----------
    y : array (n,)
        The target of rows that neither fitted nor chose what is judged.
    said, guessing : Predictions
        What the model says of these rows, and what guessing says.
    scoring : str or callable
        The score that has to be above that of guessing.
    seed : int, default 0
        Seed of the permutations.
    row_groups : array (n,) or None, default None
        Groups of rows that belong together, which are permuted as a whole; exact where they are of
        one size.
    p_value : float or None, default None
        The p-value of no relation where it is known already, as `p_value_of_refits` finds it for
        rows that chose.

    Returns
    -------
    Judgement
        The relation, at a level of five per cent, with its p-value and its size.
    """
    classes = getattr(said.model, "classes_", None)
    Y = targets(y, classes)
    F = said.decision.reshape(len(y), -1).astype(float)
    if F.shape != Y.shape:  # votes between pairs of classes
        F = targets(said.answers, classes)
    if p_value is None:
        p_value = permutation_p(Y, F, seed, row_groups)
    measure, association = association_of(Y, F, classes is not None)
    related = p_value <= LEVEL and association > (0.5 if measure.startswith("area") else 0.0)
    ahead = said.score(y, scoring) > guessing.score(y, scoring)
    relation = (BETTER if ahead else RELATED) if related else NONE
    return Judgement(relation, p_value, measure, association)


def permutation_p(
    Y: Array,
    F: Array,
    seed: int,
    row_groups: Labels | None = None,
) -> float:
    """The p-value of "targets Y and decisions F (n, T) are not related", one-sided."""
    pairs = pairs_of(Y, F)

    def agreement(order: Indices) -> float:
        return max(float(np.vdot(own[order], other)) for own, other in pairs)

    observed = agreement(np.arange(len(Y)))
    drawn = [agreement(order) for order in permutations(len(Y), PERMUTATIONS, seed, row_groups)]
    return p_value_of(observed, np.array(drawn))


def p_value_of(observed: float, drawn: Array) -> float:
    """The share of permutations, the observed order among them, that are at least as large."""
    return float(1 + np.count_nonzero(drawn >= observed - TIE)) / (1 + len(drawn))


def permutations(
    n: int, count: int, seed: int, row_groups: Labels | None = None
) -> Iterator[Indices]:
    """Random orders of n rows; groups of rows are laid end to end, in random order, and stay whole."""
    random = np.random.default_rng(seed)
    if row_groups is None:
        for _ in range(count):
            yield random.permutation(n)
        return
    codes = codes_of(row_groups)
    places = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes))
    blocks = np.split(places, ends[:-1])
    for _ in range(count):
        drawn = [blocks[k] for k in random.permutation(len(blocks))]
        order = np.empty(n, dtype=places.dtype)
        order[places] = np.concatenate(drawn)
        yield order


class Centred(NamedTuple):
    """Values or ranks (n, ..., T) less their means over each part of the rows, and their products
    (..., T, T).
    """

    values: Array
    products: Array

    @classmethod
    def both(cls, values: Array, parts: Sequence[Indices]) -> list[Centred]:
        """The values themselves, and their ranks."""
        found = []
        for own in (values, rankdata(values, axis=0)):
            centred = np.array(own, dtype=float)
            for rows in parts:
                centred[rows] -= centred[rows].mean(axis=0)
            found.append(cls(centred, np.einsum("n...s,n...t->...st", centred, centred)))
        return found


def standard_pairs(
    wanted: Sequence[Centred], F: Array, parts: Sequence[Indices]
) -> list[tuple[Array, Array]]:
    """Values and ranks of targets, as ``wanted`` has them, and of decisions F (n, ..., T), scaled so
    that S is a sum of products; the sum is 0 where either does not vary.
    """
    found = []
    varies = np.ptp(F, axis=0).max(axis=-1) > 0.0
    for own, other in zip(wanted, Centred.both(F, parts), strict=True):
        products = own.products * other.products
        size = np.sqrt(np.maximum(products.sum(axis=(-2, -1)), 0.0))
        scale = np.where(varies & (size > 0.0), 1.0, 0.0)[..., None]
        scaled = scale * other.values / np.maximum(size, 1e-300)[..., None]
        found.append((own.values, scaled))
    return found


def pairs_of(Y: Array, F: Array) -> list[tuple[Array, Array]]:
    """Such pairs of targets and decisions (n, T) of rows that are one part."""
    whole = [np.arange(len(Y))]
    return standard_pairs(Centred.both(Y, whole), F, whole)


def association_of(Y: Array, F: Array, are_classes: bool) -> tuple[str, float]:
    """How decisions (n, T) go with targets (n, T), in the measure that a reader knows."""
    values, ranks = (float(np.vdot(own, other)) for own, other in pairs_of(Y, F))
    if ranks < 0.5 * values:
        return "correlation", values
    return (
        ("area under the ROC curve", area_under_curve(Y, F))
        if are_classes
        else ("rank correlation", ranks)
    )


def area_under_curve(Y: Array, F: Array) -> float:
    """How often a row of a class is ranked above another, (n, T) by class, as a mean over classes."""
    varies = np.ptp(Y, axis=0) > 0.0
    if not varies.any():
        return 0.5
    return float(roc_auc_score(Y[:, varies] > 0.0, F[:, varies]))


# Where every row was learned from


def p_value_of_refits(divided: DividedRows) -> float:
    """The p-value of "the target is not related to the columns", by machines that are fitted to
    permuted targets.

    Parameters
    ----------
    divided : DividedRows
        The rows, of which at most ``MOST_ROWS`` are drawn; kernels that are fixed take the place of
        those of the table.

    Returns
    -------
    float
        The p-value, of ``REFITS`` permutations.
    """
    request = divided.request
    given = request.kernels if request.stack is None else request.stack.names
    most = int(np.sqrt(MOST_NUMBERS / len(given or (1,))))
    rows = request.some(divided.sample, min(MOST_ROWS, most))
    n = rows.n_samples
    Y = targets(rows.y, divided.classes)
    if Y.shape[1] > MOST_CLASSES:
        largest = np.argsort(-Y.sum(axis=0), kind="stable")
        Y = Y[:, largest[:MOST_CLASSES]]
    orders = [np.arange(n), *permutations(n, REFITS, request.seed, rows.row_groups)]
    drawn = np.stack([Y[order] for order in orders], axis=1)  # (n, permutations, T)
    # The folds of candidates have equal shares of each class, which permuted targets would not
    # have.
    is_random = request.hold_out == RANDOM or n < divided.sample.n_samples
    folds = (
        fold_rows(None, n, min(FOLDS, n // 2), request.seed, rows.row_groups)
        if is_random
        else list(divided.folds)
    )
    held_out = [left_out for _, left_out in folds]
    judged = np.concatenate(held_out)
    parts = end_to_end(held_out)
    wanted = Centred.both(drawn[judged], parts)
    best = np.full(len(orders), -np.inf)
    for decided in machines(rows, request, drawn, folds):
        for own, other in standard_pairs(wanted, decided[judged], parts):
            best = np.maximum(best, np.einsum("nbt,nbt->b", own, other))
    return p_value_of(float(best[0]), best[1:])


def end_to_end(held_out: Sequence[Indices]) -> list[Indices]:
    """Where the rows of each fold are once the folds are laid end to end."""
    ends = np.cumsum([len(rows) for rows in held_out])
    return np.split(np.arange(ends[-1]), ends[:-1])


def machines(
    rows: Dataset, request: Request, drawn: Array, folds: Sequence[tuple[Indices, Indices]]
) -> Iterator[Array]:
    """What each plain machine says out of folds for every permutation, as ``drawn`` has the targets
    (n, B, T).
    """
    for K in plain_kernels(rows, request):
        decided = np.zeros((len(COSTS), *drawn.shape))
        for train, left_out in folds:
            check_cancelled()
            right = drawn[train].reshape(len(train), -1)
            blocks = K[np.ix_(train, train)], K[np.ix_(left_out, train)]
            along = kernel_along(*blocks, right, COSTS)
            decided[:, left_out] = np.reshape(along, (len(COSTS), -1, *drawn.shape[1:]))
        yield from decided
    if request.stack is not None or not rows.n_features:
        return
    X = standardised(rows.X)
    features = np.hstack([X, X * X - 1.0])
    features = standardised(features)
    for power in POWERS:
        decided = np.zeros(drawn.shape)
        for train, left_out in folds:
            right = drawn[train] - drawn[train].mean(axis=0)
            size = np.sqrt(np.mean(right * right, axis=0)) + 1e-300
            related = np.einsum("nd,nbt->dbt", features[train], right / size) / len(train)
            decided[left_out] = np.einsum("nd,dbt->nbt", features[left_out], related**power * size)
        yield decided


def plain_kernels(rows: Dataset, request: Request) -> Iterator[Array]:
    """Kernels (n, n) of the rows that look at no target, each of variance one in its feature space."""
    if not (request.stack is None and request.kernels is None):
        given = request.given(rows) if request.kernels is None else request.kernels.grams(rows)
        yield of_variance_one(np.mean(given.values, axis=0))
        return
    for curved in (False, True):
        kernels = KernelDictionary.recommended(rows, whole=False, curved=curved)
        approximation = Nystroem(landmarks(len(kernels), bool(rows.strings)), request.seed)
        features = approximation.features(kernels.on(rows), rows.table).table.astype(float)
        yield of_variance_one(features @ features.T)
    if rows.n_features:
        whole = KernelDictionary.laplacian_grid(WIDTHS).on(rows)
        yield from map(of_variance_one, whole.grams(rows, normalise=None).values)


def of_variance_one(K: Array) -> Array:
    """A kernel scaled to variance one in its feature space."""
    return K / max(float(np.mean(np.diag(K)) - K.mean()), 1e-12)
