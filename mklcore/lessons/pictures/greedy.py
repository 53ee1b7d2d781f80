"""Shares along the cost under the l1 norm, beside what greedy steps hold and how well either does, as a scene."""

import numpy as np

from mklcore.figures import scenes as scene
from mklcore.figures import style
from mklcore.figures.scenes import Dot, Line, Panel, Scale, Scene
from mklcore.lessons import greedy
from mklcore.lessons.pictures.panels import ROOM, bar_panel, hue, share_axis


def against_convex(story: greedy.Greedy, dark: bool) -> Scene:
    """Shares of the columns a, b, c and of the noise along C, all shares at the cursor, and scores by kernels in
    use.
    """
    tone, costs, shares = style.theme(dark), np.asarray(story.convex.values, dtype=float), story.shares
    blue, orange = hue("linear", dark), hue("rbf", dark)
    x = scene.logarithmic("C", float(costs[0]), float(costs[-1]))
    y = share_axis("share of the weight", ROOM)
    makers, decoy = list(greedy.MAKERS), greedy.DECOY
    noise = [m for m in range(shares.shape[1]) if m not in (*makers, decoy)]
    drawn = [*((shares[:, m], blue, greedy.NAMES[m]) for m in makers), (shares[:, decoy], orange, greedy.NAMES[decoy])]
    lines = [scene.curve(x, y, costs, values, colour, dark, label=label) for values, colour, label in drawn]
    lines.append(scene.curve(x, y, costs, shares[:, noise].sum(axis=1), tone.grey, dark, label="all noise"))
    along = scene.traced(
        "Under the ℓ1 norm: who has the weight",
        f"Lines: column {greedy.NAMES[decoy]} has {style.percent(shares[0, decoy])} of the weight at the smallest C "
        f"and "
        f"{style.percent(shares[story.best, decoy])} at the best.",
        x,
        y,
        lines,
        costs,
    )
    names = list(greedy.NAMES)
    colours = [blue if m in makers else orange if m == decoy else tone.grey for m in range(len(names))]
    shown = {m: names[m] for m in (*makers, decoy)} | {(noise[0] + noise[-1]) // 2: "noise"}
    bars = bar_panel(
        "Under the ℓ1 norm: weight of every kernel",
        f"Bars: shares of {len(names)} kernels. At the best validation score the two largest are "
        f"{' and '.join(names[m] for m in story.top)}.",
        ("column", "share"),
        names,
        shares,
        ROOM,
        colours,
        [shown.get(m, "") for m in range(len(names))],
    )
    said = tuple(_said(story, k) for k in range(costs.size))
    steps = tuple(f"C = {style.number(value)}" for value in costs)
    return Scene(steps, said, story.best, (along, bars, _scores(story, dark)))


def _said(story: greedy.Greedy, index: int) -> str:
    named = [*greedy.MAKERS, greedy.DECOY]
    shares = ", ".join(f"{greedy.NAMES[m]} {style.percent(float(story.shares[index, m]))}" for m in named)
    return (
        f"Under the ℓ1 norm: {shares}; {style.counted(int(story.convex.n_nonzero[index]), 'kernel')} in use, "
        f"validation R² "
        f"{story.convex.val_score[index]:.3f}. MKL-GOMP takes {', then '.join(greedy.NAMES[m] for m in story.held[2])}."
    )


def _scores(story: greedy.Greedy, dark: bool) -> Panel:
    """Validation R² against kernels in use: greedy steps, and the path under the l1 norm."""
    blue, grey = hue("linear", dark), style.theme(dark).grey
    sizes, used = list(greedy.SIZES), [int(k) for k in story.convex.n_nonzero]
    most = max(*sizes, *used)
    x = Scale("kernels in use", 0.5, most + 0.5, ticks=tuple((float(k), str(k)) for k in range(1, most + 1)))
    y = scene.linear("validation R²", 0.0, 1.0)
    steps = scene.curve(x, y, sizes, story.gomp.val_score, blue, dark, name="MKL-GOMP, one kernel after another")
    path = scene.curve(x, y, used, story.convex.val_score, grey, dark, name="ℓ1 norm, along C")
    marks = tuple(Line(((px - 0.008, py), (px + 0.008, py)), blue, width=8) for px, py in filter(None, steps.points))
    return Panel(
        "Score: MKL-GOMP blue, ℓ1 norm grey",
        f"Lines: with two kernels MKL-GOMP reaches R² {story.gomp.val_score[1]:.2f}, with three "
        f"{story.gomp.val_score[2]:.2f}; "
        f"the ℓ1 norm reaches {story.convex.val_score[story.best]:.2f} with {story.convex.n_nonzero[story.best]}.",
        x,
        y,
        lines=(path, steps, *marks),
        dots=(Dot(grey, path.points),),
    )
