"""Few kernels: MKL-GOMP, greedy descent, SMKL, and other forms of MKL on the same solvers."""

from mklcore._lazy import lazily as _lazily

__getattr__, _ = _lazily(__name__, __file__)
