"""Sparse MKL by concave group selection terms: the reweighting loop with another penalty.

    min_{w, b}  L(w, b) = g(w) + C sum_i V(f(x_i), y_i),    f = sum_k <w_k, Phi_k> + b,   r_k = ||w_k||^2

Algorithm 2 of Subrahmanya and Shin (2010), from beta_k = 1 / M:

    1  a, b <- machine with K = sum_k beta_k K_k
    2  r_k <- beta_k^2 a'K_k a
    3  record L
    4  beta_k <- 1 / B_k(r)                       see ``problem/penalties.py``
    5  until ||beta_new - beta||_1 <= tol         (absolute, as printed, or as a share of ||beta||_1)

and at the end weights below 1e-6 of the largest become 0 and the machine is solved once more,
unless that raises L.

Step 1 minimises the tangent of g plus the loss exactly, so L never rises; a machine that is not
exact enough to show it is solved again, sharper. g is concave, hence no dual and no certificate:
with log or mf terms the answer is a local minimum that depends on the start, and several starts
tell how much. The group lasso and the mkl term are convex in w: every start ends alike.

With the relative tolerance two things are ours. Where no weight grows any more and next to nothing
is left of f, the answer is no kernel, if its L is the lower one. And because equal weights of
kernels that are nearly the same are a saddle of L, where the loop creeps, a settled answer is
shaken and followed down again, for as long as L falls by it.

Feature scaling kernels under a group selection term: one Gaussian kernel whose columns have scales
of their own.

    min_{s, f, b}  G(r) + C sum_i V(f(x_i) + b, y_i) + 1/2 ||f||^2,    k_s(x, z) = exp(-1/2 sum_j s_j^2 (x_j - z_j)^2)

with r_k = sum_{j in group k} s_j^2. As in Algorithm 1, the concave G is replaced by 1/2 sum_k B_k
r_k, which is above it and touches it at the present scales; u_j = s_j^2 >= 0 then moves by a
quasi-Newton method along

    dF/du_j = 1/4 sum_{i,k} a_i a_k K_ik (x_ij - x_kj)^2,    F the optimum of the machine, a its dual,

so that the objective never rises. The problem is not convex in the scales, whatever the term: the
answer is a local minimum.

Source: Subrahmanya and Shin (2010), section 3, first paragraph (which calls this straightforward
and expensive), equations (1) to (3).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy

from mklcore.arrays import Array, Indices
from mklcore.errors import KernelError, ParameterError, warn_short
from mklcore.kernels.operators import KernelOperator, cached
from mklcore.lp.reweighting import _FLOOR, NEGLIGIBLE, Reweighting, WeightIterate
from mklcore.problem.driver import Fit, Iterate, Method, Status, Trace, is_carried, run
from mklcore.problem.losses import Loss
from mklcore.problem.machines import solve_machine
from mklcore.problem.penalties import GroupTerm
from mklcore.problem.problem import Problem
from mklcore.problem.solution import MachineTask

TOL_MODES = ("relative", "absolute")


# What the loop and its shaking are tuned by. Where the penalty is concave, a value may decide which
# local minimum is found.

# relative gap of the machines, at most; a hundredth of it whenever L would rise
ACCURACY = 1e-6
SLACK = 1e-9  # rise of L that counts as round-off
# share of C sum V below which 1/2 ||f||^2 may mean that no kernel is worth its penalty
NOTHING = 1e-5
# relative change of settled weights: far enough from a saddle that a step exceeds any tolerance
SHAKE = 0.1
SHAKES = 10  # at most
SHAKEN_TOL = 1e-3  # each shake settles to this tolerance or the one asked
# mean diagonal of a weighted kernel beyond which the penalty, not the kernels, is the reason
RUNAWAY = 1e4
# share of the scale of L that decides: what pruning may cost, what another answer has to gain
WORTH = 1e-7
INNER = 15  # steps of L-BFGS-B between two machines
MACHINE = 1e-6  # relative gap of the machines
GONE = 1e-6  # share of the largest squared scale that is none


class Search(NamedTuple):
    """The best of several fits.

    objectives : (n_starts,), L at the end of each start, NaN where it was not run
    kernels : (n_starts,), how many kernels each start kept, 0 where it was not run
    """

    fit: Fit
    objectives: Array
    kernels: Indices


class SMKL(Reweighting):
    """Algorithm 2 as the driver's method.

    ``weights`` (M,) is beta^0, equal weights where None; ``allowed`` (M,) of bool says which
    kernels take part (None: all): the others stay at zero, and g counts them as such.
    """

    certifies = False

    def __init__(
        self,
        problem: Problem,
        *,
        tol: float,
        tol_mode: str = "relative",
        weights: Array | None = None,
        allowed: Array | None = None,
    ) -> None:
        super().__init__(problem, tol=tol)
        assert isinstance(problem.penalty, GroupTerm)
        self.penalty = problem.penalty
        self.name = f"SMKL ({self.penalty.formula})"
        self.tol_mode = tol_mode
        self.first = weights
        if allowed is None:
            allowed = np.ones(problem.K.n_kernels)
        self.allowed = np.asarray(allowed, dtype=bool)
        self.change = np.inf
        self.scale = 0.0
        # the model without kernels, where it is the answer
        self.nothing: WeightIterate | None = None
        self.ran_to = 0.0  # the largest weight, where weights ran away
        self._carried: WeightIterate | None = None  # the last point that double precision can carry
        self._tried = np.zeros(1)

    def init(self) -> WeightIterate:
        first: Any = self.first
        if first is None:
            first = self.penalty.start(int(self.allowed.sum())).max()
        self.started_from = np.where(self.allowed, first, 0.0)
        accuracy = float(np.clip(1e-4 * self.tol, _FLOOR, ACCURACY))
        return self.solve(self.started_from, None, accuracy)

    def step(
        self, best: WeightIterate, last: WeightIterate, trace: Trace
    ) -> WeightIterate | Status:
        if not self._is_beyond(last):
            self._carried = last
        weights = self._updated(last)
        self.change = self._change(last.weights, weights)
        if self.change <= self.tol or self._is_nothing(last, weights):
            return Status.SETTLED
        try:
            following = self._solved_from(last, weights)
        except ParameterError:
            if not self._runs_away(weights):
                raise
            return self._stalled(weights)
        if following.objective <= last.objective + WORTH * last.scale:
            return following
        # Rounding can raise L where kernels differ by many orders of magnitude: no step then surely
        # lowers it.
        return self._stalled(last.weights)

    def _stalled(self, weights: Array) -> Status:
        """The status of a loop in which no step lowers L any more.

        Remembers whether ``weights`` (M,) ran away.
        """
        self.ran_to = float(weights.max()) if self._runs_away(weights) else 0.0
        return Status.STALLED

    def restate(self, best: WeightIterate, dual_point: Array | None) -> WeightIterate:
        """``best``, or where weights have run away from it the last point that double precision can
        carry.
        """
        if self._carried is None or not self._is_beyond(best):
            return best
        self.ran_to = float(best.weights.max())
        return replace(self._carried, solves=0)

    def polish(self, best: WeightIterate) -> WeightIterate:
        """No kernel where that was found to be the answer; else the update that ended the loop,
        negligible weights set to zero, and the machine solved for what is left. Neither where it
        raises L.
        """
        self.scale = best.scale
        if self.nothing is not None:
            return self.nothing
        weights = best.weights if self.ran_to else self._updated(best)
        weights = np.where(weights < NEGLIGIBLE * weights.max(), 0.0, weights)
        pruned = self._solved_from(best, weights)
        good = pruned.objective <= best.objective + WORTH * best.scale and not self._is_beyond(
            pruned
        )
        return pruned if good else best

    def solve(
        self, weights: Array, warm: Array | None, accuracy: float, damping: float = 0.0
    ) -> WeightIterate:
        """One machine; its ``scale`` is what differences of L are measured by: log terms make L
        itself pass through zero.
        """
        self._tried = weights
        try:
            point = super().solve(weights, warm, accuracy, damping)
        except np.linalg.LinAlgError:
            raise ParameterError(
                f"At C={self.problem.C:g} the weighted sum of kernels plus I/C is singular "
                "to double precision, so the machine has no solution that can be trusted. "
                "Take a smaller C, or scale the target to unit variance."
            ) from None
        return replace(point, scale=max(abs(point.objective), point.state.value))

    def beyond(self, error: KernelError) -> KernelError:
        """The error where float64 cannot carry any point: why the penalty and not the kernels may be
        the reason, and what helps.
        """
        weights = self._tried
        if self.ran_to == 0.0 and not self._runs_away(weights):
            return error
        self.ran_to = self.ran_to or float(weights.max())
        return KernelError(
            f"{self.cause()}, and double precision can carry no point of it. Add the group lasso, "
            'which bounds the weights (terms="log+gl"), or take a smaller C.'
        )

    def cause(self) -> str:
        """A sentence: which penalty let a weight run away, how far, and why."""
        return (
            f'With terms="{self.penalty.formula}" at C={self.problem.C:.3g} a kernel weight has '
            f"run to {self.ran_to:.1e}: this penalty hardly rises with the size of a kernel's part, "
            "so that nothing holds the weight back"
        )

    def _runs_away(self, weights: Array) -> bool:
        """Whether the penalty, and not the scale of the kernels, has made ``weights`` (M,) large."""
        if self.penalty.is_convex:
            return False
        sizes = weights * self.problem.K.diagonals().mean(axis=1)
        return float(sizes.max()) > RUNAWAY

    def _is_beyond(self, point: WeightIterate) -> bool:
        """Whether weights run away from a point, and double precision does not carry it."""
        return self._runs_away(point.weights) and not is_carried(
            point.objective, self.certify(point, None)
        )

    def _solved_from(self, last: WeightIterate, weights: Array) -> WeightIterate:
        """The machine at ``weights``, sharper until L does not rise."""
        following = self.solve(weights, last.dual, last.state.accuracy)
        while self._rises(last, following) and following.state.accuracy > _FLOOR:
            sharper = self.solve(
                weights, following.dual, max(_FLOOR, 0.01 * following.state.accuracy)
            )
            following = replace(sharper, solves=sharper.solves + following.solves)
        return following

    def _updated(self, point: WeightIterate) -> Array:
        return np.where(self.allowed, self.penalty.update(point.weights, point.state.Q), 0.0)

    def _change(self, before: Array, after: Array) -> float:
        """||after - before||_1, as a share of ||after||_1 when relative."""
        moved = float(np.abs(after - before).sum())
        if self.tol_mode == "absolute" or moved == 0.0:
            return moved
        return moved / max(float(after.sum()), np.finfo(float).tiny)

    def _is_nothing(self, last: WeightIterate, weights: Array) -> bool:
        """Next to nothing is left of f, no weight grows, and without kernels L is no higher: the
        loop would shrink forever, to zero or to the floor of the log term.
        """
        half = 0.5 * float(last.weights @ last.state.Q)
        little = half <= NOTHING * (last.state.value - half)
        grows = np.any(weights > (1.0 + self.tol) * last.weights)
        if self.tol_mode == "absolute" or not little or grows:
            return False
        empty = self.solve(np.zeros_like(weights), None, last.state.accuracy)
        if empty.objective > last.objective + WORTH * last.scale:
            return False
        self.nothing = empty
        return True

    @staticmethod
    def _rises(last: WeightIterate, following: WeightIterate) -> bool:
        """L rose, and the machine's own gap may be the reason."""
        slack = SLACK * last.scale
        rises = following.objective > last.objective + slack
        return rises and following.state.inner_gap > 0.1 * slack


def starts(
    M: int, n_starts: int, jitter: float, rng: np.random.RandomState, allowed: Array | None = None
) -> list[Array]:
    """beta^0 of every start: first equal shares of 1, times 1 + jitter u with u uniform in [-1, 1];
    then cubes of exponential draws as shares of 1, uneven enough to end in different local minima.
    ``allowed`` (M,) of bool: who shares.
    """
    part = np.ones(M) if allowed is None else np.where(allowed, 1.0, 0.0)
    equal = part / part.sum()
    first = equal if jitter == 0.0 else equal * (1.0 + jitter * rng.uniform(-1.0, 1.0, M))
    drawn = [part * rng.exponential(size=M) ** 3 for _ in range(n_starts - 1)]
    return [first, *(draw / draw.sum() for draw in drawn)]


def shaken(weights: Array) -> Array:
    """``weights`` (M,) times 1 + s u, with s the setting ``shake``.

    |u| is drawn from [0.5, 1], always alike, and its sign alternates from rank to rank. So
    neighbours in rank, as near copies are, part by at least s, whatever the order of kernels.
    """
    sizes = np.random.RandomState(0).uniform(0.5, 1.0, weights.size)
    sizes[1::2] *= -1.0
    u = np.empty(weights.size)
    u[np.argsort(-weights, kind="stable")] = sizes
    return weights * (1.0 + SHAKE * u)


def fit_selection(
    K: Array | KernelOperator,
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
    allowed: Array | None = None,
    callback: Callable[..., Any] | None = None,
) -> Search:
    """Choose kernels and fit the machine together:

        min_{w, b}  g(w) + C sum_i V(f(x_i), y_i),      g a group selection term or a sum of them

    ``K`` (M, n, n) or an operator, ``y`` (n,) float64 (labels -1 / +1 for hinge and logistic),
    ``C`` > 0; ``first_weights`` holds one beta^0 (M,) per start (None: equal); ``allowed`` (M,) of
    bool leaves kernels out (exact copies). The fit of the smallest L is kept; a NotConvergedWarning
    tells the change of the weights reached where ``max_iter`` ended it. ``tol_mode`` "absolute" is
    the algorithm to the letter; "relative" also shakes what has settled, and answers with no kernel
    where all of them vanish. ParameterError where double precision cannot solve the machine.
    Source: Subrahmanya and Shin (2010), Algorithm 2.
    """
    problem = Problem(y, float(C), loss, fit_intercept, cached(K), penalty)

    def settle(weights: Array | None, tol: float) -> tuple[Fit, SMKL]:
        method = SMKL(problem, tol=tol, tol_mode=tol_mode, weights=weights, allowed=allowed)
        try:
            fit = run(method, tol=max(tol, WORTH), max_iter=max_iter, callback=callback)
        except KernelError as error:
            raise method.beyond(error) from error
        ran_away = method.ran_to > 0.0 and fit.status is not Status.CANCELLED
        return replace(fit, status=Status.RAN_AWAY) if ran_away else fit, method

    runs: list[tuple[Fit, SMKL]] = []
    for weights in first_weights:
        found, method = settle(weights, tol)
        for _ in range(SHAKES if tol_mode == "relative" and not penalty.is_convex else 0):
            if found.status is not Status.SETTLED or np.count_nonzero(found.weights) < 2:
                break
            try:
                other, shaken_method = settle(shaken(found.weights), min(tol, SHAKEN_TOL))
            except KernelError:
                break  # what was found stands, and farther double precision does not go
            if not other.objective < found.objective - WORTH * method.scale:
                stopped = Status.CANCELLED if other.status is Status.CANCELLED else found.status
                found = replace(found, solves=found.solves + other.solves, status=stopped)
                break
            found = joined(found, other)
            method = shaken_method
        runs.append((found, method))
        if found.status is Status.CANCELLED:
            break
    objectives = np.full(len(first_weights), np.nan)
    objectives[: len(runs)] = [fit.objective for fit, _ in runs]
    kernels = np.zeros(len(first_weights), dtype=np.int64)
    kernels[: len(runs)] = [np.count_nonzero(fit.weights) for fit, _ in runs]
    fit, method = runs[int(np.nanargmin(objectives))]
    status = Status.CANCELLED if runs[-1][0].status is Status.CANCELLED else fit.status
    fit = replace(fit, status=status, solves=sum(other.solves for other, _ in runs))
    if not fit.status.ok:
        reached = (
            f" {tol_mode.capitalize()} change of the weights reached {method.change:.2e}, "
            f"tolerance asked {tol:.0e}."
        )
        why = f" {method.cause()}." if fit.status is Status.RAN_AWAY else ""
        if why and np.array_equal(fit.weights, method.started_from):
            why += (
                " That last point is the start: its weights are those it began with, and say "
                "nothing about the kernels."
            )
        warn_short(f"{fit.solver} {fit.status.value}.{why}{reached}", stacklevel=3)
    return Search(fit, objectives, kernels)


def joined(fit: Fit, other: Fit) -> Fit:
    """``other``, which went on from ``fit``, with both histories as one; what is above the end of
    ``fit`` is left out.
    """
    offset = fit.history[-1]
    below = [record for record in other.history if record.objective < offset.objective]
    added = [
        replace(
            record,
            iteration=len(fit.history) + k,
            solves=fit.solves + record.solves,
            seconds=fit.seconds + record.seconds,
            note="",
        )
        for k, record in enumerate(below)
    ]
    history = (*fit.history, *added)
    return replace(
        other,
        solves=fit.solves + other.solves,
        history=history,
        n_iter=len(history) - 1,
        seconds=fit.seconds + other.seconds,
    )


@dataclass(frozen=True, eq=False)
class Scales:
    """What a point carries: squared scales u (d,), intercepts (T,)."""

    u: Array
    intercepts: Array


class FeatureScaling(Method[Scales]):
    """The problem as the driver's method: ``Z`` (n, d) rows, T ``tasks`` that share the scales, and
    ``groups`` of columns.
    """

    name = "SMKL, feature scaling"

    def __init__(
        self,
        Z: Array,
        tasks: Sequence[MachineTask],
        term: GroupTerm,
        groups: Sequence[Indices],
        tol: float,
    ) -> None:
        self.Z = Z
        self.tasks = tasks
        self.term = term
        self.tol = tol
        self.n_groups = len(groups)
        self.home = np.empty(Z.shape[1], dtype=np.int64)
        for k, members in enumerate(groups):
            self.home[members] = k

    def gram(self, u: Array) -> Array:
        """k_s between the rows, (n, n)."""
        return gaussian(self.Z, self.Z, u)

    def init(self) -> Iterate[Scales]:
        d = self.Z.shape[1]
        self.last = self._point(np.full(d, 1.0 / d), None)
        return self.last

    def step(
        self, best: Iterate[Scales], last: Iterate[Scales], trace: Any
    ) -> Iterate[Scales] | Status:
        u = last.state.u
        slopes = np.minimum(self.term.slopes(self._norms(u)), 1e12)
        half_slopes = 0.5 * slopes[self.home]
        known = [last.dual.T]

        def value(v: Array) -> tuple[float, Array]:
            F, slope, duals, _ = self._machines(v, known[0])
            known[0] = duals
            return F + float(half_slopes @ v), slope + half_slopes

        bounds = [(0.0, None) if one > 0 else (0.0, 0.0) for one in u]
        found = scipy.optimize.minimize(
            value,
            u,
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": INNER},
        )
        largest = max(float(found.x.max()), 1e-300)
        v = np.where(found.x > GONE * largest, found.x, 0.0)
        following = self._point(v, known[0])
        if following.objective > last.objective or not v.any():
            return Status.SETTLED
        total = max(float(u.sum()), 1e-300)
        moved = float(np.abs(v - u).sum()) / total
        fall = (last.objective - following.objective) / max(abs(last.objective), 1e-300)
        if moved <= self.tol or fall <= 1e-3 * self.tol:
            return Status.SETTLED
        self.last = following
        return following

    def _norms(self, u: Array) -> Array:
        """r_k of every group."""
        return np.bincount(self.home, u, self.n_groups).astype(float)

    def _machines(
        self,
        u: Array,
        warm: Array | None,
    ) -> tuple[float, Array, Array, Array]:
        """F, its slopes in u (d,), duals (T, n) and intercepts (T,)."""
        K = self.gram(u)
        starts = [None] * len(self.tasks) if warm is None else warm
        found = [
            solve_machine(K, task, warm=start, accuracy=MACHINE)
            for task, start in zip(self.tasks, starts, strict=True)
        ]
        duals = np.array([one.dual for one in found])
        W = K * (duals.T @ duals)
        slopes = 0.5 * (W.sum(axis=1) @ self.Z**2 - np.sum(self.Z * (W @ self.Z), axis=0))
        F = float(sum(one.objective for one in found))
        return F, slopes, duals, np.array([one.intercept for one in found])

    def _point(self, u: Array, warm: Array | None) -> Iterate[Scales]:
        F, _, duals, intercepts = self._machines(u, warm)
        objective = F + self.term.value(self._norms(u))
        return Iterate(
            np.ones(1), duals.T, 0.0, objective, solves=len(duals), state=Scales(u, intercepts)
        )


def gaussian(left: Array, right: Array, u: Array) -> Array:
    """exp(-1/2 sum_j u_j (x_j - z_j)^2) between rows (a, d) and (b, d)."""
    root = np.sqrt(u)
    one = left * root
    other = right * root
    lengths = (one**2).sum(axis=1)[:, None] + (other**2).sum(axis=1)
    squares = lengths - 2.0 * one @ other.T
    found: Array = np.exp(-0.5 * np.maximum(squares, 0.0))
    return found
