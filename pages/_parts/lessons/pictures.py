"""From the result of a lesson to its scene: what each panel shows at every position of the slider."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mklcore.figures import kernel_count, style
from mklcore.lessons import bands as spectral
from mklcore.lessons import copies, hull, norms, prices
from pages._parts.players import scene
from pages._parts.players.scene import Bar, Cell, Dot, Line, Panel, Scene

BAR_SHARE = 0.76  # of its slot that a bar fills
MOST_TICKS = 18
ROOM = 1.06  # above the highest value


def _hue(family: str, dark: bool, member: int = 0) -> str:
    return style.family_shade(family, member, dark)


def _slots(names: Sequence[str], heights: np.ndarray, top: float, colours: Sequence[str]) -> tuple[Bar, ...]:
    """One bar per column of ``heights`` (L, B), side by side."""
    width = 1.0 / len(names)
    gap = width * (1 - BAR_SHARE) / 2
    return tuple(
        Bar(
            width * k + gap,
            width * (k + 1) - gap,
            colours[k],
            name,
            tuple((heights[:, k] / top).round(4).tolist()),
            tuple(style.number(value) for value in heights[:, k]),
        )
        for k, name in enumerate(names)
    )


def _share_axis(title: str, top: float) -> scene.Scale:
    return scene.linear(title, 0.0, top)


# Norms


def _features(weights: np.ndarray, informative: int, dark: bool, title: str) -> Panel:
    """Weights of all features at every position: (L, M)."""
    tone, count = style.theme(dark), weights.shape[1]
    names = [f"x{j + 1}, {'informative' if j < informative else 'noise'}" for j in range(count)]
    colours = [_hue("linear", dark) if j < informative else tone.grey for j in range(count)]
    top = ROOM * max(float(weights.max()), 1e-300)
    ticks = tuple((float(j), str(j + 1)) for j in range(0, count, max(1, count // 5)))
    return Panel(
        title,
        f"Bars: the weights of {count} kernels, one per feature; {style.counted(informative, 'feature')} informative.",
        scene.Scale("feature", -0.5, count - 0.5, ticks=ticks),
        _share_axis("weight θ", top),
        bars=_slots(names, weights, top, colours),
    )


def _norm_names(values: Sequence[float]) -> list[str]:
    return [style.number(p) for p in values]


def sparse(story: norms.Norms, dark: bool) -> Scene:
    """Error against p over all draws, and the weights at the slider's p."""
    tone, places = style.theme(dark), range(len(story.norms))
    x = scene.steps("p, norm of the weights (solved values, evenly spaced)", _norm_names(story.norms))
    y = scene.linear("test error, %", 0.0, ROOM * float(story.errors.max()))
    draws = [
        scene.curve(x, y, places, row, tone.grey, dark, width=1, opacity=0.5, name=f"draw {k + 1}")
        for k, row in enumerate(story.errors)
    ]
    mean = scene.curve(x, y, places, story.mean, tone.ink, dark, width=3, label="mean", name="mean over the draws")
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
        f"Test error {style.number(error)} % in the mean, {style.number(error - story.bayes)} points above the best any rule "
        f"reaches; {style.counted(count, 'kernel')} in use in the first draw."
        for error, count in zip(story.mean, used, strict=True)
    )
    panel = Panel(
        f"Test error against p, {story.informative} of {story.weights.shape[1]} features informative",
        f"Lines: test error against p. The mean is lowest, {style.number(story.mean[story.best])} %, at p = "
        f"{style.number(story.norms[story.best])} and highest, {style.number(story.mean.max())} %, at p = "
        f"{style.number(story.norms[int(np.argmax(story.mean))])}; the Bayes error is {style.number(story.bayes)} %.",
        x,
        y,
        lines=scene.parted((*draws, bayes, mean)),
        dots=(Dot(tone.ink, mean.points),),
        cursor=tuple(x.at(k) for k in places),
        wide=True,
    )
    bars = _features(story.weights, story.informative, dark, "Weights in the first draw")
    return Scene(tuple(f"p = {name}" for name in _norm_names(story.norms)), said, len(places) // 2, (panel, bars))


def norms_used(weights: np.ndarray) -> float:
    """Return the weight above which a kernel counts as used."""
    return 1e-6 * float(weights.max())


def dense(story: norms.Levels, dark: bool) -> Scene:
    """Error of three norms against the number of informative features, and error against p at the slider's number."""
    tone, levels = style.theme(dark), story.levels
    counts, every = [level.informative for level in levels], levels[0].norms
    top = ROOM * max(float(level.mean.max()) for level in levels)
    x = scene.steps("informative features, of " + str(norms.N_FEATURES), [str(c) for c in counts])
    y = scene.linear("test error, %", 0.0, top)
    asked = (
        (1.0, _hue("linear", dark), "p = 1"), (2.0, tone.grey, "p = 2"), (np.inf, _hue("rbf", dark), "p = ∞")
    )  # fmt: skip
    lines = [
        scene.curve(
            x, y, range(len(levels)), [level.at(p).mean() for level in levels], colour, dark, width=2.5, label=name
        )
        for p, colour, name in asked
    ]
    crossing = Panel(
        "Sparse, in between, not sparse",
        "Lines: test error of p = 1, 2 and ∞ against the number of informative features. With "
        f"{counts[0]} the error is {style.number(levels[0].at(1.0).mean())} % at p = 1 and "
        f"{style.number(levels[0].at(np.inf).mean())} % at p = ∞; with {counts[-1]}, "
        f"{style.number(levels[-1].at(1.0).mean())} % and {style.number(levels[-1].at(np.inf).mean())} %.",
        x,
        y,
        lines=scene.parted(lines),
        dots=tuple(Dot(line.colour, line.points) for line in lines),
        cursor=tuple(x.at(k) for k in range(len(levels))),
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
        + style.in_words([f"{style.number(level.norms[level.best])} with {level.informative}" for level in levels])
        + ".",
        x2,
        y2,
        lines=each,
        dots=(Dot(_hue("linear", dark), best),),
    )
    said = tuple(
        f"Least error at p = {style.number(level.norms[level.best])}: {style.number(level.mean[level.best])} %. "
        f"p = 1 errs in {style.number(level.at(1.0).mean())} %, p = ∞ in {style.number(level.at(np.inf).mean())} %."
        for level in levels
    )
    return Scene(
        tuple(f"{c} of {norms.N_FEATURES} informative" for c in counts), said, len(levels) - 1, (crossing, moving)
    )


# Copies


def duplicates(story: copies.Copies, dark: bool) -> Scene:
    """Shares of kernel A's copies and of kernel B under two solvers of one problem."""
    examples = story.examples
    most = examples[-1].copies
    counts = [e.copies for e in examples]
    names = [*(f"A{k + 1}" for k in range(most)), "B"]
    a, b = _hue("rbf", dark), _hue("linear", dark)
    x = scene.steps("copies of A", [str(c) for c in counts])
    y = _share_axis("share of one kernel", 1.0)
    each, single = [float(e.symmetric[0]) for e in examples], [float(e.symmetric[-1]) for e in examples]
    first = [float(e.block_descent[0]) for e in examples]
    lines = (
        scene.curve(
            x, y, range(len(counts)), first, a, dark, dash="6 4", label="A1, block", name="first copy, block descent"
        ),
        scene.curve(x, y, range(len(counts)), each, a, dark, label="each A", name="every copy, symmetric solver"),
        scene.curve(x, y, range(len(counts)), single, b, dark, label="B", name="B, either solver"),
    )
    shares = Panel(
        "Share of one kernel",
        f"Lines: with {most} copies the symmetric solver leaves {style.number(each[-1])} to each copy of A and "
        f"{style.number(single[-1])} to B; block descent leaves {style.number(first[-1])} to the first copy.",
        x,
        y,
        lines=scene.parted(lines),
        dots=tuple(Dot(line.colour, line.points) for line in lines),
        cursor=tuple(x.at(k) for k in range(len(counts))),
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
        f"“Keep the largest” keeps {e.two_stage['symmetric']} after the first solver and {e.two_stage['block']} after the "
        f"second. The optimum is the same: objective {e.objective_many:.6f}, with one copy {e.objective_two:.6f}."
        for e in examples
    )
    return Scene(tuple(f"{c} copies of A" for c in counts), said, 0, (shares, *both))


def _padded(shares: np.ndarray, most: int) -> np.ndarray:
    """Copies first, B last, zeros for the copies that are not there yet."""
    row = np.zeros(most + 1)
    row[: len(shares) - 1], row[-1] = shares[:-1], shares[-1]
    return row


def _copies_panel(title: str, names: list[str], heights: np.ndarray, hues: list[str]) -> Panel:
    ticks = tuple((float(k), name) for k, name in enumerate(names))
    return Panel(
        title,
        f"Bars: shares of {style.counted(len(names) - 1, 'copy').replace('copys', 'copies')} of A and of B. With all copies "
        f"the largest is {names[int(np.argmax(heights[-1].round(6)))]}, {style.number(heights[-1].max())}.",
        scene.Scale("kernel", -0.5, len(names) - 0.5, ticks=ticks),
        _share_axis("share", 1.0),
        bars=_slots(names, heights, 1.0, hues),
    )


# lambda against s


def ridge(story: prices.Prices, dark: bool) -> Scene:
    """Kernels in use and test error along lambda, and the norms of the parts of MKL-GOMP."""
    tone, lam = style.theme(dark), story.lambdas
    x = scene.logarithmic("λ", float(lam[0]), float(lam[-1]))
    y = scene.linear("kernels in use", 0.0, ROOM * float(max(story.l1_used.max(), story.gomp_used.max())))
    blue, orange = _hue("linear", dark), _hue("rbf", dark)
    counts = (
        scene.curve(x, y, lam, story.gomp_used, blue, dark, label="MKL-GOMP"),
        scene.curve(x, y, lam, story.l1_used, orange, dark, label="ℓ1-MKL"),
    )
    used = Panel(
        "How many kernels",
        f"Lines: MKL-GOMP uses {story.gomp_used[0]} kernels at the smallest λ and {story.gomp_used[-1]} at the largest; ℓ1-norm "
        f"MKL {story.l1_used[0]} and {story.l1_used[-1]}.",
        x,
        y,
        lines=scene.parted(counts),
        dots=tuple(Dot(line.colour, line.points) for line in counts),
        cursor=tuple(x.at(float(value)) for value in lam),
    )
    top = ROOM * float(max(story.l1_error.max(), story.gomp_error.max(), story.small_error.max()))
    y2 = scene.linear("test error, %", 0.0, top)
    errors = (
        scene.curve(x, y2, lam, story.gomp_error, blue, dark, label=f"s = {prices.ASKED}"),
        scene.curve(x, y2, lam, story.small_error, blue, dark, dash="6 4", label=f"s = {prices.N_INFORMATIVE}"),
        scene.curve(x, y2, lam, story.l1_error, orange, dark, label="ℓ1-MKL"),
    )
    wrong = Panel(
        "How many errors",
        f"Lines: test error along λ. MKL-GOMP with {prices.N_INFORMATIVE} kernels stays between "
        f"{style.number(story.small_error.min())} and {style.number(story.small_error.max())} %; ℓ1-norm MKL goes from "
        f"{style.number(story.l1_error[0])} to {style.number(story.l1_error[-1])} % with its least, "
        f"{style.number(story.l1_error.min())} %, in between.",
        x,
        y2,
        lines=scene.parted(errors),
        dots=tuple(Dot(line.colour, line.points) for line in errors),
        cursor=tuple(x.at(float(value)) for value in lam),
    )
    ever = np.flatnonzero(story.norms.max(axis=0) > 0)
    heights = story.norms[:, ever]
    names = [f"x{j + 1}" for j in ever]
    colours = [blue if j < prices.N_INFORMATIVE else tone.grey for j in ever]
    top3 = ROOM * float(heights.max())
    ticks = tuple((float(k), str(j + 1)) for k, j in enumerate(ever)) if len(names) <= MOST_TICKS else ()
    parts = Panel(
        "Size of each part in MKL-GOMP",
        f"Bars: the norms of the parts MKL-GOMP takes, {', '.join(names)}. The largest shrinks from "
        f"{style.number(heights[0].max())} to {style.number(heights[-1].max())} as λ grows.",
        scene.Scale("feature", -0.5, len(names) - 0.5, ticks=ticks),
        _share_axis("‖f‖", top3),
        bars=_slots(names, heights, top3, colours),
    )
    said = tuple(
        f"MKL-GOMP: {story.gomp_used[k]} kernels, the largest part {style.number(story.norms[k].max())}. ℓ1-MKL: "
        f"{story.l1_used[k]} kernels" + ("." if story.l1_solved[k] else ", not solved to tolerance.")
        for k in range(lam.size)
    )
    return Scene(tuple(f"λ = {style.number(value)}" for value in lam), said, 0, (used, wrong, parts))


# Hulls


def hulls(story: hull.Hulls, dark: bool) -> Scene:
    """The grid of two columns, the kernels looked at among all, and the validation score, along lambda."""
    path, lam = story.path, np.asarray(story.path.values, dtype=float)
    tone, blue = style.theme(dark), _hue("hkl", dark)
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
    seen = Panel(
        "Kernels there are, and kernels looked at",
        f"Lines: of {kernel_count(story.kernels)} kernels the search looks at {min(story.visited)} to "
        f"{max(story.visited)}; the hull holds {len(story.models[0].hull_)} to {max(len(m.hull_) for m in story.models)}.",
        along,
        size,
        lines=scene.parted(counted),
        dots=tuple(Dot(line.colour, line.points) for line in counted[1:]),
        cursor=tuple(along.at(value) for value in lam),
    )
    low = min(0.0, float(np.nanmin(path.val_score)), story.additive)
    r2 = scene.linear("R² on validation rows", low, 1.0)
    scores = (
        scene.curve(along, r2, lam, path.val_score, blue, dark, label="hulls"),
        scene.curve(along, r2, lam, [story.additive] * lam.size, tone.grey, dark, dash="5 4", label="one column"),
    )
    fit = Panel(
        "With and without interactions",
        f"Lines: validation R² of the hulls, at best {style.number(path.val_score[story.best])}, and of sparse MKL with "
        f"one kernel per column, {style.number(story.additive)}.",
        along,
        r2,
        lines=scene.parted(scores),
        dots=(Dot(blue, scores[0].points),),
        cursor=tuple(along.at(value) for value in lam),
    )
    said = tuple(_hull_said(story, k, f"{first}·{second}") for k in range(lam.size))
    steps = tuple(f"λ = {style.number(value)}" for value in lam)
    return Scene(steps, said, 0, (grid, seen, fit))


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


# Bands


def spectra(story: spectral.Bands, dark: bool) -> Scene:
    """The mean spectrum with the bands in use, their weights, and the error against the number of bands."""
    tone, path = style.theme(dark), story.smkl
    blue, places = _hue("linear", dark), story.wavelengths
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
        f"Mean spectrum. Bands {', '.join(str(b) for b in story.truth)} decide the target; at the best validation score bands "
        f"{', '.join(str(b) for b in used[own])} are in use.",
        x,
        y,
        lines=(mean, *truth),
        bars=shades,
        wide=True,
    )
    top = ROOM * float(path.weights.max())
    share = np.array(path.weights, dtype=float)
    weights = Panel(
        "Weight of every band",
        f"Bars: weights of {len(names)} bands along C; at the best validation score the largest is "
        f"{names[int(np.argmax(share[own]))]}.",
        scene.Scale("band", -0.5, len(names) - 0.5, ticks=tuple((float(b), str(b)) for b in range(len(names)))),
        _share_axis("weight β", top),
        bars=_slots(names, share, top, [blue if b in story.truth else tone.grey for b in range(len(names))]),
    )
    said = tuple(
        f"{style.counted(len(used[k]), 'band')} in use"
        + (f": {', '.join(str(b) for b in used[k])}" if used[k] else "")
        + f". Validation R² {path.val_score[k]:.3f}."
        for k in range(len(path.values))
    )
    steps = tuple(f"C = {style.number(value)}" for value in path.values)
    return Scene(steps, said, 0, (spectrum, weights, _trade(story, dark)))


def _trade(story: spectral.Bands, dark: bool) -> Panel:
    """Unexplained share against bands in use: both methods along their own C."""
    blue, grey, n = _hue("linear", dark), style.theme(dark).grey, len(story.edges)
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
        f"Lines: the share of the target left unexplained against the bands in use. At its best SMKL uses {n_own} bands and "
        f"p = 1 uses {n_other}.",
        x,
        y,
        lines=tuple(lines),
        dots=(Dot(blue, lines[1].points), Dot(grey, (lines[0].points[other],) * len(story.smkl.values))),
    )


PICTURES: dict[str, Callable[[Any, bool], Scene]] = {
    "sparse": sparse,
    "dense": dense,
    "copies": duplicates,
    "prices": ridge,
    "hull": hulls,
    "bands": spectra,
}
