"""The damped Newton step for the kernel weights: few machine solves where the analytic update
crawls (p = 1 above all).

J(theta) = max_a Lin(a) - 1/2 theta'Q(a) is convex, its gradient is -Q/2, and with the free points F
of the machine (those off their bounds), B = K_theta[F, F] + diag(h) and U = ((K_m a)_F)_m, its
Hessian is

    H = U'X,   X = S_U - S_1 (S_1'U) / (1'S_1)  (the second term with an intercept),   S = B^{-1} [U, 1]

p = 1   the step solves a quadratic programme on the simplex, by the pairwise SMO of the support vector machine;
p > 1   the step solves the stationarity conditions in log theta, bordered by the norm.

Damping goes from Newton (0) to the analytic update (1, at H = 0). H is right only while the same
points stay free, so a step is taken only if J falls by more than the machine's own gap; else it is
shortened along its own curve, and after three refusals the analytic update, which never raises J,
is taken. The printed algorithm of the paper has no such step.

One set of kernel weights for several targets or classes: lp-norm MKL jointly over T machines.

    min_{theta >= 0, ||theta||_p <= 1}  sum_t min_{w_t, b_t}  C sum_i V(y_it, f_t(x_i) + b_t) + 1/2 sum_m ||w_mt||^2 /
    theta_m

    dual   sum_t Lin(a_t) - 1/2 || Q ||_{p*},    Q_m = sum_t a_t'K_m a_t,   1'a_t = 0,   p* = p / (p - 1)

The weights see the targets through Q alone, so that the update of the weights, Newton's step with
the sum of the second derivatives, the conjugate and the certificate are those of one target.

Source: Kloft et al. (2011), sections 2 and 4, equations (17) and (19), with a sum over targets in
place of one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import scipy

from mklcore.arrays import Array, Indices
from mklcore.kernels.operators import Capability
from mklcore.lp.reweighting import (
    NO_PRODUCTS,
    Reweighting,
    WeightIterate,
    WeightState,
    certifies,
    keeping_dual,
)
from mklcore.problem.driver import AnyIterate, Certificate, Fit, Iterate, Status, Trace, run
from mklcore.problem.losses import Loss
from mklcore.problem.machines import machine_of, solve_machine
from mklcore.problem.penalties import LpNorm
from mklcore.problem.problem import Problem, WarmStart
from mklcore.problem.smooth import solve_ridge, solve_ridges
from mklcore.problem.solution import MachineTask
from mklcore.problem.svm import newton_target

# What the damped Newton step is tuned by. A value changes how long a fit takes, not what its
# certificate proves.

TRIES = 3  # lengths of a step before the analytic update: a third rarely fails
MOST_DAMPING = 4.0  # at which a step is nearly the analytic update
MOST_P = 50.0  # beyond, theta is its update to rounding
# multiplications of a Hessian on features: beyond, the analytic update is faster
MOST_WORK = 6e9


class Newton(Reweighting):
    """Algorithm 1 with a damped Newton step for theta; only for the (unweighted) lp norm with
    finite p.
    """

    what = "damped Newton"

    def prepare(self) -> None:
        super().prepare()
        self.p = self.problem.order
        self.name = "lp damped Newton"

    def _lifted(self, weights: Array) -> Array:
        """At p = 1 a step leaves zero as it reaches it."""
        return self.problem.penalty.scale(weights) if self.p == 1 else super()._lifted(weights)

    def step(
        self, best: WeightIterate, last: WeightIterate, trace: Trace
    ) -> WeightIterate | Status:
        accuracy = last.state.accuracy
        damping = last.state.damping
        refused: list[WeightIterate] = []
        curve = self._curve(last, damping)
        length = 1.0
        for _ in range(TRIES if curve is not None else 0):
            assert curve is not None
            path, slope = curve
            point = self.solve(path(length), last.dual, accuracy)
            if self.gains(last, point) or certifies(point, trace):
                if length < 1.0:
                    damping = min(MOST_DAMPING, max(2.0 * damping, 0.02))
                else:
                    damping = damping / 4.0 if damping >= 2e-3 else 0.0
                eased = replace(point, state=replace(point.state, damping=damping))
                return keeping_dual(eased, *refused)
            refused.append(point)
            length *= _shorter(last.state.value, slope * length, point.state.value)
        update = self.problem.penalty.update(last.weights, last.state.Q)
        following = self.solve(update, last.dual, accuracy, damping)
        outcome = self.accept_or_sharpen(last, following, trace)
        return outcome if isinstance(outcome, Status) else keeping_dual(outcome, *refused)

    def _curve(
        self, point: WeightIterate, damping: float
    ) -> tuple[Callable[[float], Array], float] | None:
        """The Newton curve s -> theta(s) out of ``point`` and its slope of J; None where it does
        not descend.
        """
        if self._is_expensive(point):
            return None
        theta = point.weights
        Q = point.state.Q
        H = self._hessian(point)
        if self.p == 1:
            target = self._on_simplex(point, H, damping if H.any() else max(damping, 0.02))
            if target is None:
                return None
            way = target - theta
        else:
            delta = self._in_logarithms(point, H, damping)
            if delta is None:
                return None
            way = theta * delta
        slope = -0.5 * float(Q @ way)
        if slope >= 0:
            return None
        if self.p == 1:
            return (lambda s: theta + s * way), slope
        return (lambda s: self.problem.penalty.scale(theta * np.exp(s * delta))), slope

    def _free(self, y: Array, a: Array) -> Indices:
        """The free support vectors, and off the kink at zero."""
        loss = self.problem.loss
        low, high = loss.box(y, self.problem.C)
        inside = (a > low) & (a < high)
        return np.flatnonzero(inside & (a != 0.0) if loss.epsilon > 0.0 else inside)

    def _is_expensive(self, point: WeightIterate) -> bool:
        """Whether a Hessian costs more than a few updates do: where these are few, or many points
        are free on features.
        """
        K = self.problem.K
        if not self.p < MOST_P:
            return True
        if Capability.FEATURES not in K.capabilities:
            return False
        D = float(K.n_features)
        rows = float(self._free(self.problem.y, point.dual).size)
        return rows > D and rows * D * D > MOST_WORK

    def _hessian(self, point: WeightIterate) -> Array:
        """H (M, M) of all targets, zero where no point is free.

        Each part is U'AU with A positive semidefinite, so rounding alone can lift it off that: the
        steps made of it are damped, and a step that does not descend is not taken.
        """
        weights = point.weights
        Y = np.atleast_2d(self.problem.y)
        duals = np.atleast_2d(point.dual)
        H = np.zeros((weights.size, weights.size))
        G = point.state.G
        if G is NO_PRODUCTS:  # a point that ends a run needs none
            G = self.problem.K.matvec(point.dual)
        for y, a, products in zip(Y, duals, G.reshape(len(Y), weights.size, -1), strict=True):
            H = H + self._second_derivatives(weights, y, a, products)
        return 0.5 * (H + H.T)

    def _second_derivatives(self, weights: Array, y: Array, a: Array, G: Array) -> Array:
        """H (M, M) of the machine of a target ``y`` (n,) with dual ``a`` (n,) and products G (M,
        n).
        """
        task = self.problem
        free = self._free(y, a)
        M = weights.size
        if free.size == 0:
            return np.zeros((M, M))
        U = np.ascontiguousarray(G[:, free].T)
        right = np.column_stack([U, np.ones(free.size)])
        h = task.loss.curvature(a, y, task.C)[free]
        try:
            S = task.K.solve_block(weights, free, h, right)
        except np.linalg.LinAlgError:
            return np.zeros((M, M))
        X: Array = S[:, :-1]
        ones: Array = S[:, -1]
        if task.fit_intercept:
            X = X - np.outer(ones, (ones @ U) / ones.sum())
        return U.T @ X

    def _on_simplex(self, point: WeightIterate, H: Array, damping: float) -> Array | None:
        """min -Q/2'(x - theta) + 1/2 (x - theta)'(H + damping diag(Q / theta))(x - theta) over the
        simplex.
        """
        theta = point.weights
        Q = point.state.Q
        M = theta.size
        model = H + np.diag(damping * Q / np.maximum(theta, 0.05 / M))
        if not Q.any():
            return None
        x = np.maximum(newton_target(theta, 0.5 * Q, model, 1e-10), 0.0)
        return x / float(x.sum())

    def _in_logarithms(self, point: WeightIterate, H: Array, damping: float) -> Array | None:
        """The Newton change of log theta for  log Q_m = (p - 1) log theta_m + const  on ||theta||_p
        = 1.
        """
        theta = point.weights
        Q = point.state.Q
        p = self.p
        least = 1e-14 * Q.max(initial=0.0)
        live = np.flatnonzero((theta > 1e-14) & (least < Q))
        if live.size == 0:
            return None
        t = theta[live]
        q = Q[live]
        system = np.zeros((live.size + 1, live.size + 1))
        system[:-1, :-1] = 2.0 * H[np.ix_(live, live)] * t[None, :] / q[:, None]
        diagonal = np.arange(live.size)
        system[diagonal, diagonal] += p - 1.0 + 2.0 * damping
        system[:-1, -1] = -1.0
        with np.errstate(under="ignore"):
            system[-1, :-1] = t**p / np.sum(t**p)
        right = np.append(np.log(q) - (p - 1.0) * np.log(t), 0.0)
        try:
            delta = scipy.linalg.solve(system, right, check_finite=False)[:-1]
        except np.linalg.LinAlgError:
            return None
        if not np.all(np.isfinite(delta)):
            return None
        full = np.zeros_like(theta)
        full[live] = np.clip(delta, -8.0, 8.0)
        return full


def _shorter(value: float, slope: float, reached: float) -> float:
    """The factor for the next step length: the minimum of the parabola through value, slope and the
    value reached.
    """
    curvature = reached - value - slope
    if curvature <= 0:
        return 0.5
    return float(np.clip(-slope / (2.0 * curvature), 0.05, 0.5))


class Joint(Newton):
    """Damped Newton around T machines; the ``y`` of the problem is (T, n), as are duals and, per
    target, products.
    """

    def prepare(self) -> None:
        super().prepare()
        task = self.problem
        self.name = f"joint damped Newton on {len(task.y)} targets"
        self.tasks = [MachineTask(y, task.C, task.loss, task.fit_intercept) for y in task.y]

    def solve(
        self, weights: Array, warm: Array | None, accuracy: float, damping: float = 0.0
    ) -> WeightIterate:
        """The machine of every target at ``weights``, and the certificate that they give together."""
        task = self.problem
        Y = self.problem.y
        total = task.K.combine(weights)
        if machine_of(task.loss) is solve_ridge:
            found = solve_ridges(total, self.tasks)
        else:
            starts = [None] * len(Y) if warm is None else np.reshape(warm, Y.shape)
            found = [
                solve_machine(total, one, warm=a, accuracy=accuracy)
                for one, a in zip(self.tasks, starts, strict=True)
            ]
        duals = np.array([one.dual for one in found])
        decisions = total.matvec(duals.T).T
        placed = [one.loss_at(f) for one, f in zip(self.tasks, decisions, strict=True)]
        intercepts, errors = np.transpose(placed)
        G = np.array([task.K.source.matvec(a) for a in duals])
        Q = np.maximum(np.einsum("tmi,ti->m", G, duals), 0.0)
        bound = replace(task, y=Y.ravel()).bound(duals.ravel(), Q)
        state = WeightState(
            Q,
            sum(one.objective for one in found),
            sum(one.gap for one in found),
            accuracy,
            damping,
            G,
        )
        return Iterate(
            weights,
            duals,
            intercepts,
            float(sum(errors)) + task.regulariser(weights, Q),
            bound.value,
            bound.conjugate,
            len(found),
            state=state,
            dual_point=bound.point.reshape(Y.shape),
        )

    def certify(
        self, best: AnyIterate, dual_point: Array | None, kernels: Indices | None = None
    ) -> Certificate:
        """Objective and dual value of published parts from scratch."""
        task = self.problem
        K = task.K.source

        def forms(points: Array) -> Array:
            Q: Array = np.sum([K.quad(np.ascontiguousarray(a)) for a in points], axis=0)
            return Q

        objective = 0.0
        for one, a, b in zip(self.tasks, best.dual, np.asarray(best.intercept), strict=True):
            objective += one.errors(K.decision(best.weights, np.ascontiguousarray(a)), float(b))
        objective += task.regulariser(best.weights, forms(best.dual))
        if dual_point is None:
            return Certificate(objective)
        low, high = task.box
        room = 1e-9 * max(float(np.abs(dual_point).max()), 1e-300)
        is_outside = np.any(dual_point < low - room) or np.any(dual_point > high + room)
        sizes = np.maximum(np.abs(dual_point).sum(axis=1), 1e-300)
        is_off = np.abs(dual_point.sum(axis=1)) > 1e-8 * sizes
        if is_outside or (task.fit_intercept and np.any(is_off)):
            return Certificate(objective, -np.inf)
        linear = task.loss.dual(dual_point.ravel(), task.y.ravel(), task.C)
        return Certificate(objective, linear - task.penalty.conjugate(forms(dual_point)))


def joint_certificate(
    K: Any,
    Y: Array,
    weights: Array,
    dual_coef: Array,
    intercept: Array,
    loss: Loss,
    C: float,
    p: float,
    dual_point: Array | None = None,
    fit_intercept: bool = True,
) -> tuple[float, float]:
    """Primal and dual value of a joint fit, from its coefficients alone.

    Parameters
    ----------
    K : kernels (M, n, n), or an operator
    Y : targets (T, n), labels -1 / +1 or numbers
    weights, dual_coef, intercept, dual_point : (M,), (T, n), (T,) and (T, n); ``dual_coef`` is
        taken where there is no ``dual_point``
    loss, C, p : the loss object, the cost of one unit of it, the order of the norm of the weights
    fit_intercept : whether every dual must sum to zero

    Returns
    -------
    Two floats; the dual value is minus infinity where the point is infeasible.
    """
    problem = Problem(np.atleast_2d(Y), C, loss, fit_intercept, K, LpNorm(p))
    duals = np.atleast_2d(dual_coef)
    intercepts: Any = np.atleast_1d(intercept)
    point: AnyIterate = Iterate(weights, duals, intercepts, np.nan)
    proof = duals if dual_point is None else np.atleast_2d(dual_point)
    found = Joint(problem, tol=0.0).certify(point, proof)
    assert found.dual_objective is not None
    return found.objective, found.dual_objective


def fit_joint(
    K: Any,
    Y: Array,
    C: float,
    loss: Loss,
    p: float,
    fit_intercept: bool = True,
    *,
    tol: float = 1e-3,
    max_iter: int = 500,
    callback: Callable[..., Any] | None = None,
    warm: WarmStart | None = None,
) -> Fit:
    """lp-norm MKL with one set of weights for T targets.

    ``K`` (M, n, n) or an operator, ``Y`` (T, n), labels -1 / +1 or numbers. In the fit
    ``dual_coef`` and ``dual_point`` are (T, n), ``intercept`` (T,). ``warm`` starts from a
    neighbouring solution.
    """
    Y = np.ascontiguousarray(np.atleast_2d(Y), dtype=float)
    problem = Problem(Y, C, loss, fit_intercept, K, LpNorm(p))
    if warm is not None:
        warm = WarmStart(warm.weights, np.reshape(warm.dual, Y.shape))
    return run(
        Joint(problem, tol=tol, warm=warm),
        tol=tol,
        max_iter=max_iter,
        callback=callback,
    )
