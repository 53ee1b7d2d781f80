"""Players: Compare's shared slider, one component that moves cursors, facts and bars of every lane in the browser.

The session remembers the browser's last report, so that Python moves the cursor only when it chose a new place itself:
the best point of each lane, the number box, undo, a link, other lanes.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st

from mklcore.figures import kernel_colours, path_positions, players, style
from mklcore.figures.compare import peak_shares, shares_of_weight
from mklcore.path import Path
from pages._parts.derive.comparison import Shown
from pages._parts.drawing import charts
from pages._parts.params import places
from pages._parts.params.steps import Place, Steps
from pages._parts.players import path_player
from pages._parts.session import fields, history, words
from pages._parts.session.memory import memory

CHART = "compare_chart"
KEY = "compare_player"
N_BARS = 9
ACCURACY = "accuracy"
_component = st.components.v2.component("compare_player", **players.player("compare")._asdict())


def listen(found: Steps, name: object) -> None:
    """Take the browser's last report about the lanes called ``name`` into the parameters, once, never beyond the ends."""
    cursor, report = memory().cursors.lanes, fields.report(KEY)
    if cursor.hears(report) and cursor.name == name:
        text = found.text(min(max(int(report["index"]), 0), len(found.values) - 1))
        cursor.said = text
        history.change(lanes_at=text)


def draw(drawn: Sequence[Shown], found: Steps, here: Place, exact: Sequence[Path | None], name: object) -> None:
    """Draw slider, facts and bars. ``exact`` holds the one-point paths solved between the points of the lanes' paths."""
    paths = [one.path for one in drawn if one.path is not None]
    shown = order(paths)
    lanes = [_lane(one, point, shown) for one, point in zip(drawn, exact, strict=True)]
    indices = [
        lane["points"] if point is not None else at for lane, point, at in zip(lanes, exact, here.indices, strict=True)
    ]
    _component(
        key=KEY,
        data={
            "chart": CHART,
            "facts": facts(paths),
            **_kernels(paths, shown),
            "lanes": lanes,
            "most": max((max(map(max, lane["weights"])) for lane in lanes if lane["weights"]), default=1.0) or 1.0,
            "steps": [
                {"label": label, "indices": list(points)}
                for label, points in zip(found.labels, found.indices, strict=True)
            ],
            "place": {
                "step": here.step,
                "free": here.kind != "step",
                "indices": indices,
                "label": _label(found, here),
            },
            "turn": memory().cursors.lanes.turns(name, history.current().lanes_at, any(exact)),
        },
        default={"report": None},
        on_report_change=lambda: None,
    )  # fmt: skip


def _label(found: Steps, here: Place) -> str:
    if here.kind == "exact" and here.value is not None:
        return places.label(found.shared, here.value)
    return "each at its best" if here.kind == "best" else found.labels[here.step]


# Kernels: one order for all lanes


def order(paths: Sequence[Path]) -> list[int]:
    """Return the kernels with a bar, by their largest share on any path of any lane."""
    ranked = [int(m) for m in np.argsort(-peak_shares(paths), kind="stable")] if paths else []
    return ranked if len(ranked) <= N_BARS + 1 else ranked[:N_BARS]


def _kernels(paths: Sequence[Path], shown: list[int]) -> dict[str, list[str]]:
    if not paths:
        return {"names": [], "full": [], "colours": []}
    path, dark = paths[0], charts.is_dark()
    colours = kernel_colours(path.kernel_families, peak_shares(paths), dark)
    every = charts.labels(path.kernel_names, path.kernel_families)
    names = [style.short(every[m], path_player.NAME_LENGTH) for m in shown]
    full, hues = [path.kernel_names[m] for m in shown], [colours[m] for m in shown]
    others = len(path.kernel_names) - len(shown)
    if others:
        names.append(f"{others} others, summed")
        full.append(names[-1])
        hues.append(style.theme(dark).grey)
    return {"names": names, "full": full, "colours": hues}


def _bars(path: Path, shown: list[int]) -> list[list[float]]:
    shares = shares_of_weight(path.weights)
    bars = shares[:, shown]
    if len(shown) < shares.shape[1]:
        rest = np.maximum(shares.sum(axis=1) - bars.sum(axis=1), 0.0)
        bars = np.concatenate([bars, rest[:, None]], axis=1)
    return np.round(bars, 5).tolist()


# Facts


def facts(paths: Sequence[Path]) -> list[str]:
    """Return the names of the facts told for every lane."""
    score = paths[0].score_name if paths else "score"
    return ["at", f"validation {score}", f"train {score}", "kernels used", "certificate", "solves, time"]


def _lane(one: Shown, exact: Path | None, shown: list[int]) -> dict[str, Any]:
    """Return what the browser needs of one lane; an exact point comes after the points of the path."""
    title = one.label + (" (older, until the new one is ready)" if one.waiting else "")
    if one.path is None:
        note = "Failed" if one.error else "Not there yet"
        return {
            "title": title, "note": note, "waiting": False, "points": 0, "positions": [], "facts": [], "hollow": [],
            "weights": [],
        }  # fmt: skip
    parts = [one.path] if exact is None else [one.path, exact]
    positions = path_positions(one.path).tolist()
    if exact is not None:
        value = float(exact.values[0])
        positions.append(value if np.isfinite(value) else max(positions))
    return {
        "title": title,
        "note": "",
        "waiting": one.waiting,
        "points": len(one.path),
        "positions": positions,
        "facts": [told(path, k) for path in parts for k in range(len(path))],
        "hollow": [not status.ok for path in parts for status in path.statuses],
        "weights": [bars for path in parts for bars in _bars(path, shown)],
    }


def told(path: Path, index: int) -> list[str]:
    """Return the facts of one point in words, in the order of :func:`facts`."""
    return [
        places.label(path.param, float(path.values[index])),
        score(path, float(path.val_score[index])),
        score(path, float(path.train_score[index])),
        f"{int(path.n_nonzero[index])} of {len(path.kernel_names)}",
        certificate(path, index),
        f"{int(path.solves[index])}, {words.seconds(float(path.seconds[index]))}",
    ]


def score(path: Path, value: float) -> str:
    """Return a score as the screen says it."""
    return words.score(path.score_name, value)


def certificate(path: Path, index: int) -> str:
    """Return the certificate of one point in few words: a filled badge where it holds, a hollow one where it does not."""
    gap = float(path.relative_gap[index])
    if np.isnan(gap):
        return "○ none for this method"
    return f"● within {style.percent(gap)}" if path.statuses[index].ok else f"○ open, gap {style.percent(gap)}"
