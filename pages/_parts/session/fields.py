"""Session and widgets: views of a parameter, set only where they differ, written back when the person moves them."""

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from pages._parts.session.history import change, current

VALUED = ("checkbox", "number_input", "select_slider", "slider", "text_area", "text_input", "toggle")


def value(key: str) -> Any:
    """Return what a keyed widget holds, None where it has not been drawn."""
    return st.session_state.get(key)


def report(key: str, name: str = "report") -> Any:
    """Return what a component reported last from the browser, None where it has not."""
    return (st.session_state.get(key) or {}).get(name)


def put(key: str, value: Any) -> None:
    """Have a keyed widget show ``value`` when it is drawn next."""
    st.session_state[key] = value


def view(
    kind: Callable[..., Any], label: str, key: str, value: Any, keep: Callable[[Any], None], /, **options: Any
) -> Any:
    """Draw a keyed widget that shows ``value`` and hands what the person chose to ``keep``.

    The widget's state is set only where it differs: setting it on every run loses quick key presses. ``value`` is its
    default as well: where two runs follow each other closely the browser may see the second alone, which no longer sets
    the state, and would report the widget's first option as the person's choice.
    """
    if key not in st.session_state or st.session_state[key] != value:
        st.session_state[key] = value
    options = _default(kind.__name__, value, options) | options
    return kind(label, key=key, on_change=lambda: keep(st.session_state[key]), **options)


def _default(kind: str, value: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``value`` under the name by which a kind of widget takes its default."""
    if kind in ("selectbox", "radio"):
        choices = list(options.get("options", ()))
        return {"index": choices.index(value)} if value in choices else {}
    if kind in ("multiselect", "pills", "segmented_control"):
        return {"default": value}
    return {"value": value} if kind in VALUED else {}


def field_view(kind: Callable[..., Any], label: str, name: str, **options: Any) -> Any:
    """Draw a widget for the parameter ``name``; ``to`` and ``back`` translate between parameter and widget."""
    to = options.pop("to", lambda value: value)
    back = options.pop("back", lambda value: value)
    return view(
        kind, label, f"field_{name}", to(getattr(current(), name)), lambda v: change(**{name: back(v)}), **options
    )
