"""Derive from earlier work: answers that come with the project, so that a first start draws and drags before it
computes.

Every answer is in a file whose name holds a digest of what was computed: table, kernels, method, settings. Where any
of them is another one there is no such file, and the answer is computed. ``sample_data/build_earlier.py`` makes the
files.
"""

import hashlib
import json
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path as File
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from mklcore.answer.verdict import ColumnEffect
from mklcore.data.samples import SAMPLES
from mklcore.errors import DataError
from mklcore.figures.hulls import HullLayout
from mklcore.paths.files import read_paths, write_paths
from mklcore.paths.path import Path
from pages.shared import parameters, tables
from pages.shared.parameters import ANSWER, SEARCH, Params
from pages.shared.tables import read_json, write_json
from pages.shared.words import plain

if TYPE_CHECKING:
    from mklcore.answer.exploration import Exploration


FOLDER: File | None = File(__file__).resolve().parents[2] / "sample_data" / "earlier"
DIGITS = 12


@dataclass(frozen=True, eq=False)
class Hulls:
    """A path of hulls with what its player draws: the layout, and the state at every point."""

    path: Path
    layout: HullLayout
    states: tuple[dict[str, Any], ...]


@dataclass(frozen=True, eq=False)
class Seen:
    """What Explore draws of an answer: its sentence in Markdown, its path with the chosen point ``index``, its columns
    and their effects (L, G) along the path.
    """

    sentence: str
    path: Path
    index: int
    columns: tuple[ColumnEffect, ...]
    along: np.ndarray

    @classmethod
    def of(cls, found: "Exploration", table: str) -> Self:
        """What is drawn of an answer for a table of this name."""
        bold = lambda name: f"**{plain(name)}**"  # noqa: E731
        return cls(
            found.verdict.sentence(bold, plain(table)), found.path, found.index, found.columns, found.effects_along
        )


def hulls(params: Params) -> Hulls | None:
    """Return the hulls these parameters ask for if they come with the project."""
    file = _file(params) and hulls_file(params)
    return _hulls(file) if file else None


def answer(params: Params) -> Seen | None:
    """Return the answer for a sample that comes with the project, where nothing but the sample was chosen."""
    usual = Params(data=params.data).of(*ANSWER)
    return answers().get(params.data) if params.of(*ANSWER) == usual else None


def answers() -> dict[str, Seen]:
    """Return the answers for the samples that come with the project, by name; their paths have no models."""
    return _answers(FOLDER / "answers.json.gz") if FOLDER else {}


# Names: what is computed


def hulls_file(params: Params) -> File:
    """Return the file for the hulls of these parameters."""
    return _named(f"hulls_{params.data}", params.of(*SEARCH))


def _named(kind: str, asked: Params) -> File:
    assert FOLDER is not None
    content = [kind, parameters.link_text(asked), tables.table(asked).fingerprint]
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:DIGITS]
    return FOLDER / f"{kind}_{digest}.json.gz"


def _file(params: Params) -> bool:
    return FOLDER is not None and params.data in SAMPLES


# Files


@lru_cache(maxsize=128)
def _path(file: File) -> Path | None:
    try:
        return read_paths(file.read_bytes())["path"]
    except (OSError, DataError):  # there is none: it is computed
        return None


@lru_cache(maxsize=16)
def _hulls(file: File) -> Hulls | None:
    found, along = read_json(file), _path(file.with_name(file.name.replace(".json.gz", ".npz")))
    if found is None or along is None:
        return None
    layout = {name: _tuples(value) for name, value in found["layout"].items()}
    return Hulls(along, HullLayout(**layout), tuple(found["states"]))


@lru_cache(maxsize=2)
def _answers(file: File) -> dict[str, Seen]:
    try:
        paths = read_paths(file.with_name("answers.npz").read_bytes())
    except (OSError, DataError):
        return {}
    found = {}
    for name, one in (read_json(file) or {}).items():
        columns = tuple(ColumnEffect(*each) for each in one["columns"])
        found[name] = Seen(one["sentence"], paths[name], one["index"], columns, np.array(one["along"]))
    return found


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def write(file: File, found: Hulls) -> None:
    """Write hulls; their path is beside them, in a file of its own."""
    write_json(file, {"layout": asdict(found.layout), "states": found.states})


def write_answers(file: File, found: dict[str, Seen]) -> None:
    """Write the answers for the samples: their paths beside all else."""
    file.with_name("answers.npz").write_bytes(write_paths(**{name: one.path for name, one in found.items()}))
    rest = {
        name: {"sentence": one.sentence, "index": one.index, "columns": one.columns, "along": one.along.tolist()}
        for name, one in found.items()
    }
    write_json(file, rest)
