"""Many rows in the app: seconds from an uploaded table to the first answer, to the path on all rows, and to its scores.

python -m benchmarks.many_rows [ROWS] [--exact]     keeps its record, from which docs/scale/app.md has its table and
                                                    its picture; --exact solves one exact model, too

A table of twenty columns is uploaded as a file of comma-separated values, as a person would, and Explore is looked at
until low rank has taken the place of the first answer and is scored on all rows left out. Without a browser.
"""

from __future__ import annotations

import io
import resource
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from streamlit.testing.v1 import AppTest

from benchmarks.records import keep, on_page, picture
from pages._parts.derive import many_rows, paths
from pages._parts.params.parameters import LOW_RANK
from tests.pages import go, memory, open_app, quiet, upload

ROWS, COLUMNS = 50_000, 20
LOOK, PATIENCE = 2.0, 3000.0  # seconds between looks, and to the end of them


def table(n: int) -> bytes:
    """A file of n rows: the class depends on four of the columns, one of them alone and two together."""
    random = np.random.default_rng(0)
    X = random.standard_normal((n, COLUMNS))
    signal = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3] ** 2 - 0.5 + 0.5 * random.standard_normal(n)
    text = io.StringIO()
    text.write(",".join([*(f"x{j}" for j in range(COLUMNS)), "target"]) + "\n")
    for row, value in zip(X, signal, strict=True):
        text.write(",".join(f"{v:.4f}" for v in row) + (",yes\n" if value > 0 else ",no\n"))
    return text.getvalue().encode()


def events(app: AppTest) -> dict[str, Callable[[], bool]]:
    """The name of the event, and whether it is there."""
    held, params = memory(app).caches.results, memory(app).params
    sample, low = (paths.key(replace(params, way=way)) for way in ("", LOW_RANK))
    return {
        "first look, on 300 rows": lambda: held.get(("look", sample)) is not None,
        "exact path on a sample": lambda: held.get(sample) is not None,
        "low-rank path on all training rows": lambda: held.get(low) is not None,
        "its scores on all rows left out": lambda: held.get(("left out", low)) is not None,
    }


def watched(
    app: AppTest, waiting: dict[str, Callable[[], bool]], began: tuple[float, float]
) -> dict[str, tuple[float, float]]:
    """Seconds on the wall and of the processor at which each event was there."""
    found: dict[str, tuple[float, float]] = {}
    while len(found) < len(waiting) and time.perf_counter() - began[0] < PATIENCE:
        quiet(app.run())
        for name, there in waiting.items():
            if name not in found and there():
                found[name] = time.perf_counter() - began[0], time.process_time() - began[1]
                print(name, found[name], flush=True)
        time.sleep(LOOK)
    return found


def measured(n: int, exact: bool) -> list[dict[str, Any]]:
    """What was waited for, seconds on the wall and of the processor, score on all rows left out."""
    content, app = table(n), go(open_app(), "pages/data.py")
    began = time.perf_counter(), time.process_time()
    upload(app, content)
    read = time.perf_counter() - began[0], time.process_time() - began[1]
    go(app, "pages/explore.py")
    seen = {"table read": read} | watched(app, events(app), began)
    found = [{"what": name, "wall": wall, "cpu": cpu, "score": _score(app, name)} for name, (wall, cpu) in seen.items()]
    if exact:
        key, began = many_rows.whole(memory(app).params).key, (time.perf_counter(), time.process_time())
        quiet(app.button(key="way_whole").click().run())
        held = memory(app).caches.results
        spent = watched(app, {"exact": lambda: held.get(key) is not None}, began).get("exact")
        if spent is not None:
            whole = held.get(key)
            reported = f"one exact model on {whole.rows:,} rows, from the click"
            found.append({"what": reported, "wall": spent[0], "cpu": spent[1], "score": whole.score})
    return found


def _score(app: AppTest, event: str) -> float | None:
    """The best validation score of the path that an event is about."""
    ways = {"exact path on a sample": "", "its scores on all rows left out": LOW_RANK}
    if event not in ways:
        return None
    path = memory(app).caches.results.get(paths.key(replace(memory(app).params, way=ways[event])))
    return float(np.nanmax(path.val_score))


def written(record: Mapping[str, Any]) -> dict[Path, str]:
    """The table and the picture of ``docs/scale/app.md``."""
    found = record["found"]
    size = f"{found['rows']:,} x {found['columns']}, {found['megabytes']:.1f} MB as text"
    lines = [f"| {size}: what | s | CPU s | score |", "|---|---|---|---|"]
    for one in found["events"]:
        score = "" if one["score"] is None else f"{one['score']:.4f}"
        lines.append(f"| {one['what']} | {one['wall']:.0f} | {one['cpu']:.0f} | {score} |")
    if found["peak"]:
        lines += ["", f"Peak {found['peak']:,.0f} MB."]
    shown = [one for one in found["events"] if one["wall"] > 0.0]
    places = {name: [(k + 1.0, one[name]) for k, one in enumerate(shown)] for name in ("wall", "cpu")}
    curves = {"on the wall": places["wall"], "of the processor": places["cpu"]}
    what, title = "Seconds to what stands in the table, line by line", "Seconds from an uploaded table to each answer"
    return on_page("scale/app", record, lines) | picture("app", title, what, curves)


def main() -> None:
    asked = [int(word) for word in sys.argv[1:] if word.isdigit()]
    n = asked[0] if asked else ROWS
    seen = measured(n, "--exact" in sys.argv)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    size = len(table(n)) / 1e6
    keep("many_rows", {"rows": n, "columns": COLUMNS, "megabytes": size, "peak": peak, "events": seen})


if __name__ == "__main__":
    main()
