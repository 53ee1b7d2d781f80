"""What is attacked: a strategy of inputs, and a check that names how each ended and raises only on a defect."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

MUTATIONS = 8


@dataclass(frozen=True)
class Target:
    """Inputs of one kind. ``check`` returns in a word what became of an input; what it raises is a finding."""

    name: str
    inputs: st.SearchStrategy[Any]
    check: Callable[[Any], str]


def as_text(error: Exception) -> str:
    """Say that an input was refused; a refusal without words, or with such as cannot be shown, is a defect."""
    text = str(error)
    if not text.strip() or len(text) > 4000:
        raise AssertionError(f"a refusal of {len(text)} letters: {text[:200]!r}") from error
    text.encode()
    return "refused"


@st.composite
def damaged(draw: st.DrawFn, whole: st.SearchStrategy[bytes]) -> bytes:
    """The bytes of ``whole`` with some turned, cut off, doubled or moved."""
    raw = bytearray(draw(whole))
    for _ in range(draw(st.integers(0, MUTATIONS))):
        if not raw:
            break
        at = draw(st.integers(0, len(raw) - 1))
        match draw(st.integers(0, 4)):
            case 0:
                raw[at] = draw(st.integers(0, 255))
            case 1:
                raw[at] ^= 1 << draw(st.integers(0, 7))
            case 2:
                del raw[at : at + draw(st.integers(1, 64))]
            case 3:
                raw[at:at] = draw(st.binary(min_size=1, max_size=16))
            case 4:
                raw[at:at] = raw[at : at + draw(st.integers(1, 200))]
    return bytes(raw)
