"""What a dual point proves: the value it gives to the whole problem, and the multiple of it that gives the best one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mklcore.arrays import Array
from mklcore.losses import Cost, Loss
from mklcore.penalties import Penalty


class Bound(NamedTuple):
    """``value``, a lower bound on the optimum, is that of the feasible ``point`` (n,), a multiple of the dual asked
    about;
    ``price`` is what that point pays: R of the stopping rule."""

    value: float
    point: Array
    price: float


def dual_bound(loss: Loss, penalty: Penalty, a: Array, Q: Array, y: Array, C: Cost) -> Bound:
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
    return Bound(better, scaled, cheaper) if better > own else Bound(own, a, price)


def _searched(loss: Loss, penalty: Penalty, a: Array, Q: Array, y: Array, C: Cost) -> float:
    """The best multiple where the price is convex but not homogeneous: a search on the part of the ray in the box."""
    from scipy.optimize import minimize_scalar

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
