"""Widgets as views of the parameters: fields by their name, controls as the registry lists them."""

import math
import time
from collections.abc import Callable, Iterable, Mapping
from mimetypes import guess_type
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from mklcore.figures import captions, style
from mklcore.io.catalog import Algorithm, Control
from mklcore.paths.scoring import rarest, scorings_for
from pages.shared.private_streamlit import plain
from pages.shared.session import state
from pages.shared.session.parameters import METHODS, RULES, Setting
from pages.shared.session.state import change, current, memory
from pages.shared.values import tables

Keep = Callable[[Any], None]  # takes what a person chose
ECHO_SECONDS = 2.0
ECHOES = ("number_input", "selectbox")
VALUED = (
    "checkbox",
    "number_input",
    "select_slider",
    "slider",
    "text_area",
    "text_input",
    "toggle",
)


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


def download(
    label: str,
    make: Callable[[], str | bytes],
    file: str,
    key: str,
    place: Any = st,
    icon: str | None = ":material/download:",
    **more: Any,
) -> None:
    """Draw a download; what is in the ``file`` is made once it is asked for: a file made before may
    be gone when it is.
    """
    kind, _ = guess_type(file)
    more |= {"key": key, "icon": icon, "on_click": "ignore"}
    place.download_button(label, make, file, kind, **more)


def row(**more: Any) -> DeltaGenerator:
    """Return a container whose elements stand beside each other."""
    return st.container(horizontal=True, vertical_alignment="center", gap="small", **more)


def view(
    kind: Callable[..., Any],
    label: str,
    key: str,
    value: Any,
    keep: Keep,
    /,
    **options: Any,
) -> Any:
    """Draw a keyed widget that shows ``value`` and hands what the person chose to ``keep``.

    The widget's state is set only where it differs: setting it on every run loses quick key
    presses. ``value`` is its default as well: where two runs follow each other closely the browser
    may see the second alone, which no longer sets the state, and would report the widget's first
    option as the person's choice. ``options`` may be a table of what each option is called.
    """
    if isinstance(called := options.get("options"), dict):
        options |= {"options": list(called), "format_func": called.__getitem__}
    echoes = kind.__name__ in ECHOES
    called = _called(kind.__name__, value, options)
    drawn = memory().drawn
    renamed = drawn[key][1] != called if key in drawn else False
    drawn[key] = value, called
    if key not in st.session_state or st.session_state[key] != value or renamed:
        if echoes and st.session_state.get(key, value) != value:
            _write_over(key)
        st.session_state[key] = value
    options = _default(kind.__name__, value, options) | options

    def heard() -> None:
        chosen = st.session_state[key]
        if chosen == drawn[key][0] or (echoes and _is_echo(key)):
            # a widget that was gone for a run, and is back, reports what it shows: nobody chose
            # that
            return
        drawn[key] = chosen, drawn[key][1]
        keep(chosen)

    return kind(label, key=key, on_change=heard, **options)


def _called(kind: str, value: Any, options: Mapping[str, Any]) -> str:
    """Return what a list shows for ``value``: the browser keeps that text, not the value, from one
    run to the next.
    """
    if kind != "selectbox" or value not in options.get("options", ()):
        return ""
    return str(options.get("format_func", str)(value))


def _write_over(key: str) -> None:
    """Note that a number box or list gets another value than the one it holds, by no act of the
    person in it.
    """
    before = memory().written_over.get(key, ())[-3:]
    memory().written_over[key] = (*before, (st.session_state[key], time.monotonic()))


def _is_echo(key: str) -> bool:
    """Tell whether a widget reports what was written over just now: the browser did not have the
    new value yet.

    A path that is drawn point by point moves the box several times a second, and every look at its
    progress brings back what the browser still shows there. Taken for the person's wish it would
    hold the cursor where nobody put it.
    """
    recent = [
        was
        for was, at in memory().written_over.get(key, ())
        if time.monotonic() - at < ECHO_SECONDS
    ]
    return st.session_state[key] in recent


def _default(
    kind: str,
    value: Any,
    options: Mapping[str, Any],
) -> dict[str, Any]:
    """Return ``value`` under the name by which a kind of widget takes its default."""
    if kind in ("selectbox", "radio"):
        choices = list(options.get("options", ()))
        return {"index": choices.index(value)} if value in choices else {}
    if kind in ("multiselect", "pills", "segmented_control"):
        return {"default": value}
    return {"value": value} if kind in VALUED else {}


def field_view(
    label: str, name: str, kind: Callable[..., Any] | None = None, **options: Any
) -> Any:
    """Draw a widget for the parameter ``name``; ``to`` and ``back`` translate between parameter and
    widget.

    Its kind and its bounds are those of the parameter unless others are given.
    """
    now = getattr(current(), name)
    bounds = bounds_of(name)
    to = options.pop("to", lambda value: value)
    back = options.pop("back", lambda value: value)
    kind = kind or (
        st.selectbox
        if "options" in options
        else st.toggle
        if isinstance(now, bool)
        else st.number_input
    )
    if bounds and kind in (st.number_input, st.slider):
        options = {"min_value": bounds[0], "max_value": bounds[1], "step": 1} | options
    return view(
        kind, label, f"field_{name}", to(now), lambda v: change(**{name: back(v)}), **options
    )


def bounds_of(name: str) -> tuple[Any, Any] | None:
    """Return between which numbers a parameter is, None for one that is no number."""
    return RULES[name].bounds


# Controls of the registry


NORMS = (1.0, 1.05, 1.1, 1.2, 4 / 3, 1.5, 2.0, 3.0, 4.0, 8.0, 16.0, math.inf)


def setting(control: Control) -> None:
    """Draw one control of the algorithm in use, its help behind a question mark, as a view of the
    parameters.
    """

    def keep(chosen: Setting) -> None:
        state.set_params(state.current().with_setting(control.name, chosen))

    widget(
        control, state.current().setting(control), f"setting_{control.name}_{control.kind}", keep
    )


def widget(
    control: Control,
    value: Any,
    key: str,
    keep: Keep,
) -> None:
    """Draw a control in the form its kind asks for, as a view of ``value``; ``keep`` takes what a
    person chooses.
    """
    kind: Callable[..., Any]
    match control.kind:
        case "choice":
            kind = st.selectbox
            names = {name: name.replace("_", "-") for name in control.choices}
            options: dict[str, Any] = {"options": names}
        case "flag":
            kind = st.toggle
            options = {}
        case "integer":
            kind = st.number_input
            value = int(value)
            options = {"min_value": int(control.low), "max_value": int(control.high), "step": 1}
        case _:
            kind = st.select_slider
            value = float(value)
            options = {"options": stops(control, value), "format_func": style.number}
    view(kind, control.label, key, value, keep, help=control.help or None, **options)


def method(label: str, key: str, now: str, keep: Keep) -> None:
    """Draw the choice of a method among those for the table in use."""
    offered = METHODS.offered(tables.table(current()).task, now)
    names = {name: METHODS[name].label for name in offered}
    help = METHODS[now].one_line
    view(st.selectbox, label, key, now, keep, options=names, help=help)


def path_over(method: Algorithm, key: str, now: str, keep: Keep) -> None:
    """Draw what the path of a method runs over, where there is a choice."""
    names = {name: captions.symbol(name) for name in method.path_params}
    if len(names) > 1:
        help = method.path(now).help
        view(
            st.segmented_control,
            "Path over",
            key,
            now,
            keep,
            options=names,
            required=True,
            help=help,
        )


def stops(control: Control, *more: float) -> list[float]:
    """Return where the slider of a control stops: at norms, or at round numbers, and at ``more``."""
    steps = NORMS if control.kind == "p" else human_steps(control.low, control.high)
    return sorted({*steps, *more})


def scoring() -> None:
    """Draw the choice of the score that models are chosen and judged by, where the table has a
    target.
    """
    params = state.current()
    table = tables.table(params)
    suits = scorings_for(table.task)
    usual = "r2" if table.task == "regression" else "accuracy"
    if not suits:
        return
    now = params.scoring if params.scoring in suits else usual
    rare = rarest(table)
    short = (
        ""
        if rare is None
        else f"Class {rare[0]} holds {100 * rare[1]:.1f} % of the rows: accuracy hardly sees it. "
    )
    view(
        st.selectbox,
        "Scored by",
        "field_scoring",
        now,
        lambda name: state.change(scoring="" if name == usual else name),
        options=list(suits),
        format_func=lambda name: suits[name].label,
        help=f"{short}{suits[now].help}",
    )


def human_steps(low: float, high: float) -> list[float]:
    """Return the round numbers 1, 2, 5 per decade from ``low`` to ``high``."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = [float(f"{mantissa}e{decade}") for decade in decades for mantissa in (1, 2, 5)]
    return [step for step in steps if low * (1 - 1e-9) <= step <= high * (1 + 1e-9)]


def sentences(lines: Iterable[str]) -> None:
    """Draw notes as a plain list."""
    st.markdown("\n".join(f"- {plain(line)}" for line in lines))
