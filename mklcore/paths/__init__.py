"""Paths: models along a parameter, their files, and how a point is chosen and judged."""

from mklcore._lazy import lazily as _lazily

__getattr__, _home = _lazily(__name__, __file__)
__all__ = sorted(_home)
