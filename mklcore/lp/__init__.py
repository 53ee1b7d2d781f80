"""ℓp-norm MKL: one file per method, what is tried after what in ``schedule``."""

from mklcore._lazy import lazily as _lazily

__getattr__, _ = _lazily(__name__, __file__)
