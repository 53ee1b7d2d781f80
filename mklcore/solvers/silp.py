"""Cutting planes for p = 1: the semi-infinite linear programme of Sonnenburg et al. (2006), for comparison.

    min_{theta in the simplex, t}  t     subject to   t >= Lin(a_k) - 1/2 theta'Q(a_k)   for every machine solution a_k

Each step solves the programme (HiGHS) and asks the machine for one more plane at its solution. Kept as the historical
baseline: its last digits are slow, and damped Newton needs fewer machines. Source: Kloft et al. (2011), section 4.1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mklcore.arrays import Array
from mklcore.errors import ParameterError
from mklcore.solvers.driver import Status, Trace
from mklcore.solvers.problem import Problem, WarmStart
from mklcore.solvers.reweighting import _FLOOR, Reweighting, WeightIterate


@dataclass(frozen=True)
class SILPSettings:
    """What the linear programme is tuned by.

    A value changes how long a fit takes, not what its certificate proves.
    """

    finest: float = 1e-10  # tolerances of the programme, as fine as HiGHS takes them: 1e-7, its own, left gaps of 1e-5
    same: float = 1e-13  # change of theta that is none
    still: float = 0.9  # of the gap is left after a step that changes nothing


SETTINGS = SILPSettings()


class SILP(Reweighting):
    """The wrapper with theta from a linear programme over all planes so far; only for the lp norm at p = 1."""

    def __init__(self, problem: Problem, *, tol: float, warm: WarmStart | None = None) -> None:
        if not problem.penalty.simplex:
            raise ParameterError('solver="silp" is for p = 1 only; use solver="auto" for other norms.')
        super().__init__(problem, tol=tol, warm=warm)
        self.name = "cutting planes (SILP)"
        self._planes: list[tuple[float, Array]] = []

    def step(self, best: WeightIterate, last: WeightIterate, trace: Trace) -> WeightIterate | Status:
        from scipy.optimize import linprog

        task = self.problem
        self._planes.append((task.loss.dual(last.dual, task.y, task.C), last.state.Q))
        linear = np.array([plane for plane, _ in self._planes])
        forms = np.array([Q for _, Q in self._planes])
        M = forms.shape[1]
        scale = float(np.abs(linear).max()) or float(forms.max()) or 1.0  # in the nu form the linear part is zero
        found = linprog(
            np.append(np.zeros(M), 1.0),
            A_ub=np.column_stack([-0.5 * forms, -np.ones(len(linear))]) / scale,
            b_ub=-linear / scale,
            A_eq=np.append(np.ones(M), 0.0)[None],
            b_eq=[1.0],
            bounds=[(0.0, 1.0)] * M + [(None, None)],
            method="highs",
            options={"primal_feasibility_tolerance": SETTINGS.finest, "dual_feasibility_tolerance": SETTINGS.finest},
        )
        if found.x is None:
            return Status.STALLED
        theta = np.maximum(found.x[:-1], 0.0)
        # The largest Q feels the machine's error to first order: where the gap stands still, only sharper machines
        # help.
        still = len(trace.gaps) > 1 and trace.gaps[-1] > SETTINGS.still * trace.gaps[-2]
        same = bool(np.abs(theta / theta.sum() - last.weights).max() <= SETTINGS.same)
        if still and same and last.state.accuracy <= 10 * _FLOOR:
            return Status.STALLED  # the same plane forever: the programme has no digits left to tell another theta
        least = _FLOOR if still else max(_FLOOR, min(0.01 * self.tol, last.state.accuracy))
        accuracy = max(0.3 * min(self.accuracy(trace), last.state.accuracy), least)
        return self.solve(theta / theta.sum(), last.dual, accuracy)
