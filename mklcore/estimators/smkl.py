"""Sparse MKL by group selection terms as scikit-learn estimators: few kernels, local minima.

The fitted kernels come without a certificate that no other choice is better.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from mklcore.arrays import Array, Indices
from mklcore.errors import DataError, ParameterError
from mklcore.estimators.base import KernelEstimator
from mklcore.estimators.targets import KernelClassifier, KernelRegressor, signs
from mklcore.estimators.training_table import KernelSettings
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.functions import RBF, Linear
from mklcore.kernels.grams import GramStack
from mklcore.lp.schedule import MOST_SUMMED
from mklcore.parameters import check_choice, check_whole, is_finite_number
from mklcore.problem.driver import run, warn_unless_converged
from mklcore.problem.losses import Loss
from mklcore.problem.penalties import GroupTerm, as_eta, check_eta, make_terms
from mklcore.problem.solution import MachineTask
from mklcore.sparse.copies import without_copies
from mklcore.sparse.smkl import TOL_MODES, FeatureScaling, fit_selection, starts

_NO_SCALE = 1e100  # the divisor of a column whose scale is zero
_TIE_BREAK = 1e-9  # the most that margins may add to a whole number of votes


class _Selection(KernelEstimator):
    """An estimator whose kernels, or columns, are selected by a sum of terms."""

    def term(self, eta: Any = None) -> GroupTerm:
        """The sum of terms, with the group weights ``eta`` (None: 1 for every group)."""
        return make_terms(self.terms, eta=eta, log_epsilon=self.log_epsilon, mf_power=self.mf_power)


@dataclass(kw_only=True, eq=False, repr=False)
class _SMKLBase(KernelSettings, _Selection):
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
        super()._check_parameters()
        check_choice("tol_mode", self.tol_mode, TOL_MODES)
        check_whole("n_starts", self.n_starts)
        jitter = self.init_jitter
        if not (is_finite_number(jitter) and 0 <= jitter < 1):
            raise ParameterError(
                f"init_jitter is a share of the first weights, from 0 to below 1; got {jitter!r}."
            )
        self.term(self.eta)

    def _penalty(self, stack: GramStack) -> GroupTerm:
        return self.term(group_sizes(stack) if self.eta is None else self.eta)

    def _forms(self, n: int) -> tuple[str, ...]:
        can_use_rows = n <= MOST_SUMMED and not self.center
        return ("dense", "rows") if can_use_rows else ("dense",)

    def _competing(self, stack: GramStack) -> Array:
        """The kernels that compete, (M,) of bool; the algorithm as printed uses all of them."""
        keep = self.keep_duplicates or self.tol_mode == "absolute"
        eta = group_sizes(stack) if self.eta is None else as_eta(self.eta)
        check_eta(eta, stack.n_kernels)
        allowed, self.notes_ = without_copies(stack, keep, eta)
        return allowed

    def _problems(self, y: Array) -> list[tuple[Any, Array, str]]:
        """The rows, the target and the name of every problem."""
        return [(slice(None), y, "")]

    def _solve(self, stack: GramStack, y: Array, warm: Any) -> None:
        """Solve from equal weights; ``warm`` is not used, because a zero weight stays zero."""
        penalty = self._penalty(stack)
        allowed = self._competing(stack)
        rng = check_random_state(self.random_state)
        jitter = float(self.init_jitter)
        searches = []
        fits = []
        for rows, target, pair in self._problems(y):
            search = fit_selection(
                stack.take(rows) if pair else stack,
                target,
                self.C,
                self.loss_in_use,
                penalty,
                self.fit_intercept,
                tol=self.tol,
                tol_mode=self.tol_mode,
                max_iter=self.max_iter,
                first_weights=starts(stack.n_kernels, self.n_starts, jitter, rng, allowed),
                allowed=allowed,
                callback=self.callback,
            )
            dual = np.zeros(y.size)
            dual[rows] = search.fit.dual_coef
            fits.append(replace(search.fit, dual_coef=dual))
            searches.append(search)
            if not search.fit.weights.any():
                self.notes_ += (self._removed_everything(pair),)
        self._publish(*fits)
        is_one = len(searches) == 1
        objectives = [search.objectives for search in searches]
        kernels = [search.kernels for search in searches]
        self.start_objectives_ = objectives[0] if is_one else np.array(objectives)
        self.start_kernels_ = kernels[0] if is_one else np.array(kernels)

    def _removed_everything(self, pair: str) -> str:
        """A note on a fit without kernels; ``pair`` names the classes of one machine of several."""
        consequence = "every row gets the same prediction"
        if pair:
            consequence = f"between {pair}, every row gets the same vote"
        return (
            f"At C = {self.C:.3g} no kernel is worth its penalty: {consequence}. Use a larger C or a "
            "smaller penalty, or normalise the kernels."
        )

    def _remember_kernels(self, stack: Any) -> None:
        super()._remember_kernels(stack)
        is_used = np.atleast_2d(self.weights_) > 0.0
        self.selected_ = np.flatnonzero(is_used.any(axis=0))
        self.n_kernels_ = int(self.selected_.size)
        self.mean_kernels_ = float(is_used.sum(axis=1).mean())


class _SMKLOfPairs(_SMKLBase, KernelClassifier):
    """Classes in pairs, one problem each, joined by votes."""

    def _problems(self, y: Array) -> list[tuple[Any, Array, str]]:
        self.pairs_ = tuple(combinations(range(self.classes_.size), 2))
        if len(self.pairs_) == 1:
            return super()._problems(signs(y, 1))
        problems = []
        for pair in self.pairs_:
            rows = np.flatnonzero(np.isin(y, pair))
            name = " and ".join(str(self.classes_[k]) for k in pair)
            problems.append((rows, signs(y[rows], pair[1]), name))
        return problems

    def _joined(self, scores: Array) -> Array:
        if len(self.pairs_) == 1:
            return super()._joined(scores)
        votes = np.zeros((len(scores), self.classes_.size))
        for (first, second), score in zip(self.pairs_, (scores + self.intercept_).T, strict=True):
            wins = score > 0
            # The margin only breaks ties: it is too small to outweigh a vote.
            margin = _TIE_BREAK / self.classes_.size * score / (1.0 + np.abs(score))
            votes[:, second] += wins + margin
            votes[:, first] += ~wins - margin
        return votes


def group_sizes(stack: GramStack) -> Any:
    """The group weights of ``eta=None``: sqrt(d_k) for explicit linear groups, 1 for other kernels.

    A linear kernel on d_k columns that was not normalised (``normalise=None``) is the group of
    these columns itself, and a larger group has a larger penalty. Normalised kernels, other
    functions and precomputed stacks have the weight 1.
    """
    if stack.specs is None or stack.normalise is not None:
        return 1.0
    weights = [1.0] * len(stack.specs)
    for m, spec in enumerate(stack.specs):
        if isinstance(spec, Linear):
            weights[m] = float(np.sqrt(len(spec.settled)))
    return tuple(weights)


@dataclass(eq=False, repr=False)
class SMKLClassifier(_SMKLOfPairs):
    """Sparse MKL for two classes, or one-vs-one with its own kernels for every pair of classes.

        min_{w, b}  g(w) + C sum_i V(y_i, f(x_i)),    f = sum_k <w_k, Phi_k> + b

    with a group selection term g that is concave in r_k = ||w_k||^2.

    Parameters
    ----------
    terms : str or GroupTerm, default "log+gl"
        G, a sum of "log", "gl" (group lasso), "mf" (M-FOCUSS), "mkl" (squared group lasso), "mcp"
        and "scad" (penalties that stop rising, beside the machine's 1/2 ||w||^2); or a term object.
    C : float, default 1.0
        Weight of the loss against the regulariser, > 0: larger values fit the training rows more
        closely.
    loss : str or Loss, default "hinge"
        How a wrong prediction is penalised: the name of a loss in ``LOSSES``, or an object of your
        own.
    eta : float or None, default None
        Group weights: a number, one per kernel, or None: 1, and sqrt(d_k) for explicit linear
        groups, that is linear kernels with ``normalise=None`` such as
        ``KernelDictionary.per_group(Linear(), groups)``.
    log_epsilon : float, default 1e-06
        The number added inside the logarithm, above 0.
    mf_power : float, default 0.5
        The power of the block norms, above 0 and at most 1.
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
        Change of the weights, as ``tol_mode`` measures it, at which the loop stops, > 0.
    tol_mode : str, default "relative"
        Whether ``tol`` is "relative" to the sum of the weights or "absolute", the printed algorithm
        to the letter. With "relative" exact copies of a kernel are left out first, what has settled
        with log or mf terms is shaken and followed down again for as long as the objective falls,
        and the answer is no kernel where all of them vanish and the objective without any is no
        higher.
    init_jitter : float, default 0.0
        Relative random change of the equal first weights.
    n_starts : int, default 1
        Number of starts in all: the first from equal weights, the others from random ones. The
        smallest objective is kept; ``start_objectives_`` and ``start_kernels_`` tell where each
        ended.
    keep_duplicates : bool, default False
        Let exact copies of a kernel compete; by default only the first of them does.
    fit_intercept : bool, default True
        Whether the model has a free offset b.
    max_iter : int, default 500
        Most steps of the outer loop, from 1; a fit that stops there gives a
        ``NotConvergedWarning``.
    probability : bool, default False
        Whether probabilities are calibrated on held-out folds, so that ``predict_proba`` can be
        used.

    Attributes
    ----------
    weights_ (M,), dual_coef_ (n,) signed, intercept_, objective_ (after pruning and a last solve),
    history_ (the objective at every step), status_, n_iter_, n_kernels_ (used by any pair),
    mean_kernels_ (per machine), selected_, kernel_names_, notes_ (which copies were left out, and
    where no kernel is left), pairs_ (indices into classes_, the second is the positive one),
    start_objectives_, start_kernels_. dual_objective_, dual_gap_ and relative_gap_ are None: with
    log or mf terms the answer is a local minimum. With more than two classes weights_ is
    (n_pairs, M), dual_coef_ (n_pairs, n) and zero outside the pair, intercept_ and objective_
    (n_pairs,); ``decision_function`` counts votes, and margins only break ties.

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
class SMKLRegressor(_SMKLBase, KernelRegressor):
    """Sparse MKL for regression: kernel ridge or support vector regression with few kernels.

    ``loss`` is "squared" or "epsilon_insensitive" with the tube ``epsilon``, in units of the
    target. Everything else is as in ``SMKLClassifier``.

    Parameters
    ----------
    terms : str or GroupTerm, default "log+gl"
        G, a sum of "log", "gl" (group lasso), "mf" (M-FOCUSS), "mkl" (squared group lasso), "mcp"
        and "scad" (penalties that stop rising, beside the machine's 1/2 ||w||^2); or a term object.
    C : float, default 1.0
        Weight of the loss against the regulariser, > 0: larger values fit the training rows more
        closely.
    loss : str or Loss, default "squared"
        How a wrong prediction is penalised: the name of a loss in ``LOSSES``, or an object of your
        own.
    epsilon : float, default 0.1
        Half width of the tube of the epsilon-insensitive loss, in units of the target, >= 0.
    eta : float or None, default None
        Group weights: a number, one per kernel, or None: 1, and sqrt(d_k) for explicit linear
        groups, that is linear kernels with ``normalise=None`` such as
        ``KernelDictionary.per_group(Linear(), groups)``.
    log_epsilon : float, default 1e-06
        The number added inside the logarithm, above 0.
    mf_power : float, default 0.5
        The power of the block norms, above 0 and at most 1.
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
        Change of the weights, as ``tol_mode`` measures it, at which the loop stops, > 0.
    tol_mode : str, default "relative"
        Whether ``tol`` is "relative" to the sum of the weights or "absolute", the printed algorithm
        to the letter. With "relative" exact copies of a kernel are left out first, what has settled
        with log or mf terms is shaken and followed down again for as long as the objective falls,
        and the answer is no kernel where all of them vanish and the objective without any is no
        higher.
    init_jitter : float, default 0.0
        Relative random change of the equal first weights.
    n_starts : int, default 1
        Number of starts in all: the first from equal weights, the others from random ones. The
        smallest objective is kept; ``start_objectives_`` and ``start_kernels_`` tell where each
        ended.
    keep_duplicates : bool, default False
        Let exact copies of a kernel compete; by default only the first of them does.
    fit_intercept : bool, default True
        Whether the model has a free offset b.
    max_iter : int, default 500
        Most steps of the outer loop, from 1; a fit that stops there gives a
        ``NotConvergedWarning``.

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


@dataclass(eq=False, repr=False)
class _ScalingBase(_Selection):
    """min_s G(r) + C sum V + 1/2 ||f||^2 with the kernel exp(-1/2 sum_j s_j^2 (x_j - z_j)^2)."""

    kernels = None
    normalise = None
    center = False

    terms: str = "log+gl"
    C: float = 1.0
    loss: str | Loss = "squared"
    groups: Mapping[str, Sequence[int]] | Sequence[Any] | None = None
    _: KW_ONLY
    log_epsilon: float = 1e-6
    mf_power: float = 0.5
    fit_intercept: bool = True
    tol: float = 1e-3
    max_iter: int = 100
    random_state: int | None = None
    callback: Callable[..., Any] | None = None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self.term()

    def _stack(self, X: Any) -> Any:
        if hasattr(X, "transform"):
            raise DataError(
                "Feature scaling learns the kernel itself: pass the table, not a stack of kernels."
            )
        return KernelDictionary((RBF(1.0),)).grams(X, normalise=None)

    def _named_groups(self, d: int) -> list[tuple[str, Indices]]:
        """Pairs of a name and the indices of its columns, by default every column alone."""
        if self.groups is None:
            names = self.column_names or map("x{}".format, range(d))
            return [(name, np.array([j])) for j, name in enumerate(names)]
        pairs = list(self.groups.items()) if isinstance(self.groups, Mapping) else list(self.groups)
        groups = []
        columns: list[int] = []
        try:
            for name, members in pairs:
                indices = [int(j) for j in members]
                groups.append((str(name), np.array(indices)))
                columns += indices
        except (TypeError, ValueError):
            columns = []
        if sorted(columns) != list(range(d)):
            raise ParameterError(
                "groups must be pairs of a name and columns that hold every column from 0 "
                f"to {d - 1} once; got {self.groups!r}."
            )
        return groups

    def _solve(self, stack: Any, y: Array, warm: Any) -> None:
        Z = np.asarray(stack.transform.rows)
        rest = self.C, self.loss_in_use, self.fit_intercept
        tasks = [MachineTask(target, *rest) for target in self._targets(y)]
        named = self._named_groups(Z.shape[1])
        groups = [members for _, members in named]
        method = FeatureScaling(Z, tasks, self.term(), groups, self.tol)
        fit = run(method, tol=self.tol, max_iter=self.max_iter, callback=self.callback)
        warn_unless_converged(fit, self.tol)
        state = method.last.state
        self._publish_columns(fit, state.intercepts, y.ndim == 1)
        self.scales_ = np.sqrt(state.u)
        norms = [float(np.sqrt(state.u[members].sum())) for _, members in named]
        self.group_norms_ = np.array(norms)
        names = [name for name, _ in named]
        self.selected_groups_ = tuple(
            name for name, norm in zip(names, norms, strict=True) if norm > 0
        )

    def _remember_kernels(self, stack: Any) -> None:
        super()._remember_kernels(stack)
        is_used = self.scales_ > 0
        divisors = np.where(is_used, 1.0 / np.where(is_used, self.scales_, 1.0), _NO_SCALE)
        fitted = stack.transform
        self._map = replace(
            fitted, rows=fitted.rows / divisors, column_scales=fitted.column_scales * divisors
        )
        self.kernel_names_ = ("RBF on scaled columns",)


@dataclass(eq=False, repr=False)
class FeatureScalingClassifier(_ScalingBase, KernelClassifier):
    """One Gaussian kernel with a scale for every column, learned under a group selection term.

        min_{s, f, b}  G(r) + C sum_i V(y_i, f(x_i) + b) + 1/2 ||f||^2

    with k_s(x, z) = exp(-1/2 sum_j s_j^2 (x_j - z_j)^2) on standardised columns and
    r_k = sum_{j in group k} s_j^2. Groups of columns whose scales end at zero are left out. Several
    classes, one against the rest, share the scales. The answer is a local minimum, found from equal
    scales.

    Parameters
    ----------
    terms : str or GroupTerm, default "log+gl"
        G, a sum of "log", "gl" (group lasso), "mf" (M-FOCUSS), "mkl" (squared group lasso), "mcp"
        and "scad" (penalties that stop rising, beside the machine's 1/2 ||w||^2); or a term object.
    C : float, default 1.0
        Weight of the loss against the regulariser, > 0: larger values fit the training rows more
        closely.
    loss : str or Loss, default "squared"
        How a wrong prediction is penalised: the name of a loss in ``LOSSES``, or an object of your
        own.
    groups : mapping, sequence or None, default None
        Pairs of a name and columns that together hold every column once; None for every column
        alone.
    log_epsilon : float, default 1e-06
        The number added inside the logarithm, above 0.
    mf_power : float, default 0.5
        The power of the block norms, above 0 and at most 1.
    fit_intercept : bool, default True
        Whether the model has a free offset b.
    tol : float, default 0.001
        Relative change of the squared scales at which the loop stops, > 0. It also stops where a
        step lowers the objective by less than a thousandth of ``tol``, relative to its size.
    max_iter : int, default 100
        Most steps of the outer loop, from 1; a fit that stops there gives a
        ``NotConvergedWarning``.
    random_state : int or None, default None
        Seed of everything that is drawn at random; a number gives the same fit each time.
    callback : callable or None, default None
        Called after every step with a record of it; return True, or raise ``CancelledError``, to
        stop the fit.

    Attributes
    ----------
    scales_ (d,), in units of the standardised columns; group_norms_ and selected_groups_;
    dual_coef_ (n,) or (n, T), intercept_, weights_ = (1,), objective_, status_, history_, n_iter_.
    There is no certificate: dual_gap_ is None.

    Raises
    ------
    ParameterError
        If a parameter is out of its range, or if ``groups`` do not hold every column once.

    References
    ----------
    Subrahmanya and Shin (2010), section 3 (feature scaling kernels), equations (1) to (3).
    """


@dataclass(eq=False, repr=False)
class FeatureScalingRegressor(_ScalingBase, KernelRegressor):
    """One Gaussian kernel with a scale for every column, learned for regression.

    The problem, the attributes and the errors are those of ``FeatureScalingClassifier``, with the
    values of the target in place of signs.

    Parameters
    ----------
    terms : str or GroupTerm, default "log+gl"
        G, a sum of "log", "gl" (group lasso), "mf" (M-FOCUSS), "mkl" (squared group lasso), "mcp"
        and "scad" (penalties that stop rising, beside the machine's 1/2 ||w||^2); or a term object.
    C : float, default 1.0
        Weight of the loss against the regulariser, > 0: larger values fit the training rows more
        closely.
    loss : str or Loss, default "squared"
        How a wrong prediction is penalised: the name of a loss in ``LOSSES``, or an object of your
        own.
    groups : mapping, sequence or None, default None
        Pairs of a name and columns that together hold every column once; None for every column
        alone.
    log_epsilon : float, default 1e-06
        The number added inside the logarithm, above 0.
    mf_power : float, default 0.5
        The power of the block norms, above 0 and at most 1.
    fit_intercept : bool, default True
        Whether the model has a free offset b.
    tol : float, default 0.001
        Relative change of the squared scales at which the loop stops, > 0. It also stops where a
        step lowers the objective by less than a thousandth of ``tol``, relative to its size.
    max_iter : int, default 100
        Most steps of the outer loop, from 1; a fit that stops there gives a
        ``NotConvergedWarning``.
    random_state : int or None, default None
        Seed of everything that is drawn at random; a number gives the same fit each time.
    callback : callable or None, default None
        Called after every step with a record of it; return True, or raise ``CancelledError``, to
        stop the fit.

    References
    ----------
    Subrahmanya and Shin (2010), section 3 (feature scaling kernels), equations (1) to (3).
    """
