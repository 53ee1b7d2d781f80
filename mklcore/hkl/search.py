"""Hierarchical kernel learning over the whole grid: train on a small hull, certify on a large one.

    min_{beta, b}  (1/n) sum_i l(y_i, f(x_i) + b) + lam/2 ( sum_v d_v ||beta_D(v)|| )^2,  f = sum_v <beta_v, Phi_v>  (1)

As printed                                         HKL2 (specification, section 6), the default ``search="certified"``
    J <- {root}                                        J <- {root}, C <- J
    repeat  solve (3) on J                             repeat  solve (3) on J
            if N_J fails: J += largest violators               if N_J fails: J += largest violators
            else if S_J fails: J += the same                   else C += sources with S_t above the threshold; if the
                                                               dual norm over C fails: J += nodes that make it fail
    until   S_J holds or |J| >= Q                      until   bound over C and S outside hold, or |C| >= Q

``search="necessary"`` stops when N_J holds: quick, provisional, and possibly wrong in kind, because
an interaction without main effects is found by the S phase only. Polished to 1e-7 and better before
a hull is declared.

For any dual a and any hull C, with kappa from shares x on C and kappa_vw = d_v / sum_{v' in A(w)
outside C} d_v' outside,

    Omega*(a)^2  <=  max( max_{v in C} h_v / x_v ,  max_{t in sources of the complement of C} S_t )
    full gap     <=  gap_J + lam/2 [ that bound - bound on Omega*_J(a)^2 ]_+

N_J (necessary, Proposition 2)   a_t / d_t^2 <= delta^2 for every source t
S_J (sufficient, Proposition 3)  S_t <= delta^2 + 2 eps / lam for every source t; the printed eps / lam is a factor 2
too strict

C is where the bound is taken, J where the model is trained: a bound over a large C costs scalars
a_w only.

Source: Bach (2008), Propositions 2 and 3, algorithm of section 4; specification, sections 3, 4, 6
and 10.
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
from mklcore.hkl.inner import HullTask, Inner, Reduced, solve_reduced
from mklcore.problem.driver import EXACT, ROUNDING, AnyIterate, Certificate, Method, Status, Trace
from mklcore.problem.losses import total_loss

SEARCHES = ("certified", "printed", "necessary")
ACTIVE = 1e-5  # a node is in the hull when ||beta_D(v)|| is above this share of the largest

# accuracy of a hull on the way at most, and at the end
_ROUGH = 1e-6
_SHARP = 1e-9
# nodes and sources that enter together, as printed
_VIOLATORS = 10
_SOURCES = 40
_STRICT = 1e-6  # relative room for rounding in N_J
_ROUNDS = 25  # of polishing, and of the bound behind ``largest_lambda``
_PER_VARIABLE = 3  # nodes per variable for ``largest_lambda``
_STEPS = 150  # of one certificate at most
_MIXES = (1e-3, 1e-2, 1e-4, 1e-1)  # weight of new nodes in the first shares, in the order tried
_UNRELATED = 8.0 * np.finfo(float).eps  # times n: a correlation that is rounding


def _seconds() -> float:
    """Seconds of this thread; a browser has one thread, and no clock of its own for it."""
    return float(getattr(time, "thread_time", time.process_time)())


class NormBounds(NamedTuple):
    """lower <= Omega*_C(a)^2 <= upper, and the shares x (m,) that gave them."""

    lower: float
    upper: float
    x: Array


def dual_norm(
    ancestry: Ancestry, d: Array, forms: Array, start: Array, threshold: float, steps: int = 0
) -> NormBounds:
    """Bounds on Omega*_C(a)^2 over a hull C, tightened until it is known on which side of
    ``threshold`` it is.

    ``d`` (m,) are the prices and ``forms`` (m,) a'K_w a of its nodes; ``start`` (m,) shares to
    start from, zero for new nodes. x <- sqrt(x h) never lowers the lower bound. At least ``steps``
    steps are made.
    """
    known = start / start.sum() if start.sum() > 0 else np.zeros(d.size)
    fresh = np.where(known > 0, 0.0, d)
    fresh = fresh / fresh.sum() if fresh.any() else known
    lower = 0.0
    upper = np.inf
    best = known
    for mix in _MIXES if known.any() else (1.0,):
        x = (1.0 - mix) * known + mix * fresh
        for step in range(_STEPS):
            x = np.maximum(x, 1e-14)
            x /= x.sum()
            eta = x / d**2
            zeta = ancestry.zeta(eta)
            h = ancestry.down(zeta**2 * forms) / eta
            top = float(np.max(h / x))
            lower = max(lower, float(zeta @ forms))
            if top < upper:
                upper = top
                best = x
            if step >= steps and (upper <= threshold or lower > threshold):
                return NormBounds(lower, upper, x if lower > threshold else best)
            x = np.sqrt(x * h)
    return NormBounds(lower, upper, best)


class HullProof(NamedTuple):
    """The hull C and the shares x (m,) on it with which a bound on Omega*(a)^2 can be computed
    again.
    """

    nodes: tuple[Node, ...]
    shares: Array

    def bound(self, design: Design, weights: NodeWeights, a: Array) -> float:
        """max( max_{v in C} h_v / x_v, max_t S_t ) >= Omega*(a)^2 over the whole grid, for any dual
        ``a`` (n,).
        """
        ancestry = Ancestry(design.order, self.nodes)
        eta = self.shares / weights.of(self.nodes) ** 2
        h = ancestry.down(ancestry.zeta(eta) ** 2 * design.forms(self.nodes, a)) / eta
        outside = list(Hull(design.order, self.nodes).sources)
        return float(
            np.max(design.descendant_sums(outside, a, weights), initial=np.max(h / self.shares))
        )

    @property
    def arrays(self) -> tuple[Indices, Array]:
        """What a file holds of it: (k, 3) rows of node, variable and level above 0, and the shares
        (m,).
        """
        rows = [(place, i, level) for place, node in enumerate(self.nodes) for i, level in node]
        table: Indices = np.array(rows, dtype=np.int64).reshape(-1, 3)
        return table, self.shares

    @classmethod
    def of(cls, arrays: tuple[Indices, Array]) -> HullProof:
        """The proof that ``arrays`` were made from."""
        table, shares = arrays
        nodes: list[list[tuple[int, int]]] = [[] for _ in shares]
        for place, variable, level in table.tolist():
            nodes[place].append((variable, level))
        return cls(tuple(map(tuple, nodes)), shares)


# A certificate from what a model publishes


def hkl_certificate(model: Any, X: Any, y: Any) -> tuple[Any, Any]:
    """Primal and dual value of a fitted hull, computed again from its training rows and what it
    publishes, nothing else:

        primal  (1/n) sum_i l(y_i, f(x_i)) + lam/2 Omega(beta)^2          from weights_, dual_coef_, intercept_
        dual    -(1/n) sum_i phi_i*(-n lam a_i) - lam/2 bound            from a = dual_point_, the bound from proof_

    ``proof_`` holds the nodes and shares from which the sufficient condition bounds Omega*(a)^2
    over the whole grid. ``X`` (n, p) or Gram matrices (p, q+1, n, n), and ``y`` (n,), are what
    ``model`` was fitted on. Returns two floats, or two arrays over the one-vs-rest problems; the
    dual is minus infinity where the search left no proof, or the dual is infeasible.

    Parameters
    ----------
    model : fitted estimator
        Fitted model of this library.
    X : array-like of shape (n, d)
        Rows of the table, or Gram matrices where the kernels are precomputed.
    y : array-like of shape (n,)
        Target: numbers for a regression, labels of any kind for classes.

    Returns
    -------
    tuple of float
        Primal and dual value.

    Examples
    --------
    >>> from mklcore.data.samples import load_sample
    >>> from mklcore.estimators.hkl import HKLRegressor
    >>> data = load_sample("diabetes")
    >>> model = HKLRegressor("polynomial", lam=100.0).fit(data.X[:100, :3], data.y[:100])
    >>> primal, dual = hkl_certificate(model, data.X[:100, :3], data.y[:100])
    >>> bool(dual <= primal <= dual * (1 + 2e-3))
    True

    Source: Bach (2008), Proposition 3; specification, sections 2 and 3.
    """
    design, weights, tasks = model.problems(X, y)
    proofs = (
        [None] * len(tasks)
        if model.proof_ is None
        else [HullProof.of(arrays) for arrays in model.proof_]
    )
    points = [None] * len(tasks) if model.dual_point_ is None else np.atleast_2d(model.dual_point_)
    nodes = [design.order.node_of(key) for key in model.hull_]
    fitted = (
        np.atleast_2d(model.weights_),
        np.atleast_2d(model.dual_coef_),
        np.atleast_1d(model.intercept_),
    )
    values = []
    for task, proof, point, zeta, a, b in zip(tasks, proofs, points, *fitted, strict=True):
        # the same problem, without the digits of a far target
        if model.fit_intercept and task.loss.of_residuals:
            task = replace(task, y=task.y - b)
            b = 0.0
        primal = primal_of(design, weights, task, nodes, zeta, a, float(b))
        values.append((primal, dual_of(design, weights, task, point, proof)))
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
    """(1/n) sum_i l + lam/2 Omega(beta)^2 of the coefficients ``zeta`` (m,) of ``nodes``, ``a``
    (n,) and the intercept.
    """
    rows = design.values
    decision = np.zeros(design.n)
    for node, weight in zip(nodes, zeta, strict=True):
        if weight > 0:
            decision += weight * rows.product(node, a)
    norms = np.sqrt(Ancestry(design.order, nodes).down(zeta**2 * design.forms(nodes, a)))
    return task.primal(decision, intercept, float(weights.of(nodes) @ norms) ** 2)


def dual_of(
    design: Design, weights: NodeWeights, task: HullTask, a: Array | None, proof: HullProof | None
) -> float:
    """The dual value of ``a`` (n,) with the bound on Omega*(a)^2 that ``proof`` gives; minus
    infinity where there is none.
    """
    if (
        a is None
        or proof is None
        or (task.fit_intercept and abs(a.sum()) > 1e-9 * max(np.abs(a).sum(), 1e-300))
    ):
        return -np.inf
    a = np.ascontiguousarray(a)
    return task.lam * (task.loss.dual(a, task.y, task.C) - 0.5 * proof.bound(design, weights, a))


# A certificate during a search


class Certification(NamedTuple):
    """What a certification found: a ``bound`` on Omega*(a)^2 over the whole grid with its ``proof``
    (None: the bound fails on the certificate set itself), the nodes that ought to be trained on
    where it is above the threshold, and whether the certificate set is ``full``.
    """

    bound: float | None
    proof: HullProof | None
    wanted: list[Node]
    full: bool = False


class Certifier:
    """Bounds Omega*(a)^2 over all kernels of the grid.

    Keeps its certificate set from one dual to the next.
    """

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
        self.looked_at: set[Node] = set()

    def violations(self, hull: Hull, a: Array) -> dict[Node, float]:
        """a_t / d_t^2 for every source t of the hull's complement: condition N_J compares it with
        delta^2.
        """
        sources = list(hull.sources)
        self.looked_at.update(sources)
        found = self.design.forms(sources, a) / self.weights.of(sources) ** 2
        return dict(zip(sources, found.tolist(), strict=True))

    def certify(
        self, trained: dict[Node, float], a: Array, threshold: float, *, grow: bool, most: int
    ) -> Certification:
        """Is Omega*(a)^2 <= ``threshold`` over the whole grid?

        ``trained`` maps the nodes of J to their shares.

        With ``grow`` the certificate set takes in every source with S_t above the threshold, layer
        by layer, until none is left, the bound fails on the set itself (then the ``most`` nodes
        that make it fail are wanted), or the set reaches ``max_nodes``. Without, it is J, and the
        sources above the threshold are wanted (the printed algorithm).
        """
        if not grow:
            self.set = Hull(self.design.order, trained)
        self.set.add(trained)
        sums = dict[Node, float]()
        forms = dict[Node, float]()
        start = dict(trained)
        while True:
            nodes = self.set.nodes
            missing = [node for node in nodes if node not in forms]
            forms.update(zip(missing, self.design.forms(missing, a).tolist(), strict=True))
            bounds = dual_norm(
                Ancestry(self.design.order, nodes),
                self.weights.of(nodes),
                np.array([forms[v] for v in nodes]),
                np.array([start.get(v, 0.0) for v in nodes]),
                threshold,
            )
            start = dict(zip(nodes, bounds.x.tolist(), strict=True))
            if bounds.upper > threshold:
                new = [node for node in nodes if node not in trained]
                return Certification(
                    None, None, sorted(new, key=start.__getitem__, reverse=True)[:most]
                )
            fresh = [t for t in self.set.sources if t not in sums]
            self.looked_at.update(fresh)
            found = self.design.descendant_sums(fresh, a, self.weights, self.pulse)
            sums.update(zip(fresh, found.tolist(), strict=True))
            above = _above({t: sums[t] for t in self.set.sources}, threshold)
            room = self.max_nodes - len(self.set)
            if not above or not grow or room <= 0:
                bound = max([bounds.upper, *(sums[t] for t in self.set.sources)])
                return Certification(
                    bound, HullProof(tuple(nodes), bounds.x), above[:most], grow and bool(above)
                )
            self.set.add(above[:room])


# The search


@dataclass(frozen=True, eq=False)
class SearchPoint:
    """What a point of the search carries: the trained nodes, the inner iterate, and, at the end,
    who stands outside.

    ``sources``: a_t / (d_t^2 delta^2) for every source; 1 is where it enters. ``looked_at`` counts
    the nodes this search computed anything for, ``ever`` those of the searches it was started from
    as well.
    """

    nodes: tuple[Node, ...]
    inner: Inner
    sources: dict[Node, float]
    looked_at: int = 0
    ever: int = 0

    @property
    def shares(self) -> dict[Node, float]:
        """The share of every trained node."""
        return dict(zip(self.nodes, self.inner.x.tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class WarmHull:
    """Where a neighbouring lambda ended: shares of its trained nodes, its dual, its certificate
    set.

    ``seen`` are the hashes of all nodes looked at so far: one set for a whole path, because nodes
    themselves are large.
    """

    shares: dict[Node, float]
    dual: Array
    certificate: tuple[Node, ...]
    seen: set[int]


class _OutOfTime(Exception):
    """Raised between stretches of a certification that has had its seconds."""


class HullSearch(Method[object]):
    """The search as the driver's method.

    A step either grows the hull and trains again, or certifies.

    ``max_nodes`` bounds the certificate set (J as printed), ``max_seconds`` the time of this
    thread's processor.
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
        # what bounds every dual point there is a value for
        self._proofs: list[tuple[Array, HullProof, float]] = []
        self._wanted: list[Node] = []
        self._certified = self._full = False  # of this hull; of the certificate set
        self._rough = float(np.clip(0.1 * tol, _SHARP, _ROUGH))

    def _check_time(self) -> None:
        if _seconds() > self._end:
            raise _OutOfTime

    # -- the driver's three calls
    # ------------------------------------------------------------------------------------

    def init(self) -> AnyIterate:
        self.hull = Hull(self.design.order)
        if self.warm is None:
            return self._train(dict.fromkeys(self.hull.nodes, 1.0), None, self._rough)
        self.hull.add(self.warm.shares)
        self.certifier.set.add(self.warm.certificate)
        # A neighbour's dual moved into this lambda's box: the smooth machines start from it,
        # exactness is theirs.
        dual = np.clip(self.warm.dual, *self.task.loss.box(self.task.y, self.task.C))
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
        most = _SOURCES if self.search == "printed" else self._batch
        grow = self.search != "printed"
        verdict = self.certifier.certify(
            last.state.shares, last.dual, self._threshold(last), grow=grow, most=most
        )
        self._certified = True
        self._full = verdict.full
        self._wanted = [] if verdict.full else verdict.wanted
        return self._proved(
            replace(last, dual_objective=None, dual_point=None, solves=0),
            verdict.bound,
            verdict.proof,
        )

    def polish(self, best: AnyIterate) -> AnyIterate:
        """Polish, take in what N_J still asks for, prune to the active nodes, and bound the gap if
        nobody has.
        """
        point = self._polished(best)
        norms = point.state.inner.norms
        active = [
            node
            for node, norm in zip(point.state.nodes, norms, strict=True)
            if norm > ACTIVE * norms.max()
        ]
        if 0 < len(active) < len(norms):
            self.hull = Hull(self.design.order, active)
            pruned = self._train(point.state.shares, point.dual, _SHARP)
            worth = pruned.objective <= point.objective + 0.1 * self.tol * abs(point.objective)
            solves = pruned.solves + point.solves
            point = replace(pruned if worth else point, solves=solves)
            self.hull = Hull(self.design.order, point.state.nodes)
        if self.search != "necessary" and not self._proofs:
            # A full gap for the model as it stands, whatever it comes to: C is J, one pass over its
            # sources.
            self.certifier.pulse = never_asked
            verdict = self.certifier.certify(
                point.state.shares, point.dual, np.inf, grow=False, most=0
            )
            point = self._proved(point, verdict.bound, verdict.proof)
        bound = point.state.inner.bound
        outside = self.certifier.violations(self.hull, point.dual)
        sources = {node: value / bound if bound > 0 else 0.0 for node, value in outside.items()}
        looked_at = (
            self.certifier.looked_at | set(self.certifier.set.members) | set(self.hull.members)
        )
        self._seen = set() if self.warm is None else self.warm.seen
        self._seen.update(map(hash, looked_at))
        state = replace(
            point.state, sources=sources, looked_at=len(looked_at), ever=len(self._seen)
        )
        self.found = replace(point, state=state)
        return self.found

    def certify(self, best: AnyIterate, dual_point: Array | None) -> Certificate:
        """Objective and dual value of published parts from scratch, as ``hkl_certificate`` computes
        them; with their rounding where it is seen.
        """
        design = self.design
        task = self.task
        objective = primal_of(
            design, self.weights, task, best.state.nodes, best.weights, best.dual, best.intercept
        )
        dual = None
        off = abs(objective - best.objective)
        if dual_point is not None:
            dual = dual_of(design, self.weights, task, dual_point, self.proof_of(dual_point))
            # what rounding may have of sums
            summed = 0.5 * task.lam * ROUNDING * float(np.abs(dual_point).sum()) ** 2
            off = max(
                off,
                EXACT * summed,
                *(abs(dual - value) for one, _, value in self._proofs if one is dual_point),
            )
        if off <= EXACT * abs(objective):
            return Certificate(objective, dual)
        size = np.abs(best.dual)
        noise = np.zeros(design.n)
        for node, weight in zip(best.state.nodes, best.weights, strict=True):
            root = np.sqrt(np.diag(design.gram(node)))
            noise += ROUNDING * weight * float(root @ size) * root
        at = best.state.inner.answer.decision + best.intercept
        values = [
            total_loss(task.loss, at + shift, 0.0, task.y, 1.0 / task.y.size)
            for shift in (0.0, noise, -noise)
        ]
        moved = (
            abs(values[1] - values[0]) + abs(values[2] - values[0]) + task.lam * float(size @ noise)
        )
        return Certificate(objective, dual, moved + ROUNDING * design.n * abs(objective))

    @property
    def scales(self) -> str:
        """What the numbers of the problem are made of, for a refusal."""
        return (
            f"lam is {self.task.lam:.3g}, and C = 1/(n lam) is {self.task.C:.3g}, smaller "
            "where lam is larger"
        )

    def proof_of(self, dual_point: Array | None) -> HullProof | None:
        """Nodes and shares from which the bound behind the value of a dual point of this search can
        be computed again.
        """
        return next((proof for point, proof, _ in self._proofs if point is dual_point), None)

    def warm_start(self) -> WarmHull:
        """What the next lambda starts from."""
        return WarmHull(
            self.found.state.shares, self.found.dual, tuple(self.certifier.set.nodes), self._seen
        )

    # -- training and conditions
    # -------------------------------------------------------------------------------------

    def _train(self, shares: dict[Node, float], dual: Array | None, tol: float) -> AnyIterate:
        """Solve (3) on the present hull; the full gap is not known yet, unless the hull is
        everything.
        """
        nodes = sorted(self.hull.members, key=self.design.order.rank)
        x = np.array([shares.get(node, 0.0) for node in nodes])
        x = x / x.sum() if x.sum() > 0 else np.full(len(nodes), 1.0 / len(nodes))
        problem = Reduced(self.design, self.task, nodes, self.weights)
        point, solves = solve_reduced(problem, x, dual, tol=tol)
        self._certified = False
        self._wanted = []
        found = SearchPoint(tuple(nodes), point.state, {})
        trained = replace(point, solves=solves, state=found, dual_objective=None, dual_point=None)
        if self.hull.sources:
            return trained
        return self._proved(trained, point.state.bound, HullProof(found.nodes, point.state.x))

    def _proved(
        self, point: AnyIterate, bound: float | None, proof: HullProof | None
    ) -> AnyIterate:
        """``point`` with the dual value that a bound on Omega*(a)^2 gives; its proof is kept."""
        if bound is None or proof is None:
            return point
        found = self.task.bound(point.dual, bound)
        self._proofs.append((found.point, proof, found.value))
        return replace(point, dual_objective=found.value, dual_point=found.point)

    def _polished(self, best: AnyIterate) -> AnyIterate:
        self.hull.add(best.state.nodes)
        point = self._train(best.state.shares, best.dual, _SHARP)
        for _ in range(_ROUNDS):
            wanted = self._necessary(point)
            full = len(self.hull) >= self.max_nodes or not self.design.fits(
                [*self.hull.members, *wanted]
            )
            if not wanted or full or _seconds() > self._end:
                break
            self.hull.add(wanted)
            following = self._train(point.state.shares, point.dual, _SHARP)
            point = replace(following, solves=following.solves + point.solves)
        return point

    def _necessary(self, point: AnyIterate) -> list[Node]:
        """The largest violators of N_J."""
        limit = point.state.inner.bound * (1.0 + _STRICT)
        values = self.certifier.violations(self.hull, point.dual)
        return _above(values, limit)[: self._batch]

    @property
    def _batch(self) -> int:
        """As printed, or a third of the hull where that is more and the search is our own."""
        return _VIOLATORS if self.search == "printed" else max(_VIOLATORS, len(self.hull) // 3)

    def _threshold(self, point: AnyIterate) -> float:
        """Omega*(a)^2 up to here keeps the full gap within the tolerance."""
        inner: Inner = point.state.inner
        spare = self.tol * abs(point.objective) * (1.0 - 1e-9) - (
            point.objective - inner.dual_objective
        )
        return inner.bound + 2.0 * spare / self.task.lam


def _above(values: dict[Node, float], limit: float) -> list[Node]:
    """The nodes above ``limit``, the largest first."""
    return sorted(
        (t for t, value in values.items() if value > limit), key=values.__getitem__, reverse=True
    )


def largest_lambda(design: Design, y: Array, weights: NodeWeights) -> float:
    """Up to where lambda matters: 100 Omega*(Phi'(y - mean)/n)^2 / var(y), where the fit is within
    1 % of none.

    Omega* is that of a hull grown by the necessary condition. There is no lambda with an empty
    hull, because Omega is squared: the largest lambdas keep the nodes at which the dual norm is
    attained. Where the target is constant, or related to no kernel by more than rounding, no lambda
    matters: 1.
    """
    centred = y - y.mean()
    spread = float(np.mean(centred**2))
    if spread <= 0.0:
        return 1.0
    a = centred / y.size
    hull = Hull(design.order)
    certifier = Certifier(design, weights, max_nodes=0)
    hull.add(list(hull.sources))
    while True:
        forms = design.forms(hull.nodes, a)
        d = weights.of(hull.nodes)
        bounds = dual_norm(
            Ancestry(design.order, hull.nodes), d, forms, np.zeros(len(hull)), np.inf, _ROUNDS
        )
        above = _above(certifier.violations(hull, a), bounds.lower)
        if not above or len(hull) > _PER_VARIABLE * design.p:
            break
        hull.add(above[:_SOURCES])
    if bounds.lower <= (_UNRELATED * y.size) ** 2 * spread:
        return 1.0
    return 100.0 * bounds.lower / spread
