"""Params and link: parameters as text and back, and one sentence for each part that had to be refused."""

from collections.abc import Mapping
from typing import Any

from mklcore.io.launcher import TABLE
from pages.shared.params import algorithms
from pages.shared.params.algorithms import METHODS, Setting, write
from pages.shared.params.parameters import BUILDERS, RULES, DataParams, Params

MOST_REFUSALS = 8  # of a link, listed one by one
USUAL = Params()


def _read_setting(name: str, text: str) -> Setting:
    """Read one control's value; any algorithm that has the control may have been meant. Raises ValueError."""
    meant = [control for algorithm in METHODS.values() for control in algorithm.controls if control.name == name]
    if not meant:
        raise ValueError(f"The link speaks of {name[:40]!r}, which this app does not know. It is left out.")
    try:
        return algorithms.read(meant, text)
    except ValueError:
        raise ValueError(_refusal(name, text, "within the range its control shows", meant[0].default)) from None


def _refusal(name: str, text: str, expected: str, usual: object) -> str:
    shown = "the first one that fits" if usual in ("", None) else write(usual)
    return (
        f"The link asks for {name} = {text[:40]!r}, but {name} has to be {expected}. The usual value is used: {shown}."
    )


def read(query: Mapping[str, str]) -> tuple[Params, tuple[str, ...]]:
    """Read a link: the parameters, and one sentence for each part that had to be refused."""
    good: dict[str, Any] = {}
    settings: dict[str, Setting] = {}
    refused: list[str] = []
    for name, text in query.items():
        if name == TABLE:
            continue
        if not _can_be_sent(name + text):
            refused.append(f"The link holds {(name + text)[:40]!r}, which no text can hold. It is left out.")
            continue
        if name in RULES:
            try:
                good[name] = RULES[name].read(text)
            except (ValueError, KeyError):
                refused.append(_refusal(name, text, RULES[name].expected, getattr(USUAL, name)))
        else:
            try:
                settings[name] = _read_setting(name, text)
            except ValueError as error:
                refused.append(str(error))
    if "recipe" not in query and any(name in good for name in BUILDERS):
        usual = {name: getattr(USUAL, name) for name in BUILDERS}
        good["recipe"] = "" if any(good.get(name, value) != value for name, value in usual.items()) else "builders"
    if good.get("validation", 0.25) + good.get("test", 0.25) > 0.8:
        refused.append("The link leaves less than a fifth of the rows for training. The usual split is used.")
        good = {name: value for name, value in good.items() if name not in ("validation", "test")}
    runs_over = METHODS[good.get("algorithm", "lp")].path_params
    if good.get("path", runs_over[0]) not in runs_over:
        refused.append(_refusal("path", good.pop("path"), "one of " + ", ".join(runs_over), runs_over[0]))
    if more := refused[MOST_REFUSALS:]:
        refused = [*refused[:MOST_REFUSALS], f"{len(more)} more parts of the link cannot be used. They are left out."]
    return Params(**good, settings=tuple(sorted(settings.items()))), tuple(refused)


def _can_be_sent(text: str) -> bool:
    """Tell whether ``text`` can be written into a link: halves of a sign, which JSON can hold, cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def text(params: DataParams) -> dict[str, str]:
    """Return the link's parts: what differs from the usual values."""
    named = params.__getstate__()
    settings = named.pop("settings", ())
    parts = {name: write(value) for name, value in named.items() if value != getattr(USUAL, name)}
    return parts | {name: write(value) for name, value in settings}
