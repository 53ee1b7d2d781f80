"""The problem in other forms: what the greedy methods are compared with, penalised weights, and the
one-class forms.

lq-norm ridge MKL, the two-stage rule, and the case against it:

    lq-norm RLS-MKL   min_{f, gamma >= 0, ||gamma||_q = 1}  (1/n) ||y - f||^2 + lam sum_j ||f_j||^2 / gamma_j    (2)-(4)
    two stages        solve min_f 1/(2n) ||y - f||^2 + lam sum_j ||f_j||, keep the d largest ||f_j||, solve again

With copies of one kernel in the dictionary the norms ||f_j|| of the second problem are not unique:
an interior point (or any other symmetric) solver shares the weight evenly among the copies, so that
each looks small and the two-stage rule drops them all, while block descent, one kernel after the
other, leaves everything with the first copy. ``duplicate_counterexample`` shows both.

Sources: Sindhwani and Lozano (2011), equations (2)-(4); Jin, Yang and Mahdavi (2013), section 2.

The same problem said in other ways: Ivanov and Tikhonov, and the two one-class forms.

    Ivanov      min  C sum V + 1/2 sum_m ||w_m||^2 / theta_m                 subject to ||theta|| <= 1       (4)
    Tikhonov    min  C~ sum V + 1/2 sum_m ||w_m||^2 / theta_m + mu ||theta||^2                                (3)

Theorem 1 of Kloft, Brefeld, Sonnenburg, Zien (2011), which says that there are such constants: for
every s > 0 they are C~ = C / s and mu = R / (2 s^3), where R = 1/2 sum_m ||w_m||^2 / theta_m at the
solution of (4), and the solution of (3) has s theta for theta.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from html import escape
from typing import Any, NamedTuple

import numpy as np

from mklcore.arrays import Array
from mklcore.errors import DataError, ParameterError
from mklcore.kernels.grams import as_stack, duplicates
from mklcore.lp.schedule import fit_weighted
from mklcore.parameters import check_positive, check_whole
from mklcore.problem.driver import Fit, Method, run, warn_unless_converged
from mklcore.problem.losses import Squared
from mklcore.problem.penalties import LpNorm
from mklcore.problem.problem import WarmStart
from mklcore.sparse.gomp import GOMP
from mklcore.sparse.greedy import EmpiricalGreedy, FunctionalGreedy, unit_step_divisors

L1_SOLVERS = ("symmetric", "block")


def lq_mkl(
    K: Any,
    y: Any,
    lam: float,
    q: float,
    *,
    tol: float = 1e-8,
    max_iter: int = 2000,
    warm: Fit | None = None,
) -> Fit:
    """lq-norm kernel ridge regression with learned weights, the baseline of MKL-GOMP:

        min_{f, gamma}  (1/n) ||y - f||^2 + lam sum_j ||f_j||^2 / gamma_j,   gamma >= 0,
        ||gamma||_q = 1

    q = 1 is l1-MKL, q = infinity the plain sum of kernels. The same problem as lp-norm MKL with
    squared loss, p = q, C = 1 / (lam n) and no intercept, 2 lam times as large; so it is solved by
    that solver and carries its certificate.

    ``K`` (M, n, n) or a ``GramStack``, ``y`` (n,), ``lam`` > 0, ``q`` from 1 to infinity, ``tol``
    relative duality gap of the regulariser, ``warm`` a fit of a neighbouring problem on the same
    kernels. Returns a ``Fit`` with ``weights`` gamma (M,) and ``dual_coef`` alpha (n,): f = sum_j
    gamma_j K_j alpha. Its ``dual_point`` is that of the lp problem, whose values are smaller by 2
    lam.

    Parameters
    ----------
    K : ndarray of shape (M, n, n) or GramStack
        Gram matrices of the M kernels on the same n rows.
    y : array-like of shape (n,)
        Target, finite numbers.
    lam : float
        Weight of the regulariser, > 0: larger values fit the training rows less closely.
    q : float
        Norm of the kernel weights, from 1 to infinity.
    tol : float, default 1e-08
        Relative duality gap at which the solver stops, > 0.
    max_iter : int, default 2000
        Most steps of the outer loop, from 1; a fit that stops there gives a
        ``NotConvergedWarning``.
    warm : Fit or None, default None
        Fit of a neighbouring problem on the same kernels.

    Returns
    -------
    Fit
        The solution with its certificate.

    References
    ----------
    Sindhwani and Lozano (2011), equations (2)-(4).
    """
    K, y, lam = _checked(K, y, lam)
    C = 1.0 / (lam * y.size)
    start = None if warm is None else WarmStart(warm.weights, warm.dual_coef)
    options: dict[str, Any] = {"tol": tol, "max_iter": max_iter, "warm": start}
    fit = fit_weighted(K, y, C, Squared(), LpNorm(q), False, **options)
    warn_unless_converged(fit, tol)
    return _scaled(fit, 2.0 * lam, f"l{q:g}-norm ridge MKL")


def _scaled(fit: Fit, factor: float, name: str) -> Fit:
    """The fit of a problem whose objective is ``factor`` times as large."""

    def scaled(values: Any) -> Any:
        dual = None if values.dual_objective is None else factor * values.dual_objective
        return replace(values, objective=factor * values.objective, dual_objective=dual)

    history = tuple(scaled(record) for record in fit.history)
    result: Fit = replace(scaled(fit), history=history, solver=name)
    return result


def _checked(K: Any, y: Any, lam: float) -> tuple[Array, Array, float]:
    values = as_stack(K)
    target = np.ascontiguousarray(y, dtype=np.float64)
    if target.shape != values.shape[1:2] or not np.all(np.isfinite(target)):
        raise DataError(
            f"The target must be {values.shape[1]} finite numbers, one per row; got shape "
            f"{target.shape}."
        )
    check_positive(lam=lam)
    return values, target, float(lam)


def penalised_l1(
    K: Array,
    y: Array,
    lam: float,
    solver: str,
    tol: float,
) -> Fit:
    """Problem (1) on all kernels of ``K``, which enter one after the other, as in block descent;
    under ``solver`` "symmetric" copies of a kernel then share what the first of them got. ``dual_coef`` (M, n).
    """
    if solver not in L1_SOLVERS:
        raise ParameterError(f"solver must be one of {', '.join(L1_SOLVERS)}; got {solver!r}.")
    method = FunctionalGreedy(K, y, lam, n_kernels=len(K))
    fit = run(method, tol=tol, max_iter=len(K) + 1)
    warn_unless_converged(fit, tol)
    weights = fit.weights.copy()
    dual = np.zeros(K.shape[:2])
    dual[list(fit.selected or ())] = fit.dual_coef
    for group in duplicates(K, same_scale=True) if solver == "symmetric" else ():
        weights[list(group)] = weights[list(group)].mean()
        dual[list(group)] = dual[list(group)].mean(axis=0)
    return replace(fit, weights=weights, dual_coef=dual, selected=None, points=None)


def two_stage(
    K: Any, y: Any, lam: float, n_kernels: int, *, solver: str = "symmetric", tol: float = 1e-9
) -> Fit:
    """The two-stage rule: solve (1) on all kernels, keep the ``n_kernels`` with the largest
    ||f_j||, solve (1) on those.

        min_f  1/(2n) ||y - f||^2 + lam sum_j ||f_j|| (1)

    ``K`` (M, n, n) or a ``GramStack``, ``y`` (n,), ``lam`` > 0; ``solver`` of the first stage:
    "symmetric" (copies share evenly) or "block" (block descent, the first copy takes all). Returns
    the ``Fit`` of the second stage: ``weights`` (M,) the ||f_j||, ``dual_coef`` (M, n),
    ``selected`` the kept kernels by falling first-stage norm (ties: lowest index); its
    ``dual_objective`` is a bound for (1) on ALL kernels, so ``gap`` tells at most how much dropping
    kernels cost.

    Parameters
    ----------
    K : ndarray of shape (M, n, n) or GramStack
        Gram matrices of the M kernels on the same n rows.
    y : array-like of shape (n,)
        Target, finite numbers.
    lam : float
        Weight of the regulariser, > 0: larger values fit the training rows less closely.
    n_kernels : int
        Most kernels in the model, from 1.
    solver : str, default "symmetric"
        "symmetric" or "block": how copies of a kernel share their weight in the first stage.
    tol : float, default 1e-09
        Relative duality gap at which the solver stops, > 0.

    Returns
    -------
    Fit
        The second stage; its dual value bounds the problem on all kernels.
    """
    K, y, lam = _checked(K, y, lam)
    check_whole("n_kernels", n_kernels, 1, K.shape[0])
    first = penalised_l1(K, y, lam, solver, tol)
    # Copies that share the weight agree to round-off only: rounding lets the lowest index win, as a
    # tie should.
    shares = np.round(first.weights / max(float(first.weights.max()), 1e-300), 6)
    kept = np.argsort(-shares, kind="stable")[:n_kernels]
    second = penalised_l1(np.ascontiguousarray(K[kept]), y, lam, "block", tol)
    weights = np.zeros(K.shape[0])
    dual = np.zeros(K.shape[:2])
    weights[kept] = second.weights
    dual[kept] = second.dual_coef
    return replace(
        second,
        weights=weights,
        dual_coef=dual,
        dual_objective=first.dual_objective,
        dual_point=first.dual_point,
        selected=tuple(int(j) for j in kept),
        solver=f"two stages ({solver})",
        solves=first.solves + second.solves,
        seconds=first.seconds + second.seconds,
    )


@dataclass(frozen=True, eq=False)
class Counterexample:
    """What copies of a kernel do to the two-stage rule.

    Kernel A is the one that is copied, kernel B stays alone.

    Shares are ||f_j|| / sum ||f_k|| at the optimum of (1): ``two_kernels`` (2,), A and B; with
    ``copies`` of A and B last, ``symmetric`` and ``block_descent`` (copies + 1,). ``objective_two``
    = ``objective_many``: copies change nothing in what can be fitted. ``two_stage`` is the kernel
    the rule keeps under each solver, ``greedy`` the one that MKL-GOMP and Algorithms 1 and 2 pick
    first, with and without copies: "A" or "B".
    """

    lam: float
    copies: int
    two_kernels: Array
    symmetric: Array
    block_descent: Array
    objective_two: float
    objective_many: float
    two_stage: dict[str, str]
    greedy: dict[str, str]

    @property
    def words(self) -> str:
        """What is to be seen, in three sentences."""
        a, b = self.two_kernels
        return (
            f"Alone, A carries {a:.2f} of the weight and B {b:.2f}. With {self.copies} "
            f"copies of A a symmetric solver leaves {self.symmetric[0]:.3f} to each copy, "
            f"and the two-stage rule keeps {self.two_stage['symmetric']}. Block descent "
            f"leaves {self.block_descent[0]:.2f} to the first copy and keeps "
            f"{self.two_stage['block']}: same optimum, other split."
        )

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.words)}</p>"


def duplicate_counterexample(
    K: Any = None, y: Any = None, lam: float = 0.05, copies: int = 10
) -> Counterexample:
    """The two-stage rule drops the better kernel once it comes in many copies.

    ``K`` (2, n, n): kernel A, which will be copied, and kernel B; ``y`` (n,) is standardised first.
    Without them the built-in problem is used: 30 rows uniform on [-1, 1]^2, one RBF kernel of width
    1/2 per column, y = sin(pi x_1) +
    0.36118225 sin(pi x_2), where the shares are 0.8 and 0.2. ``lam`` > 0 of problem (1), ``copies``
    of A, 2 or more.

    Parameters
    ----------
    K : ndarray of shape (M, n, n) or GramStack, default None
        Kernel A, which will be copied, and kernel B, of shape (2, n, n); None for the built-in
        problem.
    y : array-like of shape (n,), default None
        Target; None for the built-in problem.
    lam : float, default 0.05
        Weight of the regulariser, > 0: larger values fit the training rows less closely.
    copies : int, default 10
        Number of copies of A, from 2.

    Returns
    -------
    Counterexample
        What every method makes of the copies.

    References
    ----------
    Jin, Yang and Mahdavi (2013), section 2. How copies split their weight is not unique there.
    """
    if (K is None) != (y is None):
        raise ParameterError(
            "Give both K (2, n, n) and y (n,), or neither for the built-in problem."
        )
    check_whole("copies", copies, 2)
    if K is None:
        K, y = _built_in()
    pair, target, lam = _checked(K, y, lam)
    if len(pair) != 2 or np.ptp(target) == 0:
        raise DataError(
            "The counterexample needs two kernels and a target that varies; got "
            f"{len(pair)} kernels."
        )
    target = (target - target.mean()) / target.std()
    many = np.ascontiguousarray(pair[[0] * copies + [1]])
    alone, together = (penalised_l1(part, target, lam, "symmetric", 1e-10) for part in (pair, many))
    block = penalised_l1(many, target, lam, "block", 1e-10)
    kept = {
        solver: two_stage(many, target, lam, 1, solver=solver).selected for solver in L1_SOLVERS
    }
    shares = [
        fit.weights / max(float(fit.weights.sum()), 1e-300) for fit in (alone, together, block)
    ]
    return Counterexample(
        lam,
        int(copies),
        shares[0],
        shares[1],
        shares[2],
        alone.objective,
        together.objective,
        {solver: _letter((selected or (0,))[0], copies) for solver, selected in kept.items()},
        _first_picks(pair, many, target, lam),
    )


def _built_in() -> tuple[Array, Array]:
    X = np.random.default_rng(303).uniform(-1.0, 1.0, (30, 2))
    distances = (X.T[:, :, None] - X.T[:, None, :]) ** 2
    return np.exp(-2.0 * distances), np.sin(np.pi * X[:, 0]) + 0.36118225 * np.sin(np.pi * X[:, 1])


def _letter(pick: int, copies: int) -> str:
    return "A" if pick < copies else "B"


def _first_picks(
    pair: Array,
    many: Array,
    y: Array,
    lam: float,
) -> dict[str, str]:
    """The first kernel of every greedy method, without and with copies."""
    found = {}
    for words, K, copies in (("two kernels", pair, 1), ("with copies", many, len(many) - 1)):
        methods: dict[str, Method[Any]] = {
            "MKL-GOMP": GOMP(K, y[:, None], lam, n_kernels=1, score_tol=0.0),
            "Algorithm 1": FunctionalGreedy(K, y, lam, n_kernels=1),
            "Algorithm 2": EmpiricalGreedy(
                K, y, n_steps=1, linesearch=False, divisors=unit_step_divisors(K)
            ),
        }
        for name, method in methods.items():
            selected = run(method, tol=0.0, max_iter=1).selected or (len(K) - 1,)
            found[f"{name}, {words}"] = _letter(selected[0], copies)
    return found


class Tikhonov(NamedTuple):
    """Constants of the penalised form; its weights are ``s`` times the weights of the constrained
    form.
    """

    C_tilde: float
    mu: float
    objective: float


class Ivanov(NamedTuple):
    """Constants of the constrained form; its weights are the penalised ones divided by ``s``."""

    C: float
    s: float
    objective: float


def ivanov_to_tikhonov(objective: float, regulariser: float, C: float, s: float = 1.0) -> Tikhonov:
    """The penalised problem with the same w and b, whose weights are ``s`` theta: C~ = C / s, mu =
    R / (2 s^3).

    ``objective`` J and ``regulariser`` R > 0 of the constrained solution at cost ``C``; any ``s`` >
    0. The objective of the penalised problem is (J + R / 2) / s.

    Parameters
    ----------
    objective : float
        Primal objective at the solution.
    regulariser : float
        Value of the regulariser at the solution, > 0.
    C : float
        Weight of the loss against the regulariser, > 0: larger values fit the training rows more
        closely.
    s : float, default 1.0
        Scale of the weights, > 0.

    Returns
    -------
    Tikhonov
        Parameters and objective of the penalised problem.

    References
    ----------
    Kloft et al. (2011), Theorem 1.
    """
    if not (s > 0 and C > 0):
        raise ParameterError(f"C and s must be above 0; got C = {C!r}, s = {s!r}.")
    if not regulariser > 0:
        raise ParameterError(
            "The map needs a solution with w different from 0; its regulariser is "
            f"{regulariser!r}. Use a larger C."
        )
    return Tikhonov(C / s, regulariser / (2.0 * s**3), (objective + 0.5 * regulariser) / s)


def tikhonov_to_ivanov(objective: float, regulariser: float, C_tilde: float, mu: float) -> Ivanov:
    """The constrained problem with the same w and b: s = (R / mu)^(1/2) / 2^(1/2) = ||theta~||, C =
    C~ s.

    ``regulariser`` R~ = 1/2 sum ||w_m||^2 / theta~_m at the penalised solution, where R~ = 2 mu
    s^2.

    Parameters
    ----------
    objective : float
        Primal objective at the solution.
    regulariser : float
        Value of the regulariser at the solution, > 0.
    C_tilde : float
        Cost of the penalised problem, > 0.
    mu : float
        Weight of the norm of the weights in the penalised problem, > 0.

    Returns
    -------
    Ivanov
        Parameters and objective of the constrained problem.
    """
    if not (mu > 0 and C_tilde > 0 and regulariser > 0):
        raise ParameterError(
            f"C~, mu and the regulariser must be above 0; got {C_tilde!r}, {mu!r}, {regulariser!r}."
        )
    s = float(np.sqrt(regulariser / (2.0 * mu)))
    return Ivanov(C_tilde * s, s, (objective - mu * s * s) * s)


class NuForm(NamedTuple):
    """The nu form that has the same boundary: share ``nu``, offset ``rho``, dual (n,) summing to
    one.
    """

    nu: float
    rho: float
    dual_coef: Array


def nu_from_one_class(dual_coef: Array, C: float) -> NuForm:
    """The nu form solved by a (3.4) solution: a' = a / s, rho = 1 / s, nu n = s / C with s = sum a.

    ``dual_coef`` (n,) of the (3.4) form at cost ``C``.

    Parameters
    ----------
    dual_coef : ndarray of shape (n,)
        Signed dual coefficients of the training rows.
    C : float
        Weight of the loss against the regulariser, > 0: larger values fit the training rows more
        closely.

    Returns
    -------
    NuForm
        The solution in the nu form.

    References
    ----------
    Kloft et al. (2011), section 3.4; Schölkopf et al. (2001) for the nu form.
    """
    a = np.asarray(dual_coef, dtype=np.float64)
    s = float(a.sum())
    if not (s > 0 and C > 0):
        raise ParameterError(
            f"The map needs C above 0 and a dual that is not zero; got C = {C!r}, sum = {s!r}."
        )
    return NuForm(s / (C * a.size), 1.0 / s, a / s)
