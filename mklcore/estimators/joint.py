"""lp-norm MKL for several targets or classes with one set of kernel weights, as scikit-learn
estimators.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mklcore.arrays import Array
from mklcore.documented import documented
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
    """min over ||theta||_p <= 1 of sum_t C sum_i V(y_it, f_t(x_i) + b_t) + 1/2 sum_m ||w_mt||^2 /
    theta_m.
    """

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
        shift = (
            Y.mean(axis=1)
            if self.fit_intercept and self.loss_in_use.of_residuals
            else np.zeros(len(Y))
        )
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
            warm=None if warm is None else WarmStart(warm.weights_, np.transpose(warm.dual_coef_)),
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
        """What every view explains of every target: shares (T,) by the name of the view, which add
        up to R2.

        The residual y - f = y - sum_v f_v splits R2 = (2 <y, f> - <f, f>) / <y, y>, on centred
        values, into sum_v (2 <y, f_v> - <f, f_v>) / <y, y>. A view that hurts has a negative share.

        Parameters
        ----------
        X : rows (n_new, d), or a test block (M, n_new, n)
        y : targets (n_new,) or (n_new, T); classes count as -1 and +1, one against the rest
        views : which kernels, by index, belong to which view; every kernel is one by default

        Returns
        -------
        Shares by view. R2 is their sum, less what a shifted mean of the residuals costs.

        Raises
        ------
        ParameterError for kernels that are not there. DataError for targets without variance.
        """
        check_is_fitted(self)
        parts = self.contributions(X)
        parts = parts[..., None] if parts.ndim == 2 else parts
        Y = self._seen(y)
        if len(Y.T) != parts.shape[2] or len(Y) != parts.shape[1]:
            raise DataError(f"The target has shape {Y.shape}; expected {parts.shape[1:]}.")
        Y = Y - Y.mean(axis=0)
        parts = parts - parts.mean(axis=1, keepdims=True)
        spread = (Y**2).sum(axis=0)
        whole = parts.sum(axis=0)
        if not np.all(spread > 0):
            raise DataError(
                "A target is constant on these rows, so no share of it can be explained."
            )
        chosen = (
            {name: [m] for m, name in enumerate(self.kernel_names_)} if views is None else views
        )
        if any(not 0 <= m < len(parts) for members in chosen.values() for m in members):
            raise ParameterError(f"views name kernels from 0 to {len(parts) - 1}.")
        own = {str(name): parts[list(members)].sum(axis=0) for name, members in chosen.items()}
        return {name: ((2.0 * Y - whole) * part).sum(axis=0) / spread for name, part in own.items()}

    @abstractmethod
    def _seen(self, y: Any) -> Array:
        """The target as columns (n_new, T)."""


@documented
@dataclass(eq=False, repr=False)
class JointMKLClassifier(_JointBase, KernelClassifier):
    """lp-norm MKL for several classes, one against the rest, with one set of kernel weights for all
    of them.

        min_{theta} sum_k min_{w_k, b_k} C sum_i V(y_ik, f_k(x_i)) + 1/2 sum_m ||w_mk||^2 / theta_m, ||theta||_p <= 1

    ``LpMKLClassifier`` gives every class weights of its own; here the kernels that count are the
    same for all. Two classes are one problem.

    Attributes
    ----------
    weights_ (M,), dual_coef_ (n, T), or (n,) for two classes, intercept_, objective_,
    dual_objective_, dual_gap_, relative_gap_, dual_point_ (T, n), the feasible dual whose value is
    dual_objective_ (``solvers.newton.joint_certificate`` computes both again), status_, history_,
    n_iter_, n_kernels_, kernel_names_, selected_, classes_.

    Source: Kloft, Brefeld, Sonnenburg, Zien (2011), section 2, with the weights shared over
    one-against-rest machines.
    """

    p: float = 1.0
    C: float = 1.0
    loss: str | Loss = "hinge"
    _: KW_ONLY
    approximation: Nystroem | None = None

    def _seen(self, y: Any) -> Array:
        places: Any = np.searchsorted(self.classes_, np.asarray(y))
        return np.column_stack(self._targets(places))


@documented
@dataclass(eq=False, repr=False)
class JointMKLRegressor(_JointBase, SeveralTargets):
    """lp-norm MKL for several targets with one set of kernel weights: the same kernels count for
    all of them.

        min_{theta} sum_t min_{w_t, b_t} C sum_i V(y_it, f_t(x_i)) + 1/2 sum_m ||w_mt||^2 / theta_m, ||theta||_p <= 1

    ``y`` is (n,) or (n, T), on one scale: a target of larger variance counts for more. ``loss`` is
    "squared", "huber" or "epsilon_insensitive" with the tube ``epsilon``; at p = 1 the last two
    keep to the analytic update, which may need many steps. ``explained_by`` splits R2 over targets
    and views. Everything else as in ``JointMKLClassifier``.

    References
    ----------
    Kloft, Brefeld, Sonnenburg, Zien (2011), sections 2 and 4, with a sum over targets.
    """

    p: float = 1.0
    C: float = 1.0
    loss: str | Loss = "squared"
    epsilon: float = 0.1

    def _seen(self, y: Any) -> Array:
        table = self._target(y)
        return table[:, None] if table.ndim == 1 else table
