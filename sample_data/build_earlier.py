"""Make the answers that come with the project: ``python -m sample_data.build_earlier [NAME ...]``

The answer for every sample and its hulls, as the pages ask for them when nobody has moved a
control. A name ("answers", "hulls_wine") makes again what begins with it; files that nothing asks
for any more are removed. Run it after a change of what is usual, of a sample, or of a figure's
states.
"""

import gzip
import json
import logging
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from pathlib import Path as File
from typing import Any

import numpy as np

from mklcore.answer.explore import explore
from mklcore.data.dataset import Dataset, Split, three_way_split
from mklcore.data.samples import SAMPLES, load_sample
from mklcore.paths.files import write_paths
from pages.hulls import player
from pages.shared.export import saved
from pages.shared.session.parameters import Params
from pages.shared.values import hulls, tables
from pages.shared.work import work

Made = tuple[str, File, Callable[[], None]]


def everything(samples: Iterable[str] = SAMPLES) -> Iterator[Made]:
    """What is made: its name, its file, and how."""
    for sample in samples:
        params = Params(data=sample)
        if tables.table(params).task != "novelty":
            file = saved.hulls_file(params)
            yield (
                f"hulls_{sample}",
                file,
                lambda params=params, file=file: _write_hulls(params, file),
            )
    if tables.FIRST_TABLE is not None:
        yield (
            "first_table",
            tables.FIRST_TABLE,
            lambda: _write_first(_folder() / "first_table.json.gz"),
        )
    file = _folder() / "answers.json.gz"
    yield "answers", file, lambda file=file: _write_answers(file, answers(samples))


def solved_hulls(params: Params) -> saved.EarlierHulls:
    """The certified hulls as the app's worker computes them, with what their player draws."""
    with work.inline():
        path = hulls.get(params).value
    work.WORK.clear()
    layout, states = player.drawn(hulls.HullsView(path, params))
    return saved.EarlierHulls(path, layout, tuple(states))


def answers(samples: Iterable[str]) -> dict[str, saved.Seen]:
    """What Explore draws of every sample."""
    return {
        name: saved.Seen.of(explore(load_sample(name)), SAMPLES[name].label) for name in samples
    }


def first_made() -> tuple[Dataset, Split]:
    """The table a new visit begins with, and its rows cut in three."""
    params = Params()
    whole = SAMPLES[params.data].load()
    return whole, three_way_split(
        whole, params.validation, params.test, params.seed, stratify=params.stratified
    )


def _write_first(file: File) -> None:
    """Write the first table, and for every part the numbers of its rows."""
    whole, parts = first_made()
    rows = [_numbers(whole, part) for part in parts]
    content = {"X": whole.X.tolist(), "y": whole.y.tolist(), "rows": rows}
    _write(file, content | {name: getattr(whole, name) for name in tables.FIRST_FACTS})


def _numbers(whole: Dataset, part: Dataset) -> list[int]:
    """Which rows of the table are in a part of it."""
    return [int(np.flatnonzero((x == whole.X).all(axis=1)).item()) for x in part.X]


def _write_hulls(params: Params, file: File) -> None:
    """Write hulls, and their path beside them in a file of its own."""
    found = solved_hulls(params)
    beside = file.with_name(file.name.replace(".json.gz", ".npz"))
    beside.write_bytes(write_paths(path=found.path))
    _write(file, {"layout": asdict(found.layout), "states": found.states})


def _write_answers(file: File, found: dict[str, saved.Seen]) -> None:
    """Write the answers for the samples, and their paths beside all else."""
    paths = {name: one.path for name, one in found.items()}
    file.with_name("answers.npz").write_bytes(write_paths(**paths))
    rest = {
        name: {
            "sentence": one.sentence,
            "index": one.index,
            "columns": one.columns,
            "along": one.along.tolist(),
        }
        for name, one in found.items()
    }
    _write(file, rest)


def _write(file: File, content: Any) -> None:
    """Write JSON, to the same bytes at any time."""
    file.write_bytes(gzip.compress(json.dumps(content).encode(), mtime=0))


def _folder() -> File:
    assert saved.EARLIER is not None
    return saved.EARLIER


def main(names: list[str]) -> None:
    """Make what is missing or named, and remove what nothing asks for."""
    logging.disable(logging.CRITICAL)  # Streamlit says that it does not run
    _folder().mkdir(exist_ok=True)
    wanted = set()
    for name, file, produce in everything():
        wanted |= {file, file.with_name(file.name.replace(".json.gz", ".npz"))}
        if not file.exists() or any(name.startswith(asked_for) for asked_for in names):
            start = time.process_time()
            produce()
            print(
                (
                    f"{file.name}: {file.stat().st_size / 1024:.0f} kB, "
                    f"{time.process_time() - start:.1f} CPU s"
                ),
                flush=True,
            )
    for file in set(_folder().iterdir()) - wanted:
        file.unlink()
    print(
        f"{sum(file.stat().st_size for file in _folder().iterdir()) / 1024:.0f} kB in "
        f"{len(wanted)} files"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
