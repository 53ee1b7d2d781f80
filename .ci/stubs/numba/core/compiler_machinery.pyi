from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

class PassManager:
    passes: list[Any]
    _finalized: bool
    def finalize(self) -> None: ...

def register_pass(mutates_CFG: bool, analysis_only: bool) -> Callable[[type[T]], type[T]]: ...
