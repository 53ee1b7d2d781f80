"""What several pages draw: figures and ways to take them, refusals with their repairs, values
behind a button.
"""

import math
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path as File
from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from mklcore.data.dataset import Dataset, Split
from mklcore.data.target import TargetCandidate, is_sure
from mklcore.errors import MKLError, Repair
from mklcore.figures import captions, style
from mklcore.io.catalog import Algorithm, Variant
from pages.shared.private_streamlit import plain
from pages.shared.session import state
from pages.shared.session.parameters import Params
from pages.shared.values import tables
from pages.shared.widgets import controls
from pages.shared.work import work
from pages.shared.work.work import Failed, FailedError, Found, Pending, PendingError, Ready

# Figures


MOST_CLASSES = 12
# it would cover labels; figures are taken away beside their titles
CONFIG = {"displayModeBar": False}
FONT = "Source Sans, sans-serif"  # of the text around a figure


def is_dark() -> bool:
    """Tell whether the person looks at the dark theme."""
    return st.context.theme.type == "dark"


def show(
    figure: go.Figure,
    key: str,
    height: int | None = None,
    width: int | Literal["stretch"] = "stretch",
) -> None:
    """Draw a figure with the alternative text it carries."""
    if height is not None:
        figure.layout.height = height
        figure.layout.margin.t = 12
    figure.layout.font.family = FONT
    if state.current().present:
        figure = style.enlarged(figure)
    st.plotly_chart(
        figure,
        width=width,
        theme=None,
        key=key,
        alt=figure.layout.meta["alt"],
        config=CONFIG,
    )


def target_figure(table: Dataset, parts: Split, *, dark: bool = False) -> go.Figure:
    """Draw how the target is distributed: rows per class and part, or the histogram of a number."""
    return _histogram(table, dark) if table.task == "regression" else _classes(parts, dark)


def _classes(parts: Split, dark: bool) -> go.Figure:
    tone = style.theme(dark)
    names = parts.train.class_names[:MOST_CLASSES]
    counts = {
        part: [int(np.count_nonzero(rows.y.astype(str) == name)) for name in names]
        for part, rows in parts._asdict().items()
    }
    totals = np.sum(list(counts.values()), axis=0)
    shares = 100 * totals / sum(len(part.y) for part in parts)
    # two names may be short alike
    called = [
        f"{style.short(name)} {total} ({share:.0f} %)"
        for name, total, share in zip(names, totals, shares, strict=True)
    ]
    figure = style.new_figure(
        f"Rows per class: {style.joined(called)}.",
        dark,
        height=90 + 34 * len(names),
        barmode="stack",
        bargap=0.35,
        margin={"l": 8, "r": 8, "t": 8},
    )
    shades = {"train": style.faded(tone.grey, 0.45), "validation": tone.grey, "test": tone.ink}
    for part, column in counts.items():
        figure.add_bar(
            x=column,
            y=list(range(len(names))),
            customdata=called,
            orientation="h",
            name=part,
            marker={"color": shades[part]},
            hovertemplate=f"%{{customdata}}, {part}: %{{x}} rows<extra></extra>",
        )
    title = "rows for training, validation and test, from the left"
    return figure.update_xaxes(title=title).update_yaxes(style.row_ticks(called))


def _histogram(table: Dataset, dark: bool) -> go.Figure:
    y = table.y.astype(float)
    alt = (
        f"Histogram of {table.target_name}: {len(y)} rows from {style.as_given(y.min())} to "
        f"{style.as_given(y.max())}."
    )
    figure = style.new_figure(
        alt,
        dark,
        height=220,
        bargap=0.04,
        margin={"l": 48, "r": 16, "t": 8},
    )
    heights, edges = np.histogram(y, bins=min(30, max(5, int(np.sqrt(len(y))))))
    figure.add_bar(
        x=(edges[:-1] + edges[1:]) / 2,
        y=heights,
        width=np.diff(edges),
        marker={"color": style.theme(dark).grey},
        hovertemplate="around %{x:.3g}: %{y} rows<extra></extra>",
    )
    figure.update_xaxes(title=style.short(table.target_name, 40))
    return figure.update_yaxes(title="rows")


# Taking figures away
#
# SVG and PNG are made by the browser from a light copy of the figure, drawn where the person asks
# for it: nothing leaves the host.


WIDTH = 656
HEIGHT = 400
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"
)
_here = File(__file__).parent
_saver = st.components.v2.component(
    "figure_saver",
    html='<div class="saver"><button type="button" data-format="svg">SVG</button>'
    '<button type="button" data-format="png">PNG</button><span role="status"></span></div>',
    css=(_here / "saver.css").read_text(),
    js=(_here / "saver.js").read_text(),
)


def file_name(name: str) -> str:
    """Return a name that every file system takes."""
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-").lower()[:60] or "mkl-explorer"


@st.fragment
def pocket(
    label: str,
    icon: str,
    key: str,
    help: str,
    draw: Callable[[], None],
) -> None:
    """Draw a button that opens; what ``draw`` draws in it is made then, and anew whatever has
    changed meanwhile.
    """
    opened = st.popover(
        label, icon=f":material/{icon}:", key=key, on_change="rerun", help=help, type="tertiary"
    )
    if opened.open:
        with opened:
            draw()


def strip(
    make: Callable[[], go.Figure],
    name: str,
    label: str = "Figure",
) -> None:
    """Draw a pocket with the figure that ``make`` draws in light colours, and the ways to take it:
    SVG, PNG, HTML.

    ``name`` is the file's name and has to differ between the figures of a page.
    """
    stem = file_name(name)
    help = "Take the figure away as SVG, PNG or HTML"
    pocket(label, "download", f"take_{stem}", help, lambda: _ways_to_take(light(make()), stem))


def _ways_to_take(figure: go.Figure, stem: str) -> None:
    left, right = st.columns([1, 1], vertical_alignment="center")
    with left:
        _saver(key=f"saver_{stem}", data={"chart": f"copy_{stem}", "name": stem})
    make = lambda: page_of(figure)  # noqa: E731
    controls.download("HTML", make, f"{stem}.html", f"html_{stem}", right, icon=None)
    st.plotly_chart(
        figure,
        key=f"copy_{stem}",
        alt=figure.layout.meta["alt"],
        theme=None,
        width=WIDTH,
        config={"displaylogo": False},
    )


def titled(
    title: str,
    make: Callable[[], go.Figure],
    name: str,
) -> None:
    """Draw the title of a figure, in Markdown, and beside it the pocket to take the figure away."""
    with controls.row(horizontal_alignment="distribute"):
        st.markdown(title, width="content")
        strip(make, name)


def figure(
    draw: Callable[..., go.Figure], name: str, key: str, title: str = "", small: bool = False
) -> None:
    """Draw a figure and the pocket to take it away, beside its title (``small``: its name) or else
    below it.
    """
    title = f":small[**{name}**]" if small else title
    if title:
        titled(title, draw, name)
    show(draw(dark=is_dark()), key)
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
    return (
        f"<!DOCTYPE html><html lang='en'><head>{head}<title>MKL "
        f"Explorer</title></head><body>{body}</body></html>"
    )


# Refusals


MOST_REPAIRS = 4  # buttons beside each other


def refusal(error: MKLError | Failed, key: str) -> None:
    """Draw an error and its repairs; a refused file can always be read without the choices made
    about it.
    """
    if isinstance(error, PendingError):
        st.caption(plain(error))
        return
    failed = error.failed if isinstance(error, FailedError) else error
    sentence = failed.sentence if isinstance(failed, Failed) else failed
    st.error(plain(sentence), icon=":material/block:")
    params = state.current()
    offered = tables.offered(params, error.repairs)
    if params.is_upload and (chosen := tables.as_found(params)):
        offered.append((tables.AS_FOUND, chosen))
    _buttons(offered, f"{key}_repair", "secondary")
    if isinstance(failed, Failed) and failed.again:
        st.button("Try again", key=f"{key}_again", on_click=work.again)


def beside(offers: Iterable[Repair], key: str, *, plain: bool = True) -> None:
    """Draw the repairs of a note: as plain links, or as the buttons of a warning."""
    _buttons(tables.offered(state.current(), offers), key, "tertiary" if plain else "secondary")


def _buttons(
    offered: list[tuple[str, dict[str, object]]], key: str, kind: Literal["tertiary", "secondary"]
) -> None:
    if not offered:
        return
    row = controls.row()
    for place, (label, changed) in enumerate(offered[:MOST_REPAIRS]):
        row.button(
            plain(label),
            key=f"{key}_{place}",
            on_click=state.change,
            kwargs=changed,
            type=kind,
        )


# Columns that may give the target away


MOST_LEAKS = 4  # columns that are shown


def leaks(key: str) -> bool:
    """Draw a warning for each suspicious column of a file, with "Leave it out"; samples have none.

    Return whether one of them says that the rows are in the order of time.
    """
    params = state.current()
    found = tables.leaks(params) if params.is_upload else ()
    for place, leak in enumerate(found[:MOST_LEAKS]):
        said, button = st.columns([5, 1], vertical_alignment="center")
        said.warning(plain(leak.text), icon=":material/visibility:")
        without = tables.without(params, leak.column)
        if without:
            _offer(button, "Leave it out", f"{key}_leak_{place}", uses=without)
        if leak.kind == "order" and (newest := tables.by_time(params)):
            _offer(button, "Split by time", f"{key}_by_time_{place}", hold_out=newest)
    if len(found) > MOST_LEAKS:
        others = [one.column for one in found[MOST_LEAKS:]]
        more = style.counted(len(others), "more column")
        st.caption(f"{more} like these: {plain(', '.join(others))}.")
    return any(leak.kind == "order" for leak in found[:MOST_LEAKS])


def _offer(column: Any, label: str, key: str, **change: str) -> None:
    column.button(label, key=key, on_click=state.change, kwargs=change, width="stretch")


# Texts and evidence


def text(name: str) -> str:
    """Return one of the texts in ``pages/shared/widgets/text``."""
    return (_here / "text" / f"{name}.md").read_text(encoding="utf-8")


def score(name: str, value: float | None) -> str:
    """Return a score in Markdown, as the screen says it."""
    return captions.score(name, value, "**")


def with_error(name: str, value: float, error: float) -> str:
    """Return a score with its standard error, with as many digits as the error lets be known:
    "0.047 ± 0.030".
    """
    if not math.isfinite(error):  # of too few rows
        return captions.score(name, value)
    percent = name in captions.SHARES
    places = 1 if percent or not 0 < error < math.inf else max(0, 1 - math.floor(math.log10(error)))
    shown = round(100 * value if percent else value, places) + 0.0  # no minus before a zero
    return style.minus(f"{shown:.{places}f} ± {100 * error if percent else error:.{places}f}")


def explanation(method: Algorithm, solved: Algorithm | Variant | None = None) -> None:
    """Draw the problem that is solved and how to read its picture; ``solved`` where a control
    changes what is solved.
    """
    solved = solved or method
    st.latex(solved.formula)
    look, limits = st.columns(2, gap="large")
    look.markdown(f"**What to look for.** {solved.look_for}")
    limits.markdown(f"**What it cannot tell.** {solved.cannot_tell}")
    st.caption(f"The problem above, with the parameters on the left: {method.paper}.")
    about_certificate()


def about_certificate() -> None:
    """Draw what the certificate says, folded."""
    with st.expander("What the certificate says", icon=":material/verified:"):
        st.markdown(text("certificate"))


# Values that nobody makes unasked


def request(
    label: str,
    key: str,
    get: Callable[[Any], Found],
    params: Any,
    show: Callable[[Any], Any],
    **button: Any,
) -> None:
    """Draw the button ``label``; once it was pressed for these ``params``, ``show`` the value that
    ``get`` gives.
    """
    if not pressed(label, key, params, **button):
        return
    match get(params):
        case Ready(value):
            show(value)
        case Pending(_, text):
            st.caption(f"{label}: {plain(text)}")
        case failed:
            refusal(failed, key)


def pressed(label: str, key: str, params: object, **button: Any) -> bool:
    """Whether the button ``label`` was pressed for these ``params``; it is drawn until then."""
    asked = st.session_state.setdefault("requests", set())
    name = (key, params)
    if name not in asked:
        st.button(
            label,
            key=key,
            on_click=asked.add,
            args=(name,),
            **button,
        )
    return name in asked


# What a page speaks of


NONE = "nothing: find unusual rows"


def name_of(params: Params) -> str:
    """What a person calls the table: the sample, or their file."""
    return state.upload(params.data).name if params.is_upload else tables.called(params)


def about(params: Params) -> str:
    """What is predicted, and in which table, in Markdown."""
    table = tables.table(params)
    name = plain(name_of(params))
    predicting = f"Predicting **{plain(table.target_name)}** in {name}"
    return f"Unusual rows in {name}" if table.task == "novelty" else predicting


def headline(sentence: str, params: Params) -> None:
    """Draw a sentence in Markdown, and beside it the chooser of another target; a sample has one
    target only.
    """
    if not params.is_upload or tables.on_stack(params):
        st.markdown(sentence)
        return
    said, change = st.columns([8, 1], vertical_alignment="center")
    said.markdown(sentence)
    with change.popover("Change", type="tertiary", help="Predict another column"):
        names = [column.name for column in tables.summary(params).columns]
        now = tables.table(params)
        controls.view(
            st.selectbox,
            "Predict",
            "field_explore_target",
            NONE if now.task == "novelty" else now.target_name,
            take,
            options=[*names, NONE],
        )


def take(name: str) -> None:
    """Predict another column, or none."""
    what = {"target": "", "task": "novelty"} if name == NONE else {"target": name, "task": ""}
    state.change(**what, at=None, column=0, term="", moved="")


# The likeliest targets


def offer_targets(*, ask: bool = False) -> None:
    """Draw a button for each of the likeliest targets of an uploaded table, where no guess is far
    ahead, or where a page has a reason to ``ask``.
    """
    params = state.current()
    if not params.is_upload or tables.on_stack(params) or params.task == "novelty":
        return
    candidates: tuple[TargetCandidate, ...] = ()
    with suppress(MKLError, state.MissingFileError):  # the page itself says so
        candidates = tables.summary(replace(params, target="")).candidates
    names = [one.name for one in candidates]
    if (
        len(names) < 2
        or (is_sure(candidates) and not ask)
        or (params.target and params.target not in names)
    ):
        return
    guess = f"We guessed that you want to predict **{plain(names[0])}**. Is it another column?"
    with controls.row():
        st.markdown("Other likely targets:" if params.target else guess, width="content")
        for place, one in enumerate(candidates):
            st.button(
                plain(one.name),
                key=f"target_{place}",
                on_click=state.change,
                kwargs={"target": one.name},
                type="primary" if one.name == (params.target or names[0]) else "secondary",
                help=f"Likely {plain(one.reason)}",
            )
