"""Multiple kernel learning for survival: which groups of columns say when an event comes."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from mklcore.arrays import Array
from mklcore.errors import DataError, ParameterError
from mklcore.estimators.base import KernelEstimator, KernelSettings
from mklcore.losses.survival import PartialLikelihood, Times, as_times, concordance
from mklcore.parameters import check_whole
from mklcore.penalties import LpNorm
from mklcore.solvers.driver import warn_unless_converged
from mklcore.solvers.survival import CoxProblem, fit_cox


@dataclass(eq=False, repr=False)
class CoxMKL(RegressorMixin, KernelEstimator, KernelSettings):
    """lp-norm MKL for times until an event, under Cox's partial likelihood.

        min_{w, theta}  C sum_{i: event} [ log sum_{t_j >= t_i} exp f(x_j) - f(x_i) ] + 1/2 sum_m ||w_m||^2 / theta_m

    over theta >= 0, ||theta||_p <= 1. f is the logarithm of the hazard but for a constant: a higher prediction means
    that the event comes earlier. One kernel per pathway of genes says which of them count.

    Parameters
    ----------
    p : float, default 1.0
        Order of the norm on the kernel weights, from 1 (sparse) to infinity (the plain sum).
    C : float, default 1.0
        Cost of one unit of the partial likelihood, above 0.
    kernels : KernelDictionary, sequence of KernelSpec, "precomputed" or None, default None
        The kernels to combine; "precomputed" where ``fit`` gets their Gram matrices.
    normalise : str or None, default "auto"
        How every kernel is scaled on the training rows, as in ``LpMKLRegressor``.
    center : bool, default False
        Whether the kernels are centred in their feature spaces on the training rows.
    random_state : int or None, default None
        Not used: nothing is drawn at random.
    callback : callable or None, default None
        Called after every step with a record of it; raising ``CancelledError`` ends the fit.
    tol : float, default 0.001
        The fit stops when the duality gap is within tol times the regulariser.
    max_iter : int, default 500
        Most steps, from 1; a fit that stops there gives a ``NotConvergedWarning`` with the gap it reached.

    Attributes
    ----------
    weights_ (M,), dual_coef_ (n,), intercept_ (0: the likelihood knows none), objective_, dual_objective_, dual_gap_,
    relative_gap_, dual_point_ (n,) = -C L'(dual_at_), whose value Fenchel's equality gives (``certificate`` computes
    both values again), dual_at_ (n,), status_, history_, n_iter_, n_kernels_, kernel_names_, selected_, event_times_
    and cumulative_hazard_, Breslow's baseline.

    Source: Cox (1972); Kloft, Brefeld, Sonnenburg, Zien (2011), equations (16), (17), (19); one kernel per pathway as
    in O. Dereli, C. Oguz, M. Gonen, Path2Surv, Bioinformatics 35, 2019.

    >>> from mklcore.data.survival import make_survival
    >>> from mklcore.kernels.dictionary import KernelDictionary
    >>> from mklcore.kernels.functions import Linear
    >>> data = make_survival(80, seed=0)
    >>> model = CoxMKL(kernels=KernelDictionary.per_group(Linear(), data.groups), C=0.1).fit(data.X, data.y)
    >>> model.score(data.X, data.y) > 0.7
    True
    """

    score_name = "concordance"

    p: float = 1.0
    C: float = 1.0
    _: KW_ONLY
    tol: float = 1e-3
    max_iter: int = 500

    def _check_parameters(self) -> None:
        self._positive("C", "tol")
        LpNorm(self.p)
        check_whole("max_iter", self.max_iter)

    def _target(self, y: Any) -> Array:
        times = as_times(y)
        return np.column_stack([times.time, times.event.astype(float)])

    def _solve(self, stack: Any, y: Array, warm: Any) -> None:
        likelihood = PartialLikelihood(Times(y[:, 0], y[:, 1] == 1.0))
        fit, self.dual_at_ = fit_cox(
            stack, likelihood, self.C, self.p, tol=self.tol, max_iter=self.max_iter, callback=self.callback
        )
        warn_unless_converged(fit, self.tol)
        self._publish(fit)
        self.intercept_ = 0.0
        f = CoxProblem(stack, likelihood, self.C, LpNorm(self.p)).combined(fit.weights) @ fit.dual_coef
        hazard, order = likelihood.baseline(f)
        self.event_times_, last = np.unique(y[order, 0], return_index=True)
        ends = np.append(last[1:], order.size) - 1
        self.cumulative_hazard_ = hazard[ends]

    def certificate(self, X: Any, y: Any) -> tuple[float, float]:
        """Primal and dual value, computed again from the training rows ``X``, or their stack, and target ``y``."""
        check_is_fitted(self)
        rows = self._checked_rows(X, reset=False)
        times = as_times(y)
        from mklcore.kernels.operators import as_operator, is_operator

        kernels = rows if is_operator(rows) else as_operator(np.asarray(self._blocks(rows)))
        problem = CoxProblem(kernels.exact, PartialLikelihood(times), self.C, LpNorm(self.p))
        return problem.primal(self.weights_, self.dual_coef_), problem.dual_value(self.dual_at_)

    def predict(self, X: Any) -> Array:
        """The logarithm of the hazard (n_new,), but for a constant: where it is higher, the event comes earlier."""
        return self._decisions(X)

    def survival(self, X: Any, times: Any) -> Array:
        """The probability (n_new, k) that no event came until each of ``times`` (k,), by Breslow's baseline.

        ``X`` as in ``predict``. DataError for times that are no numbers.
        """
        try:
            asked = np.atleast_1d(np.asarray(times, dtype=np.float64))
        except (TypeError, ValueError):
            asked = np.array([np.nan])
        if asked.ndim != 1 or not np.all(np.isfinite(asked)):
            raise DataError("times must be a list of finite numbers.")
        steps = np.searchsorted(self.event_times_, asked, side="right")
        hazard = np.concatenate([[0.0], self.cumulative_hazard_])[steps]
        with np.errstate(over="ignore"):
            return np.exp(-np.outer(np.exp(self.predict(X)), hazard))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The concordance of the predictions with the times ``y``: 0.5 says nothing, 1 orders every comparable pair."""
        if sample_weight is not None:
            raise ParameterError("sample_weight has no place in the concordance, which counts pairs of rows.")
        return concordance(y, self.predict(X))

    def path_score(self, predicted: Array, y: Any) -> float:
        """The concordance of predictions (n_new,) with times."""
        return concordance(y, predicted)
