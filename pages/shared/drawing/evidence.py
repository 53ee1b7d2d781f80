"""Drawing what stands behind a cursor: certificate, test score, weights as a table, formula and reading help."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import streamlit as st

from mklcore.io.catalog import Algorithm, Variant
from mklcore.paths.path import Path
from pages.shared import work
from pages.shared.drawing import listings
from pages.shared.params import places
from pages.shared.params.parameters import DataParams, Params
from pages.shared.session import fields, history, words
from pages.shared.session.memory import memory

STEPS = {"C": 0.01, "lam": 0.001, "p": 0.1}


def number_box(path: Path, here: places.CursorPlace) -> None:
    """Draw the box for an exact value of the path's own parameter; an empty box stands for infinity."""

    def keep(chosen: float | None) -> None:
        if chosen is not None or path.param == "p":
            history.change(at=np.inf if chosen is None else float(chosen))

    values = [len(path.kernel_names)] if path.param == "s" else []
    exact_box(
        path.param, "exact", here.value, [*values, *path.values.tolist()], keep,
        help=f"Solves at any {places.symbol(path.param)}, also between the points of the path.",
        **({"value": None, "placeholder": "∞"} if path.param == "p" else {}),
    )  # fmt: skip


def exact_box(
    param: str,
    key: str,
    now: float | None,
    values: Sequence[float],
    keep: Callable[[float | None], None],
    **more: Any,
) -> None:
    """Draw a box for one value of ``param``, whose solved ``values`` are known; a norm that it cannot show is none."""
    low, high = places.bounds(param, values)
    limits: dict[str, Any] = {"min_value": low, "max_value": high, "step": STEPS.get(param, 0.1), "format": "%.4g"}
    if param == "s":
        now, limits = now and int(now), {"min_value": 1, "max_value": int(max(values)), "step": 1}
    elif param == "p":
        now, limits["max_value"] = None if now is None or now > 1e6 else now, 1e6
    fields.view(
        st.number_input, f"{places.symbol(param)}, exactly", f"{key}_{param}", now, keep, **limits, **more
    )  # fmt: skip


def score(name: str, value: float | None) -> str:
    """Return a score in Markdown, as the screen says it."""
    return words.score(name, value, "**")


def once(params: Params, point: tuple[object, float], name: str, what: str, measure: Callable[[], float]) -> None:
    """Draw the test score of a point once it is asked for: drawn along a path it would be used to choose."""
    asked = memory().tests
    if point not in asked:
        st.button(
            "Show test score", key="show_test", on_click=asked.add, args=(point,),
            help=f"Choose {what} first, then look once.",
        )  # fmt: skip
        return
    reached = work.now(("test", params.part(DataParams), point), measure)
    st.markdown(f"test {name} {score(name, reached)}")


def weights_table(point: Path, path: Path, index: int) -> None:
    """Draw the weights of one point as a table, once it is opened; they and the whole path can be taken away."""
    where = places.where(point, index)
    label = f"All weights at {where}, as a table"
    opened = st.expander(label, icon=":material/table_rows:", key="weights_table", type="compact", on_change="rerun")
    if not opened.open:
        return
    frame = listings.weights(point, index)
    opened.dataframe(
        frame,
        hide_index=True,
        height=280,
        alt=f"Kernel weights at {where}",
        column_config={
            "weight": st.column_config.NumberColumn(format="%.6f"),
            "share": st.column_config.ProgressColumn(format="percent", min_value=0.0, max_value=1.0),
        },
    )
    one, whole, _ = opened.columns([1, 1, 3])
    listings.take(frame, "weights", "csv_weights", "Weights as CSV", one)
    listings.take(lambda: listings.along(path), "path", "csv_path", "Path as CSV", whole)


def explanation(method: Algorithm, solved: Algorithm | Variant | None = None) -> None:
    """Draw the problem that is solved and how to read its picture; ``solved`` where a control changes what is
    solved.
    """
    solved = solved or method
    st.latex(solved.formula)
    look, limits = st.columns(2, gap="large")
    look.markdown(f"**What to look for.** {solved.look_for}")
    limits.markdown(f"**What it cannot tell.** {solved.cannot_tell}")
    st.caption(f"The problem above, with the parameters on the left: {method.paper}.")
    with st.expander("What the certificate says", icon=":material/verified:"):
        st.markdown(words.text("certificate"))
