"""Sparse MKL by group selection terms as scikit-learn estimators: few kernels, and no certificate
that they are the best few.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from mklcore.arrays import Array, Indices
from mklcore.documented import documented
from mklcore.errors import DataError, ParameterError, suppress_convergence_warnings
from mklcore.estimators.base import KernelEstimator
from mklcore.estimators.targets import KernelClassifier, KernelRegressor, signs
from mklcore.estimators.training_table import KernelSettings
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.functions import RBF, Linear
from mklcore.kernels.grams import GramStack
from mklcore.kernels.operators import KernelOperator
from mklcore.lp.schedule import MOST_SUMMED
from mklcore.parameters import check_choice, check_positive, check_whole
from mklcore.problem.driver import run, warn_unless_converged
from mklcore.problem.losses import Loss
from mklcore.problem.penalties import GroupTerm, as_eta, make_terms
from mklcore.sparse.copies import without_copies
from mklcore.sparse.smkl import TOL_MODES, FeatureScaling, Search, fit_selection, starts

_NO_SCALE = 1e100  # what a column is divided by whose scale is zero
_DOUBLINGS = 20  # of C, until a kernel stays
_TIE_BREAK = 1e-9  # the most that margins may add to a whole number of votes


@dataclass(kw_only=True, eq=False, repr=False)
class _SMKLBase(KernelSettings, KernelEstimator):
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
        check_positive(C=self.C, tol=self.tol)
        self.loss_in_use  # noqa: B018  the loss checks itself
        check_choice("tol_mode", self.tol_mode, TOL_MODES)
        for name in ("max_iter", "n_starts"):
            check_whole(name, getattr(self, name))
        jitter = self.init_jitter
        if not (isinstance(jitter, (int, float, np.number)) and 0 <= jitter < 1):
            raise ParameterError(
                f"init_jitter is a share of the first weights, from 0 to below 1; got {jitter!r}."
            )
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
                f"eta holds {np.size(prices)} group weights, but there are "
                f"{stack.n_kernels} kernels; give one per kernel, or one number."
            )
        allowed, self.notes_ = without_copies(stack, keep, prices)
        return allowed

    def _search(
        self,
        K: KernelOperator,
        y: Array,
        penalty: GroupTerm,
        allowed: Array,
        rng: np.random.RandomState,
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
        """``warm`` is not used: zero weights absorb, so every point of a path starts from equal
        weights.
        """
        penalty = self._penalty(stack)
        competing = self._competing(stack)
        found = self._search(stack, y, penalty, competing, check_random_state(self.random_state))
        self._publish(found.fit)
        self.start_objectives_ = found.objectives
        self.start_kernels_ = found.kernels
        self.start_spread_ = float(np.nanmax(found.objectives) - np.nanmin(found.objectives))
        if not found.fit.weights.any():
            self.notes_ += (self._removed_everything(stack, y, penalty, competing),)

    def _removed_everything(
        self, stack: GramStack, y: Array, penalty: GroupTerm, competing: Array, pair: str = ""
    ) -> str:
        """What it means that no kernel is left, with the C from which one stays, found by trying
        larger ones.

        ``pair`` names the two classes where this is one machine of several.
        """
        low = float(self.C)
        high = None
        for _ in range(_DOUBLINGS):
            probe = self.copy_with("C", 2.0 * low)
            with suppress_convergence_warnings():
                found = probe._search(
                    stack, y, penalty, competing, check_random_state(self.random_state)
                )
            if found.fit.weights.any():
                high = 2.0 * low
                break
            low *= 2.0
        consequence = "every row gets the same prediction"
        if pair:
            consequence = f"between {pair}, every row gets the same vote"
        said = f"At C = {self.C:.3g} no kernel is worth its price: {consequence}. "
        if high is None:
            return (
                f"{said}None is at C = {low:.3g} either; take a smaller price, or normalise "
                "the kernels."
            )
        return f"{said}A kernel stays from a C between {low:.3g} and {high:.3g} on."

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
        spread = (
            f", over which the objective spreads by {np.max(self.start_spread_):.3g}"
            if self.n_starts > 1
            else ""
        )
        starts = f"{self.n_starts} start{'s' if self.n_starts > 1 else ''}"
        return (
            f"{text}<p>A local minimum, the best of {starts}{spread}; other starts may keep "
            "other kernels.</p>"
        )

    @property
    def coef_(self) -> Array:
        """(d,) or (n_pairs, d): coefficients of the (standardised) columns, where every kernel in
        use is linear.
        """
        transform = getattr(self, "_map", None)
        if transform is None or transform.center or transform.normalise == "spherical":
            raise AttributeError(
                "coef_ needs a fit on a table with kernels that are neither centred nor spherical."
            )
        if not all(isinstance(transform.specs[m], Linear) for m in self.selected_):
            raise AttributeError("coef_ needs linear kernels only; another kernel is in use.")
        weights = np.atleast_2d(self.weights_)
        duals = np.atleast_2d(self.dual_coef_)
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
        penalty = self._penalty(stack)
        rng = check_random_state(self.random_state)
        competing = self._competing(stack)
        found = []
        duals = np.zeros((len(self.pairs_), y.size))
        for dual, pair in zip(duals, self.pairs_, strict=True):
            rows = np.flatnonzero(np.isin(y, pair))
            found.append(
                self._search(stack.take(rows), signs(y[rows], pair[1]), penalty, competing, rng)
            )
            dual[rows] = found[-1].fit.dual_coef
            if not found[-1].fit.weights.any():
                names = " and ".join(str(self.classes_[k]) for k in pair)
                own = stack.take(rows), signs(y[rows], pair[1])
                self.notes_ += (self._removed_everything(*own, penalty, competing, names),)
        self._publish_several(
            [search.fit for search in found], np.array([one.fit.weights for one in found]), duals
        )
        self.start_objectives_ = np.array([search.objectives for search in found])
        self.start_kernels_ = np.array([search.kernels for search in found])
        self.start_spread_ = np.nanmax(self.start_objectives_, axis=1) - np.nanmin(
            self.start_objectives_, axis=1
        )

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
    """The group weights of ``eta=None``: sqrt(d_k) for explicit linear groups, 1 for every other
    kernel.

    A linear kernel on d_k columns that was not normalised (``normalise=None``) is the group of
    these columns itself, and larger groups are charged more. Normalised kernels, other functions
    and precomputed stacks count 1.
    """
    if stack.specs is None or stack.normalise is not None:
        return 1.0
    return tuple(
        float(np.sqrt(len(s.settled))) if isinstance(s, Linear) else 1.0 for s in stack.specs
    )


@documented
@dataclass(eq=False, repr=False)
class SMKLClassifier(_SMKLOfTwo):
    """Sparse MKL for two classes, or one-vs-one with kernels of its own for every pair of classes.

        min_{w, b}  g(w) + C sum_i V(y_i, f(x_i)),    f = sum_k <w_k, Phi_k> + b,   g concave in r_k = ||w_k||^2

    Attributes
    ----------
    weights_ (M,), dual_coef_ (n,) signed, intercept_, objective_ (after pruning and solving once
    more), history_ (the objective at every step), status_, n_iter_, n_kernels_ (used by any pair),
    mean_kernels_ (per machine), selected_, kernel_names_, notes_ (which copies were left out, and
    where no kernel stays, the C from which one does), pairs_ (indices into classes_, the second is
    the positive one), start_objectives_, start_kernels_, start_spread_, coef_ (linear kernels
    only). dual_objective_, dual_gap_ and relative_gap_ are None: with log or mf terms the answer is
    a local minimum. With more than two classes weights_ is (n_pairs, M), dual_coef_ (n_pairs, n)
    and zero outside the pair, intercept_ and objective_ (n_pairs,); ``decision_function`` counts
    votes, and margins only break ties.

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


@documented
@dataclass(eq=False, repr=False)
class SMKLRegressor(_SMKLBase, KernelRegressor):
    """Sparse MKL for regression: kernel ridge or support vector regression that keeps few kernels.

    ``loss`` is "squared" or "epsilon_insensitive" with the tube ``epsilon``, in units of the
    target. Everything else as in ``SMKLClassifier``.

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
class _ScalingBase(KernelEstimator):
    """min over scales s of G(r) + C sum V + 1/2 ||f||^2 under the kernel exp(-1/2 sum_j s_j^2 (x_j
    - z_j)^2).
    """

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
        check_positive(C=self.C, tol=self.tol)
        self.loss_in_use  # noqa: B018  the loss checks itself
        make_terms(self.terms, log_epsilon=self.log_epsilon, mf_power=self.mf_power)
        check_whole("max_iter", self.max_iter)

    def _stack(self, X: Any, once: bool = False) -> Any:
        if hasattr(X, "transform"):
            raise DataError(
                "Feature scaling learns the kernel itself: hand over the table, not a "
                "stack of kernels."
            )
        return KernelDictionary((RBF(1.0),)).grams(X, normalise=None)

    def _named_groups(self, d: int) -> list[tuple[str, Indices]]:
        if self.groups is None:
            return [
                (name, np.array([j]))
                for j, name in enumerate(self.column_names or map("x{}".format, range(d)))
            ]
        pairs = list(self.groups.items()) if isinstance(self.groups, Mapping) else list(self.groups)
        try:
            found = [(str(name), np.array([int(j) for j in members])) for name, members in pairs]
            held = sorted(int(j) for _, members in found for j in members)
        except (TypeError, ValueError):
            held = []
        if held != list(range(d)):
            raise ParameterError(
                "groups must be pairs of a name and columns that hold every column from 0 "
                f"to {d - 1} once; got {self.groups!r}."
            )
        return found

    def _solve(self, stack: Any, y: Array, warm: Any) -> None:
        Z = np.asarray(stack.transform.rows)
        Y = np.array(self._targets(y))
        named = self._named_groups(Z.shape[1])
        term = make_terms(self.terms, log_epsilon=self.log_epsilon, mf_power=self.mf_power)
        method = FeatureScaling(
            Z,
            Y,
            self.C,
            self.loss_in_use,
            term,
            [members for _, members in named],
            self.fit_intercept,
            self.tol,
        )
        fit = run(method, tol=self.tol, max_iter=self.max_iter, callback=self.callback)
        warn_unless_converged(fit, self.tol)
        state = method.last.state
        self._publish(fit)
        single = len(Y) == 1
        self.dual_coef_ = fit.dual_coef[:, 0] if single else fit.dual_coef
        self.intercept_ = float(state.intercepts[0]) if single else state.intercepts
        self.scales_ = np.sqrt(state.u)
        self.group_norms_ = np.array(
            [float(np.sqrt(state.u[members].sum())) for _, members in named]
        )
        self.selected_groups_ = tuple(
            name for (name, _), norm in zip(named, self.group_norms_, strict=True) if norm > 0
        )

    def _remember_kernels(self, stack: Any) -> None:
        super()._remember_kernels(stack)
        divisors = np.where(
            self.scales_ > 0, 1.0 / np.where(self.scales_ > 0, self.scales_, 1.0), _NO_SCALE
        )
        known = stack.transform
        self._map = replace(
            known, rows=known.rows / divisors, column_scales=known.column_scales * divisors
        )
        self.kernel_names_ = ("RBF on scaled columns",)


@documented
@dataclass(eq=False, repr=False)
class FeatureScalingClassifier(_ScalingBase, KernelClassifier):
    """One Gaussian kernel with a scale for every column, learned under a group selection term.

        min_{s, f, b}  G(r) + C sum_i V(y_i, f(x_i) + b) + 1/2 ||f||^2,   r_k = sum_{j in group k} s_j^2

    with k_s(x, z) = exp(-1/2 sum_j s_j^2 (x_j - z_j)^2) on standardised columns. Groups of columns
    whose scales end at zero are left out. Several classes, one against the rest, share the scales.
    The answer is a local minimum, from equal scales.

    Attributes
    ----------
    scales_ (d,), in units of the standardised columns; group_norms_ and selected_groups_;
    dual_coef_ (n,) or (n, T), intercept_, weights_ = (1,), objective_, status_, history_, n_iter_.
    There is no certificate: dual_gap_ is None.

    Raises
    ------
    ParameterError where a parameter is out of its range, or ``groups`` do not hold every column
    once

    References
    ----------
    Subrahmanya and Shin (2010), section 3 (feature scaling kernels), equations (1) to (3).
    """


@documented
@dataclass(eq=False, repr=False)
class FeatureScalingRegressor(_ScalingBase, KernelRegressor):
    """One Gaussian kernel with a scale for every column, learned under a group selection term, for
    numbers.

    The problem is the one of ``FeatureScalingClassifier``, with one function of the target's
    values; attributes and refusals as there.

    References
    ----------
    Subrahmanya and Shin (2010), section 3 (feature scaling kernels), equations (1) to (3).
    """
