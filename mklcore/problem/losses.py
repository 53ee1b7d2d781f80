"""Loss: how a wrong prediction is penalised, in the primal and in the dual.

A loss V(t, y) enters the primal as C sum_i V(t_i, y_i). In the dual it is the concave function
Lin(a) = -C sum_i V*(-a_i / C, y_i) of the signed dual variable a, finite on a box ``low <= a <=
high`` (a solver adds 1'a = 0 when the intercept is free). A loss object carries both sides and
nothing else; machines and solvers ask it what they need. Signed duals keep labels out of the
kernels: K_m appears for every loss.

Source: Kloft, Brefeld, Sonnenburg, Zien (2011), equations (4), (9), (17) and section 4.2.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
import scipy

from mklcore.arrays import Array
from mklcore.errors import ParameterError
from mklcore.parameters import Parameter

CLASSIFICATION = ("binary", "multiclass")
REGRESSION = ("regression",)


Cost: TypeAlias = float | Array


class Loss(ABC):
    """The interface of a loss, and what most losses have in common; arrays are (n,), ``C`` is the
    cost of one unit of loss: a number, or (n,) where rows are weighed.

    A subclass is a frozen dataclass whose fields are numbers; one line in ``LOSSES`` makes it known
    to estimators, pages and saved models. Solvers never ask which loss it is, but what it can do:

    machine : the key in ``machines.MACHINES`` of what solves it for one kernel; "" if none
    slopes : the least and the largest V', along the label where it is ``signed``: they bound the
        dual
    piecewise_linear : V is piecewise linear, and so is Lin on its box: several duals can be
        optimal together
    quadratic : V is a parabola of y - t, and one linear system is the optimum
    sloped : ``derivative`` gives V' and ``second_derivative`` V'', which may jump: sums over rows
        suffice
    smooth : V'' does not jump either, and the optimal dual is strictly inside its box
    signed : labels are -1 and +1, and y_i a_i >= 0
    takes_intercept : False for a loss that is stated without one
    epsilon : Lin has a kink, -epsilon times the absolute a_i; 0 where there is none
    of_residuals : V depends on y - t alone: moving the target moves the free intercept alone
    least_curvature : the least second derivative of -Lin on the box at C = 1; 0 where it is linear
    total : what the dual sums to when the intercept is free; the primal then carries total * b

    ``dual``, ``curvature`` and ``best_multiple`` are those of a Lin that is linear or quadratic on
    its box,

        Lin(a) = linear'a - epsilon 1'|a| - least_curvature a'a / (2 C)
    """

    name: ClassVar[str]  # what texts, links and saved models call it
    label: ClassVar[str]  # what select boxes call it
    formula: ClassVar[str]  # V as LaTeX
    tasks: ClassVar[tuple[str, ...]] = ()
    # the numbers of the loss that a person may choose
    parameters: ClassVar[tuple[Parameter, ...]] = ()
    machine: ClassVar[str] = ""
    piecewise_linear: ClassVar[bool] = False
    quadratic: ClassVar[bool] = False
    sloped: ClassVar[bool] = False
    smooth: ClassVar[bool] = False
    signed: ClassVar[bool] = False
    takes_intercept: ClassVar[bool] = True
    of_residuals: ClassVar[bool] = False
    total: ClassVar[float] = 0.0
    least_curvature: ClassVar[float] = 0.0
    epsilon: float = 0.0
    slopes: tuple[float, float] = (-1.0, 0.0)

    @abstractmethod
    def value(self, t: Array, y: Array) -> Array:
        """V(t_i, y_i) for every point."""

    @abstractmethod
    def best_intercept(self, f: Array, y: Array) -> float:
        """The b that minimises sum_i V(f_i + b, y_i); the midpoint where an interval does."""

    def derivative(self, t: Array, y: Array) -> Array:
        """dV/dt for every point; sloped losses have it."""
        raise ParameterError(f"The loss {self.name} has no derivatives: it is not sloped.")

    def second_derivative(self, t: Array, y: Array) -> Array:
        """d2V/dt2 for every point; sloped losses have it."""
        raise ParameterError(f"The loss {self.name} has no derivatives: it is not sloped.")

    def box(self, y: Array, C: Cost) -> tuple[Array, Array]:
        """The box (low, high) of feasible duals: a_i = -C V'."""
        least, most = self.slopes
        low: Any = -C * most if most < np.inf else -np.inf
        high: Any = -C * least if least > -np.inf else np.inf
        if not self.signed:
            return np.full(y.shape, low), np.full(y.shape, high)
        positive = y > 0.0
        return np.where(positive, low, -high), np.where(positive, high, -low)

    def check_cost(self, n: int, C: Cost) -> None:  # noqa: B027  # most losses take any C
        """ParameterError where a loss that fixes its own C on ``n`` rows is asked for at another."""

    def linear(self, y: Array) -> Array:
        """The linear term of Lin: its slope at a = 0, beside the kink."""
        return y

    def dual(self, a: Array, y: Array, C: Cost) -> float:
        """Lin(a); minus infinity outside the box."""
        if not self.holds(a, y, C):
            return -np.inf
        worth = float(self.linear(y) @ a)
        if self.epsilon:
            worth -= self.epsilon * float(np.abs(a).sum())
        if self.least_curvature:
            worth -= float(np.sum(a * a / (2.0 * C)))
        return worth

    def holds(self, a: Array, y: Array, C: Cost) -> bool:
        """Whether a dual is in the box, but for its own rounding: a wide box forgives nothing."""
        low, high = self.box(y, C)
        largest = max(float(a.max(initial=0.0)), -float(a.min(initial=0.0)))
        slack = 1e-9 * np.minimum(C, largest)
        return bool((a >= low - slack).all() and (a <= high + slack).all())

    def curvature(self, a: Array, y: Array, C: Cost) -> Array:
        """Second derivative of -Lin at a (0 where Lin is linear)."""
        return np.full_like(a, self.least_curvature / C)

    def best_multiple(self, a: Array, y: Array, C: Cost, norm: float) -> float:
        """argmax_s Lin(s a) - s^2 norm over multiples s that stay in the box.

        ``norm`` is the conjugate of a homogeneous regulariser at a, so that s^2 norm is that at s a.
        """
        worth = float(self.linear(y) @ a) - self.epsilon * float(np.abs(a).sum())
        bent = 2.0 * norm
        if self.least_curvature:
            bent += float(np.sum(a * a / C))
        low, high = self.box(y, C)
        ends = np.where((a > 0.0) == (worth > 0.0), high, low)  # a multiple below 0 turns a round
        shares = np.divide(a, ends, out=np.zeros_like(a), where=ends != 0.0)
        largest = float(np.abs(shares).max(initial=0.0))
        if bent <= 0.0:
            return float(np.sign(worth)) / largest if largest > 0.0 else 0.0
        s = worth / bent
        return s if abs(s) * largest <= 1.0 else float(np.sign(s)) / largest


def _flat_middle(ends: Array, slope: Callable[[float], float], level: float) -> float:
    """Where an increasing ``slope``, straight between sorted ``ends``, is zero: the midpoint of an
    interval of such places.
    """
    high = min(bisect_right(ends, -level, key=slope), ends.size - 1)
    above = slope(ends[high])
    # every further end of no slope bounds the same interval, or is its start once more
    if abs(above) <= level:
        last = bisect_right(ends, level, lo=high, key=slope) - 1
        return float(0.5 * (ends[high] + ends[last]))
    low = max(high - 1, 0)
    below = slope(ends[low])
    return float(
        ends[high] - above * (ends[high] - ends[low]) / (above - below)
        if above > below
        else ends[high]
    )


class _Kinked(Loss):
    """A loss that is piecewise linear, so that its best intercept is a median."""

    machine = "svm"
    piecewise_linear = True

    def best_intercept(self, f: Array, y: Array) -> float:
        return best_intercept(self, f, y, np.ones_like(y))


@dataclass(frozen=True)
class Hinge(_Kinked):
    """V(t, y) = max(0, 1 - y t), labels y in {-1, +1}: the support vector machine."""

    name = "hinge"
    label = "hinge (support vector machine)"
    formula = r"\max(0,\,1-y_i f(x_i))"
    tasks = CLASSIFICATION
    signed = True

    def value(self, t: Array, y: Array) -> Array:
        return np.maximum(0.0, 1.0 - y * t)


@dataclass(frozen=True)
class SquaredHinge(Loss):
    """V(t, y) = max(0, 1 - y t)^2 / 2, labels y in {-1, +1}: the support vector machine with
    squared slacks.

    The conjugate is that of the squared loss on a half line: Lin(a) = y'a - a'a / (2 C) for y_i a_i
    >= 0, so that no dual is at an upper bound. Source: Cortes and Vapnik (1995), Support-vector
    networks, section 3; the conjugate by maximising.
    """

    name = "squared_hinge"
    label = "squared hinge (support vector machine)"
    formula = r"\tfrac12\max(0,\,1-y_i f(x_i))^2"
    tasks = CLASSIFICATION
    machine = "svm"
    sloped = True
    signed = True
    least_curvature = 1.0
    slopes = (-np.inf, 0.0)

    def value(self, t: Array, y: Array) -> Array:
        return 0.5 * np.maximum(0.0, 1.0 - y * t) ** 2

    def derivative(self, t: Array, y: Array) -> Array:
        return -y * np.maximum(0.0, 1.0 - y * t)

    def second_derivative(self, t: Array, y: Array) -> Array:
        return np.where(y * t < 1.0, 1.0, 0.0)

    def best_intercept(self, f: Array, y: Array) -> float:
        return _flat_middle(
            np.sort(y - f), lambda b: float(self.derivative(f + b, y).sum()), 1e-14 * y.size
        )


@dataclass(frozen=True)
class EpsilonInsensitive(_Kinked):
    """V(t, y) = max(0, |y - t| - epsilon): support vector regression with a tube of half-width
    epsilon.
    """

    epsilon: float = 0.1

    name = "epsilon_insensitive"
    label = "epsilon-insensitive (support vector regression)"
    formula = r"\max(0,\,|y_i-f(x_i)|-\varepsilon)"
    tasks = REGRESSION
    parameters = (
        Parameter(
            "epsilon",
            "Tube ε",
            "log",
            0.1,
            1e-4,
            1e3,
            "Wider tube: errors below ε are free, and fewer rows support the fit.",
        ),
    )
    of_residuals = True
    slopes = (-1.0, 1.0)

    def __post_init__(self) -> None:
        if not (np.isfinite(self.epsilon) and self.epsilon >= 0):
            raise ParameterError(
                "epsilon is the half-width of the tube and must be 0 or more; got "
                f"{self.epsilon!r}."
            )

    def value(self, t: Array, y: Array) -> Array:
        return np.maximum(0.0, np.abs(y - t) - self.epsilon)

    def best_multiple(self, a: Array, y: Array, C: Cost, norm: float) -> float:
        return max(0.0, super().best_multiple(a, y, C, norm))  # the kink turns round with a


@dataclass(frozen=True)
class Pinball(_Kinked):
    """V(t, y) = max(q (y - t), (q - 1) (y - t)): its least expected value is at the quantile q of y
    given x.

    The conjugate is linear on a box that is not symmetric: Lin(a) = y'a for (q - 1) C <= a_i <= q
    C. q = 1/2 is half the absolute error. With a free intercept at most a share q of the training
    targets is below the fit, at most 1 - q above.

    Parameters
    ----------
    quantile : float, default 0.5
        Quantile that is estimated, in (0, 1).

    References
    ----------
    Koenker and Bassett (1978), Econometrica 46; Takeuchi, Le, Sears, Smola (2006), Nonparametric
    quantile estimation, section 3.
    """

    quantile: float = 0.5

    name = "pinball"
    label = "pinball (quantile regression)"
    formula = r"\max\big(q\,r_i,\,(q-1)\,r_i\big),\;r_i=y_i-f(x_i)"
    tasks = REGRESSION
    parameters = (
        Parameter(
            "quantile",
            "Quantile q",
            "real",
            0.5,
            0.01,
            0.99,
            (
                "Share of targets that is to be below the fit: 0.5 is the median, 0.05 and "
                "0.95 are the ends of a band."
            ),
        ),
    )
    of_residuals = True

    def __post_init__(self) -> None:
        if not (np.isfinite(self.quantile) and 0.0 < self.quantile < 1.0):
            raise ParameterError(
                "quantile is a share of the targets and must be between 0 and 1; got "
                f"{self.quantile!r}."
            )
        object.__setattr__(self, "slopes", (-self.quantile, 1.0 - self.quantile))

    def value(self, t: Array, y: Array) -> Array:
        return np.maximum(self.quantile * (y - t), (self.quantile - 1.0) * (y - t))


@dataclass(frozen=True)
class Squared(Loss):
    """V(t, y) = (y - t)^2 / 2: kernel ridge regression, or the least-squares machine on labels -1
    and +1.
    """

    name = "squared"
    label = "squared (kernel ridge)"
    formula = r"\tfrac12(y_i-f(x_i))^2"
    tasks = CLASSIFICATION + REGRESSION
    machine = "ridge"
    quadratic = True
    of_residuals = True
    least_curvature = 1.0
    slopes = (-np.inf, np.inf)

    def value(self, t: Array, y: Array) -> Array:
        return 0.5 * (y - t) ** 2

    def derivative(self, t: Array, y: Array) -> Array:
        return t - y

    def second_derivative(self, t: Array, y: Array) -> Array:
        return np.ones_like(t)

    def best_intercept(self, f: Array, y: Array) -> float:
        return float(np.mean(y - f))


@dataclass(frozen=True)
class Huber(Loss):
    """V(t, y) = r^2 / 2 where |r| = |y - t| <= delta, else delta (|r| - delta / 2): outlying
    targets pull no harder than delta.

    The conjugate is that of the squared loss on a box: Lin(a) = y'a - a'a / (2 C) for |a_i| <=
    delta C. A large delta is the squared loss; delta to 0 with C delta fixed is the absolute error.

    Parameters
    ----------
    delta : float, default 1.0
        Residual beyond which the loss is linear, > 0.

    References
    ----------
    Huber (1964), Annals of Mathematical Statistics 35, section 4; the conjugate by maximising
    piecewise.
    """

    delta: float = 1.0

    name = "huber"
    label = "Huber (robust regression)"
    formula = r"\min\big(\tfrac12 r_i^2,\,\delta|r_i|-\tfrac12\delta^2\big),\;r_i=y_i-f(x_i)"
    tasks = REGRESSION
    parameters = (
        Parameter(
            "delta",
            "Huber δ",
            "log",
            1.0,
            1e-4,
            1e3,
            (
                "Smaller δ, in units of the target: rows further off than δ pull no harder. "
                "Large δ is the squared loss."
            ),
        ),
    )
    machine = "svm"
    sloped = True
    of_residuals = True
    least_curvature = 1.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.delta) and self.delta > 0):
            raise ParameterError(
                f"delta is where the loss turns straight and must be above 0; got {self.delta!r}."
            )
        object.__setattr__(self, "slopes", (-self.delta, self.delta))

    def value(self, t: Array, y: Array) -> Array:
        r = np.abs(y - t)
        return np.where(r <= self.delta, 0.5 * r * r, self.delta * (r - 0.5 * self.delta))

    def derivative(self, t: Array, y: Array) -> Array:
        return np.clip(t - y, -self.delta, self.delta)

    def second_derivative(self, t: Array, y: Array) -> Array:
        return np.where(np.abs(t - y) <= self.delta, 1.0, 0.0)

    def best_intercept(self, f: Array, y: Array) -> float:
        ends = np.sort(np.concatenate([y - f - self.delta, y - f + self.delta]))
        return _flat_middle(
            ends, lambda b: float(self.derivative(f + b, y).sum()), 1e-12 * self.delta * y.size
        )


@dataclass(frozen=True)
class Logistic(Loss):
    """V(t, y) = log(1 + exp(-y t)), labels y in {-1, +1}: kernel logistic regression."""

    name = "logistic"
    label = "logistic (logistic regression)"
    formula = r"\log(1+e^{-y_i f(x_i)})"
    tasks = CLASSIFICATION
    least_curvature = 4.0
    machine = "smooth"
    sloped = True
    smooth = True
    signed = True

    def value(self, t: Array, y: Array) -> Array:
        return np.logaddexp(0.0, -y * t)

    def derivative(self, t: Array, y: Array) -> Array:
        share: Array = scipy.special.expit(-y * t)
        return -y * share

    def second_derivative(self, t: Array, y: Array) -> Array:
        s: Array = scipy.special.expit(t)
        return s * (1.0 - s)

    def dual(self, a: Array, y: Array, C: Cost) -> float:
        if not self.holds(a, y, C):
            return -np.inf
        z = np.clip(y * a / C, 0.0, 1.0)
        return float(np.sum(C * (scipy.special.entr(z) + scipy.special.entr(1.0 - z))))

    def curvature(self, a: Array, y: Array, C: Cost) -> Array:
        z = np.clip(y * a / C, 1e-14, 1.0 - 1e-14)
        return 1.0 / (C * z * (1.0 - z))

    def best_multiple(self, a: Array, y: Array, C: Cost, norm: float) -> float:
        return 1.0  # no closed form

    def best_intercept(self, f: Array, y: Array) -> float:
        positive = int(np.count_nonzero(y > 0))
        if positive in (0, y.size):
            return float(np.sign(y[0]) * (40.0 + np.max(np.abs(f))))
        low = -45.0 - float(f.max())
        high = 45.0 - float(f.min())
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
class OneClass(_Kinked):
    """V(t) = max(0, 1 - t) without labels or intercept: novelty detection in the form (3.4) of the
    paper.
    """

    name = "one_class"
    label = "one-class (novelty detection)"
    formula = r"\max(0,\,1-f(x_i))"
    tasks = ("novelty",)
    takes_intercept = False

    def linear(self, y: Array) -> Array:
        return np.ones_like(y)

    def value(self, t: Array, y: Array) -> Array:
        return np.maximum(0.0, 1.0 - t)


@dataclass(frozen=True)
class NuOneClass(_Kinked):
    """The nu form of novelty detection: min 1/2 ||w||^2 + 1/(nu n) sum max(0, rho - f_i) - rho,
    written with b = -rho.

    V(t) = max(0, -t) at C = 1 / (nu n), a free intercept and the extra term b, whose dual is 1'a =
    1. At most a share nu of the points is left outside, at least a share nu supports the boundary.
    """

    nu: float = 0.5

    name = "nu_one_class"
    label = "one-class, nu form"
    formula = r"\max(0,\,\rho-f(x_i))"
    tasks = ("novelty",)
    total = 1.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.nu) and 0 < self.nu <= 1):
            raise ParameterError(
                "nu is the share of points left outside and must be above 0 and at most "
                f"1; got {self.nu!r}."
            )

    def check_cost(self, n: int, C: Cost) -> None:
        total = float(np.sum(np.broadcast_to(C, n)))
        if not abs(self.nu * total - 1.0) <= 1e-6:
            raise ParameterError(
                f"The nu form fixes C at 1 / (nu n), which with nu={self.nu:g} on {n} rows is "
                f"C={1.0 / (self.nu * n):.10g} (costs of single rows add up to 1 / nu); got C={total / n:.10g}. Take "
                'that C, or another nu, or the form without nu, loss="one_class", which leaves C free.'
            )

    def linear(self, y: Array) -> Array:
        return np.zeros_like(y)

    def value(self, t: Array, y: Array) -> Array:
        return np.maximum(0.0, -t)

    def best_multiple(self, a: Array, y: Array, C: Cost, norm: float) -> float:
        return 1.0  # 1'a is given

    def best_intercept(self, f: Array, y: Array) -> float:
        return best_intercept(self, f, y, np.full_like(y, 1.0 / (self.nu * y.size)))


Able = Callable[["Loss | type[Loss]"], bool]
LOSSES: dict[str, type[Loss]] = {
    loss.name: loss
    for loss in (
        Hinge,
        Logistic,
        Squared,
        SquaredHinge,
        EpsilonInsensitive,
        Huber,
        Pinball,
        OneClass,
        NuOneClass,
    )
}


def make_loss(loss: str | Loss, **given: float) -> Loss:
    """The loss called ``loss`` with what is ``given`` (epsilon, nu, ...), or the object itself.

    ParameterError for a name that is not in ``LOSSES``.
    """
    if isinstance(loss, Loss):
        return loss
    if loss not in LOSSES:
        raise ParameterError(
            f"There is no loss called {loss!r}; the losses are {', '.join(LOSSES)}."
        )
    return LOSSES[loss](**given)


def losses_for(
    tasks: Sequence[str],
    able: Able | None = None,
) -> tuple[str, ...]:
    """The names of the losses for any of ``tasks`` that are ``able``: those with a machine by
    default.
    """
    found = []
    for name, loss in LOSSES.items():
        suits = set(loss.tasks) & set(tasks)
        if suits and (able(loss) if able else loss.machine):
            found.append(name)
    return tuple(found)


def loss_for(
    loss: str | Loss,
    tasks: Sequence[str],
    able: Able | None = None,
    needed: str = "a machine",
    **given: float,
) -> Loss:
    """``make_loss`` for an estimator of ``tasks``, which takes what it has of what is ``given``;
    ParameterError for one that does not suit, with the losses that do and what is missing: a task,
    or what is ``needed`` of it where it is not ``able``.
    """
    kind: Any = loss
    if not isinstance(loss, Loss):
        kind = LOSSES.get(loss) if isinstance(loss, str) else None
    suits = kind is not None and not set(kind.tasks).isdisjoint(tasks)
    if suits and (able(kind) if able else kind.machine):
        known = kind.__dataclass_fields__
        made: Loss = (
            loss
            if isinstance(loss, Loss)
            else kind(**{name: value for name, value in given.items() if name in known})
        )
        if made.machine == "smooth" and type(made).dual is Loss.dual:
            raise ParameterError(
                f"The loss {made.name!r} is smooth and has no dual of its own, without "
                "which no answer can be proved: write dual(a, y, C) = -C sum V*(-a / C, "
                "y), minus infinity outside the box, and curvature(a, y, C)."
            )
        return made
    why = ""
    if kind is not None and not suits:
        why = (
            f" It is a loss for {' and '.join(kind.tasks) or 'no task'}, and "
            f"{' or '.join(tasks)} is asked for."
        )
    elif kind is not None:
        why = f" What is needed and {kind.name} lacks: {needed}."
    raise ParameterError(
        f"loss must be one of {', '.join(losses_for(tasks, able))} here; got {loss!r}.{why}"
    )


def best_intercept(loss: Loss, f: Array, y: Array, C: Cost) -> float:
    """The b that minimises sum_i C_i V(f_i + b, y_i), plus total * b; the midpoint where an
    interval does.

    ``C`` as in ``Loss``.
    """
    if np.ndim(C) == 0:
        return loss.best_intercept(f, y)
    w: Array = np.asarray(C)
    if loss.quadratic:
        return float(w @ (y - f) / w.sum())
    if loss.piecewise_linear:
        return _weighted_median(loss, f, y, w)
    low = float(np.min(-np.abs(y) - f)) - 45.0
    high = float(np.max(np.abs(y) - f)) + 45.0
    for _ in range(200):
        b = 0.5 * (low + high)
        low, high = (b, high) if w @ loss.derivative(f + b, y) < 0 else (low, b)
        if high - low <= 1e-15 * max(1.0, abs(b)):
            break
    return 0.5 * (low + high)


def _kinks(loss: Loss, f: Array, y: Array) -> tuple[Array, float]:
    """Where the errors bend as the intercept rises, and what the slope of a row rises by at each of
    its kinks. Far to the left it is ``slopes[0]``, or 0 for a negative label.
    """
    if loss.total:
        return -f, 1.0
    r = y - f
    if loss.signed:
        return r, 1.0
    below, above = loss.slopes
    return np.concatenate([r - loss.epsilon, r + loss.epsilon]), 0.5 * (above - below)


def _weighted_median(loss: Loss, f: Array, y: Array, w: Array) -> float:
    """``best_intercept`` where V has kinks only."""
    kinks, rise = _kinks(loss, f, y)
    rises = np.tile(rise * w, kinks.size // w.size)
    falling = w[y > 0] if loss.signed else w
    order = np.argsort(kinks, kind="stable")
    kinks = kinks[order]
    slopes = loss.total + loss.slopes[0] * float(falling.sum()) + np.cumsum(rises[order])
    level = 1e-12 * float(w.sum())
    at = min(int(np.searchsorted(slopes, -level)), kinks.size - 1)
    flat = abs(slopes[at]) <= level and at + 1 < kinks.size
    return float(0.5 * (kinks[at] + kinks[at + 1]) if flat else kinks[at])


def centre_of(loss: Loss, y: Array, fit_intercept: bool) -> float:
    """What may be taken from the target ``y`` (n,) before solving, and added to the intercept
    afterwards: the middle one of its values, or 0 where that is another problem.

    With a free intercept and a loss of residuals the duals sum to 0, so that neither duals nor
    objective nor dual value change. Far from zero they would be differences of large numbers. One
    of the values, and not their mean, leaves whole numbers whole, and follows no outlier.
    """
    if not (fit_intercept and loss.takes_intercept and loss.of_residuals):
        return 0.0
    return float(np.partition(y, y.size // 2)[y.size // 2])


def total_loss(
    loss: Loss,
    f: Array,
    b: float,
    y: Array,
    C: Cost,
) -> float:
    """C sum_i V(f_i + b, y_i), plus the intercept's own term where the loss has one; of residuals
    without rounding ``f`` to the digits that a large ``b`` leaves it.
    """
    losses = loss.value(f, y - b) if loss.of_residuals else loss.value(f + b, y)
    return float(np.sum(C * losses)) + loss.total * b
