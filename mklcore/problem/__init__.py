"""What a fit is: losses, penalties, machines, the outer loop, its result and its proof."""

from mklcore._lazy import lazily as _lazily

__getattr__, _ = _lazily(__name__, __file__)
