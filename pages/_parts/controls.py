"""Widgets the pages share: the heading with undo and link, what has to be told, and controls built from the registry."""

import math
import re
from collections.abc import Callable, Iterable
from pathlib import Path as File
from typing import Any
from urllib.parse import urlencode

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from mklcore.errors import MKLError
from mklcore.estimators.registry import Algorithm, Control
from mklcore.figures import style
from mklcore.path import ACCEPTED
from pages._parts import cache, nav, present, state

SHARES = ("accuracy", ACCEPTED)  # scores that are shares of rows
NORMS = (1.0, 1.05, 1.1, 1.2, 4 / 3, 1.5, 2.0, 3.0, 4.0, 8.0, 16.0, math.inf)


def text(name: str) -> str:
    """Return one of the texts in ``pages/_parts/text``."""
    return (File(__file__).parent / "text" / f"{name}.md").read_text(encoding="utf-8")


def plain(text: object) -> str:
    """Return text that came from a file as it is, with what Markdown would read as signs made harmless."""
    return re.sub(r"([\\`*_{}\[\]()#+\-.!|~<>$:])", r"\\\1", str(text))


def seconds(value: float) -> str:
    """Return a time with one digit after the point, as the screen says it."""
    return "< 0.1 s" if value < 0.1 else f"{value:.1f} s"


def score(name: str, value: float | None, mark: str = "") -> str:
    """Return a score as the screen says it, its figure between ``mark``s: shares of rows as percentages."""
    if value is None or math.isnan(value):
        return "not measured"
    return f"{mark}{100 * value:.1f} %{mark}" if name in SHARES else f"{mark}{style.number(value)}{mark}"


def heading(question: str) -> DeltaGenerator:
    """Draw the page's one question with undo and link; return the place beside it where work in progress is shown."""
    from pages._parts import downloads, runs_view  # they draw with what stands in this module

    title, progress, screen, undo, redo, kept, link, code = st.columns(
        [18, 9, 1.3, 1.3, 1.3, 1.7, 1.7, 1.7], vertical_alignment="bottom", gap="xsmall"
    )
    title.title(question, anchor=False)
    with screen:
        present.button()
    undo.button("", icon=":material/undo:", key="undo", on_click=state.undo, help="Undo the last step", type="tertiary")
    redo.button(
        "", icon=":material/redo:", key="redo", on_click=state.redo, help="Do the undone step again", type="tertiary",
    )  # fmt: skip
    with kept:
        runs_view.corner()
    with link:
        _link()
    with code:
        downloads.screen()
    state.look_again()
    return progress


@st.fragment
def _link() -> None:
    """Draw the link when it is asked for: a released cursor changes it without a run of the whole app."""
    pocket = st.popover(
        "", icon=":material/link:", key="link", on_change="rerun", help="A link that restores this screen",
        type="tertiary",
    )  # fmt: skip
    with pocket:
        _address()


def _address() -> None:
    url = (st.context.url or "").split("?")[0]
    parts = urlencode(state.text(state.current()))
    st.code(f"{url}?{parts}" if parts else url, language=None, wrap_lines=True)
    if state.current().data.startswith(state.UPLOAD):
        st.caption(
            "The link names your file by its fingerprint. Whoever opens it is asked for the file itself. Save the screen for "
            "a link that brings the file along."
        )


def notices() -> None:
    """Say what of a link was refused, and what was dropped because something before it changed."""
    for sentence in st.session_state.get("refused", ()):
        st.warning(plain(sentence), icon=":material/link_off:")
    if "told" in st.session_state:
        st.info(st.session_state["told"], icon=":material/refresh:")


def usable_table() -> bool:
    """Tell whether the table in use can be had; if not, say what to do and where."""
    try:
        cache.table(state.current())  # its file may have left the session while its split is still at hand
        cache.split(state.current())
    except cache.MissingFileError:
        st.info(
            "This link is about a file that someone uploaded. Files stay with the person who uploaded them: "
            "upload the same file on the Data page, and this screen comes back."
        )
    except MKLError as error:
        st.error(plain(error))
    else:
        return True
    if st.session_state["page"] != "data":
        nav.link("data", "Go to Data")
    return False


def applicable(algorithm: Algorithm, task: str) -> list[Control]:
    """Return the controls of the algorithm that make sense for the task."""
    return [control for control in algorithm.controls if not control.tasks or task in control.tasks]


def setting(control: Control) -> None:
    """Draw one control of the algorithm in use with its help line, as a view of the session's parameters."""

    def keep(chosen: state.Setting) -> None:
        state.set_params(state.current().with_setting(control.name, chosen))

    widget(control, state.current().setting(control), f"setting_{control.name}_{control.kind}", keep)
    if control.help:
        st.caption(control.help)


def widget(
    control: Control, value: Any, key: str, keep: Callable[[state.Setting], None], help_text: str | None = None
) -> None:
    """Draw a control in the form its kind asks for, as a view of ``value``; ``keep`` takes what a person chooses."""
    match control.kind:
        case "choice":
            names = {name: name.replace("_", "-") for name in control.choices}
            state.view(
                st.selectbox, control.label, key, value, keep, options=list(names), format_func=names.__getitem__,
                help=help_text,
            )  # fmt: skip
        case "flag":
            state.view(st.toggle, control.label, key, value, keep, help=help_text)
        case "integer":
            low, high = int(control.low), int(control.high)
            state.view(
                st.number_input, control.label, key, int(value), keep, min_value=low, max_value=high, step=1,
                help=help_text,
            )  # fmt: skip
        case _:
            steps = NORMS if control.kind == "p" else human_steps(control.low, control.high)
            state.view(
                st.select_slider, control.label, key, float(value), keep, options=sorted({*steps, float(value)}),
                format_func=style.number, help=help_text,
            )  # fmt: skip


def human_steps(low: float, high: float) -> list[float]:
    """Return the round numbers 1, 2, 5 per decade from ``low`` to ``high``."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = [float(f"{mantissa}e{decade}") for decade in decades for mantissa in (1, 2, 5)]
    return [step for step in steps if low * (1 - 1e-9) <= step <= high * (1 + 1e-9)]


def sentences(lines: Iterable[str]) -> None:
    """Draw notes as a plain list."""
    st.markdown("\n".join(f"- {plain(line)}" for line in lines))
