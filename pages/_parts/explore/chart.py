"""Explore, the chart: columns and pairs sorted by their share of the variance, grey where the drop may be zero."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from mklcore.estimators.explain import Shares
from mklcore.figures import moving, style
from mklcore.paths.path import Path
from pages._parts.derive import importance as derive_importance
from pages._parts.derive import looks, paths, terms
from pages._parts.derive.terms import Along
from pages._parts.drawing import charts, ranked
from pages._parts.explore import noise, views
from pages._parts.players import path_player
from pages._parts.players.path_player import View
from pages._parts.session import history

MOST = 12
NAME = 32


def known(shown: paths.Answer) -> Along | None:
    """Return the terms of the models along the path that is shown, where they are known."""
    if shown.stage or shown.waiting or not terms.can_be_found(shown.params):
        return None
    found = terms.along(shown.params).value
    return found if found is not None and len(found.shares) == len(shown.path) else None


def view(shown: paths.Answer) -> View:
    """Return what follows the cursor: shares of the variance, or of the weight until these are known."""
    found = known(shown)
    if found is None:
        return views.share_view(by_weight(shown), "columns")
    heights = shown_shares(found.shares)

    def of(path: Path) -> Sequence[list[float]]:
        if len(path) == len(heights):
            return heights
        return shown_shares(terms.shares_of(shown.params, path, found.columns))

    return View("columns", of)


def by_weight(shown: paths.Answer) -> Shares:
    """Return the shares of the weight; in a first look those of the columns that are distinguishable from zero."""
    found = derive_importance.shares(shown, "columns")
    if shown.stage != looks.FIRST:
        return found
    sure = {one.name for one in shown.columns}
    kept = [k for k, name in enumerate(found.names) if name in sure]
    return Shares(tuple(found.names[k] for k in kept), found.values[:, kept], tuple(found.members[k] for k in kept))


def shown_shares(shares: np.ndarray) -> list[list[float]]:
    """Return the bars at every point (L, T): the largest terms, and the sum of all others."""
    table, rest = shares[:, :MOST], shares.sum(axis=1) > 0
    table = np.column_stack([table, np.where(rest, 1.0 - table.sum(axis=1), 0.0)])
    rounded: list[list[float]] = np.round(table, 4).tolist()
    return rounded


def rows(found: Along, faint: frozenset[str], *, dark: bool) -> moving.Rows:
    """Return name, full name and colour of every bar: grey where the drop is not distinguishable from zero."""
    tone = style.theme(dark)
    made = []
    for columns, indistinct, drop in list(zip(found.columns, found.indistinct, found.drops, strict=True))[:MOST]:
        name = " × ".join(columns)
        grey = indistinct or (len(columns) == 1 and columns[0] in faint)
        family = "linear" if len(columns) == 1 and columns != terms.HIGHER_ORDER else "rbf"
        hue = tone.grey if grey else style.readable(style.FAMILY_HUES[family], dark)
        error = f" ± {drop.error:.2g}" if drop is not None and np.isfinite(drop.error) else ""
        reported = "" if drop is None else f"; without it the score drops by {drop.loss:.3g}{error}"
        made.append((style.cut(name, NAME), f"{name}{reported}", hue))
    others = max(0, len(found.columns) - MOST)
    return [*made, (f"{others} others" if others else "others, below 0.1 %",) * 2 + (tone.grey,)]


def draw(shown: paths.Answer, index: int) -> None:
    """Draw the chart, and how to read it."""
    dark, found, seen = charts.is_dark(), known(shown), view(shown)
    path = shown.path
    if found is None:
        by_column = by_weight(shown)
        if shown.stage == looks.FIRST:
            st.caption(first_look(len(by_column.names), looks.ROWS))
        if not by_column.names:
            return
        path_player.bars(
            seen, path, index, views.share_rows(by_column, "columns", dark=dark), "Share of kernel weight at ",
            waiting=shown.older, unit="%", most=1.0,
        )  # fmt: skip
        return
    faint = noise.indistinct(noise.known(history.current()))
    most = max(0.25, float(np.max(found.shares, initial=0.0)))
    path_player.bars(
        seen, path, index, rows(found, faint, dark=dark), "Share of explained variance at ", waiting=shown.older,
        unit="%", most=most, sortable=True,
    )  # fmt: skip
    st.caption(legend(found, bool(faint), terms.n_rows(shown.params)))


def first_look(named: int, rows: int) -> str:
    """Return what so few rows can say of columns."""
    if not named:
        return f"{rows} rows distinguish no column from zero. The ranking follows with the answer."
    return (
        f"Columns whose drop in the score is distinguishable from zero on {rows} rows; for the others they are "
        "too few. The ranking follows with the answer."
    )


def legend(found: Along, asked: bool, rows: int) -> str:
    """Return what the colours mean, and for how many terms ``rows`` held-out rows distinguish no drop from zero."""
    grey = sum(found.indistinct)
    count = len(found.columns)
    if 0 < grey == count:
        text = f"{ranked.too_few(rows)} "
    else:
        text = f"For {grey} of {count} the drop in the score is not distinguishable from zero (grey). " if grey else ""
    drawn = list(zip(found.columns, found.indistinct, strict=True))[:MOST]
    pairs = any(not grey and (len(columns) > 1 or columns == terms.HIGHER_ORDER) for columns, grey in drawn)
    more = "Orange: what columns say only together. " if pairs else ""
    return f"{text}{more}{'Grey also: not distinguishable from noise. ' if asked else ''}".strip()
