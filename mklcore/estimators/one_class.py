"""Novelty detection with learned kernel weights: the one-class form of lp-norm MKL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import OutlierMixin

from mklcore.arrays import Array
from mklcore.data.dataset import count_rows
from mklcore.errors import ParameterError
from mklcore.estimators.lp import LpBase
from mklcore.kernels.grams import GramStack
from mklcore.parameters import is_finite_number
from mklcore.paths.scoring import ACCEPTED
from mklcore.problem.losses import Loss, make_loss
from mklcore.problem.penalties import Penalty


@dataclass(eq=False, repr=False)
class LpMKLOneClass(OutlierMixin, LpBase):
    """lp-norm MKL without labels: a boundary around the training rows.

        nu=None      min_{w, theta}  C sum_i max(0, 1 - f(x_i)) + 1/2 sum_m ||w_m||^2 / theta_m
        nu a number  min_{w, rho, theta}  1/(nu n) sum_i max(0, rho - f(x_i)) - rho
                                          + 1/2 sum_m ||w_m||^2 / theta_m

    both over theta >= 0, ||theta||_p <= 1. ``score_samples`` is f, and ``decision_function`` is
    f - offset_, with ``offset_`` 1 in the first form and rho in the second. ``predict`` is +1
    inside the boundary and -1 outside; ``intercept_`` is 0. ``nu_from_one_class`` maps the first
    form to the second exactly.

    Both forms separate the rows from the origin. Kernels whose training rows have the origin as
    their mean (``center=True``) therefore have no boundary: the first form returns the constant
    f = 0, and the second raises an error.

    ``score`` and the scores of ``fit_path`` are the share of rows inside the boundary. Without
    labels no score can choose a parameter: this one measures how tight the boundary is, and not how
    good. Other parameters and attributes are as in ``LpMKLClassifier``.

    Parameters
    ----------
    p : float, default 1.0
        Norm of the kernel weights, from 1 (sparse) to infinity (the plain sum of the kernels).
    C : float, default 1.0
        Weight of the loss against the regulariser, > 0: larger values fit the training rows more
        closely.
    nu : float or None, default None
        Share of rows outside in the nu form, in (0, 1]; None for the form with ``C``.
    penalty : str, Penalty or None, default None
        Regulariser of the kernel weights in place of the norm ``p``: a name of ``PENALTIES`` or an
        object.
    solver : str, default "auto"
        "auto", "wrapper" (analytic update), "newton" (damped Newton on the weights), "interleaved"
        (kernel rows on the fly, no stored Gram matrix) or "silp" (cutting planes, p = 1, for
        comparison).
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
    tol : float, default 0.001
        Relative duality gap at which the solver stops, > 0.
    max_iter : int, default 500
        Most steps of the outer loop, from 1; a fit that stops there gives a
        ``NotConvergedWarning``.

    References
    ----------
    Kloft, Brefeld, Sonnenburg, Zien (2011), section 3.4.
    """

    score_name = ACCEPTED
    # Support vectors lie on the boundary; another order of summation could move them across it.
    _scored_together = False
    training_decision = None

    p: float = 1.0
    C: float = 1.0
    nu: float | None = None
    penalty: str | Penalty | None = None
    solver: str = "auto"

    @property
    def loss(self) -> str:
        return "one_class" if self.nu is None else "nu_one_class"

    @property
    def fit_intercept(self) -> bool:
        return self.nu is not None

    @property
    def loss_in_use(self) -> Loss:
        if self.nu is None:
            return make_loss("one_class")
        if not is_finite_number(self.nu):
            raise ParameterError(
                f"nu must be None or a number above 0 and at most 1; got {self.nu!r}."
            )
        return make_loss("nu_one_class", nu=float(self.nu))

    def _checked_target(self, X: Any, y: Any) -> Array:
        return super()._checked_target(X, np.ones(count_rows(X)) if y is None else y)

    def _target(self, y: Any) -> Array:
        """All rows belong to one class."""
        return np.ones(len(np.asarray(y)))

    def along(
        self,
        stack: GramStack,
        y: Array,
        attribute: str,
        values: Sequence[float],
    ) -> Iterator[Any]:
        """Yield one fitted copy per value of C or p, each started from the one before."""
        if attribute == "C" and self.nu is not None:
            raise ParameterError(
                "With nu given C has no effect, so there is no path over C: leave nu out, "
                "or let the path run over p."
            )
        return super().along(stack, y, attribute, values)

    def _cost(self, n: int) -> float:
        if self.nu is None:
            return float(self.C)
        weights = self.sample_weight_
        return 1.0 / (self.nu * float(n if weights is None else weights.sum()))

    def _solve(self, stack: GramStack, y: Array, warm: Any) -> None:
        super()._solve(stack, y, warm)
        self.offset_ = 1.0 if self.nu is None else -self.intercept_
        self.intercept_ = 0.0

    def score_samples(self, X: Any) -> Array:
        """f (n_new,) for rows X (n_new, d) or a test block (M, n_new, n); it is large inside."""
        return self._decisions(X)

    def decision_function(self, X: Any) -> Array:
        """f - offset_ (n_new,): positive inside, negative outside."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> Array:
        """+1 inside the boundary, -1 outside, (n_new,)."""
        return self.label(self._decisions(X))

    def score(self, X: Any, y: Any = None) -> float:
        """The share of rows X, or of a test block, inside the boundary; ``y`` is not used."""
        return self.path_score(self.predict(X), y)

    def path_score(self, predicted: Array, y: Any) -> float:
        """The share of rows inside the boundary, from the answers of ``predict``."""
        return float(np.mean(predicted == 1))

    def label(self, decision: Array) -> Array:
        return np.where(decision >= self.offset_, 1, -1)
