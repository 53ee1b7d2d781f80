"""Baselines for learned weights: the plain sum, the best single kernel, and one-step weights.

One-step weights are computed from how well each kernel fits the target; then a single machine is
trained on the weighted sum:

    aligned   mu = argmax_{mu >= 0} <sum_m mu_m K_m, yy'> / ||sum_m mu_m K_m||_F, every K_m centred
    margin    mu_m = g'Y K_m Y g  with
              g = argmin_{g >= 0} (1 - lam) g'Y (sum_m K_m) Y g + lam ||g||^2,
              where g sums to 1 in either class

The first needs a non-negative least-squares problem in M unknowns, the second (EasyMKL) a small
quadratic problem in n. Neither solves a joint problem of weights and machine, so that there is no
certificate. More than two classes are fitted one against the rest. For numbers the alignment uses y
itself, and there is no margin.

Source: Cortes, Mohri and Rostamizadeh (2012), "Algorithms for learning kernels based on centered
alignment", Proposition 9; Aiolli and Donini (2015), "EasyMKL: a scalable multiple kernel learning
algorithm".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

import numpy as np

from mklcore.arrays import Array
from mklcore.errors import ParameterError
from mklcore.estimators.base import KernelEstimator
from mklcore.estimators.lp import LpSupervised
from mklcore.estimators.targets import KernelClassifier, KernelRegressor
from mklcore.kernels.features import Nystroem
from mklcore.kernels.operators import Capability, Dense, cached
from mklcore.parameters import check_choice, is_finite_number
from mklcore.paths.folds import folds
from mklcore.problem.driver import Fit, warn_unless_converged
from mklcore.problem.losses import Loss, make_loss
from mklcore.problem.machines import solve_machine
from mklcore.problem.penalties import LpNorm, Penalty
from mklcore.problem.problem import Problem, WarmStart
from mklcore.problem.solution import MachineTask

N_FOLDS = 5
SELECTIONS = ("objective", "folds")  # criteria for the best single kernel
ALIGNMENTS = ("aligned", "margin")  # rules for one-step weights
_CLOSE = 1e-9  # gap of the machine that finds the margin, and its least share of lam


class _Uniform(LpSupervised):
    """Every kernel with weight one: lp-norm MKL at p = infinity, which one machine solves."""

    p: ClassVar[float] = np.inf
    penalty: ClassVar[None] = None
    solver: ClassVar[str] = "wrapper"


@dataclass(eq=False, repr=False)
class UniformMKLClassifier(_Uniform, KernelClassifier):
    """The plain sum of all kernels: the baseline every learned weighting has to beat.

    Parameters and attributes as ``LpMKLClassifier``.

    Parameters
    ----------
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
    tol : float, default 0.001
        Relative duality gap at which the solver stops, > 0.
    max_iter : int, default 500
        Most steps of the outer loop, from 1; a fit that stops there gives a
        ``NotConvergedWarning``.
    fit_intercept : bool, default True
        Whether the model has a free offset b.
    approximation : Nystroem or None, default None
        Features of low rank in place of the kernels; None for the kernels themselves.
    probability : bool, default False
        Whether probabilities are calibrated on held-out folds, so that ``predict_proba`` can be
        used.
    class_weight : dict, "balanced" or None, default None
        What C is multiplied by for the rows of each class, as in scikit-learn; None for 1.
    n_jobs : int or None, default None
        Problems of one class against the rest that are solved at a time; None for one, -1 for one
        per core.
    """

    C: float = 1.0
    loss: str | Loss = "hinge"
    _: KW_ONLY
    approximation: Nystroem | None = None
    probability: bool = False
    class_weight: Mapping[Any, float] | str | None = None
    n_jobs: int | None = None


@dataclass(eq=False, repr=False)
class UniformMKLRegressor(_Uniform, KernelRegressor):
    """The plain sum of all kernels for regression: the baseline to beat.

    Attributes as ``LpMKLRegressor``.

    Parameters
    ----------
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
    tol : float, default 0.001
        Relative duality gap at which the solver stops, > 0.
    max_iter : int, default 500
        Most steps of the outer loop, from 1; a fit that stops there gives a
        ``NotConvergedWarning``.
    fit_intercept : bool, default True
        Whether the model has a free offset b.
    approximation : Nystroem or None, default None
        Features of low rank in place of the kernels; None for the kernels themselves.
    """

    C: float = 1.0
    loss: str | Loss = "squared"
    epsilon: float = 0.1
    _: KW_ONLY
    approximation: Nystroem | None = None


class _OnStacks(_Uniform):
    """A baseline that reads the stored Gram matrices themselves."""

    requires = frozenset({Capability.DENSE})
    _forms = KernelEstimator._forms


class _BestKernel(_OnStacks):
    """One machine per kernel, of which the best one is kept."""

    # Single kernels are the corners of the l1 ball; paths are scaled by this norm.
    p = 1.0

    single_objectives_: Array
    single_scores_: Array | None

    @property
    def penalty_in_use(self) -> Penalty:
        return LpNorm(np.inf)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("select", self.select, SELECTIONS)

    def _solve(self, stack: Any, y: Array, warm: Any) -> None:
        """Find the best kernel without solving all of them.

        Every kernel has a lower bound on its objective, from the duals of a neighbour or of the
        first kernel. The kernel of the lowest bound is solved next, target by target, until that
        kernel is solved completely: all others are then proved to be worse. Where scores over inner
        folds choose, their best kernel alone is solved.
        """
        targets = self._targets(y)
        M = stack.n_kernels
        scores = self._inner_scores(stack, y) if self.select == "folds" else None
        fits: list[list[Fit]] = [[] for _ in range(M)]
        carried = getattr(warm, "_carry", None)
        if carried is None:
            fits[0] = [self._alone(stack.values[0], target, None) for target in targets]
            carried = [[fit.dual_coef for fit in fits[0]]] * M
        duals = [list(own) for own in carried]
        bounds = np.full((M, len(targets)), -np.inf)
        if self.sample_weight_ is None:
            for row, kernel, own in zip(bounds, stack.values, duals, strict=True):
                row[:] = self._lower_bounds(kernel, own, targets)
        bounds[0, : len(fits[0])] = [fit.objective for fit in fits[0]]
        while True:
            totals = bounds.sum(axis=1)
            best = int(np.argmin(totals) if scores is None else np.argmax(scores))
            k = len(fits[best])
            if k == len(targets):
                break
            start = WarmStart(np.ones(1), duals[best][k])
            fit = self._alone(stack.values[best], targets[k], start)
            fits[best].append(fit)
            duals[best][k] = fit.dual_coef
            bounds[best, k] = fit.objective
        self.single_scores_ = scores
        self.single_objectives_ = totals
        for fit in fits[best]:
            warn_unless_converged(fit, self.tol)
        self._publish_best(fits[best], best, M)
        self.n_solves_ = sum(fit.solves for own in fits for fit in own)
        self._carry = duals

    def _lower_bounds(
        self,
        kernel: Array,
        duals: list[Array],
        targets: list[Array],
    ) -> list[float]:
        """Lower bounds on the objective of one kernel, one per target, from given duals."""
        found = []
        for dual, y in zip(duals, targets, strict=True):
            rest = self.C, self.loss_in_use, self.fit_intercept
            alone = Problem(y, *rest, cached(kernel[None]), self.penalty_in_use)
            a = alone.feasible(dual)
            found.append(alone.bound(a, np.array([a @ kernel @ a])).value)
        return found

    def _alone(self, kernel: Array, target: Array, start: WarmStart | None) -> Fit:
        return self._fit_one(kernel[None], target, start)

    def _inner_scores(self, stack: Any, y: Array) -> Array:
        """Mean score (M,) of every kernel alone over inner folds of the training rows.

        The kernels keep the scales of all training rows. Sample weights count in training and in
        the scores; rows of weight 0 are in no fold.
        """
        w = self.sample_weight_
        rows = np.arange(y.size) if w is None else np.flatnonzero(w)
        labels = y
        smallest = rows.size
        if isinstance(self, KernelClassifier):
            labels = self.classes_[y]
            smallest = int(np.unique(y[rows], return_counts=True)[1].min())
        parts = folds(self, labels[rows], max(2, min(N_FOLDS, smallest)), 0)
        scores = np.zeros((len(parts), stack.n_kernels))
        for row, fold in zip(scores, parts, strict=True):
            train, test = (rows[part] for part in fold)
            blocks = stack.block(test, train)
            kernels = stack.block(train, train)
            counts = (None, None) if w is None else (w[train], w[test])
            for m in range(stack.n_kernels):
                alone = self.copy_with("select", "objective")
                alone.sample_weight_ = counts[0]
                fits = [alone._alone(kernels[m], t, None) for t in self._targets(y[train])]
                alone._publish_best(fits, 0, 1)
                predicted = alone.predict_blocks(blocks[m : m + 1])
                row[m] = alone.path_score(predicted, labels[test], counts[1])
        means: Array = scores.mean(axis=0)
        return means

    def _publish_best(self, fits: list[Fit], best: int, M: int) -> None:
        weights = np.zeros(M)
        weights[best] = 1.0
        self._publish(*(replace(fit, weights=weights) for fit in fits))
        self.best_kernel_ = best


@dataclass(eq=False, repr=False)
class BestKernelClassifier(_BestKernel, KernelClassifier):
    """The single kernel that does best alone.

        min_m  min_{w, b}  C sum_i V(y_i, f(x_i)) + 1/2 ||w||^2,    f = <w, psi_m> + b

    Parameters
    ----------
    C : float, default 1.0
        Weight of the loss against the regulariser, > 0: larger values fit the training rows more
        closely.
    loss : str or Loss, default "hinge"
        How a wrong prediction is penalised: the name of a loss in ``LOSSES``, or an object of your
        own.
    select : str, default "objective"
        "objective" chooses the kernel whose own problem has the lowest objective: the best corner
        of ||theta||_1 <= 1, whose objective is never below that of lp-norm MKL at p = 1. "folds"
        chooses the kernel with the best mean score over five inner folds of the training rows.
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
    fit_intercept : bool, default True
        Whether the model has a free offset b.
    probability : bool, default False
        Whether probabilities are calibrated on held-out folds, so that ``predict_proba`` can be
        used.
    class_weight : dict, "balanced" or None, default None
        What C is multiplied by for the rows of each class, as in scikit-learn; None for 1.

    Attributes
    ----------
    best_kernel_ index of the kernel kept, weights_ (M,) one there and zero elsewhere,
    single_objectives_ (M,) every kernel's own objective, or a lower bound of it, which rules the
    kernel out where objectives choose, single_scores_ (M,) inner scores or None. The certificate is
    that of the kept kernel's own problem. With more than two classes one kernel serves all
    one-vs-rest problems, and objectives are summed over them.

    Source: end point of Kloft, Brefeld, Sonnenburg, Zien (2011), equation (16), at weights of a
    single one.
    """

    C: float = 1.0
    loss: str | Loss = "hinge"
    select: str = "objective"
    _: KW_ONLY
    probability: bool = False
    class_weight: Mapping[Any, float] | str | None = None


@dataclass(eq=False, repr=False)
class BestKernelRegressor(_BestKernel, KernelRegressor):
    """The single kernel that does best alone, for regression.

    Attributes as ``BestKernelClassifier``.

    Parameters
    ----------
    C : float, default 1.0
        Weight of the loss against the regulariser, > 0: larger values fit the training rows more
        closely.
    loss : str or Loss, default "squared"
        How a wrong prediction is penalised: the name of a loss in ``LOSSES``, or an object of your
        own.
    epsilon : float, default 0.1
        Half width of the tube of the epsilon-insensitive loss, in units of the target, >= 0.
    select : str, default "objective"
        The criterion: "objective", or "folds" for the score over inner folds.
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
    fit_intercept : bool, default True
        Whether the model has a free offset b.
    """

    C: float = 1.0
    loss: str | Loss = "squared"
    epsilon: float = 0.1
    select: str = "objective"


class _Aligned(_OnStacks):
    """One machine on the sum of the kernels, weighted in one step by ``rule``."""

    weighs_rows = False  # the weights of kernels know none of rows
    rule: str = "aligned"
    mix: float = 0.0

    fit = KernelEstimator.fit  # type: ignore[assignment]  # which takes no weights of rows

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("rule", self.rule, ALIGNMENTS)
        if not (is_finite_number(self.mix) and 0 <= self.mix < 1):
            raise ParameterError(f"mix is a number from 0 to below 1; got {self.mix!r}.")

    def _solve(self, stack: Any, y: Array, warm: Any) -> None:
        same = warm is not None and (warm.rule, warm.mix) == (self.rule, self.mix)
        super()._solve(stack, y, warm if same else None)

    def _fit_one(self, K: Any, y: Array, warm: WarmStart | None) -> Fit:
        """Solve the machine on the weighted kernels.

        Its lower bound does not hold for the weights, and is not published. A neighbour has the
        same kernels and the same target, and therefore the same weights.
        """
        if warm is not None:
            weights = warm.weights
        elif self.rule == "aligned":
            weights = aligned_weights(K.values, y)
        else:
            weights = margin_weights(K.values, y, float(self.mix))
        start = None if warm is None else replace(warm, weights=np.ones(weights.size))
        weighted = Dense(weights[:, None, None] * K.values)
        fit = super()._fit_one(weighted, y, start)
        history = tuple(replace(record, dual_objective=None) for record in fit.history)
        return replace(fit, weights=weights, dual_objective=None, dual_point=None, history=history)


@dataclass(eq=False, repr=False)
class AlignedMKLClassifier(_Aligned, KernelClassifier):
    """One-step weights, by centred alignment or by the widest margin, then one machine.

    Parameters
    ----------
    rule : str, default "aligned"
        "aligned" or "margin".
    C : float, default 1.0
        Weight of the loss against the regulariser, > 0: larger values fit the training rows more
        closely.
    loss : str or Loss, default "hinge"
        How a wrong prediction is penalised: the name of a loss in ``LOSSES``, or an object of your
        own.
    mix : float, default 0.2
        Parameter of the margin rule, from 0 (the margin alone) to below 1 (all rows count alike:
        weights by the distance of the class means).
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
    fit_intercept : bool, default True
        Whether the model has a free offset b.
    probability : bool, default False
        Whether probabilities are calibrated on held-out folds, so that ``predict_proba`` can be
        used.
    """

    rule: str = "aligned"
    C: float = 1.0
    loss: str | Loss = "hinge"
    mix: float = 0.2
    _: KW_ONLY
    probability: bool = False


@dataclass(eq=False, repr=False)
class AlignedMKLRegressor(_Aligned, KernelRegressor):
    """Weights by centred alignment with the target, then one machine.

    Attributes: weights_ (M,) non-negative with sum 1, and those of a fitted
    ``UniformMKLRegressor``, without a certificate.

    Parameters
    ----------
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
    tol : float, default 0.001
        Relative duality gap at which the solver stops, > 0.
    max_iter : int, default 500
        Most steps of the outer loop, from 1; a fit that stops there gives a
        ``NotConvergedWarning``.
    fit_intercept : bool, default True
        Whether the model has a free offset b.
    """

    C: float = 1.0
    loss: str | Loss = "squared"
    epsilon: float = 0.1


def aligned_weights(K: Array, y: Array) -> Array:
    """Weights (M,), non-negative with sum 1, of the combination best aligned with the target.

    ``K`` (M, n, n), ``y`` (n,); both are centred. Without any alignment the weights are equal.
    Cortes et al. (2012), Prop. 9: the direction is that of min_{v >= 0} v'Mv - 2 v'a with M_kl =
    <K_k, K_l>_F, a_k = y'K_k y.
    """
    from scipy.optimize import nnls  # a slow import, only needed here

    means = K.mean(axis=1)
    centred = K - means[:, None, :] - means[:, :, None] + means.mean(axis=1)[:, None, None]
    target = y - y.mean()
    gain = np.array([float(target @ gram @ target) for gram in centred])
    flat = centred.reshape(len(K), -1)
    values, vectors = np.linalg.eigh(flat @ flat.T)
    is_positive = values > 1e-12 * values[-1]
    roots = np.sqrt(values[is_positive])
    directions = vectors[:, is_positive].T
    solution, _ = nnls(roots[:, None] * directions, (directions @ gain) / roots)
    return _shares(solution)


def margin_weights(K: Array, y: Array, lam: float) -> Array:
    """Weights (M,), non-negative with sum 1, by the part of each kernel in the widest margin.

    The margin is that of the plain sum of the kernels (EasyMKL). ``K`` (M, n, n) with comparable
    traces; ``y`` (n,) of -1 and +1; ``lam`` from 0 to below 1.
    """
    signed = y * nearest_points(K.sum(axis=0), y, lam)
    return _shares(np.maximum(np.array([float(signed @ gram @ signed) for gram in K]), 0.0))


def nearest_points(total: Array, y: Array, lam: float) -> Array:
    """g (n,): the nearest points of the two convex hulls, shrunk towards the means.

    min_g (1 - lam) g'Y total Y g + lam ||g||^2,   g >= 0,  sum over either class 1

    The duals of a machine with squared hinge loss at C = (1 - lam) / lam are a multiple of them.
    """
    shift = max(lam / (1.0 - lam), _CLOSE * float(np.trace(total)) / y.size)
    task = MachineTask(y, 1.0 / shift, make_loss("squared_hinge"), True)
    sizes = np.abs(solve_machine(total, task, accuracy=_CLOSE).dual)
    return np.asarray(2.0 * sizes / sizes.sum())


def _shares(weights: Array) -> Array:
    total = float(weights.sum())
    return weights / total if total > 0 else np.full(weights.size, 1.0 / weights.size)
