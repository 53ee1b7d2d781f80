"""Drawing what stands beside a score: plain models are asked for once the answer is there, and are named where they are
not.
"""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from mklcore.selection.references import Reference
from pages._parts.derive import left_out, references
from pages._parts.drawing import asking
from pages._parts.params.parameters import Params, PathParams
from pages._parts.session import board, history, words


def found(params: Params, waiting: bool) -> dict[str, Reference | None]:
    """Return the references; small ones are computed unasked once the answer itself is there and nobody waits."""
    known = references.known(params)
    wanted = None in known.values() and not waiting and board.mine(references.key(params)) is None
    if not (wanted and references.are_small(params) and references.nobody_waits()):
        return known
    ask(params)
    return references.known(params)


def ask(params: Params) -> None:
    """Have the worker compute the references that are missing."""
    board.ask(references.job(params))


def table(params: Params, known: dict[str, Reference | None], score_name: str) -> None:
    """Draw the references as rows of a table."""
    rows = [
        (references.LABELS[name], words.score(score_name, one.score), words.plain(one.chosen))
        for name, one in known.items()
        if one is not None
    ]
    if rows:
        columns = ["plain model", f"validation {score_name}", "chosen on the validation rows"]
        st.table(pd.DataFrame(rows, columns=columns).set_index(columns[0]))
    if references.came_earlier(known):
        st.caption("The plain models were computed earlier with these settings.")


def unfinished(params: Params, known: dict[str, Reference | None], waiting: bool) -> None:
    """Offer the references where they are not computed unasked, or say how their work ended."""
    if None not in known.values() or waiting:
        return
    asking.button(
        references.key(params), lambda: ask(params), "Compute the baselines", "ask_baselines", "The baselines", "were",
        "The baselines are being computed.",
    )  # fmt: skip


def score_all(several: Sequence[PathParams]) -> None:
    """See to it that paths are scored on all rows left out, once nobody waits for anything else."""
    missing, held = left_out.missing(several), board.held()
    if held is not None and held.broke_off:  # how that ended is still to be reported
        return
    if not missing or board.mine(left_out.key(missing)) is not None or not references.nobody_waits():
        return
    board.ask(left_out.job(missing))
    if not left_out.missing(missing):
        history.rerun()  # done already: what is drawn is older
