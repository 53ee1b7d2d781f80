"""What can be shown: published experiments made again, lessons with one surprise each, theorems as
functions.
"""

from mklcore._lazy import lazily as _lazily

__getattr__, _ = _lazily(__name__, __file__)
