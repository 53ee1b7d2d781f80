"""Kernel stacks from files: K (M, n, n) and a target y (n,) in a NumPy archive (.npz).

Nothing is unpickled. The sizes that an archive declares are checked before its numbers are read,
and no more than the declared sizes is read. A stack has no columns: in its `Dataset` the one
feature is the number of the row, so that a split of the table determines the rows of the stack in
each part.
"""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mklcore.arrays import Cells, one_blas_thread
from mklcore.data.columns import ReadOptions, clean_name, distinct_names
from mklcore.data.dataset import Dataset, counted, joined, listed
from mklcore.data.files import Table
from mklcore.data.packed import array_content, array_header
from mklcore.data.target import read_target
from mklcore.errors import DataError, KernelError, Note
from mklcore.kernels.grams import PSD_TOLERANCE, Forecast, GramStack

MAX_FILE_MB = 100
MAX_STACK_MB = 400
MAX_KERNELS = 1000
MAX_DIRECTORY_BYTES = 100_000  # about a thousand arrays
# The largest sum of cubed rows over kernels: the time of eigenvectors, which cannot be cancelled.
MOST_CLIPPED = 3000**3
ROW = "row of the stack"
KNOWN = ("K", "y", "names")


@dataclass(frozen=True, eq=False)
class StackFile:
    """A stack on all rows of a file, and its table: the number of the row and the target."""

    stack: GramStack
    table: Dataset


def is_stack(raw: bytes) -> bool:
    """Whether these bytes are a NumPy archive."""
    if raw[:4] != b"PK\x03\x04" or directory_bytes(raw) > MAX_DIRECTORY_BYTES:
        return False
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            return any(name.endswith(".npy") for name in archive.namelist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        return False


def directory_bytes(raw: bytes) -> int:
    """The declared length of the list of members of an archive, which Python reads as a whole.

    Source: APPNOTE 4.3.14-16.
    """
    tail = raw[-70_000:]
    largest = 0
    for signature, offset, length in ((b"PK\x05\x06", 12, 4), (b"PK\x06\x06", 40, 8)):
        if signature in tail:
            start = tail.rfind(signature) + offset
            size = int.from_bytes(tail[start : start + length], "little")
            largest = max(largest, size)
    return largest


def read_stack(
    raw: bytes,
    *,
    task: str | None = None,
    clip: bool = False,
    fingerprint: str = "",
) -> StackFile:
    """The kernel stack in an .npz file: K (M, n, n), y (n,) and, if there are any, names (M,).

    task: "classification", "regression" or None: numbers with many different values are then a
    regression target. clip: set negative eigenvalues of indefinite kernels to 0 and mention it in
    the notes, instead of raising an error. fingerprint: of the file; it enters the fingerprint of
    the table through the name of the one feature. Raises ``DataError`` or ``KernelError`` for files
    of another form, for files larger than ``MAX_STACK_MB`` megabytes, and for matrices that are not
    kernels.
    """
    arrays = _arrays(raw)
    K = np.ascontiguousarray(arrays["K"], dtype=np.float64)
    y = arrays["y"]
    names = _names(arrays.get("names"), len(K))
    with one_blas_thread():
        clip_notes = _clip(K, names) if clip else []
    stack = GramStack.from_array(K, names)
    cells = np.array(_texts(y), dtype=object)
    if y.dtype.kind in "biuf":
        cells = y.astype(np.float64)
    target = read_target(Table({"y": cells}), "y", ReadOptions(task=task))
    stack = stack if len(target.rows) == len(y) else stack.take(target.rows)
    description = (
        f"A ready stack of {len(K)} kernels on {len(y)} rows: it has no columns and is used as "
        "it is."
    )
    name = f"{ROW} {fingerprint[:16]}".strip()
    rows = np.arange(len(target.rows), dtype=np.float64)[:, None]
    notes = (description, *clip_notes, *target.notes)
    return StackFile(
        stack,
        Dataset(rows, target.values, (name,), "y", target.task, notes=notes),
    )


def rows_of(part: Dataset) -> Cells:
    """The rows of the stack in a part of its table."""
    return part.X[:, 0].astype(np.int64)


def block_of(stack: GramStack, part: Dataset, train: Dataset) -> Cells:
    """Kernel values (M, n_part, n) between a part of the table and its training part."""
    return stack.block(rows_of(part), rows_of(train))


def foresee(n_kernels: int, n_samples: int) -> Forecast:
    """The cost of ``n_kernels`` of a stack on ``n_samples`` rows."""
    return Forecast(8 * n_kernels * n_samples**2, 0.0, n_kernels)


def subset(stack: GramStack, kernels: Sequence[int]) -> GramStack:
    """The stack with some of its kernels, in the given order; ``KernelError`` for none."""
    chosen = list(kernels)
    if not chosen:
        raise KernelError("No kernel of the stack is switched on; switch on at least one.")
    return stack.select(chosen)


def _arrays(raw: bytes) -> dict[str, Cells]:
    """K, y and names; the header of each is checked before its numbers are read."""
    if len(raw) > MAX_FILE_MB * 1e6:
        raise DataError(
            f"The file is larger than {MAX_FILE_MB} MB, the limit for stacks; take fewer "
            "kernels or rows."
        )
    if directory_bytes(raw) > MAX_DIRECTORY_BYTES:
        raise DataError(
            "The archive lists far more than a stack's three arrays; save it again with np.savez."
        )
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            return _members(archive)
    except DataError:
        raise
    except Exception as error:  # a damaged archive can raise any of them
        raise DataError(
            f"The archive is damaged ({type(error).__name__}); save it again with np.savez."
        ) from error


def _members(archive: zipfile.ZipFile) -> dict[str, Cells]:
    """The arrays of an archive; their shapes are compared before a number is unpacked."""
    files = [name for name in archive.namelist() if name.endswith(".npy")]
    members = {name.removesuffix(".npy"): name for name in files}
    if missing := [name for name in KNOWN[:2] if name not in members]:
        raise DataError(
            f"The archive has no array {listed(missing)}; expected K (M, n, n) and "
            "y (n,), as in np.savez(file, K=K, y=y, names=names). It holds "
            f"{listed(map(clean_name, members)) or 'nothing'}."
        )
    present = [name for name in KNOWN if name in members]
    shapes = {}
    for name in present:
        with archive.open(members[name]) as file:
            header = array_header(file)
        _check_header(name, header.shape, header.dtype)
        shapes[name] = header.shape
    kernels, rows, _ = shapes["K"]
    if shapes["y"] != (rows,):
        raise DataError(
            f"y has shape {shapes['y']}, but K has {rows} rows; expected one value per row."
        )
    if shapes.get("names", (kernels,)) != (kernels,):
        raise DataError(
            f"There are {shapes['names'][0]} names for {kernels} kernels; expected one each."
        )
    arrays = {}
    for name in present:
        with archive.open(members[name]) as file:
            arrays[name] = array_content(name, file)
    return arrays


def _check_header(name: str, shape: tuple[int, ...], dtype: Any) -> None:
    if dtype.hasobject:
        raise DataError(
            f"{name} holds Python objects, which can run code and are never opened; save "
            "numbers as float64 and names with np.array(names, dtype=str)."
        )
    kinds, description = {
        "K": ("biuf", "numbers"),
        "y": ("biufUS", "numbers or texts"),
        "names": ("US", "texts"),
    }[name]
    if dtype.kind not in kinds:
        raise DataError(f"{name} has the type {dtype}; expected {description}.")
    axes = 3 if name == "K" else 1
    is_square = axes == 1 or shape[1:2] == shape[2:3]
    if len(shape) != axes or min(shape) < 1 or not is_square:
        expected = "(M, n, n): kernels, rows, rows" if name == "K" else "one axis"
        raise DataError(f"{name} has the shape {shape}; expected {expected}.")
    item_bytes = 8 if name == "K" else dtype.itemsize
    megabytes = math.prod(map(float, shape)) * item_bytes / 1e6
    most = MAX_STACK_MB if name == "K" else MAX_FILE_MB / 5
    if megabytes > most:
        raise DataError(
            f"{name} unpacks to {megabytes:,.0f} MB, above the limit of {most:,.0f} MB; "
            "take fewer kernels or rows."
        )
    if name == "K" and shape[0] > MAX_KERNELS:
        raise DataError(f"K holds {shape[0]:,} kernels, more than {MAX_KERNELS:,}; take fewer.")


def _clip(K: Cells, names: list[str]) -> list[str]:
    """Set negative eigenvalues to 0, in place, and return notes on the kernels."""
    if len(K) * K.shape[1] ** 3 > MOST_CLIPPED:
        most_rows = int((MOST_CLIPPED / len(K)) ** (1 / 3) + 1e-9)
        raise DataError(
            f"Negative eigenvalues of {len(K):,} kernels are set to 0 on at most {most_rows:,} "
            f"rows, and K has {K.shape[1]:,}; do it before saving the file, or take fewer rows or "
            "kernels."
        )
    notes = []
    for name, gram in zip(names, K, strict=True):
        # `check_gram` refuses entries that are not finite.
        if not np.isfinite(gram).all():
            continue
        spectrum, vectors = np.linalg.eigh(0.5 * (gram + gram.T))
        if spectrum[0] < -PSD_TOLERANCE * max(spectrum[-1], 0.0):
            projected = (vectors * np.maximum(spectrum, 0.0)) @ vectors.T
            gram[...] = 0.5 * (projected + projected.T)
            notes.append(f"{name} (smallest {spectrum[0]:.3g})")
    if not notes:
        return []
    text = (
        f"Negative eigenvalues of {counted(len(notes), 'kernel')} were set to 0: {joined(notes)}. "
        "Kernel values on new rows no longer belong to them."
    )
    return [Note(text, code="table.clipped")]


def _names(given: Cells | None, count: int) -> list[str]:
    """A distinct name for every kernel."""
    raw = [f"kernel {m + 1}" for m in range(count)]
    if given is not None:
        raw = _texts(given)
    return distinct_names(
        clean_name(text) or f"kernel {place}" for place, text in enumerate(raw, start=1)
    )


def _texts(array: Cells) -> list[str]:
    values = array.tolist()
    if array.dtype.kind == "S":
        return [value.decode("utf-8", "replace") for value in values]
    return list(map(str, values))
