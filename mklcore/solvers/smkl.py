"""Sparse MKL by concave group selection terms: the reweighting loop with another penalty.

    min_{w, b}  L(w, b) = g(w) + C sum_i V(f(x_i), y_i),    f = sum_k <w_k, Phi_k> + b,   r_k = ||w_k||^2

Algorithm 2 of Subrahmanya and Shin (2010), from beta_k = 1 / M:

    1  a, b <- machine with K = sum_k beta_k K_k
    2  r_k <- beta_k^2 a'K_k a
    3  record L
    4  beta_k <- 1 / B_k(r)                       see ``penalties/terms.py``
    5  until ||beta_new - beta||_1 <= tol         (absolute, as printed, or as a share of ||beta||_1)

and at the end weights below 1e-6 of the largest become 0 and the machine is solved once more. Where C is too small for
any kernel to be worth its price, all weights shrink for ever or to the floor of the log term: with the relative tolerance
the answer is then no kernel.

Step 1 minimises the tangent of g plus the loss exactly, so L never rises; a machine that is not exact enough to show it is
solved again, sharper.
g is concave, hence no dual and no certificate: with log or mf terms the answer is a local minimum that depends on the
start, and several starts tell how much. The group lasso and the mkl term are convex in w: every start ends alike.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from mklcore.errors import NotConvergedWarning, ParameterError
from mklcore.losses import Loss
from mklcore.penalties.terms import GroupTerm
from mklcore.solvers.driver import Array, Board, Fit, Point, Status, run
from mklcore.solvers.reweighting import _FLOOR, NEGLIGIBLE, Problem, Reweighting

TOL_MODES = ("relative", "absolute")
_ACCURACY = 1e-6  # relative gap of the machines, at most; a hundredth of it whenever L would rise
_SLACK = 1e-9  # rise of L that counts as round-off
_NOTHING = 1e-5  # share of C sum V below which 1/2 ||f||^2 means that no kernel is worth its price


class Search(NamedTuple):
    """The best of several fits, and L at the end of each: ``objectives`` (n_starts,), NaN for starts cancelled before."""

    fit: Fit
    objectives: Array


class SMKL(Reweighting):
    """Algorithm 2 as the driver's method. ``weights`` (M,) is beta^0, equal weights 1 / M where None."""

    def __init__(
        self, problem: Problem, *, tol: float, tol_mode: str = "relative", weights: Array | None = None
    ) -> None:
        super().__init__(problem, tol=tol)
        assert isinstance(problem.penalty, GroupTerm)
        self.name = f"SMKL ({problem.penalty.formula})"
        self.tol_mode, self.first = tol_mode, weights
        self.change, self.collapsed = np.inf, False

    def start(self) -> Point:
        weights = self.problem.penalty.start(self.problem.K.shape[0]) if self.first is None else self.first
        return self.solve(weights, None, float(np.clip(1e-4 * self.tol, _FLOOR, _ACCURACY)))

    def step(self, best: Point, last: Point, board: Board) -> Point | Status:
        weights = self.problem.penalty.update(last.weights, last.state.Q)
        self.change = self._change(last.weights, weights)
        self.collapsed = self._is_worthless(last) and weights.sum() <= (1.0 + self.tol) * last.weights.sum()
        if self.change <= self.tol or self.collapsed:
            return Status.SETTLED
        following = self.solve(weights, last.dual, last.state.accuracy)
        while self._rises(last, following) and following.state.accuracy > _FLOOR:
            sharper = self.solve(weights, following.dual, max(_FLOOR, 0.01 * following.state.accuracy))
            following = replace(sharper, solves=sharper.solves + following.solves)
        return following

    def finish(self, best: Point) -> Point:
        """The update that ended the loop, negligible weights set to zero, and the machine solved for what is left."""
        weights = self.problem.penalty.update(best.weights, best.state.Q)
        least = np.inf if self.collapsed else NEGLIGIBLE * weights.max()
        weights = np.where(weights < least, 0.0, weights)
        return self.solve(weights, best.dual, best.state.accuracy)

    def bound(self, a: Array, Q: Array) -> None:
        """A concave penalty has no dual."""

    def _change(self, before: Array, after: Array) -> float:
        """||after - before||_1, as a share of ||after||_1 when relative."""
        moved = float(np.abs(after - before).sum())
        if self.tol_mode == "absolute" or moved == 0.0:
            return moved
        return moved / max(float(after.sum()), np.finfo(float).tiny)

    def _is_worthless(self, point: Point) -> bool:
        """What is left of f is nothing; where weights only shrink, they run to zero or to the floor of the log term."""
        half = 0.5 * float(point.weights @ point.state.Q)
        return self.tol_mode == "relative" and half <= _NOTHING * (point.state.value - half)

    @staticmethod
    def _rises(last: Point, following: Point) -> bool:
        """L rose, and the machine's own gap may be the reason."""
        slack = _SLACK * max(abs(last.objective), last.state.value)
        return following.objective > last.objective + slack and following.state.inner_gap > 0.1 * slack


def starts(M: int, n_starts: int, jitter: float, rng: np.random.RandomState) -> list[Array]:
    """beta^0 of every start: first 1 / M for every kernel, times 1 + jitter u with u uniform in [-1, 1]; then cubes of
    exponential draws as shares of 1, uneven enough to end in different local minima."""
    equal = np.full(M, 1.0 / M)
    first = equal if jitter == 0.0 else equal * (1.0 + jitter * rng.uniform(-1.0, 1.0, M))
    drawn = [rng.exponential(size=M) ** 3 for _ in range(n_starts - 1)]
    return [first, *(draw / draw.sum() for draw in drawn)]


def fit_selection(
    K: Array,
    y: Array,
    C: float,
    loss: Loss,
    penalty: GroupTerm,
    fit_intercept: bool,
    *,
    tol: float = 1e-3,
    tol_mode: str = "relative",
    max_iter: int = 500,
    first_weights: Sequence[Array | None] = (None,),
    callback: Callable[..., Any] | None = None,
) -> Search:
    """Choose kernels and fit the machine together:

        min_{w, b}  g(w) + C sum_i V(f(x_i), y_i),      g a group selection term or a sum of them

    ``K`` (M, n, n) float64, ``y`` (n,) float64 (labels -1 / +1 for hinge and logistic), ``C`` > 0; ``first_weights`` holds
    one beta^0 (M,) per start (None: equal). The fit of the smallest L is kept; a NotConvergedWarning tells the change of
    the weights reached where ``max_iter`` ended it. Source: Subrahmanya and Shin (2010), Algorithm 2.
    """
    if tol_mode not in TOL_MODES:
        raise ParameterError(f"tol_mode must be one of {', '.join(TOL_MODES)}; got {tol_mode!r}.")
    problem = Problem(K, y, float(C), loss, penalty, fit_intercept)
    runs: list[tuple[Fit, float]] = []
    for weights in first_weights:
        method = SMKL(problem, tol=tol, tol_mode=tol_mode, weights=weights)
        runs.append((run(method, tol=tol, max_iter=max_iter, callback=callback), method.change))
        if runs[-1][0].status is Status.CANCELLED:
            break
    objectives = np.full(len(first_weights), np.nan)
    objectives[: len(runs)] = [fit.objective for fit, _ in runs]
    fit, change = runs[int(np.nanargmin(objectives))]
    status = Status.CANCELLED if runs[-1][0].status is Status.CANCELLED else fit.status
    fit = replace(fit, status=status, solves=sum(other.solves for other, _ in runs))
    if not fit.status.ok:
        reached = f" {tol_mode.capitalize()} change of the weights reached {change:.2e}, tolerance asked {tol:.0e}."
        warnings.warn(f"{fit.solver} {fit.status.value}.{reached}", NotConvergedWarning, stacklevel=3)
    return Search(fit, objectives)
