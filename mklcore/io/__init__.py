"""Models and code in files: archives without pickle, and scripts that make objects."""

from mklcore._lazy import lazily as _lazily

__getattr__, _ = _lazily(__name__, __file__)
