"""MKL-GOMP with backward steps: a kernel that later ones have made needless leaves again.

    min_f  (1/n) ||y - f||^2 + lam ||f||^2      over f in the sum of at most s of the M kernel spaces

    repeat  one step of MKL-GOMP: the kernel of the largest score enters, the objective falls by d
            while some kernel can leave so that all who left in this step cost less than d / 2 together: the cheapest
            leaves

Every step lowers the objective by at least d / 2, so no set of kernels comes twice and the loop ends. A first kernel
that stands in for two others is dropped once both are in, which a forward search never does. The choice stays greedy:
no certificate.

Source: the adaptive forward-backward rule of Zhang (2011), "Adaptive forward-backward greedy algorithm for learning
sparse representations", on groups of features as in Sindhwani and Lozano (2011), with drops limited to half of the
step's own gain.
"""

from __future__ import annotations

import numpy as np

from mklcore.solvers.driver import Status, Trace
from mklcore.solvers.gomp import GOMP, GOMPIterate

GIVEN_BACK = 0.5  # share of a step's gain that its drops may cost together


class ForwardBackward(GOMP):
    """``GOMP`` with squared loss, whose steps end with drops; arguments are the same."""

    name = "MKL-GOMP with backward steps"

    def step(self, best: GOMPIterate, last: GOMPIterate, trace: Trace) -> GOMPIterate | Status:
        following = super().step(best, last, trace)
        if isinstance(following, Status):
            return following
        most = following.objective + GIVEN_BACK * (last.objective - following.objective)
        while len(following.selected or ()) > 1:
            shorter = self._shorter(following)
            if shorter.objective >= most:
                break
            following = shorter
        self._sum[:] = np.sum([self.K.gram(j) for j in following.selected or ()], axis=0)
        return following

    def _shorter(self, point: GOMPIterate) -> GOMPIterate:
        """The point without the kernel that costs least to drop."""
        chosen = point.selected or ()
        total = np.sum([self.K.gram(j) for j in chosen], axis=0)
        found = [self._ridge(total - self.K.gram(j)) for j in chosen]
        least = int(np.argmin([objective for _, objective in found]))
        solves = point.solves + self.Y.shape[1] * len(chosen)
        return self._point((*chosen[:least], *chosen[least + 1 :]), *found[least], point.state, solves)
