"""What a page speaks of: the table by its name, and its target, with another one a click away."""

import streamlit as st

from pages.shared.derive import tables
from pages.shared.params.parameters import Params
from pages.shared.session import fields, history, uploads

NONE = "nothing: find unusual rows"


def name_of(params: Params) -> str:
    """What a person calls the table: the sample, or their file."""
    return uploads.upload(params.data).name if params.is_upload else tables.called(params)


def draw(sentence: str, params: Params) -> None:
    """Draw a sentence in Markdown, and beside it the chooser of another target; a sample has one target only."""
    if not params.is_upload or tables.on_stack(params):
        st.markdown(sentence)
        return
    said, change = st.columns([8, 1], vertical_alignment="center")
    said.markdown(sentence)
    with change.popover("Change", type="tertiary", help="Predict another column"):
        names = [column.name for column in tables.summary(params).columns]
        now = tables.table(params)
        fields.view(
            st.selectbox, "Predict", "field_explore_target", NONE if now.task == "novelty" else now.target_name, take,
            options=[*names, NONE],
        )  # fmt: skip


def take(name: str) -> None:
    """Predict another column, or none."""
    what = {"target": "", "task": "novelty"} if name == NONE else {"target": name, "task": ""}
    history.change(**what, at=None, column=0, term="", moved="")
