"""Penalties that weight the kernels: a constraint on the weights theta, or a regulariser of the block
norms, seen from three sides.

Each penalty answers, for block norms n_m = ||w_m|| and quadratic forms Q_m = a'K_m a,
- ``regulariser(n)``: its value in the primal,  min_theta 1/2 sum_m n_m^2 / theta_m  over the allowed
  weights,
- ``conjugate(Q)``: its convex conjugate at sqrt(Q), which the dual subtracts,  max_theta 1/2 theta'Q
  over the allowed weights,
- ``update(weights, Q)``: the analytic next weights, the minimiser behind ``regulariser`` at n_m =
  theta_m sqrt(Q_m).

Source: Kloft et al. (2011), equation (17), Proposition 2 (19), section 3.

Group selection terms: concave functions of the block norms that drive whole kernels out of a model.

    g(w) = G(r),   r_k = ||w_k||^2,   B_k = 2 dG/dr_k,   weight of kernel k:  beta_k = 1 / B_k

G is concave in r, so its tangent at the present point is above it: the quadratic 1/2 sum_k
B_k r_k with fixed B majorises g, and minimising it is one machine with the kernel sum_k beta_k K_k.
That is the reweighting loop of the lp norm with another update. The terms constrain nothing and
have no dual: a fit has no certificate.

    term               g                              B_k
    LogTerm            sum eta_k log sqrt(eps + r_k)  eta_k / (eps + r_k)
    GroupLasso         sum eta_k sqrt(r_k)            eta_k / sqrt(r_k)
    MFocuss            sum eta_k r_k^(p/2)            eta_k p r_k^(p/2 - 1),   0 < p <= 1
    SquaredGroupLasso  1/2 (sum eta_k sqrt(r_k))^2    eta_k (sum_i eta_i sqrt(r_i)) / sqrt(r_k)
    MinimaxConcave     sum r_k / 2 + m_k(sqrt(r_k))   1 + (eta_k / sqrt(r_k) - 1 / reach)_+
    SmoothlyClipped    sum r_k / 2 + s_k(sqrt(r_k))   1 + s_k'(sqrt(r_k)) / sqrt(r_k)

Here m_k is the term of MCP, m_k'(t) = (eta_k - t / reach)_+, and s_k that of SCAD.

``GroupLasso`` and ``SquaredGroupLasso`` (the penalty of l1 multiple kernel learning) are convex in w;
the others and any sum with them have local minima. Terms are added with ``+``: g and B add.

MCP and SCAD stop rising: beyond a certain norm a block is not penalised any further, so that what is
kept is not held small. Kernels need a penalty on roughness beside that, or a chosen one would run
through every row: 1/2 ||w_k||^2, the machine's own.

Source: Subrahmanya and Shin (2010), Table 1, with the derivative of the M-FOCUSS term corrected;
MCP: Zhang (2010); SCAD: Fan and Li (2001); both on groups: Breheny and Huang (2015).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np

from mklcore._lazy import cached_property
from mklcore.arrays import Array, longest_step
from mklcore.errors import ParameterError
from mklcore.kernels.grams import alignment_matrix
from mklcore.parameters import Parameter, is_finite_number


class Penalty(ABC):
    """What weights the kernels; ``weights``, ``n`` and ``Q`` are (M,) and non-negative.

    A subclass is a frozen dataclass; one line in ``PENALTIES`` makes it known to estimators, pages
    and saved models. Solvers never ask which penalty it is, but what it can do; ``check_claims``
    compares ``order`` with its conjugate:

    certifies : ``conjugate`` is finite: a dual point bounds the optimum from below
    homogeneous : the conjugate at s^2 Q is s^2 times that at Q, so that a dual may be scaled in
        closed form
    ascends : alternating with the machine raises the dual instead of lowering the primal
    sparse : weights end at zero: negligible ones are set to it
    order : p where the conjugate is that of ||theta||_p <= 1, None for everything else: at 1 the
        l1 problem, at infinity the plain sum, one machine, and in between Q_m is proportional to
        theta_m^(p - 1)
    """

    name: ClassVar[str]  # what texts, links and saved models call it
    help: ClassVar[str] = ""  # what choosing it does, in a sentence
    problem: ClassVar[str] = ""  # its part of the problem that is solved, as LaTeX
    look_for: ClassVar[str] = ""
    cannot_tell: ClassVar[str] = ""
    parameters: ClassVar[tuple[Parameter, ...]] = ()  # its numbers that a person may choose
    certifies: ClassVar[bool] = True
    homogeneous: ClassVar[bool] = True
    ascends: ClassVar[bool] = False

    @classmethod
    def chosen(
        cls,
        values: Mapping[str, float],
        stack: Any = None,
        alignment: Any = None,
    ) -> Self:
        """The penalty with the ``values`` of its parameters, for kernels in a ``GramStack``, where
        it is made from those.

        ``alignment`` is the (M, M) alignment matrix of the kernels or a function that returns it.
        """
        return cls(
            **{
                parameter.name: values.get(parameter.name, parameter.default)
                for parameter in cls.parameters
            }
        )

    @property
    def order(self) -> float | None:
        """p of the lp norm with the same conjugate; None where there is none."""
        return None

    @property
    def sparse(self) -> bool:
        """Whether weights end at zero: at p = 1 by default."""
        return self.order == 1

    @abstractmethod
    def start(self, M: int) -> Array:
        """Equal positive weights, on the boundary of the constraint where there is one."""

    @abstractmethod
    def scale(self, weights: Array) -> Array:
        """The same direction, moved to the boundary of the constraint; as they are where there is
        none.
        """

    @abstractmethod
    def regulariser(self, n: Array) -> float:
        """The value of the penalty at block norms n_m = ||w_m||."""

    @abstractmethod
    def conjugate(self, Q: Array) -> float:
        """The convex conjugate of ``regulariser`` at block norms sqrt(Q_m), Q_m = a'K_m a.

        The dual objective is Lin(a) minus this value; it is infinite where nothing is certified.
        """

    @abstractmethod
    def update(self, weights: Array, Q: Array) -> Array:
        """The analytic next weights, behind ``regulariser`` at n_m = theta_m sqrt(Q_m)."""

    def cost(self, weights: Array) -> float:
        """The penalty on the weights themselves, beside 1/2 sum_m n_m^2 / theta_m; zero where the
        weights are constrained instead.
        """
        return 0.0

    def check_claims(self, M: int) -> None:
        """ParameterError unless the conjugate of M forms is the one that ``order`` promises."""
        if self.order is None:
            return
        Q = np.arange(1.0, M + 1.0)
        found = self.conjugate(Q)
        promised = 0.5 * vector_norm(Q, conjugate_exponent(self.order))
        if not np.isclose(found, promised, rtol=1e-9):
            raise ParameterError(
                f"The {self.name} claims order={self.order:g}, so that its conjugate must "
                "be half the norm of the forms in the conjugate exponent; of the forms 1 "
                f"to {M} it is {found:g} instead of {promised:g}. Claim what the table in "
                "Penalty says."
            )


RIDGE_OF_E = 0.05  # keeps the elliptic norm's matrix positive definite among copies
# weights of the elastic net below this are zero where the dual has no use for the kernel
_VANISHED = 1e-7
_ORDER = Parameter(
    "p",
    "Norm p",
    "p",
    1.0,
    1.0,
    float("inf"),
    "Smaller p: the weight gathers on fewer kernels. 1 is sparse, ∞ is the plain sum.",
)
_SQUARES = r"\tfrac12\sum_m\frac{\|w_m\|^2}{\theta_m},"


def vector_norm(v: Array, order: float) -> float:
    """(sum |v_m|^order)^(1/order), scaled by the largest entry so that orders in the hundreds
    neither overflow nor vanish.
    """
    sizes = np.abs(v)
    largest = float(sizes.max(initial=0.0))
    if largest == 0.0 or np.isinf(order):
        return largest
    return largest * float(((sizes / largest) ** order).sum() ** (1.0 / order))


def _is_order(value: Any, least: float) -> bool:
    """Whether ``value`` is a number from ``least`` on, which infinity is and NaN is not."""
    return isinstance(value, (int, float, np.number)) and bool(value >= least)


def conjugate_exponent(p: float) -> float:
    """p* with 1/p + 1/p* = 1."""
    if p == 1:
        return np.inf
    return 1.0 if np.isinf(p) else p / (p - 1.0)


@dataclass(frozen=True)
class LpNorm(Penalty):
    """||theta||_p <= 1: sparse at p = 1, the plain sum of kernels at p = infinity.

    Equivalent to the block norm 1/2 ||w||_{2,q}^2 with q = 2p / (p + 1).

    Parameters
    ----------
    p : float, default 1.0
        Norm of the weights, from 1 to infinity.

    Examples
    --------
    >>> LpNorm(2.0).conjugate(np.array([3.0, 4.0]))
    2.5
    """

    p: float = 1.0
    name = "lp"
    problem = _SQUARES + r"\qquad \|\theta\|_p\le 1"
    parameters = (_ORDER,)

    def __post_init__(self) -> None:
        if not _is_order(self.p, 1.0):
            raise ParameterError(
                f"p is the order of the norm on the kernel weights and must be 1 or more "
                f"(1 is sparse, infinity is the plain sum); got {self.p!r}."
            )

    @property
    def order(self) -> float:
        return self.p

    def start(self, M: int) -> Array:
        return np.full(M, 1.0 if np.isinf(self.p) else M ** (-1.0 / self.p))

    def scale(self, weights: Array) -> Array:
        if np.isinf(self.p):
            return np.ones_like(weights)
        norm = vector_norm(weights, self.p)
        return weights / norm if norm > 0 else self.start(weights.size)

    def regulariser(self, n: Array) -> float:
        q = 2.0 if np.isinf(self.p) else 2.0 * self.p / (self.p + 1.0)
        return 0.5 * vector_norm(n, q) ** 2

    def conjugate(self, Q: Array) -> float:
        return 0.5 * vector_norm(Q, conjugate_exponent(self.p))

    def update(self, weights: Array, Q: Array) -> Array:
        """Proposition 2 (19): theta_m proportional to n_m^{2/(p+1)}, on the unit sphere of the
        p-norm.
        """
        if np.isinf(self.p):
            return np.ones_like(weights)
        squares = weights**2 * np.maximum(Q, 0.0)
        largest = float(squares.max(initial=0.0))
        if largest <= 0.0:  # w = 0: any weights are optimal, keep these
            return weights
        return self.scale((squares / largest) ** (1.0 / (self.p + 1.0)))


@dataclass(frozen=True)
class WeightedLpNorm(Penalty):
    """(sum_m d_m theta_m^p)^(1/p) <= 1 with coefficients d > 0: a kernel with a large
    d_m must earn its weight.

    The same as the lp norm of d^(1/p) theta on the kernels d^(-1/p) K.

    Parameters
    ----------
    p : float
        Norm of the weights, from 1 to infinity.
    d : ndarray of shape (M,)
        Coefficient of every kernel, > 0.

    References
    ----------
    Kloft et al. (2011), equation (19), on the kernels d^(-1/p) K.
    """

    p: float
    d: tuple[float, ...]
    name = "weighted lp"
    help = "a kernel that sees many columns costs more and must earn its weight"
    problem = (
        _SQUARES
        + r"\qquad \Big(\sum_m d_m\,\theta_m^{\,p}\Big)^{1/p}\le 1,\quad d_m\text{ the columns of kernel }m"
    )
    look_for = (
        "Kernels of few columns gain on those of many. Compare with the lp norm at the "
        "same p: what falls away cost too much."
    )
    cannot_tell = (
        "The coefficients are chosen before the data is seen: they count columns, not what a "
        "column is worth."
    )
    parameters = (_ORDER,)

    @classmethod
    def chosen(
        cls,
        values: Mapping[str, float],
        stack: Any = None,
        alignment: Any = None,
    ) -> Self:
        """The norm with the number of columns of every kernel as its coefficient."""
        return cls(values.get("p", _ORDER.default), columns_seen(_given(cls.name, stack)))

    def __post_init__(self) -> None:
        LpNorm(self.p)  # which checks p
        object.__setattr__(self, "d", tuple(float(entry) for entry in np.ravel(self.d)))
        if not all(np.isfinite(entry) and entry > 0 for entry in self.d) or not self.d:
            raise ParameterError(
                f"d are the coefficients of the kernels and must be finite and above 0; got {self.d!r}."
            )

    @property
    def order(self) -> float | None:
        return np.inf if np.isinf(self.p) else None

    def _factor(self, M: int) -> Array:
        if len(self.d) != M:
            raise ParameterError(
                f"The norm has {len(self.d)} coefficients d, but there are {M} kernels; give one "
                "per kernel."
            )
        return np.ones(M) if np.isinf(self.p) else np.array(self.d) ** (1.0 / self.p)

    def start(self, M: int) -> Array:
        return LpNorm(self.p).start(M) / self._factor(M)

    def scale(self, weights: Array) -> Array:
        factor = self._factor(weights.size)
        return LpNorm(self.p).scale(weights * factor) / factor

    def regulariser(self, n: Array) -> float:
        return LpNorm(self.p).regulariser(n * np.sqrt(self._factor(n.size)))

    def conjugate(self, Q: Array) -> float:
        return LpNorm(self.p).conjugate(Q / self._factor(Q.size))

    def update(self, weights: Array, Q: Array) -> Array:
        factor = self._factor(Q.size)
        return LpNorm(self.p).update(weights * factor, Q / factor) / factor


@dataclass(frozen=True)
class BlockNorm(Penalty):
    """1/2 ||w||_{2,q}^2 with q >= 2: more even than the plain sum (q = 2), up to equal block norms
    (q = infinity).

    Weights are eta_m = 1 / th_m with ||th||_r <= 1, r = q / (q - 2). The paper's update
    (33) is wrong and diverges; the dual is a joint maximisation in (a, th), and th_m proportional
    to Q_m^(1/(r+1)) raises it monotonically.

    Parameters
    ----------
    q : float
        Norm over the blocks, from 2 to infinity.

    References
    ----------
    Kloft et al. (2011), section 4.3, with another update than its equation (33).
    """

    q: float
    name = "block norm"
    help = "the parts of the kernels more even than under the plain sum"
    problem = r"\tfrac12\Big(\sum_m\|w_m\|^q\Big)^{2/q},\qquad q\ge 2"
    look_for = (
        "Every kernel stays. As q grows the parts of the kernels grow alike, beyond the "
        "plain sum at q = 2."
    )
    cannot_tell = (
        "Here a large weight marks a kernel that is helped because it is weak, not one "
        "that matters."
    )
    parameters = (
        Parameter(
            "q",
            "Block norm q",
            "log",
            4.0,
            2.0,
            100.0,
            "Larger q: the kernels share the work more evenly; 2 is the plain sum.",
        ),
    )
    ascends = True

    def __post_init__(self) -> None:
        if not _is_order(self.q, 2.0):
            raise ParameterError(
                f"q is the order of the block norm and must be 2 or more here; got {self.q!r}. "
                "For q below 2 use LpNorm(p = q / (2 - q)), the same problem."
            )

    @property
    def order(self) -> float | None:
        return np.inf if self.q == 2 else None

    @property
    def _r(self) -> float:
        if self.q == 2:
            return np.inf
        return 1.0 if np.isinf(self.q) else self.q / (self.q - 2.0)

    def start(self, M: int) -> Array:
        return np.full(M, M ** (1.0 / self._r))

    def scale(self, weights: Array) -> Array:
        positive = np.maximum(weights, 1e-15 * max(float(weights.max()), 1e-300))
        if self.q == 2:
            return np.ones_like(weights)
        return positive * vector_norm(1.0 / positive, self._r)

    def regulariser(self, n: Array) -> float:
        return 0.5 * vector_norm(n, self.q) ** 2

    def conjugate(self, Q: Array) -> float:
        return 0.5 * vector_norm(np.sqrt(Q), conjugate_exponent(self.q)) ** 2

    def update(self, weights: Array, Q: Array) -> Array:
        largest = float(Q.max(initial=0.0))
        if largest <= 0.0 or self.q == 2:
            return weights
        # a vanishing block is hardly charged: its weight would be infinite
        floored = np.maximum(Q / largest, 1e-14)
        return self.scale(floored ** (-1.0 / (self._r + 1.0)))


@dataclass(frozen=True, eq=False)
class EllipticNorm(Penalty):
    """sqrt(theta' E^-1 theta) <= 1 with E positive definite: kernels that E ties together rise and
    fall together.

    ``E`` (M, M), for example an alignment matrix plus 0.05 I.

    Parameters
    ----------
    E : ndarray of shape (M, M)
        Positive definite matrix that ties kernels together.

    References
    ----------
    Kloft et al. (2011), section 3.5.
    """

    E: Array
    name = "elliptic"
    help = "kernels that look alike rise and fall together"
    problem = (
        _SQUARES
        + r"\qquad \sqrt{\theta^{\top}E^{-1}\theta}\le 1,\quad E\text{ the alignments of the kernels}+"
        rf"{RIDGE_OF_E:g}\,I"
    )
    look_for = (
        "Kernels that look alike rise and fall together instead of taking each other's place."
    )
    cannot_tell = (
        "E comes from the kernels alone: it knows which of them are alike, not which of them help."
    )

    @classmethod
    def chosen(
        cls,
        values: Mapping[str, float],
        stack: Any = None,
        alignment: Any = None,
    ) -> Self:
        """The norm whose E is the alignment matrix of the kernels plus a ridge."""
        kernels = _given(cls.name, stack)
        if alignment is None:
            alignment = alignment_matrix(kernels)
        between = np.asarray(alignment() if callable(alignment) else alignment)
        return cls(between + RIDGE_OF_E * np.eye(kernels.n_kernels))

    def __post_init__(self) -> None:
        E = np.array(self.E, dtype=np.float64)
        if E.ndim != 2 or E.shape[0] != E.shape[1] or not np.all(np.isfinite(E)):
            raise ParameterError(f"E must be a finite square matrix (M, M); got shape {E.shape}.")
        if not np.allclose(E, E.T, rtol=1e-8, atol=1e-12):
            raise ParameterError("E must be symmetric; use (E + E') / 2.")
        smallest = float(np.linalg.eigvalsh(E)[0])
        if smallest <= 1e-12 * float(np.abs(E).max()):
            raise ParameterError(
                f"E must be positive definite; its smallest eigenvalue is {smallest:.3g}. "
                "Add a multiple of the identity, for example 0.05."
            )
        E.flags.writeable = False
        object.__setattr__(self, "E", E)

    @cached_property
    def _inverse(self) -> Array:
        return np.asarray(np.linalg.inv(self.E), dtype=np.float64)

    @cached_property
    def _root(self) -> Array:
        """R with R'R = E, so that v'E v = ||R v||^2."""
        return np.asarray(np.linalg.cholesky(self.E).T, dtype=np.float64)

    def _checked(self, v: Array) -> Array:
        if v.size != self.E.shape[0]:
            raise ParameterError(f"E is for {self.E.shape[0]} kernels, but there are {v.size}.")
        return v

    def start(self, M: int) -> Array:
        return self.scale(self._checked(np.ones(M)))

    def scale(self, weights: Array) -> Array:
        norm = float(np.sqrt(weights @ self._inverse @ weights))
        return weights / norm if norm > 0 else self.start(weights.size)

    def regulariser(self, n: Array) -> float:
        live = n > 0
        if not live.any():
            return 0.0
        theta = self._nearest(n, np.ones_like(n))
        return 0.5 * float(np.sum(n[live] ** 2 / theta[live]))

    def conjugate(self, Q: Array) -> float:
        """min over gamma >= 0 of sqrt(v'E v), v = Q / 2 + gamma; any gamma found gives a valid upper
        bound.
        """
        from scipy.optimize import nnls  # not at start-up

        v = 0.5 * self._checked(Q)
        if np.any(self.E < 0):
            v = v + nnls(self._root, -(self._root @ v), maxiter=30 * v.size)[0]
        return float(np.sqrt(v @ self.E @ v))

    def update(self, weights: Array, Q: Array) -> Array:
        n = weights * np.sqrt(np.maximum(Q, 0.0))
        return weights if not np.any(n > 0) else self._nearest(n, weights)

    def _nearest(self, n: Array, start: Array) -> Array:
        """argmin over theta > 0 of sum n_m^2 / (2 theta_m) + 1/2 theta'E^-1 theta, on the boundary:
        Newton, 0.99 to the wall.
        """
        squares = np.maximum(n, 1e-9 * float(n.max())) ** 2
        squares = squares / float(squares.max())
        inverse = self._inverse
        theta = np.maximum(start, 1e-6 * float(start.max()))
        ratio = float(np.sum(squares / theta)) / float(theta @ inverse @ theta)
        theta = theta * ratio ** (1.0 / 3.0)
        for _ in range(200):
            gradient = inverse @ theta - 0.5 * squares / theta**2
            step = np.linalg.solve(inverse + np.diag(squares / theta**3), -gradient)
            theta = theta + min(1.0, 0.99 * longest_step(theta, step)) * step
            if np.max(np.abs(step) / theta) < 1e-12:
                break
        return self.scale(theta)


@dataclass(frozen=True)
class ElasticNet(Penalty):
    """(1 - mu) sum_m ||w_m|| + mu/2 sum_m ||w_m||^2 with 0 < mu <= 1: sparse kernels, and copies
    share their weight.

    With n = min over t of (n^2 / t + t) / 2 the penalty is 1/2 n^2 / theta plus a cost of theta = t /
    (1 - mu + mu t), which is smallest at t = n: the update. The conjugate is sum_m [sqrt(Q_m) - (1 -
    mu)]_+^2 / (2 mu), and not homogeneous. mu = 1 is the plain sum; mu = 0 has no finite conjugate
    and is refused (the same kernels enter at p = 1, another C).

    Parameters
    ----------
    mu : float, default 0.5
        Weight of the squared norms, in (0, 1].

    References
    ----------
    Zou and Hastie (2005), Journal of the Royal Statistical Society B 67, for groups as in Tomioka
    and Suzuki (2010), "Sparsity-accuracy trade-off in MKL".
    """

    mu: float = 0.5
    name = "elastic net"
    help = "few kernels stay, and kernels that look alike stay together"
    problem = r"(1-\mu)\sum_m\|w_m\|+\tfrac{\mu}{2}\sum_m\|w_m\|^2"
    look_for = (
        "Which kernels leave as μ falls, and at which C they enter: below some C none is "
        "worth its penalty."
    )
    cannot_tell = (
        "μ and C act together: the same C is another strength at another μ. A weight has "
        "no natural unit here; it is between 0 and 1/μ."
    )
    parameters = (
        Parameter(
            "mu",
            "Share μ of squares",
            "log",
            0.5,
            0.01,
            1.0,
            "Smaller μ: fewer kernels stay; 1 is the plain sum.",
        ),
    )
    homogeneous = False

    def __post_init__(self) -> None:
        if not (is_finite_number(self.mu) and 0 < self.mu <= 1):
            raise ParameterError(
                "mu is the share of the squared norms and must be above 0 and at most 1; "
                f"got {self.mu!r}. Without squares use LpNorm(1), which keeps the same "
                "kernels at another C."
            )

    @property
    def sparse(self) -> bool:
        return self.mu < 1

    @property
    def order(self) -> float | None:
        return np.inf if self.mu == 1 else None

    def start(self, M: int) -> Array:
        return np.ones(M)

    def scale(self, weights: Array) -> Array:
        return weights if weights.any() else self.start(weights.size)

    def regulariser(self, n: Array) -> float:
        return float((1.0 - self.mu) * n.sum() + 0.5 * self.mu * (n @ n))

    def conjugate(self, Q: Array) -> float:
        pull = np.sqrt(np.maximum(Q, 0.0))
        over = np.maximum(pull - (1.0 - self.mu), 0.0)
        return float(over @ over) / (2.0 * self.mu)

    def update(self, weights: Array, Q: Array) -> Array:
        """theta = n / (1 - mu + mu n) at n = theta sqrt(Q); kernels of no use to the dual end at
        zero, others come back.
        """
        if self.mu == 1:
            return np.ones_like(weights)
        pull = np.sqrt(np.maximum(Q, 0.0))
        norms = weights * pull
        following = norms / (1.0 - self.mu + self.mu * norms)
        useless = pull < 1.0 - self.mu
        following[useless & (following < _VANISHED)] = 0.0
        return np.where(~useless & (weights < _VANISHED), 1e-3, following)

    def cost(self, weights: Array) -> float:
        if self.mu == 1:
            return 0.0
        room = np.maximum(1.0 - self.mu * weights, np.finfo(float).eps)
        return float(0.5 * (1.0 - self.mu) ** 2 * np.sum(weights / room))


def columns_seen(stack: Any) -> tuple[float, ...]:
    """The number of columns that each kernel of a stack sees; 1 where that is not known."""
    if stack.specs is None:
        return (1.0,) * int(stack.n_kernels)
    return tuple(float(len(spec.features)) for spec in stack.specs)


def _given(name: str, stack: Any) -> Any:
    if stack is None:
        raise ParameterError(
            f"The {name} norm is made from the kernels: pass stack, the training GramStack."
        )
    return stack


Eta = float | tuple[float, ...]
LOG_EPSILON = 1e-6


class GroupTerm(Penalty):
    """What all terms share: the face they show to the reweighting loop.

    ``r``, ``n``, ``Q`` and weights are (M,).
    """

    name = "group selection term"
    certifies = False
    homogeneous = False

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

    def conjugate(self, Q: Array) -> float:
        """Infinite: a concave term bounds nothing from below."""
        return np.inf

    def update(self, weights: Array, Q: Array) -> Array:
        """beta_k = 1 / B_k at r_k = weights_k^2 Q_k.

        Zero weights stay zero, except under the pure log term.
        """
        return 1.0 / self.slopes(weights**2 * np.maximum(Q, 0.0))


@dataclass(frozen=True)
class _Weighted(GroupTerm):
    """A term with group weights ``eta``: one number for all groups, or one per group, each above 0."""

    eta: Eta = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "eta", as_eta(self.eta))

    def _eta(self, M: int) -> Array:
        check_eta(self.eta, M)
        return np.broadcast_to(np.asarray(self.eta, dtype=np.float64), (M,))


@dataclass(frozen=True)
class LogTerm(_Weighted):
    """g = sum_k eta_k log sqrt(epsilon + r_k): the strongest selection; r_k = 0 leaves the weight
    epsilon / eta_k.
    """

    epsilon: float = LOG_EPSILON
    name = "log"

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_positive("log_epsilon", self.epsilon, "the floor inside the logarithm")

    def value(self, r: Array) -> float:
        return 0.5 * float(self._eta(r.size) @ np.log(self.epsilon + r))

    def slopes(self, r: Array) -> Array:
        return self._eta(r.size) / (self.epsilon + r)


class _Power(_Weighted):
    """g = sum_k eta_k ||w_k||^power."""

    power: float

    def value(self, r: Array) -> float:
        return float(self._eta(r.size) @ r ** (0.5 * self.power))

    def slopes(self, r: Array) -> Array:
        return _over(self.power * self._eta(r.size), r ** (1.0 - 0.5 * self.power))


@dataclass(frozen=True)
class GroupLasso(_Power):
    """g = sum_k eta_k ||w_k||, convex: with the squared loss the l1 problem of greedy sparse
    learning.
    """

    name = "gl"
    power = 1.0
    is_convex = True


@dataclass(frozen=True)
class MFocuss(_Power):
    """g = sum_k eta_k ||w_k||^power with 0 < power <= 1; power 1 is the group lasso."""

    power: float = 0.5
    name = "mf"

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_positive("mf_power", self.power, "the power of the block norms, at most 1", 1.0)

    @property
    def is_convex(self) -> bool:
        return self.power == 1


@dataclass(frozen=True)
class SquaredGroupLasso(_Weighted):
    """g = 1/2 (sum_k eta_k ||w_k||)^2, convex: the penalty of l1-norm multiple kernel learning, sum
    eta_k^2 beta_k =
    1.
    """

    name = "mkl"
    is_convex = True

    def value(self, r: Array) -> float:
        return 0.5 * float(self._eta(r.size) @ np.sqrt(r)) ** 2

    def slopes(self, r: Array) -> Array:
        eta = self._eta(r.size)
        norms = np.sqrt(r)
        return _over(eta * float(eta @ norms), norms)


@dataclass(frozen=True)
class MinimaxConcave(_Weighted):
    """g = sum_k 1/2 t_k^2 + m(t_k), t_k = ||w_k||: group MCP beside the machine's own 1/2 ||w||^2.

    m(t) = eta t - t^2 / (2 reach) up to t = reach eta and constant beyond, where a kernel is penalised
    as in a plain machine. ``reach`` above 0; small: selection alone, large: the group lasso.
    """

    reach: float = 3.0
    name = "mcp"

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_positive("reach", self.reach, "how far the penalty of MCP rises")

    def value(self, r: Array) -> float:
        eta = self._eta(r.size)
        t = np.minimum(np.sqrt(r), self.reach * eta)
        return float(0.5 * r.sum() + (eta * t - 0.5 * t**2 / self.reach).sum())

    def slopes(self, r: Array) -> Array:
        slopes = _over(self._eta(r.size), np.sqrt(r)) - 1.0 / self.reach
        return 1.0 + np.maximum(slopes, 0.0)


@dataclass(frozen=True)
class SmoothlyClipped(_Weighted):
    """g = sum_k 1/2 t_k^2 + s(t_k), t_k = ||w_k||: group SCAD beside the machine's own 1/2 ||w||^2.

    s rises with slope eta up to t = eta, then ever less, and not at all beyond t = knee eta;
    ``knee`` above 2, 3.7 as published.
    """

    knee: float = 3.7
    name = "scad"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (is_finite_number(self.knee) and self.knee > 2):
            raise ParameterError(
                "knee is where the penalty of SCAD stops rising, and must be above 2; got "
                f"{self.knee!r}."
            )

    def value(self, r: Array) -> float:
        eta = self._eta(r.size)
        a = self.knee
        t = np.minimum(np.sqrt(r), a * eta)
        bent = (2.0 * a * eta * t - t**2 - eta**2) / (2.0 * (a - 1.0))
        return float(0.5 * r.sum() + np.where(t <= eta, eta * t, bent).sum())

    def slopes(self, r: Array) -> Array:
        eta = self._eta(r.size)
        t = np.sqrt(r)
        bent = np.maximum(self.knee * eta - t, 0.0) / (self.knee - 1.0)
        rise = np.where(t <= eta, eta, bent)
        return 1.0 + _over(rise, t)


@dataclass(frozen=True)
class SumOfTerms(GroupTerm):
    """g = g_1 + g_2 + ...; slopes add, then invert.

    The paper's choice is log + group lasso with unit coefficients.
    """

    terms: tuple[GroupTerm, ...]
    name = "sum of terms"

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
    term.name: term
    for term in (LogTerm, GroupLasso, MFocuss, SquaredGroupLasso, MinimaxConcave, SmoothlyClipped)
}


def make_terms(
    names: str | GroupTerm,
    *,
    eta: Any = None,
    log_epsilon: float = LOG_EPSILON,
    mf_power: float = 0.5,
) -> GroupTerm:
    """The sum of terms that ``names`` says, such as "log+gl": any of ``TERMS`` joined by +; a term
    passes as it is.

    ``eta``: group weights, None (1 for every group), a number or one per kernel. ParameterError for
    unknown names.
    """
    if isinstance(names, GroupTerm):
        return names
    weights = as_eta(1.0 if eta is None else eta)
    own: dict[str, tuple[float, ...]] = {"log": (log_epsilon,), "mf": (mf_power,)}
    wanted = [name.strip().lower() for name in names.split("+")] if isinstance(names, str) else []
    if not wanted or not set(wanted) <= set(TERMS):
        raise ParameterError(
            f"terms must be a sum of {', '.join(TERMS)}, such as 'log+gl'; got {names!r}."
        )
    every: dict[str, GroupTerm] = {
        name: term(weights, *own.get(name, ())) for name, term in TERMS.items()
    }
    parts = tuple(every[name] for name in wanted)
    return parts[0] if len(parts) == 1 else SumOfTerms(parts)


def check_eta(eta: Eta, M: int) -> None:
    """ParameterError unless the group weights are one number or one per kernel."""
    if isinstance(eta, tuple) and len(eta) != M:
        raise ParameterError(
            f"eta holds {len(eta)} group weights, but there are {M} kernels; give one per kernel, "
            "or one number."
        )


def as_eta(eta: Any) -> Eta:
    """Group weights as one float or a tuple; ParameterError unless every one is finite and above 0."""
    try:
        values = np.asarray(eta, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(
            f"eta must be a number or one number per kernel; got {eta!r}."
        ) from None
    if values.ndim > 1 or values.size == 0 or not np.all(np.isfinite(values) & (values > 0)):
        raise ParameterError(
            f"eta holds group weights and each must be finite and above 0; got {eta!r}."
        )
    return float(values) if values.ndim == 0 else tuple(values.tolist())


def _over(numerator: Array, denominator: Array) -> Array:
    """numerator / denominator with infinity over zero, also for 0 / 0: an absent kernel stays
    absent.
    """
    live = denominator > 0.0
    return np.where(live, numerator / np.where(live, denominator, 1.0), np.inf)


def _check_positive(
    name: str,
    value: Any,
    what: str,
    most: float = np.inf,
) -> None:
    if not (is_finite_number(value) and 0 < value <= most):
        raise ParameterError(f"{name} is {what}, and must be above 0; got {value!r}.")


_NORMS: tuple[type[Penalty], ...] = (LpNorm, WeightedLpNorm, BlockNorm, EllipticNorm, ElasticNet)
PENALTIES: dict[str, type[Penalty]] = {norm.name: norm for norm in _NORMS} | TERMS


def norms() -> tuple[str, ...]:
    """The names of the penalties that certify: those lp-norm learning can take."""
    return tuple(name for name, penalty in PENALTIES.items() if penalty.certifies)


def make_penalty(penalty: str | Penalty, **given: float) -> Penalty:
    """The penalty called ``penalty``, or the object itself; of what is ``given`` (p, mu, ...) it
    takes what it has.

    ParameterError for a name that is not in ``PENALTIES``, and for one whose penalty is made from
    more than is given.
    """
    if isinstance(penalty, Penalty):
        return penalty
    if not isinstance(penalty, str) or penalty not in PENALTIES:
        raise ParameterError(
            f"penalty must be None, a Penalty object or one of {', '.join(PENALTIES)}; got "
            f"{penalty!r}."
        )
    kind: Any = PENALTIES[penalty]
    own = [field.name for field in fields(kind)]
    if any(field.default is MISSING and field.name not in given for field in fields(kind)):
        raise ParameterError(
            f"penalty={penalty!r} has no usual arguments: pass the object, penalty={kind.__name__}"
            f"({', '.join(f'{name}=...' for name in own)})."
        )
    made: Penalty = kind(**{name: given[name] for name in own if name in given})
    return made
