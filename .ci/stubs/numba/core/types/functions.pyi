from collections.abc import Callable
from typing import Any

class BaseFunction:
    get_call_type: Callable[..., Any]
