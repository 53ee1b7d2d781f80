"""Hierarchical kernel learning over the whole grid: train on a small hull, certify on a large one.

    min_{beta, b}  (1/n) sum_i l(y_i, f(x_i) + b) + lam/2 ( sum_v d_v ||beta_D(v)|| )^2,  f = sum_v <beta_v, Phi_v>  (1)

As printed                                         HKL2 (specification, section 6), the default ``search="certified"``
    J <- {root}                                        J <- {root}, C <- J
    repeat  solve (3) on J                             repeat  solve (3) on J
            if N_J fails: J += largest violators               if N_J fails: J += largest violators
            else if S_J fails: J += the same                   else C += sources with S_t above the threshold; if the
                                                               dual norm over C fails: J += nodes that make it fail
    until   S_J holds or |J| >= Q                      until   bound over C and S outside hold, or |C| >= Q

``search="necessary"`` stops when N_J holds: quick, provisional, and possibly wrong in kind, because an interaction
without main effects is found by the S phase only. Polished to 1e-7 and better before a hull is declared.

Source: Bach (2008), algorithm of section 4; specification, sections 3, 6 and 10.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mklcore.arrays import Array
from mklcore.losses.intercepts import losses_at
from mklcore.solvers.driver import AnyIterate, Method, Status, Trace
from mklcore.solvers.hkl.certificate import Certifier, Proof, dual_norm, dual_of, primal_of
from mklcore.solvers.hkl.dag import Node
from mklcore.solvers.hkl.inner import Inner, solve_reduced
from mklcore.solvers.hkl.machine import Task
from mklcore.solvers.hkl.settings import SETTINGS
from mklcore.solvers.hkl.space import KernelSpace, NodeWeights
from mklcore.solvers.hkl.work import Work, training_cost
from mklcore.solvers.proof import EXACT, ROUNDING, Certificate

SEARCHES = ("certified", "printed", "necessary")
ACTIVE = 1e-5  # a node is in the hull when ||beta_D(v)|| is above this share of the largest
_UNRELATED = 8.0 * np.finfo(float).eps  # times n: a correlation that is rounding


@dataclass(frozen=True, eq=False)
class Found:
    """What a point of the search carries: the trained nodes, the inner iterate, and, at the end, who stands outside.

    ``sources``: a_t / (d_t^2 delta^2) for every source; 1 is where it enters. ``looked_at`` counts the nodes this
    search computed anything for, ``ever`` those of the searches it was started from as well.
    """

    nodes: tuple[Node, ...]
    inner: Inner
    sources: dict[Node, float]
    looked_at: int = 0
    ever: int = 0


@dataclass(frozen=True, eq=False)
class WarmHull:
    """Where a neighbouring lambda ended: shares of its trained nodes, its dual, its certificate set.

    ``seen`` are the hashes of all nodes looked at so far: one set for a whole path, because nodes themselves are large.
    """

    shares: dict[Node, float]
    dual: Array
    certificate: tuple[Node, ...]
    seen: set[int]


@dataclass(frozen=True)
class Limits:
    """Bounds of a search: ``max_nodes`` of the certificate set (of J as printed), ``seconds`` of counted work (None: no
    bound)."""

    max_nodes: int = 2000
    seconds: float | None = None


class HullSearch(Method[object]):
    """The search as the driver's method. A step either grows the hull and trains again, or certifies."""

    def __init__(
        self,
        design: KernelSpace,
        task: Task,
        weights: NodeWeights,
        *,
        search: str,
        tol: float,
        limits: Limits,
        warm: WarmHull | None = None,
    ) -> None:
        self.design, self.task, self.weights = design, task, weights
        self.search, self.tol, self.limits, self.warm = search, tol, limits, warm
        self.name = f"HKL ({search} search)"
        self.work = Work(limits.seconds)
        self.certifier = Certifier(design, weights, max_nodes=limits.max_nodes, work=self.work)
        self.bounded = False
        self._proofs: list[tuple[Array, Proof, float]] = []  # what bounds every dual point there is a value for
        self._rough = float(np.clip(0.1 * tol, SETTINGS.sharp, SETTINGS.rough))

    # -- the driver's three calls ------------------------------------------------------------------------------------

    def init(self) -> AnyIterate:
        self.hull, dual = self.design.hull(), None
        shares = dict.fromkeys(self.hull.nodes, 1.0)
        if self.warm is not None:
            self.hull.add(self.warm.shares)
            shares, dual = self.warm.shares, self._dual_from(self.warm.dual)
            self.certifier.set.add(self.warm.certificate)
        self._wanted: list[Node] = []
        self._verdict_due = False
        return self._train(shares, dual, self._rough)

    def step(self, best: AnyIterate, last: AnyIterate, trace: Trace) -> AnyIterate | Status:
        if self.work.is_over:
            return Status.OUT_OF_TIME
        if len(self.hull) >= self.limits.max_nodes:
            return Status.MAX_NODES
        wanted = self._wanted or self._necessary(last)
        if wanted:
            if not self.design.fits([*self.hull.members, *wanted]):
                return Status.OUT_OF_MEMORY
            self._wanted = []
            self.hull.add(wanted[: max(1, self.limits.max_nodes - len(self.hull))])
            return self._train(self._shares(last), last.dual, self._rough)
        if self.search == "necessary":
            return Status.PROVISIONAL
        if self._verdict_due:
            return self._verdict_on_limits(last)
        return self._certified(last)

    def polish(self, best: AnyIterate) -> AnyIterate:
        """Polish, take in what N_J still asks for, prune to the active nodes, and bound the gap if nobody has."""
        point = self._polished(best)
        active = [
            v for v, norm in zip(point.state.nodes, _norms(point), strict=True) if norm > ACTIVE * _norms(point).max()
        ]
        if 0 < len(active) < len(point.state.nodes):
            shares = self._shares(point)
            self.hull = self.design.hull(active)
            pruned = self._train(shares, point.dual, SETTINGS.sharp)
            worth = pruned.objective <= point.objective + 0.1 * self.tol * abs(point.objective)
            point, other = (pruned, point) if worth else (point, pruned)
            point = replace(point, solves=pruned.solves + other.solves)
            self.hull = self.design.hull(point.state.nodes)
        if self.search != "necessary" and not self.bounded:
            point = self._bounded_as_is(point)
        inner: Inner = point.state.inner
        outside = self.certifier.violations(self.hull, point.dual)
        sources = {node: value / inner.bound if inner.bound > 0 else 0.0 for node, value in outside.items()}
        looked_at = self.certifier.looked_at | set(self.certifier.set.members) | set(self.hull.members)
        self._seen = set() if self.warm is None else self.warm.seen
        self._seen.update(map(hash, looked_at))
        state = replace(point.state, sources=sources, looked_at=len(looked_at), ever=len(self._seen))
        self.found = replace(point, state=state)
        return self.found

    def certify(self, best: AnyIterate, dual_point: Array | None) -> Certificate:
        """Objective and dual value of published parts from scratch, as ``hkl_certificate`` computes them."""
        design, weights, task = self.design, self.weights, self.task
        objective = primal_of(design, weights, task, best.state.nodes, best.weights, best.dual, best.intercept)
        dual, off = None, abs(objective - best.objective)
        if dual_point is not None:
            dual = dual_of(design, weights, task, dual_point, self.proof_of(dual_point))
            seen = [abs(dual - value) for point, _, value in self._proofs if point is dual_point]
            summed = 0.5 * task.lam * ROUNDING * float(np.abs(dual_point).sum()) ** 2  # what rounding may have of sums
            off = max([off, EXACT * summed, *seen])
        if off <= EXACT * abs(objective):
            return Certificate(objective, dual)
        return Certificate(objective, dual, self._rounding_of(best, objective), self.scales)

    @property
    def scales(self) -> str:
        """What the numbers of the problem are made of, for a refusal."""
        return f"lam is {self.task.lam:.3g}, and C = 1/(n lam) is {self.task.C:.3g}, smaller where lam is larger"

    def _rounding_of(self, best: AnyIterate, objective: float) -> float:
        """What rounding of the decision values can move the objective by."""
        size, noise = np.abs(best.dual), np.zeros(self.design.n)
        for node, weight in zip(best.state.nodes, best.weights, strict=True):
            if self.design.is_column(node):
                root = np.abs(self.design.columns_of([node])[:, 0])
            else:
                root = np.sqrt(np.diag(self.design.gram(node)))
            noise += ROUNDING * weight * float(root @ size) * root
        answer, task = best.state.inner.answer, self.task
        at = answer.decision + best.intercept
        values = [float(np.mean(losses_at(task.loss, at + shift, 0.0, task.y))) for shift in (0.0, noise, -noise)]
        norm = task.lam * float(size @ noise)
        return (
            abs(values[1] - values[0]) + abs(values[2] - values[0]) + norm + ROUNDING * self.design.n * abs(objective)
        )

    def proof_of(self, dual_point: Array | None) -> Proof | None:
        """Nodes and shares from which the bound behind the value of a dual point of this search can be computed
        again."""
        return next((proof for point, proof, _ in self._proofs if point is dual_point), None)

    # -- training ----------------------------------------------------------------------------------------------------

    def warm_start(self) -> WarmHull:
        """What the next lambda starts from."""
        return WarmHull(self._shares(self.found), self.found.dual, tuple(self.certifier.set.nodes), self._seen)

    def _train(self, shares: dict[Node, float], dual: Array | None, tol: float) -> AnyIterate:
        """Solve (3) on the present hull; the full gap is not known yet."""
        nodes = self.design.ordered(self.hull.members)
        x = np.array([shares.get(node, 0.0) for node in nodes])
        x = x / x.sum() if x.sum() > 0 else np.full(len(nodes), 1.0 / len(nodes))
        point, _, solves = solve_reduced(self.design, self.task, nodes, self.weights, x, dual, tol=tol)
        thin = self.design.all_columns and len(nodes) < self.design.n
        self.work.spend(training_cost(self.design.n, len(nodes), solves, thin))
        self._verdict_due = False
        whole = not self.hull.sources  # J is the whole grid: its certificate is everybody's
        trained = replace(point, solves=solves, state=Found(tuple(nodes), point.state, {}))
        if not whole:
            return replace(trained, dual_objective=None, dual_point=None)
        return self._proved(trained, point.state.bound, Proof(tuple(nodes), point.state.x))

    def _proved(self, point: AnyIterate, bound: float, proof: Proof) -> AnyIterate:
        """``point`` with the dual value that a bound on Omega*(a)^2 gives; its proof is kept."""
        found = self.task.bound(point.dual, bound)
        self.bounded = True
        self._proofs.append((found.point, proof, found.value))
        return replace(point, dual_objective=found.value, dual_point=found.point)

    def _shares(self, point: AnyIterate) -> dict[Node, float]:
        return dict(zip(point.state.nodes, point.state.inner.x.tolist(), strict=True))

    def _dual_from(self, dual: Array) -> Array | None:
        """A neighbour's dual moved into this lambda's box; the smooth machines start from it, exactness is theirs."""
        low, high = self.task.loss.box(self.task.y, self.task.C)
        return np.clip(dual, low, high)

    def _polished(self, best: AnyIterate) -> AnyIterate:
        point = self._train(self._shares_on_hull(best), best.dual, SETTINGS.sharp)
        for _ in range(SETTINGS.rounds):
            wanted = self._necessary(point)
            full = len(self.hull) >= self.limits.max_nodes or not self.design.fits([*self.hull.members, *wanted])
            if not wanted or full or self.work.is_over:
                return point
            self.hull.add(wanted)
            following = self._train(self._shares(point), point.dual, SETTINGS.sharp)
            point = replace(following, solves=following.solves + point.solves)
        return point

    def _shares_on_hull(self, best: AnyIterate) -> dict[Node, float]:
        self.hull.add(best.state.nodes)
        return self._shares(best)

    # -- conditions --------------------------------------------------------------------------------------------------

    def _necessary(self, point: AnyIterate) -> list[Node]:
        """The largest violators of N_J."""
        limit = point.state.inner.bound * (1.0 + SETTINGS.strict)
        values = self.certifier.violations(self.hull, point.dual)
        above = sorted((t for t, value in values.items() if value > limit), key=values.__getitem__, reverse=True)
        return above[: self._batch(SETTINGS.violators)]

    def _batch(self, printed: int) -> int:
        """As printed, or a third of the hull where that is more and the search is our own."""
        return printed if self.search == "printed" else max(printed, len(self.hull) // 3)

    def _threshold(self, point: AnyIterate) -> float:
        """Omega*(a)^2 up to here keeps the full gap within the tolerance."""
        inner: Inner = point.state.inner
        spare = self.tol * abs(point.objective) * (1.0 - 1e-9) - (point.objective - inner.dual_objective)
        return inner.bound + 2.0 * spare / self.task.lam

    def _certified(self, last: AnyIterate) -> AnyIterate | Status:
        threshold = self._threshold(last)
        most = SETTINGS.sources if self.search == "printed" else self._batch(SETTINGS.violators)
        verdict = self.certifier.certify(
            self._shares(last), last.dual, threshold, grow=self.search != "printed", most=most
        )
        self._wanted, self._verdict_due = verdict.wanted, True
        self._full = verdict.full
        if not verdict.holds and (verdict.full or not verdict.wanted):
            self._wanted = []
        last = replace(last, dual_objective=None, dual_point=None, solves=0)
        if verdict.bound is None:
            return last
        assert verdict.proof is not None
        return self._proved(last, verdict.bound, verdict.proof)

    def _verdict_on_limits(self, last: AnyIterate) -> Status:
        if self.work.is_over:
            return Status.OUT_OF_TIME
        return Status.MAX_NODES if self._full else Status.STALLED

    def _bounded_as_is(self, point: AnyIterate) -> AnyIterate:
        """A full gap for the model as it stands, whatever it comes to: C is J, one pass over its sources."""
        counted, self.certifier.work = self.work, Work()
        verdict = self.certifier.certify(self._shares(point), point.dual, np.inf, grow=False, most=0)
        self.certifier.work = counted
        assert verdict.bound is not None
        assert verdict.proof is not None
        return self._proved(point, verdict.bound, verdict.proof)


def _norms(point: AnyIterate) -> Array:
    norms: Array = point.state.inner.norms
    return norms


def lambda_range(design: KernelSpace, y: Array, weights: NodeWeights) -> tuple[float, float]:
    """Where lambda matters: up to 100 Omega*(Phi'(y - mean)/n)^2 / var(y), where the fit is within 1 % of none; from
    1e-8 of it.

    Omega* is that of a hull grown by the necessary condition. There is no lambda with an empty hull, because Omega is
    squared: the largest lambdas keep the nodes at which the dual norm is attained. Where the target is constant, or
    related to no kernel by more than rounding, no lambda matters: 1e-8 to 1.
    """
    centred = y - y.mean()
    spread = float(np.mean(centred**2))
    if spread <= 0.0:
        return 1e-8, 1.0
    a, hull, certifier = centred / y.size, design.hull(), Certifier(design, weights, max_nodes=0)
    hull.add(list(hull.sources))
    while True:
        forms = design.forms(hull.nodes, a)
        start, ancestry = np.zeros(len(hull)), design.ancestry(hull.nodes)
        lower = dual_norm(hull.nodes, forms, weights, start, np.inf, steps=SETTINGS.rounds, ancestry=ancestry).lower
        values = certifier.violations(hull, a)
        above = sorted((t for t, value in values.items() if value > lower), key=values.__getitem__, reverse=True)
        if not above or len(hull) > SETTINGS.range_nodes * design.p:
            break
        hull.add(above[: SETTINGS.sources])
    if lower <= (_UNRELATED * y.size) ** 2 * spread:
        return 1e-8, 1.0
    high = 100.0 * lower / spread
    return 1e-8 * high, high
