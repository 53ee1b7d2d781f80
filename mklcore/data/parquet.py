"""Parquet files, and folders of them, to columns of numbers and texts.

A text that stands in every row is a few bytes of the file and gigabytes in memory. So the headers of all pages are read
first and what they unpack to is counted, texts are read as a dictionary and the number of the entry in each row, and
what they come to row by row is counted before anybody writes them out.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from mklcore.data.columns import clean_name
from mklcore.data.dataset import listed
from mklcore.data.packed import MAX_EXPANSION, MAX_TEXT, Format, as_text, check_cells, too_many
from mklcore.errors import DataError

Columns = tuple[list[str], tuple[np.ndarray, ...], list[str]]

_INCREMENTAL = 7  # DELTA_BYTE_ARRAY: a text in a few bytes by what it shares with the one before
_HEADER = 500  # bytes that a page counts beside what it unpacks to, so that there are not too many
_INDEX = re.compile(r"__index_level_\d+__")


def parquet_columns(raw: bytes, form: Format) -> Columns:
    """Names, columns (float64 or texts) and notes of a Parquet file."""
    try:
        return _columns(raw, form)
    except DataError:
        raise
    except (OSError, ValueError, TypeError, LookupError, ArithmeticError, MemoryError, RuntimeError) as error:
        raise DataError(f"The Parquet file cannot be read ({type(error).__name__}); write it again.") from error


def folder_columns(folder: Path, form: Format) -> Columns:
    """Names, columns and notes of all Parquet files in a folder and below it, one after the other by their names."""
    files = sorted(folder.rglob("*.parquet"))
    if not files:
        raise DataError(f"The folder {str(folder)[:200]!r} holds no file that ends in .parquet; expected at least one.")
    if sum(file.stat().st_size for file in files) > form.max_bytes:
        raise DataError(
            f"The files of the folder are larger than {form.max_bytes / 2**20:.3g} MB together, the limit; take fewer "
            "of them, or set max_bytes."
        )
    parts: list[dict[str, np.ndarray]] = []
    for file in files:
        try:
            names, columns, notes = parquet_columns(file.read_bytes(), form)
        except DataError as error:
            raise DataError(f"{file.name[:80]!r}: {error}", repairs=error.repairs) from error
        part = dict(zip(names, columns, strict=True))
        first = parts[0] if parts else part
        if part.keys() != first.keys() or any(part[name].dtype != first[name].dtype for name in part):
            raise DataError(
                f"The file {file.name[:80]!r} has other columns than {files[0].name[:80]!r}, or columns of another "
                f"kind; expected {listed(map(clean_name, first))} in every file of the folder."
            )
        parts.append(part)
        if sum(len(one[names[0]]) for one in parts) > form.max_rows:
            raise too_many("rows", form.max_rows, "max_rows")
    whole = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    check_cells(len(whole[names[0]]), len(whole))
    return (
        list(whole),
        tuple(whole.values()),
        [f"{len(files)} Parquet files, one after the other by their names.", *notes],
    )


def _columns(raw: bytes, form: Format) -> Columns:
    import pyarrow as pa
    from pyarrow import parquet

    meta = parquet.read_metadata(pa.BufferReader(raw))
    if meta.num_rows > form.max_rows:
        raise too_many("rows", form.max_rows, "max_rows")
    if meta.num_columns > form.max_columns:
        raise too_many("columns", form.max_columns, "max_columns")
    check_cells(meta.num_rows, meta.num_columns)
    _check_pages(raw, meta, MAX_EXPANSION * form.max_bytes)
    leaves = [meta.schema.column(place) for place in range(meta.num_columns)]
    texts = [one.path for one in leaves if one.physical_type == "BYTE_ARRAY"]
    file = parquet.ParquetFile(pa.BufferReader(raw), read_dictionary=texts)
    kinds = {field.name: field.type for field in file.schema_arrow if not _INDEX.fullmatch(field.name)}
    left = [name for name, kind in kinds.items() if pa.types.is_nested(kind) or isinstance(kind, pa.BaseExtensionType)]
    found: dict[str, np.ndarray] = {}
    size = 0
    for place, one in enumerate(leaves):
        if one.path in left or one.path not in kinds or one.max_repetition_level:
            continue
        form.tick()
        if one.physical_type == "FIXED_LEN_BYTE_ARRAY":
            _check_texts(one.path, one.length * meta.num_rows, form)
        column = file.reader.read_all(column_indices=[place], use_threads=False).column(0)
        found[one.path], size = _cells(one.path, column, size, form)
    if not found or not meta.num_rows:
        raise DataError("The Parquet file holds no rows or no columns; expected at least one of each.")
    notes = [f"Left out, lists or records in the cells: {listed(map(clean_name, left))}."] if left else []
    return list(found), tuple(found.values()), notes


def _cells(name: str, column: Any, size: int, form: Format) -> tuple[np.ndarray, int]:
    """The column as float64, missing cells as NaN, or as texts; and the bytes of all texts so far."""
    import pyarrow as pa
    from pyarrow import compute

    kind = column.type
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
        whole = column.cast(pa.uint8()) if pa.types.is_boolean(kind) else column
        values = whole.cast(pa.float64(), safe=False).combine_chunks().fill_null(float("nan"))
        return values.to_numpy(zero_copy_only=False).astype(np.float64), size
    parts = []
    for chunk in column.chunks:
        if not pa.types.is_dictionary(kind):
            parts.append(np.array([as_text(value) for value in chunk.to_pylist()], dtype=object))
            continue
        codes = chunk.indices.fill_null(len(chunk.dictionary)).to_numpy(zero_copy_only=False)
        sizes = np.append(compute.binary_length(chunk.dictionary).fill_null(0).to_numpy(zero_copy_only=False), 0)
        size += int(np.bincount(codes, minlength=len(sizes)) @ sizes.astype(np.int64))
        _check_texts(name, size, form)
        parts.append(np.array([*map(as_text, chunk.dictionary.to_pylist()), ""], dtype=object)[codes])
    return np.concatenate(parts) if parts else np.empty(0, dtype=object), size


def _check_texts(name: str, size: int, form: Format) -> None:
    """Refuse texts by what they come to row by row."""
    if size > MAX_TEXT * form.max_bytes:
        raise DataError(
            f"The texts come to {size / 1e6:,.0f} MB with the column {clean_name(name)!r}, row by row, more than "
            f"{MAX_TEXT} times the limit; take fewer rows, or leave long texts out."
        )


# What pages unpack to: the headers between them, in Thrift's compact protocol


def _check_pages(raw: bytes, meta: Any, most: int) -> None:
    """Refuse a file by what the headers of its pages say that they unpack to."""
    total = 0
    for group in range(meta.num_row_groups):
        for place in range(meta.num_columns):
            chunk = meta.row_group(group).column(place)
            at = min(chunk.data_page_offset, chunk.dictionary_page_offset or chunk.data_page_offset)
            end = at + chunk.total_compressed_size
            while at < end:
                header, at = _record(raw, at)
                if min(header[2], header[3]) < 0:
                    raise ValueError("a page of a negative size")
                total, at = total + header[2] + _HEADER, at + header[3]
                if total > most:
                    raise DataError(
                        f"The file unpacks to more than {MAX_EXPANSION} times the limit; take fewer rows or columns."
                    )
                if _INCREMENTAL in (header.get(5, {}).get(2), header.get(8, {}).get(4)):
                    name = clean_name(chunk.path_in_schema)
                    raise DataError(f"The column {name!r} is packed as DELTA_BYTE_ARRAY; write it as PLAIN.")


def _number(raw: bytes, at: int) -> tuple[int, int]:
    found = shift = 0
    while raw[at] & 128 and shift < 64:
        found, shift, at = found | (raw[at] & 127) << shift, shift + 7, at + 1
    return found | raw[at] << shift, at + 1


def _record(raw: bytes, at: int) -> tuple[dict[int, Any], int]:
    """The fields of a record, by number, and where it ends."""
    found: dict[int, Any] = {}
    field = 0
    while kind := raw[at]:
        field, at = field + (kind >> 4), at + 1
        found[field], at = _value(raw, at, kind & 15)
    return found, at + 1


def _value(raw: bytes, at: int, kind: int) -> tuple[Any, int]:
    if kind in (1, 2):  # true, false
        return None, at
    if kind == 3:
        return None, at + 1
    if kind in (4, 5, 6):
        value, at = _number(raw, at)
        return value >> 1 if not value & 1 else -(value >> 1) - 1, at
    if kind == 8:
        length, at = _number(raw, at)
        return None, at + length
    if kind == 12:
        return _record(raw, at)
    raise ValueError("no page begins here")
