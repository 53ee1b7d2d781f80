"""Compare, the search: methods, dictionaries and norms tried on the same folds in the time a person gives."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from mklcore.figures import style
from mklcore.selection.search import Candidate, ModelSearch, Tried
from pages._parts.derive import searches, tables
from pages._parts.drawing import controls, listings
from pages._parts.params.parameters import Params
from pages._parts.session import board, fields, words

SHOWN_VALUES = 3
SIGNS = {"lam": "λ", "s": "kernels"}


def rail() -> None:
    """Draw how long to search, and what is scored."""
    fields.field_view(
        "Seconds to search", "search_seconds", step=5,
        help="More time: more folds, so surer means and narrower intervals. What was tried before is kept.",
    )  # fmt: skip
    st.caption("All candidates get a fold before any gets the next, so you can stop at any time and search on later.")
    controls.scoring()


def show(params: Params) -> None:
    """Draw what was found, or the way to search."""
    search = searches.found(params)
    progress, found = board.mine(search.key), search.value
    live = progress is not None and progress.live
    rows, over = searches.learned(params), found is not None and found.n_folds == 5 and not found.left_out
    st.markdown(
        "**Which model should I take?** MKL methods, a linear model and gradient boosting are scored on the same five "
        "folds."
    )
    st.button(
        "Search" if found is None else "Search on", key="search", type="primary", disabled=live or over,
        on_click=_ask, args=(params,),
    )  # fmt: skip
    st.caption(f"On {rows.n_samples:,} rows of training and validation; the test rows stay unseen.")
    if live:
        st.caption("The progress stands beside the title, with the way to stop.")
    elif progress is not None and progress.broke_off:
        st.warning(f"The search {board.ending(progress)} What was tried is kept: search on to use it.")
    if found is not None:
        _found(found)
    elif not tables.on_stack(params):
        _asked(searches.wanted(params))
    with st.expander("How models are compared", icon=":material/help:", type="compact"):
        st.markdown(words.text("search"))


def _ask(params: Params) -> None:
    board.ask(searches.job(params))


def _asked(wanted: Sequence[Candidate]) -> None:
    """Draw what a search tries, while nothing of it has been."""
    st.markdown(f"**What is tried**: {len(wanted)} models, each with its own parameter chosen inside every fold")
    rows = [{"model": one.name, "chosen": SIGNS.get(one.param, one.param)} for one in wanted]
    st.dataframe(pd.DataFrame(rows), hide_index=True, key="search_asked", alt=f"{len(rows)} models that are tried")


def _found(found: ModelSearch) -> None:
    """Draw the winner with its honest score, the simplest one near it, and the table of what was tried."""
    name, others = found.score_name, [one for one in found.tried if one is not found.best]
    level = sum(one.low <= 0.0 <= one.high for one in others)
    st.markdown(
        f"**{words.plain(found.best.name)}** has the best mean {name}, {words.score(name, found.best.score, '**')}; "
        f"{level} of {len(others)} others are level with it. "
        f"What to expect of choosing like this on new rows: {words.score(name, found.honest, '**')} "
        f"± {_apart(name, found.honest_error)} over {found.n_folds} folds."
    )
    if found.simplest != found.best.name:
        near = next(one for one in found.tried if one.name == found.simplest)
        used = f"{style.number(near.n_kernels)} kernels on average"
        beside = "" if np.isnan(found.best.n_kernels) else f" against {style.number(found.best.n_kernels)}"
        st.markdown(f"Simplest within one standard error: **{words.plain(found.simplest)}**, {used}{beside}.")
    else:
        st.markdown("Nothing simpler is within one standard error of it.")
    table, scores = frame(found), (f"mean {name}", "standard error")
    st.dataframe(
        table, hide_index=True, key="search_rows", alt="What was tried, the best first",
        column_config={one: st.column_config.NumberColumn(format="%.3f") for one in scores},
    )  # fmt: skip
    listings.take(table, "search", "csv_search")
    if found.left_out:
        controls.sentences([f"{one}: {why}" for one, why in found.left_out])


def _apart(name: str, value: float) -> str:
    unit = " points" if name in words.SHARES else ""
    return words.figure_of(name, value) + unit


def _behind(one: Tried, best: Tried) -> str:
    if one is best:
        return "the best"
    if one.low == one.high == 0.0:
        return "the same in every fold"
    return style.minus(f"{one.behind:.3f} ({one.low:.3f} to {one.high:.3f})")


def frame(found: ModelSearch) -> pd.DataFrame:
    """Return one row per candidate, the best first."""
    return pd.DataFrame(
        [
            {
                f"mean {found.score_name}": one.score,
                "model": one.name,
                "standard error": one.standard_error,
                "behind the best, 95 % interval": _behind(one, found.best),
                "kernels": round(one.n_kernels, 1),
                "chosen": f"{SIGNS.get(one.param, one.param)} = "
                f"{', '.join(style.number(v) for v in one.values[:SHOWN_VALUES])}",
                "seconds": round(one.seconds, 1),
                "not solved to tolerance": one.unfinished,
            }
            for one in found.tried
        ]
    )
