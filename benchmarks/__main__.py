"""All benchmarks: ``python -m benchmarks [NAME ...]`` measures, keeps the figures, writes the tables and tells what got
slower.

A benchmark is a module with ``run() -> list[Line]`` in ``BENCHMARKS``; every line stands beside a peer measured in the
same run or a limit. Figures go to ``benchmarks/results.json`` with versions, machine and load; the table goes to the
README and the site, between the marks. A line is slower when its ratio fell by more than the spread of the two runs
together.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.lines import Line, reported

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results.json"
BENCHMARKS = ("compiling", "importing", "gram_speed", "svm_speed", "lp_speed", "peers", "first_start")
PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "streamlit", "MKLpy", "himalaya", "celer", "cvxpy", "clarabel")
TABLES = (ROOT / "README.md", ROOT / "docs" / "index.md")
PAPER = ROOT / "paper.md"  # shows the lines beside other packages
MARKS = "<!-- benchmarks -->\n", "<!-- /benchmarks -->"
LEAST = 0.05  # of a ratio: less is noise on any machine


def surroundings() -> dict[str, Any]:
    """Versions, machine and load: what a figure depends on."""
    return {
        "day": time.strftime("%Y-%m-%d"),
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "load": round(os.getloadavg()[0], 1),
        "packages": {name: found for name in PACKAGES if (found := _version(name))},
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def as_json(lines: Sequence[Line]) -> list[dict[str, Any]]:
    """Lines as JSON can hold them."""
    return [{**vars(line), "values": [round(float(value), 6) for value in line.values]} for line in lines]


def slower(before: Sequence[Mapping[str, Any]], now: Sequence[Line]) -> list[str]:
    """One sentence for every line whose ratio fell by more than the spread of both runs."""
    known = {line["what"]: Line(**line) for line in before}
    said = []
    for line in now:
        old = known.get(line.what)
        if old is not None and line.ratio < old.ratio * (1.0 - max(LEAST, old.spread + line.spread)):
            said.append(f"{line.what}: {line.ratio:.2f} times {line.peer}, before {old.ratio:.2f}")
    return said


def _lines(kept: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = kept["results"].get(name, {}).get("lines", [])
    return found


def loads(results: Mapping[str, Mapping[str, Any]]) -> str:
    """How busy the machine was during each benchmark: CPU seconds grow with the work beside them, ratios less."""
    said = [f"{name} {results[name]['load']:g}" for name in BENCHMARKS if name in results]
    return (
        f"Load of the machine while measuring: {', '.join(said)}. The sides of a line ran in turn in one process; "
        f"beside other "
        "work the seconds of both grow, and memory that is touched for the first time grows dearest."
    )


def included(text: str, table: str) -> str:
    """``text`` with ``table`` between its marks; unchanged where it has none."""
    first, last = MARKS
    if first not in text or last not in text:
        return text
    head, rest = text.split(first, 1)
    return head + first + table + "\n" + last + rest.split(last, 1)[1]


def main(names: Sequence[str]) -> None:
    """Measure, keep, include, and tell what got slower."""
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"results": {}}
    for name in names:
        lines = import_module(f"benchmarks.{name}").run()
        for sentence in slower(kept["results"].get(name, {}).get("lines", []), lines):
            print(f"slower: {sentence}")
        kept["results"][name] = {**surroundings(), "lines": as_json(lines)}
        RESULTS.write_text(json.dumps(kept, indent=1) + "\n")
        print(reported(lines), flush=True)
    table = (
        f"{reported([Line(**line) for name in BENCHMARKS for line in _lines(kept, name)])}\n\n{loads(kept['results'])}"
    )
    for file in TABLES:
        file.write_text(included(file.read_text(), table))
    PAPER.write_text(included(PAPER.read_text(), reported([Line(**line) for line in _lines(kept, "peers")])))


def asked(words: Sequence[str]) -> Sequence[str]:
    """The benchmarks that a command line names, all of them where it names none."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(BENCHMARKS)}; all of them without one")
    found: list[str] = parser.parse_args(words).names
    for (
        name
    ) in found:  # one by one: argparse holds the default of nargs="*" against its choices as well, and refuses it
        if name not in BENCHMARKS:
            parser.error(f"there is no benchmark {name!r}; choose from {', '.join(BENCHMARKS)}")
    return found or BENCHMARKS


if __name__ == "__main__":
    main(asked(sys.argv[1:]))
