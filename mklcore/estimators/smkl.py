"""Sparse MKL by group selection terms as scikit-learn estimators: few kernels, and no certificate that they are the
best few.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from mklcore.arrays import Array
from mklcore.errors import ParameterError
from mklcore.estimators.base import (
    KernelClassifier,
    KernelEstimator,
    KernelRegressor,
    KernelSettings,
    signs,
    weighted_blocks,
)
from mklcore.estimators.copies import without_copies
from mklcore.kernels.functions import Linear
from mklcore.kernels.grams import GramStack
from mklcore.kernels.operators import KernelOperator
from mklcore.lp.schedule import MOST_SUMMED
from mklcore.parameters import check_choice, check_whole
from mklcore.problem.group_terms import GroupTerm, as_eta, make_terms
from mklcore.problem.losses import Loss
from mklcore.sparse.smkl import TOL_MODES, Search, fit_selection, starts

_TIE_BREAK = 1e-9  # the most that margins may add to a whole number of votes


@dataclass(kw_only=True, eq=False, repr=False)
class _SMKLBase(KernelEstimator):
    """min g(w) + C sum_i V(f(x_i), y_i) with a group selection term g, from equal weights."""

    default_normalise = "trace"

    tol: float = 1e-3
    tol_mode: str = "relative"
    init_jitter: float = 0.0
    n_starts: int = 1
    keep_duplicates: bool = False
    fit_intercept: bool = True
    max_iter: int = 500

    def _check_parameters(self) -> None:
        self._positive("C", "tol")
        self.loss_in_use  # noqa: B018  the loss checks itself
        check_choice("tol_mode", self.tol_mode, TOL_MODES)
        for name in ("max_iter", "n_starts"):
            check_whole(name, getattr(self, name))
        jitter = self.init_jitter
        if not (isinstance(jitter, (int, float, np.number)) and 0 <= jitter < 1):
            raise ParameterError(f"init_jitter is a share of the first weights, from 0 to below 1; got {jitter!r}.")
        make_terms(self.terms, eta=self.eta, log_epsilon=self.log_epsilon, mf_power=self.mf_power)

    def _penalty(self, stack: GramStack) -> GroupTerm:
        eta = group_sizes(stack) if self.eta is None else self.eta
        return make_terms(self.terms, eta=eta, log_epsilon=self.log_epsilon, mf_power=self.mf_power)

    def _forms(self, n: int) -> tuple[str, ...]:
        return ("dense", "rows") if n <= MOST_SUMMED and not self.center else ("dense",)

    def _competing(self, stack: GramStack) -> Array:
        """Which kernels take part, (M,) of bool. The algorithm to the letter takes them all."""
        keep = self.keep_duplicates or self.tol_mode == "absolute"
        prices = group_sizes(stack) if self.eta is None else as_eta(self.eta)
        if np.size(prices) not in (1, stack.n_kernels):
            raise ParameterError(
                f"eta holds {np.size(prices)} group weights, but there are {stack.n_kernels} kernels; give one per "
                f"kernel, or one "
                "number."
            )
        allowed, self.notes_ = without_copies(stack, keep, prices)
        return allowed

    def _search(
        self, K: KernelOperator, y: Array, penalty: GroupTerm, allowed: Array, rng: np.random.RandomState
    ) -> Search:
        return fit_selection(
            K,
            y,
            self.C,
            self.loss_in_use,
            penalty,
            self.fit_intercept,
            tol=self.tol,
            tol_mode=self.tol_mode,
            max_iter=self.max_iter,
            first_weights=starts(K.n_kernels, self.n_starts, float(self.init_jitter), rng, allowed),
            allowed=allowed,
            callback=self.callback,
        )

    def _solve(self, stack: GramStack, y: Array, warm: Any) -> None:
        """``warm`` is not used: zero weights absorb, so every point of a path starts from equal weights."""
        penalty = self._penalty(stack)
        competing = self._competing(stack)
        found = self._search(stack, y, penalty, competing, check_random_state(self.random_state))
        self._publish(found.fit)
        self.start_objectives_, self.start_kernels_ = found.objectives, found.kernels
        self.start_spread_ = float(np.nanmax(found.objectives) - np.nanmin(found.objectives))

    def _remember_kernels(self, stack: Any) -> None:
        super()._remember_kernels(stack)
        table = np.atleast_2d(self.weights_) > 0.0
        self.selected_ = np.flatnonzero(table.any(axis=0))
        self.n_kernels_ = int(self.selected_.size)
        self.mean_kernels_ = float(table.sum(axis=1).mean())

    def _repr_html_inner(self) -> str:
        text = super()._repr_html_inner()
        if not hasattr(self, "start_spread_"):
            return text
        if make_terms(self.terms, log_epsilon=self.log_epsilon, mf_power=self.mf_power).is_convex:
            return f"{text}<p>The price is convex: every start ends in the same optimum.</p>"
        spread = f", over which the objective spreads by {np.max(self.start_spread_):.3g}" if self.n_starts > 1 else ""
        starts = f"{self.n_starts} start{'s' if self.n_starts > 1 else ''}"
        return f"{text}<p>A local minimum, the best of {starts}{spread}; other starts may keep other kernels.</p>"

    @property
    def coef_(self) -> Array:
        """(d,) or (n_pairs, d): coefficients of the (standardised) columns, where every kernel in use is linear."""
        transform = getattr(self, "_map", None)
        if transform is None or transform.center or transform.normalise == "spherical":
            raise AttributeError("coef_ needs a fit on a table with kernels that are neither centred nor spherical.")
        if not all(isinstance(transform.specs[m], Linear) for m in self.selected_):
            raise AttributeError("coef_ needs linear kernels only; another kernel is in use.")
        weights, duals = np.atleast_2d(self.weights_), np.atleast_2d(self.dual_coef_)
        coefficients = np.zeros((len(weights), transform.rows.shape[1]))
        for m in self.selected_:
            columns = list(transform.specs[m].features)
            share = weights[:, m, None] / transform.scales[m]
            coefficients[:, columns] += share * (duals @ transform.rows[:, columns])
        return coefficients if np.ndim(self.weights_) == 2 else coefficients[0]


class _SMKLOfTwo(_SMKLBase, KernelClassifier):
    def _solve(self, stack: GramStack, y: Array, warm: Any) -> None:
        self.pairs_ = tuple(combinations(range(self.classes_.size), 2))
        if len(self.pairs_) == 1:
            super()._solve(stack, signs(y, 1), warm)
            return
        penalty, rng = self._penalty(stack), check_random_state(self.random_state)
        competing = self._competing(stack)
        found, duals = [], np.zeros((len(self.pairs_), y.size))
        for dual, pair in zip(duals, self.pairs_, strict=True):
            rows = np.flatnonzero(np.isin(y, pair))
            found.append(self._search(stack.take(rows), signs(y[rows], pair[1]), penalty, competing, rng))
            dual[rows] = found[-1].fit.dual_coef
        self._publish_pairs(found, duals)

    def _publish_pairs(self, found: list[Search], duals: Array) -> None:
        self._publish_several([search.fit for search in found])
        self.weights_, self.dual_coef_ = np.array([search.fit.weights for search in found]), duals
        self.start_objectives_ = np.array([search.objectives for search in found])
        self.start_kernels_ = np.array([search.kernels for search in found])
        self.start_spread_ = np.nanmax(self.start_objectives_, axis=1) - np.nanmin(self.start_objectives_, axis=1)

    def pair_decisions(self, X: Any) -> Array:
        """(n_new, n_pairs) signed scores of the binary machines; positive for the second class of ``pairs_``."""
        scores: Array = weighted_blocks(self._blocks(X), *self._machines()) + self.intercept_
        return scores

    def _machines(self) -> tuple[Array, Array]:
        return np.atleast_2d(self.weights_), np.atleast_2d(self._coefficients)

    def _joined(self, scores: Array) -> Array:
        if len(self.pairs_) == 1:
            return super()._joined(scores)
        votes = np.zeros((len(scores), self.classes_.size))
        for (first, second), score in zip(self.pairs_, (scores + self.intercept_).T, strict=True):
            wins = score > 0
            margin = _TIE_BREAK / self.classes_.size * score / (1.0 + np.abs(score))
            votes[:, second] += wins + margin
            votes[:, first] += ~wins - margin
        return votes


def group_sizes(stack: GramStack) -> Any:
    """The group weights of ``eta=None``: sqrt(d_k) for explicit linear groups, 1 for every other kernel.

    A linear kernel on d_k columns that was not normalised (``normalise=None``) is the group of these columns itself,
    and larger groups are charged more. Normalised kernels, other functions and precomputed stacks count 1.
    """
    if stack.specs is None or stack.normalise is not None:
        return 1.0
    return tuple(float(np.sqrt(len(s.settled))) if isinstance(s, Linear) else 1.0 for s in stack.specs)


@dataclass(eq=False, repr=False)
class SMKLClassifier(_SMKLOfTwo, KernelSettings):
    """Sparse MKL for two classes, or one-vs-one with kernels of its own for every pair of classes.

        min_{w, b}  g(w) + C sum_i V(y_i, f(x_i)),    f = sum_k <w_k, Phi_k> + b,   g concave in r_k = ||w_k||^2

    Parameters
    ----------
    terms : str or Term, default "log+gl"
        G, a sum of "log", "gl" (group lasso), "mf" (M-FOCUSS), "mkl" (squared group lasso), "mcp" and "scad" (prices
        that stop rising, beside the machine's 1/2 ||w||^2); or a term object.
    C : float, default 1.0
        Cost of one unit of loss, > 0; kernels of trace 1 often need more than 1.
    loss : str or Loss, default "hinge"
        "hinge", "logistic" or "squared" (least-squares machine with an intercept, ridge without).
    eta : float or None, default None
        Group weights: a number, one per kernel, or None: 1, and sqrt(d_k) for explicit linear groups, that is linear
        kernels with ``normalise=None`` such as ``KernelDictionary.per_group(Linear(), groups)``.
    log_epsilon : float, default 1e-06
        The number added inside the logarithm, above 0.
    mf_power : float, default 0.5
        The power of the block norms, above 0 and at most 1.
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
    tol : float, default 0.001
        Stop when the l1 change of the kernel weights is at most tol, "relative" to their sum or "absolute". "absolute"
        is the printed algorithm to the letter. With "relative" exact copies of a kernel are left out first, what has
        settled with log or mf terms is shaken and followed down again for as long as the objective falls, and the
        answer is no kernel where all of them vanish and the objective without any is no higher.
    tol_mode : str, default "relative"
        Stop when the l1 change of the kernel weights is at most tol, "relative" to their sum or "absolute". "absolute"
        is the printed algorithm to the letter. With "relative" exact copies of a kernel are left out first, what has
        settled with log or mf terms is shaken and followed down again for as long as the objective falls, and the
        answer is no kernel where all of them vanish and the objective without any is no higher.
    init_jitter : float, default 0.0
        Relative random change of the equal first weights.
    n_starts : int, default 1
        Further starts from random weights; the smallest objective is kept, ``start_objectives_`` and ``start_kernels_``
        tell where each ended.
    keep_duplicates : bool, default False
        Let exact copies of a kernel compete; by default only the first of them does.
    fit_intercept : bool, default True
        Whether the model has a free offset b.
    max_iter : int, default 500
        Most steps of the outer loop, from 1; a fit that stops there gives a ``NotConvergedWarning``.
    probability : bool, default False
        Whether probabilities are calibrated on held-out folds, so that ``predict_proba`` can be used.

    Attributes
    ----------
    weights_ (M,), dual_coef_ (n,) signed, intercept_, objective_ (after pruning and solving once more), history_ (the
    objective at every step), status_, n_iter_, n_kernels_ (used by any pair), mean_kernels_ (per machine), selected_,
    kernel_names_, notes_ (which copies were left out),
    pairs_ (indices into classes_, the second is the positive one), start_objectives_, start_kernels_, start_spread_,
    coef_ (linear kernels only). dual_objective_, dual_gap_ and relative_gap_ are None: with log or mf terms the answer
    is a local minimum. With more than two classes weights_ is (n_pairs, M), dual_coef_ (n_pairs, n) and zero outside
    the pair, intercept_ and objective_ (n_pairs,); ``decision_function`` counts votes, and margins only break ties.

    Source: Subrahmanya and Shin (2010), Algorithm 2.
    """

    terms: str | GroupTerm = "log+gl"
    C: float = 1.0
    loss: str | Loss = "hinge"
    eta: float | None = None
    log_epsilon: float = 1e-6
    mf_power: float = 0.5
    _: KW_ONLY
    probability: bool = False


@dataclass(eq=False, repr=False)
class SMKLRegressor(_SMKLBase, KernelRegressor, KernelSettings):
    """Sparse MKL for regression: kernel ridge or support vector regression that keeps few kernels.

    ``loss`` is "squared" or "epsilon_insensitive" with the tube ``epsilon``, in units of the target. Everything else as
    in ``SMKLClassifier``.

    Parameters
    ----------
    terms : str or Term, default "log+gl"
        Price of the kernel norms: names of terms with + between, such as "log+gl", or an object.
    C : float, default 1.0
        Weight of the loss against the regulariser, > 0: larger values fit the training rows more closely.
    loss : str or Loss, default "squared"
        How a wrong prediction is penalised: the name of a loss in ``LOSSES``, or an object of your own.
    epsilon : float, default 0.1
        Half width of the tube of the epsilon-insensitive loss, in units of the target, >= 0.
    eta : float or None, default None
        Price of every kernel; None for the usual prices.
    log_epsilon : float, default 1e-06
        Floor under the logarithm, > 0.
    mf_power : float, default 0.5
        Power of the M-FOCUSS term, in (0, 1].
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
    tol : float, default 0.001
        Relative duality gap at which the solver stops, > 0.
    tol_mode : str, default "relative"
        Whether the change of the weights is "relative" or "absolute".
    init_jitter : float, default 0.0
        Size of the random change of the starting weights.
    n_starts : int, default 1
        Number of starts; the best local minimum is kept.
    keep_duplicates : bool, default False
        Whether exact copies of a kernel compete; without it only the first one can enter.
    fit_intercept : bool, default True
        Whether the model has a free offset b.
    max_iter : int, default 500
        Most steps of the outer loop, from 1; a fit that stops there gives a ``NotConvergedWarning``.

    References
    ----------
    Subrahmanya and Shin (2010), Algorithm 2.
    """

    terms: str | GroupTerm = "log+gl"
    C: float = 1.0
    loss: str | Loss = "squared"
    epsilon: float = 0.1
    eta: float | None = None
    log_epsilon: float = 1e-6
    mf_power: float = 0.5
