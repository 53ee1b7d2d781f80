"""The squared loss at p = 1 on copied columns: a group lasso, solved on the columns themselves.

With the weights w_m (d_m,) of the columns of group m, C the cost and both sides centred about the
weighted means where the intercept is free, the problem is

    min_w  C/2 ||y - sum_m Phi_m w_m||^2 + 1/2 (sum_m ||w_m||)^2,     theta_m = ||w_m|| / sum_k ||w_k||

Few of many groups have weight. They are sought among a working set, to which the groups of the
largest forms a'K_m a are added as long as one of them exceeds those in it: a form outside that is
no larger proves that its group has no weight. Within the set only S = Phi'Phi and c = Phi'y are
needed. Sweeps over the groups find out which have weight, each minimising over one group with the
trace of its part of S, which exceeds all its eigenvalues, in place of that part. Newton steps on
the groups with weight, where the objective is smooth, bring the digits.

Source: Massias, Gramfort, Salmon (2018), Celer: a fast solver for the lasso with dual
extrapolation, for the working set.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from mklcore._numba.decorators import jit_entry
from mklcore.arrays import Array, Indices
from mklcore.kernels.features import scatter_of, sum_by_kernel
from mklcore.problem.problem import Problem, WarmStart

FEW = 32  # groups of the first working set
WORKING_SETS = 50  # tried at most
SWEEPS = 10  # over the groups, between Newton steps
NEWTON = 30  # steps in a row
ROUNDS = 20  # of sweeps and Newton steps
SHARES = (1.0, 0.5, 0.1, 0.02)  # of a Newton step that are tried
DAMPING = 1e-11  # share of the mean diagonal that is added to the system of a Newton step
LEAST = 1e-12  # relative slope at which a working set counts as solved, whatever the tolerance


def is_group_lasso(task: Problem) -> bool:
    """Whether a problem on features is a group lasso: its features are copied columns."""
    source: Any = task.K.source
    return bool(source.transform.copies and task.loss.quadratic and task.order == 1)


def weights_of_groups(task: Problem, *, tol: float, warm: WarmStart | None = None) -> WarmStart:
    """The kernel weights (M,) and the dual (n,) of a group lasso, to begin with."""
    stack: Any = task.K.source
    y = task.y
    costs: Array = np.broadcast_to(np.asarray(task.C, dtype=np.float64), y.shape)
    C = float(costs.mean())
    row_weights = costs / C
    accuracy = max(0.1 * tol, LEAST)
    middle = float(row_weights @ y) / y.size if task.fit_intercept else 0.0
    dual = costs * (y - middle)
    forms = stack.quad(dual)
    theta = np.zeros(stack.n_kernels) if warm is None else warm.weights
    live = np.union1d(np.flatnonzero(theta), np.argsort(-forms, kind="stable")[:FEW])
    w = np.zeros(stack.table.shape[1])
    for _ in range(WORKING_SETS):
        few = stack.select(live)
        columns = stack.transform.columns(live)
        scatter = scatter_of(few, y, row_weights, task.fit_intercept)
        S = np.ascontiguousarray(scatter[:-1, :-1])
        found = solve_columns(S, scatter[:-1, -1].copy(), few.ends, C, w[columns], accuracy)
        w[columns] = found
        norms = norms_of(found, few.ends)
        theta = np.zeros(stack.n_kernels)
        theta[live] = norms / max(norms.sum(), 1e-300)
        residual = y - few.times(found)
        if task.fit_intercept:
            residual -= row_weights @ residual / y.size
        dual = costs * residual
        forms = stack.quad(dual)
        largest = (1.0 + accuracy) * forms[live].max()
        outside = np.setdiff1d(np.flatnonzero(forms > largest), live)
        if outside.size == 0:
            break
        nearest = outside[np.argsort(-forms[outside], kind="stable")]
        live = np.union1d(live[norms > 0.0], nearest[: 2 * live.size])
    return WarmStart(theta, dual)


@jit_entry(loops="")
def sweep(
    S: Array,
    slopes: Array,
    ends: Indices,
    curvatures: Array,
    C: float,
    w: Array,
    norms: Array,
    times: int,
) -> None:
    """Minimise over one group after the other, ``times`` times over all.

    ``w`` (D,), its ``slopes`` c - S w and the ``norms`` (M,) of its groups change in place. With L
    the group's curvature, v its best weights if that were all its part of S, and s the sum of the
    other groups' norms, the new weights are v (C L ||v|| - s)_+ / ((C L + 1) ||v||).
    """
    new = np.empty(w.size)
    total = 0.0
    for m in range(norms.size):
        total += norms[m]
    for _ in range(times):
        for m in range(norms.size):
            L = curvatures[m]
            if L <= 0.0:
                continue
            square = 0.0
            for k in range(ends[m], ends[m + 1]):
                new[k] = w[k] + slopes[k] / L
                square += new[k] * new[k]
            length = square**0.5
            others = max(total - norms[m], 0.0)
            size = max(C * L * length - others, 0.0) / (C * L + 1.0)
            factor = size / length if size > 0.0 else 0.0
            for k in range(ends[m], ends[m + 1]):
                change = factor * new[k] - w[k]
                if change != 0.0:
                    w[k] += change
                    for i in range(w.size):
                        slopes[i] -= S[k, i] * change
            norms[m] = size
            total = others + size


def solve_columns(S: Array, c: Array, ends: Indices, C: float, w: Array, tol: float) -> Array:
    """The weights w (D,) of all columns, from a start, for S (D, D) and c (D,).

    Solved once no slope is farther from its place than ``tol`` times the sum of the norms.
    """
    w = w.copy()
    curvatures = np.array(sum_by_kernel(np.diag(S), ends))
    for _ in range(ROUNDS):
        sweep(S, c - S @ w, ends, curvatures, C, w, norms_of(w, ends), SWEEPS)
        w = newton(S, c, ends, C, w)
        if violation(S, c, ends, C, w) <= tol:
            break
    return w


def norms_of(w: Array, ends: Indices) -> Array:
    """The norm (M,) of every group of w (D,)."""
    found: Array = np.sqrt(sum_by_kernel(w * w, ends))
    return found


def violation(S: Array, c: Array, ends: Indices, C: float, w: Array) -> float:
    """How far w (D,) is from optimal, relative to the sum s of the norms.

    At the optimum the slope g_m = C (c - S w)_m is s w_m / ||w_m|| for a group with weight, and
    at most s long for one without.
    """
    slopes = C * (c - S @ w)
    norms = norms_of(w, ends)
    total = norms.sum()
    sizes = np.diff(ends)
    used = np.repeat(norms > 0.0, sizes)
    spread = np.repeat(np.where(norms > 0.0, norms, 1.0), sizes)
    missing = norms_of(np.where(used, slopes - total * w / spread, slopes), ends)
    missing[norms == 0.0] -= total
    return float(missing.max() / max(total, 1e-300))


def objective_at(S: Array, c: Array, ends: Indices, C: float, w: Array) -> float:
    """C/2 (w'S w - 2 c'w) + 1/2 (sum_m ||w_m||)^2, which differs from the objective by a constant."""
    return float(C * (0.5 * (w @ (S @ w)) - c @ w) + 0.5 * norms_of(w, ends).sum() ** 2)


def newton(S: Array, c: Array, ends: Indices, C: float, w: Array) -> Array:
    """w (D,) after Newton steps on the groups that have weight, as long as they descend."""
    here = objective_at(S, c, ends, C, w)
    for _ in range(NEWTON):
        points = newton_points(S, c, ends, C, w)
        values = [objective_at(S, c, ends, C, there) for there in points]
        if not min(values, default=here) < here:
            break
        best = int(np.argmin(values))
        w = points[best]
        here = values[best]
    return w


def newton_points(S: Array, c: Array, ends: Indices, C: float, w: Array) -> list[Array]:
    """Points (D,) on the Newton step out of w: some shares of it, and where the first group
    reaches zero. A group that would leave zero on the other side stays there.
    """
    norms = norms_of(w, ends)
    sizes = np.diff(ends)
    live = np.flatnonzero(np.repeat(norms > 0.0, sizes))
    if live.size == 0:
        return []
    total = norms.sum()
    length = np.repeat(norms, sizes)[live]
    unit = w[live] / length
    owner = np.repeat(np.arange(norms.size), sizes)[live]
    # the second derivative of 1/2 (sum of norms)^2: uu' + s (I - u_m u_m') / ||w_m|| in each group
    both = np.outer(unit, unit)
    across = np.where(owner[:, None] == owner, np.eye(live.size) - both, 0.0)
    H = C * S[np.ix_(live, live)] + both + (total / length) * across
    # copies of a column make the system singular: any split between them is as good
    H.flat[:: live.size + 1] += DAMPING * np.trace(H) / live.size
    slope = C * (c - S @ w)[live] - total * unit
    try:
        way = scipy.linalg.cho_solve(scipy.linalg.cho_factor(H), slope)
    except np.linalg.LinAlgError:  # the sweeps go on alone
        return []
    step = np.zeros_like(w)
    step[live] = way
    forward = np.zeros(norms.size)
    np.add.at(forward, owner, unit * way)
    to_zero = np.full(norms.size, np.inf)
    back = forward < 0.0
    to_zero[back] = -norms[back] / forward[back]
    points = []
    for share in sorted({*SHARES, min(1.0, float(to_zero.min()))}):
        there = w + share * step
        there[np.repeat(to_zero <= share, sizes)] = 0.0
        points.append(there)
    return points
