"""The machine on a hull: fit f = sum_w zeta_w K_w a + b for given zeta, and the second derivatives of its value in
zeta.

    (1/n) sum_i l(y_i, f_i + b) + lam/2 sum_w ||beta_w||^2 / zeta_w   =   lam [ C sum_i l + 1/2 a'K a ],   C = 1/(n lam)

Two ways to the same answer. ``ColumnMachine``: every node has rank one and there are fewer nodes than rows, so all is
algebra of the size of the hull. ``GramMachine``: anything else, by the kernel machines of the library.

Second derivatives (specification, section 6): d2F / dzeta_w dzeta_u = lam (K_w a)'C^{-1}(K_u a), with C = K + n lam / W
and the intercept projected out; W = 1 for the squared loss, s (1 - s) for the logistic one, and the curvature of the
interior point for the hinge.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import scipy

from mklcore.arrays import Array
from mklcore.kernels.operators import Dense
from mklcore.losses import Loss
from mklcore.losses.intercepts import losses_at
from mklcore.machines import machine_of
from mklcore.machines.solution import feasible_start
from mklcore.solvers.hkl.dag import Node
from mklcore.solvers.hkl.hinge import HingeProblem
from mklcore.solvers.hkl.settings import SETTINGS
from mklcore.solvers.hkl.space import KernelSpace
from mklcore.solvers.proof import Bound

NEEDED = "being quadratic, smooth, or piecewise linear and signed"  # of a loss, for a machine on a hull


def suits_hulls(loss: Loss | type[Loss]) -> bool:
    """Whether a hull has a machine for ``loss``: a linear system, derivatives, or the interior point of the hinge."""
    return loss.quadratic or loss.smooth or (loss.piecewise_linear and loss.signed)


@dataclass(frozen=True, eq=False)
class Task:
    """One target under one loss at one lambda: ``y`` (n,) (labels -1 / +1 for hinge and logistic)."""

    y: Array
    loss: Loss
    lam: float
    fit_intercept: bool

    @property
    def interior(self) -> bool:
        """Whether the machine is the interior point of the hinge: the dual is to vary smoothly with the kernel
        weights."""
        return self.loss.piecewise_linear and self.loss.signed

    @property
    def C(self) -> float:
        """The cost of one unit of loss for a machine whose regulariser is 1/2 ||f||^2."""
        return 1.0 / (self.y.size * self.lam)

    def primal(self, decision: Array, intercept: float, squared_norm: float) -> float:
        """(1/n) sum l + lam/2 squared_norm."""
        return float(np.mean(losses_at(self.loss, decision, intercept, self.y))) + 0.5 * self.lam * squared_norm

    def bound(self, a: Array, squared_norm: float) -> Bound:
        """max_s  -(1/n) sum phi*(-n lam s a) - lam/2 s^2 squared_norm, and the s a that has it: any bound on Omega*^2
        will do."""
        half = 0.5 * squared_norm
        s = self.loss.best_multiple(a, self.y, self.C, half)
        if not np.isfinite(half):  # nothing is known of the norm: a = 0 needs no bound
            return Bound(self.lam * self.loss.dual(0.0 * a, self.y, self.C), 0.0 * a, 0.0)
        value, t = max((self.loss.dual(t * a, self.y, self.C) - t * t * half, t) for t in (1.0, s, 0.0))
        return Bound(self.lam * value, t * a, self.lam * half)

    def second_derivative(self, answer: Answer) -> Array:
        """W (n,): the curvature of the loss at the machine's optimum."""
        if self.loss.quadratic:
            return np.ones_like(answer.dual)
        if answer.diagonal is not None:
            return self.y.size * self.lam / answer.diagonal
        if self.loss.sloped and not self.loss.smooth:  # it jumps between two values where a dual is at its bound
            return self.loss.second_derivative(answer.decision + answer.intercept, self.y)
        return np.maximum(1.0 / (self.C * self.loss.curvature(answer.dual, self.y, self.C)), 1e-12)


@dataclass(frozen=True, eq=False)
class Answer:
    """A solved machine: dual (n,), intercept, decision (n,) = K a, and a'K_w a for every node of the hull (m,).

    ``diagonal`` (n,): what the hinge machine adds to K in its last step, None for the others.
    """

    dual: Array
    intercept: float
    decision: Array
    forms: Array
    diagonal: Array | None = None


class Machine(Protocol):
    """The interface of a machine on a hull."""

    def solve(self, zeta: Array, warm: Array | None, accuracy: float) -> Answer: ...

    def hessian(self, zeta: Array, answer: Answer) -> Array: ...


def machine_for(design: KernelSpace, task: Task, nodes: Sequence[Node]) -> Machine:
    """The cheaper machine that can do it."""
    thin = all(design.is_column(node) for node in nodes) and len(nodes) < design.n
    return ColumnMachine(design, task, nodes) if thin else GramMachine(design, task, nodes)


class ColumnMachine:
    """All nodes of rank one: O(m^3) per solve once the (m, m) products of columns are there."""

    def __init__(self, design: KernelSpace, task: Task, nodes: Sequence[Node]) -> None:
        self.task, self.columns = task, design.columns_of(nodes)
        self._gram: Array | None = None
        if task.loss.quadratic:
            centred = self.columns - self.columns.mean(axis=0) if task.fit_intercept else self.columns
            y = task.y - task.y.mean() if task.fit_intercept else task.y
            self._centred, self._y = centred, y
            self._gram, self._moments = centred.T @ centred, centred.T @ y

    def solve(self, zeta: Array, warm: Array | None, accuracy: float) -> Answer:
        if self._gram is not None:
            return self._ridge(zeta)
        return (self._hinge if self.task.interior else self._smooth)(zeta, warm, accuracy)

    def _ridge(self, zeta: Array) -> Answer:
        root, shrink = np.sqrt(zeta), self.task.y.size * self.task.lam
        assert self._gram is not None
        system = self._gram * root[:, None] * root[None, :]
        system.flat[:: zeta.size + 1] += shrink
        beta = root * scipy.linalg.cho_solve(
            scipy.linalg.cho_factor(system, lower=True, overwrite_a=True, check_finite=False),
            root * self._moments,
            check_finite=False,
        )
        dual = (self._y - self._centred @ beta) / shrink
        return self._answer(zeta, dual - dual.mean() if self.task.fit_intercept else dual)

    def _answer(self, zeta: Array, dual: Array) -> Answer:
        """The primal point that this dual gives, so that what is certified is what predicts."""
        task, inner = self.task, self.columns.T @ dual
        decision = self.columns @ (zeta * inner)
        intercept = task.loss.best_intercept(decision, task.y) if task.fit_intercept else 0.0
        return Answer(dual, intercept, decision, inner**2)

    def _hinge(self, zeta: Array, warm: Array | None, accuracy: float) -> Answer:
        task = self.task
        # With 1'a = 0 the centred columns say the same, without the cancellation a constant column brings.
        columns = self.columns - self.columns.mean(axis=0) if task.fit_intercept else self.columns
        scaled = columns * np.sqrt(zeta)

        def solver(h: Array) -> Callable[[Array], Array]:
            """(K + diag h)^{-1} through a system of the size of the hull."""
            part = scaled / h[:, None]
            system = scaled.T @ part
            system.flat[:: zeta.size + 1] += 1.0
            try:
                factor = scipy.linalg.cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
            except scipy.linalg.LinAlgError:  # the 1 is below the rounding of the rest
                return _projected(scaled, h)
            return lambda right: right / h - part @ scipy.linalg.cho_solve(factor, part.T @ right, check_finite=False)

        problem = HingeProblem(lambda a: scaled @ (scaled.T @ a), solver, task.y, task.C, task.loss, task.fit_intercept)
        dual, diagonal = problem.solve(warm, accuracy)
        return replace(self._answer(zeta, dual), diagonal=diagonal)

    def _smooth(self, zeta: Array, warm: Array | None, accuracy: float) -> Answer:
        task, y, C = self.task, self.task.y, self.task.C
        scaled = self.columns * np.sqrt(zeta)
        # The dual of another hull can be worse than nothing: where every row is saturated, no Newton step leads back.
        starts = [np.zeros(zeta.size)] if warm is None else [np.zeros(zeta.size), scaled.T @ warm]
        value, b, f, v = min((self._placed(scaled, v) for v in starts), key=lambda placed: placed[0])
        answer = None
        for _ in range(SETTINGS.newton):
            pull = -task.loss.derivative(f + b, y)
            dual = feasible_start(C * pull, *task.loss.box(y, C), task.fit_intercept)
            answer = self._answer(zeta, dual)
            half = 0.5 * float(dual @ answer.decision)
            primal = C * float(task.loss.value(answer.decision + answer.intercept, y).sum()) + half
            if primal - (task.loss.dual(dual, y, C) - half) <= max(accuracy * half, 1e-14 * primal):
                break
            step = self._newton(scaled, v, f + b, pull)
            length = 1.0
            while length > 1e-8:
                new_v, new_b = v + length * step[: v.size], b + length * step[v.size]
                new_f = scaled @ new_v
                new = C * float(task.loss.value(new_f + new_b, y).sum()) + 0.5 * float(new_v @ new_v)
                if new <= value * (1.0 + 1e-14):
                    break
                length *= 0.5
            else:
                break
            v, b, f, value = new_v, new_b, new_f, new
        assert answer is not None
        return answer

    def _placed(self, scaled: Array, v: Array) -> tuple[float, float, Array, Array]:
        """The value of ``v`` with its best intercept, that intercept, f, and ``v``."""
        task, f = self.task, scaled @ v
        b = task.loss.best_intercept(f, task.y) if task.fit_intercept else 0.0
        return task.C * float(task.loss.value(f + b, task.y).sum()) + 0.5 * float(v @ v), b, f, v

    def _newton(self, scaled: Array, v: Array, t: Array, pull: Array) -> Array:
        """The step of Newton's method in (v, b)."""
        m, C = v.size, self.task.C
        weight = C * np.maximum(self.task.loss.second_derivative(t, self.task.y), 1e-12)
        system = np.zeros((m + 1, m + 1))
        system[:m, :m] = (scaled * weight[:, None]).T @ scaled
        system.flat[: m * (m + 1) : m + 2] += 1.0
        right = np.append(C * (scaled.T @ pull) - v, 0.0)
        system[m, m] = 1.0
        if self.task.fit_intercept:
            system[:m, m] = system[m, :m] = scaled.T @ weight
            system[m, m] = weight.sum()
            right[m] = C * pull.sum()
        return np.linalg.solve(system, right)

    def hessian(self, zeta: Array, answer: Answer) -> Array:
        task = self.task
        gram = self._gram
        if gram is None:
            weight = task.second_derivative(answer)
            columns = self.columns
            if task.fit_intercept:
                columns = columns - (weight @ columns) / weight.sum()
            gram = (columns * weight[:, None]).T @ columns
        root, shrink = np.sqrt(zeta), task.y.size * task.lam
        side = gram * root[None, :]
        system = side * root[:, None]
        system.flat[:: zeta.size + 1] += shrink
        solved: Array = scipy.linalg.cho_solve(
            scipy.linalg.cho_factor(system, lower=True, overwrite_a=True, check_finite=False),
            side.T,
            check_finite=False,
        )
        inner: Array = self.columns.T @ answer.dual
        return task.lam / shrink * (gram - side @ solved) * inner[:, None] * inner[None, :]


def _projected(columns: Array, h: Array) -> Callable[[Array], Array]:
    """(A A' + diag h)^{-1} by orthogonal columns, for the A (n, m) and h (n,) whose products lose too many digits.

    With B = h^{-1/2} A and [B; I] = [Q; P] R it is h^{-1/2} (I - Q Q') h^{-1/2}.
    """
    root = np.sqrt(h)
    Q = np.linalg.qr(np.vstack([columns / root[:, None], np.eye(columns.shape[1])]))[0][: h.size]

    def solve(right: Array) -> Array:
        part = right / root
        solved: Array = (part - Q @ (Q.T @ part)) / root
        return solved

    return solve


class GramMachine:
    """Nodes of any rank by their Gram matrices; columns stay columns."""

    def __init__(self, design: KernelSpace, task: Task, nodes: Sequence[Node]) -> None:
        self.task = task
        thin = np.array([design.is_column(node) for node in nodes])
        self._thin, self._thick = np.flatnonzero(thin), np.flatnonzero(~thin)
        self.columns = design.columns_of([nodes[int(k)] for k in self._thin])
        design.make_room(self._thick.size)
        values = np.empty((self._thick.size, design.n, design.n))
        for place, k in enumerate(self._thick):
            values[place] = design.gram(nodes[int(k)])
        self.kernels = Dense(values)
        self._sum = np.zeros((design.n, design.n))

    def _combined(self, zeta: Array) -> Array:
        self.kernels.combine(np.ascontiguousarray(zeta[self._thick]), self._sum)
        return self._sum + (self.columns * zeta[self._thin]) @ self.columns.T

    def solve(self, zeta: Array, warm: Array | None, accuracy: float) -> Answer:
        task = self.task
        K = np.ascontiguousarray(self._combined(zeta))
        K.flat[:: K.shape[0] + 1] += 1e-14 * float(np.trace(K)) / K.shape[0]
        diagonal = None
        if task.interior:
            dual, diagonal = self._hinge(K, warm, accuracy)
        else:
            machine = machine_of(task.loss)
            dual = machine(K, task.y, task.C, task.loss, task.fit_intercept, warm=warm, accuracy=accuracy).dual
        forms = np.empty(zeta.size)
        forms[self._thin] = (self.columns.T @ dual) ** 2
        forms[self._thick] = self.kernels.quad(dual)
        decision = K @ dual
        intercept = task.loss.best_intercept(decision, task.y) if task.fit_intercept else 0.0
        return Answer(dual, intercept, decision, forms, diagonal)

    def _hinge(self, K: Array, warm: Array | None, accuracy: float) -> tuple[Array, Array]:
        task = self.task

        def solver(h: Array) -> Callable[[Array], Array]:
            system = K.copy()
            system.flat[:: h.size + 1] += h
            factor = scipy.linalg.cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
            return lambda right: scipy.linalg.cho_solve(factor, right, check_finite=False)

        problem = HingeProblem(K.__matmul__, solver, task.y, task.C, task.loss, task.fit_intercept)
        return problem.solve(warm, accuracy)

    def hessian(self, zeta: Array, answer: Answer) -> Array:
        task, a = self.task, answer.dual
        images = np.empty((a.size, zeta.size))  # K_w a
        images[:, self._thin] = self.columns * (self.columns.T @ a)
        images[:, self._thick] = self.kernels.matvec(a).T
        weight = task.second_derivative(answer)
        rows = np.flatnonzero(weight > 0)
        root = np.sqrt(weight[rows])
        system = self._combined(zeta)[np.ix_(rows, rows)] * root[:, None] * root[None, :]
        system.flat[:: rows.size + 1] += a.size * task.lam + 1e-13 * float(np.trace(system)) / max(rows.size, 1)
        left = images[rows] * root[:, None]
        if rows.size == 0:
            return np.zeros((zeta.size, zeta.size))
        factor = scipy.linalg.cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
        solved: Array = scipy.linalg.cho_solve(factor, left, check_finite=False)
        if task.fit_intercept:
            across = scipy.linalg.cho_solve(factor, root, check_finite=False)
            solved -= np.outer(across, root @ solved) / float(root @ across)
        return task.lam * left.T @ solved
