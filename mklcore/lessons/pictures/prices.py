"""Kernels in use and errors along λ, and norms of the parts, as a scene."""

import numpy as np

from mklcore.figures import scenes as scene
from mklcore.figures import style
from mklcore.figures.scenes import Scene
from mklcore.lessons import prices
from mklcore.lessons.pictures.panels import ROOM, bar_panel, hue

MOST_TICKS = 18


def ridge(story: prices.Prices, dark: bool) -> Scene:
    """Kernels in use and test error along lambda, and the norms of the parts of MKL-GOMP."""
    tone, lam = style.theme(dark), story.lambdas
    x = scene.logarithmic("λ", float(lam[0]), float(lam[-1]))
    y = scene.linear("kernels in use", 0.0, ROOM * float(max(story.l1_used.max(), story.gomp_used.max())))
    blue, orange = hue("linear", dark), hue("rbf", dark)
    counts = (
        scene.curve(x, y, lam, story.gomp_used, blue, dark, label="MKL-GOMP"),
        scene.curve(x, y, lam, story.l1_used, orange, dark, label="ℓ1-MKL"),
    )
    used = scene.traced(
        "How many kernels",
        f"Lines: MKL-GOMP uses {story.gomp_used[0]} kernels at the smallest λ and {story.gomp_used[-1]} at the "
        f"largest; ℓ1-norm "
        f"MKL {story.l1_used[0]} and {story.l1_used[-1]}.",
        x,
        y,
        counts,
        lam,
    )
    top = ROOM * float(max(story.l1_error.max(), story.gomp_error.max(), story.small_error.max()))
    y2 = scene.linear("test error, %", 0.0, top)
    errors = (
        scene.curve(x, y2, lam, story.gomp_error, blue, dark, label=f"s = {prices.ASKED}"),
        scene.curve(x, y2, lam, story.small_error, blue, dark, dash="6 4", label=f"s = {prices.N_INFORMATIVE}"),
        scene.curve(x, y2, lam, story.l1_error, orange, dark, label="ℓ1-MKL"),
    )
    wrong = scene.traced(
        "How many errors",
        f"Lines: test error along λ. MKL-GOMP with {prices.N_INFORMATIVE} kernels stays between "
        f"{style.number(story.small_error.min())} and {style.number(story.small_error.max())} %; ℓ1-norm MKL goes from "
        f"{style.number(story.l1_error[0])} to {style.number(story.l1_error[-1])} % with its least, "
        f"{style.number(story.l1_error.min())} %, in between.",
        x,
        y2,
        errors,
        lam,
    )
    ever = np.flatnonzero(story.norms.max(axis=0) > 0)
    heights = story.norms[:, ever]
    names = [f"x{j + 1}" for j in ever]
    colours = [blue if j < prices.N_INFORMATIVE else tone.grey for j in ever]
    top3 = ROOM * float(heights.max())
    parts = bar_panel(
        "Size of each part in MKL-GOMP",
        f"Bars: the norms of the parts MKL-GOMP takes, {', '.join(names)}. The largest shrinks from "
        f"{style.number(heights[0].max())} to {style.number(heights[-1].max())} as λ grows.",
        ("feature", "‖f‖"),
        names,
        heights,
        top3,
        colours,
        [str(j + 1) for j in ever] if len(names) <= MOST_TICKS else [],
    )
    said = tuple(
        f"MKL-GOMP: {story.gomp_used[k]} kernels, the largest part {style.number(story.norms[k].max())}. ℓ1-MKL: "
        f"{story.l1_used[k]} kernels" + ("." if story.l1_solved[k] else ", not solved to tolerance.")
        for k in range(lam.size)
    )
    apart = int(np.argmax(np.abs(np.asarray(story.gomp_used) - np.asarray(story.l1_used))))
    return Scene(tuple(f"λ = {style.number(value)}" for value in lam), said, apart, (used, wrong, parts))
