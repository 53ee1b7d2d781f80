"""Session and widgets: views of a parameter, set only where they differ, written back when the person moves them."""

import time
from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from pages.shared.params.parameters import RULES
from pages.shared.session.history import change, current
from pages.shared.session.memory import memory

ECHO_SECONDS = 2.0
ECHOES = ("number_input", "selectbox")
VALUED = ("checkbox", "number_input", "select_slider", "slider", "text_area", "text_input", "toggle")


def value(key: str) -> Any:
    """Return what a keyed widget holds, None where it has not been drawn."""
    return st.session_state.get(key)


def report(key: str, name: str = "report") -> Any:
    """Return what a component reported last from the browser, None where it has not."""
    return (st.session_state.get(key) or {}).get(name)


def clicked(key: str) -> list[int]:
    """Return the rows of a table that a person clicked, or a cell of them."""
    chosen = value(key)["selection"]
    return [*(int(row) for row, _ in chosen["cells"]), *map(int, chosen["rows"])]


def put(key: str, value: Any) -> None:
    """Have a keyed widget show ``value`` when it is drawn next."""
    st.session_state[key] = value


def view(
    kind: Callable[..., Any], label: str, key: str, value: Any, keep: Callable[[Any], None], /, **options: Any
) -> Any:
    """Draw a keyed widget that shows ``value`` and hands what the person chose to ``keep``.

    The widget's state is set only where it differs: setting it on every run loses quick key presses. ``value`` is its
    default as well: where two runs follow each other closely the browser may see the second alone, which no longer sets
    the state, and would report the widget's first option as the person's choice. ``options`` may be a table of what
    each option is called.
    """
    if isinstance(called := options.get("options"), dict):
        options |= {"options": list(called), "format_func": called.__getitem__}
    echoes = kind.__name__ in ECHOES
    if key not in st.session_state or st.session_state[key] != value:
        if echoes and key in st.session_state:
            _write_over(key)
        st.session_state[key] = value
    options = _default(kind.__name__, value, options) | options

    def heard() -> None:
        if not (echoes and _is_echo(key)):
            keep(st.session_state[key])

    return kind(label, key=key, on_change=heard, **options)


def _write_over(key: str) -> None:
    """Note that a number box or list gets another value than the one it holds, by no act of the person in it."""
    before = memory().written_over.get(key, ())[-3:]
    memory().written_over[key] = (*before, (st.session_state[key], time.monotonic()))


def _is_echo(key: str) -> bool:
    """Tell whether a widget reports what was written over just now: the browser did not have the new value yet.

    A path that is drawn point by point moves the box several times a second, and every look at its progress brings back
    what the browser still shows there. Taken for the person's wish it would hold the cursor where nobody put it.
    """
    recent = [was for was, at in memory().written_over.get(key, ()) if time.monotonic() - at < ECHO_SECONDS]
    return st.session_state[key] in recent


def _default(kind: str, value: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``value`` under the name by which a kind of widget takes its default."""
    if kind in ("selectbox", "radio"):
        choices = list(options.get("options", ()))
        return {"index": choices.index(value)} if value in choices else {}
    if kind in ("multiselect", "pills", "segmented_control"):
        return {"default": value}
    return {"value": value} if kind in VALUED else {}


def field_view(label: str, name: str, kind: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Draw a widget for the parameter ``name``; ``to`` and ``back`` translate between parameter and widget.

    Its kind and its bounds are those of the parameter unless others are given.
    """
    now, bounds = getattr(current(), name), bounds_of(name)
    to, back = options.pop("to", lambda value: value), options.pop("back", lambda value: value)
    kind = kind or (st.selectbox if "options" in options else st.toggle if isinstance(now, bool) else st.number_input)
    if bounds and kind in (st.number_input, st.slider):
        options = {"min_value": bounds[0], "max_value": bounds[1], "step": 1} | options
    return view(kind, label, f"field_{name}", to(now), lambda v: change(**{name: back(v)}), **options)


def bounds_of(name: str) -> tuple[Any, Any] | None:
    """Return between which numbers a parameter is, None for one that is no number."""
    return RULES[name].bounds
