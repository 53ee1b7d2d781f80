"""Compare, the table: one row per method at the cursor, to sort and to download; test scores on request."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from mklcore.errors import MKLError
from mklcore.paths.path import Path
from pages._parts.derive import caches, paths, tables
from pages._parts.derive.comparison import Shown
from pages._parts.drawing import listings
from pages._parts.params import places
from pages._parts.params.algorithms import METHODS
from pages._parts.params.steps import Indices
from pages._parts.session import words
from pages._parts.session.memory import memory

SAME_PROBLEM = ("solver", "tol", "max_iter")  # settings that change how a problem is solved, not which
Row = tuple[Shown, Path, int]


def rows(drawn: Sequence[Shown], indices: Indices, exact: Sequence[Path | None]) -> list[Row]:
    """Return method, path and index of what each method shows at the cursor, without those that have no answer."""
    found: list[Row] = []
    for one, at, point in zip(drawn, indices, exact, strict=True):
        if one.path is not None and not one.waiting and at is not None:
            found.append((one, one.path, at) if point is None else (one, point, 0))
    return found


def comparable(shown: Sequence[Row]) -> bool:
    """Tell whether the objectives measure the same thing: one method, one value of its path, and one loss and price.

    The norm p may differ: it says which weights are allowed, and the objective that is minimised stays the same.
    """
    methods = [one.method for one, _, _ in shown]
    if len({(method.algorithm, method.path) for method in methods}) != 1 or any(
        path.param == "p" for _, path, _ in shown
    ):
        return False
    free = {c.name for c in METHODS[methods[0].algorithm].controls if c.kind == "p"} | {*SAME_PROBLEM}
    rest = {tuple(item for item in method.settings if item[0] not in free) for method in methods}
    return len(rest) == 1 and len({float(path.values[k]) for _, path, k in shown}) == 1


def frame(shown: Sequence[Row], tests: Sequence[float] | None = None) -> pd.DataFrame:
    """Return one row per method."""
    columns: dict[str, list[Any]] = {
        "method": [one.label for one, _, _ in shown],
        "at": [places.where(path, k) for _, path, k in shown],
        "kernels used": [int(path.n_nonzero[k]) for _, path, k in shown],
        "train": [float(path.train_score[k]) for _, path, k in shown],
        "validation": [float(path.val_score[k]) for _, path, k in shown],
        "best validation": [float(np.max(one.path.val_score)) for one, _, _ in shown if one.path is not None],
        "gap": [float(path.relative_gap[k]) for _, path, k in shown],
        "solved": [path.statuses[k].ok for _, path, k in shown],
        "solves": [int(path.solves[k]) for _, path, k in shown],
        "seconds": [float(path.seconds[k]) for _, path, k in shown],
        "seconds of the path": [float(np.sum(one.path.seconds)) for one, _, _ in shown if one.path is not None],
    }
    if comparable(shown):
        columns["objective"] = [float(path.objective[k]) for _, path, k in shown]
    if tests is not None:
        columns["test"] = list(tests)
    return pd.DataFrame(columns)


def draw(shown: Sequence[Row]) -> None:
    """Draw the table, the test scores on request, and the download."""
    if not shown:
        return
    tests = _tests(shown)
    found = frame(shown, tests)
    st.dataframe(found, hide_index=True, column_config=_formats(shown), alt="One row per method at the cursor")
    take, ask, said = st.columns([1.3, 2.4, 4.6], vertical_alignment="center")
    recipes = found.assign(settings=[one.method.text() for one, _, _ in shown])
    listings.take(recipes, "compare", "csv_compare", place=take)
    if tests is None and not any(one.earlier for one, _, _ in shown):
        ask.button(
            "Show test scores of all methods",
            key="show_tests",
            on_click=memory().tests.update,
            args=(set(_points(shown)),),
            help="Choose the point first, then look once: a choice by the test score spoils it.",
        )
    said.caption(_caption(shown))


def _points(shown: Sequence[Row]) -> list[tuple[object, float]]:
    return [(paths.key(one.params), float(path.values[k])) for one, path, k in shown]


def _tests(shown: Sequence[Row]) -> list[float] | None:
    """Return the test scores if they were asked for at just these points, on this page or on Explore."""
    if any(one.earlier for one, _, _ in shown) or not all(point in memory().tests for point in _points(shown)):
        return None
    try:
        return [_test(row, point) for row, point in zip(shown, _points(shown), strict=True)]
    except MKLError as error:
        st.error(words.plain(error))
        return None


def _test(row: Row, point: tuple[object, float]) -> float:
    one, path, k = row
    return caches.result_cache(one.params).made(("test", point), lambda: paths.test_score(one.params, path, k))


def _formats(shown: Sequence[Row]) -> dict[str, Any]:
    score = shown[0][1].score_name
    number = st.column_config.NumberColumn
    scores = "percent" if score in words.SHARES else "%.3f"
    return {
        "method": st.column_config.TextColumn(
            pinned=True, width=min(240, 24 + 7 * max(len(one.label) for one, _, _ in shown))
        ),
        "train": number(f"train {score}", format=scores),
        "validation": number(f"validation {score}", format=scores),
        "best validation": number("best on its path", format=scores, help="The highest validation score on the path."),
        "test": number(f"test {score}", format=scores),
        "gap": number(
            format="percent", help="How far from the optimum at most. Empty: this method has no certificate."
        ),
        "seconds": number(format="%.2f s", help="Solver only, started from the point before it."),
        "seconds of the path": number(format="%.1f s"),
        "objective": number(format="%.5g"),
    }


def _caption(shown: Sequence[Row]) -> str:
    n_rows = len(tables.split(shown[0][0].params).validation.y)
    said = [f"Validation on {n_rows:,} rows"]
    if shown[0][1].score_name == "accuracy":
        said.append(f"one row more or less is {100 / n_rows:.1f} %")
    if not comparable(shown):
        said.append("objectives are left out: these methods minimise different ones, or stand at different values")
    return "; ".join(said) + "."
