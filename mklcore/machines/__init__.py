"""One kernel at a time: given K, the machine of each loss. Same call, warm start in, signed dual out."""

from collections.abc import Callable

from mklcore.machines.logistic import solve_logistic
from mklcore.machines.ridge import solve_ridge
from mklcore.machines.solution import Solution
from mklcore.machines.svm import solve_svm

MACHINES: dict[str, Callable[..., Solution]] = {
    "hinge": solve_svm,
    "epsilon_insensitive": solve_svm,
    "one_class": solve_svm,
    "nu_one_class": solve_svm,
    "squared": solve_ridge,
    "logistic": solve_logistic,
}
