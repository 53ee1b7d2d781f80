"""What the app remembers: the only place with Streamlit's caches, each of them bounded.

Keys are a fingerprint and frozen parameters, never arrays: Streamlit hashes only a sample of a large array. What comes
from a sample is shared by all sessions. What comes from an uploaded file lives and dies with the session that uploaded
it, under a key that resolves nowhere else. Cached arrays are read-only.
"""

import hashlib
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, TypeVar

import numpy as np
import streamlit as st

import mklcore
from mklcore.data.dataset import Dataset, Split, three_way_split
from mklcore.data.reading import TableSummary, describe_table, read_table
from mklcore.data.samples import SAMPLES
from mklcore.errors import KernelError
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.functions import RBF, KernelSpec, Linear, Polynomial
from mklcore.kernels.grams import GramStack
from mklcore.kernels.measures import alignment_matrix, eigenvalues, target_alignment
from pages._parts.state import UPLOAD, Params

MEMORY_LIMIT_MB = 800.0
UPLOAD_LIMIT_MB = 20
AUTO_FEATURES = 40
# Between its leaves a solver holds the interpreter; at the usual 5 ms a turn, the server answered 70 times more slowly.
SWITCH_SECONDS = 0.0005
REMEMBERED_UPLOADS = 3

T = TypeVar("T")


class MissingFileError(Exception):
    """A link names an uploaded file that this session does not hold."""


class Shelf:
    """A bounded store of finished results that threads may share; the least recently used leaves first."""

    def __init__(self, size: int) -> None:
        self._size, self._lock = size, threading.Lock()
        self._items: OrderedDict[object, Any] = OrderedDict()

    def get(self, key: object) -> Any:
        """Return what lies under ``key``, or None."""
        with self._lock:
            if key in self._items:
                self._items.move_to_end(key)
            return self._items.get(key)

    def put(self, key: object, value: Any) -> None:
        """Lay ``value`` under ``key``."""
        with self._lock:
            self._items[key] = value
            self._items.move_to_end(key)
            while len(self._items) > self._size:
                self._items.popitem(last=False)

    def made(self, key: object, make: Callable[[], T]) -> T:
        """Return what lies under ``key``, making it first if need be."""
        value = self.get(key)
        if value is None:
            value = make()
            self.put(key, value)
        return value


class Worker:
    """One thread that does one piece of work after another, and ends with the server instead of holding it back."""

    def __init__(self) -> None:
        self._waiting: SimpleQueue[Callable[[], None]] = SimpleQueue()
        threading.Thread(target=self._go_on, name="worker", daemon=True).start()

    def submit(self, work: Callable[[], None]) -> None:
        """Put ``work`` at the end of the line; it has to deal with its own errors."""
        self._waiting.put(work)

    def _go_on(self) -> None:
        while True:
            self._waiting.get()()


class Warmth:
    """How far the first compilation of the leaves has come."""

    def __init__(self) -> None:
        self.fraction, self.what, self.over = 0.0, "starting", False

    def report(self, fraction: float, what: str) -> None:
        """Take one line of progress from the library."""
        self.fraction, self.what = min(max(fraction, 0.0), 1.0), what


@st.cache_resource(max_entries=1, show_spinner=False)
def worker() -> Worker:
    """Return the server's one worker for background jobs."""
    return Worker()


@st.cache_resource(max_entries=1, show_spinner=False)
def warmth() -> Warmth:
    """Start compiling the leaves, once per server. A job need not wait for all of them, so they have their own thread."""
    progress = Warmth()
    sys.setswitchinterval(SWITCH_SECONDS)

    def warm() -> None:
        try:
            mklcore.warm_up(progress.report)
        finally:
            progress.over = True

    threading.Thread(target=warm, name="warm-up", daemon=True).start()
    return progress


@st.cache_resource(max_entries=1, show_spinner=False)
def _shared_shelf() -> Shelf:
    return Shelf(96)


def shelf(params: Params) -> Shelf:
    """Return the shelf for results about these parameters' table: everybody's for a sample, the session's for a file."""
    if params.data.startswith(UPLOAD):
        return st.session_state.setdefault("shelf", Shelf(48))
    return _shared_shelf()


@st.cache_resource(max_entries=1, show_spinner=False)
def _shared_hulls() -> Shelf:
    return Shelf(6)


def hulls(params: Params) -> Shelf:
    """Return the shelf for paths of hulls, which hold their levels for prediction: large, so few are kept."""
    if params.data.startswith(UPLOAD):
        return st.session_state.setdefault("hull_shelf", Shelf(2))
    return _shared_hulls()


# Tables


@dataclass(frozen=True)
class Upload:
    """A file as it came, kept for the session: the uploader itself is empty again after a change of page."""

    name: str
    content: bytes


def keep_upload(name: str, content: bytes) -> str:
    """Keep a file in this session and return its name as a source of data: ``upload:`` and its SHA-256."""
    uploads: OrderedDict[str, Upload] = st.session_state.setdefault("uploads", OrderedDict())
    source = UPLOAD + hashlib.sha256(content).hexdigest()
    uploads[source] = Upload(name, content)
    while len(uploads) > REMEMBERED_UPLOADS:
        uploads.popitem(last=False)
    return source


def upload(source: str) -> Upload:
    """Return a file of this session; raises ``MissingFileError`` when the session does not hold it."""
    try:
        return st.session_state.get("uploads", {})[source]
    except KeyError:
        raise MissingFileError(source) from None


@st.cache_resource(max_entries=len(SAMPLES), show_spinner=False)
def _sample(name: str) -> Dataset:
    return SAMPLES[name].load()


def table(params: Params) -> Dataset:
    """Return the table in use. Raises ``DataError`` in words, or ``MissingFileError``."""
    if not params.data.startswith(UPLOAD):
        return _sample(params.data)
    file = upload(params.data)
    key = ("table", params.data, params.target)
    return shelf(params).made(key, lambda: read_table(file.content, target=params.target or None))


def summary(params: Params) -> TableSummary:
    """Return what an uploaded file holds, column by column, before a target is chosen. Raises ``DataError`` in words."""
    file = upload(params.data)
    return shelf(params).made(("summary", params.data), lambda: describe_table(file.content))


def split(params: Params) -> Split:
    """Return the table cut into training, validation and test rows."""
    key = ("split", params.upto("data"))
    return shelf(params).made(key, lambda: three_way_split(table(params), params.validation, params.test, params.seed))


# Kernels


def dictionary(params: Params) -> KernelDictionary:
    """Return the kernels the parameters ask for. Raises ``KernelError`` or ``ParameterError`` in words."""
    data = table(params)
    specs: list[KernelSpec] = [RBF(width, relative=True) for width in width_multiples(params.widths)]
    if params.linear:
        specs.append(Linear())
    if params.degree:
        specs.append(Polynomial(params.degree))
    each = _each(params.each, data.n_features)
    if each is not None:
        specs += KernelDictionary.per_feature(each, data.n_features)
    if params.groups and data.groups:
        specs += KernelDictionary.per_group(RBF(1.0, relative=True), data.groups)
    if not specs:
        raise KernelError("The dictionary is empty. Switch on at least one kind of kernel.")
    return KernelDictionary(tuple(specs), feature_names=data.feature_names)


def width_multiples(count: int) -> list[float]:
    """Return ``count`` multiples of the median distance from 1/4 to 4, evenly spaced on a log scale."""
    if count <= 1:
        return [1.0] * count
    return [float(f"{m:.3g}") for m in np.geomspace(0.25, 4.0, count)]


def _each(choice: str, n_features: int) -> KernelSpec | None:
    if choice == "none" or (choice == "auto" and n_features > AUTO_FEATURES):
        return None
    return RBF(1.0, relative=True) if choice == "rbf" else Linear()


@dataclass(frozen=True, eq=False)
class Grams:
    """The kernels on the training rows, and against them on the validation rows: (M, n, n) and (M, n_val, n)."""

    train: GramStack
    validation: np.ndarray


def _build_grams(params: Params, _parts: Split, _kernels: KernelDictionary) -> Grams:
    normalise = None if params.normalise == "none" else params.normalise
    stack = _kernels.grams(_parts.train.X, normalise, params.center, memory_limit_mb=MEMORY_LIMIT_MB)
    validation = stack.cross(_parts.validation.X)
    validation.setflags(write=False)
    return Grams(stack, validation)


# Stacks are the large things: few are kept, and each is the same object for everyone who asks.
_grams_shared = st.cache_resource(max_entries=3, show_spinner="Building the kernels")(_build_grams)
_grams_private = st.cache_resource(max_entries=1, scope="session", show_spinner="Building the kernels")(_build_grams)


def grams(params: Params) -> Grams:
    """Return the Gram matrices for these parameters. Raises ``MKLError`` in words."""
    build = _grams_private if params.data.startswith(UPLOAD) else _grams_shared
    return build(params.upto("kernels"), split(params), dictionary(params))


@dataclass(frozen=True, eq=False)
class Measures:
    """How the kernels agree with each other (M, M) and with the target (M,)."""

    between: np.ndarray
    target: np.ndarray


def measures(params: Params) -> Measures:
    """Return the alignments of the kernels in use."""

    def compare() -> Measures:
        stack, train = grams(params).train, split(params).train
        return Measures(alignment_matrix(stack), target_alignment(stack, train.y, train.task))

    return shelf(params).made(("measures", params.upto("kernels")), compare)


def spectrum(params: Params, index: int) -> np.ndarray:
    """Return the eigenvalues of one kernel on the training rows, the largest first."""
    key = ("spectrum", params.upto("kernels"), index)
    return shelf(params).made(key, lambda: eigenvalues(grams(params).train.values[index]))
