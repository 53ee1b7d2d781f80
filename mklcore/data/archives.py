"""Bounds on archives from strangers: headers of arrays and texts of JSON are measured before they are read."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from mklcore.data.columns import are_texts
from mklcore.errors import DataError, never_asked

MAX_HEADER_BYTES = 10_000  # of an array, as NumPy itself has it
MOST_VALUES = 1_000_000  # of a JSON text: one takes up to 230 bytes once it is read
PIECE_BYTES = 2**24


@dataclass(frozen=True)
class ArrayHeader:
    """What an array says of itself before its numbers, which begin at byte ``start``."""

    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]
    start: int

    @property
    def nbytes(self) -> int:
        """Bytes of its numbers."""
        return math.prod(self.shape) * self.dtype.itemsize


def array_header(file: IO[bytes]) -> ArrayHeader:
    """The header of an array in NumPy's format; DataError where it says that it is longer than any of ours.

    NumPy reads a header whole, gigabytes too, before it looks at it.
    """
    version = np.lib.format.read_magic(file)
    there = file.tell()
    length = int.from_bytes(file.read(2 if version == (1, 0) else 4), "little")
    file.seek(there)
    if length > MAX_HEADER_BYTES:
        raise DataError(
            f"An array of the archive says that its header has {length:,} bytes; expected at most "
            f"{MAX_HEADER_BYTES:,}. Save it again with np.savez."
        )
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = read(file)
    return ArrayHeader(shape, fortran, dtype, file.tell())


def array_content(
    name: str, file: IO[bytes], header: ArrayHeader, tick: Callable[[], None] = never_asked
) -> np.ndarray:
    """The numbers or texts behind a header, unpacked piece by piece; ``tick`` is called before each."""
    found = np.empty(header.shape[::-1] if header.fortran else header.shape, header.dtype)
    room = found.reshape(-1).view(np.uint8).data
    file.seek(header.start)
    at = 0
    while at < len(room):
        tick()
        piece = file.read(min(PIECE_BYTES, len(room) - at))
        if not piece:
            raise EOFError(f"{name} ends after {at} bytes of {len(room)}")
        room[at : at + len(piece)] = piece
        at += len(piece)
    if header.fortran:
        found = found.transpose()
    if not are_texts(found):
        raise DataError(f"{name} holds signs that no text can hold; save it again with np.array(..., dtype=str).")
    return found


def bounded_json(raw: bytes) -> Any:
    """The value of a JSON text; DataError where it has more than ``MOST_VALUES`` parts, counted before it is read."""
    parts = sum(raw.count(sign) for sign in (b",", b"[", b"{"))
    if parts > MOST_VALUES:
        raise DataError(f"Its description has {parts:,} values, more than {MOST_VALUES:,}.")
    return json.loads(raw.decode("utf-8"), parse_constant=_no_constant)


def _no_constant(name: str) -> Any:
    raise DataError(f"Its description holds {name}, which is no number.")
