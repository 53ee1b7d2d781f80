"""The problem on a hull J: two ways to move the weights, both certified at every step.

    min_{eta in H} min_{beta, b}  (1/n) sum_i l(y_i, f(x_i) + b) + lam/2 sum_{w in J} ||beta_w||^2 / zeta_w(eta)
        (2), (3)

    H = {eta >= 0, sum_v d_v^2 eta_v <= 1},   1/zeta_w = sum_{v in A(w)} 1/eta_v,   x_v = d_v^2 eta_v in the simplex

With a_w = a'K_w a at the machine's dual a, kappa_vw = zeta_w / eta_v (its columns sum to one), h_v = sum_w kappa_vw
zeta_w a_w:

    sum_v h_v = sum_w zeta_w a_w  <=  Omega*_J(a)^2  <=  max_v h_v / x_v

``EtaFixedPoint``   x_v <- sqrt(x_v h_v) / sum: exact block minimisation of (2), never goes up; shrinks zeros slowly.
``Barrier``         Newton steps on F(x) - tau sum_v log x_v over the simplex, F the value of (2) in x: 1e-9 in 15 to
25.

Source: Bach (2008), equations (2), (3), Proposition 1; specification, sections 2 and 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mklcore.arrays import Array
from mklcore.solvers.driver import AnyIterate, Iterate, Method, Status, Trace, run
from mklcore.solvers.hkl.dag import Node
from mklcore.solvers.hkl.machine import Answer, Task, machine_for
from mklcore.solvers.hkl.settings import SETTINGS
from mklcore.solvers.hkl.space import KernelSpace, NodeWeights

_FLOOR = 1e-13  # the smallest share of the simplex
_SHARPEST = 1e-13  # no machine is asked for a smaller relative gap


@dataclass(frozen=True, eq=False)
class Inner:
    """What an inner iterate carries: shares x, h, a_w, the bound on Omega*_J^2, Omega, ||beta_D(v)||, own dual, own
    F.
    """

    x: Array
    h: Array
    answer: Answer
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

    def regulariser_share(self, lam: float) -> float:
        """lam/2 times the bound on Omega*^2 as a share of the value, at most 1: what a gap may be measured by
        instead.
        """
        return min(1.0, 0.5 * lam * self.bound / max(abs(self.value), np.finfo(float).tiny))


class Reduced:
    """Problem (3) on the hull ``nodes``: from shares x to a certified point."""

    def __init__(self, design: KernelSpace, task: Task, nodes: Sequence[Node], weights: NodeWeights) -> None:
        self.task, self.nodes = task, list(nodes)
        self.d = weights.of(self.nodes)
        self.ancestry = design.ancestry(self.nodes)
        self.machine = machine_for(design, task, self.nodes)

    def evaluate(self, x: Array, warm: Array | None, accuracy: float) -> AnyIterate:
        """Solve the machine at ``x`` (m,) on the simplex; the certificate holds for problem (3)."""
        task = self.task
        x = np.maximum(x, _FLOOR)
        x = x / x.sum()
        eta = x / self.d**2
        zeta = self.ancestry.zeta(eta)
        answer = self.machine.solve(zeta, warm, accuracy)
        below = self.ancestry.down(zeta**2 * answer.forms)
        h, norms = below / eta, np.sqrt(below)
        omega, bound = float(self.d @ norms), float(np.max(h / x))
        objective = task.primal(answer.decision, answer.intercept, omega**2)
        value = task.primal(answer.decision, answer.intercept, float(zeta @ answer.forms))
        proved = task.bound(answer.dual, bound)
        state = Inner(x, h, answer, bound, omega, norms, proved.value, value)
        return Iterate(
            zeta,
            answer.dual,
            answer.intercept,
            objective,
            proved.value,
            abs(objective),
            state=state,
            dual_point=proved.point,
        )


class EtaFixedPoint(Method[Inner]):
    """The fixed point of the weights as the driver's method; ``x`` (m,) starts it, ``dual`` (n,) warms the machine."""

    descends = False  # it ends on its sharpest point, which need not have its lowest objective

    def __init__(self, problem: Reduced, x: Array, dual: Array | None, *, tol: float) -> None:
        self.problem, self.tol = problem, tol
        self.name = "HKL eta fixed point"
        self._x, self._dual = x, dual
        self._sharpest: AnyIterate | None = None
        self._idle = 0

    def init(self) -> AnyIterate:
        return self._seen(self.problem.evaluate(self._x, self._dual, self._accuracy(1.0)))

    def step(self, best: AnyIterate, last: AnyIterate, trace: Trace) -> AnyIterate | Status:
        if self._idle >= 20 * SETTINGS.patience:
            return Status.STALLED
        return self._seen(self._fixed_point(last))

    def polish(self, best: AnyIterate) -> AnyIterate:
        """The iterate with the smallest gap of its own: its dual, not another's, is what the search goes on with."""
        return self.sharpest

    @property
    def sharpest(self) -> AnyIterate:
        assert self._sharpest is not None
        return self._sharpest

    def _fixed_point(self, last: AnyIterate) -> AnyIterate:
        shares = np.sqrt(last.state.x * last.state.h)
        total = float(shares.sum())
        x = shares / total if total > 0 else last.state.x
        return self.problem.evaluate(x, last.dual, self._accuracy(last.state.gap_share))

    def _accuracy(self, gap_share: float) -> float:
        if self.problem.task.interior:
            return float(np.clip(0.02 * gap_share, max(0.01 * self.tol, _SHARPEST), 1e-4))
        # The bound on the dual norm feels the machine's error to first order, the machine's own gap to second.
        return float(np.clip((0.03 * gap_share) ** 2, _SHARPEST, 1e-4))

    def _seen(self, point: AnyIterate) -> AnyIterate:
        sharper = self._sharpest is None or point.state.gap_share < self._sharpest.state.gap_share
        halved = self._sharpest is None or point.state.gap_share < 0.5 * self._sharpest.state.gap_share
        self._idle = 0 if halved else self._idle + 1
        if sharper:
            self._sharpest = point
        return point


class Barrier(EtaFixedPoint):
    """Log-barrier Newton on the simplex of shares; where a step does not pay, the fixed point takes its turn."""

    def __init__(self, problem: Reduced, x: Array, dual: Array | None, *, tol: float) -> None:
        super().__init__(problem, x, dual, tol=tol)
        self.name = "HKL log-barrier Newton"

    def step(self, best: AnyIterate, last: AnyIterate, trace: Trace) -> AnyIterate | Status:
        if self._idle >= SETTINGS.patience:
            return Status.STALLED
        state = last.state
        gap = max(state.value - state.dual_objective, 1e-16 * abs(state.value))
        tau = 0.15 * gap / state.x.size
        if state.tau > 0:  # lower the barrier only near its own centre, where the gap is about m tau
            tau = min(tau, 0.5 * state.tau) if gap <= 3.0 * state.tau * state.x.size else state.tau
        direction = self._direction(last, tau)
        if direction is None:
            return self._seen(self._fixed_point(last))
        old = state.value - tau * float(np.sum(np.log(state.x)))
        length = min(1.0, SETTINGS.to_the_wall / max(float(np.max(-direction)), 1e-300))
        for _ in range(SETTINGS.halvings):
            trial = self.problem.evaluate(
                state.x * (1.0 + length * direction), last.dual, self._accuracy(state.gap_share)
            )
            new = trial.state.value - tau * float(np.sum(np.log(trial.state.x)))
            if new <= old + 1e-12 * abs(state.value) or trial.state.gap_share < 0.5 * state.gap_share:
                return self._seen(replace(trial, state=replace(trial.state, tau=tau)))
            length *= 0.5
        return self._seen(self._fixed_point(last))

    def _direction(self, last: AnyIterate, tau: float) -> Array | None:
        """Relative step ds with x'ds = 0 that solves the Newton system, everything scaled by x."""
        problem, state, zeta = self.problem, last.state, last.weights
        lam, forms = problem.task.lam, state.answer.forms
        kappa = problem.ancestry.matrix() * zeta[None, :] / (state.x / problem.d**2)[:, None]
        side = kappa * zeta[None, :]
        right = np.column_stack([0.5 * lam * state.h + tau, state.x])
        try:
            hessian = problem.machine.hessian(zeta, state.answer)
            system = side @ hessian @ side.T - lam * (kappa * (zeta * forms)[None, :]) @ kappa.T
            system.flat[:: state.x.size + 1] += lam * state.h + tau
            solved = np.linalg.solve(system, right)
        except np.linalg.LinAlgError:
            return None
        across = float(state.x @ solved[:, 1])
        if not (np.all(np.isfinite(solved)) and across > 0):
            return None
        return solved[:, 0] - solved[:, 1] * float(state.x @ solved[:, 0]) / across


def solve_reduced(
    design: KernelSpace,
    task: Task,
    nodes: Sequence[Node],
    weights: NodeWeights,
    x: Array,
    dual: Array | None,
    *,
    tol: float,
    max_iter: int = 200,
) -> tuple[AnyIterate, Reduced, int]:
    """The reduced problem (3) on ``nodes`` to a relative gap of ``tol``, from shares ``x`` (m,): point, problem,
    solves.
    """
    problem = Reduced(design, task, nodes, weights)
    if float(x.min()) < SETTINGS.mix_below:
        x = 0.9 * x + 0.1 / x.size
    solves = 0
    for kind, goal, steps in ((EtaFixedPoint, max(tol, SETTINGS.loose), SETTINGS.first), (Barrier, tol, max_iter)):
        method = kind(problem, x, dual, tol=goal)
        solves += run(method, tol=goal, max_iter=steps).solves
        point = method.sharpest
        if point.state.gap_share <= tol:
            break
        x, dual = point.state.x, point.dual
    return point, problem, solves
