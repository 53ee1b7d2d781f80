"""Shares of a kernel that comes many times, under two solvers, as a scene."""

import numpy as np

from mklcore.figures import scenes as scene
from mklcore.figures import style
from mklcore.figures.scenes import Panel, Scene
from mklcore.lessons import copies
from mklcore.lessons.pictures.panels import bar_panel, hue, share_axis


def duplicates(story: copies.Copies, dark: bool) -> Scene:
    """Shares of kernel A's copies and of kernel B under two solvers of one problem."""
    examples = story.examples
    most = examples[-1].copies
    counts = [e.copies for e in examples]
    names = [*(f"A{k + 1}" for k in range(most)), "B"]
    a, b = hue("rbf", dark), hue("linear", dark)
    x = scene.steps("copies of A", [str(c) for c in counts])
    y = share_axis("share of one kernel", 1.0)
    each, single = [float(e.symmetric[0]) for e in examples], [float(e.symmetric[-1]) for e in examples]
    first = [float(e.block_descent[0]) for e in examples]
    lines = (
        scene.curve(
            x, y, range(len(counts)), first, a, dark, dash="6 4", label="A1, block", name="first copy, block descent"
        ),
        scene.curve(x, y, range(len(counts)), each, a, dark, label="each A", name="every copy, symmetric solver"),
        scene.curve(x, y, range(len(counts)), single, b, dark, label="B", name="B, either solver"),
    )
    shares = scene.traced(
        "Share of one kernel",
        f"Lines: with {most} copies the symmetric solver leaves {style.number(each[-1])} to each copy of A and "
        f"{style.number(single[-1])} to B; block descent leaves {style.number(first[-1])} to the first copy.",
        x,
        y,
        lines,
        range(len(counts)),
    )
    hues = [*([a] * most), b]
    both = [
        _copies_panel(title, names, np.array([_padded(row, most) for row in rows]), hues)
        for title, rows in (
            ("A solver that treats copies alike", [e.symmetric for e in examples]),
            ("Block descent, one kernel after another", [e.block_descent for e in examples]),
        )
    ]
    said = tuple(
        f"“Keep the largest” keeps {e.two_stage['symmetric']} after the first solver and {e.two_stage['block']} after "
        f"the "
        f"second. The optimum is the same: objective {e.objective_many:.6f}, with one copy {e.objective_two:.6f}."
        for e in examples
    )
    return Scene(tuple(f"{c} copies of A" for c in counts), said, len(counts) - 1, (shares, *both))


def _padded(shares: np.ndarray, most: int) -> np.ndarray:
    """Copies first, B last, zeros for the copies that are not there yet."""
    row = np.zeros(most + 1)
    row[: len(shares) - 1], row[-1] = shares[:-1], shares[-1]
    return row


def _copies_panel(title: str, names: list[str], heights: np.ndarray, hues: list[str]) -> Panel:
    alt = (
        f"Bars: shares of {len(names) - 1} copies of A and of B. With all copies the largest is "
        f"{names[int(np.argmax(heights[-1].round(6)))]}, {style.number(heights[-1].max())}."
    )
    return bar_panel(title, alt, ("kernel", "share"), names, heights, 1.0, hues, names)
