"""A number that a person may choose, as kernels, losses and penalties declare theirs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Parameter:
    """One number of a kernel, a loss or a penalty; ``help`` says what moving it does.

    ``kind`` is "integer", "real", "log" (positive, on a log scale) or "p" (from 1 to infinity).
    """

    name: str
    label: str
    kind: str
    default: float
    low: float
    high: float
    help: str
