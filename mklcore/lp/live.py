"""p = 1 on the kernels that may have weight: most weights are zero, and a kernel without weight
need not be read.

    repeat   the problem on the live kernels, by Newton or interior point steps
             Q_m = a'K_m a for all kernels: the dual of the few is feasible for all, so this is the certificate
    until    no kernel outside has a larger Q_m; else the largest of these come in

Live kernels without weight make room for those that come in. Two rules keep this from going round
in circles: kernels leave again only after the gap has become smaller, and a step that leaves the
gap as it was asks for a more accurate optimum on the live kernels from then on.

A path hands the live kernels to the next value of C. Kernels that are not stored are stored while
they are live, where there is room. Column generation, as in Dantzig and Wolfe (1960).

Which kernels are read
----------------------
Let l_m be at least the largest eigenvalue of K_m. For any two duals and any number s, the triangle
inequality gives

    | sqrt(a'K_m a) - |s| sqrt(b'K_m b) |  <=  sqrt(l_m) ||a - s b||                                                (1)

so that a kernel whose upper bound is below the largest form at a changes neither the conjugate at a nor
who enters, and is not read. Where -Lin has second derivatives of at least c > 0 on the box, the
dual objective is c-strongly concave: with the gap G of a, the optimal dual is in the sphere of
radius r = sqrt(2 G / c) around a, and kernel m has no weight if

    sqrt(a'K_m a) + sqrt(l_m) r  <  max_j  sqrt(a'K_j a) - sqrt(l_j) r                                              (2)

c is 1 / C for the squared loss and the squared hinge, 4 / C for the logistic loss, 0 for a
piecewise-linear one. Where duals sum to zero, l_m may be that of the centred kernel.

Source: Ndiaye, Fercoq, Gramfort, Salmon (2017), Gap safe screening rules for sparsity enforcing
penalties; their sphere, with the dual of the squared sum of norms in place of that of the sum.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mklcore.arrays import Array, Indices, Mask
from mklcore.kernels.kernel_map import pieces
from mklcore.kernels.operators import (
    CachedOperator,
    Capability,
    Dense,
    KernelOperator,
    is_stored,
)
from mklcore.problem.driver import Certificate, Iterate, Screened, Status, Trace, run
from mklcore.problem.losses import Cost, Loss
from mklcore.problem.problem import Carried, Phase, Problem, WarmStart, WeightedMethod, begun

# What the choice of live kernels is tuned by. A value changes how long a fit takes, not what its
# certificate proves.

FROM_KERNELS = 8  # fewer are all live
SPARE = 8  # live kernels beside those with weight: the nearest to entering
SHED = 1.5  # times the kernels near those with weight may be live at the next C
MOST = 0.7  # a larger share of stored kernels is not worth setting apart
NEGLIGIBLE = 1e-6  # share of the largest weight that is none
ROOM_MB = 700.0  # of Gram matrices of live kernels
MOST_MB = 2800.0  # of the fewest of them
FEWEST = 64  # kernels that are not stored: to begin with without a neighbour
FIRST = 200  # the same where a quarter of all is more
SHARE = 0.1  # of the present gap is asked of the live kernels while others come in
# when no larger share of the live kernels comes in, the last digits are asked for
NEARLY = 0.1
STEPS = 150  # at most, on the live kernels
PROGRESS = 0.98  # of the gap before is left at most after a step that makes progress
SHARPEN = 0.1  # factor of ``share`` after a step that makes none


_ROUNDING = 1e-12  # share of the objective that a gap may lack, and of roots in a comparison


def nearest(weights: Array, nearness: Array) -> Indices:
    """Kernels with weight, and half as many again (at least ``spare``) that are nearest to having
    one, in order.
    """
    used = np.flatnonzero(weights > NEGLIGIBLE * weights.max())
    count = used.size + max(SPARE, used.size // 2)
    near = np.argsort(-nearness, kind="stable")[:count]
    return np.union1d(used, near)


class LiveKernels(WeightedMethod[None]):
    """One step is the optimum on the live kernels by ``phases``, and the conjugate of all."""

    def __init__(
        self,
        problem: Problem,
        phases: tuple[Phase, ...],
        *,
        tol: float,
        warm: WarmStart | None = None,
    ) -> None:
        super().__init__(problem, tol=tol, warm=warm)
        self.phases = phases
        self.name = "lp Newton and interior point steps on the kernels that may have weight"
        balanced = (
            problem.fit_intercept and problem.loss.takes_intercept and problem.loss.total == 0.0
        )
        before = Carried() if warm is None else warm.carried
        known: Any = before.readings
        same = isinstance(known, Readings) and known.K is problem.K
        self.readings: Readings = (
            known.renew() if same else Readings(problem.K, norms_of(problem.K.source, balanced))
        )
        self._all = np.arange(problem.K.n_kernels)
        # the live kernels, and which these are
        self._few = before.few if same else None
        self._of = before.live
        # of Gram matrices of kernels that are not stored, ``_stored`` at present
        self._slab: Array | None = None
        self._stored: Indices = self._all[:0]
        self._ended: Status | None = None
        self._share = SHARE
        self._gap_at_leaving = np.inf  # when kernels last made room for others

    @property
    def carry(self) -> Carried:
        """The live kernels, fewer of them where most are far from having weight, and what is known
        of all.
        """
        near = nearest(self.last.weights, self.forms)
        live = self.live
        few = self._few
        if near.size * SHED < live.size:
            live = near
            few = None
        return Carried(self.problem.K, live, few, self.readings)

    def init(self) -> Iterate[None]:
        task = self.problem
        M = self._all.size
        if self.warm is not None:
            weights = self.warm.weights.copy()
            a = self.warm.dual
        else:
            low, high = task.box
            ends = np.isfinite(low) & np.isfinite(high)
            weights = np.zeros(M)
            a = np.zeros(low.size)
            a[ends] = 0.5 * (low[ends] + high[ends])
        a = task.feasible(a if a.any() else task.C * task.y)
        live = None if self.warm is None else self.warm.carried.live
        if live is None:
            used = np.flatnonzero(weights > NEGLIGIBLE * weights.max())
            forms = self.readings.forms(a, used)
            live = nearest(weights, forms) if used.size else self._first(forms)
        if is_stored(task.K) and live.size > MOST * M:
            live = self._all
        self.live: Indices = live
        if not weights[live].any():
            weights[live] = 1.0
        return self._solved(
            weights, a, 0.5 * self.tol if self.warm is not None else 100.0 * self.tol
        )

    def _first(self, forms: Array) -> Indices:
        """The kernels to begin with where none is known to have weight."""
        some = max(FEWEST, min(forms.size // 4, FIRST))
        count = min(some, self._room)
        return np.sort(np.argsort(-forms, kind="stable")[:count])

    def step(
        self, best: Iterate[None], last: Iterate[None], trace: Trace
    ) -> Iterate[None] | Status:
        if self._ended is not None:
            return self._ended
        forms = self.forms
        outside = np.flatnonzero(forms > forms[self.live].max() * (1.0 + 1e-9))
        outside = np.setdiff1d(outside[self.readings.possible[outside]], self.live)
        gap = trace.gap / trace.scale if trace.scale > 0.0 else 1.0
        if len(trace.gaps) > 1 and trace.gap > PROGRESS * trace.gaps[-2]:
            self._share *= SHARPEN
        asked = min(self._share * gap, self._asked if outside.size else 0.3 * self._asked)
        if outside.size:
            if outside.size <= NEARLY * self.live.size:
                asked = 0.0
            asked = max(asked, 0.3 * self.tol)
            entering = outside[np.argsort(-forms[outside], kind="stable")][
                : max(self.live.size, FEWEST)
            ]
            is_large = self.live.size + entering.size > self._room
            is_crowded = is_large and not is_stored(self.problem.K)
            if is_crowded and trace.gap <= PROGRESS * self._gap_at_leaving:
                self._gap_at_leaving = trace.gap
                self.live = np.flatnonzero(last.weights)
            self.live = np.union1d(self.live, entering)
        elif self._asked <= 1e-3 * self.tol:
            return Status.STALLED
        return self._solved(last.weights, last.dual, asked)

    def certify(
        self, best: Iterate[None], dual_point: Array | None, kernels: Indices | None = None
    ) -> Certificate:
        """As everywhere; kernels without weight that cannot change the conjugate are not read."""
        task = self.problem
        if dual_point is not None:
            kernels = self.readings.needed(dual_point, np.flatnonzero(best.weights))
        if task.screen and (task.loss.least_curvature > 0.0 or not is_stored(task.K)):
            self.screened = self.readings.counts
        return super().certify(best, dual_point, kernels)

    @property
    def _room(self) -> int:
        """How many Gram matrices there is room for."""
        megabytes = 8e-6 * self.problem.y.size**2
        fewest = min(FEWEST, int(MOST_MB / megabytes))
        return max(1, fewest, int(ROOM_MB / megabytes))

    def _inside(self) -> Problem:
        """The problem on the live kernels."""
        task = self.problem
        live = self.live
        if live.size == self._all.size and is_stored(task.K):
            return task
        if self._few is None or self._of is None or not np.array_equal(live, self._of):
            self._few = CachedOperator(self._chosen(task.K.source))
            self._of = live
        return replace(task, K=self._few)

    def _chosen(self, source: Any) -> KernelOperator:
        """The live kernels: copies of stored ones, others stored while there is room."""
        live = self.live
        n = self.problem.y.size
        if is_stored(source) or live.size > self._room:
            selected: KernelOperator = source.select(live)
            return selected
        # one room for all: earlier stacks beside the new one would take as much again
        if self._slab is None:
            self._slab = np.empty((self._room, n, n))
            self._stored = live[:0]
            if (
                self._few is not None
                and self._of is not None
                and Capability.DENSE in self._few.capabilities
            ):
                self._slab[: self._of.size], self._stored = self._few.values, self._of
        slab = self._slab
        kept = np.flatnonzero(np.isin(self._stored, live))
        for place, k in enumerate(kept):
            if place != k:
                slab[place] = slab[k]
        places = np.searchsorted(live, self._stored[kept])
        for at in range(kept.size - 1, -1, -1):
            if places[at] != at:
                slab[places[at]] = slab[at]
        for few in pieces(np.setdiff1d(np.arange(live.size), places), 32):
            slab[few] = source.grams(live[few])
        self._stored = live
        return Dense(slab[: live.size])

    def _solved(self, weights: Array, a: Array, asked: float) -> Iterate[None]:
        """The optimum on the live kernels to ``asked`` times R, and its certificate over all."""
        task = self.problem
        live = self.live
        self._asked = asked
        inside = self._inside()
        method = begun(inside, self.phases, tol=asked, warm=WarmStart(weights[live], a))
        listener = self.listener
        callback = None if listener is None else lambda record: listener()
        fit = run(method, tol=asked, max_iter=STEPS, callback=callback)
        if fit.status is Status.CANCELLED:
            self._ended = fit.status
        proof = fit.dual_coef if fit.dual_point is None else fit.dual_point
        own = inside.K.quad(proof)
        self.forms = self.readings.forms(proof, live, own) if task.screen else task.K.quad(proof)
        bound = task.bound(proof, self.forms)
        size = float(proof @ proof)
        if task.screen and size > 0.0:
            radius = radius_of(fit.objective - bound.value, fit.objective, task.loss, task.C)
            self.readings.rule_out(self.forms, float(bound.point @ proof) / size, radius)
        everywhere = np.zeros(self._all.size)
        everywhere[live] = fit.weights
        self.last: Iterate[None] = Iterate(
            everywhere,
            fit.dual_coef,
            fit.intercept,
            fit.objective,
            bound.value,
            bound.conjugate,
            fit.solves,
            dual_point=bound.point,
        )
        return self.last


def radius_of(gap: float, objective: float, loss: Loss, C: Cost) -> float:
    """r of the sphere around a dual with this gap that holds the optimal one; infinite where there
    is none.
    """
    c = loss.least_curvature / float(np.max(C))
    if c <= 0.0:
        return np.inf
    gap = max(gap, 0.0) + _ROUNDING * abs(objective)
    return float(np.sqrt(2.0 * gap / c))


def without_weight(
    roots: Array,
    norms: Array,
    radius: float,
    exact: Mask | None = None,
) -> Mask:
    """(2): the kernels (M,) that have no weight at the optimum, from sqrt(a'K_m a) and sqrt(l_m);
    roots that are not ``exact`` are upper bounds.
    """
    known = roots if exact is None else np.where(exact, roots, -np.inf)
    if not np.isfinite(radius):
        return np.zeros(roots.size, dtype=bool)
    least = float(np.max(known - norms * radius))
    return (roots + norms * radius) * (1.0 + _ROUNDING) < least


def norms_of(K: KernelOperator, balanced: bool) -> Array:
    """sqrt(l_m) (M,): of the trace or, where kernels are stored, of the smaller of trace and
    Frobenius norm; of the centred kernels where duals sum to zero (``balanced``).
    """
    trace = K.diagonals().sum(axis=1)
    if Capability.DENSE not in K.capabilities:
        traces: Array = np.sqrt(np.maximum(trace, 0.0))
        return traces
    kernels: Any = K
    squares = np.array([np.vdot(kernel, kernel) for kernel in kernels.values])
    n = K.n_samples
    rounding = n * np.finfo(float).eps
    if balanced:
        sums = K.matvec(np.ones(n))
        total = sums.sum(axis=1)
        trace = trace - total / n + rounding * trace
        centred = squares - 2.0 / n * np.sum(sums * sums, axis=1) + (total / n) ** 2
        squares = centred + rounding * squares
    largest = np.minimum(trace, np.sqrt(np.maximum(squares, 0.0)))
    found: Array = np.sqrt(np.maximum(largest, 0.0)) * (1.0 + rounding)
    return found


class Readings:
    """Roots sqrt(a'K_m a) of M kernels at one dual after another, read where they matter, and what
    follows from a gap.

    Parameters
    ----------
    K : the kernels
    norms : (M,), sqrt(l_m) of (1)
    """

    def __init__(self, K: KernelOperator, norms: Array) -> None:
        self.K = K
        self.norms = norms
        self._duals: dict[int, Array] = {}
        self._roots = np.zeros(norms.size)
        self._at = np.full(norms.size, -1)
        self.renew()

    def renew(self) -> Readings:
        """Begin another problem on the same kernels: nothing is ruled out, and every reading is a
        new one.
        """
        self.possible = np.ones(self.norms.size, dtype=bool)
        self.was_read = np.zeros(self.norms.size, dtype=bool)
        return self

    @property
    def counts(self) -> Screened:
        """How many kernels are ruled out, and how many were not read."""
        return Screened(int(np.sum(~self.possible)), int(np.sum(~self.was_read)))

    def needed(self, a: Array, live: Indices) -> Indices:
        """The kernels that the conjugate at ``a`` needs, ``live`` among them."""
        self.forms(a, live)
        return np.flatnonzero(self._at == max(self._duals))

    def forms(self, a: Array, live: Indices, known: Array | None = None) -> Array:
        """a'K_m a (M,): exact for the kernels ``live`` and for all that may exceed the largest of
        these, an upper bound that does not exceed it for the others; those of ``live`` may be
        ``known``.
        """
        roots = self._bounds(a)
        self._duals[max(self._duals, default=-1) + 1] = a.copy()
        roots[live] = self._exact(a, live, known)
        largest = roots[live].max(initial=0.0)
        asked = np.setdiff1d(np.flatnonzero(roots > largest), live)
        roots[asked] = self._exact(a, asked)
        for place in set(self._duals).difference(self._at.tolist()):
            del self._duals[place]
        return np.asarray(roots**2)

    def rule_out(self, forms: Array, share: float, radius: float) -> None:
        """Rule kernels out by (2) with the sphere around ``share`` times the dual that has these
        ``forms``.
        """
        exact = self._at == max(self._duals)
        roots = abs(share) * np.sqrt(forms)
        self.possible &= ~without_weight(roots, self.norms, radius, exact)

    def _bounds(self, a: Array) -> Array:
        """(1) from the last reading of every kernel, infinite where there is none."""
        out = np.full(self.norms.size, np.inf)
        for place, b in self._duals.items():
            own = self._at == place
            size = float(b @ b)
            share = float(a @ b) / size if size > 0.0 else 0.0
            distance = float(np.linalg.norm(a - share * b))
            out[own] = abs(share) * self._roots[own] + self.norms[own] * distance
        return out * (1.0 + _ROUNDING)

    def _exact(self, a: Array, kernels: Indices, forms: Array | None = None) -> Array:
        self.was_read[kernels] = True
        if forms is None and kernels.size == self.norms.size:
            forms = self.K.quad(a)
        elif forms is None:
            forms = self.K.quad(a, kernels) if kernels.size else np.zeros(0)
        self._roots[kernels] = np.sqrt(forms)
        self._at[kernels] = max(self._duals)
        return self._roots[kernels]
