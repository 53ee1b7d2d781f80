"""What arrays hold, for type checkers: floats (``Array``), integers (``Indices``), bools (``Mask``), anything (``Labels``)."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.integer[Any]]
Mask: TypeAlias = NDArray[np.bool_]
Labels: TypeAlias = NDArray[Any]
