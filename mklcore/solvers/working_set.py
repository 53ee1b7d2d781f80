"""Newton on the kernels that matter: at p = 1 most weights are zero, and a kernel without weight need not be read.

    a few Newton steps on all kernels from equal weights; what is hard goes on with those that have weight or nearly so;
    repeat   Newton steps on the working set until its own gap is half the tolerance
             Q_m = a'K_m a for all kernels at the dual that certifies it
    until    no kernel outside has a larger Q_m; else those that have come in

A dual feasible on the working set is feasible for all kernels, so the last step is the certificate itself. A path hands
the working set to the next value of C.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mklcore.arrays import Array, Indices
from mklcore.solvers.driver import Progress, Status, Trace
from mklcore.solvers.newton import Newton
from mklcore.solvers.problem import Carried, Problem, WarmStart, WeightedMethod, certificate_over
from mklcore.solvers.proof import Certificate
from mklcore.solvers.reweighting import NEGLIGIBLE, WeightIterate, WeightState
from mklcore.solvers.screening import Screened, radius_of


@dataclass(frozen=True)
class WorkingSetSettings:
    """What the growing of the working set is tuned by.

    A value changes how long a fit takes, not what its certificate proves.
    """

    from_kernels: int = 8  # fewer are all kept
    spare: int = 4  # kernels kept beside those with weight: the nearest to entering
    spare_alone: int = 8  # the same where no homotopy is to follow: each costs less than a pass over all
    share: float = 0.9  # of the tolerance is asked of the working set
    most: float = 0.7  # a larger share of the kernels is not worth setting apart
    opening: int = 10  # steps on all kernels: an easy problem ends before a set pays


SETTINGS = WorkingSetSettings()


class WorkingSet(WeightedMethod[WeightState]):
    """The damped Newton method of ``newton.py`` on a growing set of kernels; for p = 1.

    ``inside`` tells how near the problem on the set is to its own optimum; the driver's trace speaks of all kernels.
    """

    def __init__(self, problem: Problem, *, tol: float, warm: WarmStart | None = None) -> None:
        self.problem, self.tol, self.warm = problem, tol, warm
        self.name = "lp damped Newton on a working set of kernels"
        self._everything = np.arange(problem.K.n_kernels)
        self._opening = self._certified = warm is None
        self._over: Status | None = None  # said once the last point has been certified over all kernels
        self._dear = warm is not None and warm.carried.homotopy_is_dear
        self.spare = SETTINGS.spare_alone if self._dear else SETTINGS.spare
        self._screening = self.screening(warm)

    @property
    def screened(self) -> Screened | None:
        return None if self._screening is None else self._screening.counts

    @property
    def carry(self) -> Carried:
        """The working set, for the next value of C; kernels far from having weight are left behind."""
        near = nearest(self.last.weights, self.last.state.Q, self.spare)
        return Carried(self.inner.live[near], self._dear, self._screening)

    def progress(self, trace: Progress) -> Progress:
        return self.inside

    def init(self) -> WeightIterate:
        warm = self.warm
        if warm is None:
            self._begin(Newton(self.problem, tol=self.tol))
            return self.last
        live = self._live(warm)
        inside = WarmStart(warm.weights[live], warm.dual, warm.C)
        self._begin(Newton(self.problem, tol=SETTINGS.share * self.tol, warm=inside, live=live))
        return self._shown(self.last)

    def _live(self, warm: WarmStart) -> Indices:
        """The kernels to begin with."""
        live = warm.carried.live
        if live is None:
            return nearest(warm.weights, warm.weights)
        if self._dear:
            return nearest(warm.weights, self.problem.K.quad(warm.dual), self.spare)
        return live

    def step(self, best: WeightIterate, last: WeightIterate, trace: Trace) -> WeightIterate | Status:
        if self._over is not None:
            return self._over
        if self._opening and len(trace.history) >= SETTINGS.opening:
            self._shrink()
        following = self.inner.step(self.inside.best or self.last, self.last, self.inside)
        if isinstance(following, Status):
            return following if self._whole else self._checked(self.last, following)
        self._add(following)
        if self._whole:
            return following
        return self._checked(following, None) if self.inside.gap <= self.inside.target else self._shown(following)

    def polish(self, best: WeightIterate) -> WeightIterate:
        """The best point on the working set without its negligible weights, certified over all kernels."""
        inside = replace(best, weights=best.weights[self.inner.live])
        polished = self.inner.polish(inside)
        if polished is inside:
            if self._certified:
                return best
            polished = replace(inside, solves=0)
        return self._shown(polished, self._forms(polished.dual), polished.dual)

    def certify(self, best: WeightIterate, dual_point: Array | None) -> Certificate:
        """As everywhere; kernels without weight that cannot change the price need not be read."""
        if self._screening is None or dual_point is None:
            return super().certify(best, dual_point)
        needed = self._screening.needed(dual_point, np.flatnonzero(best.weights))
        if needed.size == self._everything.size:
            return super().certify(best, dual_point)
        return certificate_over(self.problem, self.problem.K, best, dual_point, needed)

    def _forms(self, a: Array) -> Array:
        """The forms of all kernels, of those that do not change the price an upper bound."""
        return self.problem.K.quad(a) if self._screening is None else self._screening.forms(a, self.inner.live)

    # -- the working set

    def _begin(self, inner: Newton, point: WeightIterate | None = None) -> None:
        self.inner, self.inside = inner, Progress(inner.tol)
        self._add(inner.init() if point is None else point)

    def _add(self, point: WeightIterate) -> None:
        self.last = point
        before = self.inside.dual
        self.inside.add(point)
        if before is None or (point.dual_objective is not None and point.dual_objective >= before):
            self.witness = point.dual if point.dual_point is None else point.dual_point

    @property
    def _whole(self) -> bool:
        return self.inner.live.size == self._everything.size

    def _shrink(self) -> None:
        """Go on with the kernels that have weight and those nearest to it, where these are few."""
        point, self._opening = self.last, False
        live = nearest(point.weights, point.state.Q)
        if live.size > SETTINGS.most * self._everything.size:
            return
        state = replace(point.state, Q=point.state.Q[live], G=np.ascontiguousarray(point.state.G[live]))
        fewer = Newton(self.problem, tol=SETTINGS.share * self.tol, live=live)
        self._begin(fewer, replace(point, weights=point.weights[live], solves=0, state=state))

    def _checked(self, point: WeightIterate, stalled: Status | None) -> WeightIterate:
        """``point`` with a certificate over all kernels; those that break it enter the working set."""
        forms = self._forms(self.witness)
        inside = forms[self.inner.live].max()
        outside = np.setdiff1d(np.flatnonzero(forms > inside * (1.0 + 1e-9)), self.inner.live)
        shown, self._certified = self._shown(point, forms), True
        outside = self._not_ruled_out(outside, shown, forms)
        if stalled is not None:
            shown = replace(shown, solves=0)  # they were counted when the point was new
        if outside.size:
            self._grow(outside)
        elif stalled is not None:
            self._over = stalled
        else:
            self.inner.tol *= 0.5
            self.inside.tol = self.inner.tol
        return shown

    def _not_ruled_out(self, outside: Indices, shown: WeightIterate, forms: Array) -> Indices:
        """Those that may have weight at the optimum, by the sphere around the dual that has been certified."""
        task, screening = self.problem, self._screening
        if screening is None or shown.dual_objective is None or shown.dual_point is None:
            return outside
        objective = shown.objective if self.inside.best is None else self.inside.best.objective
        radius = radius_of(objective - shown.dual_objective, objective, task.loss, task.C)
        size = float(self.witness @ self.witness)
        screening.rule_out(forms, float(shown.dual_point @ self.witness) / size if size > 0.0 else 0.0, radius)
        return outside[screening.possible[outside]]

    def _grow(self, outside: Indices) -> None:
        point, live = self.last, np.union1d(self.inner.live, outside)
        old, new = np.searchsorted(live, self.inner.live), np.searchsorted(live, outside)
        G = np.empty((live.size, point.dual.size))
        G[old], G[new] = point.state.G, self.problem.K.matvec(point.dual, outside)
        Q = np.maximum(G @ point.dual, 0.0)
        weights = self.inner.among_all(point.weights)[live]
        bound = self.problem.bound(point.dual, Q)
        grown = Newton(self.problem, tol=self.inner.tol, live=live)
        proved = replace(point, dual_objective=bound.value, dual_point=bound.point, scale=bound.price)
        self._begin(grown, replace(proved, weights=weights, solves=0, state=replace(point.state, Q=Q, G=G)))

    # -- a point as the driver sees it

    def _shown(self, point: WeightIterate, forms: Array | None = None, witness: Array | None = None) -> WeightIterate:
        """``point`` with weights for all kernels; a dual value only where the forms of all kernels are known."""
        weights = self.inner.among_all(point.weights)
        if forms is None:
            return replace(point, weights=weights, dual_objective=-np.inf, dual_point=None)
        bound = self.problem.bound(self.witness if witness is None else witness, forms)
        return replace(point, weights=weights, dual_objective=bound.value, dual_point=bound.point, scale=bound.price)


def nearest(weights: Array, nearness: Array, spare: int = SETTINGS.spare) -> Indices:
    """Kernels with weight, and as many again (at least ``spare``) that are nearest to having one, in order."""
    used = np.flatnonzero(weights > NEGLIGIBLE * weights.max())
    near = np.argsort(-nearness, kind="stable")[: used.size + max(spare, used.size // 2)]
    return np.union1d(used, near)
