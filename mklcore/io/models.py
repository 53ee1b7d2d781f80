"""Fitted models in one file: a zip archive of plain arrays and one JSON text. Nothing in it is ever executed.

    model.json       format, version, estimator, its parameters, and what fitting left behind
    arrays/k.npy     the arrays the text refers to, in NumPy's own format without objects

`load_model` rebuilds every part through the class it belongs to, so that a part out of its range is refused,
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
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np

from mklcore import catalog, estimators
from mklcore.errors import DataError, ParameterError
from mklcore.io.archive import KINDS, Members, write_archive
from mklcore.io.checks import (
    check_features,
    check_fitted,
    check_map,
    check_prediction,
    numbers,
)
from mklcore.kernels.composed import COMPOSED
from mklcore.kernels.dictionary import Band, KernelDictionary, RandomColumns
from mklcore.kernels.functions import KERNELS
from mklcore.kernels.interactions import ColumnMeasure
from mklcore.kernels.maps import KernelMap
from mklcore.kernels.nystroem import Nystroem
from mklcore.kernels.operators.factored import FeatureMap
from mklcore.kernels.sequence_dictionary import SequenceDictionary
from mklcore.kernels.sequences import SEQUENCE_KERNELS
from mklcore.losses import LOSSES
from mklcore.penalties import PENALTIES, SumOfTerms
from mklcore.solvers.driver import Fit, Record, Status
from mklcore.solvers.hkl.bases import BASES
from mklcore.solvers.hkl.design import Design
from mklcore.solvers.hkl.graph import Graph
from mklcore.solvers.hkl.levels import Matrices, Scaling, Table
from mklcore.solvers.hkl.listed import ListedSpace

FORMAT, VERSION = "mklcore model", 2
READABLE = (1, 2)  # version 1 lacks what proves an answer: target, row fingerprints, sample weights, dual point
MAX_BYTES = 2**30
_RETIRED = {("Fit", "passed")}  # parts of version 0.1 that nothing reads any more
MAX_DEPTH = 40
MOST_LETTERS = 600  # of a refusal
_PRIVATE = ("_map", "_nodes")  # besides the public attributes with a trailing underscore

Target = str | os.PathLike[str] | IO[bytes]


def _estimators() -> dict[str, type]:
    """Every estimator a file may hold, by the name of its class: those of the library and those of the registry."""
    from sklearn.base import BaseEstimator

    found = [kind for kind in (getattr(estimators, name) for name in estimators.__all__) if isinstance(kind, type)]
    for algorithm in catalog.ESTIMATORS.values():
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
            Graph,
            Band,
            RandomColumns,
            KernelDictionary,
            SequenceDictionary,
            ColumnMeasure,
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
    The file also holds what proves the answer: the training target, a fingerprint of every training row, sample weights
    and the dual point. ``python -m mklcore.verify MODEL.mkl TABLE.csv`` computes everything again from them.

    Parameters
    ----------
    path : path or binary file
        File to write: a path, or a file open for writing bytes.
    estimator : estimator
        Fitted estimator of this library, such as ``explore(data).model``.

    Examples
    --------
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
    from sklearn.utils.validation import check_is_fitted

    if _estimators().get(type(estimator).__name__) is not type(estimator):
        raise ParameterError(f"save_model takes a fitted estimator of mklcore, got {type(estimator).__name__}.")
    check_is_fitted(estimator)
    writer = _Writer()
    text = {"format": FORMAT, "version": VERSION, "model": writer.estimator(estimator)}
    raw = json.dumps(text, allow_nan=False, separators=(",", ":")).encode()
    if isinstance(path, (str, os.PathLike)):
        # Beside its place first, so that a failure never leaves half a file under the name asked for.
        place = Path(path)
        beside = place.with_name(f".{place.name}.{os.getpid()}")
        try:
            with beside.open("wb") as file:
                write_archive(file, raw, writer.arrays)
            beside.replace(place)
        finally:
            beside.unlink(missing_ok=True)
    else:
        write_archive(path, raw, writer.arrays)


def load_model(path: Target, *, max_bytes: int = MAX_BYTES) -> Any:
    """The fitted estimator in a file that `save_model` wrote: a path, or a file open for reading bytes.

    Raises DataError, with what is wrong, for every other file: another format or version, damage, unknown classes or
    parameters, arrays that do not fit together, values that are not finite, more than ``max_bytes`` when unpacked.

    Parameters
    ----------
    path : path or binary file
        File that ``save_model`` wrote: a path, or a file open for reading bytes.
    max_bytes : int, default 1073741824
        Most bytes that the file may take once it is unpacked.

    Returns
    -------
    estimator
        The fitted estimator.
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
        store = Members(archive, max_bytes)
        text = store.text()
        if not isinstance(text, dict) or text.get("format") != FORMAT:
            raise DataError("The file is no saved model; expected one that save_model wrote.")
        if text.get("version") not in READABLE:
            raise DataError(
                f"The model was saved in version {text.get('version')!r} of the format, this library reads "
                f"versions {', '.join(map(str, READABLE))}. Use the release that wrote it, or fit and save the model "
                "again."
            )
        return _Reader(store, max_bytes).whole(text.get("model"))


# The archive


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
        if value.dtype.kind not in KINDS:
            raise ParameterError(f"{where} is an array of {value.dtype}, which a model file cannot hold.")
        self.arrays.append(value)
        return {"is": "array", "at": len(self.arrays) - 1}

    def _object(self, value: Any, where: str) -> Any:
        name = type(value).__name__
        if self._parts.get(name) is type(value) and is_dataclass(value):
            if isinstance(value, Fit):
                value = replace(value, points=None, carry=None, screened=None)
            parts = {field.name: self.value(getattr(value, field.name), where) for field in fields(value) if field.init}
            return {"is": name, "of": parts}
        if isinstance(value, Design):
            return {"is": "Design", "of": {name: self.value(part, name) for name, part in _of_design(value).items()}}
        if isinstance(value, ListedSpace):
            return {"is": name, "of": {part: self.value(held, part) for part, held in _of_space(value).items()}}
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


def _of_space(space: ListedSpace) -> dict[str, Any]:
    """What a graph of kernels needs to predict: the map of its kernels to new rows."""
    kept = {name: getattr(space, name) for name in ("labels", "place", "transform", "n", "memory_mb")}
    return {"graph": replace(space.graph, kernels=None)} | kept


# From text and arrays to objects


class _Reader:
    """Rebuilds what `_Writer` described, each part through its own class, which checks its values."""

    def __init__(self, store: Members, max_bytes: int) -> None:
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
            "ListedSpace": self._listed_space,
            "estimator": lambda node, depth: self.estimator(node["of"], depth),
        }

    def whole(self, node: Any) -> Any:
        """The estimator, tried on one row."""
        estimator = self.estimator(node, 0)
        check_prediction(estimator)
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
        check_fitted(estimator)
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
        parts = {key: self.value(value, depth + 1) for key, value in node["of"].items() if (name, key) not in _RETIRED}
        if strange := sorted(set(parts) - {field.name for field in fields(kind) if field.init}):
            raise DataError(f"{name} has no part {strange[0][:60]!r}; the model file gives one.")
        made = kind(**parts)
        if isinstance(made, KernelMap):
            check_map(made)
        if isinstance(made, FeatureMap):
            check_features(made)
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

    def _listed_space(self, node: Any, depth: int) -> ListedSpace:
        parts = {name: self.value(value, depth) for name, value in node["of"].items()}
        graph, place, n = parts["graph"], np.asarray(parts["place"], dtype=np.int64), parts["n"]
        if not isinstance(graph, Graph) or place.shape != (len(graph),) or len(parts["labels"]) != len(graph):
            raise DataError("The nodes in the model file do not fit their graph.")
        found = parts["transform"]
        known = len(graph) if found is None else len(found.specs) if isinstance(found, KernelMap) else 0
        if (place >= known).any() or not (isinstance(n, int) and n > 0):
            raise DataError("The kernels in the model file do not fit their graph.")
        return ListedSpace.restored(graph, tuple(map(str, parts["labels"])), place, found, n, float(parts["memory_mb"]))


def _table_design(design: Design, parts: dict[str, Any]) -> None:
    """A design over columns: its levels are computed again from the stored (standardised) rows."""
    levels = Table.__new__(Table)
    levels.basis, levels.X, levels.states = parts["basis"], numbers(parts["X"], 2, "rows"), parts["states"]
    levels.mean, levels.scale = numbers(parts["mean"], 1, "means"), np.asarray(parts["scale"], dtype=np.float64)
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
    design.columns = numbers(parts["columns"], 3, "columns")
    design.p, levels_count, design.n = design.columns.shape
    design.q = levels_count - 1
    design.row_in, design.unit = np.asarray(parts["row_in"], dtype=np.int64), np.asarray(parts["unit"], dtype=bool)
    design.blocks = numbers(parts["blocks"], 2, "blocks")
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
        levels._roots = numbers(parts["roots"], 2, "roots")
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
