"""Run the examples of the gallery, and draw their pictures with Chromium.

python -m docs.gallery_pictures [NAME ...]
"""

from __future__ import annotations

import json
import runpy
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from benchmarks.serving import chromium

HERE = Path(__file__).parent / "gallery"
PICTURES = HERE / "pictures"
ALTS = PICTURES / "alts.json"
DRAW = "figure => Plotly.toImage(figure, {format: 'svg', width: 720, height: 380})"


def examples() -> list[Path]:
    """Return the scripts of the gallery in the order of the page."""
    page = (HERE / "index.md").read_text(encoding="utf-8")
    return sorted(HERE.glob("*.py"), key=lambda path: page.find(f"example {path.stem} "))


def run(path: Path) -> go.Figure:
    """Return the figure that an example ends with."""
    figure = runpy.run_path(str(path))["figure"]
    assert isinstance(figure, go.Figure)
    return figure


@contextmanager
def drawing() -> Iterator[Callable[[go.Figure], str]]:
    """What draws a figure as SVG, by Chromium."""
    with chromium() as browser:
        page = browser.new_page()
        page.set_content("<html><body></body></html>")
        page.add_script_tag(content=get_plotlyjs())

        def drawn(figure: go.Figure) -> str:
            picture: str = page.evaluate(DRAW, json.loads(figure.to_json()))
            return unquote(picture.split(",", 1)[1])

        yield drawn


def main(names: Sequence[str]) -> None:
    """Draw the pictures of the examples with these names, or of all."""
    alts = json.loads(ALTS.read_text(encoding="utf-8")) if ALTS.exists() else {}
    PICTURES.mkdir(exist_ok=True)
    with drawing() as drawn:
        for path in examples():
            if names and path.stem not in names:
                continue
            figure = run(path)
            (PICTURES / f"{path.stem}.svg").write_text(drawn(figure), encoding="utf-8")
            alts[path.stem] = figure.layout.meta["alt"]
            print(path.stem, flush=True)
    ALTS.write_text(
        json.dumps(alts, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
