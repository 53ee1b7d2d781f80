"""Hulls, the columns of the table: which of them the hull at the cursor needs, the ones that count first."""

import streamlit as st

from mklcore.estimators.importance import ColumnAnswer
from pages._parts.derive import hull_columns
from pages._parts.derive.hulls import Answer, Hull
from pages._parts.drawing import ranked
from pages._parts.params import places
from pages._parts.session import board, history

HEIGHT = 215


def draw(shown: Answer, hull: Hull) -> None:
    """Draw every column with what the validation score loses without it; what is not known yet is asked for."""
    params, name = shown.params, shown.path.score_name
    asked = hull_columns.ranking(params, hull.value)
    found = asked.value
    if found is None and board.mine(asked.key) is None:
        found = _asked(shown, hull)
    ranking = found or ranked.by_weight(hull.fitted, hull_columns.seen(params), 0.0)
    text, table = st.columns([2, 3], gap="medium")
    text.markdown(f"**Which columns count**, at {places.label('lam', hull.value)}")
    rows = hull_columns.n_rows(params)
    text.markdown(ranked.sentence(ranking, name, found is not None, rows))
    text.caption(f"On {rows:,} validation rows. Weight: share of the nodes that see one column only.")
    with table:
        ranked.table(ranking, name, found is not None, f"hull_ranking_{found is not None}", height=HEIGHT)


def _asked(shown: Answer, hull: Hull) -> tuple[ColumnAnswer, ...] | None:
    """Have the columns shuffled, unless other work is under way; small hulls are done in this very run."""
    busy = board.held()
    if busy is not None and (busy.live or busy.broke_off):  # how that ended is still to be reported
        return None
    if board.ask(hull_columns.job(shown, hull)).live:
        history.rerun()  # the line of progress belongs to the frame
    return hull_columns.ranking(shown.params, hull.value).value
