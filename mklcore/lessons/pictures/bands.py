"""A spectrum with the bands in use, their weights, and the error they leave, as a scene."""

import numpy as np

from mklcore.figures import scenes as scene
from mklcore.figures import style
from mklcore.figures.scenes import Bar, Dot, Line, Panel, Scene
from mklcore.lessons import bands as spectral
from mklcore.lessons.pictures.panels import ROOM, bar_panel, hue


def spectra(story: spectral.Bands, dark: bool) -> Scene:
    """The mean spectrum with the bands in use, their weights, and the error against the number of bands."""
    tone, path = style.theme(dark), story.smkl
    blue, places = hue("linear", dark), story.wavelengths
    low, high = float(places.min()), float(places.max())
    ends = tuple((float(v), f"{v:g}") for v in np.linspace(low, high, 4))
    x = scene.Scale("wavelength, nm", low, high, ticks=ends)
    least, most = float((story.mean - story.spread).min()), float((story.mean + story.spread).max())
    y = scene.linear("mean spectrum", min(least, 0.0), ROOM * most)
    used = [spectral.used(path, k) for k in range(len(path.values))]
    names = [f"band {b}" for b in range(len(story.edges))]
    edges = [(x.at(float(a)), x.at(float(b))) for a, b in story.edges]
    inside = np.array([[float(b in bands) for b in range(len(names))] for bands in used])
    shades = tuple(Bar(*edges[b], tone.grey, names[b], tuple(inside[:, b]), opacity=0.28) for b in range(len(names)))
    mean = scene.curve(x, y, places, story.mean, tone.ink, dark, name="mean of the training spectra")
    truth = tuple(
        Line(((edges[b][0], 0.985), (edges[b][1], 0.985)), blue, f"{names[b]} decides the target", 5)
        for b in story.truth
    )
    own = spectral.best(path)
    spectrum = Panel(
        "Shaded: in use. Blue: decides the target",
        f"Mean spectrum. Bands {', '.join(str(b) for b in story.truth)} decide the target; at the best validation "
        f"score bands "
        f"{', '.join(str(b) for b in used[own])} are in use.",
        x,
        y,
        lines=(mean, *truth),
        bars=shades,
        wide=True,
    )
    top = ROOM * float(path.weights.max())
    share = np.array(path.weights, dtype=float)
    weights = bar_panel(
        "Weight of every band",
        f"Bars: weights of {len(names)} bands along C; at the best validation score the largest is "
        f"{names[int(np.argmax(share[own]))]}.",
        ("band", "weight β"),
        names,
        share,
        top,
        [blue if b in story.truth else tone.grey for b in range(len(names))],
        list(map(str, range(len(names)))),
    )
    said = tuple(
        f"{style.counted(len(used[k]), 'band')} in use"
        + (f": {', '.join(str(b) for b in used[k])}" if used[k] else "")
        + f". Validation R² {path.val_score[k]:.3f}."
        for k in range(len(path.values))
    )
    steps = tuple(f"C = {style.number(value)}" for value in path.values)
    return Scene(steps, said, own, (spectrum, weights, _trade(story, dark)))


def _trade(story: spectral.Bands, dark: bool) -> Panel:
    """Unexplained share against bands in use: both methods along their own C."""
    blue, grey, n = hue("linear", dark), style.theme(dark).grey, len(story.edges)
    x = scene.Scale("bands in use", -0.3, n + 0.3, ticks=tuple((float(k), str(k)) for k in range(0, n + 1, 2)))
    left = [1.0 - np.asarray(p.val_score, dtype=float) for p in (story.smkl, story.sparse)]
    floor = 0.8 * float(min(values.min() for values in left))
    y = scene.logarithmic("1 − R² on validation rows", max(floor, 1e-6), 1.05)
    lines = [
        scene.curve(x, y, [len(spectral.used(p, k)) for k in range(len(p.values))], values, colour, dark, name=name)
        for p, values, colour, name in (
            (story.sparse, left[1], grey, "p = 1, along its C"),
            (story.smkl, left[0], blue, "SMKL, along its C"),
        )
    ]
    own, other = spectral.best(story.smkl), spectral.best(story.sparse)
    n_own, n_other = len(spectral.used(story.smkl, own)), len(spectral.used(story.sparse, other))
    return Panel(
        "Error against bands: SMKL blue, p = 1 grey",
        f"Lines: the share of the target left unexplained against the bands in use. At its best SMKL uses {n_own} "
        f"bands and "
        f"p = 1 uses {n_other}.",
        x,
        y,
        lines=tuple(lines),
        dots=(Dot(blue, lines[1].points), Dot(grey, (lines[0].points[other],) * len(story.smkl.values))),
    )
