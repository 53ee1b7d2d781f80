"""What arrays hold, for type checkers: floats of 8 bytes (``Array``) and 4 (``Single``), integers (``Indices``), bools
(``Mask``), anything (``Labels``)."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Single: TypeAlias = NDArray[np.float32]
Indices: TypeAlias = NDArray[np.integer[Any]]
Mask: TypeAlias = NDArray[np.bool_]
Labels: TypeAlias = NDArray[Any]


def read_only(array: Array) -> Array:
    """A view that cannot be written to: a jitted function that gets all it only reads so is compiled for one type, not
    two.
    """
    view = array.view()
    view.setflags(write=False)
    return view


def writable(array: Array) -> Array:
    """The array itself, or a copy of one that is read-only: the other way to one type, for what is small beside the
    work.
    """
    return array if array.flags.writeable else array.copy()
