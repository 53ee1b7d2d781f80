"""What kernels, losses and penalties share: the numbers a person may choose, and refusals of what
these cannot be.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from mklcore.errors import ParameterError


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


def is_finite_number(value: Any) -> bool:
    """Whether ``value`` is a number, which True and False are not, and neither infinite nor NaN."""
    is_number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    return is_number and bool(np.isfinite(value))


def is_whole_number(value: Any) -> bool:
    """Whether ``value`` is an integer, which True and False are not."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def check_whole(
    name: str, value: Any, least: int = 1, most: int | None = None, other: str = ""
) -> None:
    """ParameterError unless ``value`` is a whole number from ``least`` on, up to ``most``;
    ``other`` says what else the caller takes.
    """
    if not is_whole_number(value) or value < least or (most is not None and value > most):
        bounds = f"of {least} or more" if most is None else f"from {least} to {most}"
        raise ParameterError(f"{name} must be a whole number {bounds}{other}; got {value!r}.")


def check_positive(**values: Any) -> None:
    """ParameterError unless every value is a finite number above 0."""
    for name, value in values.items():
        if not (is_finite_number(value) and value > 0):
            raise ParameterError(f"{name} must be a finite number above 0; got {value!r}.")


def check_choice(name: str, value: Any, known: Iterable[str]) -> None:
    """ParameterError unless ``value`` is one of ``known``."""
    if value not in known:
        raise ParameterError(f"{name} must be one of {', '.join(known)}; got {value!r}.")


Arguments = ParamSpec("Arguments")
Estimator = TypeVar("Estimator")
Fitting = Callable[Concatenate[Estimator, Arguments], Estimator]


def set_together(fit: Fitting[Estimator, Arguments]) -> Fitting[Estimator, Arguments]:
    """``fit`` of an estimator whose attributes are all set at its end: a refusal or Ctrl-C leaves
    the earlier model.
    """

    @wraps(fit)
    def fitted(self: Estimator, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Estimator:
        fresh = copy.copy(self)
        fit(fresh, *args, **kwargs)
        self.__dict__ = fresh.__dict__
        return self

    return fitted
