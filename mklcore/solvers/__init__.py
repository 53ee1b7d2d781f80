"""One file per method; the outer loop is in ``driver``. ``SOLVERS`` are the ways to weigh kernels, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.errors import ParameterError
from mklcore.kernels.operators import Capability, KernelOperator, as_operator, is_stored
from mklcore.losses import Cost, Loss, make_loss
from mklcore.losses.intercepts import total_loss
from mklcore.penalties import Penalty
from mklcore.solvers.driver import Fit, Status, run
from mklcore.solvers.interleaved import Interleaved, lacking
from mklcore.solvers.kinked import Kinked
from mklcore.solvers.neighbour import Kept, Neighbour, keeping
from mklcore.solvers.newton import Newton, newton_exponent
from mklcore.solvers.opening import FINEST, MOST_ROWS, Opening
from mklcore.solvers.plain_sum import OneMachine, PlainSum
from mklcore.solvers.priced import FEWEST, Priced, most_kernels
from mklcore.solvers.reweighting import Problem, Reweighting, WarmStart
from mklcore.solvers.silp import SILP
from mklcore.solvers.single import FINEST as FINEST_SINGLE
from mklcore.solvers.single import SinglePrecision
from mklcore.solvers.working_set import FROM_KERNELS, WorkingSet

__all__ = ["SOLVERS", "Fit", "Status", "certificate", "choose_solver", "fit_weighted"]


def _newton(problem: Problem, *, tol: float, warm: WarmStart | None = None) -> Newton | WorkingSet | Kinked:
    """Newton, on a working set of kernels where most of them end without weight."""
    if problem.penalty.simplex and problem.loss.piecewise_linear:
        return Kinked(problem, tol=tol, warm=warm)
    few = problem.penalty.simplex and problem.K.n_kernels >= FROM_KERNELS
    return (WorkingSet if few else Newton)(problem, tol=tol, warm=warm)


def _opens(problem: Problem, tol: float) -> bool:
    """Whether interleaved pairs open for Newton: a small stack, a loss they know, weights that are not on the simplex."""
    return (
        not problem.penalty.simplex
        and tol >= FINEST
        and problem.y.size <= MOST_ROWS
        and not lacking(problem.loss, problem.penalty)
    )


def _wrapper(problem: Problem, *, tol: float, warm: WarmStart | None = None) -> Reweighting | PlainSum:
    """The analytic update; where it is the plain sum one machine on it, which without a stack is made first."""
    if not problem.penalty.plain_sum:
        return Reweighting(problem, tol=tol, warm=warm)
    return (OneMachine if Capability.DENSE in problem.K.capabilities else PlainSum)(problem, tol=tol, warm=warm)


def _interleaved(problem: Problem, *, tol: float, warm: WarmStart | None = None) -> Interleaved | Opening | Priced:
    """Pairs and weights in turn; on the simplex, where they stand still, the kernels that matter by another method."""
    if problem.penalty.simplex and problem.loss.piecewise_linear and not lacking(problem.loss, problem.penalty):
        if Capability.DENSE in problem.K.capabilities:
            return Opening(problem, tol=tol, warm=warm, closing=Kinked)
        if most_kernels(problem.y.size) >= FEWEST:  # reading rows one by one does not pay where the few can be stored
            many = problem.K.n_kernels > FEWEST
            return Priced(problem, tol=tol, warm=warm) if many else Opening(problem, tol=tol, warm=warm, closing=Priced)
    return Interleaved(problem, tol=tol, warm=warm)


def _without_stack(problem: Problem, *, tol: float, warm: WarmStart | None = None) -> Any:
    """The method for kernels that are not stored, by what there is more of: rows, or kernels."""
    if _summed_in_blocks(problem.K, problem.loss, problem.penalty):
        return (Priced if problem.penalty.simplex else Reweighting)(problem, tol=tol, warm=warm)
    return _interleaved(problem, tol=tol, warm=warm)


def _summed_in_blocks(K: KernelOperator, loss: Loss, penalty: Penalty) -> bool:
    """Whether the sum of the kernels is stored, made afresh at every step: very many kernels on a few thousand rows, or
    what interleaved pairs cannot do."""
    return bool(lacking(loss, penalty)) or (K.n_kernels >= MANY and K.n_samples <= FEW_ROWS)


def _can_be_single(K: KernelOperator, penalty: Penalty, solver: str, tol: float) -> bool:
    """Whether a method for stored kernels is asked, and no more digits than single precision has."""
    return tol >= FINEST_SINGLE and solver in ("auto", "wrapper", "newton") and not _is_plain_sum(K, penalty)


def _is_plain_sum(K: KernelOperator, penalty: Penalty) -> bool:
    return Capability.DENSE not in K.capabilities and penalty.plain_sum


SOLVERS: dict[str, Callable[..., Any]] = {
    "wrapper": _wrapper,
    "newton": _newton,
    "interleaved": _interleaved,
    "silp": SILP,
}

MANY, FEW_ROWS = 100, 4000  # kernels, rows: where making their sum afresh is quicker than keeping their rows
MOST_SUMMED = 8000  # rows up to which the sum is stored at all: 0.5 GB
_ANALYTIC_FROM = 4.0  # from this p on the analytic update needs two or three steps and no Hessian


def choose_solver(K: Array | KernelOperator, penalty: Penalty, loss: Loss | None = None) -> tuple[str, str]:
    """The solver that "auto" means here, and why, in words; ``loss`` tells what it takes without a stored stack."""
    K = as_operator(K)
    if _is_plain_sum(K, penalty):
        return "wrapper", "at p = infinity one machine solve is the optimum, and no Gram matrix but the sum is stored"
    if not is_stored(K) and _summed_in_blocks(K, loss or make_loss("hinge"), penalty):
        return "wrapper", "the kernels are summed from their columns, so no Gram matrix but the sum is stored"
    if not is_stored(K):
        return "interleaved", "the kernels are computed row by row, so no Gram matrix is stored"
    if penalty.plain_sum:
        return "wrapper", "at p = infinity one machine solve is the optimum"
    p = newton_exponent(penalty)
    if p is None:
        return "wrapper", f"the {penalty.name} has an analytic update only"
    if p < _ANALYTIC_FROM:
        return "newton", f"at p = {p:.4g} the analytic update would crawl"
    return "wrapper", f"at p = {p:.4g} the analytic update needs a few steps and no Hessian"


def fit_weighted(
    K: Array | KernelOperator,
    y: Array,
    C: Cost,
    loss: Loss,
    penalty: Penalty,
    fit_intercept: bool,
    *,
    solver: str = "auto",
    tol: float = 1e-3,
    max_iter: int = 500,
    warm: WarmStart | None = None,
    callback: Callable[..., Any] | None = None,
) -> Fit:
    """Learn kernel weights and machine together:

        min_{w, b, theta >= 0}  C sum_i V(t_i, y_i) + 1/2 sum_m ||w_m||^2 / theta_m      over the weights ``penalty`` allows

    ``K`` (M, n, n) float64 or an operator, ``y`` (n,) float64 (labels -1 / +1 for hinge and logistic), ``C`` > 0, a number or
    one per row (n,). ``solver`` is a key of
    ``SOLVERS`` or "auto": ``choose_solver`` says which and why, and the fit's ``solver`` text repeats it.
    Source: Kloft, Brefeld, Sonnenburg, Zien (2011), equation (16).
    """
    if not penalty.certifies:
        raise ParameterError(
            f"The term {getattr(penalty, 'formula', penalty.name)!r} is concave and has no dual, which this solver needs for "
            "its certificate; use SMKLClassifier or SMKLRegressor."
        )
    loss.check_cost(y.size, C)
    K = as_operator(K)
    penalty.check_claims(K.n_kernels)
    if solver not in ("auto", *SOLVERS):
        raise ParameterError(f"There is no solver called {solver!r}; the solvers are auto, {', '.join(SOLVERS)}.")
    if solver == "newton" and newton_exponent(penalty) is None:
        raise ParameterError('solver="newton" needs an lp norm with finite p; use solver="auto" or "wrapper".')
    if _is_plain_sum(K, penalty):
        solver = "auto"
    elif not is_stored(K) and solver not in ("auto", "wrapper", "interleaved"):
        raise ParameterError(
            f'solver="{solver}" needs the Gram matrices; use solver="auto" or "interleaved" to work without them.'
        )
    packed = is_stored(K) and Capability.EXACT not in K.capabilities
    if packed and not _can_be_single(K, penalty, solver, tol):
        K, packed = K.exact, False
    chosen, reason = choose_solver(K, penalty, loss) if solver == "auto" else (solver, "")
    problem = Problem(K, y, C if np.ndim(C) else float(C), loss, penalty, fit_intercept)
    if warm is not None and isinstance(warm.carry, Kept):
        problem.beside(warm.carry.problem)
    near = None if warm is None else Neighbour.of(problem, warm, tol)
    if near is not None:
        return _kept(problem, near, tol, max_iter, callback)
    if warm is not None and isinstance(warm.carry, Kept):
        warm = replace(warm, carry=warm.carry.carry, running=warm.carry.running, before=warm.carry.before)
    opened = Capability.DENSE in K.capabilities and solver == "auto" and chosen == "newton" and _opens(problem, tol)
    free = not is_stored(K) and solver == "auto" and not _is_plain_sum(K, penalty)
    inside: Callable[..., Any] = Opening if opened else _without_stack if free else SOLVERS[chosen]
    lean = _lean(problem, tol) if free else None
    make = partial(SinglePrecision, inside=inside) if lean is not None or packed else inside
    method = make(lean or problem, tol=tol, warm=warm)
    if reason:
        method.name += f", chosen because {reason}"
    fit = _kept(problem, method, tol, max_iter, callback, warm)
    if make is inside or fit.status is not Status.STALLED:
        return fit
    again = WarmStart(fit.weights, fit.dual_coef, C)  # single precision has too few digits: on from there in double
    if not packed:
        return _kept(problem, inside(problem, tol=tol, warm=again), tol, max_iter, callback)
    return fit_weighted(
        K.exact, y, C, loss, penalty, fit_intercept, tol=tol, max_iter=max_iter, warm=again, callback=callback
    )


def _lean(problem: Problem, tol: float) -> Problem | None:
    """The problem with exponentials in single precision, where sums of them are most of the work and have the digits asked for."""
    uneven = problem.penalty.exponent is not None
    summed = uneven and _summed_in_blocks(problem.K, problem.loss, problem.penalty)
    if not (summed and tol >= FINEST_SINGLE):
        return None
    quick = problem.K.with_float32_sums()
    return None if quick is problem.K else replace(problem, K=quick)


def _kept(
    problem: Problem,
    method: Any,
    tol: float,
    max_iter: int,
    callback: Callable[..., Any] | None,
    warm: WarmStart | None = None,
) -> Fit:
    """The fit with what a neighbour can use."""
    fit = run(method, tol=tol, max_iter=max_iter, callback=callback, passed=True)
    before = None if warm is None or np.ndim(warm.C) else (float(warm.C), warm.weights)
    return keeping(problem, fit, getattr(method, "running", None), before)


def certificate(
    K: Array,
    y: Array,
    weights: Array,
    dual_coef: Array,
    intercept: float,
    loss: str | Loss,
    C: Cost,
    penalty: Penalty,
    dual_point: Array | None = None,
    fit_intercept: bool = True,
    sample_weight: Array | None = None,
) -> tuple[float, float]:
    """Primal and dual value of any point, not only of ours: the optimum lies between them.

    primal = C sum_i V(f_i + b, y_i) + min_theta 1/2 sum_m ||w_m||^2 / theta_m,   w_m = weights_m sum_i a_i psi_m(x_i)
    dual   = Lin(a') - max_theta 1/2 theta'Q',   Q'_m = a''K_m a';   minus infinity when a' is not feasible

    ``K`` (M, n, n), ``y`` (n,) (labels -1 / +1), ``weights`` (M,) non-negative, ``dual_coef`` a (n,) signed, ``intercept`` b.
    ``dual_point`` a' (n,) signed is asked for the dual value; without one, ``dual_coef`` is. ``fit_intercept`` says whether
    b was free, so that 1'a' = 0 is demanded (1'a' = 1 in the nu form, whose ``loss`` is handed over as an object and whose
    ``C`` is 1 / (nu n)); the one-class form without nu never demands it. ``sample_weight``
    (n,) makes the cost of row i C w_i; rows of weight 0 have no dual. A fit of this library comes out as
    ``(objective_, dual_objective_)``. Source: Kloft, Brefeld, Sonnenburg, Zien (2011), equations (16), (17).
    """
    loss = make_loss(loss)
    K, y, a = np.asarray(K, dtype=float), np.asarray(y, dtype=float), np.asarray(dual_coef, dtype=float)
    weights, proof = np.asarray(weights, dtype=float), a if dual_point is None else np.asarray(dual_point, dtype=float)
    both = np.column_stack([a, proof])
    if fit_intercept and loss.takes_intercept and loss.of_residuals:
        y, intercept = y - intercept, 0.0  # the same problem, without the digits that a target far from zero takes
    cost: Cost = C if sample_weight is None else C * np.asarray(sample_weight, dtype=float)
    kept: Any = slice(None) if sample_weight is None else np.asarray(sample_weight) > 0
    if sample_weight is not None and np.any(proof[~kept] != 0.0):
        kept = slice(None)  # a dual outside its box: the value says so
    rows = cost if np.ndim(cost) == 0 else np.asarray(cost)[kept]
    G = np.stack([kernel @ both for kernel in K])
    Q, forms = np.maximum(np.einsum("mik,ik->km", G, both), 0.0)
    primal = total_loss(loss, weights @ G[:, :, 0], intercept, y, cost) + penalty.regulariser(weights * np.sqrt(Q))
    off = abs(float(proof.sum()) - loss.total)
    if fit_intercept and loss.takes_intercept and off > 1e-9 * max(float(np.abs(proof).sum()), 1e-300):
        return primal, -np.inf
    return primal, loss.dual(proof[kept], y[kept], rows) - penalty.dual_price(forms)
