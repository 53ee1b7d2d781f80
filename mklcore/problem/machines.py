"""The machine of each loss on one kernel: the same call, a warm start in, a signed dual out."""

from collections.abc import Callable

import numpy as np

from mklcore.arrays import Array
from mklcore.errors import ParameterError
from mklcore.kernels.operators import WeightedSum
from mklcore.problem.dual_coordinate_descent import solve_by_coordinates
from mklcore.problem.losses import Loss
from mklcore.problem.smooth import solve_newton_cg, solve_ridge, solve_smooth
from mklcore.problem.solution import MachineTask, Solution
from mklcore.problem.svm import solve_svm

MACHINES: dict[str, Callable[..., Solution]] = {
    "svm": solve_svm,
    "ridge": solve_ridge,
    "smooth": solve_smooth,
}

ON_FEATURES: dict[str, Callable[..., Solution]] = {
    "svm": solve_by_coordinates,
    "ridge": solve_ridge,
    "smooth": solve_newton_cg,
}


def machine_of(loss: Loss) -> Callable[..., Solution]:
    """The machine that ``loss`` names. ParameterError where it names none of ``MACHINES``."""
    if loss.machine not in MACHINES:
        raise ParameterError(
            f"The loss {loss.name} has no machine: its machine is {loss.machine!r}, and "
            f"the machines are {', '.join(MACHINES)}."
        )
    return MACHINES[loss.machine]


def solve_machine(
    K: Array | WeightedSum,
    task: MachineTask,
    *,
    warm: Array | None = None,
    accuracy: float = 1e-3,
) -> Solution:
    """Solve ``task`` on a Gram matrix or a weighted sum of kernels, to a duality gap of
    ``accuracy`` times 1/2 a'K a; ``warm`` (n,) is a dual to start from.

    A sum is solved by its matrix where it has one, else by its features.
    """
    machine = machine_of(task.loss)
    if not isinstance(K, np.ndarray):
        if K.matrix is None:
            machine = ON_FEATURES[task.loss.machine]
        elif machine is solve_svm:
            K = K.matrix
    return machine(K, task, warm=warm, accuracy=accuracy)
