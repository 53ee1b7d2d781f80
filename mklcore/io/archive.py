"""The archive of a saved model: one JSON text and plain arrays, each read once its size is known to be within
bounds.
"""

from __future__ import annotations

import json
import math
import zipfile
from typing import IO, Any

import numpy as np

from mklcore.data.columns import are_texts
from mklcore.errors import DataError

MAX_TEXT = 64 * 2**20
MAX_ARRAYS = 20_000
TEXT = "model.json"
_SAME_DAY = (1980, 1, 1, 0, 0, 0)  # the same model makes the same bytes
KINDS = "fiubU"


def write_archive(file: IO[bytes], text: bytes, arrays: list[np.ndarray]) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        entry = zipfile.ZipInfo(TEXT, _SAME_DAY)
        entry.compress_type = zipfile.ZIP_DEFLATED
        archive.writestr(entry, text)
        for k, array in enumerate(arrays):
            with archive.open(zipfile.ZipInfo(f"arrays/{k}.npy", _SAME_DAY), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


class Members:
    """The members of an archive, each read once its size is known to be within bounds."""

    def __init__(self, archive: zipfile.ZipFile, max_bytes: int) -> None:
        members = archive.infolist()
        self._archive, self._members = archive, {member.filename: member for member in members}
        self._unread = set(range(len(members)))  # an array read again and again takes more than the file says
        size = sum(member.file_size for member in members)
        if len(members) > MAX_ARRAYS or len(self._members) < len(members):
            raise DataError(
                f"The model file has {len(members)} entries, some of them doubled or more than {MAX_ARRAYS}."
            )
        if size > max_bytes:
            raise DataError(
                f"The model file unpacks to {size / 1e6:,.0f} MB, more than the limit of {max_bytes / 1e6:,.0f} MB. "
                "If you trust it, raise max_bytes."
            )

    def text(self) -> Any:
        member = self._members.get(TEXT)
        if member is None:
            raise DataError("The file is no saved model; expected one that save_model wrote.")
        if member.file_size > MAX_TEXT:
            raise DataError(f"The description in the model file is longer than {MAX_TEXT // 2**20} MB.")
        return json.loads(self._archive.read(member).decode("utf-8"), parse_constant=_no_constant)

    def array(self, k: Any) -> np.ndarray:
        member = self._members.get(f"arrays/{k}.npy") if isinstance(k, int) else None
        if member is None:
            raise DataError(f"The model file lacks its array {k!r}.")
        if k not in self._unread:
            raise DataError(f"The model file uses its array {k!r} twice.")
        self._unread.remove(k)
        with self._archive.open(member) as file:
            major, _ = np.lib.format.read_magic(file)
            header = np.lib.format.read_array_header_1_0 if major == 1 else np.lib.format.read_array_header_2_0
            shape, by_columns, dtype = header(file)
            if dtype.kind not in KINDS or dtype.hasobject or not dtype.isnative:
                raise DataError(f"Array {k} of the model file holds {dtype}; expected numbers or texts.")
            size = math.prod(shape) * dtype.itemsize
            content = file.read(size + 1) if 0 <= size <= member.file_size else b""
            if len(content) != size:
                raise DataError(f"Array {k} of the model file has another size than it says.")
        array = np.frombuffer(content, dtype).reshape(shape, order="F" if by_columns else "C").copy(order="K")
        if not are_texts(array):
            raise DataError(f"Array {k} of the model file holds signs that no text can hold.")
        return array


def _no_constant(name: str) -> Any:
    raise DataError(f"The description in the model file holds {name}, which is no number.")
