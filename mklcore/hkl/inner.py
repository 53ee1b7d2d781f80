"""The problem on a hull J: machines at given weights, and two certified methods for the weights.

    min_{eta in H} min_{beta, b}                                                          (2), (3)
        (1/n) sum_i l(y_i, f(x_i) + b) + lam/2 sum_{w in J} ||beta_w||^2 / zeta_w(eta)

    H = {eta >= 0, sum_v d_v^2 eta_v <= 1},   1/zeta_w = sum_{v in A(w)} 1/eta_v
    x_v = d_v^2 eta_v lies in the simplex

At a given zeta this is one kernel machine,

    lam [ C sum_i l + 1/2 a'K a ],   K = sum_w zeta_w K_w,   C = 1/(n lam).

Where every node has rank one and there are fewer nodes than rows, K is a ``ColumnSum``, with linear
algebra of the size of the hull, else a matrix.

With a_w = a'K_w a at the machine's dual a, kappa_vw = zeta_w / eta_v (its columns sum to one), and
h_v = sum_w kappa_vw zeta_w a_w:

    sum_v h_v = sum_w zeta_w a_w  <=  Omega*_J(a)^2  <=  max_v h_v / x_v

``EtaFixedPoint``   x_v <- sqrt(x_v h_v) / sum: exact block minimisation of (2). It never increases
                    the objective, but shrinks zeros slowly.
``Barrier``         Newton steps on F(x) - tau sum_v log x_v over the simplex, where F is the value
                    of (2) in x: a gap of 1e-9 in 15 to 25 steps.

Second derivatives:

    d2F / dzeta_w dzeta_u = lam (K_w a)'S^{-1}(K_u a),   S = K + n lam / W,

with the intercept projected out; W = 1 for the squared loss, s (1 - s) for the logistic one, and
the curvature of the interior point for the hinge.

Source: Bach (2008), equations (2), (3), Proposition 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np

from mklcore.arrays import Array, Indices, factorised, longest_step
from mklcore.hkl.design import Design
from mklcore.hkl.graph import Ancestry, Node, NodeWeights
from mklcore.kernels.operators import Dense, DenseSum
from mklcore.problem.driver import AnyIterate, Iterate, Method, Status, Trace, run
from mklcore.problem.losses import Loss, total_loss
from mklcore.problem.problem import LowerBound
from mklcore.problem.smooth import solve_bordered, solve_smooth
from mklcore.problem.solution import MachineTask

# What a loss must be, so that a hull has a machine for it.
NEEDED = "being quadratic, smooth, or piecewise linear and signed"

_FLOOR = 1e-13  # the smallest share of a node
_SHARPEST = 1e-13  # the smallest relative gap that a machine has to reach
_MIX_BELOW = 1e-10  # a start with smaller shares (new nodes have none) is moved inwards
_PATIENCE = 10  # the barrier stops after this many steps that do not halve the gap
_ROUGH_TOL = 1e-2  # the fixed point hands over to the barrier at this gap,
_FIXED_POINT_STEPS = 20  # or after this many steps
_BARRIER_STEPS = 200
_TO_THE_WALL = 0.95  # share of the way to the boundary of the simplex that a step may go
_HALVINGS = 12  # how often a step that gains nothing is halved
_HINGE_STEPS = 80
_HINGE_PATIENCE = 3  # the interior point stops after this many steps that do not lower the gap
_OFF_PATH = 100.0  # a gap above this many n mu is not a gap of the central path
_FAR = 1e-9  # a gap above this share of the objective may be closed from another start
_INWARDS = 1e-3  # a warm start is moved this far into the box
_TO_THE_BOX = 0.99  # share of the way to the boundary of the box that a step may go


def suits_hulls(loss: Loss | type[Loss]) -> bool:
    """Whether a hull has a machine for ``loss``.

    The machines are a linear system, Newton's method, and the interior point of the hinge.
    """
    return loss.quadratic or loss.smooth or (loss.piecewise_linear and loss.signed)


@dataclass(frozen=True, eq=False)
class MachinePoint:
    """A solved machine.

    ``dual`` (n,), ``intercept``, ``decision`` (n,) = K a, ``quadratic_forms`` (m,) a'K_w a and
    ``images`` (n, m) K_w a for every node of the hull. ``total`` is K, and ``diagonal`` (n,) what
    the hinge machine adds to it in its last step, None for the other machines.
    """

    dual: Array
    intercept: float
    decision: Array
    quadratic_forms: Array
    images: Array
    total: ColumnSum | DenseSum
    diagonal: Array | None = None


@dataclass(frozen=True, eq=False)
class HullTask(MachineTask):
    """One target ``y`` (n,) (-1 / +1 for hinge and logistic) under one loss at one lambda.

    In a machine, whose regulariser is 1/2 ||f||^2, the loss has the weight C = 1 / (n lam).
    """

    C: float
    lam: float

    @classmethod
    def at(cls, lam: float, y: Array, loss: Loss, fit_intercept: bool) -> Self:
        """The task at one lambda."""
        return cls(y, 1.0 / (y.size * lam), loss, fit_intercept, lam)

    @property
    def interior(self) -> bool:
        """Whether the machine is the interior point of the hinge, whose dual is smooth in zeta."""
        return self.loss.piecewise_linear and self.loss.signed

    def primal(self, decision: Array, intercept: float, squared_norm: float) -> float:
        """(1/n) sum l + lam/2 squared_norm."""
        mean_loss = total_loss(self.loss, decision, intercept, self.y, 1.0 / self.y.size)
        return mean_loss + 0.5 * self.lam * squared_norm

    def bound(self, a: Array, squared_norm: float) -> LowerBound:
        """max_s -(1/n) sum phi*(-n lam s a) - lam/2 s^2 squared_norm, and the s a that attains it.

        Any upper bound on Omega*(a)^2 can be the ``squared_norm``.
        """
        half = 0.5 * squared_norm
        multiples = {1.0, self.loss.best_multiple(a, self.y, self.C, half)}
        value, s = max((self.dual(s * a) - s * s * half, s) for s in multiples)
        return LowerBound(self.lam * value, s * a, self.lam * half)

    def second_derivative(self, point: MachinePoint) -> Array:
        """W (n,): the curvature of the loss at the optimum of the machine."""
        if self.loss.quadratic:
            return np.ones_like(point.dual)
        if point.diagonal is not None:
            return self.y.size * self.lam / point.diagonal
        curvature = self.loss.curvature(point.dual, self.y, self.C)
        return np.maximum(1.0 / (self.C * curvature), 1e-12)


class ColumnSum:
    """sum_w zeta_w K_w of kernels of rank one as its ``scaled`` columns (n, m): its systems have
    the size of the hull.
    """

    matrix = None

    def __init__(self, scaled: Array) -> None:
        self.scaled = scaled

    def matvec(self, a: Array) -> Array:
        product: Array = self.scaled @ (self.scaled.T @ a)
        return product

    def block(self, rows: Indices) -> Array:
        part = self.scaled[rows]
        return part @ part.T

    def solve(self, rhs: Array, shift: float | Array) -> Array:
        return self.factor(shift)(rhs)

    def factor(self, shift: float | Array) -> Callable[[Array], Array]:
        """Woodbury's identity, with B = ``scaled`` and h the shift:

        (B B' + diag(h))^(-1) r = r / h - B / h (I + B' diag(1/h) B)^(-1) B'r / h
        """
        part = (self.scaled.T / shift).T
        try:
            solve = factorised(self.scaled.T @ part, 1.0)
        except np.linalg.LinAlgError:  # the 1 is below the rounding of the rest
            return self._factor_by_qr(np.sqrt(shift))
        return lambda right: (right.T / shift).T - part @ solve(part.T @ right)

    def _factor_by_qr(self, root: Array) -> Callable[[Array], Array]:
        """With A = diag(h)^(-1/2) B and [A; I] = [Q; P] R the inverse is h^(-1/2) (I - QQ') h^(-1/2)."""
        A = (self.scaled.T / root).T
        stacked = np.vstack([A, np.eye(A.shape[1])])
        Q = np.linalg.qr(stacked)[0][: len(A)]

        def solve(right: Array) -> Array:
            shrunk = right.T / root
            inverse: Array = ((shrunk - (shrunk @ Q) @ Q.T) / root).T
            return inverse

        return solve


class Machine:
    """The machine of a hull for any weights zeta (m,) of its nodes."""

    def __init__(self, design: Design, task: HullTask, nodes: Sequence[Node]) -> None:
        self.task = task
        is_column = np.array([design.is_column(node) for node in nodes])
        self._is_column = is_column
        self._columns = design.columns_of([nodes[k] for k in np.flatnonzero(is_column).tolist()])
        grams = [design.gram(nodes[k]) for k in np.flatnonzero(~is_column).tolist()]
        self._kernels = Dense(np.array(grams).reshape(-1, design.n, design.n))
        self._by_columns = bool(is_column.all()) and len(nodes) < design.n
        # where 1'a = 0 centred columns give the same K a up to a constant, without the cancellation
        # that a constant column brings
        means = self._columns.mean(axis=0) if task.fit_intercept else 0.0
        self._centred = self._columns - means

    def solve(self, zeta: Array, warm: Array | None, accuracy: float) -> MachinePoint:
        """The machine at ``zeta`` from a ``warm`` dual, to an ``accuracy``: duality gap over 1/2
        a'K a.
        """
        task = self.task
        total = self._total(zeta)
        diagonal = None
        if task.interior:
            dual, diagonal = _HingeMachine(task, total).solve(warm, accuracy)
        elif task.loss.quadratic:
            duals, _ = solve_bordered(total, task.y[:, None], 1.0 / task.C, task.fit_intercept)
            dual = duals[:, 0]
        else:
            dual = solve_smooth(total, task, warm=warm, accuracy=accuracy).dual
        images = self._images(dual)
        # the primal point of this dual, so that what is certified is what predicts
        decision = images @ zeta
        forms = np.maximum(dual @ images, 0.0)
        b = task.intercept(decision)
        return MachinePoint(dual, b, decision, forms, images, total, diagonal)

    def hessian(self, point: MachinePoint) -> Array:
        """The second derivatives (m, m) of the machine's value in zeta."""
        task = self.task
        shift = 1.0 / (task.C * task.second_derivative(point))
        solved, _ = solve_bordered(point.total, point.images, shift, task.fit_intercept)
        return task.lam * point.images.T @ solved

    def _total(self, zeta: Array) -> ColumnSum | DenseSum:
        """sum_w zeta_w K_w."""
        if self._by_columns:
            return ColumnSum(self._centred * np.sqrt(zeta))
        total = self._kernels.combine(np.ascontiguousarray(zeta[~self._is_column]))
        K = total.matrix
        K += (self._columns * zeta[self._is_column]) @ self._columns.T
        K.flat[:: len(K) + 1] += 1e-14 * float(np.trace(K)) / len(K)
        return total

    def _images(self, a: Array) -> Array:
        """K_w a of every node, (n, m)."""
        of_columns: Array = self._columns * (self._columns.T @ a)
        if self._is_column.all():
            return of_columns
        images = np.empty((a.size, self._is_column.size))
        images[:, self._is_column] = of_columns
        images[:, ~self._is_column] = self._kernels.matvec(a).T
        return images


# The hinge


class _BoxPoint(NamedTuple):
    """z in the open box, multipliers s of z >= 0 and w of z <= 1, the intercept b, and f = K a."""

    z: Array
    s: Array
    w: Array
    b: float
    f: Array


class _HingeDual(NamedTuple):
    """A dual (n,) with its duality gap, its objective, and the diagonal h (n,) of its last step."""

    gap: float
    objective: float
    dual: Array
    diagonal: Array


@dataclass(frozen=True, eq=False)
class _HingeMachine:
    """The hinge machine by an interior point: a dual strictly inside its box.

        max_a  y'a - 1/2 a'K a,   a = C y z,  0 <= z <= 1,  1'a = 0 with a free intercept
        w - s = 1 - y (K a + b),   z s = (1 - z) w = mu / C

    At mu = 0 this is the support vector machine, whose dual jumps where several duals are optimal:
    then no single dual certifies the kernel weights. At mu > 0 the dual is unique and varies
    smoothly with the kernel weights, and the duality gap is 2 n mu; mu is chosen for the required
    accuracy.
    """

    task: HullTask
    total: ColumnSum | DenseSum

    def solve(self, warm: Array | None, accuracy: float) -> tuple[Array, Array]:
        """The dual (n,) to a gap of ``accuracy`` times 1/2 a'K a, and the diagonal h (n,) there."""
        best = self._follow_path(self._start(warm), accuracy)
        # A warm start can be far off where the kernel has changed.
        if warm is not None and best.gap > _FAR * best.objective:
            cold = self._follow_path(self._start(None), accuracy)
            best = cold if cold.gap < best.gap else best
        return best.dual, best.diagonal

    def _start(self, warm: Array | None) -> _BoxPoint:
        y = self.task.y
        C = self.task.C
        z = np.full(y.size, 0.5)
        if warm is not None:
            z = np.clip(y * warm / C, _INWARDS, 1.0 - _INWARDS)
        f = self.total.matvec(C * y * z)
        b = self.task.intercept(f)
        excess = 1.0 - y * (f + b)
        w = 0.5 * (excess + np.hypot(excess, 0.2))
        return _BoxPoint(z, w - excess, w, b, f)

    def _follow_path(self, point: _BoxPoint, accuracy: float) -> _HingeDual:
        """The dual with the smallest gap on the path from ``point``."""
        task = self.task
        n = task.y.size
        C = task.C
        best = _HingeDual(np.inf, np.inf, point.z, point.z)
        idle = 0
        for _ in range(_HINGE_STEPS):
            z = point.z
            h = (point.s / z + point.w / (1.0 - z)) / C
            dual = task.feasible(C * task.y * z)
            f = self.total.matvec(dual)
            objective, gap = task.gap(dual, f, task.intercept(f))
            goal = max(accuracy * 0.5 * float(dual @ f), 1e-14 * objective)
            mu = 0.5 * C * float(np.mean(z * point.s + (1.0 - z) * point.w))
            # On the central path the gap is 2 n mu. A gap far above that which does not fall is
            # due to rounding, and will grow.
            idle = idle + 1 if gap > max(0.9 * best.gap, _OFF_PATH * n * mu) else 0
            if gap <= best.gap:
                best = _HingeDual(gap, objective, dual, h)
            if gap <= goal or mu <= 1e-16 * objective / n or idle >= _HINGE_PATIENCE:
                break
            next_point = self._step(point, h, max(0.15 * mu, 0.2 * goal / n))
            if next_point is None:
                break
            point = next_point
        return best

    def _step(self, point: _BoxPoint, h: Array, mu: float) -> _BoxPoint | None:
        """One Newton step towards the central path at ``mu``; None where rounding spoils it.

        (K + diag h) da + db = y - f - b + y mu/C (1/z - 1/(1-z)),   1'(a + da) = 0
        """
        y = self.task.y
        C = self.task.C
        z, s, w, b, f = point
        solve = self.total.factor(h)
        share = mu / C
        da = solve(y - f - b + y * share * (1.0 / z - 1.0 / (1.0 - z)))
        db = 0.0
        if self.task.fit_intercept:
            unit = solve(np.ones_like(y))
            total = float(unit.sum())
            excess = float(da.sum() + (C * y * z).sum())
            db = excess / total if total > 0 else np.nan
            da = da - db * unit
        if not (np.all(np.isfinite(da)) and np.isfinite(db)):
            return None
        dz = y * da / C
        ds = (share - z * s - s * dz) / z
        dw = (share - (1.0 - z) * w + w * dz) / (1.0 - z)
        longest = min(
            longest_step(z, dz),
            longest_step(1.0 - z, -dz),
            longest_step(s, ds),
            longest_step(w, dw),
        )
        length = min(1.0, _TO_THE_BOX * longest)
        z = np.clip(z + length * dz, np.finfo(float).tiny, 1.0 - np.finfo(float).epsneg)
        f = self.total.matvec(C * y * z)
        return _BoxPoint(z, s + length * ds, w + length * dw, b + length * db, f)


# Weights


@dataclass(frozen=True, eq=False)
class HullState:
    """The state of an iterate on a hull.

    Shares ``x`` (m,) and their ``h`` (m,), the solved ``machine``, the ``bound`` on Omega*_J^2,
    ``omega``, the ``norms`` ||beta_D(v)|| (m,), the dual value and the value F of this iterate
    alone, and the barrier parameter ``tau`` at which it was computed.
    """

    x: Array
    h: Array
    machine: MachinePoint
    bound: float
    omega: float
    norms: Array
    dual_objective: float
    value: float
    tau: float = 0.0

    @property
    def gap_share(self) -> float:
        """The gap of this iterate alone, as a share of its value."""
        gap = self.value - self.dual_objective
        return gap / max(abs(self.value), np.finfo(float).tiny)


class HullProblem:
    """Problem (3) on the hull ``nodes``: from shares x to a certified point."""

    def __init__(
        self, design: Design, task: HullTask, nodes: Sequence[Node], weights: NodeWeights
    ) -> None:
        self.task = task
        self.d = weights.of(nodes)
        self.ancestry = Ancestry(design.order, nodes)
        self.machine = Machine(design, task, nodes)

    def evaluate(self, x: Array, warm: Array | None, accuracy: float) -> AnyIterate:
        """Solve the machine at ``x`` (m,) on the simplex; the certificate holds for problem (3)."""
        task = self.task
        x = np.maximum(x, _FLOOR)
        x = x / x.sum()
        eta = x / self.d**2
        zeta = self.ancestry.zeta(eta)
        point = self.machine.solve(zeta, warm, accuracy)
        squared_norms = self.ancestry.down(zeta**2 * point.quadratic_forms)
        norms = np.sqrt(squared_norms)
        h = squared_norms / eta
        omega = float(self.d @ norms)
        bound = float(np.max(h / x))
        proved = task.bound(point.dual, bound)
        squared_size = float(zeta @ point.quadratic_forms)
        value = task.primal(point.decision, point.intercept, squared_size)
        objective = task.primal(point.decision, point.intercept, omega**2)
        return Iterate(
            zeta,
            point.dual,
            point.intercept,
            objective,
            proved.value,
            abs(objective),
            state=HullState(x, h, point, bound, omega, norms, proved.value, value),
            dual_point=proved.point,
        )


class EtaFixedPoint(Method[HullState]):
    """The fixed point of the weights, from shares ``x`` (m,) and a warm ``dual`` (n,).

    ``sharpest`` is the iterate whose own gap is smallest: the search continues with its dual.
    """

    name = "HKL eta fixed point"
    descends = False  # the sharpest point need not have the lowest objective
    sharpest: AnyIterate

    def __init__(
        self,
        problem: HullProblem,
        x: Array,
        dual: Array | None,
        *,
        tol: float,
    ) -> None:
        self.problem = problem
        self.tol = tol
        self._x = x
        self._dual = dual
        self._idle = 0

    def init(self) -> AnyIterate:
        self.sharpest = self.problem.evaluate(self._x, self._dual, self._accuracy(1.0))
        return self.sharpest

    def step(self, best: AnyIterate, last: AnyIterate, trace: Trace) -> AnyIterate | Status:
        return Status.STALLED if self._idle >= 20 * _PATIENCE else self._fixed_point(last)

    def polish(self, best: AnyIterate) -> AnyIterate:
        return self.sharpest

    def _fixed_point(self, last: AnyIterate) -> AnyIterate:
        state = last.state
        shares = np.sqrt(state.x * state.h)
        total = float(shares.sum())
        x = shares / total if total > 0 else state.x
        point = self.problem.evaluate(x, last.dual, self._accuracy(state.gap_share))
        return self._recorded(point)

    def _accuracy(self, gap_share: float) -> float:
        if self.problem.task.interior:
            smallest = max(0.01 * self.tol, _SHARPEST)
            return float(np.clip(0.02 * gap_share, smallest, 1e-4))
        # The bound on the dual norm depends on the machine's error to first order, the machine's
        # own gap only to second.
        return float(np.clip((0.03 * gap_share) ** 2, _SHARPEST, 1e-4))

    def _recorded(self, point: AnyIterate) -> AnyIterate:
        """``point``, after noting whether its gap is the smallest so far."""
        gap = point.state.gap_share
        smallest = self.sharpest.state.gap_share
        self._idle = 0 if gap < 0.5 * smallest else self._idle + 1
        if gap < smallest:
            self.sharpest = point
        return point


class Barrier(EtaFixedPoint):
    """Log-barrier Newton on the simplex; the fixed point replaces steps that gain nothing."""

    name = "HKL log-barrier Newton"

    def step(self, best: AnyIterate, last: AnyIterate, trace: Trace) -> AnyIterate | Status:
        if self._idle >= _PATIENCE:
            return Status.STALLED
        state = last.state
        tau = self._next_tau(state)
        direction = self._direction(last, tau)
        if direction is None:
            return self._fixed_point(last)
        before = state.value - tau * float(np.sum(np.log(state.x)))
        length = min(1.0, _TO_THE_WALL / max(float(np.max(-direction)), 1e-300))
        for _ in range(_HALVINGS):
            x = state.x * (1.0 + length * direction)
            trial = self.problem.evaluate(x, last.dual, self._accuracy(state.gap_share))
            after = trial.state.value - tau * float(np.sum(np.log(trial.state.x)))
            descends = after <= before + 1e-12 * abs(state.value)
            if descends or trial.state.gap_share < 0.5 * state.gap_share:
                return self._recorded(replace(trial, state=replace(trial.state, tau=tau)))
            length *= 0.5
        return self._fixed_point(last)

    def _next_tau(self, state: HullState) -> float:
        """A share of the gap; the barrier is lowered only where the gap is about m tau."""
        size = state.x.size
        gap = max(state.value - state.dual_objective, 1e-16 * abs(state.value))
        tau = 0.15 * gap / size
        if state.tau <= 0:
            return tau
        return min(tau, 0.5 * state.tau) if gap <= 3.0 * state.tau * size else state.tau

    def _direction(self, last: AnyIterate, tau: float) -> Array | None:
        """The relative Newton step ds with x'ds = 0; everything is scaled by x."""
        problem = self.problem
        state = last.state
        zeta = last.weights
        lam = problem.task.lam
        eta = state.x / problem.d**2
        kappa = problem.ancestry.matrix() * zeta / eta[:, None]
        side = kappa * zeta
        right = np.column_stack([0.5 * lam * state.h + tau, state.x])
        try:
            hessian = problem.machine.hessian(state.machine)
            curved = lam * (kappa * (zeta * state.machine.quadratic_forms)) @ kappa.T
            system = side @ hessian @ side.T - curved
            system.flat[:: state.x.size + 1] += lam * state.h + tau
            free, along = np.linalg.solve(system, right).T
        except np.linalg.LinAlgError:
            return None
        across = float(state.x @ along)
        if not (np.all(np.isfinite(free + along)) and across > 0):
            return None
        direction: Array = free - along * float(state.x @ free) / across
        return direction


def solve_reduced(
    problem: HullProblem, x: Array, dual: Array | None, *, tol: float
) -> tuple[AnyIterate, int]:
    """Solve problem (3) to a relative gap of ``tol``, from shares ``x`` (m,).

    Returns the point and the number of machines that were solved.
    """
    if float(x.min()) < _MIX_BELOW:
        x = 0.9 * x + 0.1 / x.size
    rough = max(tol, _ROUGH_TOL)
    method = EtaFixedPoint(problem, x, dual, tol=rough)
    solves = run(method, tol=rough, max_iter=_FIXED_POINT_STEPS).solves
    point = method.sharpest
    if point.state.gap_share > tol:
        method = Barrier(problem, point.state.x, point.dual, tol=tol)
        solves += run(method, tol=tol, max_iter=_BARRIER_STEPS).solves
        point = method.sharpest
    return point, solves
