"""What kind of file it is, how large it may be, and the packed kind that is read here: Parquet.

Nothing is executed and nothing is unpickled; the content decides, not the file's name. What a packed file unpacks to is
bounded before or while it is unpacked.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from mklcore.data.columns import clean_name
from mklcore.data.dataset import listed
from mklcore.errors import DataError, ParameterError, never_asked

if TYPE_CHECKING:
    import pandas as pd

MAX_BYTES = 20 * 2**20
MAX_ROWS = 100_000
MAX_COLUMNS = 10_000
MAX_CELLS = 10_000_000
MAX_EXPANSION = 10  # unpacked size of a packed file, in multiples of max_bytes

T = TypeVar("T")
_ALIASES = {"tab": "\t", "\\t": "\t", "whitespace": " ", "spaces": " ", "\\s+": " "}
_SIGNATURES = {
    b"\x1f\x8b": "a gzip archive",
    b"BZh": "a bzip2 archive",
    b"\xfd7zXZ": "an xz archive",
    b"\x28\xb5\x2f\xfd": "a zstd archive",
    b"7z\xbc\xaf": "a 7z archive",
    b"%PDF": "a PDF document",
    b"\x93NUMPY": "a NumPy array",
    b"\x89HDF": "an HDF5 file",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"GIF8": "a picture",
    b"SQLite format 3": "a database",
}
_PICKLE = re.compile(rb"\x80[\x02-\x05]")
_WEB_PAGE = re.compile(rb"\s*<(!doctype|html|\?xml)", re.I)
_JSON = re.compile(rb'\s*[{\[]\s*["{\[]')


@dataclass(frozen=True)
class Format:
    """How to read a table, and the largest one to accept; None means: find out.

    ``tick`` is called between stretches of work, a tenth of a second or so each; what it raises ends the reading.
    """

    delimiter: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    header: bool | None = None
    max_bytes: int = MAX_BYTES
    max_rows: int = MAX_ROWS
    max_columns: int = MAX_COLUMNS
    sheet: str | None = None
    tick: Callable[[], None] = field(default=never_asked, compare=False)

    def __post_init__(self) -> None:
        if self.delimiter is not None:
            object.__setattr__(self, "delimiter", _ALIASES.get(self.delimiter, self.delimiter))
            if len(self.delimiter) != 1 or self.delimiter in '"\r\n':
                raise ParameterError(f"delimiter is {self.delimiter!r}; expected one character or 'whitespace'.")
        if self.decimal not in (None, ".", ","):
            raise ParameterError(f"decimal is {self.decimal!r}; expected '.' or ','.")


def refuse_other_files(raw: bytes) -> None:
    """A DataError for everything that is no text: archives, pictures, pickles, web pages, binary content."""
    for signature, what in _SIGNATURES.items():
        if raw.startswith(signature):
            raise DataError(f"The file is {what}, not a table; unpack it or save it as CSV, Parquet or .xlsx first.")
    if _PICKLE.match(raw):
        raise DataError("The file is a Python pickle, which can run code and is never opened; save it as CSV.")
    if _WEB_PAGE.match(raw):
        raise DataError("The file is a web page or XML, not a table; download the table itself, as CSV.")
    if _JSON.match(raw):
        raise DataError("The file is JSON, not a table of rows and columns; save it as CSV.")
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return
    head = np.frombuffer(raw[:65536], dtype=np.uint8)
    control = (head < 32) & ~np.isin(head, (9, 10, 11, 12, 13, 26))
    if b"\x00" in raw or control.mean() > 0.01:
        raise DataError(
            "The file is binary (it holds NUL bytes or control characters), whatever its name says; "
            "expected text. Save the table as CSV in UTF-8."
        )


def ticked(parts: Iterable[T], tick: Callable[[], None], every: int = 1) -> Iterator[T]:
    """The same parts one after the other, with a tick before every so many of them."""
    for place, part in enumerate(parts):
        if place % every == 0:
            tick()
        yield part


def too_many(what: str, most: int, option: str) -> DataError:
    return DataError(f"The table has more than {most:,} {what}, the limit; take a part of it, or set {option}.")


def check_cells(n_rows: int, n_columns: int) -> None:
    if n_rows * n_columns > MAX_CELLS:
        raise DataError(
            f"The table has {n_rows:,} x {n_columns:,} cells, more than {MAX_CELLS:,}; take fewer rows or columns."
        )


def parquet_columns(raw: bytes, form: Format) -> tuple[list[str], tuple[np.ndarray, ...], list[str]]:
    """Names, columns (float64 or texts) and notes of a Parquet file."""
    import pyarrow
    import pyarrow.parquet

    most = MAX_EXPANSION * form.max_bytes
    too_large = DataError(f"The file unpacks to more than {MAX_EXPANSION} times the limit; take fewer rows or columns.")
    try:
        fields = pyarrow.parquet.read_schema(io.BytesIO(raw))
        # One text repeated in every row is small in the file: kept as a dictionary it stays small in memory.
        texts = [one.name for one in fields if pyarrow.types.is_string(one.type) or pyarrow.types.is_binary(one.type)]
        file = pyarrow.parquet.ParquetFile(io.BytesIO(raw), read_dictionary=texts)
        meta = file.metadata
        if meta.num_rows > form.max_rows:
            raise too_many("rows", form.max_rows, "max_rows")
        if meta.num_columns > form.max_columns:
            raise too_many("columns", form.max_columns, "max_columns")
        check_cells(meta.num_rows, meta.num_columns)
        if sum(meta.row_group(i).total_byte_size for i in range(meta.num_row_groups)) > most:
            raise too_large
        flat = [one.name for one in fields if not pyarrow.types.is_nested(one.type)]
        form.tick()
        frame = file.read(columns=flat).replace_schema_metadata(None).to_pandas()
    except DataError:
        raise
    except Exception as error:  # a damaged file leads its reader into any of them
        raise DataError(f"The Parquet file cannot be read ({type(error).__name__}); write it again.") from error
    frame = frame.loc[:, [not re.fullmatch(r"__index_level_\d+__", str(name)) for name in frame.columns]]
    if not frame.shape[0] or not frame.shape[1]:
        raise DataError("The Parquet file holds no rows or no columns; expected at least one of each.")
    notes: list[str] = []
    if nested := [one.name for one in fields if pyarrow.types.is_nested(one.type)]:
        notes.append(f"Left out, lists or records in the cells: {listed(clean_name(name) for name in nested)}.")
    columns = tuple(ticked((_cells(frame.iloc[:, j]) for j in range(frame.shape[1])), form.tick))
    if sum(len(cell) for column in columns if column.dtype == object for cell in column) > most:
        raise too_large
    return [str(name) for name in frame.columns], columns, notes


def folder_columns(folder: Path, form: Format) -> tuple[list[str], tuple[np.ndarray, ...], list[str]]:
    """Names, columns and notes of all Parquet files in a folder and below it, one after the other by their names."""
    files = sorted(folder.rglob("*.parquet"))
    if not files:
        raise DataError(f"The folder {str(folder)[:200]!r} holds no file that ends in .parquet; expected at least one.")
    if sum(file.stat().st_size for file in files) > form.max_bytes:
        raise DataError(
            f"The files of the folder are larger than {form.max_bytes / 2**20:.3g} MB together, the limit; take fewer of them, "
            "or set max_bytes."
        )
    names, first, notes = parquet_columns(files[0].read_bytes(), form)
    parts = [dict(zip(names, first, strict=True))]
    for file in files[1:]:
        there, columns, _ = parquet_columns(file.read_bytes(), form)
        part = dict(zip(there, columns, strict=True))
        alike = part.keys() == parts[0].keys() and all(part[n].dtype == parts[0][n].dtype for n in part)
        if len(there) != len(names) or not alike:
            raise DataError(
                f"The file {file.name[:80]!r} has other columns than {files[0].name[:80]!r}, or columns of another kind; expected "
                f"{listed(clean_name(name) for name in names)} in every file of the folder."
            )
        parts.append(part)
        if sum(len(one[names[0]]) for one in parts) > form.max_rows:
            raise too_many("rows", form.max_rows, "max_rows")
    columns = tuple(np.concatenate([part[name] for part in parts]) for name in names)
    check_cells(len(columns[0]), len(names))
    return names, columns, [f"{len(files)} Parquet files, one after the other by their names.", *notes]


def _cells(series: pd.Series) -> np.ndarray:
    import pandas as pd

    if pd.api.types.is_numeric_dtype(series.dtype) and not pd.api.types.is_complex_dtype(series.dtype):
        numbers: np.ndarray = series.to_numpy(dtype=np.float64, na_value=np.nan)
        return numbers
    blank = series.isna().to_numpy()
    texts = ["" if gone else str(value).strip() for value, gone in zip(series.astype(object), blank, strict=True)]
    return np.array(texts, dtype=object)
