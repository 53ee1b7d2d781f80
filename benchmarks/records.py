"""What was measured, kept as JSON, and the pages of the site that are written from it: tables between marks, and pictures.

python -m benchmarks.records          writes every page and picture again from what is kept; nothing is measured

A benchmark with a record has ``written(record) -> {file: text}``; it keeps what it found with ``keep``, and ``publish`` writes
the files. No figure of these pages is typed by hand: a test writes them again and finds no difference.
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
RECORDED = ("many_rows", "large_rows", "large_kernels", "cluster", "attacks", "classroom")
WIDTH, HEIGHT, LEFT, LOW = 640, 300, 60, 250  # of a picture, and of what stands left of its curves and below them
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
    told = f"{where['day']}, {where['machine']}, load {where['load']}."
    return {file: included(file.read_text(encoding="utf-8"), "\n".join([*lines, "", told]))}


def growth(points: list[tuple[float, float]]) -> float:
    """The slope of log y over log x."""
    x, y = np.log(np.array(points, dtype=float)).T
    return float(np.polyfit(x, y, 1)[0])


def picture(name: str, title: str, what: str, curves: Mapping[str, list[tuple[float, float]]]) -> dict[Path, str]:
    """Curves on log scales as SVG, light or dark as the page is; the end of each says its name, every point its value."""
    across = np.log([x for points in curves.values() for x, _ in points])
    up = np.log([y for points in curves.values() for _, y in points])
    spans = [(float(v.min()), max(float(np.ptp(v)), 1e-9)) for v in (across, up)]

    def at(x: float, y: float) -> tuple[float, float]:
        right, high = ((np.log(v) - low) / span for v, (low, span) in zip((x, y), spans, strict=True))
        return LEFT + 20 + right * (WIDTH - LEFT - 220), LOW - 20 - high * (LOW - 60)

    parts = [f'<text x="{LEFT}" y="18">{what}, both on log scales</text>']
    ends = _apart({label: at(*points[-1])[1] + 4 for label, points in curves.items()})
    for k, (label, points) in enumerate(curves.items()):
        places = [at(*point) for point in points]
        dash = f' stroke-dasharray="{2 + 4 * k} {2 + 2 * k}"' if k else ""
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline points="{line}" fill="none" stroke="currentColor" stroke-width="2"{dash}/>')
        for (x, y), (_, value) in zip(places, points, strict=True):
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="currentColor"/>')
            parts.append(f'<text x="{x:.1f}" y="{y - 8:.1f}" text-anchor="middle">{value:.3g}</text>')
        parts.append(f'<text x="{places[-1][0] + 18:.1f}" y="{ends[label]:.1f}">{label}</text>')
    ticks = sorted({x for points in curves.values() for x, _ in points})
    parts += [f'<text x="{at(x, 1.0)[0]:.1f}" y="{LOW + 24}" text-anchor="middle">{x:,.6g}</text>' for x in ticks]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"><title>{title}</title>'
    return {DOCS / "pictures" / f"{name}.svg": f"{head}{_INK}{''.join(parts)}</svg>\n"}


def _apart(heights: Mapping[str, float], least: float = 14.0) -> dict[str, float]:
    """The heights of labels, pushed down where they would lie on one another."""
    found: dict[str, float] = {}
    for label, height in sorted(heights.items(), key=lambda one: one[1]):
        found[label] = max(height, max(found.values(), default=-np.inf) + least)
    return found


def main() -> None:
    for name in RECORDED:
        publish(name)


if __name__ == "__main__":
    main()
