"""Persistence: uploads, tables after a reload or a restart, saved screens, and answers that come
with the project.

A saved screen is a zip archive of what the page shows: ``screen.json`` (page, parameters as a link
has them, name of the table), the bytes of an uploaded ``table``, the ``path`` and the ``model`` of
the library. Dropped on the start page it opens, here or on another server. Nothing in it is
executed, and sizes are bounded before anything is read.
"""

from __future__ import annotations

import hashlib
import io
import json
import logging
import os
import re
import threading
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import streamlit as st
from cachetools import TTLCache

from mklcore.answer.verdict import ColumnEffect
from mklcore.data.packed import bounded_json
from mklcore.data.samples import SAMPLES
from mklcore.errors import DataError
from mklcore.figures.hulls import HullLayout
from mklcore.io import launcher
from mklcore.kernels.stacks import MAX_FILE_MB
from mklcore.paths.files import read_paths, write_paths
from mklcore.paths.path import Path as Solved
from pages.shared import private_streamlit
from pages.shared.private_streamlit import bold, plain
from pages.shared.session import disk_files, parameters, state
from pages.shared.session.parameters import ANSWER, SEARCH, UPLOAD, Params, TableParams, upload_name
from pages.shared.session.state import Upload, memory
from pages.shared.values import tables
from pages.shared.widgets import controls
from pages.shared.work import work
from pages.shared.work.machine import memory_bytes

if TYPE_CHECKING:
    from mklcore.answer.exploration import Exploration

FORMAT = "MKL Explorer screen 1"
ENDING = "mklx"
SCREEN = "screen.json"
TABLE = "table"
PATH = "path.npz"
MODEL = "model.mkl"
MOST = {
    SCREEN: 2**20,
    TABLE: int(MAX_FILE_MB * 1e6),
    PATH: 2**26,
    MODEL: 2**28,
}
START = b"PK\x03\x04"
# for how long, and in which share of the memory, a reload finds its table
RELOAD_SECONDS = 3600.0
RELOAD_SHARE = 0.05
MOST_TABLES = 20  # of one person, in the folder


class Screen(NamedTuple):
    """What a page shows: parameters as the parts of a link, and what was brought along and
    computed.
    """

    page: str
    link: dict[str, str]
    name: str = ""  # of the uploaded table
    table: bytes = b""
    dictionary: str = ""  # edited by hand, where it is too long for a link
    path: Solved | None = None
    model: bytes = b""


# The file


class DamagedError(DataError):
    """A file fails its own checksum: bytes of it changed, or some are missing."""


FAILED_CHECKSUM = zipfile.BadZipFile, zlib.error, EOFError


def is_screen(content: bytes) -> bool:
    """Whether a file says of itself that it is a saved screen."""
    return content.startswith(START) and content[30 : 30 + len(SCREEN)] == SCREEN.encode()


def write(screen: Screen, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A screen as one file, compressed by a ``method`` of zip archives."""
    text = {name: getattr(screen, name) for name in ("page", "link", "name", "dictionary")} | {
        "format": FORMAT
    }
    parts = {
        SCREEN: json.dumps(text).encode(),
        TABLE: screen.table,
        MODEL: screen.model,
    }
    if screen.path is not None:
        parts[PATH] = write_paths(path=screen.path)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compresslevel=1) as archive:
        for name, content in parts.items():
            if content:
                archive.writestr(zipfile.ZipInfo(name), content, method)
    return file.getvalue()


def read(content: bytes) -> Screen:
    """The screen in a file.

    DataError, with what is wrong, for anything else: another file, damage, sizes.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = {member.filename: member for member in archive.infolist()}
            if len(members) != len(archive.infolist()) or not {SCREEN} <= set(members) <= set(MOST):
                raise DataError(
                    f"it holds {', '.join(list(members)[:5])[:80]} and not what a saved "
                    "screen holds."
                )
            for name, member in members.items():
                if member.file_size > MOST[name]:
                    raise DataError(
                        f"its {name} has {member.file_size / 1e6:,.0f} MB, more than "
                        f"{MOST[name] / 1e6:,.0f}."
                    )
            parts = {name: archive.read(member) for name, member in members.items()}
        text = bounded_json(parts[SCREEN])
        if text["format"] != FORMAT:
            raise DataError(f"its format is {str(text['format'])[:40]!r}, not {FORMAT!r}.")
        asked = {str(name): str(value) for name, value in dict(text["link"]).items()}
        table = parts.get(TABLE, b"")
        source = asked.get("data", "")
        if source.startswith(UPLOAD) and source != upload_name(table):
            raise DamagedError("its table is not the one that was saved: bytes of it changed.")
        return Screen(
            str(text["page"]),
            asked,
            str(text["name"])[:200],
            table,
            str(text["dictionary"]),
            read_paths(parts[PATH])["path"] if PATH in parts else None,
            parts.get(MODEL, b""),
        )
    except MemoryError as error:
        raise DataError(
            "This saved screen cannot be opened now: the memory does not suffice."
        ) from error
    except Exception as error:  # a damaged archive leads its readers into any of them
        reason = (
            str(error)
            if isinstance(error, DataError)
            else f"it is damaged ({type(error).__name__})."
        )
        kind = DamagedError if isinstance(error, (DamagedError, *FAILED_CHECKSUM)) else DataError
        raise kind(
            f"This saved screen cannot be opened: {reason} Save it again where it was "
            "made, or drop the table itself."
        ) from error


# This session


def begin() -> None:
    """In every run: bring back a table that this session lacks, keep those it has, go where a click
    leads.
    """
    _take_table()
    source = state.current().data
    browser = private_streamlit.browser()
    if source.startswith(UPLOAD) and source not in memory().uploads:
        found = _RELOADS.get(browser, source) or _from_folder(source)
        if found is not None:
            state.keep_upload(found.name, found.content)
    if (
        state.current().edited.startswith(state.KEPT)
        and state.current().edited not in memory().tables
    ):
        text = _RELOADS.get(browser, state.current().edited)
        if text is not None:
            state.keep_text(text, longest=0)
    for name, text in memory().tables.items():
        _RELOADS.put(browser, name, text)
    for name, file in memory().uploads.items():
        _RELOADS.put(browser, name, file)
        if name not in memory().places:
            _to_folder(name, file)
    page = memory().next_page
    memory().next_page = None
    if page is not None and page != memory().page:
        state.go(page)


def _take_table() -> None:
    """Take the table that the server was started with, where the link has its secret."""
    secret = memory().link.table
    memory().link.table = ""
    if not secret:
        return
    found = launcher.take(secret)
    if found is None:
        state.refuse(
            "The link to the table of the command line works once, and was used. Choose "
            "the file on Data, or start mkl-explorer with it again."
        )
        return
    state.read_again({"data": state.keep_upload(*found)})


# The table that a browser had last


OWN_TABLE = "mkl_table"  # a cookie that frame.js sets, until the browser is closed
LONGEST_COOKIE = 3000


def own_table() -> str | None:
    """Return what the browser shall remember of the table in use: its link and name; "" once a tab
    that had one of its own has gone over to a sample, None where this tab has nothing to say.
    """
    params = state.current()
    if not params.is_upload:
        return "" if memory().uploads else None
    if params.data not in memory().uploads:
        return None
    name = memory().uploads[params.data].name[:200]
    link = parameters.link_text(params)
    whole = json.dumps({"name": name, "link": link})
    return (
        whole
        if len(whole) <= LONGEST_COOKIE
        else json.dumps({"name": name, "link": {"data": params.data}})
    )


def remembered() -> tuple[str, dict[str, str]] | None:
    """Return name and link of the table that this session's browser had last; it may be anything
    that was sent.
    """
    try:
        found = bounded_json(private_streamlit.cookie(OWN_TABLE)[: 2 * LONGEST_COOKIE].encode())
        link = {str(name): str(value) for name, value in found["link"].items()}
        return (str(found["name"])[:200], link) if link["data"].startswith(UPLOAD) else None
    except Exception:  # nothing, or no words of ours
        return None


def offer() -> bool:
    """Where a tab begins without parameters in a browser that had a table of its own, offer that
    and the sample.
    """
    found = remembered() if memory().link.is_lost and state.current() == Params() else None
    if found is None:
        memory().link.is_lost = False
        return False
    name, link = found
    sample = tables.called(state.current())
    st.info(
        (
            "This tab was disconnected, or was opened without a link. This browser had the "
            f"table {plain(name)}."
        ),
        icon=":material/link_off:",
    )
    with controls.row():
        st.button(
            f"Go on with {plain(name)}",
            key="own_table",
            type="primary",
            on_click=_take_up,
            args=(link,),
        )
        st.button(
            f"Look at the sample {plain(sample)}", key="the_sample", on_click=_take_up, args=({},)
        )
    return True


def _take_up(link: dict[str, str]) -> None:
    memory().link.is_lost = False
    params, refused = parameters.read_link(link)
    state.set_params(params)
    state.refuse(*refused)


def missing(params: Params) -> bool:
    """Whether these parameters need a file or a dictionary that this session does not hold."""
    lacks_text = params.edited.startswith(state.KEPT) and params.edited not in memory().tables
    return lacks_text or (params.is_upload and params.data not in memory().uploads)


def saving() -> Callable[[], bytes]:
    """What writes the screen of this session when it is asked for; it knows no session."""
    params, page = state.current(), memory().page
    path, model = _solved(params, page)
    file = memory().uploads.get(params.data)
    text = memory().tables.get(params.edited, "")
    name, table = (file.name, file.content) if file else ("", b"")
    return lambda: write(
        Screen(page, parameters.link_text(params), name, table, text, path, _model(model))
    )


def _solved(params: Params, page: str) -> tuple[Solved | None, Any]:
    """The path of a page and its model, where they are known: the hull at the cursor, or the one
    that was chosen.
    """
    from pages.shared.values import (
        answers,  # which a first page is drawn without
        hulls,
    )
    from pages.shared.widgets import players

    if page == "hulls":
        path = hulls.known(params)
        return path, None if path is None else path.estimators[
            players.place(path, params.hull_at).index
        ]
    found = answers.best_known(params)
    return (None, None) if found is None else (found.path, found.model)


def _model(model: Any) -> bytes:
    if model is None:
        return b""
    from pages.shared.export import files  # with scikit-learn, which a page can be drawn without

    return files.saved(model)


def open_file(content: bytes) -> None:
    """Show a saved screen: its table, parameters and path, on its page. Raises ``DataError``."""
    screen = read(content)
    if screen.table:
        state.keep_upload(screen.name, screen.table)
    if screen.dictionary:
        state.keep_text(screen.dictionary, longest=0)
    params, refused = parameters.read_link(screen.link)
    state.set_params(params)
    state.refuse(*refused)
    memory().next_page = screen.page if screen.page in state.PAGES else "explore"
    memory().opened = None
    if screen.path is not None and screen.page != "hulls":
        memory().opened = screen.path, params


def path_of(params: Params) -> Solved | None:
    """The path of the file that was opened last, where it is about these parameters: shown until it
    is solved anew.
    """
    from pages.shared.values import answers  # as above

    path, about = memory().opened or (None, None)
    return path if about is not None and answers.key(about) == answers.key(params) else None


class Reloads:
    """What sessions held of late, by browser: a reload is a new session of the same one."""

    def __init__(self, most_bytes: float) -> None:
        self._held: TTLCache[tuple[str, str], Upload | str] = TTLCache(
            most_bytes, RELOAD_SECONDS, getsizeof=_bytes
        )
        self._lock = threading.Lock()

    def get(self, browser: str, name: str) -> Any:
        """What a browser held under a name, None where nothing is known."""
        with self._lock:
            return self._held.get((browser, name))

    def put(self, browser: str, name: str, held: Upload | str) -> None:
        """Hold it for a while from now on."""
        with self._lock:
            if browser and _bytes(held) <= self._held.maxsize:
                self._held[browser, name] = held


def _bytes(held: Upload | str) -> int:
    return len(held if isinstance(held, str) else held.content)


_RELOADS = Reloads(RELOAD_SHARE * memory_bytes())


# The folder of one person


LOCAL = ("127.0.0.1", "localhost", "::1")


def is_one_persons() -> bool:
    """Tell whether this server is one person's, on this machine, and keeps anything."""
    shared = (
        os.environ.get(launcher.HOSTS, "").strip() or st.get_option("server.address") not in LOCAL
    )
    return not shared and disk_files.default_home() is not None


def _title(file: Path) -> str:
    """Return what the person called the table in a kept file."""
    try:
        with zipfile.ZipFile(file) as archive:
            if archive.getinfo(SCREEN).file_size <= MOST[SCREEN]:
                return str(bounded_json(archive.read(SCREEN))["name"])[:200]
    except Exception as error:
        # whatever is wrong with it, its name in the folder says which file it is
        logging.getLogger(__name__).info("%s has no title: %s", file, error)
    return file.name


TABLES = disk_files.KeptFiles(
    "tables", re.compile(rf"[0-9a-f]{{64}}\.{ENDING}"), MOST_TABLES, sum(MOST.values()), _title
)


def _to_folder(source: str, held: Upload) -> None:
    """Keep a table for a restart, and note for its person where it is, or why it is nowhere."""
    if not is_one_persons():
        memory().places[source] = ""
        return
    name = f"{source.removeprefix(UPLOAD)}.{ENDING}"
    screen = Screen("data", {"data": source}, held.name, held.content)
    try:
        # a person waits for the page: 13 MB take a second and a half to compress
        kept = TABLES.keep(name, write(screen, zipfile.ZIP_STORED))
    except disk_files.NotKeptError as error:
        logging.getLogger(__name__).warning("The table is not kept for a restart: %s", error)
        said = (
            "The disk is full: this table lives as long as this tab."
            if error.is_full
            else (
                f"This table lives as long as this tab, because it cannot be kept: {plain(error)}"
            )
        )
        memory().notice = memory().places[source] = said
        return
    said = _is_kept_in(kept.file.parent)
    if kept.instead:
        logging.getLogger(__name__).warning("Tables are kept in another folder: %s", kept.instead)
        said = (
            f"Kept in {plain(kept.file.parent)} until the system empties it: {plain(kept.instead)}"
        )
    memory().places[source] = said
    if kept.removed:
        memory().notice = (
            f"The folder keeps {TABLES.most} tables. {plain(', '.join(kept.removed))}, "
            "used longest ago, made room and is no longer kept."
        )


def _from_folder(source: str) -> Upload | None:
    """Return a table that was kept; say why where its file is there and cannot be read."""
    if not is_one_persons():
        return None
    for file in TABLES.found(f"{source.removeprefix(UPLOAD)}.{ENDING}"):
        try:
            found = read(TABLES.read(file))
        except (OSError, MemoryError) as error:
            why = getattr(error, "strerror", None) or str(error) or "no memory is left"
            logging.getLogger(__name__).warning(
                "%s cannot be read now (%s); it is left where it is.", file, why
            )
            state.refuse(
                f"The kept table cannot be read now ({why}). It is left where it is: {file}"
            )
        except DamagedError as error:
            state.refuse(
                f"{error} Its file fails its own checksum; "
                f"{TABLES.remove_damaged(file, 'checksum')}: {file}"
            )
        except DataError as error:
            state.refuse(f"{error} The file is left where it is: {file}")
        else:
            TABLES.use(file)
            memory().places[source] = _is_kept_in(file.parent)
            return Upload(found.name, found.table)
    return None


def _is_kept_in(folder: Path) -> str:
    return f"Kept in {plain(folder)}: it is still here after a restart."


# The place for a file: what a person brings becomes the table in use, or opens a saved screen


# What belongs to one table and returns to its usual value with another one.
OF_THE_TABLE = (
    *(one.name for one in fields(TableParams)[1:]),
    "grouping",
    "clip",
    "edited",
)
KINDS = ["csv", "tsv", "txt", "xlsx", "xls", "parquet", "npz", ENDING]


def choose(source: str) -> None:
    """Make another table the one in use; what belonged to the table before returns to its usual
    value.
    """
    usual = parameters.Params()
    was_edited = state.current().edited and source != state.current().data
    state.change(data=source, **{name: getattr(usual, name) for name in OF_THE_TABLE})
    if was_edited:
        memory().notice = (
            "The edited dictionary belonged to the previous table. Kernels starts with a new one."
        )


def take_upload() -> bool:
    """Keep the uploaded bytes and make them the table in use, or open a saved screen; tell whether
    it was a table.
    """
    file = controls.value("uploader")
    if file is None:
        return False
    if refused := state.refusal(file):
        memory().notice = refused
        return False
    if is_screen(file.getvalue()):
        try:
            open_file(file.getvalue())
        except DataError as error:
            memory().notice = plain(error)
        return False
    work.again()
    source = state.keep_upload(file.name, file.getvalue())
    if source == state.current().data:
        state.set_params(state.current())  # the file a link asked for: its settings stay
    else:
        choose(source)
    return True


def uploader(
    label: str = "Your own table or kernel stack", then: Callable[[], None] = lambda: None
) -> None:
    """Draw the upload; ``then`` is called when a file was taken."""
    st.file_uploader(
        label,
        type=KINDS,
        max_upload_size=state.STACK_LIMIT_MB,
        key="uploader",
        on_change=lambda: then() if take_upload() else None,
        help=(
            f"CSV, TSV, Excel or Parquet up to {state.UPLOAD_LIMIT_MB} MB, column names in the "
            f"first row. Or a NumPy archive (.npz) up to {state.STACK_LIMIT_MB} MB: K "
            f"(kernels, rows, rows), y (rows), names. Or a saved screen (.{ENDING}). No other "
            "session sees the file."
        ),
    )
    if said := memory().places.get(state.current().data):
        st.caption(said)


# Answers that come with the project, so that a first start draws and drags before it computes
#
# Every answer is in a file whose name holds a digest of what was computed: table, kernels, method,
# settings. Where any of them is another one there is no such file, and the answer is computed.
# ``sample_data/build_earlier.py`` makes them.


COMPUTED_EARLIER = (
    "Computed earlier with these settings. The models are being fitted here; what needs them "
    "appears when they are ready."
)
EARLIER: Path | None = Path(__file__).resolve().parents[3] / "sample_data" / "earlier"
DIGITS = 12


class EarlierHulls(NamedTuple):
    """A path of hulls with what its player draws: the layout, and the state at every point."""

    path: Solved
    layout: HullLayout
    states: tuple[dict[str, Any], ...]


@dataclass(frozen=True, eq=False)
class Seen:
    """What Explore draws of an answer: its sentence in Markdown, its path with the chosen point
    ``index``, its columns and their effects (L, G) along the path.
    """

    sentence: str
    path: Solved
    index: int
    columns: tuple[ColumnEffect, ...]
    along: np.ndarray

    @classmethod
    def of(cls, found: Exploration, table: str) -> Self:
        """What is drawn of an answer for a table of this name."""
        return cls(
            found.verdict.sentence(bold, plain(table)),
            found.path,
            found.index,
            found.columns,
            found.effects_along,
        )


def earlier_hulls(params: Params) -> EarlierHulls | None:
    """Return the hulls these parameters ask for if they come with the project."""
    there = EARLIER is not None and params.data in SAMPLES
    return _hulls(hulls_file(params)) if there else None


def earlier_answer(params: Params) -> Seen | None:
    """Return the answer for a sample that comes with the project, where nothing but the sample was
    chosen.
    """
    usual = Params(data=params.data).of(*ANSWER)
    return earlier_answers().get(params.data) if params.of(*ANSWER) == usual else None


def earlier_answers() -> dict[str, Seen]:
    """Return the answers for the samples that come with the project, by name; their paths have no
    models.
    """
    return _answers(EARLIER / "answers.json.gz") if EARLIER else {}


def hulls_file(params: Params) -> Path:
    """Return the file for the hulls of these parameters."""
    assert EARLIER is not None
    kind = f"hulls_{params.data}"
    asked = parameters.link_text(params.of(*SEARCH))
    content = [kind, asked, tables.table(params).fingerprint]
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:DIGITS]
    return EARLIER / f"{kind}_{digest}.json.gz"


@lru_cache(maxsize=16)
def _hulls(file: Path) -> EarlierHulls | None:
    found = tables.read_json(file)
    try:
        along = read_paths(file.with_name(file.name.replace(".json.gz", ".npz")).read_bytes())
    except (OSError, DataError):  # there is none: it is computed
        return None
    if found is None:
        return None
    layout = {name: _tuples(value) for name, value in found["layout"].items()}
    return EarlierHulls(along["path"], HullLayout(**layout), tuple(found["states"]))


@lru_cache(maxsize=2)
def _answers(file: Path) -> dict[str, Seen]:
    try:
        paths = read_paths(file.with_name("answers.npz").read_bytes())
    except (OSError, DataError):
        return {}
    found = {}
    for name, one in (tables.read_json(file) or {}).items():
        columns = tuple(ColumnEffect(*each) for each in one["columns"])
        found[name] = Seen(
            one["sentence"], paths[name], one["index"], columns, np.array(one["along"])
        )
    return found


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
