"""The best single kernel as scikit-learn estimators: what a weighting of many kernels has to beat, beside the plain
sum.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from mklcore.arrays import Array
from mklcore.estimators.base import KernelSettings
from mklcore.estimators.lp import _LpClassifier, _LpRegressor, _Uniform
from mklcore.kernels.operators import Capability
from mklcore.parameters import check_choice
from mklcore.paths.splitters import folds
from mklcore.problem.driver import Fit, warn_unless_converged
from mklcore.problem.losses import Loss
from mklcore.problem.problem import WarmStart
from mklcore.problem.proof import dual_bound

N_FOLDS = 5
SELECTIONS = ("objective", "folds")  # how the best single kernel is chosen


class _BestKernel(_Uniform):
    """One machine per kernel; the kernel with the lowest objective, or the best score over inner folds, is kept."""

    requires: ClassVar[frozenset[Capability]] = frozenset({Capability.DENSE})
    p: ClassVar[float] = 1.0  # of the norm whose corners single kernels are, by which a path is scaled

    single_objectives_: Array
    single_scores_: Array | None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("select", self.select, SELECTIONS)

    def _forms(self, n: int) -> tuple[str, ...]:
        return ("dense",)

    def _solve(self, stack: Any, y: Array, warm: Any) -> None:
        """Kernels in the order of what duals prove of them: those of a neighbour, or of the first kernel alone.

        One that is proved to be worse than another is not solved.
        """
        targets, M, loss = self._targets(y), stack.n_kernels, self.loss_in_use
        self.single_scores_ = self._inner_scores(stack, y) if self.select == "folds" else None
        singles: dict[int, list[Fit]] = {}
        carried, C = getattr(warm, "_carry", None), self.C if warm is None else warm.C
        if carried is None:
            singles[0] = [self._alone(stack.values[0], target, None) for target in targets]
            carried, C = [[fit.dual_coef for fit in singles[0]]] * M, self.C
        starts = [[WarmStart(np.ones(1), dual, C) for dual in duals] for duals in carried]
        objectives = np.full(M, -np.inf)
        if getattr(self, "sample_weight_", None) is None:
            objectives = np.array([self._proved(*one, targets) for one in zip(stack.values, starts, strict=True)])
        for m in np.argsort(objectives, kind="stable").tolist():
            if self.single_scores_ is None and singles and objectives[m] > min(objectives[list(singles)]):
                break
            known = singles.get(m)
            singles[m] = known or [self._alone(stack.values[m], *one) for one in zip(targets, starts[m], strict=True)]
            objectives[m] = sum(fit.objective for fit in singles[m])
        self.single_objectives_ = objectives
        best = int(np.argmin(objectives) if self.single_scores_ is None else np.argmax(self.single_scores_))
        for fit in singles[best]:
            warn_unless_converged(fit, self.tol)
        self._publish_best(singles[best], best, M)
        self.n_solves_ = sum(fit.solves for fits in singles.values() for fit in fits)
        self._carry = tuple(
            tuple(fit.dual_coef for fit in singles[m])
            if m in singles else tuple(one.dual_for(self.C, loss) for one in starts[m])
            for m in range(M)
        )  # fmt: skip

    def _proved(self, kernel: Array, starts: list[WarmStart], targets: list[Array]) -> float:
        """A lower bound on the objective of one kernel, from the duals of a neighbour."""
        found = 0.0
        for start, y in zip(starts, targets, strict=True):
            a = start.dual_for(self.C, self.loss_in_use)
            found += dual_bound(self.loss_in_use, self.penalty_in_use, a, np.array([a @ kernel @ a]), y, self.C).value
        return found

    def _alone(self, kernel: Array, target: Array, start: WarmStart | None) -> Fit:
        return self._solved(kernel[None], target, self.C, "wrapper", start)

    def _inner_scores(self, stack: Any, y: Array) -> Array:
        """Mean score (M,) of every kernel alone over inner folds; scales stay those of all training rows.

        Sample weights hold in training and in the scores; rows of weight 0 are in no fold.
        """
        w = getattr(self, "sample_weight_", None)
        rows = np.arange(y.size) if w is None else np.flatnonzero(w)
        labels = self.classes_[y] if hasattr(self, "classes_") else y
        smallest = int(np.unique(y[rows], return_counts=True)[1].min()) if hasattr(self, "classes_") else rows.size
        parts = folds(self, labels[rows], max(2, min(N_FOLDS, smallest)), 0)
        scores = np.zeros((len(parts), stack.n_kernels))
        for row, fold in zip(scores, parts, strict=True):
            train, test = (rows[part] for part in fold)
            blocks, kernels = stack.block(test, train), stack.block(train, train)
            for m in range(stack.n_kernels):
                alone = self.copy_with("select", "objective")
                alone.sample_weight_ = None if w is None else w[train]
                alone._publish_best([alone._alone(kernels[m], t, None) for t in self._targets(y[train])], 0, 1)
                predicted = alone.predict_blocks(blocks[m : m + 1])
                row[m] = alone.path_score(predicted, labels[test], None if w is None else w[test])
        means: Array = scores.mean(axis=0)
        return means

    def _publish_best(self, fits: list[Fit], best: int, M: int) -> None:
        weights = np.zeros(M)
        weights[best] = 1.0
        if len(fits) == 1:
            self._publish(fits[0])
            self.weights_ = weights
        else:
            self._publish_several(fits)
            self.weights_ = np.tile(weights, (len(fits), 1))
        self.best_kernel_ = best


@dataclass(eq=False, repr=False)
class BestKernelClassifier(_BestKernel, _LpClassifier, KernelSettings):
    """The single kernel that does best alone, with the machine and the C that the weighted kernels have.

        min_m  min_{w, b}  C sum_i V(y_i, f(x_i)) + 1/2 ||w||^2,    f = <w, psi_m> + b

    Parameters
    ----------
    C : float, default 1.0
        Weight of the loss against the regulariser, > 0: larger values fit the training rows more closely.
    loss : str or Loss, default "hinge"
        How a wrong prediction is penalised: the name of a loss in ``LOSSES``, or an object of your own.
    select : str, default "objective"
        "objective", the kernel whose own problem has the lowest objective, which makes this the best corner of
        ||theta||_1 <= 1 and never better in objective than lp-norm MKL at p = 1; or "folds", the best mean score over
        five inner folds of the training rows.
    kernels : KernelDictionary, sequence of KernelSpec, "precomputed" or None, default None
        The kernels to combine; "precomputed" where ``fit`` gets their Gram matrices. None for one RBF kernel per
        bandwidth of a grid and one linear kernel.
    normalise : str or None, default "auto"
        How every kernel is scaled on the training rows: "multiplicative", "spherical", "trace", "diag", None, or "auto"
        for the usual way of the method.
    center : bool, default False
        Whether the kernels are centred in their feature spaces on the training rows.
    random_state : int or None, default None
        Seed of everything that is drawn at random; a number gives the same fit each time.
    callback : callable or None, default None
        Called after every step with a record of it; raising ``CancelledError`` ends the fit.
    fit_intercept : bool, default True
        Whether the model has a free offset b.
    tol : float, default 0.001
        Relative duality gap at which the solver stops, > 0.
    max_iter : int, default 500
        Most steps of the outer loop, from 1; a fit that stops there gives a ``NotConvergedWarning``.
    probability : bool, default False
        Whether probabilities are calibrated on held-out folds, so that ``predict_proba`` can be used.

    Attributes
    ----------
    best_kernel_ index of the kernel kept, weights_ (M,) one there and zero elsewhere, single_objectives_ (M,) every
    kernel's own objective, or a lower bound of it above the best, which rules the kernel out, single_scores_ (M,) inner
    scores or None. The certificate is that of the kept kernel's own problem. With more than two classes one kernel
    serves all one-vs-rest problems, and objectives are summed over them.

    Source: end point of Kloft, Brefeld, Sonnenburg, Zien (2011), equation (16), at weights of a single one.
    """

    C: float = 1.0
    loss: str | Loss = "hinge"
    select: str = "objective"
    _: KW_ONLY
    fit_intercept: bool = True
    tol: float = 1e-3
    max_iter: int = 500
    probability: bool = False


@dataclass(eq=False, repr=False)
class BestKernelRegressor(_BestKernel, _LpRegressor, KernelSettings):
    """The single kernel that does best alone, for regression.

    Parameters as ``BestKernelClassifier`` and ``LpMKLRegressor``.

    Parameters
    ----------
    C : float, default 1.0
        Weight of the loss against the regulariser, > 0: larger values fit the training rows more closely.
    loss : str or Loss, default "squared"
        How a wrong prediction is penalised: the name of a loss in ``LOSSES``, or an object of your own.
    epsilon : float, default 0.1
        Half width of the tube of the epsilon-insensitive loss, in units of the target, >= 0.
    select : str, default "objective"
        What decides: "objective", or "folds" for the score over inner folds.
    kernels : KernelDictionary, sequence of KernelSpec, "precomputed" or None, default None
        The kernels to combine; "precomputed" where ``fit`` gets their Gram matrices. None for one RBF kernel per
        bandwidth of a grid and one linear kernel.
    normalise : str or None, default "auto"
        How every kernel is scaled on the training rows: "multiplicative", "spherical", "trace", "diag", None, or "auto"
        for the usual way of the method.
    center : bool, default False
        Whether the kernels are centred in their feature spaces on the training rows.
    random_state : int or None, default None
        Seed of everything that is drawn at random; a number gives the same fit each time.
    callback : callable or None, default None
        Called after every step with a record of it; raising ``CancelledError`` ends the fit.
    fit_intercept : bool, default True
        Whether the model has a free offset b.
    tol : float, default 0.001
        Relative duality gap at which the solver stops, > 0.
    max_iter : int, default 500
        Most steps of the outer loop, from 1; a fit that stops there gives a ``NotConvergedWarning``.
    """

    C: float = 1.0
    loss: str | Loss = "squared"
    epsilon: float = 0.1
    select: str = "objective"
    _: KW_ONLY
    fit_intercept: bool = True
    tol: float = 1e-3
    max_iter: int = 500
