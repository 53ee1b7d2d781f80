"""One kernel at a time: given K, the machine of each loss. Same call, warm start in, signed dual out."""

from collections.abc import Callable

from mklcore.errors import ParameterError
from mklcore.losses import Loss
from mklcore.machines.ridge import solve_ridge
from mklcore.machines.smooth import solve_smooth
from mklcore.machines.solution import Solution
from mklcore.machines.svm import solve_svm

MACHINES: dict[str, Callable[..., Solution]] = {
    "svm": solve_svm,
    "ridge": solve_ridge,
    "smooth": solve_smooth,
}


def machine_of(loss: Loss) -> Callable[..., Solution]:
    """The machine that ``loss`` names. ParameterError where it names none of ``MACHINES``."""
    if loss.machine not in MACHINES:
        raise ParameterError(
            f"The loss {loss.name} has no machine: its machine is {loss.machine!r}, and the machines are {', '.join(MACHINES)}."
        )
    return MACHINES[loss.machine]
