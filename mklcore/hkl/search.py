"""Hierarchical kernel learning over the whole grid: train on a small hull, certify on a large one.

    min_{beta, b}  (1/n) sum_i l(y_i, f(x_i) + b) + lam/2 ( sum_v d_v ||beta_D(v)|| )^2        (1)
    with f = sum_v <beta_v, Phi_v>

The algorithm as printed:

    J <- {root}
    repeat
        solve (3) on J
        if N_J fails:       J += the largest violators
        else if S_J fails:  J += the largest violators
    until S_J holds or |J| >= Q

HKL2, which is ours and the default (``search="certified"``):

    J <- {root}, C <- J
    repeat
        solve (3) on J
        if N_J fails:  J += the largest violators
        else:          C += sources with S_t above the threshold
                       if the dual norm over C fails:  J += the nodes that make it fail
    until the bound over C and S outside hold, or |C| >= Q

C is where the bound is taken, J where the model is trained: a bound over a large C costs scalars
a_w only. ``search="necessary"`` stops when N_J holds. This is quick but provisional, and can be
wrong in kind, because an interaction without main effects is only found by the S phase. The hull
is polished to 1e-7 or better before it is published.

For any dual a and any hull C, with kappa from shares x on C, and kappa_vw = d_v / sum_{v' in A(w)
outside C} d_v' outside:

    Omega*(a)^2  <=  max( max_{v in C} h_v / x_v ,  max_{t in sources of the complement of C} S_t )
    full gap     <=  gap_J + lam/2 [ that bound - bound on Omega*_J(a)^2 ]_+

N_J (necessary, Proposition 2)   a_t / d_t^2 <= delta^2 for every source t
S_J (sufficient, Proposition 3)  S_t <= delta^2 + 2 eps / lam for every source t; the printed
                                 eps / lam is a factor 2 too strict

Source: Bach (2008), Propositions 2 and 3, algorithm of section 4.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from mklcore.arrays import Array, Indices
from mklcore.errors import never_asked
from mklcore.hkl.design import Design
from mklcore.hkl.graph import Ancestry, Hull, Node, NodeWeights
from mklcore.hkl.inner import HullProblem, HullState, HullTask, solve_reduced
from mklcore.problem.driver import EXACT, ROUNDING, AnyIterate, Certificate, Method, Status, Trace
from mklcore.problem.losses import total_loss

SEARCHES = ("certified", "printed", "necessary")
ACTIVE = 1e-5  # a node is in the hull when ||beta_D(v)|| is above this share of the largest

_ROUGH = 1e-6  # the relative gap of a hull is at most this during the search,
_SHARP = 1e-9  # and this at the end
_VIOLATORS = 10  # how many nodes enter together in the printed algorithm,
_SOURCES = 40  # and how many sources
_N_TOLERANCE = 1e-6  # relative tolerance for rounding in N_J
_ROUNDS = 25  # of polishing, and steps of the bound behind ``largest_lambda``
_PER_VARIABLE = 3  # nodes per variable for ``largest_lambda``
_STEPS = 150  # of one bound on the dual norm
_MIXES = (1e-3, 1e-2, 1e-4, 1e-1)  # weight of new nodes in the first shares, in the order tried
_UNRELATED = 8.0 * np.finfo(float).eps  # times n: a correlation that is only rounding


def _seconds() -> float:
    """Processor seconds of this thread; a browser has one thread and only a clock for processes."""
    return float(getattr(time, "thread_time", time.process_time)())


class NormBounds(NamedTuple):
    """lower <= Omega*_C(a)^2 <= upper, and the shares x (m,) that gave them."""

    lower: float
    upper: float
    x: Array


def dual_norm(
    ancestry: Ancestry, d: Array, forms: Array, start: Array, threshold: float, steps: int = 0
) -> NormBounds:
    """Bounds on Omega*_C(a)^2 over a hull C.

    They are tightened until it is known on which side of ``threshold`` the norm is, by at least
    ``steps`` steps. ``d`` (m,) are the weights of the nodes and ``forms`` (m,) their a'K_w a;
    ``start`` (m,) are the first shares, zero for new nodes. x <- sqrt(x h) never lowers the lower
    bound.
    """
    known = start / start.sum() if start.sum() > 0 else np.zeros(d.size)
    new = np.where(known > 0, 0.0, d)
    new = new / new.sum() if new.any() else known
    lower = 0.0
    upper = np.inf
    best = known
    for mix in _MIXES if known.any() else (1.0,):
        x = (1.0 - mix) * known + mix * new
        for step in range(_STEPS):
            x = np.maximum(x, 1e-14)
            x /= x.sum()
            eta = x / d**2
            zeta = ancestry.zeta(eta)
            h = ancestry.down(zeta**2 * forms) / eta
            lower = max(lower, float(zeta @ forms))
            largest = float(np.max(h / x))
            if largest < upper:
                upper = largest
                best = x
            if step >= steps and (upper <= threshold or lower > threshold):
                return NormBounds(lower, upper, x if lower > threshold else best)
            x = np.sqrt(x * h)
    return NormBounds(lower, upper, best)


class HullProof(NamedTuple):
    """The hull C and shares x (m,) on it, from which a bound on Omega*(a)^2 can be recomputed."""

    nodes: tuple[Node, ...]
    shares: Array

    def bound(self, design: Design, weights: NodeWeights, a: Array) -> float:
        """max( max_{v in C} h_v / x_v, max_t S_t ) >= Omega*(a)^2 over the whole grid.

        The bound holds for any dual ``a`` (n,).
        """
        ancestry = Ancestry(design.order, self.nodes)
        eta = self.shares / weights.of(self.nodes) ** 2
        forms = design.quadratic_forms(self.nodes, a)
        h = ancestry.down(ancestry.zeta(eta) ** 2 * forms) / eta
        sources = list(Hull(design.order, self.nodes).sources)
        sums = design.descendant_sums(sources, a, weights)
        return float(np.max(sums, initial=np.max(h / self.shares)))

    @property
    def arrays(self) -> tuple[Indices, Array]:
        """The proof as a file stores it.

        Rows (k, 3) of the position of a node, a variable and a level above 0, and the shares (m,).
        """
        rows = [(place, i, level) for place, node in enumerate(self.nodes) for i, level in node]
        table: Indices = np.array(rows, dtype=np.int64).reshape(-1, 3)
        return table, self.shares

    @classmethod
    def of(cls, arrays: tuple[Indices, Array]) -> HullProof:
        """The proof that is stored in ``arrays``."""
        table, shares = arrays
        nodes: list[list[tuple[int, int]]] = [[] for _ in shares]
        for place, variable, level in table.tolist():
            nodes[place].append((variable, level))
        return cls(tuple(map(tuple, nodes)), shares)


# A certificate from the published parts of a model


def hkl_certificate(model: Any, X: Any, y: Any) -> tuple[Any, Any]:
    """Primal and dual value of a fitted hull, recomputed from its rows and published parts.

        primal  (1/n) sum_i l(y_i, f(x_i)) + lam/2 Omega(beta)^2
                from weights_, dual_coef_ and intercept_
        dual    -(1/n) sum_i phi_i*(-n lam a_i) - lam/2 bound
                from a = dual_point_, with the bound that proof_ gives

    ``proof_`` holds the nodes and shares from which the sufficient condition bounds Omega*(a)^2
    over the whole grid. The dual value is minus infinity where the search left no proof, or where
    the dual is infeasible.

    Parameters
    ----------
    model : fitted estimator
        Fitted model of this library.
    X : array-like of shape (n, d)
        The rows that it was fitted on, or their Gram matrices (p, q+1, n, n).
    y : array-like of shape (n,)
        Their target: numbers for a regression, labels of any kind for classes.

    Returns
    -------
    tuple of float
        Primal and dual value; two arrays where there are several one-vs-rest problems.

    References
    ----------
    Bach (2008), Proposition 3.

    Examples
    --------
    >>> from mklcore.data.samples import load_sample
    >>> from mklcore.estimators.hkl import HKLRegressor
    >>> data = load_sample("diabetes")
    >>> model = HKLRegressor("polynomial", lam=100.0).fit(data.X[:100, :3], data.y[:100])
    >>> primal, dual = hkl_certificate(model, data.X[:100, :3], data.y[:100])
    >>> bool(dual <= primal <= dual * (1 + 2e-3))
    True
    """
    design, weights, tasks = model.problems(X, y)
    nodes = [design.order.node_of(key) for key in model.hull_]
    zetas = np.atleast_2d(model.weights_)
    duals = np.atleast_2d(model.dual_coef_)
    intercepts = np.atleast_1d(model.intercept_)
    values = []
    for k, task in enumerate(tasks):
        intercept = float(intercepts[k])
        if model.fit_intercept and task.loss.of_residuals:
            # The same problem, but its sums do not lose the digits that a far target takes.
            task = replace(task, y=task.y - intercept)
            intercept = 0.0
        primal = primal_of(design, weights, task, nodes, zetas[k], duals[k], intercept)
        dual = -np.inf
        if model.proof_ is not None and model.dual_point_ is not None:
            point = np.atleast_2d(model.dual_point_)[k]
            dual = dual_of(design, weights, task, point, HullProof.of(model.proof_[k]))
        values.append((primal, dual))
    return values[0] if len(tasks) == 1 else tuple(np.array(values).T)


def primal_of(
    design: Design,
    weights: NodeWeights,
    task: HullTask,
    nodes: Sequence[Node],
    zeta: Array,
    a: Array,
    intercept: float,
) -> float:
    """(1/n) sum_i l + lam/2 Omega(beta)^2 for zeta (m,) of the ``nodes``, a (n,), and intercept."""
    rows = design.values
    decision = np.zeros(design.n)
    for node, weight in zip(nodes, zeta, strict=True):
        if weight > 0:
            decision += weight * rows.product(node, a)
    forms = design.quadratic_forms(nodes, a)
    norms = np.sqrt(Ancestry(design.order, nodes).down(zeta**2 * forms))
    return task.primal(decision, intercept, float(weights.of(nodes) @ norms) ** 2)


def dual_of(
    design: Design, weights: NodeWeights, task: HullTask, a: Array, proof: HullProof | None
) -> float:
    """The dual value of ``a`` (n,) with the bound on Omega*(a)^2 that ``proof`` gives.

    Minus infinity without a proof, or where ``a`` is infeasible.
    """
    size = max(np.abs(a).sum(), 1e-300)
    infeasible = task.fit_intercept and abs(a.sum()) > 1e-9 * size
    if proof is None or infeasible:
        return -np.inf
    a = np.ascontiguousarray(a)
    regulariser = 0.5 * proof.bound(design, weights, a)
    return task.lam * (task.dual(a) - regulariser)


# A certificate during a search


class Certification(NamedTuple):
    """The result of a certification.

    A ``bound`` on Omega*(a)^2 over the whole grid with its ``proof`` (None where the bound fails on
    the certificate set itself), the ``wanted`` nodes that should be trained on where the bound is
    above the threshold, and whether the certificate set is ``full``.
    """

    bound: float | None
    proof: HullProof | None
    wanted: list[Node]
    full: bool = False


class Certifier:
    """Bounds Omega*(a)^2 over all kernels of the grid, with one certificate set for many duals."""

    def __init__(
        self,
        design: Design,
        weights: NodeWeights,
        *,
        max_nodes: int,
        pulse: Callable[[], Any] = never_asked,
    ) -> None:
        self.design = design
        self.weights = weights
        self.max_nodes = max_nodes
        self.pulse = pulse
        self.set = Hull(design.order)
        self.visited: set[Node] = set()

    def violations(self, hull: Hull, a: Array) -> dict[Node, float]:
        """a_t / d_t^2 for every source t of the hull's complement; N_J compares it with delta^2."""
        sources = list(hull.sources)
        self.visited.update(sources)
        found = self.design.quadratic_forms(sources, a) / self.weights.of(sources) ** 2
        return dict(zip(sources, found.tolist(), strict=True))

    def certify(
        self, trained: dict[Node, float], a: Array, threshold: float, *, grow: bool, most: int
    ) -> Certification:
        """Is Omega*(a)^2 <= ``threshold`` over the whole grid?

        ``trained`` maps the nodes of J to their shares.

        With ``grow`` the certificate set grows by every source with S_t above the threshold, layer
        by layer, until none is left, or the bound fails on the set itself (then the ``most`` nodes
        that make it fail are wanted), or the set reaches ``max_nodes``. Without ``grow`` the set is
        J, and the sources above the threshold are wanted (the printed algorithm).
        """
        if not grow:
            self.set = Hull(self.design.order, trained)
        self.set.add(trained)
        sums = dict[Node, float]()
        forms = dict[Node, float]()
        shares = dict(trained)
        while True:
            bounds = self._set_bounds(a, threshold, shares, forms)
            nodes = self.set.nodes
            shares = dict(zip(nodes, bounds.x.tolist(), strict=True))
            if bounds.upper > threshold:
                new = [node for node in nodes if node not in trained]
                new.sort(key=shares.__getitem__, reverse=True)
                return Certification(None, None, new[:most])
            missing = [t for t in self.set.sources if t not in sums]
            self.visited.update(missing)
            found = self.design.descendant_sums(missing, a, self.weights, self.pulse)
            sums.update(zip(missing, found.tolist(), strict=True))
            outside = {t: sums[t] for t in self.set.sources}
            above = _above(outside, threshold)
            room = self.max_nodes - len(self.set)
            if not above or not grow or room <= 0:
                bound = max(bounds.upper, *outside.values(), 0.0)
                proof = HullProof(tuple(nodes), bounds.x)
                return Certification(bound, proof, above[:most], grow and bool(above))
            self.set.add(above[:room])

    def _set_bounds(
        self, a: Array, threshold: float, shares: dict[Node, float], forms: dict[Node, float]
    ) -> NormBounds:
        """Bounds over the certificate set; ``forms`` receives a'K_v a of its new nodes."""
        nodes = self.set.nodes
        missing = [node for node in nodes if node not in forms]
        found = self.design.quadratic_forms(missing, a)
        forms.update(zip(missing, found.tolist(), strict=True))
        return dual_norm(
            Ancestry(self.design.order, nodes),
            self.weights.of(nodes),
            np.array([forms[node] for node in nodes]),
            np.array([shares.get(node, 0.0) for node in nodes]),
            threshold,
        )


# The search


@dataclass(frozen=True, eq=False)
class SearchPoint:
    """The state of a point of the search: the trained nodes and the iterate on them.

    At the end ``sources`` maps every source to a_t / (d_t^2 delta^2), which is 1 where the node
    would enter; ``visited`` counts the nodes for which this search computed anything, and
    ``visited_on_path`` also those of the searches that it was started from.
    """

    nodes: tuple[Node, ...]
    inner: HullState
    sources: dict[Node, float]
    visited: int = 0
    visited_on_path: int = 0

    @property
    def shares(self) -> dict[Node, float]:
        """The share of every trained node."""
        return dict(zip(self.nodes, self.inner.x.tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class WarmHull:
    """The end of the search at a neighbouring lambda.

    Shares of its trained nodes, its dual, and its certificate set. ``seen`` holds the hashes of all
    nodes visited so far, one set for a whole path, because the nodes themselves are large.
    """

    shares: dict[Node, float]
    dual: Array
    certificate: tuple[Node, ...]
    seen: set[int]


class _OutOfTime(Exception):
    """Raised within a certification that has used up its seconds."""


class HullSearch(Method[object]):
    """The search, as a method of the driver: a step either grows the hull and trains, or certifies.

    ``max_nodes`` bounds the certificate set (J in the printed algorithm), ``max_seconds`` the
    processor time of this thread.
    """

    def __init__(
        self,
        design: Design,
        task: HullTask,
        weights: NodeWeights,
        *,
        search: str = "certified",
        tol: float = 1e-3,
        max_nodes: int = 2000,
        max_seconds: float | None = None,
        warm: WarmHull | None = None,
    ) -> None:
        self.design = design
        self.task = task
        self.weights = weights
        self.search = search
        self.tol = tol
        self.max_nodes = max_nodes
        self.warm = warm
        self.name = f"HKL ({search} search)"
        self._end = _seconds() + (np.inf if max_seconds is None else max_seconds)
        self.certifier = Certifier(design, weights, max_nodes=max_nodes, pulse=self._check_time)
        # Every dual point that has a value, with its proof and the value.
        self._proofs: list[tuple[Array, HullProof, float]] = []
        self._wanted: list[Node] = []  # nodes that the last certification wants to be trained on
        self._certified = False  # whether this hull has been certified
        self._full = False  # whether the certificate set is full
        self._rough = float(np.clip(0.1 * tol, _SHARP, _ROUGH))

    def _check_time(self) -> None:
        if _seconds() > self._end:
            raise _OutOfTime

    # -- the calls of the driver
    def init(self) -> AnyIterate:
        self.hull = Hull(self.design.order)
        if self.warm is None:
            return self._train(dict.fromkeys(self.hull.nodes, 1.0), None, self._rough)
        self.hull.add(self.warm.shares)
        self.certifier.set.add(self.warm.certificate)
        # The neighbour's dual is moved into the box of this lambda, as a start for the machines.
        dual = np.clip(self.warm.dual, *self.task.box)
        return self._train(self.warm.shares, dual, self._rough)

    def step(self, best: AnyIterate, last: AnyIterate, trace: Trace) -> AnyIterate | Status:
        try:
            self._check_time()
            return self._step(last)
        except _OutOfTime:
            return Status.OUT_OF_TIME

    def _step(self, last: AnyIterate) -> AnyIterate | Status:
        if len(self.hull) >= self.max_nodes:
            return Status.MAX_NODES
        wanted = self._wanted or self._necessary(last)
        if wanted:
            if not self.design.fits([*self.hull.members, *wanted]):
                return Status.OUT_OF_MEMORY
            self.hull.add(wanted[: max(1, self.max_nodes - len(self.hull))])
            return self._train(last.state.shares, last.dual, self._rough)
        if self.search == "necessary":
            return Status.PROVISIONAL
        if self._certified:
            return Status.MAX_NODES if self._full else Status.STALLED
        grow = self.search != "printed"
        result = self.certifier.certify(
            last.state.shares,
            last.dual,
            self._threshold(last),
            grow=grow,
            most=self._batch if grow else _SOURCES,
        )
        self._certified = True
        self._full = result.full
        self._wanted = [] if result.full else result.wanted
        unproved = replace(last, dual_objective=None, dual_point=None, solves=0)
        return self._proved(unproved, result.bound, result.proof)

    def polish(self, best: AnyIterate) -> AnyIterate:
        """Train sharply, prune to the active nodes, and bound the gap if that was not done yet."""
        point = self._pruned(self._polished(best))
        if self.search != "necessary" and not self._proofs:
            # Bound the full gap of the model as it is: C is J, one pass over its sources.
            self.certifier.pulse = never_asked
            result = self.certifier.certify(
                point.state.shares, point.dual, np.inf, grow=False, most=0
            )
            point = self._proved(point, result.bound, result.proof)
        bound = point.state.inner.bound
        sources = self.certifier.violations(self.hull, point.dual)
        for node, value in sources.items():
            sources[node] = value / bound if bound > 0 else 0.0
        visited = {
            *self.certifier.visited,
            *self.certifier.set.members,
            *self.hull.members,
        }
        self._seen = set() if self.warm is None else self.warm.seen
        self._seen.update(map(hash, visited))
        state = replace(
            point.state, sources=sources, visited=len(visited), visited_on_path=len(self._seen)
        )
        self.found = replace(point, state=state)
        return self.found

    def certify(self, best: AnyIterate, dual_point: Array | None) -> Certificate:
        """Recompute objective and dual value from the published parts, as ``hkl_certificate`` does.

        Where the values differ from those of the search, the rounding is estimated as well.
        """
        design = self.design
        task = self.task
        objective = primal_of(
            design, self.weights, task, best.state.nodes, best.weights, best.dual, best.intercept
        )
        dual = None
        difference = abs(objective - best.objective)
        if dual_point is not None:
            proof = self.proof_of(dual_point)
            dual = dual_of(design, self.weights, task, dual_point, proof)
            # How much the sums over the entries of the Gram matrices may have been rounded.
            summed = 0.5 * task.lam * ROUNDING * float(np.abs(dual_point).sum()) ** 2
            difference = max(difference, EXACT * summed)
            for point, _, value in self._proofs:
                if point is dual_point:
                    difference = max(difference, abs(dual - value))
        if difference <= EXACT * abs(objective):
            return Certificate(objective, dual)
        return Certificate(objective, dual, self._rounding(best, objective))

    def _rounding(self, best: AnyIterate, objective: float) -> float:
        """How much rounding may have changed the objective."""
        task = self.task
        n = self.design.n
        size = np.abs(best.dual)
        noise = np.zeros(n)
        for node, weight in zip(best.state.nodes, best.weights, strict=True):
            root = np.sqrt(np.diag(self.design.gram(node)))
            noise += ROUNDING * weight * float(root @ size) * root
        decision = best.state.inner.machine.decision + best.intercept

        def mean_loss(shift: Array | float) -> float:
            return total_loss(task.loss, decision + shift, 0.0, task.y, 1.0 / n)

        exact = mean_loss(0.0)
        moved = abs(mean_loss(noise) - exact) + abs(mean_loss(-noise) - exact)
        return moved + task.lam * float(size @ noise) + ROUNDING * n * abs(objective)

    @property
    def scales(self) -> str:
        """The scales of the problem, for an error message."""
        return (
            f"lam is {self.task.lam:.3g}, and C = 1/(n lam) is {self.task.C:.3g}, smaller "
            "where lam is larger"
        )

    def proof_of(self, dual_point: Array | None) -> HullProof | None:
        """The proof behind the value of a dual point of this search, None without a value."""
        return next((proof for point, proof, _ in self._proofs if point is dual_point), None)

    def warm_start(self) -> WarmHull:
        """The start for the next lambda."""
        certificate = tuple(self.certifier.set.nodes)
        return WarmHull(self.found.state.shares, self.found.dual, certificate, self._seen)

    # -- training and conditions
    def _train(
        self,
        shares: dict[Node, float],
        dual: Array | None,
        tol: float,
    ) -> AnyIterate:
        """Solve (3) on the present hull; only a hull without sources has a proof at once."""
        nodes = sorted(self.hull.members, key=self.design.order.rank)
        x = np.array([shares.get(node, 0.0) for node in nodes])
        x = x / x.sum() if x.sum() > 0 else np.full(len(nodes), 1.0 / len(nodes))
        problem = HullProblem(self.design, self.task, nodes, self.weights)
        point, solves = solve_reduced(problem, x, dual, tol=tol)
        self._certified = False
        self._wanted = []
        state = SearchPoint(tuple(nodes), point.state, {})
        trained = replace(point, solves=solves, state=state, dual_objective=None, dual_point=None)
        if self.hull.sources:
            return trained
        return self._proved(trained, point.state.bound, HullProof(state.nodes, point.state.x))

    def _proved(
        self, point: AnyIterate, bound: float | None, proof: HullProof | None
    ) -> AnyIterate:
        """``point`` with the dual value that a bound on Omega*(a)^2 gives; the proof is saved."""
        if bound is None or proof is None:
            return point
        found = self.task.bound(point.dual, bound)
        self._proofs.append((found.point, proof, found.value))
        return replace(point, dual_objective=found.value, dual_point=found.point)

    def _polished(self, best: AnyIterate) -> AnyIterate:
        """Train sharply, and add nodes for as long as N_J fails."""
        self.hull.add(best.state.nodes)
        point = self._train(best.state.shares, best.dual, _SHARP)
        for _ in range(_ROUNDS):
            wanted = self._necessary(point)
            if not wanted or len(self.hull) >= self.max_nodes or _seconds() > self._end:
                break
            if not self.design.fits([*self.hull.members, *wanted]):
                break
            self.hull.add(wanted)
            larger = self._train(point.state.shares, point.dual, _SHARP)
            point = replace(larger, solves=larger.solves + point.solves)
        return point

    def _pruned(self, point: AnyIterate) -> AnyIterate:
        """Train again on the active nodes alone, unless that costs more than a tenth of ``tol``."""
        norms = point.state.inner.norms
        active = [point.state.nodes[k] for k in np.flatnonzero(norms > ACTIVE * norms.max())]
        if not 0 < len(active) < len(norms):
            return point
        self.hull = Hull(self.design.order, active)
        pruned = self._train(point.state.shares, point.dual, _SHARP)
        costs = pruned.objective - point.objective
        chosen = pruned if costs <= 0.1 * self.tol * abs(point.objective) else point
        self.hull = Hull(self.design.order, chosen.state.nodes)
        return replace(chosen, solves=pruned.solves + point.solves)

    def _necessary(self, point: AnyIterate) -> list[Node]:
        """The largest violators of N_J."""
        limit = point.state.inner.bound * (1.0 + _N_TOLERANCE)
        values = self.certifier.violations(self.hull, point.dual)
        return _above(values, limit)[: self._batch]

    @property
    def _batch(self) -> int:
        """How many nodes enter together; outside the printed algorithm at least a third of J."""
        return _VIOLATORS if self.search == "printed" else max(_VIOLATORS, len(self.hull) // 3)

    def _threshold(self, point: AnyIterate) -> float:
        """The largest Omega*(a)^2 with which the full gap is within the tolerance."""
        inner: HullState = point.state.inner
        allowed = self.tol * abs(point.objective) * (1.0 - 1e-9)
        spare = allowed - (point.objective - inner.dual_objective)
        return inner.bound + 2.0 * spare / self.task.lam


def _above(values: dict[Node, float], limit: float) -> list[Node]:
    """The nodes above ``limit``, the largest first."""
    above = [node for node, value in values.items() if value > limit]
    return sorted(above, key=values.__getitem__, reverse=True)


def largest_lambda(design: Design, y: Array, weights: NodeWeights) -> float:
    """The largest lambda that matters: 100 Omega*(Phi'(y - mean)/n)^2 / var(y).

    There the fit is within 1 % of the mean. Omega* is that of a hull grown by the necessary
    condition. No lambda makes the hull empty, because Omega is squared: the largest lambdas keep
    the nodes at which the dual norm is attained. Where the target is constant, or related to no
    kernel by more than rounding, no lambda matters, and the result is 1.
    """
    centred = y - y.mean()
    variance = float(np.mean(centred**2))
    if variance <= 0.0:
        return 1.0
    a = centred / y.size
    hull = Hull(design.order)
    certifier = Certifier(design, weights, max_nodes=0)
    hull.add(list(hull.sources))
    while True:
        forms = design.quadratic_forms(hull.nodes, a)
        ancestry = Ancestry(design.order, hull.nodes)
        d = weights.of(hull.nodes)
        bounds = dual_norm(
            ancestry,
            d,
            forms,
            np.zeros(len(hull)),
            np.inf,
            _ROUNDS,
        )
        above = _above(certifier.violations(hull, a), bounds.lower)
        if not above or len(hull) > _PER_VARIABLE * design.p:
            break
        hull.add(above[:_SOURCES])
    if bounds.lower <= (_UNRELATED * y.size) ** 2 * variance:
        return 1.0
    return 100.0 * bounds.lower / variance
