"""What the player of several paths shows, as numbers and words: facts and bars of every method at every point."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mklcore.figures import captions, style
from mklcore.figures.compare import peak_shares, shares_of_weight
from mklcore.figures.moving import heights
from mklcore.figures.steps import Steps

N_BARS = 9
NAME_LENGTH = 24  # letters left of the first panel


def order(paths: Sequence[Any]) -> list[int]:
    """The kernels with a bar, by their largest share on any path of any method: one order for all methods."""
    ranked = [int(m) for m in np.argsort(-peak_shares(paths), kind="stable")] if paths else []
    return ranked if len(ranked) <= N_BARS + 1 else ranked[:N_BARS]


def kernels(paths: Sequence[Any], shown: Sequence[int], *, dark: bool) -> dict[str, list[str]]:
    """Names, full names and colours of the bars, with one for all other kernels."""
    if not paths:
        return {"names": [], "full": [], "colours": [], "marks": []}
    path = paths[0]
    peaks = peak_shares(paths)
    colours, glyphs = style.distinct_colours(peaks, dark), style.distinct_glyphs(peaks)
    every = captions.labels(path.kernel_names, path.kernel_families)
    names = [style.cut(every[m], NAME_LENGTH) for m in shown]
    full, hues = [path.kernel_names[m] for m in shown], [colours[m] for m in shown]
    marks = [glyphs[m] for m in shown]
    others = len(path.kernel_names) - len(shown)
    if others:
        names.append(f"{others} others, summed")
        full.append(names[-1])
        hues.append(style.theme(dark).grey)
        marks.append("")
    return {"names": names, "full": full, "colours": hues, "marks": marks}


def bars(path: Any, shown: Sequence[int]) -> list[list[float]]:
    """The shares of the weight that the bars of one method stand for, at every point of its path."""
    table: list[list[float]] = np.round(heights(shares_of_weight(path.weights), shown), 5).tolist()
    return table


def facts(paths: Sequence[Any]) -> list[str]:
    """The names of the facts of every method."""
    score = paths[0].score_name if paths else "score"
    return ["at", f"validation {score}", f"train {score}", "kernels used", "certificate", "solves, time"]


def position_facts(path: Any, index: int) -> list[str]:
    """The facts of one point, in the order of :func:`facts`."""
    return [
        captions.label(path.param, float(path.values[index])),
        captions.score(path.score_name, float(path.val_score[index])),
        captions.score(path.score_name, float(path.train_score[index])),
        f"{int(path.n_nonzero[index])} of {len(path.kernel_names)}",
        certificate(path, index),
        f"{int(path.solves[index])}, {captions.seconds(float(path.seconds[index]))}",
    ]


def certificate(path: Any, index: int) -> str:
    """The certificate of one point in few words: a filled badge where it holds, a hollow one where it does not."""
    gap = float(path.relative_gap[index])
    if np.isnan(gap):
        return "○ none for this method"
    return f"● within {style.percent(gap)}" if path.statuses[index].ok else f"○ open, gap {style.percent(gap)}"


def led(found: Steps) -> dict[str, Any]:
    """What the browser needs of the shared slider: its steps, and the sign of the parameter all methods share."""
    steps = zip(found.labels, found.positions, found.places, strict=True)
    return {
        "sign": captions.symbol(found.shared) if found.shared else "",
        "steps": [{"label": label, "value": at, "places": list(places)} for label, at, places in steps],
    }


def method(title: str, parts: Sequence[Any], positions: Sequence[float], shown: Sequence[int]) -> dict[str, Any]:
    """What the browser needs of one method: ``parts`` are its path and, after it, a path of one exact point if there is
    one; ``positions`` say where all their points are on the method's axis.
    """
    return {
        "title": title,
        "note": "",
        "waiting": False,
        "whole": parts[0].param == "s",
        "points": len(parts[0].values),
        "positions": list(positions),
        "facts": [position_facts(path, k) for path in parts for k in range(len(path.values))],
        "hollow": [not status.ok for path in parts for status in path.statuses],
        "weights": [entry for path in parts for entry in bars(path, shown)],
    }


def longest(methods: Sequence[dict[str, Any]]) -> float:
    """The share of the longest bar of all methods."""
    return max((max(map(max, method["weights"])) for method in methods if method["weights"]), default=1.0) or 1.0
