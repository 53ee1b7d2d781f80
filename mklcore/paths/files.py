"""Paths in one file: a NumPy archive of plain arrays and one JSON text.

Nothing in it is ever executed. The figures of every point are saved, but not the fitted models,
which are fitted again when they are needed. Sizes are checked before anything is unpacked, and
parts that do not fit together raise an error.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.data.packed import array_header, bounded_json
from mklcore.errors import DataError, ParameterError
from mklcore.paths.path import PATH_ATTRIBUTES, Path
from mklcore.problem.driver import Status

FORMAT = "path 1"
MOST_UNPACKED = 64 * 2**20
MOST_POINTS = 2000
MOST_KERNELS = 100_000
COLUMNS = (
    "values",
    "objective",
    "dual_gap",
    "relative_gap",
    "n_nonzero",
    "train_score",
    "val_score",
    "seconds",
    "solves",
)
WHOLE = ("n_nonzero", "solves")


def write_paths(**paths: Path) -> bytes:
    """The archive of ``paths`` under their names, as bytes: write_paths(whole=path).

    At least one path is needed, and none may be called "format".
    """
    if not paths or "format" in paths:
        raise ParameterError(
            f"Paths are saved under names other than 'format', at least one; got {sorted(paths)}."
        )
    arrays: dict[str, np.ndarray] = {}
    for name, path in paths.items():
        for column in (*COLUMNS, "weights"):
            arrays[f"{name}_{column}"] = np.asarray(getattr(path, column), float)
    texts: dict[str, Any] = {"format": FORMAT}
    for name, path in paths.items():
        texts[name] = {
            "param": path.param,
            "score": path.score_name,
            "names": path.kernel_names,
            "families": path.kernel_families,
            "statuses": [status.name for status in path.statuses],
            "chosen": path.chosen,
        }
    arrays["text"] = np.frombuffer(json.dumps(texts).encode(), dtype=np.uint8)
    out = io.BytesIO()
    save: Any = np.savez_compressed  # mypy fears that a name is one of its keywords
    save(out, **arrays)
    return out.getvalue()


def read_paths(content: bytes) -> dict[str, Path]:
    """The paths in an archive that ``write_paths`` made, by name.

    Their fits and estimators are None and their arrays read-only. Raises ``DataError`` for anything
    else: another format, damage, sizes beyond the limits, parts that do not fit.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            size = sum(member.file_size for member in archive.infolist())
            if size > MOST_UNPACKED:
                raise DataError(
                    f"it unpacks to {size / 2**20:,.0f} MB, more than {MOST_UNPACKED // 2**20}."
                )
            for member in archive.namelist():
                with archive.open(member) as file:
                    array_header(file)
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            texts = bounded_json(arrays["text"].tobytes())
            if texts.pop("format") != FORMAT:
                raise DataError(f"its format is not {FORMAT!r}.")
            return {name: _path(name, text, arrays) for name, text in texts.items()}
    except Exception as error:  # a damaged archive can raise any of them
        reason = f"it is damaged ({type(error).__name__})."
        if isinstance(error, DataError):
            reason = str(error)
        raise DataError(
            f"Paths cannot be read: {reason} Expected an archive that write_paths made."
        ) from error


def _path(
    name: str,
    text: Mapping[str, Any],
    arrays: Mapping[str, np.ndarray],
) -> Path:
    names = tuple(map(str, text["names"]))
    families = tuple(map(str, text["families"]))
    statuses = tuple(Status[status] for status in text["statuses"])
    L = len(statuses)
    M = len(names)
    is_size = 0 < L <= MOST_POINTS and 0 < M <= MOST_KERNELS
    if text["param"] not in PATH_ATTRIBUTES or not is_size:
        raise DataError(
            f"{L} points, {M} kernels and the parameter {str(text['param'])[:20]!r} are no path."
        )
    columns = {column: _array(f"{name}_{column}", arrays, (L,)) for column in COLUMNS}
    weights = _array(f"{name}_weights", arrays, (L, M))
    for column in WHOLE:
        columns[column] = np.nan_to_num(columns[column]).astype(np.int64)
    is_finite = np.isfinite(weights).all() and not np.isnan(columns["values"]).any()
    if len(families) != M or not is_finite:
        raise DataError("its values, weights and families do not fit together.")
    chosen = text.get("chosen")
    if chosen is not None and not (type(chosen) is int and 0 <= chosen < L):
        raise DataError(f"the chosen point {str(chosen)[:20]!r} is none of {L}.")
    absent = (None,) * L
    return Path(
        text["param"],
        weights=weights,
        statuses=statuses,
        fits=absent,
        estimators=absent,
        kernel_names=names,
        kernel_families=families,
        score_name=str(text["score"]),
        chosen=chosen,
        **columns,
    )


def _array(
    key: str,
    arrays: Mapping[str, np.ndarray],
    shape: tuple[int, ...],
) -> Array:
    array = arrays[key]
    if array.dtype != np.float64 or array.shape != shape:
        raise DataError(f"{key} is {array.dtype} {array.shape}, not float64 {shape}.")
    array.setflags(write=False)
    return array
