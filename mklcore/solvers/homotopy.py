"""Along a path at p = 1: the neighbour's optimum is followed to the new C, event by event, and certified over all
kernels.

At small C the optimum is a kink that takes a method started anywhere dozens of machines, yet from one C to the next few
points and kernels change their state, and each change costs one small system (``homotopy_steps.py``). What is followed
is exact, so the next point of the path starts where this one ends.

    kernels with weight at the neighbour, and the nearest to having one
    repeat   follow the optimum over these kernels to the new C
             Q_m = a'K_m a for all kernels: the certificate
    until    it holds; else the kernels that break it come in

Any point is the optimum of a problem with other targets and forms, so that the same steps lead on from what a few
Newton steps have reached at the same C, while these differences fade. Where the way is lost, or dearer than solving
anew, nothing is said and another method starts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mklcore.arrays import Array, Indices
from mklcore.kernels.operators import Capability, KernelOperator
from mklcore.machines.solution import feasible_start
from mklcore.solvers import homotopy_steps
from mklcore.solvers.driver import Iterate, Status
from mklcore.solvers.problem import Carried, Problem, WarmStart, WeightedMethod
from mklcore.solvers.reweighting import NEGLIGIBLE, WeightIterate, WeightState
from mklcore.solvers.working_set import nearest


@dataclass(frozen=True)
class HomotopySettings:
    """What following the optimum is tuned by.

    A value changes how long a fit takes, not what its certificate proves.
    """

    most_free: int = 150  # free support vectors: beyond, a system costs more than a machine
    event: float = 4e5  # values that an event may read on the way to another C: beyond, machines are faster
    passes: float = 1.0  # over the stack: multiplications that following may cost
    least: float = 8e7  # multiplications that are always allowed
    rounds: int = 6  # times that the path may be lost, or kernels come in
    # of lam: distance of a shifted start from an event, larger each time the path is lost
    apart: tuple[float, ...] = (1e-7, 1e-4, 1e-2, 1.0)
    below: float = 1e-7  # of t: how far below it the form of a kernel without weight begins
    at_bound: float = 1e-12  # share of C within which a dual is at its bound


SETTINGS = HomotopySettings()


def is_too_free(a: Array, low: Array, high: Array) -> bool:
    """Whether so many points are off their bounds that following them costs more than machines."""
    return bool(np.count_nonzero((a > low) & (a < high)) > SETTINGS.most_free)


@dataclass(eq=False)
class Place:
    """An optimum over some kernels, in terms of alpha = a / C: ``live`` (L,) kernels that may have weight, ``alpha``
    (n,),
    ``theta`` (L,), ``G`` (L, n) = K_m alpha, ``beta``."""

    live: Indices
    alpha: Array
    theta: Array
    G: Array
    beta: float

    def among(self, live: Indices, K: KernelOperator) -> Place:
        """The same place among other kernels of ``K``, those with weight with them, as a copy."""
        G, theta = np.empty((live.size, self.alpha.size)), np.zeros(live.size)
        known = np.isin(live, self.live)
        where = np.searchsorted(self.live, live[known])
        G[known], theta[known] = self.G[where], self.theta[where]
        if not np.all(known):
            G[~known] = K.matvec(self.alpha, live[~known])
        return Place(live, self.alpha.copy(), theta, G, self.beta)


class Homotopy(WeightedMethod[WeightState]):
    """The neighbour of ``warm`` at the problem's own C, as a method that is done at its start or not at all."""

    def __init__(self, problem: Problem, *, tol: float, warm: WarmStart) -> None:
        self.problem, self.tol = problem, tol
        self.name = "lp optimum followed from its neighbour, event by event"
        self.lin = problem.loss.linear(problem.y)
        self.low, self.high = problem.loss.box(problem.y, 1.0)
        self.balanced = problem.fit_intercept and problem.loss.takes_intercept
        self._warm, self.dear = warm, False
        alpha = feasible_start(warm.dual / float(warm.C), self.low, self.high, self.balanced)
        for bound in (self.low, self.high):
            alpha = np.where(np.abs(alpha - bound) <= SETTINGS.at_bound, bound, alpha)
        self._alpha: Array = alpha
        known = warm.carried.live
        self._live = nearest(warm.weights, warm.weights) if known is None else known

    @staticmethod
    def suits(problem: Problem, warm: WarmStart | None) -> bool:
        """Whether there is a neighbour that was not too dear, and a loss whose dual is linear on a box that grows with
        one C.
        """
        loss = problem.loss
        return (
            warm is not None
            and Capability.DENSE in problem.K.capabilities
            and problem.penalty.simplex
            and loss.piecewise_linear
            and loss.epsilon == 0.0
            and loss.total == 0.0
            and loss.box_is_scaled_by_C
            and np.ndim(problem.C) == 0
            and np.ndim(warm.C) == 0
            and bool(np.any(warm.dual))
        )

    def init(self) -> WeightIterate:
        """What was found."""
        return self.last

    def found(self) -> WeightIterate | None:
        """The certified optimum; None where the way is lost or too dear, and ``dear`` says which."""
        K, lost = self.problem.K, 0
        start, end = 1.0 / float(self._warm.C), 1.0 / float(self.problem.C)
        free = int(np.count_nonzero((self._alpha > self.low) & (self._alpha < self.high)))
        self.dear = free > SETTINGS.most_free or (
            start != end and free * self._live.size * K.n_samples > SETTINGS.event
        )
        if self.dear:
            return None
        first, budget = self._begun(), SETTINGS.least + SETTINGS.passes * K.n_kernels * K.n_samples**2
        for _ in range(SETTINGS.rounds):
            place = first.among(first.live, K)
            ended, spent = self._moved(place, start, end, SETTINGS.apart[lost], budget)
            budget -= spent
            if ended == homotopy_steps.DEAR:
                self.dear = True
                return None
            if ended == homotopy_steps.LOST:
                lost = min(lost + 1, len(SETTINGS.apart) - 1)
                continue
            point = self._read(place)
            if point.objective - float(point.dual_objective or 0.0) <= self.tol * point.scale:
                self.place, self.last = place, point
                return point
            Q = point.state.Q
            outside = np.setdiff1d(np.flatnonzero(Q[place.live].max() * (1.0 - 1e-9) < Q), place.live)
            if outside.size == 0:
                return None
            first, start, lost = place.among(np.union1d(place.live, outside), K), end, 0
        return None

    def step(self, best: WeightIterate, last: WeightIterate, trace: object) -> WeightIterate | Status:
        return Status.STALLED

    @property
    def carry(self) -> Carried:
        """The kernels that matter, and whether following was too dear."""
        return Carried(nearest(self.last.weights, self.last.state.Q), self._warm.carried.homotopy_is_dear)

    def _begun(self) -> Place:
        """The neighbour's solution, whole or nearly optimal, over the kernels that matter there."""
        warm, task, alpha, live, C = self._warm, self.problem, self._alpha, self._live, float(self._warm.C)
        G = task.K.matvec(alpha, live)
        free = np.count_nonzero((alpha > self.low) & (alpha < self.high))
        lighter = np.argsort(-warm.weights[live], kind="stable")[max(free, 1) :]
        theta = warm.weights[live]
        theta[lighter] = 0.0  # so few free points cannot make more forms equal
        theta /= theta.sum()
        b = task.loss.best_intercept(C * (theta @ G), task.y) / C if self.balanced else 0.0
        return Place(live, alpha, theta, G, b)

    def _moved(self, place: Place, start: float, end: float, apart: float, budget: float) -> tuple[int, float]:
        """Follow the optimum from lam = ``start`` to ``end``, in place; how it ended, and the multiplications."""
        kernels: Any = self.problem.K
        x = np.zeros(5)
        P, W = np.zeros((9, self.lin.size)), np.zeros((8, place.theta.size))
        S = np.empty((3, *place.G.shape))
        at = np.where(
            place.alpha <= self.low,
            homotopy_steps.LOW,
            np.where(place.alpha >= self.high, homotopy_steps.HIGH, homotopy_steps.FREE),
        )
        state = np.where(self.low >= self.high, homotopy_steps.LOW, at).astype(np.int64)
        v = start * self.lin - place.theta @ place.G - place.beta
        room = apart * start * (1.0 + np.random.default_rng(0).random(v.size))  # no two events at once
        shift = np.where(state == homotopy_steps.FREE, -v, state * np.maximum(room - state * v, 0.0))
        form, active = 0.5 * (place.G @ place.alpha), (place.theta > 0.0).astype(np.int64)
        t = float(place.theta @ form)
        P[: homotopy_steps.V] = place.alpha, self.lin, self.low, self.high, shift
        W[: homotopy_steps.FORM] = (
            place.theta,
            np.where(active > 0, t - form, np.minimum(t * (1.0 - SETTINGS.below) - form, 0.0)),
        )
        S[homotopy_steps.G], x[:] = place.G, (place.beta, t, 0.0, start, end)
        ended, _, spent = homotopy_steps.follow(
            kernels.values, place.live, P, W, S, state, active, x, self.balanced, SETTINGS.most_free, budget
        )
        place.alpha, place.theta, place.G, place.beta = (
            P[homotopy_steps.ALPHA],
            W[homotopy_steps.THETA],
            S[homotopy_steps.G],
            float(x[homotopy_steps.BETA]),
        )
        whole = bool(np.all(np.isfinite(place.theta))) and place.theta.sum() > 0.0
        return int(ended) if whole else homotopy_steps.LOST, float(spent)

    def _read(self, place: Place) -> WeightIterate:
        """The place as a point, with its certificate from one pass over all kernels."""
        task, C = self.problem, float(self.problem.C)
        weights = np.zeros(task.K.n_kernels)
        weights[place.live] = np.where(place.theta < NEGLIGIBLE * place.theta.max(), 0.0, place.theta)
        weights = task.penalty.scale(weights)
        low, high = task.loss.box(task.y, C)
        a = feasible_start(C * place.alpha, low, high, self.balanced)
        Q = task.K.quad(a)
        b, errors = task.loss_at(task.K.decision(weights, a))
        bound, primal = task.bound(a, Q), errors + task.regulariser(weights, Q)
        state = WeightState(Q, primal, 0.0, self.tol)
        return Iterate(weights, a, b, primal, bound.value, bound.price, state=state, dual_point=bound.point)
