"""One machine on the kernels of all candidates, its members.

With F_m the out-of-fold predictions of member m, centred, and G their Gram matrix, each member gets
a weight

    w = argmin_{w >= 0}  ||Y - ybar - sum_m w_m F_m||^2 + r ||w - 1/q||^2,    r = (20 / n) tr(G) / q,

and the machine has the kernel K = sum_m w_m K_m / v_m, v_m the variance of K_m in its feature
space, and its own C by the same folds.

Source: Breiman (1996), Stacked regressions, for the weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.optimize import nnls

from mklcore.answer.candidates import (
    EXACT,
    Candidate,
    DividedRows,
    Member,
    ScoredCandidate,
    best_of,
    folds_of,
    kernel_along,
    machine,
    ridge_along,
    targets,
)
from mklcore.arrays import Array
from mklcore.kernels.blends import Blend, Ranked
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.functions import KernelSpec
from mklcore.kernels.kernel_map import column_statistics, standardise_rows

ONE = "one machine on all kernels"
PULL = 20  # rows that the pull of the members' weights to equal ones counts as
# sum of the weights below which the members say nothing, so that they stay equal
LEAST_WEIGHT = 0.1
LEFT_OUT = 0.02  # of all shares: the smallest kernels that together have at most that are left out
# rows of a second look, and how much narrower kernels of all columns are
SECOND = 3000
NARROWER = (1.0, 2.0, 4.0, 8.0)


def one_machine(
    divided: DividedRows,
    compared: Sequence[ScoredCandidate],
    narrower: float = 1.0,
    C: float | None = None,
) -> ScoredCandidate:
    """The machine on the weighted sum of the kernels of all members along C by folds; at the best
    C, or at the one that is given.
    """
    values = divided.request.costs()
    members = weighted_members(divided, compared)
    folds = []
    scores = []
    for k, (train, left_out) in enumerate(divided.folds):
        K, across = fold_kernel(members, k, narrower)
        duals = list(ridge_along(K, divided.Y[train], values))
        every = sum(across.values())
        along = [every @ a + b for a, b in duals]
        scores.append(divided.scores(along, divided.sample.y[left_out]))
        folds.append((across, duals, along))
    best = best_of(np.array(scores)) if C is None else int(np.argmin(np.abs(values - C)))
    parts = {}
    for name in folds[0][0]:
        said = [across[name] @ duals[best][0] for across, duals, _ in folds]
        parts[name] = divided.out_of_folds(said)
    blend = blended(kernels_of_members(members, narrower))
    kernels = KernelDictionary((blend,), feature_names=divided.learn.feature_names or None)
    # its variance is about one already
    estimator = machine(divided.learn.task, kernels, 2.0).copy_with("normalise", None)
    return ScoredCandidate(
        Candidate(ONE, estimator, values, "whole"),
        np.array(scores),
        divided.out_of_folds([along[best] for *_, along in folds]),
        variance_shares=variance_shares(parts),
        chosen=best,
    )


def second_look(
    divided: DividedRows, compared: Sequence[ScoredCandidate], taken: ScoredCandidate
) -> ScoredCandidate:
    """The candidate that is ``taken``, or if that is the one machine on the kernels of those
    ``compared``, the machine with narrower kernels of all columns and a larger C, where more rows
    than the folds have say so.

    On at most ``SECOND`` rows, of which a third judges: C may be ten times as large, and widths are
    halved, as long as the squared error falls and the score does not.
    """
    learn = divided.learn
    request = divided.request
    rows = request.some(learn, SECOND)
    if taken.candidate.label != ONE or request.C is not None:
        return taken
    if rows.n_samples <= divided.sample.n_samples:
        return taken
    train, left_out = folds_of(rows, request, 3)[0]
    standard = standardise_rows(rows.table, *column_statistics(rows.table[train]))
    Y = targets(rows.y, divided.classes)

    def gram(parts: dict[KernelSpec, float]) -> Array:
        if not parts:
            return np.zeros((len(standard), len(train)))
        (bound,) = KernelDictionary((blended(parts),)).on(rows).specs
        return bound.settle(standard[train]).values(standard, standard[train])

    members = weighted_members(divided, compared)
    parts = kernels_of_members(members, 1.0)
    fixed = gram({spec: parts[spec] for spec in parts if not isinstance(spec, Ranked)})
    larger = taken.candidate.values[taken.best : taken.best + 3]
    first = (1.0, taken.best_value)
    best = first
    best_score = -np.inf
    best_error = np.inf
    # the landmarks of more rows are too few to follow narrower kernels
    for narrower in NARROWER if learn.n_samples <= EXACT else NARROWER[:1]:
        before = best
        parts = kernels_of_members(members, narrower)
        K = fixed + gram({spec: parts[spec] for spec in parts if isinstance(spec, Ranked)})
        K = K.astype(np.float32)
        along = kernel_along(K[train], K[left_out], Y[train], larger)
        scores = divided.scores(along, rows.y[left_out])
        for C, score, decided in zip(larger.tolist(), scores.tolist(), along, strict=True):
            error = float(np.mean((decided - Y[left_out]) ** 2))
            if score >= best_score and error < best_error:
                best = (narrower, C)
                best_score = score
                best_error = error
        if best == before and narrower > 1.0:
            break
    return taken if best == first else one_machine(divided, compared, *best)


def weighted_members(
    divided: DividedRows, compared: Sequence[ScoredCandidate]
) -> list[tuple[Member, float]]:
    """The members that have a weight, with it."""
    decisions = [one.decisions for one in compared if one.decisions is not None]
    weights = member_weights(decisions, divided.Y[divided.left_out])
    pairs = zip(compared, weights.tolist(), strict=True)
    return [(one.member, weight) for one, weight in pairs if one.member and weight > 0.0]


def fold_kernel(
    members: Sequence[tuple[Member, float]], k: int, narrower: float
) -> tuple[Array, dict[str, Array]]:
    """The weighted sum of the kernels of the members on fold k, see `Member`."""
    total = np.zeros(())
    across = dict[str, Array]()
    for member, weight in members:
        own, groups = member.on_fold(k, narrower)
        total = total + weight * own
        for name, part in groups.items():
            across[name] = across.get(name, 0.0) + weight * part
    return total, across


def kernels_of_members(
    members: Sequence[tuple[Member, float]], narrower: float
) -> dict[KernelSpec, float]:
    """The factor of every kernel in the sum of the members; the smallest are left out."""
    shares = dict[KernelSpec, float]()
    variances = dict[KernelSpec, float]()
    for member, weight in members:
        for spec, variance, share in member.parts(narrower):
            shares[spec] = shares.get(spec, 0.0) + weight * share
            variances[spec] = variance
    total = sum(shares.values())
    left_out = 0.0
    parts = {}
    for spec, share in sorted(shares.items(), key=lambda item: item[1]):
        left_out += share
        if left_out > LEFT_OUT * total:
            parts[spec] = share / variances[spec]
    return parts


def blended(parts: dict[KernelSpec, float]) -> Blend:
    """The sum of kernels with these factors as one kernel."""
    return Blend(parts=tuple(parts), shares=tuple(parts.values()), label=ONE)


def variance_shares(parts: Mapping[str, Array]) -> dict[str, float]:
    """The share of every part (n, T) in the variance of their sum: cov(part, sum) / var(sum); they
    add up to 1.
    """
    total = np.sum([*parts.values()], axis=0)
    total -= total.mean(axis=0)
    whole = float(np.sum(total * total)) or 1.0
    return {name: float(np.sum(part * total)) / whole for name, part in parts.items()}


def member_weights(decisions: Sequence[Array], Y: Array) -> Array:
    """The weight (q,) of every member by its decisions (n, T) out of folds; they sum to 1.

    min_{w >= 0} ||Y - ybar - sum_m w_m F_m||^2 + r ||w - 1/q||^2 with F_m less ybar, r worth
    ``PULL`` rows.
    """
    centre = Y.mean(axis=0)
    A = np.array([(one - centre).ravel() for one in decisions])
    q = len(A)
    G = A @ A.T
    size = max(float(np.trace(G)), 1e-300)
    pull = PULL / len(Y) * size / q
    root = np.linalg.cholesky(G + (pull + 1e-9 * size) * np.eye(q))
    reached = A @ (Y - centre).ravel() + pull / q
    w, _ = nnls(root.T, np.linalg.solve(root, reached))
    total = float(w.sum())
    return w / total if total > LEAST_WEIGHT else np.full(q, 1.0 / q)
