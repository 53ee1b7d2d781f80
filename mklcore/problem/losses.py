"""Loss: how a wrong prediction is penalised, in the primal and in the dual.

A loss V(t, y) enters the primal as C sum_i V(t_i, y_i). In the dual it is the concave function
Lin(a) = -C sum_i V*(-a_i / C, y_i) of the signed dual variable a, finite on a box ``low <= a <= high``
(a solver adds 1'a = 0 when the intercept is free). A loss object carries both sides and nothing else; machines and
solvers ask it what they need. Signed duals keep labels out of the kernels: K_m appears for every loss.

Source: Kloft, Brefeld, Sonnenburg, Zien (2011), equations (4), (9), (17) and section 4.2.
"""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
import scipy

from mklcore.arrays import Array
from mklcore.errors import ParameterError
from mklcore.parameters import Interface, Parameter

CLASSIFICATION, REGRESSION = ("binary", "multiclass"), ("regression",)


Cost: TypeAlias = float | Array


class Loss(Interface):
    """The interface of a loss, and what most losses have in common; arrays are (n,), ``C`` is the cost of one unit of
    loss: a number, or (n,) where rows are weighed.

    A subclass is a frozen dataclass whose fields are numbers; one line in ``LOSSES`` makes it known to estimators,
    pages and saved models. Solvers never ask which loss it is, but what it can do:

    | capability | true where |
    |---|---|
    | ``machine`` | the key in ``machines.MACHINES`` of what solves it for one kernel; "" if none |
    | ``piecewise_linear`` | V is piecewise linear, and so is Lin on its box: several duals can be optimal together |
    | ``quadratic`` | V is a parabola of y - t, and one linear system is the optimum |
    | ``sloped`` | ``derivative`` gives V' and ``second_derivative`` V'', which may jump: sums over rows suffice |
    | ``smooth`` | V'' does not jump either, and the optimal dual is strictly inside its box |
    | ``signed`` | labels are -1 and +1, and y_i a_i >= 0 |
    | ``box_is_scaled_by_C`` | the box is C times that of C = 1, so that a dual can be carried to another C |
    | ``takes_intercept`` | False for a loss that is stated without one |
    | ``epsilon`` | Lin has the kink -epsilon |a_i|; 0 where there is none |
    | ``dual_bound`` | the largest |a_i| of the box at C = 1 |
    | ``far_slopes`` | what V' is far to the left and far to the right of y, where V depends on y - t alone |
    | ``of_residuals`` | V depends on y - t alone: moving the target moves the free intercept alone |
    | ``least_curvature`` | the least second derivative of -Lin on the box at C = 1; 0 where it is linear |
    | ``total`` | what the dual sums to when the intercept is free; the primal then carries total * b |
    """

    attributes: ClassVar[Mapping[str, str]] = {
        "name": "what texts, links and saved models call it",
        "label": "what select boxes call it",
        "formula": "V as LaTeX",
    }
    name: ClassVar[str]
    label: ClassVar[str]
    formula: ClassVar[str]
    tasks: ClassVar[tuple[str, ...]] = ()
    parameters: ClassVar[tuple[Parameter, ...]] = ()  # the numbers of the loss that a person may choose
    machine: ClassVar[str] = ""
    piecewise_linear: ClassVar[bool] = False
    quadratic: ClassVar[bool] = False
    sloped: ClassVar[bool] = False
    smooth: ClassVar[bool] = False
    signed: ClassVar[bool] = False
    box_is_scaled_by_C: ClassVar[bool] = True
    takes_intercept: ClassVar[bool] = True
    of_residuals: ClassVar[bool] = False
    total: ClassVar[float] = 0.0
    least_curvature: ClassVar[float] = 0.0

    @property
    def far_slopes(self) -> tuple[float, float]:
        """V' where t is far below y, and far above."""
        return -self.dual_bound, self.dual_bound

    @classmethod
    def _check_class(cls) -> None:
        super()._check_class()
        claimed = next((claim for claim in ("smooth", "sloped") if getattr(cls, claim) is True), None)
        if claimed is not None:
            missing = [
                name for name in ("derivative", "second_derivative") if getattr(cls, name) is getattr(Loss, name)
            ]
            cls._refuse_without(missing, f", says {claimed} = True")

    @property
    def epsilon(self) -> float:
        """The kink of Lin at zero; 0 where there is none."""
        return 0.0

    @property
    def dual_bound(self) -> float:
        """The largest |a_i| that the box allows at C = 1."""
        return 1.0

    def linear(self, y: Array) -> Array:
        """The linear term of Lin: its slope at a = 0, beside the kink."""
        return y

    @abstractmethod
    def value(self, t: Array, y: Array) -> Array:
        """V(t_i, y_i) for every point."""

    def derivative(self, t: Array, y: Array) -> Array:
        """dV/dt for every point; sloped losses have it."""
        raise ParameterError(f"The loss {self.name} has no derivatives: it is not sloped.")

    def second_derivative(self, t: Array, y: Array) -> Array:
        """d2V/dt2 for every point; sloped losses have it."""
        raise ParameterError(f"The loss {self.name} has no derivatives: it is not sloped.")

    @abstractmethod
    def dual(self, a: Array, y: Array, C: Cost) -> float:
        """Lin(a); minus infinity outside the box."""

    @abstractmethod
    def box(self, y: Array, C: Cost) -> tuple[Array, Array]:
        """The box (low, high) of feasible duals."""

    def check_cost(self, n: int, C: Cost) -> None:
        """ParameterError where a loss that fixes its own C on ``n`` rows is asked for at another."""

    def curvature(self, a: Array, y: Array, C: Cost) -> Array:
        """Second derivative of -Lin at a (0 where Lin is linear)."""
        return np.zeros_like(a)

    @abstractmethod
    def best_intercept(self, f: Array, y: Array) -> float:
        """The b that minimises sum_i V(f_i + b, y_i); the midpoint where an interval does."""

    def best_multiple(self, a: Array, y: Array, C: Cost, norm: float) -> float:
        """argmax_s Lin(s a) - s^2 norm over multiples s that stay in the box; 1 where the loss has no closed form.

        ``norm`` is the price of a, and a homogeneous penalty charges s^2 times as much for s a.
        """
        return 1.0


def _median_interval(breakpoints: Array, rank: int) -> float:
    """Midpoint of the interval between the order statistics ``rank`` and ``rank + 1`` (1-based), one-sided at the
    ends.
    """
    last = breakpoints.size
    if rank <= 0:
        return float(breakpoints.min())
    if rank >= last:
        return float(breakpoints.max())
    ordered = np.partition(breakpoints, (rank - 1, rank))
    return float(0.5 * (ordered[rank - 1] + ordered[rank]))


def _flat_middle(ends: Array, slope: Callable[[float], float], level: float) -> float:
    """Where an increasing ``slope``, straight between sorted ``ends``, is zero: the midpoint of an interval of such
    places.
    """
    high = min(bisect_right(ends, -level, key=slope), ends.size - 1)
    above = slope(ends[high])
    if abs(above) <= level:  # every further end of no slope bounds the same interval, or is its start once more
        return float(0.5 * (ends[high] + ends[bisect_right(ends, level, lo=high, key=slope) - 1]))
    low = max(high - 1, 0)
    below = slope(ends[low])
    return float(ends[high] - above * (ends[high] - ends[low]) / (above - below) if above > below else ends[high])


def _best_multiple_of_linear(a: Array, linear: float, C: Cost, norm: float) -> float:
    largest = float(np.max(np.abs(a), initial=0.0))
    if largest == 0.0 or linear <= 0.0:
        return 0.0
    limit = _room(a, C) if np.ndim(C) else float(C) / largest
    return limit if norm <= 0.0 else min(linear / (2.0 * norm), limit)


def _room(a: Array, C: Cost) -> float:
    """The largest multiple of ``a`` with |a_i| <= C_i."""
    return float(np.min(np.divide(C, np.abs(a), out=np.full(a.shape, np.inf), where=a != 0.0), initial=np.inf))


def _inside(a: Array, low: Array, high: Array, C: Cost) -> bool:
    slack = 1e-9 * np.minimum(C, np.max(np.abs(a), initial=0.0))  # of the dual itself: a wide box forgives nothing
    return bool(np.all(a >= low - slack) and np.all(a <= high + slack))


def _between(x: Array, most: float) -> bool:
    """``_inside`` of duals that labels have turned to be between 0 and ``most``: it is asked at every step of every
    method.
    """
    low, high = float(np.min(x, initial=0.0)), float(np.max(x, initial=0.0))
    slack = 1e-9 * min(most, max(high, -low))
    return low >= -slack and high <= most + slack


class _OfLabels(Loss):
    """Of labels -1 and +1, with slopes between -1 and 0 along the label."""

    tasks: ClassVar[tuple[str, ...]] = CLASSIFICATION
    signed: ClassVar[bool] = True

    def box(self, y: Array, C: Cost) -> tuple[Array, Array]:
        return np.minimum(0.0, C * y), np.maximum(0.0, C * y)


class _OfResiduals(Loss):
    """Of y - t alone: the box is that of the slopes far away."""

    tasks: ClassVar[tuple[str, ...]] = REGRESSION
    of_residuals: ClassVar[bool] = True

    def box(self, y: Array, C: Cost) -> tuple[Array, Array]:
        left, right = self.far_slopes
        return np.full(y.shape, -right * C), np.full(y.shape, -left * C)


class _QuadraticDual(Loss):
    """Lin(a) = y'a - a'a / (2 C) on the box."""

    least_curvature: ClassVar[float] = 1.0

    def dual(self, a: Array, y: Array, C: Cost) -> float:
        return float(y @ a - np.sum(a * a / (2.0 * C))) if _inside(a, *self.box(y, C), C) else -np.inf

    def curvature(self, a: Array, y: Array, C: Cost) -> Array:
        return np.full_like(a, 1.0 / C)

    def best_multiple(self, a: Array, y: Array, C: Cost, norm: float) -> float:
        curvature = float(np.sum(a * a / C)) + 2.0 * norm
        return float(y @ a) / curvature if curvature > 0.0 else 0.0


class _OneSided(Loss):
    """Without labels: slopes between -1 and 0."""

    tasks: ClassVar[tuple[str, ...]] = ("novelty",)
    machine: ClassVar[str] = "svm"
    piecewise_linear: ClassVar[bool] = True

    def box(self, y: Array, C: Cost) -> tuple[Array, Array]:
        return np.zeros(y.shape), np.full(y.shape, C)


@dataclass(frozen=True)
class Hinge(_OfLabels):
    """V(t, y) = max(0, 1 - y t), labels y in {-1, +1}: the support vector machine."""

    name: ClassVar[str] = "hinge"
    label: ClassVar[str] = "hinge (support vector machine)"
    formula: ClassVar[str] = r"\max(0,\,1-y_i f(x_i))"
    machine: ClassVar[str] = "svm"
    piecewise_linear: ClassVar[bool] = True

    def value(self, t: Array, y: Array) -> Array:
        return np.maximum(0.0, 1.0 - y * t)

    def dual(self, a: Array, y: Array, C: Cost) -> float:
        inside = _inside(a, *self.box(y, C), C) if np.ndim(C) else _between(y * a, float(C))
        return float(y @ a) if inside else -np.inf

    def best_intercept(self, f: Array, y: Array) -> float:
        # Each breakpoint y_i - f_i raises the slope by one, from minus the number of positive labels.
        return _median_interval(y - f, int(np.count_nonzero(y > 0)))

    def best_multiple(self, a: Array, y: Array, C: Cost, norm: float) -> float:
        return _best_multiple_of_linear(a, float(y @ a), C, norm)


@dataclass(frozen=True)
class SquaredHinge(_QuadraticDual, _OfLabels):
    """V(t, y) = max(0, 1 - y t)^2 / 2, labels y in {-1, +1}: the support vector machine with squared slacks.

    The conjugate is that of the squared loss on a half line: Lin(a) = y'a - a'a / (2 C) for y_i a_i >= 0, so that no
    dual is at an upper bound. Source: Cortes and Vapnik (1995), Support-vector networks, section 3; the conjugate by
    maximising.
    """

    name: ClassVar[str] = "squared_hinge"
    label: ClassVar[str] = "squared hinge (support vector machine)"
    formula: ClassVar[str] = r"\tfrac12\max(0,\,1-y_i f(x_i))^2"
    machine: ClassVar[str] = "svm"
    sloped: ClassVar[bool] = True
    box_is_scaled_by_C: ClassVar[bool] = False

    @property
    def dual_bound(self) -> float:
        return np.inf

    def value(self, t: Array, y: Array) -> Array:
        return 0.5 * np.maximum(0.0, 1.0 - y * t) ** 2

    def derivative(self, t: Array, y: Array) -> Array:
        return -y * np.maximum(0.0, 1.0 - y * t)

    def second_derivative(self, t: Array, y: Array) -> Array:
        return np.where(y * t < 1.0, 1.0, 0.0)

    def box(self, y: Array, C: Cost) -> tuple[Array, Array]:
        return np.where(y > 0, 0.0, -np.inf), np.where(y > 0, np.inf, 0.0)

    def best_intercept(self, f: Array, y: Array) -> float:
        return _flat_middle(np.sort(y - f), lambda b: float(self.derivative(f + b, y).sum()), 1e-14 * y.size)

    def best_multiple(self, a: Array, y: Array, C: Cost, norm: float) -> float:
        return max(0.0, super().best_multiple(a, y, C, norm))


@dataclass(frozen=True)
class EpsilonInsensitive(_OfResiduals):
    """V(t, y) = max(0, |y - t| - epsilon): support vector regression with a tube of half-width epsilon."""

    epsilon: float = 0.1

    name: ClassVar[str] = "epsilon_insensitive"
    label: ClassVar[str] = "epsilon-insensitive (support vector regression)"
    formula: ClassVar[str] = r"\max(0,\,|y_i-f(x_i)|-\varepsilon)"
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter(
            "epsilon", "Tube ε", "log", 0.1, 1e-4, 1e3,
            "Wider tube: errors below ε are free, and fewer rows support the fit.",
        ),
    )  # fmt: skip
    machine: ClassVar[str] = "svm"
    piecewise_linear: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not (np.isfinite(self.epsilon) and self.epsilon >= 0):
            raise ParameterError(f"epsilon is the half-width of the tube and must be 0 or more; got {self.epsilon!r}.")

    def value(self, t: Array, y: Array) -> Array:
        return np.maximum(0.0, np.abs(y - t) - self.epsilon)

    def dual(self, a: Array, y: Array, C: Cost) -> float:
        if not _inside(a, *self.box(y, C), C):
            return -np.inf
        return float(y @ a - self.epsilon * np.abs(a).sum())

    def best_intercept(self, f: Array, y: Array) -> float:
        ends = np.concatenate([y - f - self.epsilon, y - f + self.epsilon])
        return _median_interval(ends, y.size)

    def best_multiple(self, a: Array, y: Array, C: Cost, norm: float) -> float:
        return _best_multiple_of_linear(a, float(y @ a - self.epsilon * np.abs(a).sum()), C, norm)


@dataclass(frozen=True)
class Pinball(_OfResiduals):
    """V(t, y) = max(q (y - t), (q - 1) (y - t)): its least expected value is at the quantile q of y given x.

    The conjugate is linear on a box that is not symmetric: Lin(a) = y'a for (q - 1) C <= a_i <= q C. q = 1/2 is half
    the absolute error. With a free intercept at most a share q of the training targets is below the fit, at most 1 -
    q above.

    Parameters
    ----------
    quantile : float, default 0.5
        Quantile that is estimated, in (0, 1).

    References
    ----------
    Koenker and Bassett (1978), Econometrica 46; Takeuchi, Le, Sears, Smola (2006), Nonparametric quantile estimation,
    section 3.
    """

    quantile: float = 0.5

    name: ClassVar[str] = "pinball"
    label: ClassVar[str] = "pinball (quantile regression)"
    formula: ClassVar[str] = r"\max\big(q\,r_i,\,(q-1)\,r_i\big),\;r_i=y_i-f(x_i)"
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter(
            "quantile", "Quantile q", "real", 0.5, 0.01, 0.99,
            "Share of targets that is to be below the fit: 0.5 is the median, 0.05 and 0.95 are the ends of a band.",
        ),
    )  # fmt: skip
    machine: ClassVar[str] = "svm"
    piecewise_linear: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not (np.isfinite(self.quantile) and 0.0 < self.quantile < 1.0):
            raise ParameterError(
                f"quantile is a share of the targets and must be between 0 and 1; got {self.quantile!r}."
            )

    @property
    def dual_bound(self) -> float:
        return max(self.quantile, 1.0 - self.quantile)

    @property
    def far_slopes(self) -> tuple[float, float]:
        return -self.quantile, 1.0 - self.quantile

    def value(self, t: Array, y: Array) -> Array:
        return np.maximum(self.quantile * (y - t), (self.quantile - 1.0) * (y - t))

    def dual(self, a: Array, y: Array, C: Cost) -> float:
        return float(y @ a) if _inside(a, *self.box(y, C), C) else -np.inf

    def best_intercept(self, f: Array, y: Array) -> float:
        below = self.quantile * y.size
        rank = round(below)
        if abs(below - rank) > 1e-9:  # one residual, where no whole number of them is below
            return float(np.partition(y - f, int(below))[int(below)])
        return _median_interval(y - f, rank)

    def best_multiple(self, a: Array, y: Array, C: Cost, norm: float) -> float:
        linear = float(y @ a)
        if linear <= 0.0:
            return 0.0
        ends = np.where(a > 0.0, self.quantile, 1.0 - self.quantile) * C
        limit = _room(a, ends)
        if not np.isfinite(limit):
            return 0.0
        return limit if norm <= 0.0 else min(linear / (2.0 * norm), limit)


@dataclass(frozen=True)
class Squared(_QuadraticDual):
    """V(t, y) = (y - t)^2 / 2: kernel ridge regression, or the least-squares machine on labels -1 and +1."""

    name: ClassVar[str] = "squared"
    label: ClassVar[str] = "squared (kernel ridge)"
    formula: ClassVar[str] = r"\tfrac12(y_i-f(x_i))^2"
    tasks: ClassVar[tuple[str, ...]] = CLASSIFICATION + REGRESSION
    machine: ClassVar[str] = "ridge"
    quadratic: ClassVar[bool] = True
    box_is_scaled_by_C: ClassVar[bool] = False
    of_residuals: ClassVar[bool] = True

    def value(self, t: Array, y: Array) -> Array:
        return 0.5 * (y - t) ** 2

    def derivative(self, t: Array, y: Array) -> Array:
        return t - y

    def second_derivative(self, t: Array, y: Array) -> Array:
        return np.ones_like(t)

    def dual(self, a: Array, y: Array, C: Cost) -> float:
        return float(y @ a - np.sum(a * a / (2.0 * C)))

    def box(self, y: Array, C: Cost) -> tuple[Array, Array]:
        return np.full(y.shape, -np.inf), np.full(y.shape, np.inf)

    def best_intercept(self, f: Array, y: Array) -> float:
        return float(np.mean(y - f))


@dataclass(frozen=True)
class Huber(_QuadraticDual, _OfResiduals):
    """V(t, y) = r^2 / 2 where |r| = |y - t| <= delta, else delta (|r| - delta / 2): outlying targets pull no harder
    than delta.

    The conjugate is that of the squared loss on a box: Lin(a) = y'a - a'a / (2 C) for |a_i| <= delta C. A large delta
    is the squared loss; delta to 0 with C delta fixed is the absolute error.

    Parameters
    ----------
    delta : float, default 1.0
        Residual beyond which the loss is linear, > 0.

    References
    ----------
    Huber (1964), Annals of Mathematical Statistics 35, section 4; the conjugate by maximising piecewise.
    """

    delta: float = 1.0

    name: ClassVar[str] = "huber"
    label: ClassVar[str] = "Huber (robust regression)"
    formula: ClassVar[str] = r"\min\big(\tfrac12 r_i^2,\,\delta|r_i|-\tfrac12\delta^2\big),\;r_i=y_i-f(x_i)"
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter(
            "delta", "Huber δ", "log", 1.0, 1e-4, 1e3,
            "Smaller δ, in units of the target: rows further off than δ pull no harder. Large δ is the squared loss.",
        ),
    )  # fmt: skip
    machine: ClassVar[str] = "svm"
    sloped: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not (np.isfinite(self.delta) and self.delta > 0):
            raise ParameterError(f"delta is where the loss turns straight and must be above 0; got {self.delta!r}.")

    @property
    def dual_bound(self) -> float:
        return self.delta

    def value(self, t: Array, y: Array) -> Array:
        r = np.abs(y - t)
        return np.where(r <= self.delta, 0.5 * r * r, self.delta * (r - 0.5 * self.delta))

    def derivative(self, t: Array, y: Array) -> Array:
        found: Array = np.clip(t - y, -self.delta, self.delta)
        return found

    def second_derivative(self, t: Array, y: Array) -> Array:
        return np.where(np.abs(t - y) <= self.delta, 1.0, 0.0)

    def best_intercept(self, f: Array, y: Array) -> float:
        r = y - f
        ends = np.sort(np.concatenate([r - self.delta, r + self.delta]))

        def slope(b: float) -> float:
            """The increasing derivative of the sum, straight between the sorted ends."""
            return float(np.clip(b - r, -self.delta, self.delta).sum())

        return _flat_middle(ends, slope, 1e-12 * self.delta * y.size)

    def best_multiple(self, a: Array, y: Array, C: Cost, norm: float) -> float:
        limit = self.delta * _room(a, C)
        return float(np.clip(super().best_multiple(a, y, C, norm), -limit, limit))


@dataclass(frozen=True)
class Logistic(_OfLabels):
    """V(t, y) = log(1 + exp(-y t)), labels y in {-1, +1}: kernel logistic regression."""

    name: ClassVar[str] = "logistic"
    label: ClassVar[str] = "logistic (logistic regression)"
    formula: ClassVar[str] = r"\log(1+e^{-y_i f(x_i)})"
    least_curvature: ClassVar[float] = 4.0
    machine: ClassVar[str] = "smooth"
    sloped: ClassVar[bool] = True
    smooth: ClassVar[bool] = True

    def value(self, t: Array, y: Array) -> Array:
        return np.logaddexp(0.0, -y * t)

    def derivative(self, t: Array, y: Array) -> Array:
        share: Array = scipy.special.expit(-y * t)
        return -y * share

    def second_derivative(self, t: Array, y: Array) -> Array:
        s: Array = scipy.special.expit(t)
        return s * (1.0 - s)

    def dual(self, a: Array, y: Array, C: Cost) -> float:
        if not _inside(a, *self.box(y, C), C):
            return -np.inf
        z = np.clip(y * a / C, 0.0, 1.0)
        return float(-np.sum(C * (scipy.special.xlogy(z, z) + scipy.special.xlogy(1.0 - z, 1.0 - z))))

    def curvature(self, a: Array, y: Array, C: Cost) -> Array:
        z = np.clip(y * a / C, 1e-14, 1.0 - 1e-14)
        return 1.0 / (C * z * (1.0 - z))

    def best_intercept(self, f: Array, y: Array) -> float:
        positive = int(np.count_nonzero(y > 0))
        if positive in (0, y.size):
            return float(np.sign(y[0]) * (40.0 + np.max(np.abs(f))))
        low, high = -45.0 - float(f.max()), 45.0 - float(f.min())
        b = float(np.clip(np.log(positive / (y.size - positive)) - f.mean(), low, high))
        for _ in range(200):  # Newton inside a shrinking bracket of the increasing derivative
            s = scipy.special.expit(f + b)
            slope = float(s.sum() - positive)
            low, high = (b, high) if slope < 0 else (low, b)
            if abs(slope) <= 1e-14 * y.size or high - low <= 1e-15 * max(1.0, abs(b)):
                break
            step = slope / max(float((s * (1.0 - s)).sum()), 1e-300)
            b = b - step if low < b - step < high else 0.5 * (low + high)
        return b


@dataclass(frozen=True)
class OneClass(_OneSided):
    """V(t) = max(0, 1 - t) without labels or intercept: novelty detection in the form (3.4) of the paper."""

    name: ClassVar[str] = "one_class"
    label: ClassVar[str] = "one-class (novelty detection)"
    formula: ClassVar[str] = r"\max(0,\,1-f(x_i))"
    takes_intercept: ClassVar[bool] = False

    def linear(self, y: Array) -> Array:
        return np.ones_like(y)

    def value(self, t: Array, y: Array) -> Array:
        return np.maximum(0.0, 1.0 - t)

    def dual(self, a: Array, y: Array, C: Cost) -> float:
        return float(a.sum()) if _inside(a, *self.box(y, C), C) else -np.inf

    def best_intercept(self, f: Array, y: Array) -> float:
        return 0.0

    def best_multiple(self, a: Array, y: Array, C: Cost, norm: float) -> float:
        return _best_multiple_of_linear(a, float(a.sum()), C, norm)


@dataclass(frozen=True)
class NuOneClass(_OneSided):
    """The nu form of novelty detection: min 1/2 ||w||^2 + 1/(nu n) sum max(0, rho - f_i) - rho, written with b = -rho.

    V(t) = max(0, -t) at C = 1 / (nu n), a free intercept and the extra term b, whose dual is 1'a = 1. At most a share
    nu of the points is left outside, at least a share nu supports the boundary.
    """

    nu: float = 0.5

    name: ClassVar[str] = "nu_one_class"
    label: ClassVar[str] = "one-class, nu form"
    formula: ClassVar[str] = r"\max(0,\,\rho-f(x_i))"
    box_is_scaled_by_C: ClassVar[bool] = False
    total: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.nu) and 0 < self.nu <= 1):
            raise ParameterError(
                f"nu is the share of points left outside and must be above 0 and at most 1; got {self.nu!r}."
            )

    def check_cost(self, n: int, C: Cost) -> None:
        total = float(np.sum(np.broadcast_to(C, n)))
        if not abs(self.nu * total - 1.0) <= 1e-6:
            raise ParameterError(
                f"The nu form fixes C at 1 / (nu n), which with nu={self.nu:g} on {n} rows is "
                f"C={1.0 / (self.nu * n):.10g} "
                f"(costs of single rows add up to 1 / nu); got C={total / n:.10g}. Take that C, or another nu, or the "
                f"form "
                'without nu, loss="one_class", which leaves C free.'
            )

    def linear(self, y: Array) -> Array:
        return np.zeros_like(y)

    def value(self, t: Array, y: Array) -> Array:
        return np.maximum(0.0, -t)

    def dual(self, a: Array, y: Array, C: Cost) -> float:
        return 0.0 if _inside(a, *self.box(y, C), C) else -np.inf

    def best_intercept(self, f: Array, y: Array) -> float:
        # b + C sum max(0, -(f + b)): rising b past -f_i takes point i out of the sum; nu n points stay in it.
        inside = y.size - self.nu * y.size
        whole = round(inside)
        rank = whole if abs(inside - whole) < 1e-9 else None
        if rank is not None:
            return _median_interval(-f, rank)
        return float(np.partition(-f, int(np.floor(inside)))[int(np.floor(inside))])


Able = Callable[["Loss | type[Loss]"], bool]
LOSSES: dict[str, type[Loss]] = {
    loss.name: loss
    for loss in (Hinge, Logistic, Squared, SquaredHinge, EpsilonInsensitive, Huber, Pinball, OneClass, NuOneClass)
}


def make_loss(loss: str | Loss, **given: float) -> Loss:
    """The loss called ``loss``, or the object itself; of what is ``given`` (epsilon, nu, ...) it takes what it has.

    ParameterError for a name that is not in ``LOSSES``.
    """
    if isinstance(loss, Loss):
        return loss
    if loss not in LOSSES:
        raise ParameterError(f"There is no loss called {loss!r}; the losses are {', '.join(LOSSES)}.")
    kind: Any = LOSSES[loss]
    made: Loss = kind(**{name: given[name] for name in given.keys() & kind.__dataclass_fields__.keys()})
    return made


def _able(loss: Loss | type[Loss]) -> bool:
    return bool(loss.machine)


def losses_for(tasks: Sequence[str], able: Able = _able) -> tuple[str, ...]:
    """The names of the losses for any of ``tasks`` that are ``able``: those with a machine by default."""
    return tuple(name for name, loss in LOSSES.items() if able(loss) and set(loss.tasks) & set(tasks))


def loss_for(
    loss: str | Loss, tasks: Sequence[str], able: Able = _able, needed: str = "a machine", **given: float
) -> Loss:
    """``make_loss`` for an estimator of ``tasks``; ParameterError for one that does not suit, with the losses that do
    and what is missing: a task, or what is ``needed`` of it where it is not ``able``.
    """
    kind = loss if isinstance(loss, Loss) else LOSSES.get(loss) if isinstance(loss, str) else None
    if kind is not None and able(kind) and set(kind.tasks) & set(tasks):
        return make_loss(loss, **given)
    why = ""
    if kind is not None and not set(kind.tasks) & set(tasks):
        why = f" It is a loss for {' and '.join(kind.tasks) or 'no task'}, and {' or '.join(tasks)} is asked for."
    elif kind is not None:
        why = f" What is needed and {kind.name} lacks: {needed}."
    raise ParameterError(f"loss must be one of {', '.join(losses_for(tasks, able))} here; got {loss!r}.{why}")


def best_intercept(loss: Loss, f: Array, y: Array, C: Cost) -> float:
    """The b that minimises sum_i C_i V(f_i + b, y_i), plus total * b; the midpoint where an interval does.

    ``C`` as in ``Loss``.
    """
    if np.ndim(C) == 0:
        return loss.best_intercept(f, y)
    w: Array = np.asarray(C)
    if loss.quadratic:
        return float(w @ (y - f) / w.sum())
    if loss.piecewise_linear:
        return _weighted_median(loss, f, y, w)
    low, high = float(np.min(-np.abs(y) - f)) - 45.0, float(np.max(np.abs(y) - f)) + 45.0
    for _ in range(200):
        b = 0.5 * (low + high)
        slope = loss.derivative(f + b, y) if loss.sloped else np.clip(f + b - y, -loss.dual_bound, loss.dual_bound)
        low, high = (b, high) if w @ slope < 0 else (low, b)
        if high - low <= 1e-15 * max(1.0, abs(b)):
            break
    return 0.5 * (low + high)


def _weighted_median(loss: Loss, f: Array, y: Array, w: Array) -> float:
    """``best_intercept`` where V has kinks only: the slope rises by w_i at each, from what it is far to the left."""
    if loss.signed:
        kinks, rises, slope = y - f, w, -float(w[y > 0].sum())
    elif loss.total:
        kinks, rises, slope = -f, w, loss.total - float(w.sum())
    else:
        below, above = loss.far_slopes
        kinks, rises = (
            np.concatenate([y - f - loss.epsilon, y - f + loss.epsilon]),
            np.tile(0.5 * (above - below) * w, 2),
        )
        slope = below * float(w.sum())
    order = np.argsort(kinks, kind="stable")
    kinks, slopes = kinks[order], slope + np.cumsum(rises[order])
    level = 1e-12 * float(w.sum())
    at = min(int(np.searchsorted(slopes, -level)), kinks.size - 1)
    flat = abs(slopes[at]) <= level and at + 1 < kinks.size
    return float(0.5 * (kinks[at] + kinks[at + 1]) if flat else kinks[at])


def centre_of(loss: Loss, y: Array, fit_intercept: bool) -> float:
    """What may be taken from the target ``y`` (n,) before solving, and added to the intercept afterwards: the middle
    one of its values, or 0 where that is another problem.

    With a free intercept and a loss of residuals the duals sum to 0, so that neither duals nor objective nor dual value
    change. Far from zero they would be differences of large numbers. One of the values, and not their mean, leaves
    whole numbers whole, and follows no outlier.
    """
    if not (fit_intercept and loss.takes_intercept and loss.of_residuals):
        return 0.0
    return float(np.partition(y, y.size // 2)[y.size // 2])


def losses_at(loss: Loss, f: Array, b: float, y: Array) -> Array:
    """V(f_i + b, y_i) for every point; of residuals without rounding ``f`` to the digits that a large ``b`` leaves
    it.
    """
    return loss.value(f, y - b) if loss.of_residuals else loss.value(f + b, y)


def total_loss(loss: Loss, f: Array, b: float, y: Array, C: Cost) -> float:
    """C sum_i V(f_i + b, y_i), plus the intercept's own term where the loss has one."""
    return float(np.sum(C * losses_at(loss, f, b, y))) + loss.total * b
