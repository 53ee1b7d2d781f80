"""lp-norm MKL for several targets or classes that share one set of kernel weights."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

import numpy as np

from mklcore.arrays import Array
from mklcore.estimators.base import KernelEstimator
from mklcore.estimators.targets import KernelClassifier, SeveralTargets
from mklcore.estimators.training_table import KernelSettings
from mklcore.kernels.features import Nystroem
from mklcore.lp.newton import fit_joint
from mklcore.problem.driver import warn_unless_converged
from mklcore.problem.losses import Loss
from mklcore.problem.penalties import LpNorm
from mklcore.problem.problem import WarmStart


@dataclass(kw_only=True, eq=False, repr=False)
class _JointBase(KernelSettings, KernelEstimator):
    """lp-norm MKL of several targets at once, with one set of weights for all of them."""

    takes_means: ClassVar[bool] = True

    fit_intercept: bool = True
    tol: float = 1e-3
    max_iter: int = 500

    def _check_parameters(self) -> None:
        super()._check_parameters()
        LpNorm(self.p)

    def _solve(self, stack: Any, y: Array, warm: Any) -> None:
        is_centred = self.fit_intercept and self.loss_in_use.of_residuals
        Y, means = self._columns_less_means(y, is_centred)
        start = None
        if warm is not None:
            start = WarmStart(warm.weights_, np.transpose(warm.dual_coef_))
        fit = fit_joint(
            stack,
            np.ascontiguousarray(Y.T),
            self.C,
            self.loss_in_use,
            self.p,
            self.fit_intercept,
            tol=self.tol,
            max_iter=self.max_iter,
            callback=self.callback,
            warm=start,
        )
        warn_unless_converged(fit, self.tol)
        columns = replace(fit, dual_coef=np.ascontiguousarray(fit.dual_coef.T))
        self._publish_columns(columns, np.asarray(fit.intercept) + means, y.ndim == 1)
        if self.dual_coef_.ndim == 1 and fit.dual_point is not None:
            self.dual_point_ = fit.dual_point[0]


@dataclass(eq=False, repr=False)
class JointMKLClassifier(_JointBase, KernelClassifier):
    """lp-norm MKL for several classes that share one set of kernel weights.

        min_theta  sum_k min_{w_k, b_k} C sum_i V(y_ik, f_k(x_i)) + 1/2 sum_m ||w_mk||^2 / theta_m
        over  ||theta||_p <= 1

    Every class is fitted against the rest. ``LpMKLClassifier`` gives every class its own
    kernel weights; here they are the same for all classes. Two classes are one problem.

    Parameters
    ----------
    p : float, default 1.0
        Norm of the kernel weights, from 1 (sparse) to infinity (the plain sum of the kernels).
    C : float, default 1.0
        Weight of the loss against the regulariser, > 0: larger values fit the training rows more
        closely.
    loss : str or Loss, default "hinge"
        How a wrong prediction is penalised: the name of a loss in ``LOSSES``, or an object of your
        own.
    kernels : KernelDictionary, sequence of KernelSpec, "precomputed" or None, default None
        The kernels to combine; "precomputed" where ``fit`` gets their Gram matrices. None for one
        RBF kernel per bandwidth of a grid and one linear kernel.
    normalise : str or None, default "auto"
        How every kernel is scaled on the training rows: "multiplicative", "spherical", "trace",
        "diag", None, or "auto" for the usual way of the method.
    center : bool, default False
        Whether the kernels are centred in their feature spaces on the training rows.
    random_state : int or None, default None
        Seed of everything that is drawn at random; a number gives the same fit each time.
    callback : callable or None, default None
        Called after every step with a record of it; return True, or raise ``CancelledError``, to
        stop the fit.
    fit_intercept : bool, default True
        Whether the model has a free offset b.
    tol : float, default 0.001
        Relative duality gap at which the solver stops, > 0.
    max_iter : int, default 500
        Most steps of the outer loop, from 1; a fit that stops there gives a
        ``NotConvergedWarning``.
    approximation : Nystroem or None, default None
        Features of low rank in place of the kernels; None for the kernels themselves.

    Attributes
    ----------
    weights_ (M,), dual_coef_ (n, T), or (n,) for two classes, intercept_, objective_,
    dual_objective_, dual_gap_, relative_gap_, dual_point_ (T, n), the feasible dual whose value is
    dual_objective_ (``joint_certificate`` computes both again), status_, history_,
    n_iter_, n_kernels_, kernel_names_, selected_, classes_.

    Source: Kloft, Brefeld, Sonnenburg, Zien (2011), section 2, with the weights shared over
    one-against-rest machines.
    """

    p: float = 1.0
    C: float = 1.0
    loss: str | Loss = "hinge"
    _: KW_ONLY
    approximation: Nystroem | None = None


@dataclass(eq=False, repr=False)
class JointMKLRegressor(_JointBase, SeveralTargets):
    """lp-norm MKL for several targets that share one set of kernel weights.

        min_theta  sum_t min_{w_t, b_t} C sum_i V(y_it, f_t(x_i)) + 1/2 sum_m ||w_mt||^2 / theta_m
        over  ||theta||_p <= 1

    ``y`` is (n,) or (n, T); the targets should have the same scale, since a target of larger
    variance counts for more. ``loss`` is "squared", "huber" or "epsilon_insensitive" with the tube
    ``epsilon``; at p = 1 the last two use the analytic update, which may need many steps.
    Everything else is as in ``JointMKLClassifier``.

    Parameters
    ----------
    p : float, default 1.0
        Norm of the kernel weights, from 1 (sparse) to infinity (the plain sum of the kernels).
    C : float, default 1.0
        Weight of the loss against the regulariser, > 0: larger values fit the training rows more
        closely.
    loss : str or Loss, default "squared"
        How a wrong prediction is penalised: the name of a loss in ``LOSSES``, or an object of your
        own.
    epsilon : float, default 0.1
        Half width of the tube of the epsilon-insensitive loss, in units of the target, >= 0.
    kernels : KernelDictionary, sequence of KernelSpec, "precomputed" or None, default None
        The kernels to combine; "precomputed" where ``fit`` gets their Gram matrices. None for one
        RBF kernel per bandwidth of a grid and one linear kernel.
    normalise : str or None, default "auto"
        How every kernel is scaled on the training rows: "multiplicative", "spherical", "trace",
        "diag", None, or "auto" for the usual way of the method.
    center : bool, default False
        Whether the kernels are centred in their feature spaces on the training rows.
    random_state : int or None, default None
        Seed of everything that is drawn at random; a number gives the same fit each time.
    callback : callable or None, default None
        Called after every step with a record of it; return True, or raise ``CancelledError``, to
        stop the fit.
    fit_intercept : bool, default True
        Whether the model has a free offset b.
    tol : float, default 0.001
        Relative duality gap at which the solver stops, > 0.
    max_iter : int, default 500
        Most steps of the outer loop, from 1; a fit that stops there gives a
        ``NotConvergedWarning``.

    References
    ----------
    Kloft, Brefeld, Sonnenburg, Zien (2011), sections 2 and 4, with a sum over targets.
    """

    p: float = 1.0
    C: float = 1.0
    loss: str | Loss = "squared"
    epsilon: float = 0.1
