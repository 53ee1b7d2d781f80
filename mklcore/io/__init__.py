"""Models and code in files: archives without pickle, checks of what is read, scripts that make an
object again.
"""

from mklcore._lazy import lazily as _lazily

__getattr__, _ = _lazily(__name__, __file__)
