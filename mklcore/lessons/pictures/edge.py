"""Scores along the cost, on the values tried and beyond them, and the bands in use, as a scene."""

import numpy as np

from mklcore.figures import scenes as scene
from mklcore.figures import style
from mklcore.figures.scenes import Bar, Scene
from mklcore.lessons import edge
from mklcore.lessons.pictures.panels import ROOM, bar_panel, hue


def beyond(story: edge.Edge, dark: bool) -> Scene:
    """Validation and test R² along C with the tried values shaded, and the weights of the bands."""
    tone, path = style.theme(dark), story.path
    costs, count = np.asarray(path.values, dtype=float), len(path)
    x = scene.logarithmic("C", float(costs[0]), float(costs[-1]))
    y = scene.linear("R²", min(0.0, float(np.min(path.val_score)), float(story.test.min())), 1.0)
    last = float(costs[story.tried - 1])
    tried = Bar(0.0, x.at(last), tone.grey, "values tried at first", (1.0,) * count, opacity=0.22)
    lines = (
        scene.curve(x, y, costs, path.val_score, tone.ink, dark, dash="6 4", label="validation"),
        scene.curve(x, y, costs, story.test, tone.ink, dark, label="test"),
    )
    scores = scene.traced(
        "Shaded: the values tried at first",
        f"Lines: R² along C. On the values tried, up to {style.number(last)}, the best validation R² is "
        f"{path.val_score[story.edge]:.2f}, at the last of them; beyond them it rises to "
        f"{path.val_score[story.best]:.2f} at "
        f"{style.number(costs[story.best])}.",
        x,
        y,
        lines,
        costs,
        bars=(tried,),
        wide=True,
    )
    weights = np.asarray(path.weights, dtype=float)
    top, bands = ROOM * float(weights.max()), weights.shape[1]
    names = [f"band {b}" for b in range(bands)]
    used = bar_panel(
        "Weight of every band",
        f"Bars: weights of {bands} bands. {path.n_nonzero[story.edge]} are in use at the last value tried and "
        f"{path.n_nonzero[story.best]} at the best.",
        ("band", "weight θ"),
        names,
        weights,
        top,
        [hue("linear", dark)] * bands,
        list(map(str, range(bands))),
    )
    said = tuple(
        f"{'Tried at first' if k < story.tried else 'Beyond'}: validation R² {path.val_score[k]:.3f}, test "
        f"{story.test[k]:.3f}, {style.counted(int(path.n_nonzero[k]), 'band')} in use."
        for k in range(count)
    )
    return Scene(tuple(f"C = {style.number(value)}" for value in costs), said, story.edge, (scores, used))
