"""Draw the pictures of the site: of each method one that moves along its path, solved here and
written as SVG whose bars or nodes are animated by a style sheet; and the stages of an answer.

python -m docs.pictures [NAME ...]

Who asked the system for less motion sees the last point of the path.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

import mklcore as mkl
from mklcore.answer import explore
from mklcore.arrays import Array
from mklcore.figures import captions, style
from mklcore.io.catalog import ESTIMATORS
from mklcore.paths.path import path_grid

HERE = Path(__file__).parent / "pictures"
# of each method what its path runs over, its settings, and the ends where it has no grid of its own
PATHS: dict[str, tuple[str, dict[str, float], tuple[float, float] | None]] = {
    "lp": ("p", {"C": 1.0}, None),
    "gomp": ("s", {}, None),
    "greedy": ("s", {}, None),
    "smkl": ("C", {}, (0.6, 3.0)),
}
COLUMNS = 12  # of the toy problem, of which five carry
CARRY = 5
POINTS = 25
SECONDS = 12
REST = 0.15  # of the time that the last point is shown
WIDTH = 760
INK = "#7a7a7a"  # which can be read on white and on black
SIGNAL = style.family_hues()["linear"]
LEVELS = 4  # of the hull's polynomial


def frames(values: Sequence[float], write: str) -> str:
    """The key frames of one animation: a value at each point of the path, written by a format."""
    shares = np.linspace(0.0, 100.0 * (1.0 - REST), len(values))
    written = [write.format(value) for value in values]
    parts = [f"{share:.3g}%{{{text}}}" for share, text in zip(shares, written, strict=True)]
    return f"{''.join(parts)}100%{{{written[-1]}}}"


def moving(body: str, rules: str, labels: Sequence[str], height: int, alt: str) -> str:
    """An SVG picture: ``body``, whose parts the style ``rules`` move, under one of ``labels`` at
    every point of the path.
    """
    step = 24
    shown = "".join(
        f'<text x="0" y="{16 + step * k}">{escape(text)}</text>' for k, text in enumerate(labels)
    )
    last = step * (len(labels) - 1)
    places = [step * float(k) for k in range(len(labels))]
    sheet = (
        f"text{{font:14px sans-serif;fill:{INK}}}"
        f".moves{{animation-duration:{SECONDS}s;animation-iteration-count:infinite}}"
        "#labels{animation-name:labels;animation-timing-function:step-end;"
        f"transform:translateY(-{last}px)}}"
        f"@keyframes labels{{{frames(places, 'transform:translateY(-{:g}px)')}}}{rules}"
        "@media(prefers-reduced-motion:reduce){.moves{animation:none!important}}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" role="img"><title>{escape(alt)}</title><style>{sheet}</style>'
        f'<svg x="90" y="4" width="{WIDTH - 90}" height="{step}">'
        f'<g id="labels" class="moves">{shown}</g></svg>{body}</svg>\n'
    )


def path_picture(key: str) -> str:
    """The weights along the method's own path on the toy problem, a bar for each column."""
    data, _ = mkl.make_mkl_toy(120, CARRY, seed=0, n_features=COLUMNS)
    kernels = mkl.KernelDictionary.per_feature(mkl.Linear(), data.n_features)
    param, settings, ends = PATHS[key]
    model = ESTIMATORS[key].classifier(kernels=kernels, **settings)
    grid = (
        path_grid(model, kernels.grams(data.X), data.y, param, POINTS)
        if ends is None
        else mkl.log_grid(*ends, POINTS)
    )
    path = mkl.fit_path(model, data.X, data.y, param, grid)
    weights = np.asarray(path.weights, dtype=float)
    lengths = weights / np.maximum(weights.max(axis=1, keepdims=True), 1e-300)
    labels = [
        f"{captions.label(param, float(value))}: {count} of {COLUMNS} kernels"
        for value, count in zip(path.values, path.n_nonzero, strict=True)
    ]
    alt = (
        f"Kernel weights of {COLUMNS} columns {captions.along(path)}. The first {CARRY} carry the "
        f"signal; at the end {path.n_nonzero[-1]} have weight."
    )
    return bars(lengths, labels, alt)


def bars(lengths: Array, labels: Sequence[str], alt: str) -> str:
    """A bar for each column of ``lengths`` (L, M), from 0 to 1, the first ``CARRY`` in the colour of a signal."""
    room = WIDTH - 110
    body = []
    rules = []
    for k, along in enumerate(lengths.T):
        y = 34 + 22 * k
        name = f"x{k}" + (" ●" if k < CARRY else "")
        body.append(
            f'<text x="8" y="{y + 13}">{name}</text><rect id="b{k}" class="moves" x="90" y="{y}" '
            f'width="{room}" height="16" fill="{SIGNAL if k < CARRY else INK}"/>'
        )
        scaled = np.round(along, 4)
        rules.append(
            f"#b{k}{{animation-name:b{k};transform-origin:90px 0;transform:scaleX({scaled[-1]:g})}}"
            f"@keyframes b{k}{{{frames(scaled, 'transform:scaleX({:g})')}}}"
        )
    height = 34 + 22 * lengths.shape[1] + 30
    words = "● carries the signal. Bars: kernel weights, beside the largest of the moment."
    foot = f'<text x="8" y="{height - 8}">{words}</text>'
    return moving("".join(body) + foot, "".join(rules), labels, height, alt)


def hull_picture() -> str:
    """The hull of a polynomial of which two columns act together, while the penalty falls."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 2))
    y = X[:, 0] + X[:, 0] * X[:, 1] ** 2 + 0.1 * rng.standard_normal(150)
    model = mkl.HKLRegressor(basis=mkl.PolynomialBasis(LEVELS))
    path = mkl.fit_path(model, X, y, "lam", mkl.log_grid(1e-7, 1e-1, POINTS)[::-1])
    nodes = [(i, j) for i in range(LEVELS + 1) for j in range(LEVELS + 1)]
    inside = np.array([[node in set(found.hull_) for node in nodes] for found in path.estimators])
    labels = [
        f"{captions.label('lam', float(found.lam))}: {len(found.hull_)} of {len(nodes)} products"
        for found in path.estimators
    ]
    alt = (
        f"The {len(nodes)} products of powers of two columns as a grid, filled where they are in the "
        f"hull: {inside[0].sum()} at the largest penalty, {inside[-1].sum()} at the smallest. None "
        "is filled without those below and to the left."
    )
    return grid(nodes, inside, labels, alt)


def grid(nodes: Sequence[tuple[int, int]], inside: Array, labels: Sequence[str], alt: str) -> str:
    """A square for each node (x up to the right, y upwards), filled at the points where it is
    ``inside`` (L, N).
    """
    size = 44
    foot = 40 + size * LEVELS
    body = []
    rules = []
    for k, (i, j) in enumerate(nodes):
        place = f'x="{90 + size * i}" y="{foot - size * j}" width="{size - 6}" height="{size - 6}"'
        body.append(
            f'<rect {place} rx="4" fill="none" stroke="{INK}"/>'
            f'<rect id="n{k}" class="moves" {place} rx="4" fill="{SIGNAL}"/>'
        )
        shown = inside[:, k].astype(float)
        rules.append(
            f"#n{k}{{animation-name:n{k};animation-timing-function:step-end;opacity:{shown[-1]:g}}}"
            f"@keyframes n{k}{{{frames(shown, 'opacity:{:g}')}}}"
        )
    axes = "".join(
        f'<text x="{100 + size * k}" y="{foot + 58}">{k}</text>'
        f'<text x="66" y="{foot - size * k + 24}">{k}</text>'
        for k in range(LEVELS + 1)
    )
    names = (
        f'<text x="{110 + size * (LEVELS + 1)}" y="{foot + 58}">power of x0</text>'
        '<text x="8" y="40">of x1</text>'
    )
    return moving("".join(body) + axes + names, "".join(rules), labels, foot + 74, alt)


def stages_picture() -> str:
    """The stages of an answer, in their order, each with what its function says it does, as SVG."""
    lines = (explore.__doc__ or "").split("\n\n")[1].splitlines()
    descriptions = {line.strip()[:20].strip(): line.strip()[20:] for line in lines}
    step = 44
    boxes = []
    for k, name in enumerate(explore.STAGES):
        y = 8 + k * step
        box = (
            f'<rect x="8" y="{y}" width="170" height="32" rx="6" fill="none" '
            'stroke="currentColor"/>'
        )
        words = (
            f'<text x="18" y="{y + 21}" font-weight="600">{name}</text><text x="194" '
            f'y="{y + 21}">{descriptions[name]}</text>'
        )
        arrow = (
            f'<path d="M 93 {y + 32} v 12" stroke="currentColor"/>'
            if name != explore.STAGES[-1]
            else ""
        )
        boxes.append(box + words + arrow)
    size = f'viewBox="0 0 900 {8 + len(boxes) * step}" width="900"'
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" '
        'font-size="14" color="#555">'
    )
    return f'{head}<g fill="currentColor">{"".join(boxes)}</g></svg>\n'


def picture(name: str) -> str:
    """One picture as SVG, by its name."""
    made: dict[str, Any] = {"answer": stages_picture, "hkl": hull_picture}
    text: str = made[name]() if name in made else path_picture(name)
    return text


def main(names: Sequence[str]) -> None:
    """Write the pictures with these names, or all."""
    HERE.mkdir(exist_ok=True)
    for name in names or ("answer", "hkl", *PATHS):
        (HERE / f"{name}.svg").write_text(picture(name), encoding="utf-8")
        print(name, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
