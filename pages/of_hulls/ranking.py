"""Hulls, the columns of the table: how much each moves what the hull at the cursor says, the largest first."""

import pandas as pd
import streamlit as st

from mklcore.figures import style
from pages.shared.derive import hulls
from pages.shared.derive.hulls import HullsView, HullView
from pages.shared.drawing import listings
from pages.shared.params import places
from pages.shared.session.words import plain
from pages.shared.work import Ready

HEIGHT, ROW = 215, 35  # pixels, of the table and of one of its rows
NAMED = 3


def draw(shown: HullsView, hull: HullView) -> None:
    """Draw the effect of every column: the mean of its absolute Shapley values on validation rows."""
    found, rows = hulls.ranking(shown, hull), hulls.judges(shown.params).n_samples
    text, table = st.columns([2, 3], gap="medium")
    text.markdown(f"**Which columns matter**, at {places.label('lam', hull.value)}")
    if not isinstance(found, Ready):
        text.caption("Measuring." if found is not None else "")
        return
    effects = [one for one in found.value if one.effect > 0.0]
    named = [f"**{plain(one.name)}** ({100 * one.share:.0f} %)" for one in effects[:NAMED]]
    most = "".join([f"{style.joined(named)} move", "s" * (len(named) == 1), " the prediction most"])
    left = len(found.value) - len(effects)
    others = f"; {style.counted(left, 'column')} of {len(found.value)} {'is' if left == 1 else 'are'} not used"
    text.markdown(f":small[{most if named else 'No column moves the prediction'}{others if left and named else ''}.]")
    text.caption(f"Effect: mean absolute Shapley value on {rows:,} validation rows. Share: of the sum of effects.")
    frame = pd.DataFrame({
        "column": [one.name for one in found.value], "share": [one.share for one in found.value],
        "effect": [one.effect for one in found.value],
    })  # fmt: skip
    with table:
        st.dataframe(
            frame, key="hull_ranking", hide_index=True, height=min(HEIGHT, ROW * (len(frame) + 1) + 2),
            alt=f"{len(frame)} columns, those that move the answer most first",
            column_config={
                "share": st.column_config.ProgressColumn(format="percent", min_value=0.0, max_value=1.0),
                "effect": st.column_config.NumberColumn(format="%.3g", help="In the unit of the target or decision"),
            },
        )  # fmt: skip
        listings.take(frame, "columns", "csv_ranking")
