"""One kernel at a time: given K, the machine of each loss.

Same call, warm start in, signed dual out.
"""

from collections.abc import Callable

from mklcore.arrays import Array
from mklcore.errors import ParameterError
from mklcore.kernels.operators import WeightedSum
from mklcore.problem.dual_coordinate_descent import solve_by_coordinates
from mklcore.problem.losses import Cost, Loss
from mklcore.problem.smooth import solve_newton_cg, solve_ridge, solve_smooth
from mklcore.problem.solution import Solution
from mklcore.problem.svm import solve_svm

MACHINES: dict[str, Callable[..., Solution]] = {
    "svm": solve_svm,
    "ridge": solve_ridge,
    "smooth": solve_smooth,
}


def machine_of(loss: Loss) -> Callable[..., Solution]:
    """The machine that ``loss`` names. ParameterError where it names none of ``MACHINES``."""
    if loss.machine not in MACHINES:
        raise ParameterError(
            f"The loss {loss.name} has no machine: its machine is {loss.machine!r}, and "
            f"the machines are {', '.join(MACHINES)}."
        )
    return MACHINES[loss.machine]


ON_FEATURES: dict[str, Callable[..., Solution]] = {
    "svm": solve_by_coordinates,
    "ridge": solve_ridge,
    "smooth": solve_newton_cg,
}


def solve_machine(
    total: WeightedSum,
    y: Array,
    C: Cost,
    loss: Loss,
    fit_intercept: bool,
    *,
    warm: Array | None,
    accuracy: float,
) -> Solution:
    """The machine of ``loss`` on a weighted sum of kernels: on its matrix where it has one, else on
    its features.

    A ridge takes the sum itself, which remembers its factor.
    """
    machine = machine_of(loss)
    if total.matrix is not None and machine is not solve_ridge:
        return machine(total.matrix, y, C, loss, fit_intercept, warm=warm, accuracy=accuracy)
    return ON_FEATURES[loss.machine](
        total,
        y,
        C,
        loss,
        fit_intercept,
        warm=warm,
        accuracy=accuracy,
    )
