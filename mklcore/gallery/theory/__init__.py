"""One function per theorem of the papers: bounds, coherence, rates, recovery diagnostics."""

from mklcore._lazy import lazily as _lazily

__getattr__, _home = _lazily(__name__, __file__)
__all__ = sorted(_home)
