"""What arrays hold, for type checkers: floats (``Array``), integers (``Indices``), bools (``Mask``), anything (``Labels``)."""

from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[tuple[Any, ...], np.dtype[np.float64]]
Indices: TypeAlias = np.ndarray[tuple[Any, ...], np.dtype[np.integer[Any]]]
Mask: TypeAlias = np.ndarray[tuple[Any, ...], np.dtype[np.bool_]]
Labels: TypeAlias = np.ndarray[tuple[Any, ...], np.dtype[Any]]
