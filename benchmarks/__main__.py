"""All benchmarks: ``python -m benchmarks [NAME ...]`` measures, keeps the figures, writes tables
and reports what got slower.

A benchmark is a module with ``run() -> list[Line]`` in ``BENCHMARKS``; every line stands beside a
peer measured in the same run or a limit. Figures go to ``benchmarks/results.json`` with versions,
machine and load; the table goes to ``docs/speed.md``, five lines of it to the README. ``--write``
writes them again from the figures that are kept. A line is slower when its ratio fell by more than
the spread of the two runs together.
"""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.lines import Line, command_line, include, read_record, reported, write_record

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results.json"
BENCHMARKS = (
    "grams",
    "svm",
    "paths",
    "peers",
    "start",
    "tables",
    "classroom",
    "corners",
    "growth",
    "static_page",
    "ablation",
)
PACKAGES = (
    "numpy",
    "scipy",
    "numba",
    "scikit-learn",
    "streamlit",
    "MKLpy",
    "himalaya",
    "celer",
    "interpret-core",
)
TABLE = ROOT / "docs" / "speed.md"
PAGES = {name: ROOT / "docs" / f"{name}.md" for name in ("ablation", "growth")}  # of their own
README = ROOT / "README.md"
SUMMARY = (
    "50 RBF Gram matrices, n = 500",
    "SVM, n = 500, C = 1",
    "fit of A, p = 1",
    "path of A over C, p = 1.33",
    "10 groups of columns, p = 1, squared",
)  # one line of each kind, the one where a peer is ahead included
PAPER = ROOT / "paper.md"  # shows the lines beside other packages
MARK = "benchmarks"
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
    return [
        {**vars(line), "values": [round(float(value), 6) for value in line.values]}
        for line in lines
    ]


def slower(before: Sequence[Mapping[str, Any]], now: Sequence[Line]) -> list[str]:
    """One sentence for every line whose ratio fell by more than the spread of both runs."""
    known = {line["what"]: Line(**line) for line in before}
    said = []
    for line in now:
        old = known.get(line.what)
        if old is not None and line.ratio < old.ratio * (
            1.0 - max(LEAST, old.spread + line.spread)
        ):
            said.append(f"{line.what}: {line.ratio:.2f} times {line.peer}, before {old.ratio:.2f}")
    return said


def _lines(kept: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = kept["results"].get(name, {}).get("lines", [])
    return found


def loads(results: Mapping[str, Mapping[str, Any]]) -> str:
    """How busy the machine was during each benchmark: CPU seconds grow with the work beside them,
    ratios less.
    """
    said = [f"{name} {results[name]['load']:g}" for name in BENCHMARKS if name in results]
    return (
        f"Load of the machine while measuring: {', '.join(said)}. The sides of a line ran "
        "in turn in one process; beside other work the seconds of both grow, and memory "
        "that is touched for the first time grows dearest."
    )


def main(names: Sequence[str]) -> None:
    """Measure, keep, include, and report what got slower."""
    kept = read_record(RESULTS) or {"results": {}}
    for name in names:
        lines = import_module(f"benchmarks.{name}").run()
        for sentence in slower(kept["results"].get(name, {}).get("lines", []), lines):
            print(f"slower: {sentence}")
        kept["results"][name] = {**surroundings(), "lines": as_json(lines)}
        write_record(RESULTS, kept)
        print(reported(lines), flush=True)
    write(kept)


def write(kept: Mapping[str, Any]) -> None:
    """Write the tables of the site, the README and the paper from the figures that are kept."""
    lines = [
        Line(**line) for name in BENCHMARKS if name not in PAGES for line in _lines(kept, name)
    ]
    peers = [Line(**line) for line in _lines(kept, "peers")]
    tables = {
        TABLE: f"{reported(lines)}\n\n{loads(kept['results'])}",
        README: reported(summary(lines)),
        PAPER: reported(peers),
    }
    for name, page in PAGES.items():
        tables[page] = reported([Line(**line) for line in _lines(kept, name)])
    for file, table in tables.items():
        include(file, MARK, table)


def summary(lines: Sequence[Line]) -> list[Line]:
    """The lines of the README, in their order."""
    known = {line.what: line for line in lines}
    return [known[what] for what in SUMMARY if what in known]


def asked(words: Sequence[str]) -> Sequence[str]:
    """The benchmarks that a command line names, all of them where it names none."""
    parser = command_line(__doc__)
    parser.prog = "python -m benchmarks"
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"{', '.join(BENCHMARKS)}; all of them without one"
    )
    parser.add_argument(
        "--write",
        action="store_true",
        help="measure nothing, write the tables from the kept figures",
    )
    options = parser.parse_args(words)
    if options.write:
        return ()
    found: list[str] = options.names
    # One by one: argparse holds the default of nargs="*" against its choices as well, and refuses
    # it.
    for name in found:
        if name not in BENCHMARKS:
            parser.error(f"there is no benchmark {name!r}; choose from {', '.join(BENCHMARKS)}")
    return found or BENCHMARKS


if __name__ == "__main__":
    main(asked(sys.argv[1:]))
