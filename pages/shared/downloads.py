"""Figures with a way to take them, and the code of a screen.

SVG and PNG are made by the browser from a light copy of the figure, drawn where the person asks for it: nothing leaves
the host. ``strip`` and ``screen`` are one line each on the page that wants them.
"""

import re
from collections.abc import Callable
from pathlib import Path as File

import plotly.graph_objects as go
import streamlit as st

from mklcore.errors import MKLError
from mklcore.figures import style
from pages.shared import drawing, state, words
from pages.shared.state import memory

WIDTH, HEIGHT = 656, 400
CODE_HEIGHT = 260
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"
_here = File(__file__).parent
_saver = st.components.v2.component(
    "figure_saver",
    html='<div class="saver"><button type="button" data-format="svg">SVG</button>'
    '<button type="button" data-format="png">PNG</button><span role="status"></span></div>',
    css=(_here / "downloads.css").read_text(),
    js=(_here / "downloads.js").read_text(),
)


def file_name(name: str) -> str:
    """Return a name that every file system takes."""
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-").lower()[:60] or "mkl-explorer"


# Figures


@st.fragment
def strip(make: Callable[[], go.Figure], name: str, label: str = "Figure") -> None:
    """Draw a pocket with the figure that ``make`` draws in light colours, and the ways to take it: SVG, PNG, HTML.

    ``name`` is the file's name and has to differ between the figures of a page. Nothing is drawn until it is opened.
    """
    stem = file_name(name)
    pocket = st.popover(
        label, icon=":material/download:", key=f"take_{stem}", on_change="rerun", type="tertiary",
        help="Take the figure away as SVG, PNG or HTML",
    )  # fmt: skip
    if not pocket.open:
        return
    figure = light(make())
    with pocket:
        left, right = st.columns([1, 1], vertical_alignment="center")
        with left:
            _saver(key=f"saver_{stem}", data={"chart": f"copy_{stem}", "name": stem})
        right.download_button(
            "HTML", lambda: page_of(figure), f"{stem}.html", "text/html", key=f"html_{stem}", on_click="ignore",
        )  # fmt: skip
        st.plotly_chart(
            figure, key=f"copy_{stem}", alt=figure.layout.meta["alt"], theme=None, width=WIDTH,
            config={"displaylogo": False},
        )  # fmt: skip


def titled(title: str, make: Callable[[], go.Figure], name: str) -> None:
    """Draw the title of a figure, in Markdown, and beside it the pocket to take the figure away."""
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.markdown(title, width="content")
        strip(make, name)


def figure(draw: Callable[..., go.Figure], name: str, key: str, title: str = "", small: bool = False) -> None:
    """Draw a figure and the pocket to take it away, beside its title (``small``: its name) or else below it."""
    title = f":small[**{name}**]" if small else title
    if title:
        titled(title, draw, name)
    drawing.show(draw(dark=drawing.is_dark()), key)
    if not title:
        strip(draw, name)


def light(figure: go.Figure) -> go.Figure:
    """Return a copy on white paper in a size for print."""
    copy = go.Figure(figure)
    paper = style.theme(dark=False).paper
    return copy.update_layout(
        paper_bgcolor=paper, plot_bgcolor=paper, width=WIDTH, height=figure.layout.height or HEIGHT
    )


def page_of(figure: go.Figure) -> str:
    """Return a figure as an HTML file that asks no server for anything."""
    body = figure.to_html(full_html=False, include_plotlyjs=True, config={"displaylogo": False})
    head = f"<meta charset='utf-8'><meta http-equiv='Content-Security-Policy' content=\"{POLICY}\">"
    return f"<!DOCTYPE html><html lang='en'><head>{head}<title>MKL Explorer</title></head><body>{body}</body></html>"


# The screen


@st.fragment
def screen() -> None:
    """Draw the pocket of the page's heading: script and notebook."""
    pocket = st.popover(
        "", icon=":material/code:", key="screen", on_change="rerun", type="tertiary",
        help="The code that makes this screen",
    )  # fmt: skip
    if pocket.open:
        with pocket:
            _screen()


def _screen() -> None:
    from pages.shared import scripts  # with scikit-learn, which a page can be drawn without

    params, page = state.current(), memory().page
    try:
        cells = scripts.cells(params, page)
    except (MKLError, state.MissingFileError) as error:
        known = isinstance(error, MKLError)
        st.info(words.plain(error) if known else "There is no table yet to compute with: choose one on Data.")
        return
    code = scripts.script(cells)
    one, two = st.columns(2)
    with one:
        _take("Script", lambda: code, "mkl_screen.py", "text/x-python")
    with two:
        _take("Notebook", lambda: scripts.notebook(cells), "mkl_screen.ipynb", "application/x-ipynb+json")
    st.code(code, language="python", height=CODE_HEIGHT)
    numbers = "the numbers of this screen" if page in scripts.PAGES else "the path of Explore on this table"
    st.caption(f"The script and the notebook compute {numbers} with the library alone.")


def _take(label: str, make: Callable[[], str], name: str, mime: str) -> None:
    """Draw a download whose file is made once it is asked for: a file made before may be gone when it is."""
    st.download_button(label, make, name, mime, key=f"take_{file_name(name)}", on_click="ignore", width="stretch")
