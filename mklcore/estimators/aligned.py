"""Kernel weights in one step, without a joint problem: how well each kernel fits the target, then one machine on the
weighted sum.

    aligned   mu = argmax { <sum_m mu_m K_m, yy'> / ||sum_m mu_m K_m||_F :  mu >= 0 },   every K_m centred
    margin    mu_m = g'Y K_m Y g,   g = argmin { (1 - lam) g'Y (sum_m K_m) Y g + lam ||g||^2 :  g >= 0, sums 1 in either
              class }

Baselines that cost little: the first asks for a non-negative least-squares problem in M unknowns, the second (EasyMKL)
for one small quadratic problem in n. Nothing says how far the weights are from those of any joint problem, so no
certificate is published. For more than two classes one against the rest; for numbers the target of the alignment is y
itself, and there is no margin.

Source: Cortes, Mohri and Rostamizadeh (2012), "Algorithms for learning kernels based on centered alignment",
Proposition 9; Aiolli and Donini (2015), "EasyMKL: a scalable multiple kernel learning algorithm".
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from mklcore.arrays import Array
from mklcore.errors import ParameterError
from mklcore.estimators.base import KernelSettings
from mklcore.estimators.lp import _LpClassifier, _LpRegressor, _Uniform
from mklcore.kernels.operators import Capability, Dense
from mklcore.parameters import check_choice
from mklcore.problem.driver import Fit
from mklcore.problem.losses import Loss
from mklcore.problem.problem import WarmStart

ALIGNMENTS = ("aligned", "margin")  # how weights are given in one step
_STEPS, _CLOSE = 20_000, 1e-9  # of the pairwise descent of the margin, and how close it comes


class _Aligned(_Uniform):
    """One machine on the sum of the kernels, weighted in one step."""

    requires: ClassVar[frozenset[Capability]] = frozenset({Capability.DENSE})

    def fit(self, X: Any, y: Any = None) -> Self:  # type: ignore[override]  # the weights of kernels know none of rows
        """Fit on a table X (n, d) or, with ``kernels="precomputed"``, on a stack (M, n, n), and a target y (n,)."""
        return super().fit(X, y)

    def _forms(self, n: int) -> tuple[str, ...]:
        return ("dense",)

    def _weights(self, K: Array, target: Array) -> Array:
        return aligned_weights(K, target)

    @property
    def _way(self) -> tuple[Any, ...]:
        """What the weights depend on beside kernels and target."""
        return ()

    def _solve(self, stack: Any, y: Array, warm: Any) -> None:
        super()._solve(stack, y, warm if warm is not None and warm._way == self._way else None)  # type: ignore[safe-super]  # of the class beside this mixin

    def _fit_one(self, stack: Any, y: Array, warm: WarmStart | None, C: float | None = None) -> Fit:
        """The machine on the weighted kernels, whose bound says nothing of the weights and is not passed on.

        A neighbour has the same kernels and target, so its weights are these.
        """
        weights = self._weights(stack.values, y) if warm is None else warm.weights
        start = None if warm is None else replace(warm, weights=np.ones(weights.size))
        fit = super()._fit_one(Dense(weights[:, None, None] * stack.values), y, start, C)
        history = tuple(replace(record, dual_objective=None, gap=None, relative_gap=None) for record in fit.history)
        return replace(fit, weights=weights, dual_objective=None, dual_point=None, history=history)


@dataclass(eq=False, repr=False)
class AlignedMKLClassifier(_Aligned, _LpClassifier, KernelSettings):
    """Weights by centred alignment ("aligned") or by the widest margin of all kernels together ("margin"), then one
    machine.

    Parameters
    ----------
    rule : str, default "aligned"
        "aligned" or "margin".
    C : float, default 1.0
        Weight of the loss against the regulariser, > 0: larger values fit the training rows more closely.
    loss : str or Loss, default "hinge"
        How a wrong prediction is penalised: the name of a loss in ``LOSSES``, or an object of your own.
    mix : float, default 0.2
        Of the margin rule, from 0 (the margin alone) to below 1 (all rows alike: weights by the distance of the class
        means).
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
    """

    rule: str = "aligned"
    C: float = 1.0
    loss: str | Loss = "hinge"
    mix: float = 0.2
    _: KW_ONLY
    fit_intercept: bool = True
    tol: float = 1e-3
    max_iter: int = 500
    probability: bool = False

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("rule", self.rule, ALIGNMENTS)
        if not (isinstance(self.mix, (int, float, np.number)) and 0 <= self.mix < 1):
            raise ParameterError(f"mix stands between margin and means, from 0 to below 1; got {self.mix!r}.")

    @property
    def _way(self) -> tuple[Any, ...]:
        return self.rule, self.mix

    def _weights(self, K: Array, target: Array) -> Array:
        return aligned_weights(K, target) if self.rule == "aligned" else margin_weights(K, target, float(self.mix))


@dataclass(eq=False, repr=False)
class AlignedMKLRegressor(_Aligned, _LpRegressor, KernelSettings):
    """Weights by centred alignment with the target, then one machine. Parameters as ``UniformMKLRegressor``.

    Attributes: weights_ (M,) non-negative with sum 1, and those of a fitted ``UniformMKLRegressor``, without a
    certificate.

    Parameters
    ----------
    C : float, default 1.0
        Weight of the loss against the regulariser, > 0: larger values fit the training rows more closely.
    loss : str or Loss, default "squared"
        How a wrong prediction is penalised: the name of a loss in ``LOSSES``, or an object of your own.
    epsilon : float, default 0.1
        Half width of the tube of the epsilon-insensitive loss, in units of the target, >= 0.
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
    _: KW_ONLY
    fit_intercept: bool = True
    tol: float = 1e-3
    max_iter: int = 500


def aligned_weights(K: Array, y: Array) -> Array:
    """Weights (M,), non-negative with sum 1, of the combination best aligned with yy', everything centred.

    ``K`` (M, n, n), ``y`` (n,). Equal weights where no kernel is aligned with the target at all. Cortes et al. (2012),
    Prop. 9: the direction is that of min_{v >= 0} v'Mv - 2 v'a with M_kl = <K_k, K_l>_F, a_k = y'K_k y.
    """
    from scipy.optimize import nnls

    means = K.mean(axis=1)
    centred = K - means[:, None, :] - means[:, :, None] + means.mean(axis=1)[:, None, None]
    target = y - y.mean()
    gain = np.array([float(target @ gram @ target) for gram in centred])
    flat = centred.reshape(len(K), -1)
    values, vectors = np.linalg.eigh(flat @ flat.T)
    kept = values > 1e-12 * values[-1]
    root = np.sqrt(values[kept])[:, None] * vectors[:, kept].T
    return _shares(nnls(root, (vectors[:, kept].T @ gain) / np.sqrt(values[kept]))[0])


def margin_weights(K: Array, y: Array, lam: float) -> Array:
    """Weights (M,), non-negative with sum 1, by what each kernel adds to the widest margin of their plain sum
    (EasyMKL).

    ``K`` (M, n, n) with traces that can be compared; ``y`` (n,) of -1 and +1; ``lam`` from 0 to below 1.
    """
    signed = y * nearest_points(K.sum(axis=0), y, lam)
    return _shares(np.maximum(np.array([float(signed @ gram @ signed) for gram in K]), 0.0))


def nearest_points(total: Array, y: Array, lam: float) -> Array:
    """g (n,): the nearest points of the two convex hulls, shrunk towards the means, by steps between pairs of rows of a
    class.

    min_g (1 - lam) g'Y total Y g + lam ||g||^2,   g >= 0,  sum over either class 1
    """
    Q = (1.0 - lam) * (y[:, None] * total * y) + lam * np.eye(y.size)
    g = np.where(y > 0, 1.0 / (y > 0).sum(), 1.0 / (y < 0).sum())
    slope, scale = Q @ g, max(float(np.abs(Q).max()), 1e-300)
    for _ in range(_STEPS):
        worst, pair = 0.0, None
        for side in (y > 0, y < 0):
            rows = np.flatnonzero(side)
            held = rows[g[rows] > 0]
            down, up = held[np.argmax(slope[held])], rows[np.argmin(slope[rows])]
            if slope[down] - slope[up] > worst:
                worst, pair = float(slope[down] - slope[up]), (down, up)
        if pair is None or worst <= _CLOSE * scale:
            break
        down, up = pair
        curvature = Q[down, down] + Q[up, up] - 2.0 * Q[down, up]
        move = min(g[down], worst / curvature) if curvature > 0 else g[down]
        g[down] -= move
        g[up] += move
        slope += move * (Q[:, up] - Q[:, down])
    return np.asarray(g)


def _shares(weights: Array) -> Array:
    total = float(weights.sum())
    return weights / total if total > 0 else np.full(weights.size, 1.0 / weights.size)
