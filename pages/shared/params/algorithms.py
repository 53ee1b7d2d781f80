"""Params of the algorithms: which learn from kernels, and the values of their controls, read from text and written."""

import math
from collections.abc import Iterable, Iterator, Mapping

from mklcore.io.catalog import ESTIMATORS, Algorithm, Control
from pages.shared.params.rules import flag

Setting = str | float | int | bool


class Methods(Mapping[str, Algorithm]):
    """The algorithms that learn from kernels, as the registry lists them now."""

    def __getitem__(self, key: str) -> Algorithm:
        method = ESTIMATORS[key]
        if method.on != "kernels":
            raise KeyError(key)
        return method

    def __iter__(self) -> Iterator[str]:
        return (key for key, method in ESTIMATORS.items() if method.on == "kernels")

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def offered(self, task: str, chosen: str = "") -> list[str]:
        """Return the keys of those that a list for ``task`` shows, and of the ``chosen`` one."""
        return [key for key, method in self.items() if method.is_offered(task, chosen)]


METHODS = Methods()


def applicable(algorithm: Algorithm, task: str) -> list[Control]:
    """Return the controls of the algorithm that make sense for the task."""
    return [control for control in algorithm.controls if not control.tasks or task in control.tasks]


def accepts(control: Control, value: Setting) -> bool:
    """Tell whether ``value`` is one that ``control`` can take."""
    match control.kind:
        case "choice":
            return value in control.choices
        case "flag":
            return isinstance(value, bool)
        case _ if isinstance(value, bool | str):
            return False
        case "integer":
            return value == int(value) and control.low <= value <= control.high
        case "p":
            return value >= 1
        case _:
            return control.low <= value <= control.high


def read(controls: Iterable[Control], text: str) -> Setting:
    """Return the value that the first of ``controls`` to take it reads from ``text``. Raises ValueError."""
    for control in controls:
        try:
            value = _value(control, text)
        except (ValueError, KeyError):
            continue
        if accepts(control, value):
            return value
    raise ValueError


def _value(control: Control, text: str) -> Setting:
    match control.kind:
        case "choice":
            return text
        case "flag":
            return bool(flag().read(text))
        case "integer":
            return int(text)
        case _:
            return float(text)


def write(value: object) -> str:
    """Return one value as the text a link holds."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return repr(value) if isinstance(value, float) and math.isfinite(value) else str(value)
