"""One answer for a table: which columns matter, how much, and how sure that is."""

from mklcore._lazy import lazily as _lazily

__getattr__, _ = _lazily(__name__, __file__)
