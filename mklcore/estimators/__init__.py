"""scikit-learn estimators over kernels, losses and solvers."""

from mklcore._lazy import lazily as _lazily

__getattr__, _home = _lazily(__name__, __file__)
__all__ = sorted(_home)
