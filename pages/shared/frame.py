"""The frame of every page: heading, notices, presentation, theme, and the visit that draws them."""

import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from mklcore.errors import MKLError
from pages.shared.export import saved
from pages.shared.private_streamlit import plain
from pages.shared.server import starting
from pages.shared.session import parameters, state
from pages.shared.session.state import memory
from pages.shared.values import tables
from pages.shared.widgets import controls, drawing
from pages.shared.work import compiling, turns, work

# Type has four sizes: 1.1875 rem for the title of the page, 1 rem for headings and text, 0.875 rem
# for controls and captions, 0.75 rem inside figures. Formulas have the size of the text around
# them; KaTeX makes them a fifth larger. Streamlit keeps 80 pixels free on either side, cuts the
# menu off at nine pages, and stacks every row of columns on a phone. What follows a cursor runs in
# a part of its own: its slider is brought before the columns, and on a phone before everything,
# while figures of several methods are scrolled sideways there. White text needs a darker blue than
# blue text on dark paper does: primary buttons have one of their own. The heading stays as tall as
# its title: what is in progress is one line beside it, and gives way to it.
LAYOUT = """<style>
[data-testid="stMainBlockContainer"] { padding-left: 2rem; padding-right: 2rem; }
.katex { font-size: 1em; }
[data-testid="stMarkdownContainer"] :not(.katex-display) > .katex { display: inline-block; }
.katex-display > .katex { font-size: 1.0625em; }
.katex-display { overflow-x: auto; overflow-y: hidden; padding: 2px 0; }
[data-testid="stTopNavLink"] { gap: 0.25rem; padding-left: 0.375rem; padding-right: 0.375rem; }
.st-key-heading h1 { padding: 0.25rem 0; }
.st-key-heading [data-testid="stColumn"]:nth-child(2) > * { max-height: 2.5rem; }
.st-key-progress:has(button) .st-key-compiling { display: none; }
.st-key-heading [data-testid="stProgress"] { display: flex; flex-direction: column; }
.st-key-heading [data-testid="stProgress"] p { font-size: 0.875rem; line-height: 1.25; }
.st-key-heading [data-testid="stHeading"] [data-testid="stMarkdownContainer"] { margin-bottom: 0; }
.st-key-heading [data-testid="stProgress"] p { white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
[data-testid="stBaseButton-primary"] { background: #0072B2; border-color: #0072B2; color: #FFFFFF; }
[data-testid="stBaseButton-primary"] * { opacity: 1; }
[data-testid="stMultiSelect"] [data-tag] { background: #0072B2; color: #FFFFFF; }
[data-testid="stFileUploaderDropzoneInstructions"] * { white-space: normal; }
[data-testid="stSidebar"] [data-testid="stButtonGroup"] button { padding-left: 0.5rem; padding-right: 0.5rem; }
.st-key-theme_eye { flex: none; width: 0; }
.st-key-heading [data-testid="stColumn"] { flex-grow: 0; }
.st-key-heading [data-testid="stHorizontalBlock"] { flex-wrap: nowrap; }
.st-key-heading [data-testid="stColumn"]:first-child { flex: 1 0 max-content; width: auto; min-width: 0; }
.st-key-heading [data-testid="stColumn"]:nth-child(2) { flex: 0 1 24rem; width: auto; min-width: 0; }
.st-key-heading [data-testid="stColumn"]:nth-child(2):not(:has([role="progressbar"], button)) { flex-basis: 0; }
.st-key-heading [data-testid="stColumn"] [data-testid="stColumn"]:first-child { flex: 1 1 0; }
.st-key-heading [data-testid="stColumn"] [data-testid="stColumn"]:last-child { flex: none; }
[data-testid="stLayoutWrapper"]:has(> [data-testid="stVerticalBlock"] > * > .st-key-explore_cursor),
[data-testid="stVerticalBlock"]:has(> * > .st-key-explore_cursor) { display: contents; }
@media (min-width: 641px) {
  [data-testid="stColumn"]:has(.st-key-predict_answer) { position: sticky; top: 4rem; align-self: flex-start; }
}
@media (min-width: 1800px) {
  .st-key-present button::after { content: "Present to a class"; margin-left: 0.5rem; white-space: nowrap; }
  .st-key-heading [data-testid="stColumn"]:nth-child(3) { flex: none; width: auto; }
}
@media (max-width: 1360px) {
  [data-testid="stTopNavLink"] > span:first-child:not(:last-child) { display: none; }
}
@media (max-width: 1100px) {
  [data-testid="stTopNav"] + div { flex: none; width: auto; min-width: 0; }
  [data-testid="stTopNavLink"] { font-size: 0.875rem; padding-left: 0.25rem; padding-right: 0.25rem; }
  [data-testid="stSidebar"][aria-expanded="true"] { min-width: 208px; max-width: 208px; }
  [data-testid="stSidebar"] [data-testid="stButtonGroup"] button { padding-left: 0.25rem; padding-right: 0.25rem; }
}
@media (max-width: 640px) {
  [data-testid="stMainBlockContainer"] { padding-left: 1rem; padding-right: 1rem; }
  .st-key-heading [data-testid="stHorizontalBlock"] { flex-wrap: wrap; row-gap: 0; }
  .katex-display > .katex { white-space: normal; }
  .st-key-explore_looks { column-gap: 0; }
  .st-key-heading [data-testid="stColumn"] { flex: 0 1 auto; min-width: 0; width: auto; }
  .st-key-heading [data-testid="stColumn"]:nth-child(-n + 2) { flex: 1 0 100%; }
  .st-key-heading [data-testid="stColumn"]:nth-child(2) > * { max-height: none; }
  .st-key-present, .st-key-explore_looks > :has([data-testid="stCaptionContainer"]) { display: none; }
  [data-testid="stHorizontalBlock"] { row-gap: 1rem; }
  .st-key-samples [data-testid="stColumn"] { flex: 1 1 40%; min-width: 0; }
  .st-key-samples button p { white-space: normal; }
  [data-testid="stButtonGroup"], [data-testid="stButtonGroup"] div { flex-wrap: wrap; overflow: visible; mask: none; }
  [data-testid="stButtonGroup"] button { padding-left: 0.5rem; padding-right: 0.5rem; }
  [data-testid="stSidebar"][aria-expanded="true"] { min-width: 264px; max-width: 100%; }
  .st-key-explore_cursor [data-testid="stColumn"]:last-child { order: -1; }
  .st-key-compare_figure { overflow-x: auto; }
  .st-key-compare_figure::before { content: "Scroll sideways for all methods."; font-size: 0.875rem; opacity: 0.7; }
  .st-key-compare_figure > * { min-width: 46rem; }
  [data-testid="stColumn"]:has(.st-key-predict_answer) { order: -1; }
}
</style>"""


def dress() -> None:
    """Give the page its layout, and larger type for a class; once per run, before anything is drawn."""
    st.html(LAYOUT)
    if state.current().present:
        st.html(PRESENTED)


# The theme a person looks at


_here = Path(__file__).parent
_eye = st.components.v2.component(
    "theme_eye",
    html="<span></span>",
    css=":host { display: none; } span { color: var(--st-background-color); }",
    js=(_here / "frame.js").read_text(encoding="utf-8"),
)


def watch_theme() -> None:
    """Have the browser say so where it shows another theme than the page is drawn for; the whole
    page then runs again.
    """
    shown = {"dark": drawing.is_dark(), "table": saved.own_table()}
    _eye(key="theme_eye", data=shown, default={"dark": None}, on_dark_change=lambda: None)


# For a room full of people: one picture, no sidebar, larger type


# The type of every part depends on the root's size; Streamlit has no switch for the sidebar and the
# menu of one session.
PRESENTED = """<style>
:root:root { font-size: clamp(20px, 1.35vw, 28px); }
[data-testid="stSidebar"], [data-testid="stExpandSidebarButton"], header[data-testid="stHeader"] { display: none; }
[data-testid="stMainBlockContainer"] { max-width: 110rem; padding-top: 0.75rem; }
</style>"""


def presentation_button() -> None:
    """Draw the switch of the heading: into presentation, or out of it."""
    name = "present"
    icon = "present_to_all"
    help = "Present to a class: no sidebar, larger type"
    if state.current().present:
        name = "leave_presentation"
        icon = "close_fullscreen"
        help = "Leave the presentation: Esc"
    st.button("", icon=f":material/{icon}:", key=name, on_click=_turn, type="tertiary", help=help)


def _turn() -> None:
    state.change(present=not state.current().present)


def way_out() -> None:
    """Draw the ways from a presented page: the lessons, the next pages, and out."""
    if not state.current().present:
        return
    with controls.row():
        for address in ("lessons", "explore", "compare", "hulls"):
            state.link(address, state.PAGES[address].title)
        st.button(
            "Leave the presentation",
            key="leave_below",
            on_click=_turn,
            icon=":material/close_fullscreen:",
            shortcut="Esc",
            type="tertiary",
        )


# Notices


# of a file that cannot be read at all
MOST_BYTES = 1300
MOST_LINES = 8


def draw_notices() -> None:
    """Say what of a link was refused, and what was dropped because something before it changed."""
    for sentence in memory().refused:
        st.warning(plain(sentence), icon=":material/link_off:")
    if memory().notice:
        st.info(memory().notice, icon=":material/refresh:")


def usable_table() -> bool:
    """Tell whether the table in use can be had; if not, say what to do and where."""
    try:
        # its file may have left the session while its split is still there
        tables.table(state.current())
        tables.split(state.current())
    except state.MissingFileError:
        st.info(
            "This link needs a file that stayed with the person who uploaded it. Upload "
            "the same file to go on."
        )
        if memory().page != "data":
            saved.uploader("The file of this link")
            return False
    except work.PendingError as error:
        drawing.refusal(error, "refused")
        return False
    except MKLError as error:
        drawing.refusal(error, "refused")
        first_rows()
    else:
        return True
    if memory().page != "data":
        state.link("data", "Go to Data")
    return False


def with_table(draw: Callable[[parameters.Params], None]) -> None:
    """Draw what needs the table in use, or why it cannot be had, or drawn."""
    if usable_table():
        try:
            draw(state.current())
        except MKLError as error:
            drawing.refusal(error, "page_refused")


def lead_to_data(why: str) -> None:
    """Say why a page shows nothing of this table, and lead to another one."""
    st.info(why)
    state.link("data", "Go to Data")


def is_refused() -> bool:
    """Tell whether the table cannot be had, and not only is on its way."""
    try:
        tables.table(state.current())
    except work.PendingError:
        return False
    except (MKLError, state.MissingFileError):
        pass
    return True


def first_rows() -> None:
    """Draw how an uploaded file that was refused begins, and what to do about it."""
    params = state.current()
    if not params.is_upload or tables.on_stack(params):
        return
    try:
        found = tables.summary(params)
    except MKLError:
        begins = state.upload(params.data).content[:MOST_BYTES].decode("latin-1")
        st.code("\n".join(begins.splitlines()[:MOST_LINES]), language=None)
        st.caption(
            "The file begins like this. If letters or columns look wrong, change how the "
            "file is read on Data."
        )
        return
    import pandas as pd  # which a first page is drawn without

    frame = pd.DataFrame(found.preview, columns=[column.name for column in found.columns])
    st.dataframe(
        frame,
        hide_index=True,
        alt=f"The first {len(frame)} rows of the refused table",
        key="refused_rows",
    )
    st.caption(
        "The first rows as they were read. On Data, change the target, the task, the use "
        "of a column or how the file is read."
    )


# Heading


def heading(question: str, *, tools: bool = True) -> DeltaGenerator:
    """Draw the page's one question, with ``tools`` undo, link and code; return the place beside it
    where work in progress is shown.
    """
    widths = [
        19.5,
        7.5,
        1.3,
        *([1.3, 1.3, 1.7, 1.7] if tools else []),
    ]
    places = st.container(key="heading").columns(widths, vertical_alignment="center", gap="xsmall")
    title, progress, screen, *rest = places
    title.title(f"{question} :gray[:small[{plain(_name_of_table())}]]", anchor=False)
    with screen, st.container(horizontal=True, gap=None):
        presentation_button()
        watch_theme()
    if tools:
        undo, redo, link, code = rest
        undo.button(
            "",
            icon=":material/undo:",
            key="undo",
            on_click=state.undo,
            help="Undo the last step",
            type="tertiary",
        )
        redo.button(
            "",
            icon=":material/redo:",
            key="redo",
            on_click=state.redo,
            help="Do the undone step again",
            type="tertiary",
        )
        with link:
            drawing.pocket(
                "", "link", "link", "A link or a file that restores this screen", _address
            )
        with code:
            drawing.pocket("", "code", "screen", "The code that makes this screen", _code)
    return progress


LONGEST_NAME = 40  # letters


def _name_of_table() -> str:
    """Return what a person calls the table in use, also where this session does not hold its file."""
    params = state.current()
    if params.data in memory().uploads or not params.is_upload:
        name = drawing.name_of(params)
    else:
        found = saved.remembered()
        name = (
            found[0]
            if found is not None and found[1]["data"] == params.data
            else "a file that is not here"
        )
    return name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}…"


def _address() -> None:
    url = (st.context.url or "").split("?")[0]
    parts = urlencode(parameters.link_text(state.current()))
    st.code(f"{url}?{parts}" if parts else url, language=None, wrap_lines=True)
    if state.current().is_upload:
        st.caption(
            "The link does not hold your table: a person who opens it is asked for the file."
        )
    if not saved.missing(state.current()):
        controls.download(
            "Save",
            saved.saving(),
            f"screen.{saved.ENDING}",
            "save",
            help=(
                "One file with table, parameters, path and model. Drop it on the start page "
                "to open it."
            ),
        )


def _code() -> None:
    from pages.shared.export import scripts  # with scikit-learn, which a page can be drawn without

    scripts.draw(state.current(), memory().page)


# The visit


AGAIN_SECONDS = 5.0
LOST = "st.session_state has no key"  # what Streamlit says of a widget without a state


def draw() -> None:
    """Draw the frame and in it the page asked for, when it is its turn.

    A run that Streamlit stops may still end while the next one of its session draws, and take the
    state of a widget away from it: that one is drawn once more.
    """
    with work.drawing(), turns.PAGE_TURNS.taken():
        try:
            _draw()
        except KeyError as error:
            before = memory().overlapped
            memory().overlapped = time.monotonic()
            if LOST not in str(error) or memory().overlapped - before < AGAIN_SECONDS:
                raise
            state.rerun()


def _draw() -> None:
    work.begin()
    state.set_layout()
    page, address = state.menu()
    is_start = address == state.START
    state.begin(address)
    saved.begin()
    if is_start:
        state.leave_bare()
    else:
        state.end()
    dress()
    progress = heading(state.PAGES[address].question, tools=not is_start)
    notices = st.container()
    starting.wait_for(
        address,
        comes_along=state.current() == parameters.Params()
        and tables.comes_along(parameters.Params()),
    )
    if not saved.offer():
        page.run()
    way_out()
    # Last, so that what the page has just begun or made obsolete is shown in the same run.
    with notices:
        draw_notices()
    # Each in a place of its own: a fragment of the run before may still write where this run has
    # nothing to show.
    with progress, st.container(gap=None, key="progress"):
        with st.container(gap=None, key="compiling"):
            compiling.line(address)
        with st.container(gap=None):
            work.bar()
    starting.drawn()
