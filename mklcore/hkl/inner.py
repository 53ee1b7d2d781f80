"""The problem on a hull J: machines at given weights, and two ways to move the weights, certified
at every step.

    min_{eta in H} min_{beta, b}  (1/n) sum_i l(y_i, f(x_i) + b) + lam/2 sum_{w in J} ||beta_w||^2 / zeta_w(eta)
        (2), (3)

    H = {eta >= 0, sum_v d_v^2 eta_v <= 1},   1/zeta_w = sum_{v in A(w)} 1/eta_v,   x_v = d_v^2 eta_v in the simplex

At given zeta it is one kernel machine,   lam [ C sum_i l + 1/2 a'K a ],   K = sum_w zeta_w K_w,   C = 1/(n lam).

``ColumnMachine``   every node has rank one and there are fewer nodes than rows: algebra of the size of the hull.
``GramMachine``     anything else, by the kernel machines of the library.

With a_w = a'K_w a at the machine's dual a, kappa_vw = zeta_w / eta_v (its columns sum to one), h_v
= sum_w kappa_vw zeta_w a_w:

    sum_v h_v = sum_w zeta_w a_w  <=  Omega*_J(a)^2  <=  max_v h_v / x_v

``EtaFixedPoint``   x_v <- sqrt(x_v h_v) / sum: exact block minimisation of (2), never goes up; shrinks zeros slowly.
``Barrier``         Newton steps on F(x) - tau sum_v log x_v over the simplex, F the value of (2) in x: 1e-9 in 15 to
25.

Second derivatives (specification, section 6): d2F / dzeta_w dzeta_u = lam (K_w a)'C^{-1}(K_u a),
with C = K + n lam / W and the intercept projected out; W = 1 for the squared loss, s (1 - s) for
the logistic one, and the curvature of the interior point for the hinge.

Source: Bach (2008), equations (2), (3), Proposition 1; specification, sections 2 and 6.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import scipy

from mklcore.arrays import Array, factorised
from mklcore.hkl.design import Design
from mklcore.hkl.graph import Ancestry, Node, NodeWeights
from mklcore.kernels.operators import Dense
from mklcore.problem.driver import AnyIterate, Iterate, Method, Status, Trace, run
from mklcore.problem.losses import Loss, total_loss
from mklcore.problem.machines import machine_of
from mklcore.problem.problem import LowerBound
from mklcore.problem.solution import dual_gap, feasible_start

# of a loss, for a machine on a hull
NEEDED = "being quadratic, smooth, or piecewise linear and signed"

_FLOOR = 1e-13  # the smallest share of the simplex
_SHARPEST = 1e-13  # no machine is asked for a smaller relative gap
_MIX_BELOW = 1e-10  # a start with smaller shares (new nodes have none) is moved inwards
_PATIENCE = 10  # steps of the barrier that do not halve the gap
# gap to which the fixed point goes before the barrier, and its steps at most
_LOOSE = 1e-2
_FIRST = 20
_MOST_STEPS = 200  # of the barrier
_TO_THE_WALL = 0.95  # of the way to the boundary of the simplex is the longest step
_HALVINGS = 12  # of a step that does not gain
_NEWTON = 60  # Newton steps of a smooth machine at most
# interior point steps at most, and in a row that do not lower the gap
_HINGE_STEPS = 80
_HINGE_PATIENCE = 3
_OFF_PATH = 100.0  # gaps of so many n mu are not those of the central path
_FAR = 1e-9  # share of the objective: a gap that another start may close
_INSIDE = 1e-3  # a warm start is moved this far into the box
_TO_THE_BOX = 0.99  # of the way to the boundary of the box is the longest step

Solver = Callable[[Array], Array]


def suits_hulls(loss: Loss | type[Loss]) -> bool:
    """Whether a hull has a machine for ``loss``: a linear system, derivatives, or the interior
    point of the hinge.
    """
    return loss.quadratic or loss.smooth or (loss.piecewise_linear and loss.signed)


@dataclass(frozen=True, eq=False)
class MachinePoint:
    """A solved machine: dual (n,), intercept, decision (n,) = K a, and a'K_w a for every node of
    the hull (m,).

    ``diagonal`` (n,): what the hinge machine adds to K in its last step, None for the others.
    """

    dual: Array
    intercept: float
    decision: Array
    forms: Array
    diagonal: Array | None = None


@dataclass(frozen=True, eq=False)
class HullTask:
    """One target under one loss at one lambda: ``y`` (n,) (labels -1 / +1 for hinge and logistic)."""

    y: Array
    loss: Loss
    lam: float
    fit_intercept: bool

    @property
    def interior(self) -> bool:
        """Whether the machine is the interior point of the hinge: the dual is to vary smoothly with
        the kernel weights.
        """
        return self.loss.piecewise_linear and self.loss.signed

    @property
    def C(self) -> float:
        """The cost of one unit of loss for a machine whose regulariser is 1/2 ||f||^2."""
        return 1.0 / (self.y.size * self.lam)

    def intercept(self, decision: Array) -> float:
        """The best intercept; 0 where it is fixed."""
        return self.loss.best_intercept(decision, self.y) if self.fit_intercept else 0.0

    def feasible(self, dual: Array) -> Array:
        """``dual`` moved into the box, and to the sum 0 that a free intercept asks for."""
        return feasible_start(dual, *self.loss.box(self.y, self.C), self.fit_intercept)

    def primal(self, decision: Array, intercept: float, squared_norm: float) -> float:
        """(1/n) sum l + lam/2 squared_norm."""
        return (
            total_loss(self.loss, decision, intercept, self.y, 1.0 / self.y.size)
            + 0.5 * self.lam * squared_norm
        )

    def bound(self, a: Array, squared_norm: float) -> LowerBound:
        """max_s  -(1/n) sum phi*(-n lam s a) - lam/2 s^2 squared_norm, and the s a that has it: any
        bound on Omega*^2 will do.
        """
        half = 0.5 * squared_norm
        s = self.loss.best_multiple(a, self.y, self.C, half)
        value, t = max(
            (self.loss.dual(t * a, self.y, self.C) - t * t * half, t) for t in (1.0, s, 0.0)
        )
        return LowerBound(self.lam * value, t * a, self.lam * half)

    def second_derivative(self, answer: MachinePoint) -> Array:
        """W (n,): the curvature of the loss at the machine's optimum."""
        if self.loss.quadratic:
            return np.ones_like(answer.dual)
        if answer.diagonal is not None:
            return self.y.size * self.lam / answer.diagonal
        return np.maximum(1.0 / (self.C * self.loss.curvature(answer.dual, self.y, self.C)), 1e-12)


def machine_for(
    design: Design, task: HullTask, nodes: Sequence[Node]
) -> ColumnMachine | GramMachine:
    """The cheaper machine of one hull that can do it: ``solve`` at zeta (m,) from a ``warm`` dual
    to an ``accuracy`` (duality gap over 1/2 a'K a), ``hessian`` (m, m) of its value in zeta at an
    answer.
    """
    thin = len(nodes) < design.n and all(design.is_column(node) for node in nodes)
    return ColumnMachine(design, task, nodes) if thin else GramMachine(design, task, nodes)


class ColumnMachine:
    """All nodes of rank one: O(m^3) per solve once the (m, m) products of columns are there."""

    def __init__(self, design: Design, task: HullTask, nodes: Sequence[Node]) -> None:
        self.task = task
        self.columns = design.columns_of(nodes)
        # With 1'a = 0 the centred columns say the same, without the cancellation a constant column
        # brings.
        self._centred = (
            self.columns - self.columns.mean(axis=0) if task.fit_intercept else self.columns
        )
        self._gram = self._centred.T @ self._centred if task.loss.quadratic else None

    def solve(self, zeta: Array, warm: Array | None, accuracy: float) -> MachinePoint:
        if self._gram is not None:
            return self._answer(zeta, self._ridge(zeta, self._gram))
        if not self.task.interior:
            return self._smooth(zeta, warm, accuracy)
        scaled = self._centred * np.sqrt(zeta)
        hinge = _HingeMachine(
            self.task, lambda a: scaled @ (scaled.T @ a), lambda h: _woodbury(scaled, h)
        )
        dual, diagonal = hinge.solve(warm, accuracy)
        return replace(self._answer(zeta, dual), diagonal=diagonal)

    def _system(self, gram: Array, zeta: Array) -> Array:
        """diag(zeta)^(1/2) gram diag(zeta)^(1/2) + n lam."""
        root = np.sqrt(zeta)
        system: Array = gram * root[:, None] * root
        system.flat[:: zeta.size + 1] += self.task.y.size * self.task.lam
        return system

    def _ridge(self, zeta: Array, gram: Array) -> Array:
        task = self.task
        root = np.sqrt(zeta)
        y = task.y - task.y.mean() if task.fit_intercept else task.y
        beta = root * factorised(self._system(gram, zeta))(root * (self._centred.T @ y))
        dual = (y - self._centred @ beta) / (y.size * task.lam)
        return dual - dual.mean() if task.fit_intercept else dual

    def _answer(self, zeta: Array, dual: Array) -> MachinePoint:
        """The primal point that this dual gives, so that what is certified is what predicts."""
        inner = self.columns.T @ dual
        decision = self.columns @ (zeta * inner)
        return MachinePoint(dual, self.task.intercept(decision), decision, inner**2)

    def _smooth(self, zeta: Array, warm: Array | None, accuracy: float) -> MachinePoint:
        """Newton's method in the coefficients v of the scaled columns; the intercept is one more,
        without a price.
        """
        task = self.task
        y = self.task.y
        loss = self.task.loss
        C = self.task.C
        scaled = self.columns * np.sqrt(zeta)
        price = np.append(np.ones(zeta.size), np.zeros(int(task.fit_intercept)))
        features = np.column_stack([scaled, np.ones((y.size, price.size - zeta.size))])

        def placed(v: Array) -> tuple[float, Array, Array]:
            t = features @ v
            return C * float(loss.value(t, y).sum()) + 0.5 * float(price @ v**2), v, t

        # The dual of another hull can be worse than nothing: where every row is saturated, no
        # Newton step leads back.
        starts = [np.zeros(zeta.size)] if warm is None else [np.zeros(zeta.size), scaled.T @ warm]
        value, v, t = min(
            (placed(np.append(v, [task.intercept(scaled @ v)])[: price.size]) for v in starts),
            key=lambda found: found[0],
        )
        for _ in range(_NEWTON):
            pull = -loss.derivative(t, y)
            dual = task.feasible(C * pull)
            answer = self._answer(zeta, dual)
            objective, gap = dual_gap(dual, answer.decision, answer.intercept, y, C, loss)
            if gap <= max(accuracy * 0.5 * float(dual @ answer.decision), 1e-14 * objective):
                break
            weight = C * np.maximum(loss.second_derivative(t, y), 1e-12)
            system = (features * weight[:, None]).T @ features + np.diag(price)
            step = np.linalg.solve(system, C * (features.T @ pull) - price * v)
            length = 1.0
            while length > 1e-8:
                trial = placed(v + length * step)
                if trial[0] <= value * (1.0 + 1e-14):
                    break
                length *= 0.5
            else:
                break
            value, v, t = trial
        return answer

    def hessian(self, zeta: Array, answer: MachinePoint) -> Array:
        task = self.task
        gram = self._gram
        if gram is None:
            weight = task.second_derivative(answer)
            columns = self.columns
            if task.fit_intercept:
                columns = columns - (weight @ columns) / weight.sum()
            gram = (columns * weight[:, None]).T @ columns
        side = gram * np.sqrt(zeta)
        inner = self.columns.T @ answer.dual
        rest: Array = gram - side @ factorised(self._system(gram, zeta))(side.T)
        return task.lam * task.C * rest * inner[:, None] * inner


def _woodbury(scaled: Array, h: Array) -> Solver:
    """right -> (scaled scaled' + diag h)^{-1} right, through a system of the size of the hull."""
    part = scaled / h[:, None]
    system = scaled.T @ part
    system.flat[:: scaled.shape[1] + 1] += 1.0
    try:
        solve = factorised(system)
    except scipy.linalg.LinAlgError:  # the 1 is below the rounding of the rest
        # With B = h^{-1/2} A and [B; I] = [Q; P] R it is h^{-1/2} (I - Q Q') h^{-1/2}.
        root = np.sqrt(h)
        Q = np.linalg.qr(np.vstack([scaled / root[:, None], np.eye(scaled.shape[1])]))[0][: h.size]
        return lambda right: (right / root - Q @ (Q.T @ (right / root))) / root
    return lambda right: right / h - part @ solve(part.T @ right)


class GramMachine:
    """Nodes of any rank by their Gram matrices; columns stay columns."""

    def __init__(self, design: Design, task: HullTask, nodes: Sequence[Node]) -> None:
        self.task = task
        thin = np.array([design.is_column(node) for node in nodes])
        self._thin = np.flatnonzero(thin)
        self._thick = np.flatnonzero(~thin)
        self.columns = design.columns_of([nodes[int(k)] for k in self._thin])
        values = np.empty((self._thick.size, design.n, design.n))
        for place, k in enumerate(self._thick):
            values[place] = design.gram(nodes[int(k)])
        self.kernels = Dense(values)

    def _combined(self, zeta: Array) -> Array:
        total = self.kernels.combine(np.ascontiguousarray(zeta[self._thick])).matrix
        if self._thin.size:
            total += (self.columns * zeta[self._thin]) @ self.columns.T
        return total

    def solve(self, zeta: Array, warm: Array | None, accuracy: float) -> MachinePoint:
        task = self.task
        K = self._combined(zeta)
        diagonal = None
        K.flat[:: K.shape[0] + 1] += 1e-14 * float(np.trace(K)) / K.shape[0]
        if task.interior:
            hinge = _HingeMachine(task, K.__matmul__, lambda h: factorised(K + np.diag(h)))
            dual, diagonal = hinge.solve(warm, accuracy)
        else:
            machine = machine_of(task.loss)
            dual = machine(
                K, task.y, task.C, task.loss, task.fit_intercept, warm=warm, accuracy=accuracy
            ).dual
        forms = np.empty(zeta.size)
        decision = K @ dual
        forms[self._thin] = (self.columns.T @ dual) ** 2
        forms[self._thick] = self.kernels.quad(dual)
        return MachinePoint(dual, task.intercept(decision), decision, forms, diagonal)

    def hessian(self, zeta: Array, answer: MachinePoint) -> Array:
        task = self.task
        a = answer.dual
        weight = self.task.second_derivative(answer)
        images = np.empty((a.size, zeta.size))  # K_w a
        images[:, self._thin] = self.columns * (self.columns.T @ a)
        images[:, self._thick] = self.kernels.matvec(a).T
        root = np.sqrt(weight)
        system = self._combined(zeta) * root[:, None] * root
        system.flat[:: a.size + 1] += a.size * task.lam + 1e-13 * float(np.trace(system)) / a.size
        left = images * root[:, None]
        solve = factorised(system)
        solved = solve(left)
        if task.fit_intercept:
            across = solve(root)
            solved -= np.outer(across, root @ solved) / float(root @ across)
        hessian: Array = task.lam * left.T @ solved
        return hessian


# The hinge


class _BoxPoint(NamedTuple):
    """z in the open box, the multipliers s of z >= 0 and w of z <= 1, the intercept, and f = K a."""

    z: Array
    s: Array
    w: Array
    b: float
    f: Array


class _HingeDual(NamedTuple):
    """A dual (n,) with its duality gap and objective, and the diagonal that bends around it."""

    gap: float
    objective: float
    dual: Array
    diagonal: Array


@dataclass(frozen=True, eq=False)
class _HingeMachine:
    """The hinge machine by an interior point: a dual strictly inside its box, which varies smoothly
    with the kernel weights.

        max_a  y'a - 1/2 a'K a,   a = C y z,  0 <= z <= 1,  1'a = 0 with a free intercept
        w - s = 1 - y (K a + b),   z s = (1 - z) w = mu / C

    At mu = 0 this is the support vector machine, whose dual jumps where several duals are optimal:
    then no single one certifies the kernel weights. At mu > 0 the dual is unique, the duality gap
    is 2 n mu, and mu falls with the accuracy asked. ``product(a)`` is K a; ``solver(h)`` gives
    right -> (K + diag h)^{-1} right.
    """

    task: HullTask
    product: Solver
    solver: Callable[[Array], Solver]

    def solve(self, warm: Array | None, accuracy: float) -> tuple[Array, Array]:
        """The dual (n,) to a gap of ``accuracy`` times 1/2 a'K a, and the diagonal h (n,) that
        bends around it.
        """
        found = self._followed(self._start(warm), accuracy)
        # A warm start can be far off where the kernel has changed.
        if warm is not None and found.gap > _FAR * found.objective:
            found = min(found, self._followed(self._start(None), accuracy), key=lambda one: one.gap)
        return found.dual, found.diagonal

    def _start(self, warm: Array | None) -> _BoxPoint:
        y = self.task.y
        C = self.task.C
        z = np.full(y.size, 0.5) if warm is None else np.clip(y * warm / C, _INSIDE, 1.0 - _INSIDE)
        f = self.product(C * y * z)
        b = self.task.intercept(f)
        excess = 1.0 - y * (f + b)
        w = 0.5 * (excess + np.hypot(excess, 0.2))
        return _BoxPoint(z, w - excess, w, b, f)

    def _followed(self, now: _BoxPoint, accuracy: float) -> _HingeDual:
        """The dual of the smallest gap on the way from ``now`` to ``accuracy``."""
        task = self.task
        n = self.task.y.size
        C = self.task.C
        best = _HingeDual(np.inf, np.inf, now.z, now.z)
        idle = 0
        for _ in range(_HINGE_STEPS):
            h = (now.s / now.z + now.w / (1.0 - now.z)) / C
            dual = task.feasible(C * task.y * now.z)
            f = self.product(dual)
            objective, gap = dual_gap(dual, f, task.intercept(f), task.y, C, task.loss)
            goal = max(accuracy * 0.5 * float(dual @ f), 1e-14 * objective)
            mu = 0.5 * C * float(np.mean(now.z * now.s + (1.0 - now.z) * now.w))
            # On the central path the gap is 2 n mu; what is far above and does not fall is
            # rounding, and grows.
            idle = idle + 1 if gap > max(0.9 * best.gap, _OFF_PATH * n * mu) else 0
            if gap <= best.gap:
                best = _HingeDual(gap, objective, dual, h)
            if gap <= goal or mu <= 1e-16 * objective / n or idle >= _HINGE_PATIENCE:
                break
            following = self._step(now, h, max(0.15 * mu, 0.2 * goal / n))
            if following is None:  # rounding has eaten the step
                break
            now = following
        return best

    def _step(self, now: _BoxPoint, h: Array, mu: float) -> _BoxPoint | None:
        """One Newton step towards the centre at ``mu``:

        (K + diag h) da + db = y - f - b + y mu/C (1/z - 1/(1-z)),   1'(a + da) = 0
        """
        y = self.task.y
        C = self.task.C
        z = now.z
        solve = self.solver(h)
        share = mu / C
        da = solve(y - now.f - now.b + y * share * (1.0 / z - 1.0 / (1.0 - z)))
        db = 0.0
        if self.task.fit_intercept:
            unit = solve(np.ones_like(y))
            total = float(unit.sum())
            db = float(da.sum() + (C * y * z).sum()) / total if total > 0 else np.nan
            da = da - db * unit
        if not (np.all(np.isfinite(da)) and np.isfinite(db)):
            return None
        dz = y * da / C
        ds = (share - z * now.s - now.s * dz) / z
        dw = (share - (1.0 - z) * now.w + now.w * dz) / (1.0 - z)
        room = min(_room(z, dz), _room(1.0 - z, -dz), _room(now.s, ds), _room(now.w, dw))
        length = min(1.0, _TO_THE_BOX * room)
        z = np.clip(z + length * dz, np.finfo(float).tiny, 1.0 - np.finfo(float).epsneg)
        return _BoxPoint(
            z,
            now.s + length * ds,
            now.w + length * dw,
            now.b + length * db,
            self.product(C * y * z),
        )


def _room(v: Array, d: Array) -> float:
    falling = d < 0
    return float(np.min(-v[falling] / d[falling])) if falling.any() else np.inf


# Weights


@dataclass(frozen=True, eq=False)
class Inner:
    """What an inner iterate carries: shares x, h, a_w, the bound on Omega*_J^2, Omega,
    ||beta_D(v)||, own dual, own F.
    """

    x: Array
    h: Array
    answer: MachinePoint
    bound: float
    omega: float
    norms: Array
    dual_objective: float
    value: float
    tau: float = 0.0

    @property
    def gap_share(self) -> float:
        """This iterate's own gap as a share of its value."""
        return (self.value - self.dual_objective) / max(abs(self.value), np.finfo(float).tiny)


class Reduced:
    """Problem (3) on the hull ``nodes``: from shares x to a certified point."""

    def __init__(
        self, design: Design, task: HullTask, nodes: Sequence[Node], weights: NodeWeights
    ) -> None:
        self.task = task
        self.d = weights.of(nodes)
        self.ancestry = Ancestry(design.order, nodes)
        self.machine = machine_for(design, task, nodes)

    def evaluate(self, x: Array, warm: Array | None, accuracy: float) -> AnyIterate:
        """Solve the machine at ``x`` (m,) on the simplex; the certificate holds for problem (3)."""
        task = self.task
        x = np.maximum(x, _FLOOR)
        x = x / x.sum()
        eta = x / self.d**2
        zeta = self.ancestry.zeta(eta)
        answer = self.machine.solve(zeta, warm, accuracy)
        below = self.ancestry.down(zeta**2 * answer.forms)
        h = below / eta
        norms = np.sqrt(below)
        omega = float(self.d @ norms)
        bound = float(np.max(h / x))
        objective = task.primal(answer.decision, answer.intercept, omega**2)
        value = task.primal(answer.decision, answer.intercept, float(zeta @ answer.forms))
        proved = task.bound(answer.dual, bound)
        return Iterate(
            zeta,
            answer.dual,
            answer.intercept,
            objective,
            proved.value,
            abs(objective),
            state=Inner(x, h, answer, bound, omega, norms, proved.value, value),
            dual_point=proved.point,
        )


class EtaFixedPoint(Method[Inner]):
    """The fixed point of the weights as the driver's method; ``x`` (m,) starts it, ``dual`` (n,)
    warms the machine.

    ``sharpest`` is the iterate with the smallest gap of its own: its dual, not another's, is what a
    search goes on with.
    """

    name = "HKL eta fixed point"
    descends = False  # it ends on its sharpest point, which need not have its lowest objective
    sharpest: AnyIterate

    def __init__(self, problem: Reduced, x: Array, dual: Array | None, *, tol: float) -> None:
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
        shares = np.sqrt(last.state.x * last.state.h)
        total = float(shares.sum())
        x = shares / total if total > 0 else last.state.x
        return self._seen(self.problem.evaluate(x, last.dual, self._accuracy(last.state.gap_share)))

    def _accuracy(self, gap_share: float) -> float:
        if self.problem.task.interior:
            return float(np.clip(0.02 * gap_share, max(0.01 * self.tol, _SHARPEST), 1e-4))
        # The bound on the dual norm feels the machine's error to first order, the machine's own gap
        # to second.
        return float(np.clip((0.03 * gap_share) ** 2, _SHARPEST, 1e-4))

    def _seen(self, point: AnyIterate) -> AnyIterate:
        gap = point.state.gap_share
        least = self.sharpest.state.gap_share
        self._idle = 0 if gap < 0.5 * least else self._idle + 1
        if gap < least:
            self.sharpest = point
        return point


class Barrier(EtaFixedPoint):
    """Log-barrier Newton on the simplex of shares; where a step does not pay, the fixed point takes
    its turn.
    """

    name = "HKL log-barrier Newton"

    def step(self, best: AnyIterate, last: AnyIterate, trace: Trace) -> AnyIterate | Status:
        if self._idle >= _PATIENCE:
            return Status.STALLED
        state = last.state
        gap = max(state.value - state.dual_objective, 1e-16 * abs(state.value))
        tau = 0.15 * gap / state.x.size
        # lower the barrier only near its own centre, where the gap is about m tau
        if state.tau > 0:
            tau = min(tau, 0.5 * state.tau) if gap <= 3.0 * state.tau * state.x.size else state.tau
        direction = self._direction(last, tau)
        if direction is None:
            return self._fixed_point(last)
        old = state.value - tau * float(np.sum(np.log(state.x)))
        length = min(1.0, _TO_THE_WALL / max(float(np.max(-direction)), 1e-300))
        for _ in range(_HALVINGS):
            x = state.x * (1.0 + length * direction)
            trial = self.problem.evaluate(x, last.dual, self._accuracy(state.gap_share))
            new = trial.state.value - tau * float(np.sum(np.log(trial.state.x)))
            if (
                new <= old + 1e-12 * abs(state.value)
                or trial.state.gap_share < 0.5 * state.gap_share
            ):
                return self._seen(replace(trial, state=replace(trial.state, tau=tau)))
            length *= 0.5
        return self._fixed_point(last)

    def _direction(self, last: AnyIterate, tau: float) -> Array | None:
        """Relative step ds with x'ds = 0 that solves the Newton system, everything scaled by x."""
        problem = self.problem
        state = last.state
        zeta = last.weights
        lam = problem.task.lam
        forms = state.answer.forms
        kappa = problem.ancestry.matrix() * zeta / (state.x / problem.d**2)[:, None]
        side = kappa * zeta
        right = np.column_stack([0.5 * lam * state.h + tau, state.x])
        try:
            hessian = problem.machine.hessian(zeta, state.answer)
            system = side @ hessian @ side.T - lam * (kappa * (zeta * forms)) @ kappa.T
            system.flat[:: state.x.size + 1] += lam * state.h + tau
            solved = np.linalg.solve(system, right)
        except np.linalg.LinAlgError:
            return None
        across = float(state.x @ solved[:, 1])
        if not (np.all(np.isfinite(solved)) and across > 0):
            return None
        return solved[:, 0] - solved[:, 1] * float(state.x @ solved[:, 0]) / across


def solve_reduced(
    problem: Reduced, x: Array, dual: Array | None, *, tol: float
) -> tuple[AnyIterate, int]:
    """The reduced problem (3) to a relative gap of ``tol``, from shares ``x`` (m,): point and
    machine solves.
    """
    if float(x.min()) < _MIX_BELOW:
        x = 0.9 * x + 0.1 / x.size
    solves = 0
    for kind, goal, steps in (
        (EtaFixedPoint, max(tol, _LOOSE), _FIRST),
        (Barrier, tol, _MOST_STEPS),
    ):
        method = kind(problem, x, dual, tol=goal)
        solves += run(method, tol=goal, max_iter=steps).solves
        point = method.sharpest
        if point.state.gap_share <= tol:
            break
        x = point.state.x
        dual = point.dual
    return point, solves
