"""Drawing what stands beside a score: plain models are asked for once the answer is there, and are told where they are not."""

import pandas as pd
import streamlit as st

from mklcore.references import Reference
from pages._parts.derive import references
from pages._parts.params.parameters import Params
from pages._parts.session import board, words


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
    rows = [(references.LABELS[name], one.score, one.chosen) for name, one in known.items() if one is not None]
    if not rows:
        return
    frame = pd.DataFrame(rows, columns=["plain model", "validation", "chosen on the validation rows"])
    form = "percent" if score_name in words.SHARES else "%.3f"
    st.dataframe(
        frame, hide_index=True, key="references", alt="Plain models on the same rows",
        column_config={"validation": st.column_config.NumberColumn(f"validation {score_name}", format=form)},
    )  # fmt: skip


def unfinished(params: Params, known: dict[str, Reference | None], waiting: bool) -> None:
    """Offer the references where they are not computed unasked, or say how their work ended."""
    if None not in known.values() or waiting:
        return
    job = board.mine(references.key(params))
    if job is not None and job.live:
        st.caption("The baselines are being computed.")
        return
    if job is not None:
        tell = st.warning if job.error else st.caption
        tell(f"The baselines {board.ending(job, 'were')}")
    st.button("Compute the baselines", key="ask_baselines", on_click=ask, args=(params,))
