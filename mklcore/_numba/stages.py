"""The names of what is compiled when: an answer waits only for what it needs itself."""

from __future__ import annotations

from mklcore.kernels.functions import RBF, Delta, KernelSpec, Linear

USUAL, EVERY_KERNEL = "usual", "kernels"  # those of single algorithms are called by the keys of ``ESTIMATORS``

# "usual" is for what everybody sees first: the path over C at p = 1 on the kernels that a table of numbers and
# categories suggests.
USUAL_KERNELS: tuple[type[KernelSpec], ...] = Linear, RBF, Delta
USUAL_ALGORITHM = "lp"
