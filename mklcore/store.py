"""Fitted models in one file: a zip archive of plain arrays and one JSON text. Nothing in it is ever executed.

    model.json       format, version, estimator, its parameters, and what fitting left behind
    arrays/k.npy     the arrays the text refers to, in NumPy's own format without objects

`load_model` rebuilds every part through the class it belongs to, so that a part out of its range is refused in words,
and then predicts once. Names of classes are looked up in a fixed list; sizes are bounded before anything is unpacked.
A kernel model predicts by comparing with its training rows: the file holds them, standardised.
"""

from __future__ import annotations

import enum
import io
import json
import math
import os
import re
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from mklcore import estimators
from mklcore.data.columns import are_texts
from mklcore.errors import DataError, ParameterError
from mklcore.kernels.composed import COMPOSED
from mklcore.kernels.dictionary import Band, KernelDictionary, RandomColumns
from mklcore.kernels.finishing import NORMALISATIONS
from mklcore.kernels.functions import KERNELS, KernelSpec
from mklcore.kernels.maps import KernelMap
from mklcore.kernels.sequence_dictionary import SequenceDictionary
from mklcore.kernels.sequences import SEQUENCE_KERNELS
from mklcore.losses import LOSSES
from mklcore.lowrank.features import FeatureMap
from mklcore.lowrank.nystroem import Nystroem
from mklcore.penalties import PENALTIES, SumOfTerms
from mklcore.solvers.driver import Fit, Record, Status
from mklcore.solvers.hkl.bases import BASES
from mklcore.solvers.hkl.design import Design
from mklcore.solvers.hkl.levels import Matrices, Scaling, Table

FORMAT, VERSION = "mklcore model", 2
READABLE = (1, 2)  # version 1 lacks what proves an answer: target, row fingerprints, sample weights, dual point
MAX_BYTES = 2**30
MAX_TEXT = 64 * 2**20
MAX_ARRAYS = 20_000
MAX_DEPTH = 40
MOST_LETTERS = 600  # of a refusal
TEXT = "model.json"
_SAME_DAY = (1980, 1, 1, 0, 0, 0)  # the same model makes the same bytes
_PRIVATE = ("_map", "_nodes")  # besides the public attributes with a trailing underscore
_KINDS = "fiubU"
_PROVES = ("training_target_", "row_fingerprints_", "sample_weight_", "dual_point_")

Target = str | os.PathLike[str] | IO[bytes]


def _estimators() -> dict[str, type]:
    """Every estimator a file may hold, by the name of its class: those of the library and those of the registry."""
    found = [kind for name, kind in vars(estimators).items() if name in estimators.__all__ and isinstance(kind, type)]
    for algorithm in estimators.ESTIMATORS.values():
        found += [kind for kind in (algorithm.classifier, algorithm.regressor, algorithm.novelty) if kind is not None]
    return {kind.__name__: kind for kind in found if issubclass(kind, BaseEstimator)}


def _parts() -> dict[str, type]:
    """Every part a file may hold, by the name of its class: what the registries list now, and a few more."""
    kinds: tuple[type, ...] = (
        *(entry.spec for entry in (*KERNELS.values(), *SEQUENCE_KERNELS.values())),
        *COMPOSED.values(),
        *LOSSES.values(),
        *PENALTIES.values(),
        *BASES.values(),
        *(
            Band,
            RandomColumns,
            KernelDictionary,
            SequenceDictionary,
            KernelMap,
            FeatureMap,
            Nystroem,
            SumOfTerms,
            Fit,
            Record,
        ),
    )
    return {kind.__name__: kind for kind in kinds}


def save_model(path: Target, estimator: Any) -> None:
    """Write a fitted estimator of this library into one file: a path, or a file open for writing bytes.

    ParameterError for an estimator of another library; scikit-learn's NotFittedError for one that is not fitted.
    ``callback`` is not kept, nor a ``random_state`` that is no number. The model that comes back predicts the same.
    The file also holds what proves the answer: the training target, a fingerprint of every training row, sample weights and
    the dual point. ``python -m mklcore.verify MODEL.mkl TABLE.csv`` computes everything again from them.

    >>> import tempfile, os
    >>> from mklcore.data.samples import load_sample
    >>> from mklcore.estimators.lp import UniformMKLClassifier
    >>> data = load_sample("iris")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(os.path.join(folder, "iris.mkl"), UniformMKLClassifier().fit(data.X, data.y))
    ...     again = load_model(os.path.join(folder, "iris.mkl"))
    >>> again.predict(data.X[:1]).shape
    (1,)
    """
    if _estimators().get(type(estimator).__name__) is not type(estimator):
        raise ParameterError(
            f"save_model takes a fitted estimator of mklcore, got {type(estimator).__name__}. "
            "Of a Pipeline, save its last step."
        )
    check_is_fitted(estimator)
    writer = _Writer()
    text = {
        "format": FORMAT,
        "version": VERSION,
        "model": writer.estimator(estimator),
    }
    raw = json.dumps(text, allow_nan=False, separators=(",", ":")).encode()
    if isinstance(path, (str, os.PathLike)):
        # Beside its place first, so that a failure never leaves half a file under the name asked for.
        place = Path(path)
        beside = place.with_name(f".{place.name}.{os.getpid()}")
        try:
            with beside.open("wb") as file:
                _write(file, raw, writer.arrays)
            beside.replace(place)
        finally:
            beside.unlink(missing_ok=True)
    else:
        _write(path, raw, writer.arrays)


def load_model(path: Target, *, max_bytes: int = MAX_BYTES) -> Any:
    """The fitted estimator in a file that `save_model` wrote: a path, or a file open for reading bytes.

    Raises DataError, with what is wrong, for every other file: another format or version, damage, unknown classes or
    parameters, arrays that do not fit together, values that are not finite, more than ``max_bytes`` when unpacked.
    """
    try:
        return _load(path, max_bytes)
    except DataError as error:
        raise DataError(_in_short(str(error))) from error
    except OSError as error:
        raise DataError(f"The model file cannot be opened: {error.strerror or error}.") from error
    except Exception as error:  # a damaged file leads its reader into any of them
        raise DataError(_in_short(f"The model file is damaged: {type(error).__name__}: {str(error)[:300]}")) from error


def _in_short(sentence: str) -> str:
    """A refusal that can be shown although it may quote the file: what is quoted may be long, or no text at all."""
    shown = sentence if len(sentence) <= MOST_LETTERS else f"{sentence[:MOST_LETTERS]}..."
    return shown.encode("utf-8", "replace").decode("utf-8")


def _load(path: Target, max_bytes: int) -> Any:
    if isinstance(path, (str, os.PathLike)):
        with Path(path).open("rb") as file:
            return _read(file, max_bytes)
    if not hasattr(path, "read"):
        raise DataError(f"A model is read from a path or an open file, got {type(path).__name__}.")
    return _read(path if path.seekable() else io.BytesIO(path.read(max_bytes + 1)), max_bytes)


def _read(file: IO[bytes], max_bytes: int) -> Any:
    try:
        archive = zipfile.ZipFile(file)
    except zipfile.BadZipFile:
        raise DataError("The file is no saved model; expected one that save_model wrote.") from None
    with archive:
        store = _Store(archive, max_bytes)
        text = store.text()
        if not isinstance(text, dict) or text.get("format") != FORMAT:
            raise DataError("The file is no saved model; expected one that save_model wrote.")
        if text.get("version") not in READABLE:
            raise DataError(
                f"The model was saved in version {text.get('version')!r} of the format, this library reads version "
                f"{' and '.join(map(str, READABLE))}. Use the release that wrote it, or fit and save the model again."
            )
        return _Reader(store, max_bytes).whole(text.get("model"))


# The archive


def _write(file: IO[bytes], text: bytes, arrays: list[np.ndarray]) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        entry = zipfile.ZipInfo(TEXT, _SAME_DAY)
        entry.compress_type = zipfile.ZIP_DEFLATED
        archive.writestr(entry, text)
        for k, array in enumerate(arrays):
            with archive.open(zipfile.ZipInfo(f"arrays/{k}.npy", _SAME_DAY), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


class _Store:
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
            if dtype.kind not in _KINDS or dtype.hasobject or not dtype.isnative:
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


# From objects to text and arrays


class _Writer:
    """Turns a fitted estimator into JSON; arrays are laid aside and numbered."""

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []
        self._parts, self._estimators = _parts(), _estimators()

    def estimator(self, estimator: Any) -> dict[str, Any]:
        parameters = estimator.get_params(deep=False)
        parameters["callback"] = None
        if not isinstance(parameters.get("random_state"), (int, np.integer)):
            parameters["random_state"] = None
        found = {
            name: value
            for name, value in vars(estimator).items()
            if name in _PRIVATE or (name.endswith("_") and not name.startswith("_"))
        }
        return {
            "estimator": type(estimator).__name__,
            "parameters": {name: self.value(value, name) for name, value in parameters.items()},
            "fitted": {name: self.value(value, name) for name, value in found.items()},
        }

    def value(self, value: Any, where: str) -> Any:
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, enum.Enum):
            return {"is": type(value).__name__, "of": value.name}
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, int):  # JSON readers stop at some length; hexadecimal text has no limit
            return value if abs(value) < 2**53 else {"is": "int", "of": hex(value)}
        if isinstance(value, float):
            return value if math.isfinite(value) else {"is": "float", "of": repr(value)}
        if isinstance(value, np.ndarray):
            return self._array(value, where)
        if isinstance(value, (tuple, list)):
            return {"is": type(value).__name__, "of": [self.value(item, where) for item in value]}
        if isinstance(value, dict):
            return {"is": "dict", "of": [[self.value(part, where) for part in pair] for pair in value.items()]}
        return self._object(value, where)

    def _array(self, value: np.ndarray, where: str) -> Any:
        if value.dtype.kind == "O":
            items = [self.value(item, where) for item in value.ravel().tolist()]
            return {"is": "objects", "shape": list(value.shape), "of": items}
        if value.dtype.kind not in _KINDS:
            raise ParameterError(f"{where} is an array of {value.dtype}, which a model file cannot hold.")
        self.arrays.append(value)
        return {"is": "array", "at": len(self.arrays) - 1}

    def _object(self, value: Any, where: str) -> Any:
        name = type(value).__name__
        if self._parts.get(name) is type(value) and is_dataclass(value):
            if isinstance(value, Fit):
                value = replace(value, points=None, carry=None)
            parts = {field.name: self.value(getattr(value, field.name), where) for field in fields(value) if field.init}
            return {"is": name, "of": parts}
        if isinstance(value, Design):
            return {"is": "Design", "of": {name: self.value(part, name) for name, part in _of_design(value).items()}}
        if self._estimators.get(name) is type(value):
            return {"is": "estimator", "of": self.estimator(value)}
        raise ParameterError(f"{where} is a {name}, which a model file cannot hold. Use a part of this library.")


def _of_design(design: Design) -> dict[str, Any]:
    levels = design.levels
    plain: dict[str, Any] = {"names": tuple(design.names), "memory_mb": design.memory_mb}
    if isinstance(levels, Table):
        kept = {name: getattr(levels, name) for name in ("basis", "mean", "scale", "X", "states")}
        return plain | kept | {"normalize": any(scale is not None for row in design.scaling for scale in row)}
    scaling = [[None if scale is None else dict(vars(scale)) for scale in row] for row in design.scaling]
    kept = {name: getattr(design, name) for name in ("columns", "row_in", "blocks", "unit")}
    return plain | kept | {"anchors": levels.anchors, "roots": getattr(levels, "_roots", None), "scaling": scaling}


# From text and arrays to objects


class _Reader:
    """Rebuilds what `_Writer` described, each part through its own class, which checks its values."""

    def __init__(self, store: _Store, max_bytes: int) -> None:
        self._store, self._max_bytes, self._parts = store, max_bytes, _parts()
        self._makers: dict[str, Callable[[Any, int], Any]] = {
            "array": lambda node, depth: self._store.array(node.get("at")),
            "objects": self._objects,
            "int": lambda node, depth: _long(node.get("of")),
            "float": lambda node, depth: {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[node["of"]],
            "list": lambda node, depth: [self.value(item, depth) for item in node["of"]],
            "tuple": lambda node, depth: tuple(self.value(item, depth) for item in node["of"]),
            "dict": lambda node, depth: {self.value(k, depth): self.value(v, depth) for k, v in node["of"]},
            "Status": lambda node, depth: Status[node["of"]],
            "Design": self._design,
            "estimator": lambda node, depth: self.estimator(node["of"], depth),
        }

    def whole(self, node: Any) -> Any:
        """The estimator, tried on one row."""
        estimator = self.estimator(node, 0)
        _try(estimator)
        return estimator

    def estimator(self, node: Any, depth: int) -> Any:
        kind = _estimators().get(str(node.get("estimator"))) if isinstance(node, dict) else None
        if kind is None:
            raise DataError(f"The model file asks for {_named(node, 'estimator')}, an estimator this library lacks.")
        parameters = {name: self.value(value, depth + 1) for name, value in node["parameters"].items()}
        known = kind().get_params(deep=False)
        if strange := sorted(set(parameters) - set(known)):
            raise DataError(f"{kind.__name__} has no parameter {strange[0]!r}; the model file gives one.")
        estimator = kind(**parameters)
        estimator._check_parameters()
        for name, value in node["fitted"].items():
            if name not in _PRIVATE and (not re.fullmatch(r"[a-zA-Z][a-zA-Z0-9_]*_", name) or hasattr(kind, name)):
                raise DataError(f"The model file sets {name[:60]!r}, which fitting {kind.__name__} does not.")
            setattr(estimator, name, self.value(value, depth + 1))
        _check_fitted(estimator)
        return estimator

    def value(self, node: Any, depth: int) -> Any:
        if not isinstance(node, dict):
            if isinstance(node, list):
                raise DataError("The description in the model file holds a bare list.")
            return node
        if depth > MAX_DEPTH:
            raise DataError(f"The description in the model file is nested more than {MAX_DEPTH} times.")
        name = node.get("is")
        if isinstance(name, str) and name in self._makers:
            return self._makers[name](node, depth + 1)
        if not isinstance(name, str) or name not in self._parts:
            raise DataError(f"The model file asks for {_named(node, 'is')}, which this library lacks.")
        kind: Any = self._parts[name]
        parts = {key: self.value(value, depth + 1) for key, value in node["of"].items()}
        if strange := sorted(set(parts) - {field.name for field in fields(kind) if field.init}):
            raise DataError(f"{name} has no part {strange[0][:60]!r}; the model file gives one.")
        made = kind(**parts)
        if isinstance(made, KernelMap):
            _check_map(made)
        if isinstance(made, FeatureMap):
            _check_features(made)
        return made

    def _objects(self, node: Any, depth: int) -> np.ndarray:
        items = [self.value(item, depth) for item in node["of"]]
        if not all(item is None or isinstance(item, (str, bool, int, float)) for item in items):
            raise DataError("An array of the model file holds something else than numbers and texts.")
        array = np.empty(len(items), dtype=object)
        array[:] = items
        return array.reshape([int(size) for size in node["shape"]])

    def _design(self, node: Any, depth: int) -> Design:
        parts = {name: self.value(value, depth) for name, value in node["of"].items()}
        memory = parts["memory_mb"]
        if not (isinstance(memory, (int, float)) and memory > 0):
            raise DataError(f"The model file gives memory_mb={memory!r}; expected a number above 0.")
        design = Design.__new__(Design)
        design.names, design._tables, design._grams = tuple(map(str, parts["names"])), {}, OrderedDict()
        design.memory_mb = min(memory, self._max_bytes / 2**20)
        if "basis" in parts:
            _table_design(design, parts)
        else:
            _matrix_design(design, parts)
        design.memory_mb = memory
        if len(design.names) != design.p:
            raise DataError(f"The model file names {len(design.names)} columns of {design.p}.")
        return design


def _table_design(design: Design, parts: dict[str, Any]) -> None:
    """A design over columns: its levels are computed again from the stored (standardised) rows."""
    levels = Table.__new__(Table)
    levels.basis, levels.X, levels.states = parts["basis"], _numbers(parts["X"], 2, "rows"), parts["states"]
    levels.mean, levels.scale = _numbers(parts["mean"], 1, "means"), np.asarray(parts["scale"], dtype=np.float64)
    levels.p, levels.n = levels.X.shape
    levels.q = levels.basis.q
    if levels.mean.shape != (levels.p,) or levels.scale.shape != (levels.p,) or not (levels.scale > 0).all():
        raise DataError("Means and scales in the model file do not fit its columns.")
    if len(levels.states) != levels.p:
        raise DataError("The states of the basis in the model file do not fit its columns.")
    design.levels, design.n, design.p, design.q = levels, levels.n, levels.p, levels.q
    if design.p * (design.q + 1) * design.n * 8 > design.memory_mb * 2**20:
        raise DataError("The levels of the basis in the model file need more memory than the limit; raise max_bytes.")
    design._read(bool(parts["normalize"]))


def _matrix_design(design: Design, parts: dict[str, Any]) -> None:
    """A design over Gram matrices that were given: everything is stored, the matrices themselves are not needed."""
    design.columns = _numbers(parts["columns"], 3, "columns")
    design.p, levels_count, design.n = design.columns.shape
    design.q = levels_count - 1
    design.row_in, design.unit = np.asarray(parts["row_in"], dtype=np.int64), np.asarray(parts["unit"], dtype=bool)
    design.blocks = _numbers(parts["blocks"], 2, "blocks")
    anchors = np.asarray(parts["anchors"], dtype=np.int64)
    grid = (design.p, levels_count)
    packed = design.n * (design.n + 1) // 2
    if design.row_in.shape != grid or anchors.shape != grid or design.unit.shape != (design.p,):
        raise DataError("The levels in the model file do not fit together.")
    if (design.row_in >= len(design.blocks)).any() or (design.blocks.size and design.blocks.shape[1] != packed):
        raise DataError("The blocks in the model file do not fit its levels.")
    levels = Matrices.__new__(Matrices)
    levels.p, levels.q, levels.n, levels.K, levels.anchors = design.p, design.q, design.n, None, anchors
    if (anchors >= design.n).any():
        raise DataError("The levels in the model file do not fit together.")
    if parts["roots"] is not None:
        levels._roots = _numbers(parts["roots"], 2, "roots")
    design.levels = levels
    design.scaling = [[None if scale is None else _scaling(scale) for scale in row] for row in parts["scaling"]]
    design.root_is_constant = bool(design.unit.all())


def _scaling(parts: dict[str, Any]) -> Scaling:
    if not set(parts) <= {"mean", "size", "rows", "total"}:
        raise DataError(f"The scaling of a level in the model file has unknown parts: {sorted(parts)}.")
    scaling = Scaling.__new__(Scaling)
    vars(scaling).update(parts)
    return scaling


# Checks


def _long(text: Any) -> int:
    if not isinstance(text, str) or len(text) > 1_000_000:
        raise DataError("The model file holds a whole number that is too long.")
    return int(text, 16)


def _named(node: Any, key: str) -> str:
    return repr(node.get(key))[:80] if isinstance(node, dict) else "something"


def _numbers(value: Any, ndim: int, what: str) -> np.ndarray:
    array = np.asarray(value)
    if array.dtype.kind not in "fiu" or array.ndim != ndim or not np.isfinite(array).all():
        raise DataError(f"The {what} in the model file are not finite numbers in {ndim} dimension(s).")
    return np.ascontiguousarray(array, dtype=np.float64)


def _check_map(found: KernelMap) -> None:
    M = len(found.specs)
    n, d = _numbers(found.rows, 2, "training rows").shape
    shapes = {
        "column_means": (d,), "column_scales": (d,), "scales": (M,), "factors": (M, n), "row_means": (M, n),
        "grand_means": (M,),
    }  # fmt: skip
    for name, shape in shapes.items():
        if _numbers(getattr(found, name), len(shape), name).shape != shape:
            raise DataError(f"{name} in the model file does not fit {M} kernels, {n} rows and {d} columns.")
    if found.normalise not in NORMALISATIONS or not isinstance(found.center, bool):
        raise DataError(f"The model file asks for the normalisation {str(found.normalise)[:60]!r}, which is unknown.")
    if found.kept.dtype.kind not in "iu" or found.kept.ndim != 1 or not ((found.kept >= 0) & (found.kept < n)).all():
        raise DataError("The model file refers to training rows that are not in it.")
    if not (found.scales > 0).all() or not (found.column_scales > 0).all():
        raise DataError("Scales in the model file must be above 0.")
    for spec in _all_specs(found.specs):
        if not isinstance(spec.features, tuple) or max(spec.features) >= d or spec.is_relative:
            raise DataError(f"A kernel of the model file does not fit its {d} columns: {spec!r}")


def _all_specs(specs: Sequence[KernelSpec]) -> Iterator[KernelSpec]:
    """The kernels and those they are made of."""
    for spec in specs:
        yield spec
        yield from _all_specs(getattr(spec, "parts", ()))


def _check_features(found: FeatureMap) -> None:
    """Numbers of a map to features that have to agree before anything is computed from them."""
    M = len(found.specs)
    m, D = _numbers(found.roots, 2, "roots").shape
    ends, places = np.asarray(found.ends), np.asarray(found.places)
    whole = isinstance(found.landmarks, KernelMap) and m == len(found.landmarks.rows) and found.landmarks.kept.size == m
    spans = ends.dtype.kind in "iu" and places.dtype.kind in "iu" and ends.shape == (M + 1,) and places.shape == (M,)
    if not (whole and spans and ends[0] == 0 and ends[-1] == D and np.array_equal(places, ends[:-1])):
        raise DataError("The features in the model file do not fit their landmarks.")
    if (np.diff(ends) < 0).any() or _numbers(found.means, 1, "means").size != D or not (found.scales > 0).all():
        raise DataError("The features in the model file do not fit their kernels.")
    if found.scales.shape != (M,) or found.normalise not in NORMALISATIONS or not isinstance(found.center, bool):
        raise DataError("The scales of the features in the model file do not fit their kernels.")


def _check_fitted(estimator: Any) -> None:
    """Sizes that have to agree before anything is computed from them."""
    check_is_fitted(estimator)
    for name in _PROVES:  # version 1 lacks them
        if not hasattr(estimator, name):
            setattr(estimator, name, None)
    M, n = len(estimator.kernel_names_), estimator.n_train_
    if not all(isinstance(name, str) for name in (*estimator.kernel_names_, *estimator.kernel_families_)):
        raise DataError("The names of the kernels in the model file are no texts.")
    for name in ("weights_", "dual_coef_", "dual_point_", "intercept_", "offset_", "refit_coef_", "refit_intercept_"):
        value = getattr(estimator, name, None)
        if value is not None and not np.isfinite(np.asarray(value, dtype=np.float64)).all():
            raise DataError(f"{name} in the model file holds values that are not finite.")
    for name in ("training_target_", "row_fingerprints_", "sample_weight_"):
        value = getattr(estimator, name)
        if value is not None and (np.shape(value)[:1] != (n,) or np.asarray(value).dtype.kind not in "fiu"):
            raise DataError(f"{name} in the model file does not hold numbers for each of {n} training rows.")
    weights, dual = np.asarray(estimator.weights_), np.asarray(estimator.dual_coef_)
    if weights.ndim not in (1, 2) or weights.shape[-1] != M or (weights < 0).any():
        raise DataError(f"weights_ in the model file does not hold one weight from 0 on for each of {M} kernels.")
    summed = dual.shape == (0,) and isinstance(getattr(estimator, "_map", None), FeatureMap)  # of rows in parts
    if (n not in dual.shape and not summed) or len(estimator.kernel_families_) != M:
        raise DataError(f"dual_coef_ in the model file does not fit {n!r} training rows.")
    found = getattr(estimator, "_map", None)
    if isinstance(found, FeatureMap):
        _check_coefficients(estimator, found, M)
    elif found is not None and (not isinstance(found, KernelMap) or (len(found.specs), found.kept.size) != (M, n)):
        raise DataError("The kernels in the model file do not fit its weights.")
    design = getattr(estimator, "design_", None)
    if design is not None and (not isinstance(design, Design) or design.n != n or len(estimator._nodes) != M):
        raise DataError("The nodes in the model file do not fit its design.")


def _check_coefficients(estimator: Any, found: FeatureMap, M: int) -> None:
    coefficients = np.asarray(getattr(estimator, "feature_coef_", None), dtype=np.float64)
    if len(found.specs) != M or int(found.ends[-1]) not in coefficients.shape or coefficients.ndim not in (1, 2):
        raise DataError("The features in the model file do not fit its weights.")
    if coefficients.ndim != np.ndim(estimator.dual_coef_) or not np.isfinite(coefficients).all():
        raise DataError("feature_coef_ in the model file does not fit its features.")


def _try(estimator: Any) -> None:
    """One prediction: what does not fit together in a way no check foresees shows here."""
    design, found = getattr(estimator, "design_", None), getattr(estimator, "_map", None)
    if found is not None:
        rows = found.rows[:1] * found.column_scales + found.column_means
    elif design is not None and isinstance(design.levels, Table):
        scale = np.where(np.isfinite(design.levels.scale), design.levels.scale, 0.0)
        rows = (design.levels.X[:, 0] * scale + design.levels.mean)[None]
    elif design is not None:
        rows = np.zeros((design.p, design.q + 1, 1, design.n))
    else:
        rows = np.zeros((len(estimator.kernel_names_), 1, estimator.n_train_))
    decision = estimator._decisions(rows)
    if decision.shape[0] != 1 or not np.isfinite(decision).all():
        raise DataError("The model in the file does not predict finite numbers.")
    if np.shape(estimator.predict(rows))[0] != 1:
        raise DataError("The model in the file does not predict one value per row.")
