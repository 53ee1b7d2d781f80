"""What kernels, losses and penalties share: the numbers a person may choose, refusals of what these cannot be, and of
classes that lack a part.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any, ClassVar, Concatenate, ParamSpec, Self, TypeVar

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


def check_whole(name: str, value: Any, least: int = 1, most: int | None = None, other: str = "") -> None:
    """ParameterError unless ``value`` is a whole number from ``least`` on, up to ``most``; ``other`` says what else the
    caller takes.
    """
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        bounds = f"of {least} or more" if most is None else f"from {least} to {most}"
        raise ParameterError(f"{name} must be a whole number {bounds}{other}; got {value!r}.")


def check_positive(**values: Any) -> None:
    """ParameterError unless every value is a finite number above 0."""
    for name, value in values.items():
        number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
        if not (number and np.isfinite(value) and value > 0):
            raise ParameterError(f"{name} must be a finite number above 0; got {value!r}.")


def check_choice(name: str, value: Any, known: Iterable[str]) -> None:
    """ParameterError unless ``value`` is one of ``known``."""
    if value not in known:
        raise ParameterError(f"{name} must be one of {', '.join(known)}; got {value!r}.")


Arguments = ParamSpec("Arguments")
Estimator = TypeVar("Estimator")
Fitting = Callable[Concatenate[Estimator, Arguments], Estimator]


def set_together(fit: Fitting[Estimator, Arguments]) -> Fitting[Estimator, Arguments]:
    """``fit`` of an estimator whose attributes are all set at its end: a refusal or Ctrl-C leaves the earlier model."""

    @wraps(fit)
    def fitted(self: Estimator, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Estimator:
        fresh = copy.copy(self)
        fit(fresh, *args, **kwargs)
        self.__dict__ = fresh.__dict__
        return self

    return fitted


class Checked:
    """A class to derive from, whose missing parts are named by ``check_parts``.

    Abstract methods bear ``abc.abstractmethod``, and the first line of their docstring says what they return;
    ``attributes`` holds class attributes that need a value, each with what it is.
    """

    attributes: ClassVar[Mapping[str, str]] = {}
    _is_complete: ClassVar[bool]

    @classmethod
    def check_parts(cls) -> None:
        """ParameterError that names every part the class lacks; looked for once."""
        if "_is_complete" not in cls.__dict__:
            cls._check_class()
            cls._is_complete = True

    @classmethod
    def _check_class(cls) -> None:
        """ParameterError, with all that is missing, unless every part is there; once per class."""
        statics = {name: inspect.getattr_static(cls, name) for name in dir(cls)}
        abstract = [name for name, part in statics.items() if getattr(part, "__isabstractmethod__", False)]
        cls._refuse_without([*(name for name in cls.attributes if name not in statics), *abstract])

    @classmethod
    def _refuse_without(cls, missing: list[str], why: str = "") -> None:
        if not missing:
            return
        owner = next(base for base in cls.__mro__ if base.__module__.startswith("mklcore.") and base is not cls)
        described = "; ".join(_described(cls, name) for name in missing)
        raise ParameterError(
            f"{cls.__name__} derives from {owner.__name__}{why} and lacks {described}. Write what is missing."
        )


class Interface(Checked):
    """``Checked`` that are looked for when the first object is made."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        cls.check_parts()
        return super().__new__(cls)


def _described(cls: type[Checked], name: str) -> str:
    """A missing part with its arguments, and what it returns."""
    part = inspect.getattr_static(cls, name, None)
    if part is None:
        return f"{name}: {cls.attributes[name]}"
    if isinstance(part, property):
        return f"the property {name}: {_first_line(part)}"
    arguments = [each for each in inspect.signature(part).parameters if each != "self"]
    return f"{name}({', '.join(arguments)}): {_first_line(part)}"


def _first_line(part: Any) -> str:
    return (inspect.getdoc(part) or "no words of it are left").splitlines()[0].rstrip(".")
