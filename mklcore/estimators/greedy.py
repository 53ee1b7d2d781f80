"""scikit-learn estimators of sparse MKL by greedy coordinate descent: one kernel enters at a time."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

import numpy as np

from mklcore.arrays import Array
from mklcore.errors import ParameterError
from mklcore.estimators.base import KernelEstimator
from mklcore.estimators.targets import KernelClassifier, KernelRegressor
from mklcore.estimators.training_table import KernelSettings
from mklcore.kernels.grams import GramStack
from mklcore.kernels.operators import Capability
from mklcore.parameters import check_choice, check_whole
from mklcore.problem.driver import Fit, Status, run, warn_unless_converged
from mklcore.problem.losses import Loss, loss_for
from mklcore.sparse.greedy import (
    EmpiricalGreedy,
    FunctionalGreedy,
    critical_lam,
    has_rate,
    unit_step_divisors,
)


class BudgetedEstimator(KernelEstimator):
    """Base of the greedy estimators.

    A single run gives the models of every ``n_kernels``.
    """

    takes_means: ClassVar[bool] = True

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name in ("n_kernels", "n_candidates"):
            if getattr(self, name, None) is not None:
                check_whole(name, getattr(self, name), other=", or None for all")

    def _prepared(self, stack: GramStack) -> Any:
        """What depends neither on lam nor on the budget, to be computed once."""
        return None

    def _solve(self, stack: GramStack, y: Array, warm: Any) -> None:
        """Solve with the decompositions of ``warm``, a fitted copy with another parameter."""
        prepared = self._prepared(stack) if warm is None else warm._carry[0]
        self._carry = prepared, self._run(stack, y, prepared)

    @abstractmethod
    def _run(self, stack: GramStack, y: Array, prepared: Any) -> Any:
        """Solve and publish; return what ``_cut_to`` needs besides the published solution."""

    @abstractmethod
    def _cut_to(self, whole: Any, size: int) -> None:
        """Publish the model that the fitted estimator ``whole`` had after ``size`` kernels."""

    def along(
        self,
        stack: GramStack,
        y: Array,
        attribute: str,
        values: Sequence[float],
    ) -> Iterator[Any]:
        """Yield one fitted copy per value; a single run gives all sizes."""
        if attribute == "n_kernels":
            largest = self.copy_with(attribute, max(values))._fit_stack(stack, y)
            return self._sizes(largest, stack, y, values)
        return super().along(stack, y, attribute, values)

    def along_grid(
        self, stack: GramStack, y: Array, lams: Sequence[float], sizes: Sequence[int]
    ) -> Iterator[tuple[Any, ...]]:
        """Yield, for every lam, the fitted copies of all ``sizes``, from one run."""
        largest = self.copy_with("n_kernels", max(sizes))
        models = largest.along(stack, y, "lam", lams)
        for lam, whole in zip(lams, models, strict=True):
            yield tuple(self.copy_with("lam", lam)._sizes(whole, stack, y, sizes))

    def _sizes(
        self,
        whole: Any,
        stack: GramStack,
        y: Array,
        sizes: Sequence[Any],
    ) -> Iterator[Any]:
        for size in sizes:
            model = self.copy_with("n_kernels", size)
            model._cut_to(whole, size)
            model._remember(stack, y)
            yield model


def truncated(fit: Fit, size: int) -> Fit:
    """The same greedy run, stopped after ``size`` steps."""
    assert fit.points is not None
    points = fit.points[: size + 1]
    last = points[-1]
    history = fit.history[: len(points)]
    dual_point = None
    best = -np.inf
    for point in points:
        if point.dual_objective is not None and point.dual_objective > best:
            best = point.dual_objective
            dual_point = point.dual_point
    return replace(
        fit,
        weights=last.weights,
        dual_coef=last.dual,
        objective=last.objective,
        dual_objective=history[-1].dual_objective,
        dual_point=dual_point,
        status=Status.COMPLETE if len(points) < len(fit.points) else fit.status,
        n_iter=max(1, len(points) - 1),
        history=history,
        solves=history[-1].solves,
        seconds=history[-1].seconds,
        selected=last.selected,
        points=points,
    )


NO_RATE = (
    "No rate of convergence is claimed for the loss {}: its second derivative vanishes "
    "in places, so that it is not of the quadratic type that the rates are proved for "
    "(Jin, Yang and Mahdavi, 2013, footnote 1)."
)


def has_derivative(loss: Loss | type[Loss]) -> bool:
    """Whether the gradient of the loss says which kernel enters next."""
    return loss.quadratic or loss.sloped


CRITERIA = ("functional", "empirical")
STEPS = ("unit", "linesearch")
DEFAULT_STEPS = 100  # of Algorithm 2


@dataclass(eq=False, repr=False)
class _GreedyBase(KernelSettings, BudgetedEstimator):
    """min_f 1/(2n) sum (y_i - f(x_i))^2 + lam sum_j ||f_j||, and the same without the penalty."""

    default_normalise = "diag"
    requires = frozenset({Capability.DENSE})
    _dual_per_kernel = True
    _scored_together = False

    criterion: str = "functional"
    lam: float = 0.01
    n_kernels: int | None = None
    step: str = "unit"
    loss: str | Loss = "squared"
    _: KW_ONLY
    fit_intercept: bool = False
    tol: float = 1e-3
    max_iter: int = 1000

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name, known in (("criterion", CRITERIA), ("step", STEPS)):
            check_choice(name, getattr(self, name), known)
        loss = self.loss_in_use
        if not (self._is_empirical or loss.quadratic):
            raise ParameterError(
                'Algorithm 1 (criterion="functional") has squared loss alone; got '
                f'loss="{loss.name}". Use loss="squared", or criterion="empirical".'
            )
        if self._is_empirical and self.step == "linesearch" and not loss.quadratic:
            raise ParameterError(
                'The best step has a closed form for squared loss alone; use step="unit".'
            )

    @property
    def loss_in_use(self) -> Loss:
        return loss_for(self.loss, self.tasks, has_derivative, "a derivative")

    @property
    def _is_empirical(self) -> bool:
        return bool(self.criterion == "empirical")

    def _run(self, stack: GramStack, y: Array, prepared: Any) -> None:
        K = stack.values
        columns, means = self._centred(y)
        divisors = unit_step_divisors(K) if self._is_empirical else np.ones(len(K))
        targets = np.ascontiguousarray(columns.T)
        fits = [self._fit_one(K, target, divisors) for target in targets]
        notes = []
        for name, divisor in zip(stack.names, divisors, strict=True):
            if divisor > 1:
                notes.append(
                    f"{name}: lmax(K/n) is {divisor:.3g}, above 1, where the unit step need not "
                    f"descend; the steps use this kernel divided by {divisor:.3g}."
                )
        if not has_rate(self.loss_in_use):
            notes.append(NO_RATE.format(self.loss_in_use.name))
        self.notes_ = tuple(notes)
        self._publish_fits(fits, means)

    def _centred(self, y: Array) -> tuple[Array, Array]:
        """The target columns, less their means where the loss is squared, and these means."""
        is_centred = self.fit_intercept and self.loss_in_use.quadratic
        return self._columns_less_means(y, is_centred)

    def _fit_one(
        self,
        K: Array,
        y: Array,
        divisors: Array,
    ) -> Fit:
        method: EmpiricalGreedy | FunctionalGreedy
        loss = self.loss_in_use
        if self._is_empirical:
            method = EmpiricalGreedy(
                K,
                y,
                loss=loss,
                n_steps=self.n_kernels or DEFAULT_STEPS,
                linesearch=self.step == "linesearch",
                divisors=divisors,
                fit_intercept=self.fit_intercept and not loss.quadratic,
            )
        else:
            size = min(self.n_kernels or len(K), len(K))
            method = FunctionalGreedy(K, y, self.lam, n_kernels=size)
        fit = run(method, tol=self.tol, max_iter=self.max_iter, callback=self.callback)
        warn_unless_converged(fit, self.tol)
        return fit

    def _cut_to(self, whole: Any, size: int) -> None:
        fits = whole.fit_ if isinstance(whole.fit_, tuple) else (whole.fit_,)
        self.notes_ = whole.notes_
        cut = [truncated(fit, size) for fit in fits]
        self._publish_fits(cut, np.atleast_1d(whole.intercept_))

    def _publish_fits(self, fits: Sequence[Fit], means: Array) -> None:
        is_centred = self.loss_in_use.quadratic
        whole = []
        steps = []
        selected: dict[int, None] = {}
        for fit, mean in zip(fits, means.tolist(), strict=True):
            entries = list(fit.selected or ())
            points = fit.points or ()
            dual = np.zeros((fit.weights.size, fit.dual_coef.shape[1]))
            dual[entries] = fit.dual_coef
            # Without a mean, the intercept was fitted together with the kernels.
            intercept = mean if is_centred else points[-1].state.intercept
            whole.append(replace(fit, dual_coef=dual, intercept=intercept))
            picks = [point.state.pick for point in points[1:]]
            steps.append(np.array(picks, dtype=np.intp))
            selected |= dict.fromkeys(entries)
        self._publish(*whole)
        self.steps_: Any = tuple(steps) if len(fits) > 1 else steps[0]
        self.selected_ = np.array(list(selected), dtype=np.intp)

    def lam_range(self, stack: GramStack, y: Any) -> tuple[float, float]:
        """Three decades of lam, up to the value from which no kernel enters."""
        probe = self.copy_with("lam", 1.0)
        columns, _ = probe._centred(probe._target(y))
        # The critical lam of a constant target is 0, which no grid can use.
        critical = max(critical_lam(stack.values, column) for column in columns.T) or 1.0
        return 1e-3 * critical, critical

    def decide_blocks(self, blocks: Any) -> Array:
        used = np.flatnonzero(np.atleast_2d(self.weights_).any(axis=0))
        parts = self._parts(blocks[used], used.tolist())
        decision: Array = parts.sum(axis=0) + self.intercept_
        return decision

    def _parts(self, blocks: Array, chosen: Sequence[int]) -> Array:
        """f_m of the chosen kernels; every kernel has its own coefficients, (M, n) or (T, M, n)."""
        duals = self.dual_coef_[..., list(chosen), :]
        parts: Array = np.einsum("mij,...mj->mi...", blocks, duals)
        return parts


@dataclass(eq=False, repr=False)
class GreedyMKLClassifier(_GreedyBase, KernelClassifier):
    """Sparse MKL by greedy coordinate descent for classification.

    Two classes are fitted by least squares on labels -1 and +1; more classes, one against the rest.

        min_f 1/(2n) sum_i (y_i - f(x_i))^2 + lam sum_j ||f_j|| (1)

    Parameters
    ----------
    criterion : str, default "functional"
        "functional" (Algorithm 1: the kernel with the largest functional gradient enters, then (1)
        is solved exactly on the kernels chosen; duality gap) or "empirical" (Algorithm 2: a
        gradient step along the kernel whose gradient is largest on the training rows; uses no lam
        and has no certificate).
    lam : float, default 0.01
        Penalty of (1), > 0; at max_j sqrt(y'K_j y)/n or more no kernel enters.
    n_kernels : int or None, default None
        Algorithm 1: the largest number of kernels, None for all of them; Algorithm 2: its number of
        steps, None for 100.
    step : str, default "unit"
        "unit" or "linesearch" (ours, Algorithm 2 only: the best step instead of the unit step).
    loss : str or Loss, default "squared"
        "squared", or for Algorithm 2 "logistic" or "squared_hinge". With these Algorithm 2 halves
        its step until the loss falls, ``fit_intercept`` fits a free b, and ``notes_`` reports where
        the rates of the paper do not apply.
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
    fit_intercept : bool, default False
        With the squared loss, subtract the mean of each target column and add it back; with other
        losses, fit a free offset b.
    tol : float, default 0.001
        Algorithm 1 stops when the duality gap is at most tol times lam sum ||f_j||.
    max_iter : int, default 1000
        Most steps of the outer loop, from 1; a fit that stops there gives a
        ``NotConvergedWarning``.
    probability : bool, default False
        Whether probabilities are calibrated on held-out folds, so that ``predict_proba`` can be
        used.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (M, n)
        Coefficients of f = sum_m k_m(x, X) dual_coef_[m] + intercept_.
    weights_ : ndarray of shape (M,)
        Norms ||f_m||_H.
    selected_ : ndarray
        Kernels in order of entry; ``steps_`` is the kernel of every step. With more than two
        classes all other attributes gain a leading axis over the one-vs-rest problems.
    objective_ : float
        Value of (1), or 1/(2n) ||y - f||^2 for Algorithm 2.
    dual_point_ : ndarray of shape (n,)
        theta with theta'y - n/2 ||theta||^2 = dual_objective_ under sqrt(theta'K_j theta) <= lam, y
        centred as solved.
    notes_ : tuple of str
        Kernels that Algorithm 2 had to rescale, and a note where the rates of the paper do not
        apply.

    References
    ----------
    Jin, Yang and Mahdavi (2013), Algorithms 1 and 2. Algorithm 1 gives the model of its last step,
    also where the printed one returns that of the step before.
    """

    _: KW_ONLY
    probability: bool = False


@dataclass(eq=False, repr=False)
class GreedyMKLRegressor(_GreedyBase, KernelRegressor):
    """Sparse MKL by greedy coordinate descent for regression.

    Attributes are those of ``GreedyMKLClassifier``.

        min_f 1/(2n) sum_i (y_i - f(x_i))^2 + lam sum_j ||f_j|| (1)

    Parameters
    ----------
    criterion : str, default "functional"
        "functional" (Algorithm 1: the kernel with the largest functional gradient enters, then (1)
        is solved exactly on the kernels chosen; duality gap) or "empirical" (Algorithm 2: a
        gradient step along the kernel whose gradient is largest on the training rows; uses no lam
        and has no certificate).
    lam : float, default 0.01
        Weight of the regulariser, > 0: larger values fit the training rows less closely.
    n_kernels : int or None, default None
        Algorithm 1: the largest number of kernels, None for all of them; Algorithm 2: its number of
        steps, None for 100.
    step : str, default "unit"
        "unit" or "linesearch" (ours, Algorithm 2 only: the best step instead of the unit step).
    loss : str or Loss, default "squared"
        "squared", or for Algorithm 2 "huber" or a loss object of your own with a derivative.
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
        With the squared loss, subtract the mean of each target column and add it back; with other
        losses, fit a free offset b.
    tol : float, default 0.001
        Algorithm 1 stops when the duality gap is at most tol times lam sum ||f_j||.
    max_iter : int, default 1000
        Most steps of the outer loop, from 1; a fit that stops there gives a
        ``NotConvergedWarning``.

    References
    ----------
    Jin, Yang and Mahdavi (2013), Algorithms 1 and 2. Algorithm 1 gives the model of its last step,
    also where the printed one returns that of the step before.
    """

    _: KW_ONLY
    fit_intercept: bool = True
