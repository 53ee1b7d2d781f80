"""Runs on the screen: the corner that saves and opens them, the note about an upload, two runs side by side."""

from contextlib import suppress
from pathlib import Path as Place
from urllib.parse import urlencode, urlsplit

import streamlit as st

from mklcore.figures.runs import weights_beside
from pages._parts.drawing import charts
from pages._parts.params import link
from pages._parts.runs import keeping, results
from pages._parts.runs.disk import StoreError, default_home
from pages._parts.runs.results import ResultsError
from pages._parts.runs.store import LONGEST_NAME, UNOPENED_DAYS, Run
from pages._parts.session import fields, history
from pages._parts.session import words as session_words
from pages._parts.session.memory import memory

SCROLLED = 4  # runs from which on the list scrolls
_browser = st.components.v2.component(
    "runs_memory",
    html="<span></span>",
    css=":host{display:none}",
    js=(Place(__file__).parent / "runs_memory.js").read_text(),
)


@st.fragment
def corner() -> None:
    """Draw the door to the saved runs, and listen to what the browser remembers."""
    kept = memory().kept
    waits = bool(keeping.missing(history.current())) or kept.owner_wanted == "upload"
    before = keeping.owner()
    keeping.hear(fields.report("runs_browser"))
    _save_what_waits()
    with st.container(horizontal=True, gap=None, key="runs_corner"):
        pocket = st.popover(
            "", icon=":material/bookmark:", key="runs", on_change="rerun", help="Save this screen, open a saved one",
            type="tertiary",
        )  # fmt: skip
        _browser(
            key="runs_browser",
            data={
                "make": kept.owner_wanted,
                "keep": kept.keep_reported,
                "known": bool(keeping.owner()),
            },
            default={"report": None},
            on_report_change=lambda: None,
        )
        kept.keep_reported = None
    with pocket:
        if pocket.open:
            _inside()
        else:
            kept.said = kept.sure = kept.linked = None
    _show_two()
    if memory().next_page is not None or (not before and keeping.owner() and waits):
        history.rerun()


def _inside() -> None:
    suggested = keeping.suggestion(history.current())
    st.text_input("Name", placeholder=suggested, max_chars=LONGEST_NAME, key="runs_name")
    st.button("Save this screen", icon=":material/bookmark_add:", key="runs_save", on_click=_ask)
    _tell()
    try:
        mine = keeping.mine()
    except StoreError as error:
        st.warning(session_words.plain(error))
        return
    if keeping.store().warning:
        st.warning(session_words.plain(keeping.store().warning))
    if not mine:
        st.caption(
            "A saved run keeps the table, the parameters and the results on the server until you delete it, or until "
            "nobody has "
            f"opened it for {UNOPENED_DAYS} days. It is listed in this browser only; its link opens it anywhere."
        )
        return
    with st.container(height=280 if len(mine) > SCROLLED else "content", border=False, gap="small"):
        for run in mine:
            _row(run, len(mine) > 1)
    if len(mine) > 1:
        _choice_of_two(mine)
    if memory().kept.browser_forgets:
        st.caption("This browser remembers nothing after it is closed. Copy the link of what you want to open again.")


def _tell() -> None:
    said = memory().kept.said
    if said is not None:
        good, sentence = said
        if good:
            st.caption(f":material/check: {session_words.plain(sentence)}")
        else:
            st.warning(session_words.plain(sentence))


def _ask() -> None:
    memory().kept.waiting = fields.value("runs_name") or ""  # it may have arrived with this very click
    if not keeping.owner():
        keeping.want_owner("save")
    _save_what_waits()


def _save_what_waits() -> None:
    kept = memory().kept
    if kept.waiting is None or kept.owner is None:
        return
    name, kept.waiting = kept.waiting, None
    try:
        run = keeping.save(name)
    except StoreError as error:
        kept.said = False, str(error)
        return
    kept.said, kept.linked = (True, f"Saved as {run.name}."), run.id


def _row(run: Run, several: bool) -> None:
    kept = memory().kept
    caption = ", ".join(
        part for part in (str(run.facts.get("method", "")), keeping.when(run), keeping.until(run)) if part
    )
    words, buttons = st.columns([1, 1], gap="small", vertical_alignment="center")
    words.markdown(f"**{session_words.plain(run.name)}**  \n:gray[:small[{session_words.plain(caption)}]]")
    with buttons.container(horizontal=True, gap="small", horizontal_alignment="right"):
        if kept.sure == run.id:
            st.button("Delete for good", key=f"runs_gone_{run.id}", on_click=_delete, args=(run.id,))
            st.button("Keep", key=f"runs_stay_{run.id}", on_click=_be_sure, args=(None,), type="tertiary")
        else:
            # Ticks and no list to choose from: its options are outside the corner, and a click on them closes it.
            if several:
                st.checkbox("Compare", key=f"runs_tick_{run.id}")
            st.button("Open", key=f"runs_open_{run.id}", on_click=_open, args=(run.id,))
            st.button("Link", key=f"runs_link_{run.id}", on_click=_link, args=(run.id,))
            st.button("Delete", key=f"runs_delete_{run.id}", on_click=_be_sure, args=(run.id,), type="tertiary")
    if kept.linked == run.id:
        st.code(address(run), language=None, wrap_lines=True)
        st.caption("A secret link: anyone who has it sees the table and the results. It ends when the run is deleted.")


def address(run: Run) -> str:
    """Return the secret link of one of this browser's runs."""
    here = urlsplit(st.context.url or "")
    start = f"{here.scheme}://{here.netloc}" if here.netloc else ""
    page = "" if run.page == "data" else run.page
    return f"{start}/{page}?{urlencode({link.RUN: keeping.secret(run)})}"


def _open(run_id: str) -> None:
    try:
        keeping.open_run(run_id)
        fields.put("runs", False)  # the corner closes
    except StoreError as error:
        memory().kept.said = False, str(error)


def _link(run_id: str) -> None:
    kept = memory().kept
    kept.linked = None if kept.linked == run_id else run_id


def _be_sure(run_id: str | None) -> None:
    memory().kept.sure = run_id


def _delete(run_id: str) -> None:
    kept = memory().kept
    kept.sure = None
    try:
        kept.said = True, keeping.delete(run_id)
    except StoreError as error:
        kept.said = False, str(error)


def _choice_of_two(mine: list[Run]) -> None:
    chosen = [run.id for run in reversed(mine) if fields.value(f"runs_tick_{run.id}")]
    st.button(
        "Compare two", key="runs_compare", disabled=len(chosen) != 2, icon=":material/compare_arrows:",
        help=None if len(chosen) == 2 else "Tick two runs above", on_click=_beside, args=(chosen,),
    )  # fmt: skip


def _beside(chosen: list[str]) -> None:
    memory().kept.two = chosen
    fields.put("runs", False)


def _show_two() -> None:
    chosen, memory().kept.two = memory().kept.two, None
    if chosen is None:
        return
    with suppress(StoreError):
        by_id = {run.id: run for run in keeping.mine()}
        if set(chosen) <= set(by_id):
            two(*(by_id[name] for name in chosen))


@st.dialog("Two runs beside each other", width="large", icon=":material/compare_arrows:")
def two(first: Run, second: Run) -> None:
    """Draw what two runs ask for, found and weigh."""
    sides = [(run.name, [("method", str(run.facts.get("method", ""))), *_lines(run)]) for run in (first, second)]
    st.dataframe(results.table(sides), hide_index=True, alt="Figures of the two runs", key="runs_table")
    try:
        found = [keeping.results(run) for run in (first, second)]
    except (StoreError, ResultsError) as error:
        st.warning(session_words.plain(error))
        found = [None, None]
    left, right = found
    if left is None or right is None:
        st.caption("Weights are compared where both runs were saved with their path on the screen.")
    else:
        _weights(keeping.weights((left, first), (right, second)), (first.name, second.name))
    _recipes(first, second)


def _lines(run: Run) -> list[tuple[str, str]]:
    facts = [("table", str(run.facts.get("table", ""))), *results.lines(run.facts)]
    return [
        *facts,
        ("seed of the split", str(run.facts.get("seed", ""))),
        ("mklcore", str(run.facts.get("mklcore", ""))),
    ]


def _weights(pair: results.Weights, names: tuple[str, str]) -> None:
    figure = weights_beside(pair.names, pair.families, pair.first, pair.second, names, dark=charts.is_dark())
    charts.show(figure, "runs_weights")
    st.caption(
        f"{100 * pair.changed:.0f} % of the weight is on other kernels. Compare weights only under one "
        f"normalisation; among "
        "correlated kernels they move without a change of the model."
    )


def _recipes(first: Run, second: Run) -> None:
    differing = keeping.differences(first, second)
    if not differing:
        st.caption("Both runs ask for the same: table, split, kernels, algorithm and its parameters.")
        return
    st.markdown("What they ask for differently")
    columns = {"parameter": [name for name, _, _ in differing]}
    columns |= {"first": [one for _, one, _ in differing], "second": [other for _, _, other in differing]}
    st.dataframe(columns, hide_index=True, alt="Parameters in which the two runs differ", key="runs_differences")


def kept_note() -> None:
    """Say under the uploader what becomes of the file in use, with the way to delete it and to stop keeping files."""
    sentence = keeping.kept_sentence()
    if not sentence:
        return
    st.caption(session_words.plain(sentence))
    kept = memory().kept
    if default_home() is None or history.current().data in kept.borrowed:
        return
    if kept.keep_uploads:
        st.button(
            "Delete it, keep no files", key="runs_forget", on_click=keeping.stop_keeping, icon=":material/delete:",
            type="tertiary",
            help="Files stay in the session then, and a reload asks for them again. Saved runs stay.",
        )  # fmt: skip
    else:
        st.button("Keep files for reloads", key="runs_remember", on_click=keeping.go_on_keeping, type="tertiary")
