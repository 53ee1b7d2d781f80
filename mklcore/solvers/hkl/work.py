"""Work counted in multiplications, so that a bound on a search means the same on a busy machine as on an idle one."""

from __future__ import annotations

from mklcore.solvers.hkl.settings import SETTINGS


class Work:
    """What a search has done and may do: ``seconds`` of work (None: no bound), each ``rate`` multiplications."""

    def __init__(self, seconds: float | None = None) -> None:
        self.most = float("inf") if seconds is None else seconds * SETTINGS.rate
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
    cubic = SETTINGS.factored * m**3
    each = cubic + 2.0 * n * m if thin else cubic + SETTINGS.factored * n**3 / 3.0 + m * float(n) ** 2
    return once + solves * (each + SETTINGS.per_solve)
