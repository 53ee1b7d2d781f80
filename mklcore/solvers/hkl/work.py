"""Work counted in multiplications, so that a bound on a search means the same on a busy machine as on an idle one."""

from __future__ import annotations

_RATE = 2.5e9  # multiplications in one second of work: about what one core does that has nothing else to do
_FACTORED = 0.2  # of a multiplication is what one costs inside a factorisation
_PER_SOLVE = 1e6  # what a machine solve costs beside its products


class Work:
    """What a search has done and may do: ``seconds`` of work at ``_RATE`` multiplications each (None: no bound)."""

    def __init__(self, seconds: float | None = None) -> None:
        self.most = float("inf") if seconds is None else seconds * _RATE
        self.done = 0.0

    def spend(self, multiplications: float) -> bool:
        """Count so many more; True once there are too many."""
        self.done += multiplications
        return self.is_over

    @property
    def is_over(self) -> bool:
        """Whether more was done than may be."""
        return self.done > self.most


def training_cost(n: int, m: int, solves: int, thin: bool) -> float:
    """Multiplications of ``solves`` machine solves on a hull of ``m`` nodes and ``n`` rows, and of the Newton steps
    between them; ``thin`` where every node is a column."""
    once = float(n) * m * m
    each = _FACTORED * m**3 + 2.0 * n * m if thin else _FACTORED * (n**3 / 3.0 + m**3) + m * float(n) ** 2
    return once + solves * (each + _PER_SOLVE)
