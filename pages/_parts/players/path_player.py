"""Players: the cursor on a path, dragged without a round trip, and the bars and texts that follow it.

Inline components over constant figures: the player moves lines laid over the charts and reports once, on release or when
the keys rest; bars and texts listen to the player inside the browser, where everything along the path is known. The session
remembers the last report, so that Python moves the cursor only when it chose a new place itself (undo, a link, the number
box, a new path).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from mklcore.figures import path_positions, players, style
from mklcore.path import Path
from pages._parts.params.places import Place, label
from pages._parts.session import fields, history
from pages._parts.session.memory import memory

CHART, SCORES = "path_chart", "score_chart"
KEY = "player"
N_BARS = 12
NAME_LENGTH = 22
_player = st.components.v2.component("path_player", **players.player("path")._asdict())
_bars = st.components.v2.component("path_bars", **players.player("bars")._asdict())
_texts = st.components.v2.component("path_texts", **players.player("texts")._asdict())


def order(path: Path) -> list[int]:
    """Return the kernels with a bar, the largest along the whole path first: the order never moves with the cursor."""
    peaks = style.peak_weights(path.weights, len(path.kernel_names))
    ranked = [int(m) for m in np.argsort(-peaks, kind="stable")]
    return ranked if len(ranked) <= N_BARS + 1 else ranked[:N_BARS]


def heights(weights: np.ndarray, shown: list[int]) -> np.ndarray:
    """Return the weights (..., M) of the bars, with the sum of all others as the last bar where there are others."""
    rest = weights.sum(axis=-1) - weights[..., shown].sum(axis=-1)
    bars = weights[..., shown]
    return bars if len(shown) == weights.shape[-1] else np.concatenate([bars, np.maximum(rest, 0)[..., None]], axis=-1)


def listen(path: Path, name: object) -> None:
    """Take the browser's last report about the path called ``name`` into the parameters, once, and never beyond its ends."""
    cursor, report = memory().cursors.path, fields.report(KEY)
    if cursor.hears(report) and cursor.name == name:
        index = min(max(int(report["index"]), 0), len(path.values) - 1)
        cursor.said = float(path.values[index])
        history.change(at=cursor.said)


@dataclass(frozen=True)
class View:
    """What a component shows at every point of a path: its name, and the entries of any path of the same kernels."""

    name: str
    of: Callable[[Path], Sequence[Any]]


def bars(
    view: View,
    path: Path,
    index: int,
    rows: Sequence[tuple[str, str, str]],
    title: str,
    *,
    waiting: bool,
    unit: str = "",
    most: float | None = None,
    moving: int | None = None,
    sortable: bool = False,
) -> None:
    """Draw bars that follow the cursor. ``rows`` are (name, full name, colour), ``moving`` how many of them the path moves."""
    table = [list(entry) for entry in view.of(path)]
    largest = max((value for entry in table for value in entry if value is not None), default=0.0)
    _bars(
        key=f"bars_{view.name}",
        data={
            "chart": CHART,
            "set": view.name,
            "title": title,
            "labels": [label(path.param, value) for value in path.values],
            "names": [name for name, _, _ in rows],
            "full": [full for _, full, _ in rows],
            "colours": [colour for _, _, colour in rows],
            "weights": table,
            "hollow": [not status.ok for status in path.statuses],
            "moves": [moving is None or k < moving for k in range(len(rows))],
            "most": most or largest or 1.0,
            "unit": unit,
            "index": index,
            "waiting": waiting,
            "sortable": sortable,
        },
    )


def texts(view: View, path: Path, index: int, widths: Sequence[float], *, waiting: bool) -> None:
    """Draw texts that follow the cursor: columns of lines of runs (class, text), as ``runs`` makes them."""
    _texts(
        key=f"texts_{view.name}",
        data={
            "chart": CHART,
            "set": view.name,
            "texts": list(view.of(path)),
            "widths": list(widths),
            "index": index,
            "waiting": waiting,
        },
    )


def runs(text: str, kind: str = "") -> list[list[str]]:
    """Return a line as runs; what stands between two pairs of asterisks is bold."""
    return [["b" if k % 2 else kind, part] for k, part in enumerate(text.split("**")) if part]


def player(path: Path, name: object, here: Place, exact: Path | None, views: Sequence[View], *, waiting: bool) -> None:
    """Draw the cursor's slider. ``exact`` is the one-point path solved between the path's own values."""
    labels = [label(path.param, value) for value in path.values]
    spoken = [f"{text}, {_spoken(path, i)}" for i, text in enumerate(labels)]
    between: dict[str, Any] | None = None
    if exact is not None:
        between = {
            "x": here.value,
            "label": label(path.param, here.value),
            "spoken": f"{label(path.param, here.value)}, {_spoken(exact, 0)}",
            "sets": {view.name: view.of(exact)[0] for view in views},
            "hollow": not exact.statuses[0].ok,
        }
    _player(
        key=KEY,
        data={
            "chart": CHART,
            "charts": [CHART, SCORES],
            "x": path_positions(path).tolist(),
            "labels": labels,
            "spoken": spoken,
            "index": here.index,
            "exact": between,
            "turn": memory().cursors.path.turns(name, history.current().at),
            "waiting": waiting,
        },
        default={"report": None},
        on_report_change=lambda: None,
    )


def _spoken(path: Path, index: int) -> str:
    score = path.val_score[index]
    used = style.counted(int(path.n_nonzero[index]), "kernel")
    return used if np.isnan(score) else f"validation {path.score_name} {style.number(score)}, {used}"
