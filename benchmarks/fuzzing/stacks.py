"""Kernel stacks that anyone may upload: archives of strange arrays, strange headers, and damaged ones."""

from __future__ import annotations

import io
import time
import zipfile
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from benchmarks.fuzzing.targets import Target, as_text, damaged
from mklcore.errors import MKLError
from mklcore.kernels.stacks import is_stack, read_stack

MOST_SECONDS = 20.0  # of this process, for an input that is a few kilobytes
TYPES = ["<f8", ">f8", "<f4", "<f2", "<i4", "<i8", "|u1", "|b1", "<c16", "<U3", "|S4", "<M8[s]", "<f16", "|V8"]
numbers = st.one_of(st.floats(), st.floats(-10, 10), st.sampled_from([0.0, 1.0, -1.0, 1e308, 1e-308, np.nan, np.inf]))


@st.composite
def kernels(draw: st.DrawFn) -> np.ndarray:
    """A stack that is nearly one: products of rows, some entries put in, another type, another order."""
    least = draw(st.sampled_from([4, 4, 4, 0]))
    count, rows = draw(st.integers(min(least, 1), 4)), draw(st.integers(least, 12))
    chance = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    power = draw(st.one_of(st.just(0), st.just(0), st.integers(-160, 160)))
    X = chance.standard_normal((count, rows, draw(st.integers(1, 4)))) * 10.0**power
    with np.errstate(all="ignore"):
        K = X @ X.transpose(0, 2, 1)
        for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2])) if K.size else 0):
            K.flat[draw(st.integers(0, K.size - 1))] = draw(numbers)
        if draw(st.integers(0, 3)) < 3:
            K = (K + K.transpose(0, 2, 1)) / 2
        K = K.astype(draw(st.sampled_from(["<f8", "<f8", "<f8", ">f8", "<f4", "<f2", "<i8"])))
    return np.asfortranarray(K) if draw(st.booleans()) else K


anything = arrays.arrays(
    st.sampled_from([t for t in TYPES if t not in ("|V8", "<f16")]),
    arrays.array_shapes(min_dims=0, max_dims=4, max_side=6),
)


@st.composite
def archives(draw: st.DrawFn) -> bytes:
    """An archive with K, y and names, or without, twice, compressed or not."""
    K = draw(st.one_of(kernels(), kernels(), kernels(), anything))
    rows = K.shape[-1] if K.ndim else 0
    fitting: Any = st.one_of(
        st.integers(2, 4).map(lambda count: np.arange(rows) % count),
        st.integers(0, 9).map(lambda seed: np.random.default_rng(seed).standard_normal(rows)),
        arrays.arrays("<f8", rows, elements=numbers),
        arrays.arrays("<i8", rows, elements=st.integers(-3, 3)),
        arrays.arrays("<U2", rows),
        arrays.arrays("|S2", rows),
    )
    parts = {"K": K, "y": draw(st.one_of(fitting, fitting, fitting, anything))}
    if draw(st.booleans()):
        parts["names"] = draw(st.one_of(arrays.arrays("<U3", len(K) if K.ndim else 0), anything))
    if draw(st.integers(0, 9)) == 9:
        del parts[draw(st.sampled_from(sorted(parts)))]
    file = io.BytesIO()
    how = draw(st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED]))
    with zipfile.ZipFile(file, "w", how) as archive:
        for name, array in parts.items():
            out = io.BytesIO()
            np.lib.format.write_array(out, array)
            archive.writestr(f"{name}.npy", out.getvalue())
    return file.getvalue()


@st.composite
def headers(draw: st.DrawFn) -> bytes:
    """An archive whose arrays say what they like of themselves."""
    shape = draw(
        st.one_of(
            st.lists(st.integers(-2, 2**70), max_size=4).map(tuple), st.sampled_from(["(2, 3, 3", "None", "(3,)*9"])
        )
    )
    text = f"{{'descr': {draw(st.sampled_from(TYPES))!r}, 'fortran_order': {draw(st.booleans())}, 'shape': {shape}, }}"
    text = draw(st.one_of(st.just(text), st.text(max_size=60)))
    head = b"\x93NUMPY" + bytes([draw(st.integers(0, 4)), 0]) + (len(text.encode()) + 1).to_bytes(2, "little")
    raw = head + text.encode() + b"\n" + draw(st.binary(max_size=200))
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in ("K", "y", "names"):
            archive.writestr(f"{name}.npy", raw)
    return file.getvalue()


def check(asked: tuple[bytes, str | None, bool]) -> str:
    """A file is read into finite, symmetric kernels with a target, or refused with a message, and soon."""
    raw, task, clip = asked
    begun = time.process_time()
    is_stack(raw)
    try:
        with np.errstate(all="ignore"):
            found = read_stack(raw, task=task, clip=clip)
    except MKLError as error:
        return as_text(error)
    finally:
        assert time.process_time() - begun < MOST_SECONDS
    K, table = found.stack.values, found.table
    assert np.isfinite(K).all()
    assert np.abs(K - K.transpose(0, 2, 1)).max() <= 1e-7 * max(np.abs(K).max(), 1e-300)
    assert len(table.y) == K.shape[1] == table.n_samples
    assert len(set(found.stack.names)) == len(K)
    assert all(found.stack.names)
    "".join((*found.stack.names, *table.notes, *table.class_names)).encode()
    return "read"


inputs = st.tuples(
    st.one_of(archives(), archives(), damaged(archives()), headers(), st.binary(max_size=300)),
    st.sampled_from([None, "classification", "regression"]),
    st.booleans(),
)
stacks = Target("stacks", inputs, check)
