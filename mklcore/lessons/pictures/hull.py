"""The grid of two columns, and what was looked at, along λ, as a scene."""

from dataclasses import replace
from typing import Any

import numpy as np

from mklcore.figures import kernel_count, style
from mklcore.figures import scenes as scene
from mklcore.figures.scenes import Cell, Panel, Scene
from mklcore.lessons import hull
from mklcore.lessons.pictures.panels import hue


def hulls(story: hull.Hulls, dark: bool) -> Scene:
    """The grid of two columns, the kernels looked at among all, and the validation score, along lambda."""
    path, lam = story.path, np.asarray(story.path.values, dtype=float)
    tone, blue = style.theme(dark), hue("hkl", dark)
    first, second = (story.names[i] for i in story.pair)
    levels = hull.DEGREE + 1
    x = scene.Scale(f"level of {first}", -0.6, levels - 0.4, ticks=tuple((float(k), str(k)) for k in range(levels)))
    y = replace(x, title=f"level of {second}")
    grid = Panel(
        f"The grid of {first} and {second}",
        f"Levels of {first} against levels of {second}. Their product is in the hull at "
        f"{sum(story.holds(k) for k in range(len(lam)))} of {len(lam)} values of λ.",
        x,
        y,
        cells=tuple(_cells(model, story.pair, levels, x, y) for model in story.models),
        cell=1.0 / levels,
        tone={"hue": blue, "ink": tone.ink, "grey": tone.grey},
    )
    along = scene.logarithmic("λ", float(lam.min()), float(lam.max()), falling=True)
    size = scene.logarithmic("kernels", 1.0, 3.0 * story.kernels)
    counted = (
        scene.curve(along, size, lam, [story.kernels] * lam.size, tone.grey, dark, dash="5 4", label="in the grid"),
        scene.curve(along, size, lam, story.visited, tone.ink, dark, label="looked at"),
        scene.curve(along, size, lam, [len(m.hull_) for m in story.models], blue, dark, label="in the hull"),
    )
    seen = scene.traced(
        "Kernels there are, and kernels looked at",
        f"Lines: of {kernel_count(story.kernels)} kernels the search looks at {min(story.visited)} to "
        f"{max(story.visited)}; the hull holds {len(story.models[0].hull_)} to "
        f"{max(len(m.hull_) for m in story.models)}.",
        along,
        size,
        counted,
        lam,
        counted[1:],
    )
    low = min(0.0, float(np.nanmin(path.val_score)), story.additive)
    r2 = scene.linear("R² on validation rows", low, 1.0)
    scores = (
        scene.curve(along, r2, lam, path.val_score, blue, dark, label="hulls"),
        scene.curve(along, r2, lam, [story.additive] * lam.size, tone.grey, dark, dash="5 4", label="one column"),
    )
    fit = scene.traced(
        "With and without interactions",
        f"Lines: validation R² of the hulls, at best {style.number(path.val_score[story.best])}, and of sparse MKL "
        f"with "
        f"one kernel per column, {style.number(story.additive)}.",
        along,
        r2,
        scores,
        lam,
        scores[:1],
    )
    said = tuple(_hull_said(story, k, f"{first}·{second}") for k in range(lam.size))
    steps = tuple(f"λ = {style.number(value)}" for value in lam)
    return Scene(steps, said, story.best, (grid, seen, fit))


def _hull_said(story: hull.Hulls, index: int, product: str) -> str:
    model, gap = story.models[index], style.percent(float(story.path.relative_gap[index]))
    sure = (
        f"certified within {gap} of the optimum over all" if model.certified_ else f"not certified, gap {gap}, over all"
    )
    return (
        f"{style.counted(len(model.hull_), 'node')} in the hull, {model.n_visited_} looked at; {sure} "
        f"{kernel_count(story.kernels)}. A product of {product} is {'in' if story.holds(index) else 'not in'} the hull."
    )


def _cells(model: Any, pair: tuple[int, int], levels: int, x: scene.Scale, y: scene.Scale) -> tuple[Cell, ...]:
    """Every place of the grid: the nodes that touch no column but these two."""
    first, second = pair

    def only(nodes: Any) -> set[tuple[int, int]]:
        return {(v[first], v[second]) for v in nodes if sum(v) == v[first] + v[second]}

    inside, extreme, near = only(model.hull_), only(model.extreme_points_), only(model.sources_)
    kinds = {
        (a, b): "extreme"
        if (a, b) in extreme
        else "inside"
        if (a, b) in inside
        else "next"
        if (a, b) in near
        else "out"
        for a in range(levels)
        for b in range(levels)
    }
    return tuple(Cell(x.at(a), y.at(b), kind, f"levels {a} and {b}, {kind}") for (a, b), kind in kinds.items())
