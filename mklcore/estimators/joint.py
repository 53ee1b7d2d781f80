"""lp-norm MKL for several targets or classes that share one set of kernel weights."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mklcore.arrays import Array
from mklcore.errors import DataError, ParameterError
from mklcore.estimators.base import KernelEstimator
from mklcore.estimators.targets import KernelClassifier, SeveralTargets
from mklcore.estimators.training_table import KernelSettings
from mklcore.kernels.features import Nystroem
from mklcore.lp.newton import fit_joint
from mklcore.parameters import check_positive, check_whole
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
        check_positive(C=self.C, tol=self.tol)
        LpNorm(self.p)
        self.loss_in_use  # noqa: B018  the loss checks itself
        check_whole("max_iter", self.max_iter)

    def _solve(self, stack: Any, y: Array, warm: Any) -> None:
        Y = np.array(self._targets(y))
        shift = np.zeros(len(Y))
        if self.fit_intercept and self.loss_in_use.of_residuals:
            shift = Y.mean(axis=1)
        start = None
        if warm is not None:
            start = WarmStart(warm.weights_, np.transpose(warm.dual_coef_))
        fit = fit_joint(
            stack,
            Y - shift[:, None],
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
        self._publish(fit)
        intercepts = np.asarray(fit.intercept) + shift
        if y.ndim == 1 and len(Y) == 1:
            self.dual_coef_ = fit.dual_coef[0]
            self.intercept_ = float(intercepts[0])
            self.dual_point_ = None if fit.dual_point is None else fit.dual_point[0]
        else:
            self.dual_coef_ = np.ascontiguousarray(fit.dual_coef.T)
            self.intercept_ = intercepts

    def explained_by(
        self, X: Any, y: Any, views: Mapping[str, Sequence[int]] | None = None
    ) -> dict[str, Array]:
        """The share of the variance of every target that every view explains, (T,) by view.

        The shares add up to R2, because the residual y - f = y - sum_v f_v splits
        R2 = (2 <y, f> - <f, f>) / <y, y>, on centred values, into
        sum_v (2 <y, f_v> - <f, f_v>) / <y, y>. A view that hurts has a negative share.

        Parameters
        ----------
        X : array-like of shape (n_new, d) or (M, n_new, n)
            Rows, or a test block of precomputed kernels.
        y : array-like of shape (n_new,) or (n_new, T)
            Targets; classes count as -1 and +1, one against the rest.
        views : mapping of str to sequence of int, optional
            The indices of the kernels of every view; by default every kernel is a view.

        Returns
        -------
        dict of str to ndarray of shape (T,)
            Shares by view. R2 is their sum, less a term for the mean of the residuals.

        Raises
        ------
        ParameterError
            If a view names a kernel that does not exist.
        DataError
            If a target is constant.
        """
        check_is_fitted(self)
        parts = self.contributions(X)
        parts = parts[..., None] if parts.ndim == 2 else parts
        Y = self._columns(y)
        if len(Y.T) != parts.shape[2] or len(Y) != parts.shape[1]:
            raise DataError(f"The target has shape {Y.shape}; expected {parts.shape[1:]}.")
        Y = Y - Y.mean(axis=0)
        parts = parts - parts.mean(axis=1, keepdims=True)
        energy = (Y**2).sum(axis=0)
        decision = parts.sum(axis=0)
        if not np.all(energy > 0):
            raise DataError(
                "A target is constant on these rows, so no share of it can be explained."
            )
        if views is None:
            views = {name: [m] for m, name in enumerate(self.kernel_names_)}
        shares = {}
        for name, members in views.items():
            if any(not 0 <= m < len(parts) for m in members):
                raise ParameterError(f"views name kernels from 0 to {len(parts) - 1}.")
            part = parts[list(members)].sum(axis=0)
            shares[str(name)] = ((2.0 * Y - decision) * part).sum(axis=0) / energy
        return shares

    @abstractmethod
    def _columns(self, y: Any) -> Array:
        """The target as columns (n_new, T)."""


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

    def _columns(self, y: Any) -> Array:
        places: Any = np.searchsorted(self.classes_, np.asarray(y))
        return np.column_stack(self._targets(places))


@dataclass(eq=False, repr=False)
class JointMKLRegressor(_JointBase, SeveralTargets):
    """lp-norm MKL for several targets that share one set of kernel weights.

        min_theta  sum_t min_{w_t, b_t} C sum_i V(y_it, f_t(x_i)) + 1/2 sum_m ||w_mt||^2 / theta_m
        over  ||theta||_p <= 1

    ``y`` is (n,) or (n, T); the targets should have the same scale, since a target of larger
    variance counts for more. ``loss`` is "squared", "huber" or "epsilon_insensitive" with the tube
    ``epsilon``; at p = 1 the last two use the analytic update, which may need many steps.
    ``explained_by`` splits R2 over targets and views. Everything else is as in
    ``JointMKLClassifier``.

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

    def _columns(self, y: Any) -> Array:
        table = self._target(y)
        return table[:, None] if table.ndim == 1 else table
