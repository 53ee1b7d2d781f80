"""Tests of paths, and the kernels that they share."""

import mklcore as mkl

KERNELS = mkl.KernelDictionary.rbf_grid([0.5, 1.0, 2.0]) + mkl.KernelDictionary.per_feature(
    mkl.Linear(), 4
)
