"""How far the whole grid can still improve on a hull: conditions on sources, the dual norm on a certificate set.

For any dual a and any hull C, with kappa from shares x on C and kappa_vw = d_v / sum_{v' in A(w) outside C} d_v'
outside,

    Omega*(a)^2  <=  max( max_{v in C} h_v / x_v ,  max_{t in sources of the complement of C} S_t )
    full gap     <=  gap_J + lam/2 [ that bound - bound on Omega*_J(a)^2 ]_+

N_J (necessary, Proposition 2)   a_t / d_t^2 <= delta^2 for every source t
S_J (sufficient, Proposition 3)  S_t <= delta^2 + 2 eps / lam for every source t; the printed eps / lam is a factor 2
too strict

C is where the bound is taken, J where the model is trained: a bound over a large C costs scalars a_w only.

Source: Bach (2008), Propositions 2 and 3; specification, sections 3, 4 and 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from mklcore.arrays import Array, Indices
from mklcore.solvers.hkl.dag import Ancestry, Hull, Node
from mklcore.solvers.hkl.machine import Task
from mklcore.solvers.hkl.settings import SETTINGS
from mklcore.solvers.hkl.space import KernelSpace, NodeWeights
from mklcore.solvers.hkl.work import Work


@dataclass(frozen=True, eq=False)
class NormBounds:
    """lower <= Omega*_C(a)^2 <= upper, and the shares x (m,) that gave them."""

    lower: float
    upper: float
    x: Array


def dual_norm(
    nodes: Sequence[Node],
    forms: Array,
    weights: NodeWeights,
    start: Array,
    threshold: float,
    steps: int = 0,
    ancestry: Ancestry | None = None,
) -> NormBounds:
    """Bounds on Omega*_C(a)^2 over the hull ``nodes``, tightened until it is known on which side of ``threshold`` it
    is.

    ``forms`` (m,) are a'K_w a; ``start`` (m,) shares to start from, zero for new nodes; without an
    ``ancestry`` they are nodes of a grid. x <- sqrt(x h) never lowers the lower bound. At least ``steps`` steps are
    made.
    """
    ancestry, d = Ancestry(nodes) if ancestry is None else ancestry, weights.of(nodes)
    known = start / start.sum() if start.sum() > 0 else np.zeros(d.size)
    fresh = np.where(known > 0, 0.0, d)
    fresh = fresh / fresh.sum() if fresh.any() else known
    lower, upper, best = 0.0, np.inf, known
    for mix in SETTINGS.mixes if known.any() else (1.0,):
        x = (1.0 - mix) * known + mix * fresh
        for step in range(SETTINGS.certificate_steps):
            x = np.maximum(x, 1e-14)
            x /= x.sum()
            eta = x / d**2
            zeta = ancestry.zeta(eta)
            h = ancestry.down(zeta**2 * forms) / eta
            top = float(np.max(h / x))
            lower = max(lower, float(zeta @ forms))
            if top < upper:
                upper, best = top, x
            if step >= steps and (upper <= threshold or lower > threshold):
                return NormBounds(lower, upper, x if lower > threshold else best)
            x = np.sqrt(x * h)
    return NormBounds(lower, upper, best)


def largest_sum(
    design: KernelSpace,
    weights: NodeWeights,
    nodes: Sequence[Node],
    a: Array,
    rough: Array,
    slack: Array,
    floor: float,
) -> float:
    """The largest S_t of ``nodes``, or ``floor`` where that is more, in double precision: of those S_t that are within
    ``slack`` of ``rough``, the ones that cannot be the largest are left as they are. No limit ends it: what has been
    proved would be lost."""
    least = max(floor, float(np.max(rough - slack, initial=0.0)))
    near = np.flatnonzero((slack > 0.0) & (rough + slack > least))
    exact = design.descendant_sums([nodes[int(k)] for k in near], a, weights)
    return max(floor, float(np.max(exact, initial=0.0)), float(np.max(rough[slack == 0.0], initial=0.0)))


class Proof(NamedTuple):
    """The hull C and the shares x (m,) on it with which a bound on Omega*(a)^2 can be computed again."""

    nodes: tuple[Node, ...]
    shares: Array

    def bound(self, design: KernelSpace, weights: NodeWeights, a: Array) -> float:
        """max( max_{v in C} h_v / x_v, max_t S_t ) >= Omega*(a)^2 over the whole grid, for any dual ``a`` (n,)."""
        ancestry, eta = design.ancestry(self.nodes), self.shares / weights.of(self.nodes) ** 2
        h = ancestry.down(ancestry.zeta(eta) ** 2 * design.forms(self.nodes, a)) / eta
        outside = list(design.hull(self.nodes).sources)
        return largest_sum(
            design, weights, outside, a, *design.rough_sums(outside, a, weights), float(np.max(h / self.shares))
        )

    @property
    def arrays(self) -> tuple[Indices, Array]:
        """What a file holds of it: (k, 3) rows of node, variable and level above 0, and the shares (m,)."""
        rows = [(place, i, level) for place, node in enumerate(self.nodes) for i, level in node]
        table: Indices = np.array(rows, dtype=np.int64).reshape(-1, 3)
        return table, self.shares

    @classmethod
    def of(cls, arrays: tuple[Indices, Array]) -> Proof:
        """The proof that ``arrays`` were made from."""
        table, shares = arrays
        nodes: list[list[tuple[int, int]]] = [[] for _ in shares]
        for place, variable, level in table.tolist():
            nodes[place].append((variable, level))
        return cls(tuple(map(tuple, nodes)), shares)


def hkl_certificate(model: Any, X: Any, y: Any) -> tuple[Any, Any]:
    """Primal and dual value of a fitted hull, computed again from its training rows and what it publishes, nothing
    else:

        primal  (1/n) sum_i l(y_i, f(x_i)) + lam/2 Omega(beta)^2          from weights_, dual_coef_, intercept_
        dual    -(1/n) sum_i phi_i*(-n lam a_i) - lam/2 bound            from a = dual_point_, the bound from proof_

    ``proof_`` holds the nodes and shares from which the sufficient condition bounds Omega*(a)^2 over the whole grid.
    ``X`` (n, p) or Gram matrices (p, q+1, n, n), and ``y`` (n,), are what ``model`` was fitted on. Returns two floats,
    or two arrays over the one-vs-rest problems; the dual is minus infinity where the search left no proof, or the dual
    is infeasible.

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
    proofs = [None] * len(tasks) if model.proof_ is None else [Proof.of(arrays) for arrays in model.proof_]
    points = [None] * len(tasks) if model.dual_point_ is None else np.atleast_2d(model.dual_point_)
    nodes = [design.node_of(key) for key in model.hull_]
    intercepts = np.atleast_1d(model.intercept_)
    if (
        model.fit_intercept and tasks[0].loss.of_residuals
    ):  # the same problem, without the digits that a far target takes
        tasks = [replace(task, y=task.y - b) for task, b in zip(tasks, intercepts, strict=True)]
        intercepts = np.zeros(len(tasks))
    fitted = zip(np.atleast_2d(model.weights_), np.atleast_2d(model.dual_coef_), intercepts, strict=True)
    values = np.array(
        [
            (primal_of(design, weights, task, nodes, *parts), dual_of(design, weights, task, point, proof))
            for task, parts, point, proof in zip(tasks, fitted, points, proofs, strict=True)
        ]
    )
    return (float(values[0, 0]), float(values[0, 1])) if len(tasks) == 1 else (values[:, 0], values[:, 1])


def primal_of(
    design: KernelSpace,
    weights: NodeWeights,
    task: Task,
    nodes: Sequence[Node],
    zeta: Array,
    a: Array,
    intercept: float,
) -> float:
    """(1/n) sum_i l + lam/2 Omega(beta)^2 of the coefficients ``zeta`` (m,) of ``nodes``, ``a`` (n,) and the
    intercept."""
    decision = np.zeros(design.n)
    for node, weight in zip(nodes, zeta, strict=True):
        if weight > 0:
            decision += weight * design.values.product(node, a)
    norms = np.sqrt(design.ancestry(nodes).down(zeta**2 * design.forms(nodes, a)))
    return task.primal(decision, float(intercept), float(weights.of(nodes) @ norms) ** 2)


def dual_of(design: KernelSpace, weights: NodeWeights, task: Task, a: Array | None, proof: Proof | None) -> float:
    """The dual value of ``a`` (n,) with the bound on Omega*(a)^2 that ``proof`` gives; minus infinity where there is
    none."""
    if a is None or proof is None or (task.fit_intercept and abs(a.sum()) > 1e-9 * max(np.abs(a).sum(), 1e-300)):
        return -np.inf
    a = np.ascontiguousarray(a)
    return task.lam * (task.loss.dual(a, task.y, task.C) - 0.5 * proof.bound(design, weights, a))


@dataclass(frozen=True, eq=False)
class Verdict:
    """What a certification found: ``bound`` on Omega*(a)^2 over the whole grid (None: not computed to the end), whether
    it is below the threshold, the nodes that ought to be trained on where it is not, and the ``proof`` of the bound."""

    bound: float | None
    holds: bool
    wanted: list[Node]
    full: bool = False
    proof: Proof | None = None


class Certifier:
    """Bounds Omega*(a)^2 over all kernels of the grid. Keeps its certificate set from one dual to the next."""

    def __init__(self, design: KernelSpace, weights: NodeWeights, *, max_nodes: int, work: Work | None = None) -> None:
        self.design, self.weights, self.max_nodes = design, weights, max_nodes
        self.work = Work() if work is None else work
        self.set = design.hull()
        self.looked_at: set[Node] = set()

    def sums(self, sources: Sequence[Node], a: Array, threshold: float) -> tuple[dict[Node, float], dict[Node, float]]:
        """S_t for every source t, and how far from it the true one may be: never on the other side of ``threshold``."""
        self.looked_at.update(sources)
        found, slack = self.design.rough_sums(sources, a, self.weights, self.work)
        unsure = np.flatnonzero((np.abs(found - threshold) <= slack) & (slack > 0.0))
        if unsure.size:
            found[unsure] = self.design.descendant_sums([sources[int(k)] for k in unsure], a, self.weights, self.work)
            slack[unsure] = 0.0
        return dict(zip(sources, found.tolist(), strict=True)), dict(zip(sources, slack.tolist(), strict=True))

    def violations(self, hull: Hull, a: Array) -> dict[Node, float]:
        """a_t / d_t^2 for every source t of the hull's complement: condition N_J compares it with delta^2."""
        sources = list(hull.sources)
        self.looked_at.update(sources)
        found = self.design.forms(sources, a, self.work) / self.weights.of(sources) ** 2
        return dict(zip(sources, found.tolist(), strict=True))

    def certify(self, trained: dict[Node, float], a: Array, threshold: float, *, grow: bool, most: int) -> Verdict:
        """Is Omega*(a)^2 <= ``threshold`` over the whole grid? ``trained`` maps the nodes of J to their shares.

        With ``grow`` the certificate set takes in every source with S_t above the threshold, layer by layer, until none
        is left, the bound fails on the set itself (then the ``most`` nodes that make it fail are wanted), or the set
        reaches ``max_nodes``. Without, it is J, and the sources above the threshold are wanted (the printed algorithm).
        """
        if not grow:
            self.set = self.design.hull(trained)
        self.set.add(trained)
        known: dict[Node, float] = {}
        slack: dict[Node, float] = {}
        forms: dict[Node, float] = {}
        start = dict(trained)
        while True:
            nodes = self.set.nodes
            missing = [node for node in nodes if node not in forms]
            forms.update(zip(missing, self.design.forms(missing, a, self.work).tolist(), strict=True))
            a_w = np.array([forms[node] for node in nodes])
            bounds = dual_norm(
                nodes,
                a_w,
                self.weights,
                np.array([start.get(v, 0.0) for v in nodes]),
                threshold,
                ancestry=self.design.ancestry(nodes),
            )
            start = dict(zip(nodes, bounds.x.tolist(), strict=True))
            if bounds.upper > threshold:
                new = [node for node in nodes if node not in trained]
                wanted = sorted(new, key=start.__getitem__, reverse=True)[:most]
                return Verdict(None, False, wanted)
            for learnt, fresh in zip(
                (known, slack), self.sums([t for t in self.set.sources if t not in known], a, threshold), strict=True
            ):
                learnt.update(fresh)
            above = sorted((t for t in self.set.sources if known[t] > threshold), key=known.__getitem__, reverse=True)
            room = self.max_nodes - len(self.set)
            if not above or not grow or room <= 0 or self.work.is_over:
                outside = list(self.set.sources)
                rough, off = (np.array([learnt[t] for t in outside]) for learnt in (known, slack))
                bound = largest_sum(self.design, self.weights, outside, a, rough, off, bounds.upper)
                proof = Proof(tuple(nodes), bounds.x)
                if not above:
                    return Verdict(bound, True, [], proof=proof)
                return Verdict(bound, False, above[:most], full=grow, proof=proof)
            self.set.add(above[:room])
