"""The place for a file: what a person brings becomes the table in use, or opens a saved screen."""

import dataclasses
from collections.abc import Callable

import streamlit as st

from mklcore.errors import DataError
from pages.shared import controls, kept, parameters, state, words, work
from pages.shared.state import memory

# What belongs to one table and returns to its usual value with another one.
OF_THE_TABLE = (
    *(one.name for one in dataclasses.fields(parameters.TableParams)[1:]),
    "grouping",
    "clip",
    "edited",
)
KINDS = ["csv", "tsv", "txt", "xlsx", "xls", "parquet", "npz", kept.ENDING]


def choose(source: str) -> None:
    """Make another table the one in use; what belonged to the table before returns to its usual value."""
    usual = parameters.Params()
    if state.current().edited and source != state.current().data:
        memory().notice = "The edited dictionary belonged to the previous table. Kernels starts with a new one."
    state.change(data=source, **{name: getattr(usual, name) for name in OF_THE_TABLE})


def take_upload() -> bool:
    """Keep the uploaded bytes and make them the table in use, or open a saved screen; tell whether it was a table."""
    file = controls.value("uploader")
    if file is None:
        return False
    if refused := state.refusal(file):
        memory().notice = refused
        return False
    if kept.is_screen(file.getvalue()):
        try:
            kept.open_file(file.getvalue())
        except DataError as error:
            memory().notice = words.plain(error)
        return False
    work.again()
    source = state.keep_upload(file.name, file.getvalue())
    if source == state.current().data:
        state.set_params(state.current())  # the file a link asked for: its settings stay
    else:
        choose(source)
    return True


def uploader(label: str = "Your own table or kernel stack", then: Callable[[], None] = lambda: None) -> None:
    """Draw the upload; ``then`` is called when a file was taken."""
    st.file_uploader(
        label,
        type=KINDS,
        max_upload_size=state.STACK_LIMIT_MB,
        key="uploader",
        on_change=lambda: then() if take_upload() else None,
        help=f"CSV, TSV, Excel or Parquet up to {state.UPLOAD_LIMIT_MB} MB, column names in the first row. "
        f"Or a NumPy archive (.npz) up to {state.STACK_LIMIT_MB} MB: K (kernels, rows, rows), y (rows), "
        f"names. Or a saved screen (.{kept.ENDING}). No other session sees the file.",
    )
    place = kept.folder()
    if place is not None and state.current().is_upload:
        st.caption(f"Kept in {words.plain(place)}: it is still here after a restart.")
