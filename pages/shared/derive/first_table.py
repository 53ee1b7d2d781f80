"""Derive the table a new visit begins with, and its rows cut as usual, from a file that comes with the project.

scikit-learn has both, and takes longer to be imported than the page to be drawn.
"""

import gzip
import json
from functools import lru_cache
from pathlib import Path as File
from typing import Any

import numpy as np

from mklcore.data.dataset import Dataset, Split, three_way_split
from mklcore.data.samples import SAMPLES
from pages.shared.params.parameters import DataParams, Params

FILE: File | None = File(__file__).resolve().parents[3] / "sample_data" / "earlier" / "first_table.json.gz"
FACTS = ("feature_names", "target_name", "task", "class_names", "groups", "notes")


def is_there(params: DataParams) -> bool:
    """Tell, without reading it, whether the table of these parameters and its parts come with the project."""
    return params.part(DataParams) == Params().part(DataParams) and FILE is not None and FILE.exists()


def table(name: str) -> Dataset | None:
    """Return the sample of this name if it is the one that comes with the project."""
    found = _read() if name == Params().data else None
    return found and found[0]


def parts(params: DataParams) -> Split | None:
    """Return the rows of these parameters cut in three if they come with the project."""
    found = _read() if is_there(params) else None
    return found and found[1]


def made() -> tuple[Dataset, Split]:
    """Return what is to be kept in the file."""
    params = Params()
    whole = SAMPLES[params.data].load()
    return whole, three_way_split(whole, params.validation, params.test, params.seed, stratify=params.stratified)


def write(file: File) -> None:
    """Write the table, and for every part the numbers of its rows."""
    whole, cut = made()
    rows = [[_row(whole, x) for x in part.X] for part in cut]
    content = {"X": whole.X.tolist(), "y": whole.y.tolist(), "rows": rows} | {
        name: getattr(whole, name) for name in FACTS
    }
    write_json(file, content)


def write_json(file: File, content: Any) -> None:
    """Write what comes with the project, to the same bytes at any time."""
    file.write_bytes(gzip.compress(json.dumps(content).encode(), mtime=0))


def read_json(file: File | None) -> Any:
    """Return what is in a file that comes with the project, None where there is none."""
    try:
        return json.loads(gzip.decompress(file.read_bytes())) if file else None
    except (OSError, ValueError):
        return None


def _row(whole: Dataset, x: np.ndarray) -> int:
    (found,) = np.flatnonzero((x == whole.X).all(axis=1))
    return int(found)


@lru_cache(maxsize=1)
def _read() -> tuple[Dataset, Split] | None:
    content = read_json(FILE)
    if not content:
        return None
    facts = {name: content[name] for name in FACTS}
    whole = Dataset(np.array(content["X"]), np.array(content["y"], dtype=object), **facts)
    train, validation, test = (whole.take(np.array(rows)) for rows in content["rows"])
    return whole, Split(train, validation, test)
