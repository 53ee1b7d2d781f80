"""Params of Compare's methods as text in the link: which algorithm, over which path, with which settings.

``lp;lp:p,C=0.1;gomp,lam=0.1`` are three methods: semicolons between methods, a colon before the parameter the path runs
over, commas before settings. What is at its usual value is not written, so that equal methods have equal texts.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from mklcore.figures import style
from mklcore.io.catalog import Control
from pages.shared.params.algorithms import METHODS, Setting, accepts
from pages.shared.params.algorithms import read as read_setting
from pages.shared.params.algorithms import write as write_setting

FEWEST, MOST = 2, 5
LONGEST = 1200
USUAL = "lp;lp,p=1.3333333333333333;lp,p=2.0;lp,p=inf"
EXPECTED = (
    f"from {FEWEST} to {MOST} methods with semicolons between them, each with its settings, as in lp,p=2.0;gomp,lam=0.1"
)
EXPECTED_PLACE = "a number above 0, or a share of the path from 0% to 100%"


@dataclass(frozen=True)
class MethodParams:
    """One method: the key of its algorithm, the parameter of its path ("" for the usual one), its unusual settings."""

    algorithm: str
    path: str = ""
    settings: tuple[tuple[str, Setting], ...] = ()

    def text(self) -> str:
        """Return the method as the link has it."""
        head = self.algorithm + (f":{self.path}" if self.path else "")
        return ",".join([head, *(f"{name}={write_setting(value)}" for name, value in self.settings)])

    @property
    def over(self) -> str:
        """Return the key of the parameter the path runs over."""
        return self.path or METHODS[self.algorithm].path_params[0]


def method(name: str, path: str = "", /, **settings: Setting) -> MethodParams:
    """Return the method with everything usual left out, and everything that does not belong to the algorithm."""
    algorithm = METHODS[name]
    first = algorithm.path_params[0]
    over = path if path in algorithm.path_params else first
    moved = algorithm.path(over).attribute
    kept: dict[str, Setting] = {}
    for setting, value in settings.items():
        known = [control for control in algorithm.controls if control.name == setting]
        fits = [control for control in known if accepts(control, value)]
        if fits and setting != moved and any(control.default != value for control in known):
            kept[setting] = value
    return MethodParams(name, "" if over == first else over, tuple(sorted(kept.items())))


def read(text: str) -> tuple[MethodParams, ...]:
    """Read the methods of a link; raises ``ValueError`` for anything but an exact account of methods."""
    parts = text.split(";")
    if len(text) > LONGEST or not FEWEST <= len(parts) <= MOST:
        raise ValueError
    return tuple(_read_one(part) for part in parts)


def write(methods: Sequence[MethodParams]) -> str:
    """Return the methods as the link has them."""
    return ";".join(one.text() for one in methods)


def _read_one(text: str) -> MethodParams:
    head, *parts = text.split(",")
    name, colon, path = head.partition(":")
    if name not in METHODS or (colon and path not in METHODS[name].path_params):
        raise ValueError
    algorithm, settings = METHODS[name], {}
    for part in parts:
        key, equals, value = part.partition("=")
        if not equals or key in settings:
            raise ValueError
        settings[key] = read_setting([c for c in algorithm.controls if c.name == key], value)
    return method(name, path, **settings)


def read_place(text: str) -> str:
    """Read where the cursor of all methods stands: a value of the parameter they share, or a share of each path."""
    if re.fullmatch(r"\d{1,3}(\.\d{1,2})?%", text, re.ASCII):
        if float(text[:-1]) > 100:
            raise ValueError
        return text
    if not float(text) > 0:
        raise ValueError
    return write_setting(float(text))


# Names of methods


def labels(methods: Sequence[MethodParams], task: str) -> list[str]:
    """Return a name for each method: its algorithm, what is unusual about it, and what parts it from its like.

    Only settings that act for ``task`` are stated.
    """
    return [_label(one, [other for other in methods if other.algorithm == one.algorithm], task) for one in methods]


def _label(one: MethodParams, alike: Sequence[MethodParams], task: str) -> str:
    algorithm, own = METHODS[one.algorithm], dict(one.settings)
    parted = {name for other in alike for name, _ in set(other.settings) ^ set(one.settings)}
    usual = {control.name: control.default for control in algorithm.controls if task in control.tasks}
    acting = algorithm.shown(task, one.over, {**usual, **own})
    words = [
        _as_text(control, own.get(control.name, control.default))
        for control in acting
        if control.name in own or control.name in parted
    ]
    if one.path or any(other.path != one.path for other in alike):
        sign = one.over
        words.append(f"over {'λ' if sign == 'lam' else sign}")
    return ", ".join([algorithm.label, *words])


def _as_text(control: Control, value: Setting) -> str:
    if isinstance(value, bool):
        return f"{control.label.lower()}: {write_setting(value)}"
    shown = value.replace("_", "-") if isinstance(value, str) else style.number(value)
    last = control.label.split()[-1]
    if len(last) == 1:
        return f"{last} = {shown}"
    return shown if isinstance(value, str) else f"{control.label.lower()} {shown}"
