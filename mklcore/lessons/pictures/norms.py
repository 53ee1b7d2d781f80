"""Weights and errors over p, with few or many informative features, as scenes."""

from collections.abc import Sequence

import numpy as np

from mklcore.figures import scenes as scene
from mklcore.figures import style
from mklcore.figures.scenes import Dot, Panel, Scene
from mklcore.lessons import norms
from mklcore.lessons.pictures.panels import ROOM, bar_panel, hue, share_axis


def _features(weights: np.ndarray, informative: int, dark: bool, title: str) -> Panel:
    """Weights of all features at every position: (L, M)."""
    tone, count = style.theme(dark), weights.shape[1]
    names = [f"x{j + 1}, {'informative' if j < informative else 'noise'}" for j in range(count)]
    colours = [hue("linear", dark) if j < informative else tone.grey for j in range(count)]
    top = ROOM * max(float(weights.max()), 1e-300)
    step = max(1, count // 5)
    return bar_panel(
        title,
        f"Bars: the weights of {count} kernels, one per feature; {style.counted(informative, 'feature')} informative.",
        ("feature", "weight θ"),
        names,
        weights,
        top,
        colours,
        ["" if j % step else str(j + 1) for j in range(count)],
    )


def _norm_names(values: Sequence[float]) -> list[str]:
    return [style.number(p) for p in values]


def sparse(story: norms.Norms, dark: bool) -> Scene:
    """Error against p over all draws, and the weights at the slider's p."""
    tone, places = style.theme(dark), range(len(story.norms))
    x = scene.steps("p, norm of the weights (solved values, evenly spaced)", _norm_names(story.norms))
    y = scene.linear("test error, %", 0.0, ROOM * float(story.errors.max()))
    draws = [
        scene.curve(x, y, places, row, tone.grey, dark, width=1, opacity=0.5, name=f"replication {k + 1}")
        for k, row in enumerate(story.errors)
    ]
    mean = scene.curve(x, y, places, story.mean, tone.ink, dark, width=3, label="mean", name="mean error")
    bayes = scene.curve(
        x,
        y,
        (-0.4, len(places) - 0.6),
        (story.bayes,) * 2,
        tone.grey,
        dark,
        dash="5 4",
        label="Bayes",
        name="Bayes error",
    )
    used = [int((w > norms_used(w)).sum()) for w in story.weights]
    said = tuple(
        f"Test error {style.number(error)} % on average, {style.number(error - story.bayes)} points above the "
        f"Bayes error; "
        f"{style.counted(count, 'kernel')} in use in the first replication."
        for error, count in zip(story.mean, used, strict=True)
    )
    panel = scene.traced(
        f"Test error against p, {story.informative} of {story.weights.shape[1]} features informative",
        f"Lines: test error against p. The mean is lowest, {style.number(story.mean[story.best])} %, at p = "
        f"{style.number(story.norms[story.best])} and highest, {style.number(story.mean.max())} %, at p = "
        f"{style.number(story.norms[int(np.argmax(story.mean))])}; the Bayes error is {style.number(story.bayes)} %.",
        x,
        y,
        (*draws, bayes, mean),
        places,
        (mean,),
        wide=True,
    )
    bars = _features(story.weights, story.informative, dark, "Weights in the first replication")
    return Scene(tuple(f"p = {name}" for name in _norm_names(story.norms)), said, len(places) // 2, (panel, bars))


def norms_used(weights: np.ndarray) -> float:
    """Return the weight above which a kernel counts as used."""
    return 1e-6 * float(weights.max())


def opening(story: norms.Levels, dark: bool) -> Scene:
    """Error, path and weights on one slider over p; path and weights are those of nine informative features."""
    shown = story.levels[1]
    places = [1.0 - 1.0 / p for p in shown.norms]
    ticks = tuple((1.0 - 1.0 / p, style.number(p)) for p in (1.0, 4.0 / 3.0, 2.0, 4.0, np.inf))
    x = scene.Scale("norm p of the kernel weights: sparse at 1, uniform at ∞", 0.0, 1.0, ticks=ticks)
    cursor = tuple(places)
    names = _norm_names(shown.norms)
    best = shown.best
    panels = (
        _errors(story, x, cursor, dark),
        _path(shown, x, cursor, dark),
        _features(shown.weights, shown.informative, dark, "Weights at this p"),
    )
    said = tuple(
        f"Test error {style.number(error)} % with {style.counted(count, 'kernel')} in use: "
        + _beside(error, float(shown.mean[0]), float(shown.mean[best]), k == 0, k == best)
        for k, (error, count) in enumerate(
            zip(shown.mean.tolist(), [int((w > norms_used(w)).sum()) for w in shown.weights], strict=True)
        )
    )
    return Scene(tuple(f"p = {name}" for name in names), said, best, panels)


def _beside(error: float, sparse: float, least: float, is_sparse: bool, is_best: bool) -> str:
    """Say how a test error compares with that of the sparse model."""
    if is_sparse:
        return f"the sparse model, {style.number(error - least)} points above the best p."
    apart = f"{style.number(abs(sparse - error))} points {'below' if error < sparse else 'above'} the sparse model"
    return f"{apart}{', the least of all p' if is_best else ''}."


def _errors(story: norms.Levels, x: scene.Scale, cursor: tuple[float, ...], dark: bool) -> Panel:
    """Return test error against p, one line per number of informative features."""
    tone, count = style.theme(dark), norms.N_FEATURES
    y = scene.linear("test error, %", 0.0, ROOM * max(float(level.mean.max()) for level in story.levels))
    lines = [
        scene.curve(
            x, y, cursor, level.mean, tone.ink if level is story.levels[1] else tone.grey, dark,
            width=3.0 if level is story.levels[1] else 2.0, label=f"{level.informative} of {count}",
            name=f"{level.informative} of {count} features informative",
        )
        for level in story.levels
    ]  # fmt: skip
    each = style.joined(
        [
            f"{style.number(float(level.mean.min()))} % at p = {style.number(level.norms[level.best])} with "
            f"{level.informative} of {count}"
            for level in story.levels
        ]
    )
    return scene.traced(
        f"Test error: 1, 9 or all {count} features carry the class",
        f"Lines: test error against p by the number of informative features. The least error is {each}.",
        x, y, lines, cursor, wide=True,
    )  # fmt: skip


def _path(shown: norms.Norms, x: scene.Scale, cursor: tuple[float, ...], dark: bool) -> Panel:
    """Return the weight of every kernel against p: informative features in colour before the others."""
    tone, top = style.theme(dark), float(shown.weights.max())
    y = share_axis("weight θ", ROOM * top)
    order = [*range(shown.informative, shown.weights.shape[1]), *range(shown.informative)]
    lines = tuple(
        scene.curve(
            x, y, cursor, shown.weights[:, j], hue("linear", dark) if j < shown.informative else tone.grey, dark,
            width=1.75 if j < shown.informative else 1.0, opacity=1.0 if j < shown.informative else 0.5,
            name=f"x{j + 1}, {'informative' if j < shown.informative else 'noise'}",
        )
        for j in order
    )  # fmt: skip
    return Panel(
        f"Path of the weights, {shown.informative} of {shown.weights.shape[1]} informative",
        f"Lines: the weight of every kernel against p, {shown.informative} informative features in colour and "
        f"{shown.weights.shape[1] - shown.informative} of noise in grey.",
        x, y, lines=lines, cursor=cursor,
    )  # fmt: skip


def dense(story: norms.Levels, dark: bool) -> Scene:
    """Error of three norms against the number of informative features, and error against p at the slider's number."""
    tone, levels = style.theme(dark), story.levels
    counts, every = [level.informative for level in levels], levels[0].norms
    top = ROOM * max(float(level.mean.max()) for level in levels)
    x = scene.steps("informative features, of " + str(norms.N_FEATURES), [str(c) for c in counts])
    y = scene.linear("test error, %", 0.0, top)
    asked = (
        (1.0, hue("linear", dark), "p = 1"), (2.0, tone.grey, "p = 2"), (np.inf, hue("rbf", dark), "p = ∞")
    )  # fmt: skip
    lines = [
        scene.curve(
            x, y, range(len(levels)), [level.at(p).mean() for level in levels], colour, dark, width=2.5, label=name
        )
        for p, colour, name in asked
    ]
    crossing = scene.traced(
        "Sparse, in between, not sparse",
        "Lines: test error of p = 1, 2 and ∞ against the number of informative features. With "
        f"{counts[0]} the error is {style.number(levels[0].at(1.0).mean())} % at p = 1 and "
        f"{style.number(levels[0].at(np.inf).mean())} % at p = ∞; with {counts[-1]}, "
        f"{style.number(levels[-1].at(1.0).mean())} % and {style.number(levels[-1].at(np.inf).mean())} %.",
        x,
        y,
        lines,
        range(len(levels)),
    )
    x2 = scene.steps("p, norm of the weights (solved values, evenly spaced)", _norm_names(every))
    y2 = scene.linear("test error, %", 0.0, top)
    each = tuple(
        scene.curve(
            x2, y2, range(len(every)), level.mean, tone.ink, dark, only=k, name=f"{level.informative} informative"
        )
        for k, level in enumerate(levels)
    )
    best = tuple((x2.at(level.best), y2.at(float(level.mean[level.best]))) for level in levels)
    moving = Panel(
        "Error against p; the dot is the best p",
        "Lines: test error against p, one line per number of informative features. The best p is "
        + style.joined([f"{style.number(level.norms[level.best])} with {level.informative}" for level in levels])
        + ".",
        x2,
        y2,
        lines=each,
        dots=(Dot(hue("linear", dark), best),),
    )
    said = tuple(
        f"Least error at p = {style.number(level.norms[level.best])}: {style.number(level.mean[level.best])} %. "
        f"p = 1 errs in {style.number(level.at(1.0).mean())} %, p = ∞ in {style.number(level.at(np.inf).mean())} %."
        for level in levels
    )
    return Scene(
        tuple(f"{c} of {norms.N_FEATURES} informative" for c in counts), said, len(levels) - 1, (crossing, moving)
    )
