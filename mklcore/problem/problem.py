"""One weighting problem, what a fit hands to the fit of a neighbouring one, and what its methods
share.

    min_{w, b, theta >= 0}  C sum_i V(t_i, y_i) + 1/2 sum_m ||w_m||^2 / theta_m    subject to  ||theta|| <= 1   (16)
    max_a                   Lin(a) - 1/2 ||(a'K_m a)_m||_*                                                          (17)

Source: Kloft, Brefeld, Sonnenburg, Zien (2011).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mklcore._lazy import cached_property
from mklcore.arrays import Array, Indices
from mklcore.kernels.operators import CachedOperator, Capability, cached, is_stored
from mklcore.problem.driver import ROUNDING, AnyIterate, Certificate, Iterate, Method, State, Trace
from mklcore.problem.losses import Cost, Loss, make_loss, total_loss
from mklcore.problem.penalties import Penalty
from mklcore.problem.solution import MachineTask


@dataclass(frozen=True, eq=False)
class Problem(MachineTask):
    """One binary or regression problem: a target and its loss, ``K``, M kernels on n rows as an
    operator or an array (M, n, n), and a penalty; screening of kernels at p = 1 or not.
    """

    K: CachedOperator
    penalty: Penalty
    screen: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "K", cached(self.K))

    @cached_property
    def order(self) -> float:
        """p of an lp norm, NaN of any other penalty: then no comparison holds."""
        return np.nan if self.penalty.order is None else self.penalty.order

    @property
    def on_features(self) -> bool:
        """Whether no kernel value is made."""
        return Capability.FEATURES in self.K.capabilities

    def regulariser(self, weights: Array, Q: Array) -> float:
        """min over theta of 1/2 sum_m ||w_m||^2 / theta_m for ||w_m||^2 = weights_m^2 Q_m."""
        return self.penalty.regulariser(weights * np.sqrt(Q))

    def bound(self, a: Array, Q: Array) -> LowerBound:
        """max_s  Lin(s a) - R*(s^2 Q)  over multiples in the box: the best dual value on the ray
        through ``a`` (n,).

        ``Q`` (M,) are the forms a'K_m a, and R* is the conjugate of the regulariser. A penalty that
        is not homogeneous gets a bound, too, but not by a closed form: the conjugate is then
        computed at the multiple itself. Source: Kloft et al. (2011), equation (17).
        """
        conjugate = self.penalty.conjugate(Q)
        if self.penalty.homogeneous:
            s = self.loss.best_multiple(a, self.y, self.C, conjugate)
            scaled_conjugate = s * s * conjugate
        else:
            s = self._searched(a, Q)
            scaled_conjugate = self.penalty.conjugate(s * s * Q)
        value = self.dual(a) - conjugate
        scaled = s * a
        scaled_value = self.dual(scaled) - scaled_conjugate
        if scaled_value > value:
            return LowerBound(scaled_value, scaled, scaled_conjugate)
        return LowerBound(value, a, conjugate)

    def _searched(self, a: Array, Q: Array) -> float:
        """The best multiple where the conjugate is not homogeneous: a search on the part of the ray
        that lies in the box.
        """
        from scipy.optimize import minimize_scalar  # not at start-up

        if self.loss.total != 0.0:  # 1'a is fixed: no multiple is free
            return 1.0
        low, high = self.box
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(a > 0, high / a, np.where(a < 0, low / a, np.inf))
        most = float(min(room.min(initial=np.inf), 1e3))
        found = minimize_scalar(
            lambda s: self.penalty.conjugate(s * s * Q) - self.dual(s * a),
            bounds=(0.0, most),
            method="bounded",
        )
        return float(found.x)

    def point(
        self, weights: Array, a: Array, f: Array, Q: Array, solves: int = 1, state: Any = None
    ) -> AnyIterate:
        """Kernel weights and a dual with decision values f (n,) and forms Q (M,), certified."""
        b, errors = self.loss_at(f)
        bound = self.bound(a, Q)
        objective = errors + self.regulariser(weights, Q)
        return Iterate(
            weights,
            a,
            b,
            objective,
            bound.value,
            bound.conjugate,
            solves,
            state=state,
            dual_point=bound.point,
        )


class Carried(NamedTuple):
    """What a fit hands to its neighbour on a path: its ``kernels``, which remember products and
    sums; at p = 1 those that are ``live`` and the same alone, and what is known of all at earlier
    duals.
    """

    kernels: CachedOperator | None = None
    live: Indices | None = None
    few: CachedOperator | None = None
    readings: Any = None


@dataclass(frozen=True, eq=False)
class WarmStart:
    """Weights (M,) and signed dual (n,) of a neighbouring problem, and the ``carry`` of its fit."""

    weights: Array
    dual: Array
    carry: Any = None

    @property
    def carried(self) -> Carried:
        """What the neighbour's fit handed on."""
        return self.carry if isinstance(self.carry, Carried) else Carried()


class Phase(NamedTuple):
    """One method of several in turn: what makes it (None: it has no way here), and when it is left
    for the next: where ``leave`` says so, or after ``most`` steps.
    """

    make: Callable[..., WeightedMethod[Any] | None]
    leave: Callable[[Problem, Trace], bool] | None = None
    most: float = np.inf


class WeightedMethod(Method[State]):
    """A method for a ``Problem``: what it publishes is certified by the kernels, however it was
    found.

    It may be one of several in turn: the next begins where it has ended or goes on slower.
    """

    phase: Phase | None = None  # which it is of several
    left: tuple[Phase, ...] = ()
    _steps = 0

    def __init__(self, problem: Problem, *, tol: float, warm: WarmStart | None = None) -> None:
        self.problem = problem
        self.tol = tol
        self.warm = warm
        self.prepare()

    def prepare(self) -> None:
        """Set what the method needs before its first iterate, its name among it."""

    def successor(self, trace: Trace, has_ended: bool) -> Any:
        """The next method in turn, from the best point."""
        self._steps += 1
        phase = self.phase
        if phase is None or not self.left or trace.best is None:
            return None
        is_left = phase.leave is not None and phase.leave(self.problem, trace)
        if not (is_left or has_ended or self._steps > phase.most):
            return None
        best = self.restate(trace.best, trace.dual_point)
        if best is not trace.best:
            trace.restate(best)
        warm = WarmStart(best.weights, best.dual, self.carry)
        return begun(self.problem, self.left, tol=self.tol, warm=warm)

    def certify(
        self, best: AnyIterate, dual_point: Array | None, kernels: Indices | None = None
    ) -> Certificate:
        """Objective and dual value of published parts: what the kernels remember of them is not
        computed again. Of some of the ``kernels`` where the others have no weight and do not change
        the conjugate.
        """
        task = self.problem
        K = task.K
        penalty = task.penalty
        weights = best.weights
        dual = best.dual
        diagonals = K.diagonals()
        if kernels is None:
            f = K.decision(weights, dual)
            used = np.flatnonzero(weights)
            Q = np.zeros(weights.size)
            is_part = used.size < Q.size and is_stored(K)
            Q[used] = K.quad(dual, used) if is_part else K.quad(dual)[used]
        else:
            G = K.matvec(dual, kernels)
            weights = weights[kernels]
            diagonals = diagonals[kernels]
            f = weights @ G
            Q = np.maximum(G @ dual, 0.0)
        roots = np.sqrt(np.maximum(diagonals, 0.0))
        sizes = roots @ np.abs(dual)
        noise = ROUNDING * ((weights * sizes) @ roots)
        slack = _moved(task, f + best.intercept, noise)
        largest = max(1.0, float(np.abs(task.y).max()))
        floor = _moved(task, task.y, ROUNDING * largest)
        regulariser = penalty.regulariser(weights * np.sqrt(Q))
        rounded = penalty.regulariser(weights * np.sqrt(Q + ROUNDING * sizes**2))
        slack += abs(rounded - regulariser)
        objective = task.errors(f, best.intercept) + regulariser
        mean_diagonal = float(np.max(diagonals.mean(axis=1)))
        slack += ROUNDING * float(np.max(task.C)) * mean_diagonal * abs(objective)
        if dual_point is None:
            return Certificate(objective, None, slack, floor, f)
        forms = K.quad(dual_point, kernels)
        conjugate = penalty.conjugate(forms)
        rounded = penalty.conjugate(forms + ROUNDING * (roots @ np.abs(dual_point)) ** 2)
        slack += rounded - conjugate
        return Certificate(objective, task.dual(dual_point) - conjugate, slack, floor, f)

    @property
    def scales(self) -> str:
        return scales_of(self.problem.K.diagonals(), self.problem.C)

    @property
    def carry(self) -> Carried:
        return Carried(self.problem.K)


def begun(
    problem: Problem, phases: tuple[Phase, ...], *, tol: float, warm: WarmStart | None = None
) -> Any:
    """The first of several methods that has a way here, which knows those that follow; None where
    none has.
    """
    for k, phase in enumerate(phases):
        method = phase.make(problem, tol=tol, warm=warm)
        if method is not None:
            method.phase = phase
            method.left = phases[k + 1 :]
            return method
    return None


# -- bounds and certificates


class LowerBound(NamedTuple):
    """``value``, a lower bound on the optimum, is that of the feasible ``point`` (n,), a multiple
    of the requested dual; ``conjugate``, that of the regulariser at this point, is R of the
    stopping rule.
    """

    value: float
    point: Array
    conjugate: float


def _moved(task: Problem, t: Array, noise: Array | float) -> float:
    """What ``noise`` (n,) in the decision values t (n,) can change the loss by."""
    here = task.loss.value(t, task.y)
    up = task.loss.value(t + noise, task.y)
    down = task.loss.value(t - noise, task.y)
    return float(np.sum(task.C * (np.abs(up - here) + np.abs(down - here))))


def scales_of(diagonals: Array, C: Cost) -> str:
    """The smallest and the largest mean of the kernels' ``diagonals`` (M, n), and C, as text that
    says what to do.
    """
    means = diagonals.mean(axis=1)
    C = float(np.max(C))
    low = int(np.argmin(means))
    high = int(np.argmax(means))
    if means[high] > 2.0 * means[low]:
        unequal = (
            f"kernel {low} has a mean diagonal of {means[low]:.3g}, kernel {high} one of "
            f"{means[high]:.3g}"
        )
        alike = (
            "Scale the kernels alike (normalise them, as a KernelDictionary does), remove "
            "near-copies"
        )
        return f"{unequal}, C is {C:.3g}. {alike}, or take a smaller C"
    near = f"the kernels have mean diagonals near {means[high]:.3g}, and C is {C:.3g}"
    return f"{near}. Take a smaller C, or remove copies of rows and near-copies of kernels"


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

    ``K`` (M, n, n), ``y`` (n,) (labels -1 / +1), ``weights`` (M,) non-negative, ``dual_coef`` a
    (n,) signed, ``intercept`` b.
    ``dual_point`` a' (n,) signed is asked for the dual value; without one, ``dual_coef`` is.
    ``fit_intercept`` says whether b was free, so that 1'a' = 0 is demanded (1'a' = 1 in the nu
    form, whose ``loss`` is handed over as an object and whose ``C`` is 1 / (nu n)); the one-class
    form without nu never demands it. ``sample_weight`` (n,) makes the cost of row i C w_i; rows of
    weight 0 have no dual. A fit of this library comes out as ``(objective_, dual_objective_)``.

    Parameters
    ----------
    K : ndarray of shape (M, n, n) or GramStack
        Gram matrices of the M kernels on the same n rows.
    y : array-like of shape (n,)
        Target: numbers for a regression, labels -1 / +1 for two classes.
    weights : ndarray of shape (M,)
        Kernel weights, non-negative.
    dual_coef : ndarray of shape (n,)
        Signed dual coefficients of the training rows.
    intercept : float
        Offset b of the model.
    loss : str or Loss
        How a wrong prediction is penalised: the name of a loss in ``LOSSES``, or an object of your
        own.
    C : float or ndarray of shape (n,)
        Weight of the loss against the regulariser, > 0, or one for every row: larger values fit the
        training rows more closely.
    penalty : str, Penalty or None
        Regulariser of the kernel weights: a name of ``PENALTIES`` or an object; None for the norm
        ``p``.
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
    K = np.asarray(K, dtype=float)
    y = np.asarray(y, dtype=float)
    a = np.asarray(dual_coef, dtype=float)
    weights = np.asarray(weights, dtype=float)
    proof = a if dual_point is None else np.asarray(dual_point, dtype=float)
    is_free = fit_intercept and loss.takes_intercept
    if is_free and loss.of_residuals:
        # the same problem, without the digits that a target far from zero takes
        y = y - intercept
        intercept = 0.0
    both = np.column_stack([a, proof])
    G = np.stack([kernel @ both for kernel in K])
    Q, forms = np.maximum(np.einsum("mik,ik->km", G, both), 0.0)
    f = weights @ G[:, :, 0]
    cost: Any = C
    if sample_weight is not None:
        counts = np.asarray(sample_weight, dtype=float)
        cost = C * counts
    primal = total_loss(loss, f, intercept, y, cost) + penalty.regulariser(weights * np.sqrt(Q))
    off = abs(float(proof.sum()) - loss.total)
    if is_free and off > 1e-9 * max(float(np.abs(proof).sum()), 1e-300):
        return primal, -np.inf
    if sample_weight is not None:
        # where a row of weight 0 has a dual, the loss says that it is outside its box
        kept = (counts > 0) | np.any(proof[counts <= 0] != 0.0)
        proof = proof[kept]
        y = y[kept]
        cost = cost[kept]
    return primal, loss.dual(proof, y, cost) - penalty.conjugate(forms)
