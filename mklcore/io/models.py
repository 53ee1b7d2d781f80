"""Fitted models in one file: a zip archive of plain arrays and one JSON text.

Nothing in it is ever executed.

    model.json       format, version, and the estimator: its parameters and fitted attributes
    arrays/k.npy     the arrays the text refers to, in NumPy's own format without objects

`load_model` rebuilds every part through the class it belongs to, so that a part out of its range is
refused, and then predicts once. Names of classes are looked up in a fixed list; sizes are bounded
before anything is read. A kernel model predicts by comparing with its training rows: the file holds
them, standardised.
"""

from __future__ import annotations

import enum
import io
import json
import math
import os
import re
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import partial
from importlib import import_module
from itertools import compress
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import pandas

from mklcore import estimators
from mklcore.arrays import Labels
from mklcore.data.packed import array_content, array_header, bounded_json
from mklcore.data.reading import Feature, TableEncoder
from mklcore.errors import DataError, ParameterError
from mklcore.hkl.bases import BASES
from mklcore.hkl.design import Design, Kernels, Matrices, TableLevels
from mklcore.hkl.graph import Graph
from mklcore.io import catalog
from mklcore.io.user_folders import write_whole
from mklcore.kernels.blends import ColumnCurve, Ranked
from mklcore.kernels.dictionary import Band, KernelDictionary, RandomColumns, SequenceDictionary
from mklcore.kernels.features import FeatureMap, Nystroem
from mklcore.kernels.functions import COMPOSED, KERNELS
from mklcore.kernels.interactions import ColumnMeasure
from mklcore.kernels.kernel_map import NORMALISATIONS, KernelMap
from mklcore.kernels.sequences import SEQUENCE_KERNELS
from mklcore.paths.path import Path as SolutionPath
from mklcore.problem.driver import Fit, Record, Status
from mklcore.problem.losses import LOSSES
from mklcore.problem.penalties import PENALTIES, SumOfTerms

FORMAT = "mklcore model"
VERSION = 4
MAX_BYTES = 2**30
MAX_TEXT = 64 * 2**20
MAX_ARRAYS = 20_000
MAX_DEPTH = 40
MOST_LETTERS = 600  # of an error message
_TEXT = "model.json"
_SAME_DAY = (1980, 1, 1, 0, 0, 0)  # so that the same model makes the same bytes
_ANSWER = "mklcore.answer.saved"  # a higher layer, which is imported only when it is needed
_OF_ANSWERS = ("SavedAnswer", "Exploration", "AutoMKLClassifier", "AutoMKLRegressor", "Conformal")
_PRIVATE = ("_map",)  # besides the public attributes with a trailing underscore
_NO_MODEL = "The file is no saved model; expected one that save_model wrote."

Target = str | os.PathLike[str] | IO[bytes]


def save_model(path: Target, estimator: Any) -> None:
    """Write a fitted estimator of this library, or an answer, into one file.

    ParameterError for an estimator of another library; scikit-learn's NotFittedError for one that
    is not fitted. An answer (`explore`) is saved with its model, the encoder of its table, its
    verdict, columns and path, and with its intervals for tables of at most 5,000 rows or where they
    were computed; `AutoMKLClassifier` and `AutoMKLRegressor` hold one.
    ``callback`` is not saved, nor a ``random_state`` that is no number. The loaded model makes the
    same predictions. The file also holds the proof of the answer: the training target, a
    fingerprint of every training row, sample weights and the dual point. ``python -m mklcore.verify
    MODEL.mkl TABLE.csv`` recomputes everything from them.

    Parameters
    ----------
    path : path or binary file
        File to write: a path, or a file open for writing bytes.
    estimator : estimator or Exploration
        Fitted estimator of this library, or an answer.

    Examples
    --------
    >>> import tempfile, os
    >>> from mklcore.data.samples import load_sample
    >>> from mklcore.estimators.baselines import UniformMKLClassifier

    >>> data = load_sample("iris")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(os.path.join(folder, "iris.mkl"), UniformMKLClassifier().fit(data.X, data.y))
    ...     again = load_model(os.path.join(folder, "iris.mkl"))
    >>> again.predict(data.X[:1]).shape
    (1,)
    """
    if hasattr(path, "get_params") or not (
        isinstance(path, (str, os.PathLike)) or hasattr(path, "write")
    ):
        raise ParameterError(
            "save_model takes the file first and then the model: save_model('model.mkl', "
            f"model); got {type(path).__name__} as the file and {type(estimator).__name__} "
            "as the model."
        )
    if type(estimator).__name__ in _OF_ANSWERS:
        estimator = import_module(_ANSWER).for_a_file(estimator)
    writer = _Writer(type(estimator).__name__)
    text = {"format": FORMAT, "version": VERSION, "model": writer.whole(estimator)}
    arrays = writer.arrays
    raw = json.dumps(text, allow_nan=False, separators=(",", ":")).encode()
    if not isinstance(path, (str, os.PathLike)):
        _write(path, raw, arrays)
        return
    write_whole(Path(path), lambda file: _write(file, raw, arrays))


def _write(
    file: IO[bytes],
    text: bytes,
    arrays: list[Labels],
) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(_TEXT, _SAME_DAY), text, zipfile.ZIP_DEFLATED)
        for k, array in enumerate(arrays):
            with archive.open(
                zipfile.ZipInfo(f"arrays/{k}.npy", _SAME_DAY), "w", force_zip64=True
            ) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def load_model(path: Target, *, max_bytes: int = MAX_BYTES) -> Any:
    """Load the fitted estimator or answer from a file that `save_model` wrote.

    Raises DataError, with what is wrong, for every other file: another format or version, damage,
    unknown classes or parameters, arrays that do not fit together, values that are not finite, more
    than ``max_bytes`` when unpacked.

    Parameters
    ----------
    path : path or binary file
        File that ``save_model`` wrote: a path, or a file open for reading bytes.
    max_bytes : int, default 1073741824
        Most bytes that the file may take once it is unpacked.

    Returns
    -------
    estimator or SavedAnswer
        The saved object; an answer predicts raw rows of the table as before.
    """
    try:
        if isinstance(path, (str, os.PathLike)):
            with Path(path).open("rb") as file:
                return _read(file, max_bytes)
        if not hasattr(path, "read"):
            raise DataError(
                f"A model is read from a path or an open file, got {type(path).__name__}."
            )
        return _read(path if path.seekable() else io.BytesIO(path.read(max_bytes + 1)), max_bytes)
    except DataError as error:
        raise DataError(_in_short(str(error))) from error
    except OSError as error:
        raise DataError(f"The model file cannot be opened: {error.strerror or error}.") from error
    except Exception as error:  # a damaged file leads its reader into any of them
        raise DataError(
            _in_short(f"The model file is damaged: {type(error).__name__}: {str(error)[:300]}")
        ) from error


def _in_short(sentence: str) -> str:
    """An error message that can be shown although it quotes the file, which may hold anything."""
    shown = sentence if len(sentence) <= MOST_LETTERS else f"{sentence[:MOST_LETTERS]}..."
    return shown.encode("utf-8", "replace").decode("utf-8")


def _read(file: IO[bytes], max_bytes: int) -> Any:
    try:
        archive = zipfile.ZipFile(file)
    except zipfile.BadZipFile:
        raise DataError(_NO_MODEL) from None
    with archive:
        members = archive.infolist()
        sizes = {member.filename: member.file_size for member in members}
        if len(members) > MAX_ARRAYS or len(sizes) < len(members):
            raise DataError(
                f"The model file has {len(members)} entries, some doubled or more than "
                f"{MAX_ARRAYS}."
            )
        if sum(sizes.values()) > max_bytes:
            raise DataError(
                f"The model file unpacks to {sum(sizes.values()) / 1e6:,.0f} MB, more than "
                f"the limit of {max_bytes / 1e6:,.0f} MB. If you trust it, raise max_bytes."
            )
        if _TEXT not in sizes:
            raise DataError(_NO_MODEL)
        if sizes[_TEXT] > MAX_TEXT:
            raise DataError(
                f"The description in the model file is longer than {MAX_TEXT // 2**20} MB."
            )
        text = bounded_json(archive.read(_TEXT))
        if not isinstance(text, dict) or text.get("format") != FORMAT:
            raise DataError(_NO_MODEL)
        if text.get("version") != VERSION:
            raise DataError(
                f"The model was saved in version {text.get('version')!r} of the format, "
                f"this library reads version {VERSION}. Use the release that wrote it, or "
                "fit and save the model again."
            )
        node = text.get("model")
        root = node.get("is") if isinstance(node, dict) else None
        reader = _Reader(str(root), archive, sizes, max_bytes)
        if root not in _OF_ANSWERS:
            return reader.estimator(node, 0)
        found = reader.value(node, 0)
        import_module(_ANSWER).check(found)
        return found


# The parts that a file may hold

# Dataclasses that are in no registry.
_DATACLASSES: tuple[Any, ...] = (
    KernelMap,
    FeatureMap,
    KernelDictionary,
    SequenceDictionary,
    TableEncoder,
    Feature,
    Graph,
    Band,
    RandomColumns,
    ColumnMeasure,
    ColumnCurve,
    Nystroem,
    SumOfTerms,
    Fit,
    Record,
)


class _Part(NamedTuple):
    """A class by its name: how its objects are taken apart, and made again."""

    kind: Any
    take: Callable[[Any], dict[str, Any]]
    make: Callable[..., Any]
    names: frozenset[str] | None = None  # None: ``make`` refuses others


def _known(
    root: str,
    max_bytes: int,
) -> tuple[dict[str, _Part], dict[str, Any]]:
    """The parts and the estimators that a file may hold, by the names of their classes.

    They are the present entries of the registries, and a few more; those of answers are added where
    ``root``, the class of the whole, is one.
    """
    from sklearn.base import BaseEstimator  # not at start-up

    kinds = [getattr(estimators, name) for name in estimators.__all__]
    for algorithm in catalog.ESTIMATORS.values():
        kinds += [algorithm.classifier, algorithm.regressor, algorithm.novelty]
    dataclasses: list[Any] = [entry.spec for entry in (KERNELS | SEQUENCE_KERNELS).values()]
    dataclasses += (COMPOSED | LOSSES | PENALTIES | BASES).values()
    dataclasses += _DATACLASSES
    parts = [
        _Part(Design, _of_design, partial(_design, max_bytes)),
        _Part(Kernels, _of_kernels, _kernels),
    ]
    if root in _OF_ANSWERS:
        saved = import_module(_ANSWER)
        kinds += saved.ESTIMATORS
        dataclasses += saved.DATACLASSES
        content = frozenset({"content"})
        parts.append(_Part(SolutionPath, saved.written_path, saved.read_path, content))
        for kind in saved.TUPLES:
            parts += [_Part(kind, kind._asdict, kind, frozenset(kind._fields))]
    makers: dict[Any, Any] = {KernelMap: _kernel_map, FeatureMap: _feature_map}
    for kind in filter(is_dataclass, dataclasses):
        names = frozenset(field.name for field in fields(kind) if field.init)
        parts.append(_Part(kind, _init_fields, makers.get(kind, kind), names))
    by_name = {part.kind.__name__: part for part in parts}
    is_estimator = (isinstance(kind, type) and issubclass(kind, BaseEstimator) for kind in kinds)
    return by_name, {kind.__name__: kind for kind in compress(kinds, is_estimator)}


def _init_fields(value: Any) -> dict[str, Any]:
    """The fields that make a dataclass; for a fit, without the start of a neighbouring fit."""
    if isinstance(value, Fit):
        value = replace(value, points=None, carry=None, screened=None)
    return {field.name: getattr(value, field.name) for field in fields(value) if field.init}


def _of_design(design: Design) -> dict[str, Any]:
    """The parts that make a design: rows, Gram matrices (p, q+1, n, n), or kernels of a graph."""
    levels = design.levels
    common = {
        "names": tuple(design.names),
        "normalize": design.normalise,
        "memory_mb": design.memory_mb,
    }
    if isinstance(levels, Kernels):
        assert design.graph is not None
        return common | {"X": levels, "graph": replace(design.graph, kernels=None)}
    if isinstance(levels, Matrices):
        return common | {"X": levels.K}
    finite = np.where(np.isfinite(levels.scale), levels.scale, 0.0)
    standardize = bool(np.any(levels.mean != 0.0) or np.any(levels.scale != 1.0))
    return common | {
        "X": levels.X.T * finite + levels.mean,
        "basis": levels.basis,
        "standardize": standardize,
    }


def _design(max_bytes: int, **parts: Any) -> Design:
    X = parts.pop("X")
    parts["normalise"] = parts.pop("normalize")
    memory = parts["memory_mb"]
    graph = parts.get("graph")
    if isinstance(X, Kernels):
        fits = isinstance(graph, Graph) and len(X.labels) == len(graph)
        _expect(fits, "The kernels in the model file do not fit their graph.")
        return Design(X, **parts)
    X = np.asarray(X)
    levels = getattr(parts.get("basis"), "q", 0) + 1 if X.ndim == 2 else 1
    fits = isinstance(memory, (int, float)) and memory > 0 and X.size * levels * 8 <= max_bytes
    _expect(
        fits,
        f"The levels in the model file need more memory than the limit, or memory_mb={memory!r}.",
    )
    design = Design(
        _numbers("rows", X, X.ndim), **parts | {"memory_mb": min(memory, max_bytes / 2**20)}
    )
    design.memory_mb = memory
    _expect(
        len(design.names) == design.p,
        f"The model file names {len(design.names)} columns of {design.p}.",
    )
    return design


def _of_kernels(kernels: Kernels) -> dict[str, Any]:
    """The parts of the kernels of a graph that are needed to predict."""
    return {name: getattr(kernels, name) for name in ("labels", "place", "transform", "n")}


def _kernels(labels: Any, place: Any, transform: Any, n: Any) -> Kernels:
    known = 0
    if transform is None:
        known = len(labels)
    elif isinstance(transform, KernelMap):
        known = len(transform.specs)
    fits = np.shape(place) == (len(labels),) and place.dtype.kind in "iu" and (place < known).all()
    _expect(fits, "The kernels in the model file do not fit their graph.")
    _expect(isinstance(n, int) and n > 0, f"The kernels in the model file are of {n!r} rows.")
    return Kernels(tuple(map(str, labels)), place, transform, n)


# From objects to text and arrays


class _Writer:
    """Turns a fitted estimator into JSON; arrays are numbered and written apart."""

    def __init__(self, root: str) -> None:
        self.arrays: list[Labels] = []
        self.parts, self.estimators = _known(root, MAX_BYTES)
        self._written: dict[int, int] = {}

    def whole(self, value: Any) -> Any:
        """A model, or an answer."""
        is_part = type(value).__name__ in self.parts
        return self.value(value, "the answer") if is_part else self.estimator(value)

    def estimator(self, estimator: Any) -> dict[str, Any]:
        """A fitted estimator, or the number of one that was written before."""
        from sklearn.utils.validation import check_is_fitted  # not at start-up

        if id(estimator) in self._written:
            return {"is": "again", "of": self._written[id(estimator)]}
        kind = type(estimator)
        if self.estimators.get(kind.__name__) is not kind:
            raise ParameterError(
                f"save_model takes a fitted estimator of mklcore, got {kind.__name__}."
            )
        check_is_fitted(estimator)
        parameters = estimator.get_params(deep=False)
        for name in {"callback", "random_state"} & set(parameters):
            if not isinstance(parameters[name], (int, np.integer)):
                parameters[name] = None
        fitted = {}
        for name, value in vars(estimator).items():
            is_public = name.endswith("_") and not name.startswith("_")
            if is_public or name in _PRIVATE:
                fitted[name] = value
        found = {
            "is": kind.__name__,
            "parameters": self._values(parameters),
            "fitted": self._values(fitted),
        }
        self._written[id(estimator)] = len(self._written)
        return found

    def _values(self, values: dict[str, Any]) -> dict[str, Any]:
        return {name: self.value(value, name) for name, value in values.items()}

    def value(self, value: Any, where: str) -> Any:
        if isinstance(value, np.generic):
            value = value.item()
        kind = type(value).__name__
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, enum.Enum):
            return {"is": kind, "of": value.name}
        # JSON readers limit the length of numbers; hexadecimal text has no limit.
        if isinstance(value, int):
            return value if abs(value) < 2**53 else {"is": "int", "of": hex(value)}
        if isinstance(value, float):
            return value if math.isfinite(value) else {"is": "float", "of": repr(value)}
        if isinstance(value, np.ndarray):
            return self._array(value, where)
        if isinstance(value, frozenset):
            return {"is": kind, "of": sorted(value)}
        if isinstance(value, (tuple, list)) and kind not in self.parts:
            return {"is": kind, "of": [self.value(item, where) for item in value]}
        if isinstance(value, dict):
            return {
                "is": "dict",
                "of": [[self.value(part, where) for part in pair] for pair in value.items()],
            }
        if self.estimators.get(kind) is type(value):
            return self.estimator(value)
        part = self.parts.get(kind)
        if part is None or part.kind is not type(value):
            raise ParameterError(
                f"{where} is a {kind}, which a model file cannot hold. Use a part of this library."
            )
        return {
            "is": kind,
            "of": {name: self.value(held, where) for name, held in part.take(value).items()},
        }

    def _array(self, value: Labels, where: str) -> Any:
        if value.dtype.kind == "O":
            items = [self.value(item, where) for item in value.ravel().tolist()]
            return {"is": "objects", "shape": list(value.shape), "of": items}
        if value.dtype.kind not in "fiubU":
            raise ParameterError(
                f"{where} is an array of {value.dtype}, which a model file cannot hold."
            )
        self.arrays.append(value)
        return {"is": "array", "of": len(self.arrays) - 1}


# From text and arrays to objects


class _Reader:
    """Rebuilds what `_Writer` wrote, each part through its own class, which checks its values."""

    def __init__(
        self, root: str, archive: zipfile.ZipFile, sizes: Mapping[str, int], max_bytes: int
    ) -> None:
        self._archive = archive
        self._sizes = sizes
        self._unread = set(sizes)
        self.parts, self.estimators = _known(root, max_bytes)
        self._made: list[Any] = []
        self._plain: dict[str, Callable[[Any], Any]] = {
            "array": self._array,
            "int": lambda of: int(of[:1_000_000], 16),
            "float": lambda of: {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[of],
            "Status": lambda of: Status[of],
            "frozenset": lambda of: frozenset(map(str, of)),
            "again": lambda of: self._made[of],
        }

    def estimator(self, node: Any, depth: int) -> Any:
        kind: Any = self.estimators.get(str(node.get("is"))) if isinstance(node, dict) else None
        _expect(
            kind is not None,
            f"The model file asks for {_named(node)}, an estimator this library lacks.",
        )
        given = self._values(node["parameters"], depth)
        fitted = self._values(node["fitted"], depth)
        for name in sorted(given.keys() - set(kind._get_param_names())):
            raise DataError(f"{kind.__name__} has no parameter {name!r}; the model file gives one.")
        estimator = kind(**given)
        for name, value in fitted.items():
            usual = name in _PRIVATE or (
                re.fullmatch(r"[a-zA-Z][a-zA-Z0-9_]*_", name) and not hasattr(kind, name)
            )
            _expect(
                usual, f"The model file sets {name[:60]!r}, which fitting {kind.__name__} does not."
            )
            setattr(estimator, name, value)
        if kind.__name__ not in _OF_ANSWERS:
            estimator._check_parameters()
            _check_fitted(estimator)
            _check_prediction(estimator)
        self._made.append(estimator)
        return estimator

    def _values(self, nodes: dict[str, Any], depth: int) -> dict[str, Any]:
        return {name: self.value(node, depth + 1) for name, node in nodes.items()}

    def value(self, node: Any, depth: int) -> Any:
        _expect(not isinstance(node, list), "The description in the model file holds a bare list.")
        if not isinstance(node, dict):
            return node
        _expect(
            depth <= MAX_DEPTH,
            f"The description in the model file is nested more than {MAX_DEPTH} times.",
        )
        name = str(node.get("is"))
        of = node.get("of")
        if name in self._plain:
            return self._plain[name](of)
        if name in ("tuple", "list", "objects"):
            items = [self.value(item, depth + 1) for item in of or ()]
            if name == "objects":
                return _objects(items, node["shape"])
            return tuple(items) if name == "tuple" else items
        if name == "dict":
            return {
                self.value(key, depth + 1): self.value(value, depth + 1) for key, value in of or ()
            }
        if name in self.estimators:
            return self.estimator(node, depth + 1)
        part = self.parts.get(name)
        if part is None or not isinstance(of, dict):
            raise DataError(f"The model file asks for {_named(node)}, which this library lacks.")
        for strange in of.keys() - part.names if part.names is not None else ():
            raise DataError(f"{name} has no part {strange[:60]!r}; the model file gives one.")
        return part.make(**self._values(of, depth))

    def _array(self, k: Any) -> Labels:
        member = f"arrays/{k}.npy"
        _expect(member in self._sizes, f"The model file lacks its array {k!r}.")
        # An array that is read repeatedly would take more memory than the size of the file.
        _expect(member in self._unread, f"The model file uses its array {k!r} twice.")
        self._unread.remove(member)
        with self._archive.open(member) as file:
            header = array_header(file)
            fits = header.dtype.kind in "fiubU" and header.dtype.isnative
            _expect(
                fits,
                f"Array {k} of the model file holds {header.dtype}; expected numbers or texts.",
            )
            fits = header.start + header.nbytes == self._sizes[member]
            _expect(fits, f"Array {k} of the model file has another size than it says.")
            return array_content(f"array {k} of the model file", file)


def _objects(items: list[Any], shape: list[int]) -> Labels:
    plain = all(item is None or isinstance(item, (str, bool, int, float)) for item in items)
    _expect(plain, "An array of the model file holds something else than numbers and texts.")
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array.reshape(shape)


def _named(node: Any) -> str:
    return repr(node.get("is"))[:80] if isinstance(node, dict) else "something"


# Checks that everything fits together, before anything is computed from it


def _expect(holds: Any, sentence: str) -> None:
    """DataError with a sentence about the file unless something holds."""
    if not holds:
        raise DataError(sentence)


def _numbers(
    name: str,
    value: Any,
    ndim: int,
    dtype: Any = np.float64,
) -> Labels:
    array = np.asarray(value)
    fits = array.dtype.kind in ("fiu" if dtype is np.float64 else "iu") and array.ndim == ndim
    _expect(fits, f"{name} in the model file holds no numbers in {ndim} dimension(s).")
    _expect(np.isfinite(array).all(), f"{name} in the model file holds values that are not finite.")
    return np.ascontiguousarray(array, dtype=dtype)


def _fitting(
    parts: dict[str, Any],
    shapes: str,
    **sizes: int,
) -> dict[str, int]:
    """Check the arrays of ``parts`` against shapes such as "rows:nd scales:M".

    Every letter of a shape stands for one size.
    """
    for item in shapes.split():
        name, axes = item.split(":")
        dtype = np.int64 if name in ("kept", "ends", "places") else np.float64
        parts[name] = _numbers(name, parts[name], len(axes), dtype)
        for axis, size in zip(axes, parts[name].shape, strict=True):
            known = sizes.setdefault(axis, size)
            _expect(
                size == known,
                f"{name} in the model file does not fit: expected {known} for {axis}, got {size}.",
            )
    known_scale = (parts["scales"] > 0).all() and parts["normalise"] in NORMALISATIONS
    _expect(
        known_scale,
        f"A scale in the file is not above 0, or normalisation {parts['normalise']!r} is unknown.",
    )
    _expect(
        isinstance(parts["center"], bool),
        f"center in the model file is {parts['center']!r}; expected a bool.",
    )
    return sizes


def _kernel_map(**parts: Any) -> KernelMap:
    shapes = (
        "rows:nd column_means:d column_scales:d scales:M factors:Mn row_means:Mn "
        "grand_means:M kept:k"
    )
    weights = parts["weights"]
    sizes = _fitting(parts, shapes + " weights:n" * (weights is not None), M=len(parts["specs"]))
    fits = weights is None or (weights.min() >= 0 and weights.max() > 0)
    _expect(fits, "Weights of training rows in the model file are below 0, or all 0.")
    fits = ((parts["kept"] >= 0) & (parts["kept"] < sizes["n"])).all() and (
        parts["column_scales"] > 0
    ).all()
    _expect(
        fits,
        "The model file refers to training rows that are not in it, or scales are not above 0.",
    )
    waiting = list(parts["specs"])
    while waiting:
        spec = waiting.pop()
        fits = (
            isinstance(spec.features, tuple)
            and max(spec.features) < sizes["d"]
            and not spec.relative
        )
        _expect(fits, f"A kernel of the model file does not fit its {sizes['d']} columns: {spec!r}")
        if not isinstance(spec, Ranked):  # whose part sees values and ranks, not columns
            waiting += getattr(spec, "parts", ())
    return KernelMap(**parts)


def _feature_map(**parts: Any) -> FeatureMap:
    near = parts["landmarks"]
    fits = isinstance(near, KernelMap) and near.kept.size == len(near.rows)
    _expect(fits, "The features in the model file have no landmarks.")
    sizes = _fitting(
        parts, "roots:mD ends:E means:D scales:M places:M", M=len(near.specs), m=len(near.rows)
    )
    ends = parts["ends"]
    fits = (
        sizes["E"] == sizes["M"] + 1
        and ends[0] == 0
        and ends[-1] == sizes["D"]
        and (np.diff(ends) >= 0).all()
    )
    fits = fits and np.array_equal(parts["places"], ends[:-1])
    _expect(fits, "The features in the model file do not fit their kernels or coefficients.")
    return FeatureMap(**parts)


_FINITE = (
    "weights_",
    "dual_coef_",
    "dual_point_",
    "intercept_",
    "offset_",
    "refit_coef_",
    "refit_intercept_",
)
_OF_ROWS = ("training_target_", "row_fingerprints_", "sample_weight_")


def _check_fitted(estimator: Any) -> None:
    """Sizes that have to agree before anything is computed from them."""
    from sklearn.utils.validation import check_is_fitted  # not at start-up

    check_is_fitted(estimator)
    M = len(estimator.kernel_names_)
    n = estimator.n_train_
    names = (*estimator.kernel_names_, *estimator.kernel_families_)
    texts = all(isinstance(name, str) for name in names)
    _expect(texts, "The names of the kernels in the model file are no texts.")
    for name in _FINITE:
        if (value := getattr(estimator, name, None)) is not None:
            _numbers(name, value, np.ndim(value))
    for name in _OF_ROWS:
        if (value := getattr(estimator, name, None)) is not None:
            fits = np.shape(value)[:1] == (n,) and np.asarray(value).dtype.kind in "fiu"
            _expect(
                fits,
                f"{name} in the model file does not hold numbers for each of {n} training rows.",
            )
    weights = np.asarray(estimator.weights_)
    fits = weights.ndim in (1, 2) and weights.shape[-1] == M and (weights >= 0).all()
    _expect(
        fits,
        f"weights_ in the model file does not hold one weight from 0 on for each of {M} kernels.",
    )
    _check_kernels(estimator, M, n)
    _check_additions(estimator)
    if (design := getattr(estimator, "design_", None)) is not None:
        fits = hasattr(design, "cross") and design.n == n and len(estimator._nodes) == M
        _expect(fits, "The nodes in the model file do not fit its design.")


def _check_kernels(estimator: Any, M: int, n: int) -> None:
    """The dual and the kernels of a model have to fit its M weights and n rows."""
    found = getattr(estimator, "_map", None)
    dual = np.asarray(estimator.dual_coef_)
    summed = dual.shape == (0,) and isinstance(found, FeatureMap)  # of rows in parts
    fits = (summed or n in dual.shape) and len(estimator.kernel_families_) == M
    _expect(fits, f"dual_coef_ in the model file does not fit {n!r} training rows.")
    fits = found is None
    if isinstance(found, FeatureMap):
        given = getattr(estimator, "feature_coef_", None)
        coefficients = _numbers("feature_coef_", given, dual.ndim)
        fits = len(found.specs) == M and int(found.ends[-1]) in coefficients.shape
    elif isinstance(found, KernelMap):
        fits = (len(found.specs), found.kept.size) == (M, n)
    _expect(fits, "The kernels in the model file do not fit its weights.")


def _check_additions(estimator: Any) -> None:
    """What some models have besides their kernels: calibrated probabilities and an encoder."""
    if (sigmoids := getattr(estimator, "calibration_", None)) is not None:
        outputs = len(estimator.classes_) if len(estimator.classes_) > 2 else 1
        fits = _numbers("calibration_", sigmoids, 2).shape == (outputs, 2)
        _expect(
            fits,
            f"calibration_ in the model file does not hold slope and offset of {outputs} outputs.",
        )
    if (encoder := getattr(estimator, "encoder_", None)) is not None:
        features = encoder.features if isinstance(encoder, TableEncoder) else (None,)
        fits = all(isinstance(feature, Feature) for feature in features)
        _expect(
            fits, "The encoder in the model file holds something else than features of columns."
        )


def _check_prediction(estimator: Any) -> None:
    """Predict once, which shows what does not fit together in a way that no check foresees."""
    design = getattr(estimator, "design_", None)
    found = getattr(estimator, "_map", None) or getattr(
        getattr(design, "levels", None), "transform", None
    )
    if found is not None:
        rows: Any = found.rows[:1] * found.column_scales + found.column_means
    elif design is None or design.graph is not None:
        kernels = estimator.kernel_names_ if design is None else design.names
        rows = np.zeros((len(kernels), 1, estimator.n_train_))
    elif isinstance(design.levels, TableLevels):
        rows = np.zeros((1, design.p))
    else:
        rows = np.zeros((design.p, design.q + 1, 1, design.n))
    if (names := getattr(estimator, "feature_names_in_", None)) is not None:
        rows = pandas.DataFrame(rows, columns=names)
    decision = estimator._decisions(rows)
    finite = decision.shape[0] == 1 and np.isfinite(decision).all()
    fits = finite and len(estimator.predict(rows)) == 1
    _expect(fits, "The model in the file does not predict one finite number or class per row.")
