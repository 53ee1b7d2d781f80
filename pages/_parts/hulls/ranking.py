"""Hulls, the columns of the table: which of them the hull at the cursor needs, the ones that count first."""

import streamlit as st

from pages._parts.derive import hulls
from pages._parts.derive.hulls import Answer, Hull
from pages._parts.drawing import ranked
from pages._parts.params import places
from pages.shared.work import Ready

HEIGHT = 215


def draw(shown: Answer, hull: Hull) -> None:
    """Draw every column with what the validation score loses without it; until that is known, by its weight."""
    params, name = shown.params, shown.path.score_name
    found = hulls.ranking(shown, hull)
    known = isinstance(found, Ready)
    ranking = found.value if isinstance(found, Ready) else ranked.by_weight(hull.fitted, hulls.seen(params), 0.0)
    text, table = st.columns([2, 3], gap="medium")
    text.markdown(f"**Which columns count**, at {places.label('lam', hull.value)}")
    rows = min(hulls.SHUFFLED, hulls.parts(params).validation.n_samples)
    text.markdown(ranked.sentence(ranking, name, known, rows))
    text.caption(f"On {rows:,} validation rows. Weight: share of the nodes that see one column only.")
    with table:
        ranked.table(ranking, name, known, f"hull_ranking_{known}", height=HEIGHT)
