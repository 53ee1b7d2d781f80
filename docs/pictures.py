"""Draw the pictures of the site: one path per method, and a hull, solved here and written as SVG by
Chromium.

python -m docs.pictures
"""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import unquote

import plotly.graph_objects as go
from playwright.sync_api import Page
from plotly.offline import get_plotlyjs

import mklcore as mkl
from benchmarks.serving import chromium
from mklcore.answer import explore
from mklcore.io.catalog import ESTIMATORS
from mklcore.paths.path import path_grid

HERE = Path(__file__).parent / "pictures"
DRAW = "figure => Plotly.toImage(figure, {format: 'svg', width: 760, height: 380})"
PATHS = {"lp": ("C", {"p": 4 / 3}), "gomp": ("s", {}), "greedy": ("s", {}), "smkl": ("C", {})}


def path_picture(key: str) -> go.Figure:
    """The weights along the method's own path on the toy problem."""
    data, _ = mkl.make_mkl_toy(120, 5, seed=0, n_features=12)
    kernels = mkl.KernelDictionary.per_feature(mkl.Linear(), data.n_features)
    param, settings = PATHS[key]
    model = ESTIMATORS[key].classifier(kernels=kernels, **settings)
    path = mkl.fit_path(
        model, data.X, data.y, param, path_grid(model, kernels.grams(data.X), data.y, param, 25)
    )
    return mkl.figures.weight_path(path)


def hull_picture() -> go.Figure:
    """The hull of a polynomial of which two columns act together."""
    data, _ = mkl.make_sparse_polynomial(150, 6, seed=0)
    model = mkl.HKLRegressor(basis=mkl.PolynomialBasis(4), lam=1e-3).fit(data.X, data.y)
    return mkl.figures.hull_graph(model, data.feature_names)


def stages_picture() -> str:
    """The stages of an answer, in their order, each with what its function says it does, as SVG."""
    lines = (explore.__doc__ or "").split("\n\n")[1].splitlines()
    told = {line.strip()[:20].strip(): line.strip()[20:] for line in lines}
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
            f'y="{y + 21}">{told[name]}</text>'
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


def write(page: Page, name: str, figure: go.Figure) -> None:
    """Have the browser draw one figure and keep it as SVG."""
    url = page.evaluate(DRAW, json.loads(figure.to_json()))
    (HERE / f"{name}.svg").write_text(unquote(url.split(",", 1)[1]), encoding="utf-8")


def main() -> None:
    HERE.mkdir(exist_ok=True)
    (HERE / "answer.svg").write_text(stages_picture(), encoding="utf-8")
    with chromium() as browser:
        page = browser.new_page()
        page.set_content("<html><body></body></html>")
        page.add_script_tag(content=get_plotlyjs())
        for key in PATHS:
            write(page, key, path_picture(key))
        write(page, "hkl", hull_picture())
    print(f"Wrote {len(PATHS) + 2} pictures to {HERE}.")


if __name__ == "__main__":
    main()
