"""What the app remembers: the only place with Streamlit's caches, each of them bounded.

Keys are a fingerprint and frozen parameters, never arrays: Streamlit hashes only a sample of a large array. What comes
from a sample is shared by all sessions. What comes from an uploaded file lives and dies with the session that uploaded
it, under a key that resolves nowhere else. Cached arrays are read-only.
"""

import gc
import hashlib
import sys
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path as File
from queue import SimpleQueue
from typing import Any, TypeVar

import numpy as np
import streamlit as st

import mklcore
from mklcore.data.dataset import Dataset, Split, counted, three_way_split
from mklcore.data.grouping import read_numbers, regrouped
from mklcore.data.reading import TableSummary, describe_table, read_table
from mklcore.data.samples import SAMPLES
from mklcore.data.workbooks import workbook_sheets
from mklcore.errors import DataError, KernelError
from mklcore.kernels import stacks
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.functions import RBF, KernelSpec, Laplacian, Linear, Polynomial
from mklcore.kernels.grams import Forecast, GramStack
from mklcore.kernels.measures import (
    alignment_matrix,
    constant_kernels,
    duplicates,
    effective_rank,
    eigenvalues,
    target_alignment,
)
from mklcore.kernels.notation import Entry, read_entries
from mklcore.kernels.spectra import BAND_KERNELS
from pages._parts import data_notes
from pages._parts.runs_store import Store, StoreError
from pages._parts.state import METHODS, UPLOAD, Params

MEMORY_LIMIT_MB = 800.0
# Above the limit and up to this, a stack is built only while the server holds no other one of its size.
LARGE_LIMIT_MB = 2600.0
UNUSED_SECONDS = 90.0
UPLOAD_LIMIT_MB = 20
STACK_LIMIT_MB = stacks.MAX_FILE_MB
AUTO_FEATURES = 40
# Between its leaves a solver holds the interpreter; at the usual 5 ms a turn, the server answered 70 times more slowly.
SWITCH_SECONDS = 0.0005
REMEMBERED_UPLOADS = 3
REMEMBERED_TABLES = 20

T = TypeVar("T")


class MissingFileError(Exception):
    """A link names an uploaded file that this session does not hold."""


class WaitError(KernelError):
    """The server's one place for a large stack is taken: what is asked for can be had later."""


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

    def drop(self, key: object) -> None:
        """Take away what lies under ``key``, if anything does."""
        with self._lock:
            self._items.pop(key, None)

    def made(self, key: object, make: Callable[[], T]) -> T:
        """Return what lies under ``key``, making it first if need be."""
        value = self.get(key)
        if value is None:
            value = make()
            self.put(key, value)
        return value


class LargePlace:
    """The server's one place for a stack above the usual limit: one is held at a time, the others wait and are told.

    Whoever holds it keeps it while looking at it. A stack that has left is only followed by the next one once nothing
    works on it any more, so that there are never two.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._key: object = None
        self._owner: object = None
        self._held: Any = None
        self._seen = 0.0
        self._last: Callable[[], object] = lambda: None

    def made(self, key: object, owner: object, make: Callable[[], T]) -> T:
        """Return what ``key`` names, making it if the place is free. Raises ``WaitError`` in words if it is not."""
        if not self._lock.acquire(blocking=False):
            raise WaitError(
                "The server is building a large stack, and it has room for one only. Try again in a moment."
            )
        try:
            if self._held is None or key != self._key:
                self._leave(owner)
                self._held, self._key = make(), key
                self._last = weakref.ref(_owner_of(self._held.train.values))
            self._owner, self._seen = owner, time.monotonic()
            return self._held
        finally:
            self._lock.release()

    def _leave(self, owner: object) -> None:
        left = UNUSED_SECONDS - (time.monotonic() - self._seen)
        if self._held is not None and owner is not self._owner and left > 0:
            raise WaitError(
                "Another session looks at a large stack, and the server has room for one only. It is free "
                f"{left:.0f} s after that session's last look. Wait, or use fewer kernels or rows."
            )
        self._held = None
        if self._last() is not None:
            gc.collect()
        if self._last() is not None:
            raise WaitError(
                "Work on the large stack before this one has not ended, and the server has room for one only. "
                "Try again in a moment, or cancel that work."
            )


def _owner_of(array: np.ndarray) -> np.ndarray:
    """Return the array that holds the memory of a view."""
    return array if not isinstance(array.base, np.ndarray) else _owner_of(array.base)


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
            mklcore.warmup.warm_up(progress.report)
        finally:
            progress.over = True

    threading.Thread(target=warm, name="warm-up", daemon=True).start()
    return progress


@st.cache_resource(max_entries=1, show_spinner=False)
def _shared_shelf() -> Shelf:
    return Shelf(96)


@st.cache_resource(max_entries=4, show_spinner=False)
def runs_in(home: str | None) -> Store:
    """Return the kept runs in a folder; unnamed work whose days are over leaves when the server starts."""
    kept = Store(None if home is None else File(home))
    with suppress(StoreError):
        kept.tidy()
    return kept


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


@st.cache_resource(max_entries=1, show_spinner=False)
def lessons() -> Shelf:
    """Return the shelf for what lessons found: about made data, so everybody's, and never pushed out by other results."""
    return Shelf(24)


# Tables


@dataclass(frozen=True)
class Upload:
    """A file as it came, kept for the session: the uploader itself is empty again after a change of page."""

    name: str
    content: bytes
    is_stack: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_stack", stacks.is_stack(self.content))


def keep_upload(name: str, content: bytes) -> str:
    """Keep a file in this session and return its name as a source of data: ``upload:`` and its SHA-256."""
    uploads: OrderedDict[str, Upload] = st.session_state.setdefault("uploads", OrderedDict())
    source = UPLOAD + hashlib.sha256(content).hexdigest()
    uploads[source] = Upload(name, content)
    uploads.move_to_end(source)
    while len(uploads) > REMEMBERED_UPLOADS or (len(uploads) > 1 and _megabytes(uploads) > STACK_LIMIT_MB):
        uploads.popitem(last=False)
    return source


def _megabytes(uploads: OrderedDict[str, Upload]) -> float:
    return sum(len(file.content) for file in uploads.values()) / 1e6


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
    if on_stack(params):
        return stack_file(params).table
    if params.data.startswith(UPLOAD):
        file = upload(params.data)
        key = ("table", replace(params.upto("data"), validation=0.25, test=0.25, seed=0, stratified=True, grouping=""))
        data = shelf(params).made(key, lambda: _read(params, file))
    else:
        data = _sample(params.data)
    if not params.grouping:
        return data
    return shelf(params).made(("grouped", data.fingerprint, params.grouping), lambda: regrouped(data, params.grouping))


def _read(params: Params, file: Upload) -> Dataset:
    """Read an uploaded table as the parameters ask for. Raises ``DataError`` in words."""
    with data_notes.for_people():
        return read_table(
            file.content, params.target or None, task=params.task or None, uses=uses(params), missing=params.missing,
            **as_read(params),
        )  # fmt: skip


def as_read(params: Params) -> dict[str, Any]:
    """Return how the file is to be opened, in the words of the library; None where reading finds out."""
    delimiters = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|", "spaces": " ", "": None}
    return {
        "sheet": params.sheet or None,
        "encoding": params.encoding or None,
        "delimiter": delimiters[params.delimiter],
        "decimal": {"point": ".", "comma": ",", "": None}[params.decimal],
        "header": {"yes": True, "no": False, "": None}[params.header],
    }


USES = {"n": "number", "c": "category", "x": "left out"}


def uses(params: Params) -> dict[str, str]:
    """Return what columns are to be taken for, by name. Raises ``DataError`` for columns that are not there."""
    if not params.uses:
        return {}
    names = [column.name for column in summary(params).columns]
    found = {}
    for part in params.uses.split(","):
        place = int(part[:-1])
        if not 1 <= place <= len(names):
            raise DataError(f"There is no column number {place}; the columns are numbered from 1 to {len(names)}.")
        found[names[place - 1]] = USES[part[-1]]
    return found


def summary(params: Params) -> TableSummary:
    """Return what an uploaded file holds, column by column, before a target is chosen. Raises ``DataError`` in words."""
    file, how = upload(params.data), as_read(params)
    key = ("summary", params.data, *how.values())
    with data_notes.for_people():
        return shelf(params).made(key, lambda: describe_table(file.content, **how))


def sheets(params: Params) -> tuple[str, ...]:
    """Return the names of the sheets of an uploaded workbook; none for other files."""
    file = upload(params.data)
    return shelf(params).made(("sheets", params.data), lambda: (workbook_sheets(file.content),))[0]


def on_stack(params: Params) -> bool:
    """Tell whether the table in use is a ready kernel stack, which knows no columns."""
    file = st.session_state.get("uploads", {}).get(params.data)
    return file is not None and file.is_stack


def stack_file(params: Params) -> stacks.StackFile:
    """Return the uploaded stack on all its rows. Raises ``MKLError`` in words, or ``MissingFileError``."""
    file = upload(params.data)
    only: Shelf = st.session_state.setdefault("stack_shelf", Shelf(1))  # it is large
    digest = params.data.removeprefix(UPLOAD)
    return only.made(
        (params.data, params.task, params.clip),
        lambda: stacks.read_stack(file.content, task=params.task or None, clip=params.clip, fingerprint=digest),
    )


def split(params: Params) -> Split:
    """Return the table cut into training, validation and test rows."""
    key = ("split", params.upto("data"))
    return shelf(params).made(
        key,
        lambda: three_way_split(table(params), params.validation, params.test, params.seed, stratify=params.stratified),
    )


# Kernels


def dictionary(params: Params) -> KernelDictionary:
    """Return the kernels the parameters ask for. Raises ``KernelError`` or ``ParameterError`` in words."""
    if on_stack(params):
        raise KernelError("The upload is a ready kernel stack: it has no columns to build kernels on.")
    specs = tuple(entry.spec for entry in entries(params) if entry.on)
    if not specs:
        raise KernelError("The dictionary is empty. Switch on at least one kind of kernel.")
    return KernelDictionary(specs, feature_names=table(params).feature_names)


def entries(params: Params) -> tuple[Entry, ...]:
    """Return the dictionary as a table: the one edited by hand, else what the builders make. ``MKLError`` in words."""
    data, text = table(params), edited_text(params)
    if text.startswith(ON_STACK):
        raise KernelError("This dictionary chooses kernels of a stack, but this table has columns. Use the builders.")
    return read_entries(text, data.n_features, data.groups) if text else tuple(map(Entry, built(params)))


KEPT, ON_STACK = "kept:", "stack@"


def edited_text(params: Params) -> str:
    """Return the dictionary edited by hand as text, empty where the builders make it. Raises ``KernelError`` in words."""
    if not params.edited.startswith(KEPT):
        return params.edited
    try:
        return st.session_state.get("kept_tables", {})[params.edited]
    except KeyError:
        raise KernelError(
            "This link is about a dictionary that was edited by hand and is too long for a link: it stays in the session "
            "that edited it. Go to Kernels and use the builders."
        ) from None


def keep_text(text: str, longest: int) -> str:
    """Return what stands for an edited dictionary in the parameters: its text, or a name this session resolves."""
    if len(text) <= longest:
        return text
    name = KEPT + hashlib.sha256(text.encode()).hexdigest()
    kept: OrderedDict[str, str] = st.session_state.setdefault("kept_tables", OrderedDict())
    kept[name] = text
    while len(kept) > REMEMBERED_TABLES:
        kept.popitem(last=False)
    return name


def built(params: Params) -> list[KernelSpec]:
    """Return what the builders make of the table in use."""
    data = table(params)
    multiples = width_multiples(params.widths)
    specs: list[KernelSpec] = [RBF(width, relative=True) for width in multiples]
    specs += [Laplacian(width, relative=True) for width in width_multiples(params.laplacians)]
    if params.linear:
        specs.append(Linear())
    if params.degree:
        specs.append(Polynomial(params.degree))
    each = _each(params.each, data.n_features)
    if each is not None:
        specs += KernelDictionary.per_feature(each, data.n_features)
    if params.groups and data.groups:
        specs += KernelDictionary.per_group(_kinds(params.group_kernels), data.groups)
    if params.bands:
        count = min(params.bands, data.n_features)
        specs += KernelDictionary.bands(count, _kinds(params.band_kernels), data.n_features)
    if params.subspaces:
        size = min(params.subspace_size, data.n_features)
        kinds = _kinds(params.subspace_kernel)
        specs += KernelDictionary.random_subspaces(kinds, size, params.subspaces, params.subspace_seed, data.n_features)
    return specs


def _kinds(choice: str) -> tuple[KernelSpec, ...]:
    """Return the kernels a builder puts on each of its choices of columns."""
    rbf = RBF(1.0, relative=True)
    return {
        "linear": (Linear(),),
        "rbf": (rbf,),
        "laplacian": (Laplacian(1.0, relative=True),),
        "both": (Linear(), rbf),
        "spectral": BAND_KERNELS,
    }[choice]


def width_multiples(count: int) -> list[float]:
    """Return ``count`` multiples of the median distance from 1/4 to 4, evenly spaced on a log scale."""
    if count <= 1:
        return [1.0] * count
    return [float(f"{m:.3g}") for m in np.geomspace(0.25, 4.0, count)]


def _each(choice: str, n_features: int) -> KernelSpec | None:
    if choice == "none" or (choice == "auto" and n_features > AUTO_FEATURES):
        return None
    return _kinds("linear" if choice == "auto" else choice)[0]


def normalisation(params: Params) -> str:
    """Return how kernels are normalised; "auto" is what the algorithm's estimators do by themselves."""
    if params.normalise != "auto":
        return params.normalise
    return getattr(METHODS[params.algorithm].classifier, "default_normalise", None) or "none"


@dataclass(frozen=True, eq=False)
class Grams:
    """The kernels on the training rows, and against them on the validation rows: (M, n, n) and (M, n_val, n)."""

    train: GramStack
    validation: np.ndarray


def foresee(params: Params) -> Forecast:
    """Return what the kernels on training and validation rows will cost, before they are built."""
    parts = split(params)
    n_rows, n_new = len(parts.train.y), len(parts.validation.y)
    if on_stack(params):
        n_kernels = len(chosen_kernels(params))
        return Forecast(8 * n_kernels * n_rows * (n_rows + n_new), 0.0, n_kernels)
    cost = dictionary(params).foresee(n_rows)
    more = n_new / n_rows
    return Forecast(cost.bytes + 8 * cost.n_kernels * n_rows * n_new, cost.seconds * (1 + more), cost.n_kernels)


def _build_grams(params: Params, _parts: Split, _kernels: KernelDictionary) -> Grams:
    normalise = None if params.normalise == "none" else params.normalise  # never "auto": grams() has settled it
    stack = _kernels.grams(_parts.train.X, normalise, params.center, memory_limit_mb=LARGE_LIMIT_MB)
    validation = stack.cross(_parts.validation.X)
    validation.setflags(write=False)
    return Grams(stack, validation)


def _cut_grams(key: object, _parts: Split, _stack: GramStack) -> Grams:
    validation = stacks.block_of(_stack, _parts.validation, _parts.train)
    validation.setflags(write=False)
    return Grams(_stack.take(stacks.rows_of(_parts.train)), validation)


# Stacks are the large things: few are kept, and each is the same object for everyone who asks.
_grams_shared = st.cache_resource(max_entries=3, show_spinner="Building the kernels")(_build_grams)
_grams_private = st.cache_resource(max_entries=1, scope="session", show_spinner="Building the kernels")(_build_grams)
_grams_cut = st.cache_resource(max_entries=1, scope="session", show_spinner="Cutting the stack")(_cut_grams)


@st.cache_resource(max_entries=1, show_spinner=False)
def large_place() -> LargePlace:
    """Return the server's one place for a large stack."""
    return LargePlace()


def grams(params: Params) -> Grams:
    """Return the Gram matrices for these parameters. Raises ``MKLError`` in words."""
    cost = foresee(params)
    if on_stack(params):
        key = (params.upto("data"), params.edited)
        return _grams_cut(key, split(params), _chosen_stack(params))
    settled = replace(params.upto("kernels"), normalise=normalisation(params))
    if cost.megabytes > MEMORY_LIMIT_MB:
        return _large_grams(settled, cost)
    build = _grams_private if params.data.startswith(UPLOAD) else _grams_shared
    return build(settled, split(params), dictionary(params))


def _large_grams(settled: Params, cost: Forecast) -> Grams:
    """Return a stack above the usual limit from the server's one place for it."""
    if cost.megabytes > LARGE_LIMIT_MB:
        n_rows = len(split(settled).train.y)
        most = int(cost.n_kernels * LARGE_LIMIT_MB / cost.megabytes)
        raise KernelError(
            f"{counted(cost.n_kernels, 'kernel')} on {n_rows:,} training rows need {cost.megabytes:,.0f} MB, above the limit "
            f"of {LARGE_LIMIT_MB:,.0f} MB. Keep at most {most:,} of these kernels, or give fewer rows to training."
        )
    owner = st.session_state.setdefault("me", object())
    parts, kernels = split(settled), dictionary(settled)
    with st.spinner("Building the kernels"):
        return large_place().made(settled, owner, lambda: _build_grams(settled, parts, kernels))


def chosen_kernels(params: Params) -> tuple[int, ...]:
    """Return which kernels of an uploaded stack are switched on. Raises ``KernelError`` in words."""
    count, text = stack_file(params).stack.n_kernels, edited_text(params)
    if not text.startswith(ON_STACK):
        return tuple(range(count))
    try:
        return read_numbers(text.removeprefix(ON_STACK), count, "kernel")
    except DataError as error:
        raise KernelError(str(error)) from None


def _chosen_stack(params: Params) -> GramStack:
    stack, chosen = stack_file(params).stack, chosen_kernels(params)
    return stack if len(chosen) == stack.n_kernels else stacks.subset(stack, chosen)


def test_rows(params: Params) -> np.ndarray:
    """Return what a model takes for the test rows: rows of the table, or their block (M, n_test, n) of a stack."""
    parts = split(params)
    if not on_stack(params):
        return parts.test.X
    return stacks.block_of(_chosen_stack(params), parts.test, parts.train)


@dataclass(frozen=True, eq=False)
class Measures:
    """How the kernels agree with each other (M, M) and with the target (M,), which is NaN where there is no target."""

    between: np.ndarray
    target: np.ndarray


def measures(params: Params) -> Measures:
    """Return the alignments of the kernels in use."""

    def compare() -> Measures:
        stack, train = grams(params).train, split(params).train
        if train.task == "novelty":
            return Measures(alignment_matrix(stack), np.full(stack.n_kernels, np.nan))
        return Measures(alignment_matrix(stack), target_alignment(stack, train.y, train.task))

    known = shelf(params).get(("measures", params.upto("kernels")))
    with nullcontext() if known is not None else st.spinner("Comparing the kernels"):
        return shelf(params).made(("measures", params.upto("kernels")), compare)


@dataclass(frozen=True, eq=False)
class Traits:
    """What stands out about the kernels in use.

    ranks (M,): effective ranks. twin: the kernel that each repeats, by index, None where it repeats none. constant: which
    kernels are the same number everywhere. lost: names of kernels of the dictionary that were left out as constant.
    """

    ranks: np.ndarray
    twin: tuple[int | None, ...]
    constant: tuple[bool, ...]
    lost: tuple[str, ...]


def traits(params: Params) -> Traits:
    """Return effective ranks, repeated and constant kernels."""

    def look() -> Traits:
        stack = grams(params).train
        first = {m: group[0] for group in duplicates(stack) for m in group[1:]}
        lost = () if on_stack(params) else tuple(n for n in dictionary(params).names if n not in set(stack.names))
        twins = tuple(first.get(m) for m in range(stack.n_kernels))
        return Traits(effective_rank(stack), twins, tuple(constant_kernels(stack).tolist()), lost)

    return shelf(params).made(("traits", params.upto("kernels"), normalisation(params)), look)


def spectrum(params: Params, index: int) -> np.ndarray:
    """Return the eigenvalues of one kernel on the training rows, the largest first."""
    key = ("spectrum", params.upto("kernels"), normalisation(params), index)
    return shelf(params).made(key, lambda: eigenvalues(grams(params).train.values[index]))
