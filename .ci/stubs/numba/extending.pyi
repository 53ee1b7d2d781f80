"""What mypy knows of numba's intrinsics: in a leaf they are called without the typing context their definition takes."""  # noqa: E501

from collections.abc import Callable
from typing import Any

def intrinsic(function: Callable[..., Any]) -> Callable[..., Any]: ...
