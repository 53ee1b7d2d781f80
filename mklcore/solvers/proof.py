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

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from mklcore.arrays import Array, Indices
from mklcore.errors import KernelError, ProofError
from mklcore.kernels.operators import KernelOperator, is_stored
from mklcore.losses import Cost, Loss
from mklcore.losses.intercepts import total_loss
from mklcore.penalties import Penalty

_AT_ONCE = 2_000_000  # roots of diagonals that are made together
EXACT = 1e-6  # share of the objective up to which two computations of one number agree
_SHARP = 1e-7  # the same where round-off is the reason: another machine may be ten times less lucky
_TOO_MUCH = 3e-4  # share of the objective that round-off may cost at the very worst, which is hardly ever met
_FAR, _STRAINED = 1e-2, 1e-5  # shares of the objective: a gap that is no answer, round-off that explains one
ROUNDING = 8.0 * np.finfo(float).eps


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
        f, Q = K.decision(weights, dual), forms_with_weight(K, weights, dual)
    else:
        G, weights, diagonals = K.matvec(dual, kernels), weights[kernels], diagonals[kernels]
        f, Q = weights @ G, np.maximum(G @ dual, 0.0)
    sides = np.abs(dual), np.zeros(y.size) if dual_point is None else np.abs(dual_point)
    sizes, proofs, noise = np.empty(weights.size), np.empty(weights.size), np.zeros(y.size)
    for part, roots in _rooted(diagonals):
        sizes[part], proofs[part] = (roots @ side for side in sides)
        noise += ROUNDING * ((weights[part] * sizes[part]) @ roots)
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


def forms_with_weight(K: KernelOperator, weights: Array, a: Array) -> Array:
    """a'K_m a (M,) of the kernels with weight; zeros in place of the others where these would have to be read."""
    used = np.flatnonzero(weights)
    if used.size == weights.size or not is_stored(K):
        return K.quad(a)
    Q = np.zeros(weights.size)
    Q[used] = K.quad(a, used)
    return Q


def _rooted(diagonals: Array) -> Iterator[tuple[slice, Array]]:
    """The roots of the ``diagonals`` (M, n), some kernels at a time: there may be very many."""
    step = max(1, _AT_ONCE // diagonals.shape[1])
    for top in range(0, len(diagonals), step):
        part = slice(top, top + step)
        yield part, np.sqrt(np.maximum(diagonals[part], 0.0))


def _moved(loss: Loss, t: Array, y: Array, C: Cost, noise: Array) -> float:
    """What ``noise`` (n,) in the decision values can change the loss by."""
    here, up, down = (loss.value(t + shift, y) for shift in (0.0, noise, -noise))
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
        if is_strained(size, values):
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


def is_strained(size: float, values: Certificate) -> bool:
    """Whether round-off may cost too much of an objective of this ``size`` for it to be published."""
    return bool(values.scales) and values.rounding > _TOO_MUCH * size + values.floor


def is_carried(objective: float, values: Certificate) -> bool:
    """Whether double precision carries a point: round-off cannot cost much, and its coefficients give its objective."""
    size = abs(objective)
    return not is_strained(size, values) and abs(objective - values.objective) <= _SHARP * size + values.floor


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
