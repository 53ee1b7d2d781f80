"""One file per method; the outer loop is in ``driver``, what is tried after what in ``schedule``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.errors import ParameterError
from mklcore.kernels.operators import Capability, KernelOperator, cached, is_stored
from mklcore.losses import Cost, Loss, make_loss
from mklcore.losses.intercepts import total_loss
from mklcore.penalties import Penalty
from mklcore.solvers.driver import Fit, Status, run
from mklcore.solvers.newton import newton_exponent
from mklcore.solvers.problem import Carried, Problem, WarmStart, WarmState, WeightedMethod
from mklcore.solvers.schedule import SETTINGS, Reused, kernels_for, reason, row_for, scheduled

__all__ = ["SOLVERS", "Fit", "Status", "certificate", "choose_solver", "fit_weighted"]

FEATURE_SOLVERS = ("auto", "wrapper", "newton")
MOST_SUMMED = 8000  # rows up to which the sum of kernels that are not stored is stored: 0.5 GB

SOLVERS: dict[str, Callable[..., Any]] = {
    name: partial(scheduled, name) for name in ("wrapper", "newton", "interleaved", "silp")
}


def choose_solver(K: Array | KernelOperator, penalty: Penalty, loss: Loss | None = None) -> tuple[str, str]:
    """The solver that "auto" means here, and a sentence why; ``loss`` says what it takes without a stored stack."""
    kernels = cached(K)
    problem = Problem(kernels, np.ones(kernels.n_samples), 1.0, loss or make_loss("hinge"), penalty, True)
    row = row_for(problem, "auto", SETTINGS.finest)
    return row.called, reason(row, problem)


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
    screen: bool = True,
) -> Fit:
    """Learn kernel weights and machine together:

        min_{w, b, theta >= 0}  C sum_i V(t_i, y_i) + 1/2 sum_m ||w_m||^2 / theta_m    over weights ``penalty`` allows

    ``K`` (M, n, n) float64 or an operator, ``y`` (n,) float64 (labels -1 / +1 for hinge and logistic), ``C`` > 0, a
    number or one per row (n,). ``solver`` is a key of ``SOLVERS`` or "auto": the table of ``schedule`` says which
    methods that is, and the fit's ``solver`` text repeats why. ``screen`` leaves kernels unread that cannot have weight
    at p = 1. Source: Kloft, Brefeld, Sonnenburg, Zien (2011), equation (16).
    """
    if not penalty.certifies:
        raise ParameterError(
            f"The term {getattr(penalty, 'formula', penalty.name)!r} is concave and has no dual, which this solver "
            "needs for its certificate; use SMKLClassifier or SMKLRegressor."
        )
    loss.check_cost(y.size, C)
    if solver not in ("auto", *SOLVERS):
        raise ParameterError(f"There is no solver called {solver!r}; the solvers are auto, {', '.join(SOLVERS)}.")
    kernels = kernels_for(K, warm)
    penalty.check_claims(kernels.n_kernels)
    if solver == "newton" and newton_exponent(penalty) is None:
        raise ParameterError('solver="newton" needs an lp norm with finite p; use solver="auto" or "wrapper".')
    if Capability.FEATURES in kernels.capabilities and solver not in FEATURE_SOLVERS:
        raise ParameterError(
            f'solver="{solver}" works on kernel values, which an approximation does not make; use one of '
            f"{', '.join(FEATURE_SOLVERS)}, or approximation=None."
        )
    if not is_stored(kernels):
        if penalty.plain_sum:
            solver = "auto"
        elif solver not in ("auto", "wrapper", "interleaved"):
            raise ParameterError(
                f'solver="{solver}" needs the Gram matrices; use solver="auto" or "interleaved" to work without them.'
            )
    problem = Problem(kernels, y, C if np.ndim(C) else float(C), loss, penalty, fit_intercept, screen)
    method: WeightedMethod[Any] | None = Reused.of(problem, tol=tol, warm=warm)
    if method is None:
        make = partial(scheduled, "auto") if solver == "auto" else SOLVERS[solver]
        method = make(problem, tol=tol, warm=warm)
    fit = run(method, tol=tol, max_iter=max_iter, callback=callback)
    carried = fit.carry if isinstance(fit.carry, Carried) else Carried()
    return replace(fit, carry=WarmState(problem, replace(fit, carry=None), carried))


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
    """Primal and dual value of any point, not only of ours: the optimum is between them.

    primal = C sum_i V(f_i + b, y_i) + min_theta 1/2 sum_m ||w_m||^2 / theta_m,   w_m = weights_m sum_i a_i psi_m(x_i)
    dual   = Lin(a') - max_theta 1/2 theta'Q',   Q'_m = a''K_m a';   minus infinity when a' is not feasible

    ``K`` (M, n, n), ``y`` (n,) (labels -1 / +1), ``weights`` (M,) non-negative, ``dual_coef`` a (n,) signed,
    ``intercept`` b.
    ``dual_point`` a' (n,) signed is asked for the dual value; without one, ``dual_coef`` is. ``fit_intercept`` says
    whether b was free, so that 1'a' = 0 is demanded (1'a' = 1 in the nu form, whose ``loss`` is handed over as an
    object and whose ``C`` is 1 / (nu n)); the one-class form without nu never demands it. ``sample_weight``
    (n,) makes the cost of row i C w_i; rows of weight 0 have no dual. A fit of this library comes out as
    ``(objective_, dual_objective_)``.

    Parameters
    ----------
    K : ndarray of shape (M, n, n) or GramStack
        Gram matrices of the M kernels on the same n rows.
    y : array-like of shape (n,)
        Target: numbers for a regression, labels of any kind for classes.
    weights : ndarray of shape (M,)
        Kernel weights, non-negative.
    dual_coef : ndarray of shape (n,)
        Signed dual coefficients of the training rows.
    intercept : float
        Offset b of the model.
    loss : str or Loss
        How a wrong prediction is penalised: the name of a loss in ``LOSSES``, or an object of your own.
    C : object
        Weight of the loss against the regulariser, > 0: larger values fit the training rows more closely.
    penalty : str, Penalty or None
        Regulariser of the kernel weights: a name of ``PENALTIES`` or an object; None for the norm ``p``.
    dual_point : ndarray of shape (n,) or None, default None
        Feasible dual point that proves ``dual_objective``.
    fit_intercept : bool, default True
        Whether the model has a free offset b.
    sample_weight : ndarray of shape (n,) or None, default None
        Weights of the rows.

    Returns
    -------
    tuple of float
        Primal and dual value.

    References
    ----------
    Kloft, Brefeld, Sonnenburg, Zien (2011), equations (16), (17).
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
