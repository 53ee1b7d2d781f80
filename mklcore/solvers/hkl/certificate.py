"""How far the whole grid can still improve on a hull: conditions on sources, the dual norm on a certificate set.

For any dual a and any hull C, with kappa from shares x on C and kappa_vw = d_v / sum_{v' in A(w) outside C} d_v' outside,

    Omega*(a)^2  <=  max( max_{v in C} h_v / x_v ,  max_{t in sources of the complement of C} S_t )
    full gap     <=  gap_J + lam/2 [ that bound - bound on Omega*_J(a)^2 ]_+

N_J (necessary, Proposition 2)   a_t / d_t^2 <= delta^2 for every source t
S_J (sufficient, Proposition 3)  S_t <= delta^2 + 2 eps / lam for every source t; the printed eps / lam is a factor 2 too strict

C is where the bound is taken, J where the model is trained: a bound over a large C costs scalars a_w only.

Source: Bach (2008), Propositions 2 and 3; specification, sections 3, 4 and 6.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mklcore.arrays import Array
from mklcore.solvers.hkl.dag import Ancestry, DepthWeights, Hull, Node
from mklcore.solvers.hkl.design import Design

_STEPS = 150
_MIXES = (1e-3, 1e-2, 1e-4, 1e-1)  # weight of the new nodes in the starting shares, tried in this order


@dataclass(frozen=True, eq=False)
class NormBounds:
    """lower <= Omega*_C(a)^2 <= upper, and the shares x (m,) that gave them."""

    lower: float
    upper: float
    x: Array


def dual_norm(
    nodes: Sequence[Node], forms: Array, weights: DepthWeights, start: Array, threshold: float, steps: int = 0
) -> NormBounds:
    """Bounds on Omega*_C(a)^2 over the hull ``nodes``, tightened until it is known on which side of ``threshold`` it lies.

    ``forms`` (m,) are a'K_w a; ``start`` (m,) shares to start from, zero for new nodes. x <- sqrt(x h) never lowers the
    lower bound. At least ``steps`` steps are made.
    """
    ancestry, d = Ancestry(nodes), weights.of(nodes)
    known = start / start.sum() if start.sum() > 0 else np.zeros(d.size)
    fresh = np.where(known > 0, 0.0, d)
    fresh = fresh / fresh.sum() if fresh.any() else known
    lower, upper, best = 0.0, np.inf, known
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
                upper, best = top, x
            if step >= steps and (upper <= threshold or lower > threshold):
                return NormBounds(lower, upper, x if lower > threshold else best)
            x = np.sqrt(x * h)
    return NormBounds(lower, upper, best)


class Proof(NamedTuple):
    """The hull C and the shares x (m,) on it with which a bound on Omega*(a)^2 can be computed again."""

    nodes: tuple[Node, ...]
    shares: Array

    def bound(self, design: Design, weights: DepthWeights, a: Array) -> float:
        """max( max_{v in C} h_v / x_v, max_t S_t ) >= Omega*(a)^2 over the whole grid, for any dual ``a`` (n,)."""
        ancestry, eta = Ancestry(self.nodes), self.shares / weights.of(self.nodes) ** 2
        h = ancestry.down(ancestry.zeta(eta) ** 2 * design.forms(self.nodes, a)) / eta
        outside = Hull(design.p, design.q, self.nodes).sources
        sums = design.descendant_sums(list(outside), a, weights) if outside else np.zeros(1)
        return max(float(np.max(h / self.shares)), float(np.max(sums)))


@dataclass(frozen=True, eq=False)
class Verdict:
    """What a certification found: ``bound`` on Omega*(a)^2 over the whole grid (None: not computed to the end), whether it is
    below the threshold, the nodes that ought to be trained on where it is not, and the ``proof`` of the bound."""

    bound: float | None
    holds: bool
    wanted: list[Node]
    full: bool = False
    proof: Proof | None = None


class Certifier:
    """Bounds Omega*(a)^2 over all kernels of the grid. Keeps its certificate set from one dual to the next."""

    def __init__(
        self, design: Design, weights: DepthWeights, *, max_nodes: int, stop: Callable[[], bool] | None = None
    ) -> None:
        self.design, self.weights, self.max_nodes, self.stop = design, weights, max_nodes, stop
        self.set = Hull(design.p, design.q)
        self.looked_at: set[Node] = set()

    def sums(self, sources: Sequence[Node], a: Array) -> dict[Node, float]:
        """S_t for every source t."""
        self.looked_at.update(sources)
        found = self.design.descendant_sums(sources, a, self.weights, self.stop)
        return dict(zip(sources, found.tolist(), strict=True))

    def violations(self, hull: Hull, a: Array) -> dict[Node, float]:
        """a_t / d_t^2 for every source t of the hull's complement: condition N_J compares it with delta^2."""
        sources = list(hull.sources)
        self.looked_at.update(sources)
        found = self.design.forms(sources, a) / self.weights.of(sources) ** 2
        return dict(zip(sources, found.tolist(), strict=True))

    def certify(self, trained: dict[Node, float], a: Array, threshold: float, *, grow: bool, most: int) -> Verdict:
        """Is Omega*(a)^2 <= ``threshold`` over the whole grid? ``trained`` maps the nodes of J to their shares.

        With ``grow`` the certificate set takes in every source with S_t above the threshold, layer by layer, until none
        is left, the bound fails on the set itself (then the ``most`` nodes that make it fail are wanted), or the set
        reaches ``max_nodes``. Without, it is J, and the sources above the threshold are wanted (the printed algorithm).
        """
        if not grow:
            self.set = Hull(self.design.p, self.design.q, trained)
        self.set.add(trained)
        known: dict[Node, float] = {}
        forms: dict[Node, float] = {}
        start = dict(trained)
        while True:
            nodes = self.set.nodes
            missing = [node for node in nodes if node not in forms]
            forms.update(zip(missing, self.design.forms(missing, a).tolist(), strict=True))
            a_w = np.array([forms[node] for node in nodes])
            bounds = dual_norm(nodes, a_w, self.weights, np.array([start.get(v, 0.0) for v in nodes]), threshold)
            start = dict(zip(nodes, bounds.x.tolist(), strict=True))
            if bounds.upper > threshold:
                new = [node for node in nodes if node not in trained]
                wanted = sorted(new, key=start.__getitem__, reverse=True)[:most]
                return Verdict(None, False, wanted)
            known.update(self.sums([t for t in self.set.sources if t not in known], a))
            above = [t for t in self.set.sources if known[t] > threshold]
            top = max((known[t] for t in self.set.sources), default=0.0)
            bound, proof = max(bounds.upper, top), Proof(tuple(nodes), bounds.x)
            if not above:
                return Verdict(bound, True, [], proof=proof)
            above.sort(key=known.__getitem__, reverse=True)
            room = self.max_nodes - len(self.set)
            if not grow or room <= 0 or (self.stop is not None and self.stop()):
                return Verdict(bound, False, above[:most], full=grow, proof=proof)
            self.set.add(above[:room])
