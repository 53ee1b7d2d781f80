"""What an answer's own parts give: its objective and its dual value from scratch, and what is refused when they differ.

Four invariants hold for every fit; the driver checks them before anything is published:

    objective            the published coefficients give the published objective
    dual value           the published dual point gives the published dual value
    dual below primal    the dual value does not exceed the objective
    history              the published point is no worse than the best one seen, but for tol R

A violation is a ``ProofError``, unless round-off explains it: then the kernels are too badly scaled for float64, and a
``KernelError`` names the scales.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mklcore.arrays import Array, Indices
from mklcore.errors import KernelError, ProofError
from mklcore.kernels.operators import KernelOperator, is_stored
from mklcore.problem.losses import Cost, Loss, make_loss, total_loss
from mklcore.problem.penalties import Penalty

EXACT = 1e-6  # share of the objective up to which two computations of one number agree
_SHARP = 1e-7  # the same where round-off is the reason: another machine may be ten times less lucky
_TOO_MUCH = 3e-4  # share of the objective that round-off may cost at the very worst, which is hardly ever met
_FAR, _STRAINED = 1e-2, 1e-5  # shares of the objective: a gap that is no answer, round-off that explains one
ROUNDING = 8.0 * np.finfo(float).eps


class LowerBound(NamedTuple):
    """``value``, a lower bound on the optimum, is that of the feasible ``point`` (n,), a multiple of the dual asked
    about;
    ``price`` is what that point pays: R of the stopping rule."""

    value: float
    point: Array
    price: float


def dual_bound(loss: Loss, penalty: Penalty, a: Array, Q: Array, y: Array, C: Cost) -> LowerBound:
    """max_s  Lin(s a) - price(s^2 Q)  over multiples in the box; the dual value of the problem at its maximum.

    ``a`` (n,) a dual in the box, ``Q`` (M,) its forms a'K_m a, ``y`` (n,), ``C`` the cost of one unit of loss. A
    penalty that is not homogeneous gets a bound, too, if not by a closed form: the price is then asked at the multiple
    itself. Source: Kloft et al. (2011), equation (17); specification of the lp-norm solver, section 1.
    """
    price = penalty.dual_price(Q)
    s = loss.best_multiple(a, y, C, price) if penalty.homogeneous else _searched(loss, penalty, a, Q, y, C)
    own, scaled = loss.dual(a, y, C) - price, s * a
    cheaper = s * s * price if penalty.homogeneous else penalty.dual_price(s * s * Q)
    better = loss.dual(scaled, y, C) - cheaper
    return LowerBound(better, scaled, cheaper) if better > own else LowerBound(own, a, price)


def _searched(loss: Loss, penalty: Penalty, a: Array, Q: Array, y: Array, C: Cost) -> float:
    """The best multiple where the price is convex but not homogeneous: a search on the part of the ray in the box."""
    from scipy.optimize import minimize_scalar  # not at start-up

    low, high = loss.box(y, C)
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(a > 0, high / a, np.where(a < 0, low / a, np.inf))
    most = float(min(room.min(initial=np.inf), 1e3))
    if loss.total != 0.0:  # 1'a is fixed: no multiple is free
        return 1.0
    found = minimize_scalar(
        lambda s: penalty.dual_price(s * s * Q) - loss.dual(s * a, y, C), bounds=(0.0, most), method="bounded"
    )
    return float(found.x)


class Certificate(NamedTuple):
    """Objective and dual value (None without one) from scratch; ``rounding``, what round-off can move them by at most;
    ``floor``, what it moves them by even where the fit is perfect; ``scales``, a text about what the numbers are made
    of;
    ``decision`` (n,), f on the training rows without intercept."""

    objective: float
    dual_objective: float | None = None
    rounding: float = 0.0
    scales: str = ""
    floor: float = 0.0
    decision: Array | None = None


def weighted_certificate(
    K: KernelOperator,
    y: Array,
    C: Cost,
    loss: Loss,
    penalty: Penalty,
    weights: Array,
    dual: Array,
    intercept: float,
    dual_point: Array | None,
    kernels: Indices | None = None,
) -> Certificate:
    """The values of a weighting of kernels ``K`` from its coefficients; of some of the ``kernels`` where the others
    have no weight and do not change the price."""
    diagonals = K.diagonals()
    if kernels is None:
        f, used = K.decision(weights, dual), np.flatnonzero(weights)
        Q = np.zeros(weights.size)
        Q[used] = K.quad(dual, used) if used.size < Q.size and is_stored(K) else K.quad(dual)[used]
    else:
        G, weights, diagonals = K.matvec(dual, kernels), weights[kernels], diagonals[kernels]
        f, Q = weights @ G, np.maximum(G @ dual, 0.0)
    roots = np.sqrt(np.maximum(diagonals, 0.0))
    sizes = roots @ np.abs(dual)
    proofs = roots @ (np.zeros(y.size) if dual_point is None else np.abs(dual_point))
    noise = ROUNDING * ((weights * sizes) @ roots)
    slack = _moved(loss, f + intercept, y, C, noise)
    floor = _moved(loss, y, y, C, np.full(y.size, ROUNDING * max(1.0, float(np.abs(y).max()))))
    price = penalty.regulariser(weights * np.sqrt(Q))
    slack += abs(penalty.regulariser(weights * np.sqrt(Q + ROUNDING * sizes**2)) - price)
    objective, scales = total_loss(loss, f, intercept, y, C) + price, scales_of(diagonals, C)
    slack += ROUNDING * float(np.max(C)) * float(np.max(diagonals.mean(axis=1))) * abs(objective)
    if dual_point is None:
        return Certificate(objective, None, slack, scales, floor, f)
    forms = K.quad(dual_point) if kernels is None else K.quad(dual_point, kernels)
    price = penalty.dual_price(forms)
    slack += penalty.dual_price(forms + ROUNDING * proofs**2) - price
    return Certificate(objective, loss.dual(dual_point, y, C) - price, slack, scales, floor, f)


def _moved(loss: Loss, t: Array, y: Array, C: Cost, noise: Array) -> float:
    """What ``noise`` (n,) in the decision values can change the loss by."""
    here, up, down = loss.value(t, y), loss.value(t + noise, y), loss.value(t - noise, y)
    return float(np.sum(C * (np.abs(up - here) + np.abs(down - here))))


def scales_of(diagonals: Array, C: Cost) -> str:
    """The smallest and the largest mean of the kernels' ``diagonals`` (M, n), and C, as text that says what to do."""
    means, C = diagonals.mean(axis=1), float(np.max(C))
    low, high = int(np.argmin(means)), int(np.argmax(means))
    if means[high] > 2.0 * means[low]:
        unequal = f"kernel {low} has a mean diagonal of {means[low]:.3g}, kernel {high} one of {means[high]:.3g}"
        alike = "Scale the kernels alike (normalise them, as a KernelDictionary does), remove near-copies"
        return f"{unequal}, C is {C:.3g}. {alike}, or take a smaller C"
    near = f"the kernels have mean diagonals near {means[high]:.3g}, and C is {C:.3g}"
    return f"{near}. Take a smaller C, or remove copies of rows and near-copies of kernels"


def refusal(scales: str) -> KernelError:
    """What is said where float64 cannot carry a problem."""
    return KernelError(f"These kernels cannot be weighed in double precision: {scales}.")


def check(
    name: str, objective: float, dual_objective: float | None, lowest: float, allowed: float, values: Certificate | None
) -> None:
    """Raise unless the four invariants hold.

    ``objective`` and ``dual_objective`` are about to be published, ``lowest`` is the best objective seen, ``allowed``
    what the published one may exceed it by, ``values`` what the coefficients give (None where a method cannot say).
    """
    size, rounded = max(abs(objective), abs(dual_objective or 0.0)), 0.0
    if values is not None:
        if bool(values.scales) and values.rounding > _TOO_MUCH * size + values.floor:
            raise refusal(values.scales)
        rounded = values.floor
        _agree("objective", name, objective, values.objective, size, values)
        rounded += abs(values.objective - objective)
        if dual_objective is not None and np.isfinite(dual_objective):
            if values.dual_objective is None:
                raise ProofError(
                    f"Invariant 'dual value' is violated: {name} has a dual value and no point that proves it."
                )
            _agree("dual value", name, dual_objective, values.dual_objective, size, values)
            rounded += abs(values.dual_objective - dual_objective)
    if dual_objective is not None and dual_objective - objective > 1e-9 * size + rounded:
        if values is not None and dual_objective - objective <= values.rounding:
            raise refusal(values.scales)
        raise ProofError(
            f"Invariant 'dual below primal' is violated: {name} has dual value {dual_objective:.10g} above its "
            f"objective {objective:.10g}."
        )
    slack = 1e-9 * size if dual_objective is not None else EXACT * size
    if objective - lowest > allowed + slack + rounded:
        raise ProofError(
            f"Invariant 'history' is violated: {name} ends at {objective:.10g}, {objective - lowest:.3g} above the "
            f"best point it had seen, where {allowed:.3g} is allowed."
        )


def is_carried(objective: float, values: Certificate) -> bool:
    """Whether double precision carries a point: round-off cannot cost much, and its coefficients give its objective."""
    size = abs(objective)
    strained = bool(values.scales) and values.rounding > _TOO_MUCH * size + values.floor
    return not strained and abs(objective - values.objective) <= _SHARP * size + values.floor


def refuse_if_strained(gap: float, objective: float, values: Certificate) -> None:
    """A fit that stands still far from its bound is refused where round-off is the reason."""
    if gap > _FAR * abs(objective) and values.rounding > _STRAINED * abs(objective):
        raise refusal(values.scales)


def _agree(what: str, name: str, reported: float, found: float, size: float, values: Certificate) -> None:
    off = abs(reported - found)
    if off <= _SHARP * size + values.floor:
        return
    if values.scales and not off > values.rounding:
        raise refusal(values.scales)
    if not off <= EXACT * size:
        raise ProofError(
            f"Invariant '{what}' is violated: {name} tells {reported:.10g}, its own coefficients give {found:.10g}."
        )


def certificate(
    K: Array,
    y: Array,
    weights: Array,
    dual_coef: Array,
    intercept: float,
    loss: str | Loss,
    C: Cost,
    penalty: Penalty,
    dual_point: Array | None = None,
    fit_intercept: bool = True,
    sample_weight: Array | None = None,
) -> tuple[float, float]:
    """Primal and dual value of any point, not only of ours: the optimum is between them.

    primal = C sum_i V(f_i + b, y_i) + min_theta 1/2 sum_m ||w_m||^2 / theta_m,   w_m = weights_m sum_i a_i psi_m(x_i)
    dual   = Lin(a') - max_theta 1/2 theta'Q',   Q'_m = a''K_m a';   minus infinity when a' is not feasible

    ``K`` (M, n, n), ``y`` (n,) (labels -1 / +1), ``weights`` (M,) non-negative, ``dual_coef`` a (n,) signed,
    ``intercept`` b.
    ``dual_point`` a' (n,) signed is asked for the dual value; without one, ``dual_coef`` is. ``fit_intercept`` says
    whether b was free, so that 1'a' = 0 is demanded (1'a' = 1 in the nu form, whose ``loss`` is handed over as an
    object and whose ``C`` is 1 / (nu n)); the one-class form without nu never demands it. ``sample_weight``
    (n,) makes the cost of row i C w_i; rows of weight 0 have no dual. A fit of this library comes out as
    ``(objective_, dual_objective_)``.

    Parameters
    ----------
    K : ndarray of shape (M, n, n) or GramStack
        Gram matrices of the M kernels on the same n rows.
    y : array-like of shape (n,)
        Target: numbers for a regression, labels of any kind for classes.
    weights : ndarray of shape (M,)
        Kernel weights, non-negative.
    dual_coef : ndarray of shape (n,)
        Signed dual coefficients of the training rows.
    intercept : float
        Offset b of the model.
    loss : str or Loss
        How a wrong prediction is penalised: the name of a loss in ``LOSSES``, or an object of your own.
    C : object
        Weight of the loss against the regulariser, > 0: larger values fit the training rows more closely.
    penalty : str, Penalty or None
        Regulariser of the kernel weights: a name of ``PENALTIES`` or an object; None for the norm ``p``.
    dual_point : ndarray of shape (n,) or None, default None
        Feasible dual point that proves ``dual_objective``.
    fit_intercept : bool, default True
        Whether the model has a free offset b.
    sample_weight : ndarray of shape (n,) or None, default None
        Weights of the rows.

    Returns
    -------
    tuple of float
        Primal and dual value.

    References
    ----------
    Kloft, Brefeld, Sonnenburg, Zien (2011), equations (16), (17).
    """
    loss = make_loss(loss)
    K, y, a = np.asarray(K, dtype=float), np.asarray(y, dtype=float), np.asarray(dual_coef, dtype=float)
    weights, proof = np.asarray(weights, dtype=float), a if dual_point is None else np.asarray(dual_point, dtype=float)
    both = np.column_stack([a, proof])
    if fit_intercept and loss.takes_intercept and loss.of_residuals:
        y, intercept = y - intercept, 0.0  # the same problem, without the digits that a target far from zero takes
    cost: Cost = C if sample_weight is None else C * np.asarray(sample_weight, dtype=float)
    kept: Any = slice(None) if sample_weight is None else np.asarray(sample_weight) > 0
    if sample_weight is not None and np.any(proof[~kept] != 0.0):
        kept = slice(None)  # a dual outside its box: the value says so
    rows = cost if np.ndim(cost) == 0 else np.asarray(cost)[kept]
    G = np.stack([kernel @ both for kernel in K])
    Q, forms = np.maximum(np.einsum("mik,ik->km", G, both), 0.0)
    primal = total_loss(loss, weights @ G[:, :, 0], intercept, y, cost) + penalty.regulariser(weights * np.sqrt(Q))
    off = abs(float(proof.sum()) - loss.total)
    if fit_intercept and loss.takes_intercept and off > 1e-9 * max(float(np.abs(proof).sum()), 1e-300):
        return primal, -np.inf
    return primal, loss.dual(proof[kept], y[kept], rows) - penalty.dual_price(forms)
