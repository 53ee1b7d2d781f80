"""A bound is a number that may say nothing; then it is infinite and tells why."""

from __future__ import annotations

from typing import Self

from mklcore.errors import ParameterError


class Bound(float):
    """A float with ``words``: what the number means here, or why it is infinite."""

    words: str

    def __new__(cls, value: float, words: str = "") -> Self:
        bound = super().__new__(cls, value)
        bound.words = words
        return bound


def require(condition: bool, message: str) -> None:
    """ParameterError with ``message`` unless ``condition``."""
    if not condition:
        raise ParameterError(message)
