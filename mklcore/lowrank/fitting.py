"""lp-norm learning on features as one call: which of the methods on features solves what.

The analytic update and the damped Newton step are in ``weighing``, the interior point steps of p = 1 in ``inside``, those of
p > 1 in ``central``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.errors import ParameterError
from mklcore.kernels.operators import cached
from mklcore.losses import Cost, Loss
from mklcore.lowrank.central import FeatureCentral
from mklcore.lowrank.features import FeatureStack
from mklcore.lowrank.inside import FeatureInterior
from mklcore.lowrank.weighing import FeatureNewton, FeatureReweighting, OnFeatures
from mklcore.penalties import Penalty
from mklcore.solvers.driver import Fit, run
from mklcore.solvers.newton import newton_exponent
from mklcore.solvers.problem import Problem, WarmStart

SOLVERS_HERE = ("auto", "wrapper", "newton")
_NEWTON_BELOW = 1.2  # from this p on the analytic update needs few cheap steps; squared loss has cheap Hessians, too


def fit_features(
    stack: FeatureStack,
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
    """``solvers.fit_weighted`` on approximated kernels: learn kernel weights and machine together,

        min_{w, b, theta >= 0}  C sum_i V(t_i, y_i) + 1/2 sum_m ||w_m||^2 / theta_m,    t_i = sum_m w_m'phi_m(x_i) + b

    ``y`` (n,) float64 (labels -1 / +1 for signed losses), ``C`` > 0, a number or one above 0 per row (n,). ``solver`` is "auto",
    "wrapper" (analytic update) or "newton"; "auto" takes interior point steps with a piecewise-linear loss: at p = 1, and for
    1.2 <= p <= 3 where C is so large that they cost less. The certificate is that of the approximated problem.
    Source: Kloft, Brefeld, Sonnenburg, Zien (2011), equation (16); Nystroem's approximation as in ``nystroem``.
    """
    if solver not in SOLVERS_HERE:
        raise ParameterError(
            f'solver="{solver}" works on kernel values, which an approximation does not make; use one of '
            f"{', '.join(SOLVERS_HERE)}, or approximation=None."
        )
    if not penalty.certifies:
        raise ParameterError(
            f"The term {penalty.name} is concave and has no dual; use SMKLClassifier or SMKLRegressor."
        )
    loss.check_cost(y.size, C)
    penalty.check_claims(stack.n_kernels)
    p = newton_exponent(penalty)
    if solver == "newton" and p is None:
        raise ParameterError('solver="newton" needs an lp norm with finite p; use solver="auto" or "wrapper".')
    newton = solver == "newton" or (solver == "auto" and p is not None and (loss.quadratic or p < _NEWTON_BELOW))
    C = C if np.ndim(C) else float(C)
    problem = Problem(cached(stack), y, C, loss, penalty, fit_intercept)
    method: OnFeatures
    if solver == "auto" and penalty.simplex and loss.piecewise_linear and FeatureInterior.suits(problem):
        method = FeatureInterior(problem, tol=tol, warm=warm)
    elif solver == "auto" and FeatureCentral.suits(problem) and FeatureCentral.pays(problem):
        method = FeatureCentral(problem, tol=tol, warm=warm)
    else:
        method = (FeatureNewton if newton else FeatureReweighting)(problem, tol=tol, warm=warm)
    return run(method, tol=tol, max_iter=max_iter, callback=callback)
