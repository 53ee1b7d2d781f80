"""What was measured, kept as JSON, and the pages of the site that are written from it: tables between marks, and
pictures.

python -m benchmarks.records          writes every page and picture again from what is kept; nothing is measured

A benchmark with a record has ``written(record) -> {file: text}``; it keeps what it found with ``keep``, and ``publish``
writes the files. No figure of these pages is typed by hand: a test writes them again and finds no difference.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.__main__ import ROOT, included, surroundings

RECORDS = ROOT / "benchmarks" / "records"
DOCS = ROOT / "docs"
RECORDED = (
    "many_rows",
    "large_rows",
    "large_kernels",
    "cluster",
    "attacks",
    "classroom",
    "first_minute",
    "ten_visits",
    "generic_cache",
    "ablation",
)
WIDTH, HEIGHT, LEFT, LOW = 640, 300, 60, 250  # of a picture, and of what stands left of its curves and below them
TOP, LEAST = 140, 45  # height of a picture of many curves: so much, and so much more for each
LETTER = 7.0  # room for a letter, a little more than it takes
_DARK = "@media(prefers-color-scheme:dark){svg{color:#ccd}}"
_INK = f"<style>svg{{color:#334}}text{{font:12px sans-serif;fill:currentColor}}{_DARK}</style>"


def keep(name: str, found: Any) -> None:
    """Keep what ``name`` found, with machine, day and load, and write its pages."""
    RECORDS.mkdir(exist_ok=True)
    where = {key: value for key, value in surroundings().items() if key != "packages"}
    record = {"surroundings": where, "found": found}
    (RECORDS / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    publish(name)


def add(name: str, part: str, line: str, found: Any) -> None:
    """Keep one line of a part of the record of ``name`` in place of what it was, and write its pages."""
    everything = kept(name)["found"] if (RECORDS / f"{name}.json").exists() else {}
    everything.setdefault(part, {})[line] = found
    keep(name, everything)


def kept(name: str) -> dict[str, Any]:
    """The record of ``name``."""
    record: dict[str, Any] = json.loads((RECORDS / f"{name}.json").read_text(encoding="utf-8"))
    return record


def files(name: str) -> dict[Path, str]:
    """The files written from the record of ``name``, and what stands in each."""
    made: dict[Path, str] = import_module(f"benchmarks.{name}").written(kept(name))
    return made


def publish(name: str) -> None:
    """Write the pages and pictures of ``name`` from its record."""
    for file, text in files(name).items():
        file.write_text(text, encoding="utf-8")


def on_page(page: str, record: Mapping[str, Any], lines: list[str]) -> dict[Path, str]:
    """A page of ``docs`` with these lines between its marks, and below them where they were measured."""
    file, where = DOCS / f"{page}.md", record["surroundings"]
    reported = f"{where['day']}, {where['machine']}, load {where['load']}."
    return {file: included(file.read_text(encoding="utf-8"), "\n".join([*lines, "", reported]))}


def growth(points: list[tuple[float, float]]) -> float:
    """The slope of log y over log x."""
    x, y = np.log(np.array(points, dtype=float)).T
    return float(np.polyfit(x, y, 1)[0])


def picture(name: str, title: str, what: str, curves: Mapping[str, list[tuple[float, float]]]) -> dict[Path, str]:
    """Curves on log scales as SVG, light or dark as the page is; the end of each says its name, a point its value where
    there is room: no two labels touch, and none is on a point.
    """
    height = max(HEIGHT, TOP + LEAST * len(curves))
    low = height - (HEIGHT - LOW)
    across = np.log([x for points in curves.values() for x, _ in points])
    up = np.log([y for points in curves.values() for _, y in points])
    spans = [(float(v.min()), max(float(np.ptp(v)), 1e-9)) for v in (across, up)]

    def at(x: float, y: float) -> tuple[float, float]:
        right, high = ((np.log(v) - start) / span for v, (start, span) in zip((x, y), spans, strict=True))
        return LEFT + 20 + right * (WIDTH - LEFT - 220), low - 20 - high * (low - 60)

    labels = Labels()
    labels.put(f"{what}, both on log scales", LEFT, 18.0, "start")
    for x in sorted({x for points in curves.values() for x, _ in points}):
        labels.offer(f"{x:,.6g}", [(at(x, 1.0)[0], low + 24.0)])
    places = {label: [at(*point) for point in points] for label, points in curves.items()}
    for dots in places.values():
        labels.taken += [(x - 4.0, y - 4.0, x + 4.0, y + 4.0) for x, y in dots]
    for label, height_of in _apart({label: dots[-1][1] + 4 for label, dots in places.items()}, low + 4.0).items():
        labels.put(label, places[label][-1][0] + 24, height_of, "start")
    parts = []
    for k, (label, points) in enumerate(curves.items()):
        dash = f' stroke-dasharray="{2 + 4 * k} {2 + 2 * k}"' if k else ""
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places[label])
        parts.append(f'<polyline points="{line}" fill="none" stroke="currentColor" stroke-width="2"{dash}/>')
        for (x, y), (_, value) in zip(places[label], points, strict=True):
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="currentColor"/>')
            labels.offer(f"{value:.3g}", [(x, y - 8), (x, y + 18)])
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img"><title>{title}</title>'
    drawn = "".join(parts + labels.drawn)
    return {DOCS / "pictures" / f"{name}.svg": f"{head}{_INK}{drawn}</svg>\n"}


class Labels:
    """Words on a picture that keep off one another: ``taken`` are the boxes (left, top, right, bottom) of what is
    there.
    """

    def __init__(self) -> None:
        self.taken: list[tuple[float, float, float, float]] = []
        self.drawn: list[str] = []

    def offer(self, text: str, places: list[tuple[float, float]]) -> bool:
        """Write ``text`` around the first of the places that is free; not at all where none is."""
        for x, y in places:
            if not any(_meet(_box(text, x, y, "middle"), other) for other in self.taken):
                self.put(text, x, y, "middle")
                return True
        return False

    def put(self, text: str, x: float, y: float, anchor: str) -> None:
        """Write ``text`` there in any case."""
        self.taken.append(_box(text, x, y, anchor))
        self.drawn.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text}</text>')


def _box(text: str, x: float, y: float, anchor: str) -> tuple[float, float, float, float]:
    wide = LETTER * len(text)
    left = x - wide / 2 if anchor == "middle" else x
    return left, y - 10.0, left + wide, y + 3.0


def _meet(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _apart(heights: Mapping[str, float], lowest: float, least: float = 15.0) -> dict[str, float]:
    """The heights of labels, pushed down where they would be on one another, and up again from below ``lowest``."""
    order = sorted(heights, key=lambda label: heights[label])
    found: dict[str, float] = {}
    for label in order:
        found[label] = max(heights[label], max(found.values(), default=-np.inf) + least)
    for k, label in enumerate(reversed(order)):
        found[label] = min(found[label], lowest - k * least)
    return found


def main() -> None:
    for name in RECORDED:
        publish(name)


if __name__ == "__main__":
    main()
