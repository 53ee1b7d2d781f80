"""The program that opens Parquet files: bytes in, columns out, in a process of its own; see `bounds`.

A text that stands in every row is a few bytes of the file and gigabytes in memory. So texts are read as a dictionary
and the number of the entry in each row, whatever type the file gives them, and what they would come to row by row is
counted before anybody writes them out. It imports nothing of the library.

Request, as JSON in the one argument: ``sizes`` of the files on standard input, one after the other, and ``limits``.
Answer per file: lines of JSON about its columns, each followed by so many bytes, and a last line. The bytes are
float64, or where there are different ``words`` the number of the one in each row, as int32.
"""

import json
import re
import sys
from typing import Any

import numpy as np
import pyarrow
from pyarrow import compute, parquet


class RefusedError(Exception):
    """Why a file is not read: a word for it, and a number."""


def text(value: object) -> str:
    """A cell as a person reads it; empty where there is none."""
    return "" if value is None else str(value).strip()


def opened(raw: memoryview, limits: dict[str, int]) -> parquet.ParquetFile:
    """The file with its texts as dictionaries, refused by what it says of itself."""
    meta = parquet.read_metadata(pyarrow.BufferReader(raw))
    for what, found in (
        ("rows", meta.num_rows), ("columns", meta.num_columns), ("cells", meta.num_rows * meta.num_columns),
        ("unpacked", sum(meta.row_group(i).total_byte_size for i in range(meta.num_row_groups))),
    ):  # fmt: skip
        if found > limits[what]:
            raise RefusedError(what, found, meta.num_rows, meta.num_columns)
    parts = [meta.schema.column(place) for place in range(meta.num_columns)]
    for one in parts:
        if one.physical_type == "FIXED_LEN_BYTE_ARRAY" and one.max_repetition_level == 0:
            check_texts(one.length, one.length * meta.num_rows, limits)
    texts = [one.path for one in parts if one.physical_type == "BYTE_ARRAY"]
    return parquet.ParquetFile(pyarrow.BufferReader(raw), read_dictionary=texts)


def leaves(kind: pyarrow.DataType) -> int:
    """How many columns of the file a field of this type is made of."""
    kind = getattr(kind, "storage_type", kind)
    return (
        sum(leaves(kind.field(k).type) for k in range(kind.num_fields)) if pyarrow.types.is_nested(kind) else 1
    )  # fmt: skip


def check_texts(longest: int, characters: int, limits: dict[str, int]) -> None:
    """Refuse texts by the longest one, and by what they come to row by row."""
    if longest > limits["cell"]:
        raise RefusedError("cell", longest)
    if characters > limits["characters"]:
        raise RefusedError("characters", characters)


def numbers(column: pyarrow.ChunkedArray) -> bytes | None:
    """The column as float64, missing cells as NaN; None where it holds no numbers."""
    kind = column.type
    if pyarrow.types.is_boolean(kind):
        column = column.cast(pyarrow.uint8())
    elif not (pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind)):
        return None
    whole = column.cast(pyarrow.float64(), safe=False).combine_chunks().fill_null(float("nan"))
    return whole.to_numpy(zero_copy_only=False).astype("<f8", copy=False).tobytes()  # type: ignore[no-any-return]


def cells(column: pyarrow.ChunkedArray, limits: dict[str, int], so_far: int) -> tuple[list[str], np.ndarray, int]:
    """The different texts of a column, which of them stands in each row, and how many characters that makes, with
    ``so_far``.
    """
    found: dict[str, int] = {}
    places = []
    for chunk in column.chunks:
        if pyarrow.types.is_dictionary(chunk.type):
            own, codes = chunk.dictionary, chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False)
            times = np.bincount(codes[codes >= 0], minlength=len(own))
            at_least = least_lengths(own)
            check_texts(int(at_least.max(initial=0)), so_far + int(times @ at_least), limits)
            words = [text(value) for value in own.to_pylist()]
        else:
            words = as_read(chunk)
            codes, times = np.arange(len(words)), np.ones(len(words), dtype=np.int64)
        lengths = np.array([len(word) for word in words], dtype=np.int64)
        so_far += int(times @ lengths)
        check_texts(int(lengths.max(initial=0)), so_far, limits)
        mine = np.array([found.setdefault(word, len(found)) for word in [*words, ""]], dtype="<i4")  # -1: the last
        places.append(mine[codes])
    return list(found), np.concatenate(places) if places else np.empty(0, dtype="<i4"), so_far


def least_lengths(own: pyarrow.Array) -> np.ndarray:
    """How many characters the entries of a dictionary have at least, 0 where they are no texts: before any is written
    out.
    """
    own = getattr(own, "storage", own)
    kind, none = own.type, np.zeros(len(own), dtype=np.int64)
    is_text = pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind)
    if not is_text and not (pyarrow.types.is_binary(kind) or pyarrow.types.is_large_binary(kind)):
        return none
    sizes: np.ndarray = compute.binary_length(own).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    least: np.ndarray = sizes // 4 if is_text else sizes
    return least  # UTF-8 takes at most four bytes for a sign; blanks around it are cut


def as_read(chunk: pyarrow.Array) -> list[str]:
    """Cells of any other type as texts, times as pandas writes them."""
    if not pyarrow.types.is_temporal(chunk.type):
        return [text(value) for value in chunk.to_pylist()]
    series = chunk.to_pandas().astype(object)
    return ["" if gone else text(value) for value, gone in zip(series, series.isna(), strict=True)]


def answer(raw: memoryview, limits: dict[str, int], out: Any) -> None:
    """Write the columns of one file, one after the other; it never holds two."""
    file, so_far, first, nested = opened(raw, limits), 0, 0, []
    for field in file.schema_arrow:
        place, first = first, first + leaves(field.type)
        if pyarrow.types.is_nested(getattr(field.type, "storage_type", field.type)):
            nested.append(field.name)
            continue
        if re.fullmatch(r"__index_level_\d+__", field.name):
            continue
        column = file.reader.read_all(column_indices=[place], use_threads=False).column(0)
        payload, line = numbers(column), {"name": field.name, "words": []}
        if payload is None:
            words, places, so_far = cells(column, limits, so_far)
            payload, line["words"] = places.tobytes(), words
        out.write(json.dumps({**line, "bytes": len(payload)}, ensure_ascii=False).encode() + b"\n" + payload)
    out.write(json.dumps({"rows": file.metadata.num_rows, "nested": nested}, ensure_ascii=False).encode() + b"\n")


def main() -> None:
    """Read the files from standard input; the request is the program's one argument, as JSON."""
    asked = json.loads(sys.argv[1])
    pyarrow.set_cpu_count(1)
    pyarrow.set_io_thread_count(1)
    raw, start, out = memoryview(sys.stdin.buffer.read()), 0, sys.stdout.buffer
    try:
        for size in asked["sizes"]:
            answer(raw[start : start + size], asked["limits"], out)
            start += size
    except RefusedError as why:
        out.write(json.dumps({"refused": why.args}).encode() + b"\n")
    except (MemoryError, pyarrow.ArrowMemoryError):
        out.write(json.dumps({"refused": ["memory"]}).encode() + b"\n")
    except Exception as error:  # a damaged file leads its reader into any of them
        out.write(json.dumps({"refused": ["damaged", type(error).__name__]}).encode() + b"\n")


if __name__ == "__main__":
    main()
