"""Model files that anyone may send: one of each algorithm with its text, its arrays or its bytes changed."""

from __future__ import annotations

import io
import json
import time
import warnings
import zipfile
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from typing import Any

import numpy as np
from hypothesis import strategies as st

import mklcore as mkl
from benchmarks.fuzzing.targets import Target, as_text, damaged
from mklcore.catalog import ESTIMATORS
from mklcore.errors import MKLError
from mklcore.io.models import load_model, save_model

MOST_SECONDS = 20.0
RNG = np.random.default_rng(0)
X = RNG.standard_normal((24, 3))
NEW = RNG.standard_normal((5, 3))
TARGETS = {"binary": np.where(X[:, 0] > 0, "yes", "no"), "multiclass": np.arange(24) % 3, "regression": X[:, 0] ** 2}
STRANGE: list[Any] = [
    None,
    True,
    -1,
    0,
    10**30,
    1e308,
    -0.0,
    "",
    "x",
    "os.system",
    "__class__",
    "\ud800",
    [],
    {},
    {"is": "array", "at": 0},
    {"is": "array", "at": 10**9},
    {"is": "tuple", "of": []},
    {"is": "float", "of": "nan"},
    {"is": "float", "of": "inf"},
    {"is": "int", "of": "0x" + 300 * "f"},
    {"is": "objects", "shape": [10**9], "of": []},
    {"is": "dict", "of": [[1, 2]]},
    {"is": "RBF", "of": {"width": -1.0}},
    {"is": "Popen", "of": {}},
    {"is": "estimator", "of": {}},
]


@cache
def files() -> tuple[bytes, ...]:
    """A file of every algorithm for every task it has."""
    found = []
    for entry in ESTIMATORS.values():
        for task, y in TARGETS.items():
            if entry.fits(task):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    model = entry.estimator(task).fit(X, y)
                out = io.BytesIO()
                save_model(out, model)
                found.append(out.getvalue())
    return tuple(found)


def _places(node: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [at] if at else []
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return found + [place for key, value in items for place in _places(value, (*at, key))]


def _at(node: Any, place: tuple[Any, ...]) -> Any:
    for key in place:
        node = node[key]
    return node


@st.composite
def rewritten(draw: st.DrawFn) -> bytes:
    """A file whose text has other values, or values of other places, or whose arrays are others."""
    raw = draw(st.sampled_from(files()))
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    text = json.loads(content["model.json"])
    for _ in range(draw(st.integers(0, 3))):
        every = _places(text)
        place = draw(st.sampled_from(every))
        value = draw(
            st.one_of(st.sampled_from(STRANGE), st.floats(allow_nan=False, allow_infinity=False), st.just(...))
        )
        value = deepcopy(_at(text, draw(st.sampled_from(every))) if value is ... else value)
        _at(text, place[:-1])[place[-1]] = value
    content["model.json"] = json.dumps(text).encode()
    arrays = sorted(name for name in content if name.endswith(".npy"))
    for _ in range(draw(st.integers(0, 2)) if arrays else 0):
        name = draw(st.sampled_from(arrays))
        content[name] = _changed(np.lib.format.read_array(io.BytesIO(content[name])), draw)
    return _packed(content)


def _changed(array: np.ndarray, draw: st.DrawFn) -> bytes:
    array = array.copy()
    match draw(st.integers(0, 4)):
        case 0 if array.size:
            value = draw(st.sampled_from([np.nan, np.inf, -1, 0, 1e300, -1e300]))
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                flat = array.reshape(-1)
                flat[draw(st.integers(0, array.size - 1))] = np.asarray(value).astype(array.dtype)
        case 1:
            array = array[:-1] if array.ndim and len(array) else array
        case 2:
            with np.errstate(all="ignore"):
                array = array.astype("<U8") if array.dtype.kind != "U" else np.zeros(array.shape)
        case 3:
            array = array[None]
        case _:
            array = np.concatenate([array, array]) if array.ndim else array
    out = io.BytesIO()
    np.lib.format.write_array(out, array)
    return out.getvalue()


def every_member_changed() -> Iterator[tuple[str, bytes]]:
    """Each file with each member of its archive changed in each way, one at a time: what was done to which, and the
    file.
    """
    for raw in files():
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            content = {name: archive.read(name) for name in archive.namelist()}
        names = list(content)
        for place, name in enumerate(names):
            for what, other in _other_members(name, content[name], content[names[place - 1]]):
                yield f"{name}: {what}", _packed({**content, name: other})
            yield f"{name}: left out", _packed({key: part for key, part in content.items() if key != name})


def _other_members(name: str, part: bytes, neighbour: bytes) -> Iterator[tuple[str, bytes]]:
    yield from (
        ("empty", b""),
        ("cut in half", part[: len(part) // 2]),
        ("its neighbour", neighbour),
        ("twice", part + part),
    )
    if not name.endswith(".npy"):
        return
    array = np.lib.format.read_array(io.BytesIO(part))
    others = {
        "an axis more": array[None],
        "longer": np.concatenate([array.reshape(-1)] * 2),
        "none": array.reshape(-1)[:0],
    }
    others |= {"as texts": array.astype("<U8"), "backwards": array[::-1] if array.ndim else array}
    if array.dtype.kind in "iuf":
        others |= {f"all {value:g}": np.full(array.shape, value) for value in (np.nan, np.inf, -1.0, 0.0, 1e300)}
    for what, other in others.items():
        out = io.BytesIO()
        np.lib.format.write_array(out, np.ascontiguousarray(other))
        yield what, out.getvalue()


def _packed(content: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, part in content.items():
            archive.writestr(name, part)
    return out.getvalue()


def check(raw: bytes) -> str:
    """A file becomes a model whose answers are numbers, or is refused with a message, and soon."""
    begun = time.process_time()
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            model = load_model(io.BytesIO(raw))
    except MKLError as error:
        return as_text(error)
    finally:
        assert time.process_time() - begun < MOST_SECONDS
    assert type(model).__module__.startswith(mkl.__name__)
    return _predicts(model)


def _predicts(model: Any) -> str:
    rows = NEW[:, : int(getattr(model, "n_features_in_", 3))] if getattr(model, "n_features_in_", 3) <= 3 else NEW
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found = np.asarray(
                model.decision_function(rows) if hasattr(model, "decision_function") else model.predict(rows)
            )
    except ValueError:
        return "loaded, refuses these rows"
    assert found.shape[0] == len(rows), found.shape
    return "loaded" if np.isfinite(found).all() else "loaded, answers beyond all numbers"


models = Target(
    "models", st.one_of(rewritten(), rewritten(), damaged(st.deferred(lambda: st.sampled_from(files())))), check
)
