"""Theory of hulls: the conditions for recovering the hull at λ, on these rows, beside its test error."""

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from mklcore.figures import Curve, style
from pages._parts.drawing import listings
from pages._parts.params.parameters import Params
from pages._parts.theory.captions import bound, speaks, vacuous


def draw(params: Params, found: dict[str, Any] | None) -> None:
    """Draw both conditions along λ, and the test error beside them."""
    if found is None:
        st.caption("The picture appears here once the hulls are found.")
        return
    path, conditions = found["path"], found["conditions"]
    defined = [None if isinstance(item, str) else item for item in conditions]
    values = {
        name: np.array([np.nan if item is None else getattr(item, name) for item in defined])
        for name in ("necessary", "sufficient")
    }
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown("**Could the hull at λ be recovered?** Both conditions on these rows")
        curves = [Curve("sufficient", values["sufficient"]), Curve("necessary", values["necessary"], "other")]
        bound(
            "theory_consistency",
            path.values,
            curves,
            x_title="λ, the price of the norm",
            y_title="value of the condition",
            level=1.0,
            level_name="has to be below",
            kind="log",
        )
    with right:
        st.markdown("**Squared error on the test rows**, as a share of their variance")
        error = Curve("test error", 1.0 - path.val_score, "test")
        bound(
            "theory_hull_error",
            path.values,
            [error],
            x_title="λ, the price of the norm",
            y_title="1 − R²",
            level=1.0,
            level_name="the mean alone has",
            kind="log",
        )
    _words(path, conditions)


def _words(path: Any, conditions: list[Any]) -> None:
    known = [item for item in conditions if not isinstance(item, str)]
    holding = sum(item.sufficient < 1 for item in known)
    if holding:
        speaks(f"The sufficient condition holds for {holding} of {len(path)} hulls on the path.")
    else:
        vacuous(
            [f"The sufficient condition holds for none of the {len(path)} hulls, so nothing speaks for recovering any."]
        )
    frame = pd.DataFrame(
        {
            "λ": [style.number(float(v)) for v in path.values],
            "nodes": [len(fitted.hull_) for fitted in path.estimators],
            "gap": [style.percent(float(gap)) for gap in path.relative_gap],
            "necessary, at most 1": [_value(item, "necessary") for item in conditions],
            "sufficient, below 1": [_value(item, "sufficient") for item in conditions],
            "what follows": [_follows(item) for item in conditions],
        }
    )
    st.dataframe(frame, hide_index=True, alt="What the conditions say about every hull on the path")
    listings.take(frame, "conditions", "csv_conditions")


def _value(item: Any, name: str) -> str:
    return "not defined" if isinstance(item, str) else style.number(getattr(item, name))


def _follows(item: Any) -> str:
    if isinstance(item, str):
        return "nothing: collinear features" if "collinear" in item else item
    return "necessary fails" if item.necessary > 1 else "sufficient holds" if item.sufficient < 1 else "undecided"
