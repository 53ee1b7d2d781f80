"""Compare, the paths of the methods: asked for, on their way, failed, or to be started by a person."""

import streamlit as st

from mklcore.figures import style
from pages._parts.derive import comparison, gram_stacks
from pages._parts.derive import paths as derive_paths
from pages._parts.derive.comparison import Shown
from pages._parts.drawing.asking import offer
from pages._parts.jobs.preparing import preparation
from pages._parts.params.parameters import Params
from pages._parts.session import board, history, words
from pages._parts.session.memory import memory

REFRESH_SECONDS = 0.5


def request(params: Params) -> None:
    """See to it that every method's path is there or on its way; large work waits for its button."""
    wanted = comparison.missing(params)
    if not wanted:
        return
    paths = style.counted(len(wanted), "path")

    def waits() -> str:
        stack = gram_stacks.grams(params).train
        return f"{paths} over {stack.n_kernels} kernels on {stack.n_samples:,} rows take a while. Start when you like."

    offer(
        comparison.key(params), lambda: ask(params), again=True,
        small=lambda: comparison.is_small(params, wanted),
        waits=waits,
        work="The work on the methods", stays=" Methods that had ended stay.",
        label=f"Compute {paths}", button="compare_run",
    )  # fmt: skip


def ask(params: Params) -> None:
    """Have the worker compute every missing path."""
    job = comparison.job(params)
    if job.pieces:
        board.ask(job)


def again(params: Params) -> None:
    """Forget what failed and start once more."""
    for method in comparison.methods(params):
        memory().methods.errors.pop(derive_paths.key(comparison.method_params(params, method)), None)
    ask(params)


def watch(params: Params) -> None:
    """Run the page again when one more method has ended."""
    job, before = board.mine(comparison.key(params)), len(comparison.missing(params))
    live = job is not None and job.live

    @st.fragment(run_every=REFRESH_SECONDS if live else None)
    def look() -> None:
        if live and len(comparison.missing(params)) != before:
            history.rerun()

    look()


def note(one: Shown, params: Params) -> str:
    """Say why a method has no path to show."""
    if one.error:
        return one.error
    job = board.mine(comparison.key(params))
    return "Its path is on its way." if job is not None and job.live else "No path yet."


def follow(params: Params) -> None:
    """See to it that the models of paths that came with the project are fitted, after they are drawn."""
    st.caption(words.EARLIER)
    if preparation().ready(derive_paths.are_usual(*comparison.missing(params))):
        request(params)
        if not comparison.missing(params):
            history.rerun()
