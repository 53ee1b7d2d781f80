"""Admin, the view: sizes of what the server holds, by browser and without names, and the buttons that free it."""

import shutil
from collections.abc import Callable

import streamlit as st

from mklcore._numba.cache import NAMED, trouble
from pages._parts.admin import password
from pages._parts.derive import gram_stacks, workers
from pages._parts.jobs import worker
from pages._parts.jobs.job import JobState
from pages._parts.runs import keeping
from pages._parts.runs.disk import StoreError, default_home
from pages._parts.runs.store import Holder
from pages._parts.session import fields, words
from pages._parts.session.memory import memory

NOBODY = (
    "This server has no administrator. The person who runs it can become one: `python -m pages._parts.admin.password` "
    "asks for a password and "
    f"prints a line for the environment of the server, `{password.HASH}=...`."
)
SAID, DAYS, WHO, SURE = "admin_said", "admin_days", "admin_who", "admin_sure"


def draw() -> None:
    """Draw the page: nothing of it without the password."""
    kept = password.configured()
    if not kept:
        st.info(NOBODY)
    elif memory().admin != kept:
        _ask(kept)
    else:
        if memory().admin_message:
            st.info(_caption())
        _routines()
        holders = _holders()
        _sizes(holders)
        _kept(holders)
        _memory()


def _ask(kept: str) -> None:
    with st.form("admin_door", clear_on_submit=True, width=400):
        st.text_input("Administrator password", type="password", max_chars=200, key=SAID)
        st.form_submit_button("Open", on_click=_knock, args=(kept,))
    if memory().admin_message:
        st.error(_caption())


def _knock(kept: str) -> None:
    try:
        if password.DOOR.opens(str(fields.value(SAID) or ""), kept):
            memory().admin = kept
        else:
            memory().admin_message = "This is not the password."
    except ValueError as error:
        memory().admin_message = str(error)


def _caption() -> str:
    text, memory().admin_message = memory().admin_message, ""
    return text


def _routines() -> None:
    """Tell why compiled routines are not kept, where they are not: a full disk, or a folder that others may write
    in.
    """
    if why := trouble():
        st.warning(
            f"Compiled routines are not kept, so every start compiles them again: {words.plain(why)}. Work goes on. "
            f"Make room "
            f"there, or name a folder that only this account may write in {NAMED}, and start the server again."
        )


def _sizes(holders: list[Holder]) -> None:
    store, stacks = keeping.store(), gram_stacks.budget()
    home = default_home()
    jobs = [job for line in worker.LINES.values() for job in line.everyone()]
    running = sum(job.state is JobState.RUNNING for job in jobs)
    held = sum(holder.size for holder in holders)
    free = "" if home is None or not home.exists() else f"{shutil.disk_usage(home).free / 1e6:,.0f} MB"
    sizes = {
        "Files and runs": f"{held / 1e6:,.1f} of {store.limits.total_mb:,.0f} MB",
        "Free on their disk": free or "nothing is kept",
        "Kernels in memory": f"{stacks.held / 1e6:,.0f} of {stacks.most / 1e6:,.0f} MB",
        "Work": f"{running} running, {len(jobs) - running} waiting",
    }
    for place, (label, value) in zip(st.columns(len(sizes)), sizes.items(), strict=True):
        place.caption(label)
        place.markdown(f"**{value}**")


def _holders() -> list[Holder]:
    try:
        return keeping.store().holders()
    except StoreError as error:
        st.error(str(error))
        return []


def _kept(holders: list[Holder]) -> None:
    st.subheader("Kept files and runs")
    if not holders:
        st.caption("Nobody keeps anything.")
        return
    st.caption("By browser. What the files and runs are called, and what is in them, is not shown here.")
    st.dataframe(
        {
            "browser": [_short(holder.who) for holder in holders],
            "files": [holder.files for holder in holders],
            "runs": [holder.runs for holder in holders],
            "MB": [round(holder.size / 1e6, 2) for holder in holders],
            "days since its last use": [round(holder.idle_days, 1) for holder in holders],
        },
        hide_index=True,
        width="stretch",
    )
    left, right = st.columns(2)
    with left.form("admin_unused", border=False):
        st.number_input("Unnamed files that nobody used for so many days", 0.0, 7.0, 1.0, 0.5, key=DAYS)
        st.form_submit_button("Delete these files", on_click=_delete_unused)
    with right.form("admin_browser", border=False):
        st.selectbox("Everything of one browser", [holder.who for holder in holders], format_func=_short, key=WHO)
        st.checkbox("Its saved runs too; their links end", key=SURE)
        st.form_submit_button("Delete all of it", on_click=_delete_all)


def _short(who: str) -> str:
    return who[:8]


def _delete_unused() -> None:
    days = float(fields.value(DAYS))
    _do(lambda: f"{keeping.store().let_go_unused(days)} files deleted.")


def _delete_all() -> None:
    who = str(fields.value(WHO))
    if fields.value(SURE):
        _do(lambda: f"{keeping.store().delete_all_of(who)} runs deleted, and the files with them.")
    else:
        memory().admin_message = "Tick the box first: nobody can bring deleted runs back."


def _do(act: Callable[[], str]) -> None:
    try:
        memory().admin_message = act()
    except StoreError as error:
        memory().admin_message = str(error)


def _free_kernels() -> None:
    gram_stacks.budget().empty()
    workers.WORKERS.forget(left=False)


def _memory() -> None:
    st.subheader("Kernels in memory")
    st.caption("They are built again when a page asks for them; work that runs keeps its own until it ends.")
    st.button("Free them", on_click=_free_kernels)
