"""The interface of a penalty: what a solver may ask of it, and how a person chooses it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from mklcore.arrays import Array
from mklcore.errors import ParameterError
from mklcore.parameters import Interface, Parameter


class Penalty(Interface):
    """What weights the kernels; ``weights``, ``n`` and ``Q`` are (M,) and non-negative.

    A subclass is a frozen dataclass; one line in ``PENALTIES`` makes it known to estimators, pages and saved models.
    Solvers never ask which penalty it is, but what it can do; ``check_claims`` holds the last three against its prices:

    | capability | meaning |
    |---|---|
    | ``certifies`` | ``dual_price`` is finite: a dual point bounds the optimum from below |
    | ``homogeneous`` | the price of s^2 Q is s^2 times that of Q, so that a dual may be scaled in closed form |
    | ``ascends`` | alternating with the machine raises the dual instead of lowering the primal |
    | ``sparse`` | weights end at zero: negligible ones are set to it |
    | ``simplex`` | the weights live on the simplex, 1'theta <= 1, so that the dual price is half the largest form: the
    l1 problem |
    | ``plain_sum`` | every weight stays one, so that the dual price is half the sum of the forms: one machine is the
    optimum |
    | ``exponent`` | p above 1 where ||theta||_p <= 1, so that Q_m is proportional to theta_m^(p - 1); None for
    everything else |
    """

    attributes: ClassVar[Mapping[str, str]] = {"name": "what texts, links and saved models call it"}
    name: ClassVar[str]
    help: ClassVar[str] = ""  # what choosing it does, in a sentence
    problem: ClassVar[str] = ""  # its part of the problem that is solved, as LaTeX
    look_for: ClassVar[str] = ""
    cannot_tell: ClassVar[str] = ""
    parameters: ClassVar[tuple[Parameter, ...]] = ()  # its numbers that a person may choose
    certifies: ClassVar[bool] = True
    homogeneous: ClassVar[bool] = True
    ascends: ClassVar[bool] = False

    @classmethod
    def chosen(cls, values: Mapping[str, float], stack: Any = None, alignment: Any = None) -> Self:
        """The penalty with the ``values`` of its parameters, for kernels in a ``GramStack``, where it is made from
        those.

        ``alignment`` is the (M, M) alignment matrix of the kernels or a function that returns it.
        """
        return cls(**{parameter.name: values.get(parameter.name, parameter.default) for parameter in cls.parameters})

    @property
    def sparse(self) -> bool:
        """Whether weights end at zero: on the simplex by default."""
        return self.simplex

    @property
    def simplex(self) -> bool:
        """Whether the weights live on the simplex, as at p = 1."""
        return False

    @property
    def plain_sum(self) -> bool:
        """Whether every weight stays one, as at p = infinity."""
        return False

    @property
    def exponent(self) -> float | None:
        """p where the weights live on the unit sphere of the lp norm, 1 < p < infinity; None where they do not."""
        return None

    @abstractmethod
    def start(self, M: int) -> Array:
        """Equal positive weights, on the boundary of the constraint where there is one."""

    @abstractmethod
    def scale(self, weights: Array) -> Array:
        """The same direction, moved to the boundary of the constraint; as they are where there is none."""

    @abstractmethod
    def regulariser(self, n: Array) -> float:
        """The primal price of block norms n_m = ||w_m||."""

    @abstractmethod
    def dual_price(self, Q: Array) -> float:
        """What the dual pays for quadratic forms Q_m = a'K_m a; infinity where nothing is certified."""

    @abstractmethod
    def update(self, weights: Array, Q: Array) -> Array:
        """The analytic next weights, behind ``regulariser`` at n_m = theta_m sqrt(Q_m)."""

    def cost(self, weights: Array) -> float:
        """What the weights pay themselves, beside 1/2 sum_m n_m^2 / theta_m; nothing where a constraint holds them."""
        return 0.0

    def check_claims(self, M: int) -> None:
        """ParameterError unless the price of M forms is the one that ``simplex``, ``plain_sum`` or ``exponent``
        promises.
        """
        Q, p = np.arange(1.0, M + 1.0), self.exponent
        claims = {
            "simplex": (self.simplex, 0.5 * M, "half the largest form"),
            "plain_sum": (self.plain_sum, 0.5 * float(Q.sum()), "half the sum of the forms"),
            "exponent": (
                p is not None,
                0.5 * M * float(((Q / M) ** (p / (p - 1.0))).sum() ** (1.0 - 1.0 / p)) if p is not None else 0.0,
                "half the norm of the forms in the conjugate exponent",
            ),
        }
        for claim, (made, promised, words) in claims.items():
            if made and not np.isclose(found := self.dual_price(Q), promised, rtol=1e-9):
                raise ParameterError(
                    f"The {self.name} claims {claim}={getattr(self, claim)!r}, so that its dual price must be "
                    f"{words}; of the "
                    f"forms 1 to {M} it is {found:g} instead of {promised:g}. Claim what the table in Penalty says."
                )
