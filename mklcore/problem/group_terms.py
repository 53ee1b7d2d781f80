"""Group selection terms: concave prices of the block norms that drive whole kernels out of a model.

    g(w) = G(r),   r_k = ||w_k||^2,   B_k = 2 dG/dr_k,   weight of kernel k:  beta_k = 1 / B_k

G is concave in r, so its tangent at the present point is above it: the quadratic price 1/2 sum_k B_k r_k with fixed B
majorises g, and minimising it is one machine with the kernel sum_k beta_k K_k. That is the reweighting loop of the lp
norm with another update. The terms constrain nothing and have no dual: a fit has no certificate.

| term | g | B_k |
|---|---|---|
| ``LogTerm`` | sum eta_k log sqrt(eps + r_k) | eta_k / (eps + r_k) |
| ``GroupLasso`` | sum eta_k sqrt(r_k) | eta_k / sqrt(r_k) |
| ``MFocuss`` | sum eta_k r_k^(p/2), 0 < p <= 1 | eta_k p r_k^(p/2 - 1) |
| ``SquaredGroupLasso`` | 1/2 (sum eta_k sqrt(r_k))^2 | eta_k (sum_i eta_i sqrt(r_i)) / sqrt(r_k) |
| ``MinimaxConcave`` | sum r_k / 2 + m_k(sqrt(r_k)), m' = (eta_k - t / reach)_+ | 1 + (eta_k / sqrt(r_k) - 1 / reach)_+
| | ``SmoothlyClipped`` | the same with the SCAD price | 1 + s_k'(sqrt(r_k)) / sqrt(r_k) |

``GroupLasso`` and ``SquaredGroupLasso`` (the price of l1 multiple kernel learning) are convex in w; the others and any
sum with them have local minima. Terms are added with ``+``: g and B add.

MCP and SCAD stop rising: a large block pays no more for being larger, so that what is kept is not held small. Kernels
need a price of smoothness beside that, or a chosen one would run through every row: 1/2 ||w_k||^2, the machine's own.

Source: Subrahmanya and Shin (2010), Table 1, with the derivative of the M-FOCUSS term corrected; MCP: Zhang (2010);
SCAD: Fan and Li (2001); both on groups: Breheny and Huang (2015).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mklcore.arrays import Array
from mklcore.errors import ParameterError
from mklcore.problem.norms import Penalty

Eta = float | tuple[float, ...]
LOG_EPSILON = 1e-6


class GroupTerm(Penalty):
    """What all terms share: the face they show to the reweighting loop. ``r``, ``n``, ``Q`` and weights are (M,)."""

    name: ClassVar[str] = "group selection term"
    certifies: ClassVar[bool] = False
    homogeneous: ClassVar[bool] = False

    @abstractmethod
    def value(self, r: Array) -> float:
        """g = G(r) for squared block norms r >= 0."""

    @abstractmethod
    def slopes(self, r: Array) -> Array:
        """B_k = 2 dG / dr_k; infinity where r_k = 0 and the term keeps it there."""

    @property
    def is_convex(self) -> bool:
        """True where g is convex in w, so that every start ends in the same optimum."""
        return False

    @property
    def formula(self) -> str:
        """The names of the terms as ``make_terms`` reads them."""
        return self.name

    def __add__(self, other: GroupTerm) -> SumOfTerms:
        if not isinstance(other, GroupTerm):
            return NotImplemented
        return SumOfTerms((*self._parts, *other._parts))

    @property
    def _parts(self) -> tuple[GroupTerm, ...]:
        return (self,)

    def start(self, M: int) -> Array:
        """Equal weights 1 / M."""
        return np.full(M, 1.0 / M)

    def scale(self, weights: Array) -> Array:
        """The weights as they are: a term fixes their scale itself."""
        return weights

    def regulariser(self, n: Array) -> float:
        """g at block norms n_k = ||w_k||."""
        return self.value(n * n)

    def dual_price(self, Q: Array) -> float:
        """Infinite: a concave term bounds nothing from below."""
        return np.inf

    def update(self, weights: Array, Q: Array) -> Array:
        """beta_k = 1 / B_k at r_k = weights_k^2 Q_k. Zero weights stay zero, except under the pure log term."""
        return 1.0 / self.slopes(weights**2 * np.maximum(Q, 0.0))


@dataclass(frozen=True)
class _Weighted(GroupTerm):
    """A term with group weights ``eta``: one number for all groups, or one per group, each above 0."""

    eta: Eta = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "eta", as_eta(self.eta))

    def _eta(self, M: int) -> Array:
        if isinstance(self.eta, tuple) and len(self.eta) != M:
            raise ParameterError(
                f"eta holds {len(self.eta)} group weights, but there are {M} kernels; give one per kernel, or one "
                f"number."
            )
        return np.broadcast_to(np.asarray(self.eta, dtype=np.float64), (M,))


@dataclass(frozen=True)
class LogTerm(_Weighted):
    """g = sum_k eta_k log sqrt(epsilon + r_k): the strongest selection; r_k = 0 leaves the weight epsilon / eta_k."""

    epsilon: float = LOG_EPSILON
    name: ClassVar[str] = "log"

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_positive("log_epsilon", self.epsilon, "the floor inside the logarithm")

    def value(self, r: Array) -> float:
        return 0.5 * float(self._eta(r.size) @ np.log(self.epsilon + r))

    def slopes(self, r: Array) -> Array:
        return self._eta(r.size) / (self.epsilon + r)


@dataclass(frozen=True)
class GroupLasso(_Weighted):
    """g = sum_k eta_k ||w_k||, convex: with the squared loss the l1 problem of greedy sparse learning."""

    name: ClassVar[str] = "gl"

    @property
    def is_convex(self) -> bool:
        return True

    def value(self, r: Array) -> float:
        return float(self._eta(r.size) @ np.sqrt(r))

    def slopes(self, r: Array) -> Array:
        return _over(self._eta(r.size), np.sqrt(r))


@dataclass(frozen=True)
class MFocuss(_Weighted):
    """g = sum_k eta_k ||w_k||^power with 0 < power <= 1; power 1 is the group lasso."""

    power: float = 0.5
    name: ClassVar[str] = "mf"

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_positive("mf_power", self.power, "the power of the block norms, at most 1", 1.0)

    @property
    def is_convex(self) -> bool:
        return self.power == 1

    def value(self, r: Array) -> float:
        return float(self._eta(r.size) @ r ** (0.5 * self.power))

    def slopes(self, r: Array) -> Array:
        return _over(self.power * self._eta(r.size), r ** (1.0 - 0.5 * self.power))


@dataclass(frozen=True)
class SquaredGroupLasso(_Weighted):
    """g = 1/2 (sum_k eta_k ||w_k||)^2, convex: the price of l1-norm multiple kernel learning, sum eta_k^2 beta_k =
    1.
    """

    name: ClassVar[str] = "mkl"

    @property
    def is_convex(self) -> bool:
        return True

    def value(self, r: Array) -> float:
        return 0.5 * float(self._eta(r.size) @ np.sqrt(r)) ** 2

    def slopes(self, r: Array) -> Array:
        eta, norms = self._eta(r.size), np.sqrt(r)
        return _over(eta * float(eta @ norms), norms)


@dataclass(frozen=True)
class MinimaxConcave(_Weighted):
    """g = sum_k 1/2 t_k^2 + m(t_k), t_k = ||w_k||: group MCP beside the machine's own 1/2 ||w||^2.

    m(t) = eta t - t^2 / (2 reach) up to t = reach eta and constant beyond, where a kernel is priced as in a plain
    machine. ``reach`` above 0; small: selection alone, large: the group lasso.
    """

    reach: float = 3.0
    name: ClassVar[str] = "mcp"

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_positive("reach", self.reach, "how far the price of MCP rises")

    def value(self, r: Array) -> float:
        eta = self._eta(r.size)
        t = np.minimum(np.sqrt(r), self.reach * eta)
        return float(0.5 * r.sum() + (eta * t - 0.5 * t**2 / self.reach).sum())

    def slopes(self, r: Array) -> Array:
        slopes: Array = 1.0 + np.maximum(_over(self._eta(r.size), np.sqrt(r)) - 1.0 / self.reach, 0.0)
        return slopes


@dataclass(frozen=True)
class SmoothlyClipped(_Weighted):
    """g = sum_k 1/2 t_k^2 + s(t_k), t_k = ||w_k||: group SCAD beside the machine's own 1/2 ||w||^2.

    s rises with slope eta up to t = eta, then ever less, and not at all beyond t = knee eta; ``knee`` above 2, 3.7 as
    published.
    """

    knee: float = 3.7
    name: ClassVar[str] = "scad"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (isinstance(self.knee, (int, float)) and np.isfinite(self.knee) and self.knee > 2):
            raise ParameterError(
                f"knee is where the price of SCAD stops rising, and must be above 2; got {self.knee!r}."
            )

    def value(self, r: Array) -> float:
        eta, a = self._eta(r.size), self.knee
        t = np.minimum(np.sqrt(r), a * eta)
        bent = (2.0 * a * eta * t - t**2 - eta**2) / (2.0 * (a - 1.0))
        return float(0.5 * r.sum() + np.where(t <= eta, eta * t, bent).sum())

    def slopes(self, r: Array) -> Array:
        eta, t = self._eta(r.size), np.sqrt(r)
        rise = np.where(t <= eta, eta, np.maximum(self.knee * eta - t, 0.0) / (self.knee - 1.0))
        return 1.0 + _over(rise, t)


@dataclass(frozen=True)
class SumOfTerms(GroupTerm):
    """g = g_1 + g_2 + ...; slopes add, then invert. The paper's choice is log + group lasso with unit coefficients."""

    terms: tuple[GroupTerm, ...]
    name: ClassVar[str] = "sum of terms"

    @property
    def is_convex(self) -> bool:
        return all(term.is_convex for term in self.terms)

    @property
    def formula(self) -> str:
        return "+".join(term.formula for term in self.terms)

    @property
    def _parts(self) -> tuple[GroupTerm, ...]:
        return self.terms

    def value(self, r: Array) -> float:
        return sum(term.value(r) for term in self.terms)

    def slopes(self, r: Array) -> Array:
        slopes: Array = np.sum([term.slopes(r) for term in self.terms], axis=0)
        return slopes


TERMS: dict[str, type[_Weighted]] = {
    term.name: term for term in (LogTerm, GroupLasso, MFocuss, SquaredGroupLasso, MinimaxConcave, SmoothlyClipped)
}


def make_terms(
    names: str | GroupTerm, *, eta: Any = None, log_epsilon: float = LOG_EPSILON, mf_power: float = 0.5
) -> GroupTerm:
    """The sum of terms that ``names`` says, such as "log+gl": any of ``TERMS`` joined by +; a term passes as it is.

    ``eta``: group weights, None (1 for every group), a number or one per kernel. ParameterError for unknown names.
    """
    if isinstance(names, GroupTerm):
        return names
    weights = as_eta(1.0 if eta is None else eta)
    own: dict[str, tuple[float, ...]] = {"log": (log_epsilon,), "mf": (mf_power,)}
    known: dict[str, GroupTerm] = {name: term(weights, *own.get(name, ())) for name, term in TERMS.items()}
    wanted = [name.strip().lower() for name in names.split("+")] if isinstance(names, str) else []
    if not wanted or any(name not in known for name in wanted):
        raise ParameterError(f"terms must be a sum of {', '.join(known)}, such as 'log+gl'; got {names!r}.")
    parts = tuple(known[name] for name in wanted)
    return parts[0] if len(parts) == 1 else SumOfTerms(parts)


def as_eta(eta: Any) -> Eta:
    """Group weights as one float or a tuple; ParameterError unless every one is finite and above 0."""
    try:
        values = np.asarray(eta, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"eta must be a number or one number per kernel; got {eta!r}.") from None
    if values.ndim > 1 or values.size == 0 or not np.all(np.isfinite(values) & (values > 0)):
        raise ParameterError(f"eta holds group weights and each must be finite and above 0; got {eta!r}.")
    return float(values) if values.ndim == 0 else tuple(values.tolist())


def _over(numerator: Array, denominator: Array) -> Array:
    """numerator / denominator with infinity over zero, also for 0 / 0: an absent kernel stays absent."""
    live = denominator > 0.0
    return np.where(live, numerator / np.where(live, denominator, 1.0), np.inf)


def _check_positive(name: str, value: Any, what: str, most: float = np.inf) -> None:
    good = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if not (good and np.isfinite(value) and 0 < value <= most):
        raise ParameterError(f"{name} is {what}, and must be above 0; got {value!r}.")
