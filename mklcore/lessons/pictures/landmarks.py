"""Accuracy, proven gap and lost trace along the number of landmark rows, as a scene."""

import numpy as np

from mklcore.figures import scenes as scene
from mklcore.figures import style
from mklcore.figures.scenes import Scene
from mklcore.lessons import landmarks
from mklcore.lessons.pictures.panels import ROOM, bar_panel, hue


def few(story: landmarks.Landmarks, dark: bool) -> Scene:
    """What arrives first and what last as landmarks are added."""
    tone, orange = style.theme(dark), hue("rbf", dark)
    counts = np.asarray(story.landmarks, dtype=float)
    x = scene.logarithmic("landmark rows", float(counts[0]), float(counts[-1]))
    low = min(float(story.accuracy.min()), story.exact)
    y = scene.linear("test accuracy, %", 10.0 * np.floor(low / 10.0), 100.0)
    lines = (
        scene.curve(x, y, counts, [story.exact] * counts.size, tone.grey, dark, label="exact"),
        scene.curve(x, y, counts, story.accuracy, tone.ink, dark, width=3, label="landmarks"),
    )
    accuracy = scene.traced(
        "How well it predicts",
        f"Lines: test accuracy is {style.number(story.accuracy[0])} % with {story.landmarks[0]} landmarks and "
        f"{style.number(story.accuracy[story.arrived])} % with {story.landmarks[story.arrived]}; exact kernels reach "
        f"{style.number(story.exact)} %.",
        x,
        y,
        lines,
        counts,
        lines[1:],
    )
    gaps = 100.0 * np.asarray(story.proved, dtype=float)
    y2 = scene.logarithmic("proven gap, % of the objective", 0.5 * float(gaps.min()), 100.0)
    proven = scene.curve(x, y2, counts, gaps, orange, dark, width=3)
    proof = scene.traced(
        "What it proves about the exact kernels",
        f"Line: the gap proven for the exact kernels is {style.percent(story.proved[0])} with {story.landmarks[0]} "
        f"landmarks, "
        f"{style.percent(story.proved[-2])} with {story.landmarks[-2]} and {style.percent(story.proved[-1])} with all "
        f"rows.",
        x,
        y2,
        (proven,),
        counts,
    )
    lost = np.asarray(story.lost, dtype=float)
    names = [f"RBF, width {style.number(width)} x median" for width in landmarks.WIDTHS]
    trace = bar_panel(
        "Share of each kernel that is lost",
        f"Bars: the share of the trace that is lost. With {story.landmarks[story.arrived]} landmarks it is "
        f"{style.percent(lost[story.arrived].max())} of the narrowest kernel and "
        f"{style.percent(lost[story.arrived].min())} of "
        "the widest.",
        ("width, in median distances", "share lost"),
        names,
        lost,
        ROOM,
        [hue("rbf", dark, m) for m in range(len(names))],
        [style.number(width) for width in landmarks.WIDTHS],
    )
    said = tuple(
        f"{count} of {story.landmarks[-1]} rows as landmarks: accuracy {style.number(story.accuracy[k])} %, exact "
        f"kernels "
        f"{style.number(story.exact)} %. Proven within {style.percent(float(story.proved[k]))} of the exact optimum."
        for k, count in enumerate(story.landmarks)
    )
    return Scene(
        tuple(f"{count} landmarks" for count in story.landmarks), said, story.arrived, (accuracy, proof, trace)
    )
