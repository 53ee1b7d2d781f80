"""The names of what is compiled when: an answer waits only for what it needs itself."""

from __future__ import annotations

from mklcore.kernels.functions import RBF, Delta, KernelSpec, Linear

EVERY_KERNEL = "kernels"  # those of single algorithms are called by the keys of ``ESTIMATORS``

# What everybody sees first: the kernels that a table of numbers and categories suggests, and the path over C at p = 1.
# Different processes can compile them at the same time.
USUAL = USUAL_GRAMS, USUAL_PATH, USUAL_SVM = "usual-kernels", "usual-path", "usual-svm"
USUAL_KERNELS: tuple[type[KernelSpec], ...] = Linear, RBF, Delta
USUAL_ALGORITHM = "lp"
