"""The interface of a penalty: what a solver may ask of it, and how a person chooses it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from mklcore.arrays import Array
from mklcore.parameters import Parameter


class Penalty:
    """What weighs the kernels; ``weights``, ``n`` and ``Q`` are (M,) and non-negative.

    A subclass is a frozen dataclass; one line in ``PENALTIES`` makes it known to estimators, pages and saved models.
    Solvers never ask which penalty it is, but what it can do:

    | capability | meaning |
    |---|---|
    | ``certifies`` | ``dual_price`` is finite: a dual point bounds the optimum from below |
    | ``homogeneous`` | the price of s^2 Q is s^2 times that of Q, so that a dual may be scaled in closed form |
    | ``ascends`` | alternating with the machine raises the dual instead of lowering the primal |
    | ``sparse`` | weights end at zero: negligible ones are set to it |
    | ``order`` | p where the weights have ||theta||_p <= 1, without prices; None for everything else |
    """

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
        """The penalty with the ``values`` of its parameters, for kernels in a ``GramStack``, where it is made from those.

        ``alignment`` is the (M, M) alignment matrix of the kernels or a function that returns it.
        """
        return cls(**{parameter.name: values.get(parameter.name, parameter.default) for parameter in cls.parameters})

    @property
    def sparse(self) -> bool:
        """Whether weights end at zero."""
        return False

    @property
    def order(self) -> float | None:
        """p of ||theta||_p <= 1; None where the constraint is another one."""
        return None

    def start(self, M: int) -> Array:
        """Equal positive weights, on the boundary of the constraint where there is one."""
        raise NotImplementedError

    def scale(self, weights: Array) -> Array:
        """The same direction, moved to the boundary of the constraint; as they are where there is none."""
        raise NotImplementedError

    def regulariser(self, n: Array) -> float:
        """The primal price of block norms n_m = ||w_m||."""
        raise NotImplementedError

    def dual_price(self, Q: Array) -> float:
        """What the dual pays for quadratic forms Q_m = a'K_m a; infinity where nothing is certified."""
        raise NotImplementedError

    def update(self, weights: Array, Q: Array) -> Array:
        """The analytic next weights, behind ``regulariser`` at n_m = theta_m sqrt(Q_m)."""
        raise NotImplementedError

    def cost(self, weights: Array) -> float:
        """What the weights pay themselves, beside 1/2 sum_m n_m^2 / theta_m; nothing where a constraint holds them."""
        return 0.0
