"""What mypy knows of numba, which ships no types: a compiled leaf has the signature of the function it is made from."""

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

def njit(*, cache: bool = ..., nogil: bool, **options: object) -> Callable[[F], F]: ...
def __getattr__(name: str) -> Any: ...
