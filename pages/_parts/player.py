"""The cursor on a path, dragged in the browser without a round trip, and the bars that follow it.

Two inline components over one constant figure: the player moves lines laid over the chart and reports once, on release
or when the keys rest; the bars listen to the player inside the browser. The session remembers the last report, so that
Python moves the cursor only when it chose a new place itself (undo, a link, the number box, a new path).
"""

import math
from dataclasses import dataclass
from pathlib import Path as File
from typing import Any

import numpy as np
import streamlit as st

from mklcore.figures import kernel_colours, path_positions, style
from mklcore.path import Path
from pages._parts import charts, state

CHART = "path_chart"
N_BARS = 12
NAME_LENGTH = 20
SYMBOLS = {"lam": "λ"}
BOUNDS = {"C": (1e-6, 1e6), "lam": (1e-10, 1e6), "p": (1.0, math.inf)}  # where an exact value may lie
_here = File(__file__).parent

_player = st.components.v2.component(
    "path_player",
    html='<div class="player"><button type="button"></button>'
    '<input type="range" min="0" step="1" aria-label="Position on the path"><output></output></div>',
    css=(_here / "player.css").read_text(),
    js=(_here / "player.js").read_text(),
)
_bars = st.components.v2.component(
    "path_bars",
    html='<p class="title"></p><div class="bars" role="list" aria-label="Kernel weights at the cursor"></div>',
    css=(_here / "bars.css").read_text(),
    js=(_here / "bars.js").read_text(),
)


@dataclass(frozen=True)
class Place:
    """Where the cursor stands: the index of the nearest solved value, and the value itself if it lies between them."""

    index: int
    value: float
    exact: bool


def symbol(param: str) -> str:
    """Return the sign a formula uses for the parameter."""
    return SYMBOLS.get(param, param)


def label(param: str, value: float) -> str:
    """Return "C = 1.1"."""
    return f"{symbol(param)} = {style.number(value)}"


def place(path: Path, at: float | None) -> Place:
    """Return where ``at`` lies on the path; None stands for the best validation score.

    A value outside its bounds becomes the nearest bound, and numbers of kernels the nearest one solved.
    """
    values = np.asarray(path.values, dtype=float)
    if at is None:
        scores = np.asarray(path.val_score, dtype=float)
        index = int(np.nanargmax(scores)) if np.isfinite(scores).any() else len(values) // 2
        return Place(index, float(values[index]), exact=False)
    low, high = BOUNDS.get(path.param, (1e-10, 1e10))
    at = min(max(at, low), high)
    index = int(np.argmin(np.abs(np.log(np.minimum(values, 1e300)) - np.log(min(at, 1e300)))))
    on_grid = bool(path.param == "s" or values[index] == at or abs(values[index] - at) <= 1e-9 * at)
    return Place(index, float(values[index]) if on_grid else at, exact=not on_grid)


def order(path: Path) -> list[int]:
    """Return the kernels with a bar, the largest along the whole path first: the order never moves with the cursor."""
    peaks = style.peak_weights(path.weights, len(path.kernel_names))
    ranked = [int(m) for m in np.argsort(-peaks, kind="stable")]
    return ranked if len(ranked) <= N_BARS + 1 else ranked[:N_BARS]


def _heights(weights: np.ndarray, shown: list[int]) -> np.ndarray:
    """Return the weights (..., M) of the bars, with the sum of all others as the last bar where there are others."""
    rest = weights.sum(axis=-1) - weights[..., shown].sum(axis=-1)
    bars = weights[..., shown]
    return bars if len(shown) == weights.shape[-1] else np.concatenate([bars, np.maximum(rest, 0)[..., None]], axis=-1)


def bars(path: Path, index: int, *, dark: bool, waiting: bool) -> None:
    """Draw the kernel weights at the cursor."""
    shown = order(path)
    colours = kernel_colours(path.kernel_families, style.peak_weights(path.weights, len(path.kernel_names)), dark)
    full = [path.kernel_names[m] for m in shown]
    every = charts.labels(path.kernel_names, path.kernel_families)
    names = [style.short(every[m], NAME_LENGTH) for m in shown]
    hues = [colours[m] for m in shown]
    n_others = len(path.kernel_names) - len(shown)
    if n_others:
        names.append(f"{n_others} others, summed")
        full.append(names[-1])
        hues.append(style.theme(dark).grey)
    heights = _heights(np.asarray(path.weights, dtype=float), shown)
    _bars(
        key="bars",
        data={
            "chart": CHART,
            "title": "Kernel weights θ at ",
            "labels": [label(path.param, value) for value in path.values],
            "names": names,
            "full": full,
            "colours": hues,
            "weights": np.round(heights, 6).tolist(),
            "hollow": [not status.ok for status in path.statuses],
            "most": float(heights[:, : len(shown)].max()) or 1.0,
            "index": index,
            "waiting": waiting,
        },
    )


def listen(path: Path, name: object) -> None:
    """Take the browser's last report about the path called ``name`` into the parameters, once, and never beyond its ends."""
    memory = st.session_state
    report = (memory.get("player") or {}).get("report")
    if not report or report == memory.get("player_heard"):
        return
    memory["player_heard"] = report
    if memory.get("player_path") == name:
        index = min(max(int(report["index"]), 0), len(path.values) - 1)
        value = float(path.values[index])
        memory["player_said"] = value
        state.change(at=value)


def _turn(name: object, at: float | None) -> int:
    """Return the number of times Python itself has moved the cursor."""
    memory = st.session_state
    if memory.get("player_path") != name or (at != memory.get("player_at") and at != memory.get("player_said")):
        memory["player_turn"] = memory.get("player_turn", 0) + 1
        memory["player_said"] = None
    memory["player_path"], memory["player_at"] = name, at
    return memory["player_turn"]


def player(path: Path, name: object, here: Place, exact: Path | None, *, waiting: bool) -> None:
    """Draw the cursor's slider under the chart. ``exact`` is the one-point path solved between the path's own values."""
    labels = [label(path.param, value) for value in path.values]
    spoken = [f"{text}, {_spoken(path, i)}" for i, text in enumerate(labels)]
    between: dict[str, Any] | None = None
    if exact is not None:
        between = {
            "x": here.value,
            "label": label(path.param, here.value),
            "spoken": f"{label(path.param, here.value)}, {_spoken(exact, 0)}",
            "weights": _heights(np.asarray(exact.weights, dtype=float), order(path))[0].tolist(),
            "hollow": not exact.statuses[0].ok,
        }
    _player(
        key="player",
        data={
            "chart": CHART,
            "axes": ["", "2"],
            "x": path_positions(path).tolist(),
            "labels": labels,
            "spoken": spoken,
            "index": here.index,
            "exact": between,
            "turn": _turn(name, state.current().at),
            "waiting": waiting,
        },
        default={"report": None},
        on_report_change=lambda: None,
    )


def _spoken(path: Path, index: int) -> str:
    score = path.val_score[index]
    used = style.counted(int(path.n_nonzero[index]), "kernel")
    return used if np.isnan(score) else f"validation {path.score_name} {style.number(score)}, {used}"
