"""Where runs are kept: one SQLite file, its rows and bounds, and what happens when it cannot be used. No Streamlit here.

Whose a row is, is told by a secret of 256 bits that lives in a browser; the file holds SHA-256 digests of secrets only. The
tables themselves are not encrypted: the file belongs to the account that runs the server, mode 0600 in a folder of 0700.
Every operation opens its own connection, so any number of threads and processes may call at once.
"""

import hashlib
import hmac
import json
import os
import re
import secrets
import sqlite3
import threading
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from platformdirs import user_data_path

from mklcore.data.columns import clean_name

HOME, OFF = "MKL_EXPLORER_HOME", "off"
FILE = "runs.sqlite"
SCHEMA = 1
DAY = 86400.0
UNNAMED_DAYS = 7
PATIENCE_SECONDS = 10.0
LONGEST_NAME = 80
SECRET = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)
GONE = "This run does not exist. It may have been deleted, or the link is not complete."
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_TABLES = """
CREATE TABLE files (
    id INTEGER PRIMARY KEY, owner TEXT NOT NULL, source TEXT NOT NULL, name TEXT NOT NULL, content BLOB NOT NULL,
    size INTEGER NOT NULL, used REAL NOT NULL, UNIQUE (owner, source));
CREATE TABLE runs (
    id TEXT PRIMARY KEY, owner TEXT NOT NULL, secret TEXT NOT NULL UNIQUE, name TEXT NOT NULL, page TEXT NOT NULL,
    recipe TEXT NOT NULL, facts TEXT NOT NULL, results BLOB, size INTEGER NOT NULL, created REAL NOT NULL);
CREATE TABLE holds (
    run TEXT NOT NULL REFERENCES runs ON DELETE CASCADE, file INTEGER NOT NULL REFERENCES files,
    PRIMARY KEY (run, file)) WITHOUT ROWID;
CREATE INDEX runs_by_owner ON runs (owner, created);
CREATE INDEX files_by_use ON files (used);
CREATE INDEX holds_by_file ON holds (file);
"""
_OUTCOMES = """CREATE TABLE IF NOT EXISTS outcomes (
    id INTEGER PRIMARY KEY AUTOINCREMENT, experiment TEXT NOT NULL, name TEXT NOT NULL, content TEXT NOT NULL)"""
_SIZE = "SELECT coalesce((SELECT sum(size) FROM files{0}), 0) + coalesce((SELECT sum(size) FROM runs{0}), 0)"
_HELD = "SELECT file FROM holds"
T = TypeVar("T")


class StoreError(Exception):
    """Something cannot be kept or found; the message says why, in words for the screen."""


@dataclass(frozen=True)
class Limits:
    """How much is kept: megabytes per file, per browser and for the whole server, and runs per browser."""

    file_mb: float = 100.0
    results_mb: float = 32.0
    owner_mb: float = 400.0
    total_mb: float = 2000.0
    runs: int = 200


@dataclass(frozen=True)
class File:
    """Bytes a person made: what they are called in a recipe, their name, and the bytes."""

    source: str
    name: str
    content: bytes


@dataclass(frozen=True)
class Run:
    """A saved screen: its name, page and recipe (the parts of its link), what is known of it, and when it was saved."""

    id: str
    name: str
    page: str
    recipe: Mapping[str, str]
    facts: Mapping[str, Any]
    created: float
    size: int
    files: tuple[tuple[str, str], ...] = ()


def new_secret() -> str:
    """Return a secret of 256 bits, as a link or a browser holds it."""
    return secrets.token_urlsafe(32)


def is_secret(text: object) -> bool:
    """Tell whether ``text`` could be a secret at all."""
    return isinstance(text, str) and SECRET.fullmatch(text) is not None


def digest(secret: str) -> str:
    """Return what the file holds of a secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


def link_secret(owner: str, run: str) -> str:
    """Return the secret of a run's link: only who knows the owner's secret can make it, and it tells nothing about it."""
    return urlsafe_b64encode(hmac.digest(owner.encode(), f"run {run}".encode(), "sha256")).decode().rstrip("=")


def default_home() -> Path | None:
    """Return the folder for kept work: as the environment says, else the account's folder for data; None if switched off."""
    told = os.environ.get(HOME, "").strip()
    if told:
        return None if told.lower() == OFF else Path(told).expanduser()
    return user_data_path("mkl-explorer", appauthor=False)


class Store:
    """The kept work of one server. Every method raises ``StoreError`` in words when the file cannot be used."""

    def __init__(self, home: Path | None, limits: Limits | None = None) -> None:
        self.home, self.limits = home, limits or Limits()
        self.warning = ""
        self._repairing = threading.Lock()

    # Files

    def keep(self, owner: str, file: File) -> None:
        """Keep a file without a name for some days from its last use."""
        self._check_size(file)
        with self._writing() as base:
            self._keep(base, digest(owner), file)

    def file(self, owner: str, source: str) -> File | None:
        """Return one of the owner's files; looking at it renews its days."""
        with self._writing() as base:
            row = base.execute(
                "SELECT id, name, content FROM files WHERE owner = ? AND source = ?", (digest(owner), source)
            ).fetchone()
            if row is None:
                return None
            base.execute("UPDATE files SET used = ? WHERE id = ?", (time.time(), row[0]))
        return _checked(File(source, row[1], row[2]))

    def is_kept(self, owner: str, source: str) -> bool:
        """Tell whether the file is kept for the owner."""
        with self._reading() as base:
            found = base.execute("SELECT 1 FROM files WHERE owner = ? AND source = ?", (digest(owner), source))
            return found.fetchone() is not None

    def forget(self, owner: str, source: str) -> bool:
        """Delete a file at once unless a run needs it; tell whether it is gone."""
        with self._writing() as base:
            base.execute(
                f"DELETE FROM files WHERE owner = ? AND source = ? AND id NOT IN ({_HELD})", (digest(owner), source)
            )
            found = base.execute("SELECT 1 FROM files WHERE owner = ? AND source = ?", (digest(owner), source))
            gone = found.fetchone() is None
        self._wipe()
        return gone

    # Runs

    def save(
        self,
        owner: str,
        name: str,
        page: str,
        recipe: Mapping[str, str],
        files: Sequence[File] = (),
        facts: Mapping[str, Any] | None = None,
        results: bytes | None = None,
    ) -> Run:
        """Keep a screen under a name, with the files its recipe needs and the results on it, until it is deleted."""
        clean = clean_name(name)[:LONGEST_NAME] or time.strftime("Run of %d %B %Y, %H:%M")
        for file in files:
            self._check_size(file)
        if results is not None and len(results) > 1e6 * self.limits.results_mb:
            raise StoreError(
                f"The results take {len(results) / 1e6:.0f} MB, more than the {self.limits.results_mb:.0f} MB kept per "
                "run. Use fewer kernels."
            )
        who, run, now = digest(owner), secrets.token_hex(16), time.time()
        texts = json.dumps(dict(recipe)), json.dumps(dict(facts or {}), allow_nan=False)
        size = sum(map(len, texts)) + len(results or b"")
        with self._writing() as base:
            self._make_room(base, who, size)
            (count,) = base.execute("SELECT count(*) FROM runs WHERE owner = ?", (who,)).fetchone()
            if count >= self.limits.runs:
                raise StoreError(f"{count} runs are kept for this browser, the most there may be. Delete one first.")
            base.execute(
                "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (run, who, digest(link_secret(owner, run)), clean, page, *texts, results, size, now),
            )
            for file in files:
                base.execute("INSERT OR IGNORE INTO holds VALUES (?, ?)", (run, self._keep(base, who, file)))
        return Run(run, clean, page, dict(recipe), dict(facts or {}), now, size, _named(files))

    def runs(self, owner: str) -> list[Run]:
        """Return the owner's runs, the latest first."""
        with self._reading() as base:
            rows = base.execute(
                f"SELECT {_COLUMNS} FROM runs WHERE owner = ? ORDER BY created DESC, rowid DESC", (digest(owner),)
            ).fetchall()
            return [_run(row, _files_of(base, row[0])) for row in rows]

    def run(self, owner: str, run: str) -> tuple[Run, list[File]]:
        """Return one of the owner's runs with its files."""
        return self._opened("owner = ? AND id = ?", (digest(owner), run))

    def linked(self, secret: str) -> tuple[Run, list[File]]:
        """Return the run a secret link names, with its files. The words for a wrong secret and a deleted run are the same."""
        if not is_secret(secret):
            raise StoreError(GONE)
        return self._opened("secret = ?", (digest(secret),))

    def owns(self, owner: str, run: str) -> bool:
        """Tell whether the run is one of the owner's."""
        with self._reading() as base:
            found = base.execute("SELECT 1 FROM runs WHERE owner = ? AND id = ?", (digest(owner), run))
            return found.fetchone() is not None

    def results(self, run: str) -> bytes | None:
        """Return the results of a run that has been found by its owner or its secret."""
        with self._reading() as base:
            row = base.execute("SELECT results FROM runs WHERE id = ?", (run,)).fetchone()
        return None if row is None else row[0]

    def delete(self, owner: str, run: str) -> tuple[str, ...]:
        """Delete a run and its files; return the names of those files that stay because another run needs them."""
        who = digest(owner)
        with self._writing() as base:
            held = base.execute(
                "SELECT file FROM holds JOIN runs ON runs.id = holds.run WHERE runs.id = ? AND owner = ?", (run, who)
            ).fetchall()
            if base.execute("DELETE FROM runs WHERE id = ? AND owner = ?", (run, who)).rowcount == 0:
                raise StoreError(GONE)
            for (file,) in held:
                base.execute(f"DELETE FROM files WHERE id = ? AND id NOT IN ({_HELD})", (file,))
            marks = ",".join("?" * len(held))
            staying = base.execute(f"SELECT name FROM files WHERE id IN ({marks})", [f for (f,) in held]).fetchall()
        self._wipe()
        return tuple(name for (name,) in staying)

    def tidy(self) -> None:
        """Let unnamed files leave whose days are over."""
        if self.home is not None and (self.home / FILE).exists():
            with self._writing():
                pass
            self._wipe()

    # Outcomes of experiments: about made data, so everybody's

    def keep_outcome(self, experiment: str, name: str, content: str, most: int) -> None:
        """Keep what an experiment found, in place of an earlier one of that name; only the ``most`` newest stay."""
        mine = (experiment,)
        with self._writing() as base:
            base.execute(_OUTCOMES)
            base.execute("DELETE FROM outcomes WHERE experiment = ? AND name = ?", (experiment, name))
            base.execute(
                "INSERT INTO outcomes (experiment, name, content) VALUES (?, ?, ?)", (experiment, name, content)
            )
            newest = "SELECT id FROM outcomes WHERE experiment = ? ORDER BY id DESC LIMIT ?"
            base.execute(f"DELETE FROM outcomes WHERE experiment = ? AND id NOT IN ({newest})", mine + mine + (most,))

    def outcomes(self, experiment: str) -> list[str]:
        """Return what is kept of an experiment, the newest first."""
        if self.home is None or not (self.home / FILE).exists():
            return []
        with self._writing() as base:
            base.execute(_OUTCOMES)
            found = base.execute("SELECT content FROM outcomes WHERE experiment = ? ORDER BY id DESC", (experiment,))
            return [str(content) for (content,) in found]

    # How it works inside

    def _keep(self, base: sqlite3.Connection, who: str, file: File) -> int:
        row = base.execute("SELECT id FROM files WHERE owner = ? AND source = ?", (who, file.source)).fetchone()
        if row is not None:
            base.execute(
                "UPDATE files SET used = ?, name = ? WHERE id = ?", (time.time(), clean_name(file.name), row[0])
            )
            return row[0]
        self._make_room(base, who, len(file.content))
        added = base.execute(
            "INSERT INTO files (owner, source, name, content, size, used) VALUES (?, ?, ?, ?, ?, ?)",
            (who, file.source, clean_name(file.name), file.content, len(file.content), time.time()),
        )
        return int(added.lastrowid or 0)

    def _check_size(self, file: File) -> None:
        if len(file.content) > 1e6 * self.limits.file_mb:
            raise StoreError(
                f"The file has {len(file.content) / 1e6:.0f} MB, more than the {self.limits.file_mb:.0f} MB the server "
                "keeps. It stays in this session only."
            )

    def _make_room(self, base: sqlite3.Connection, who: str, more: int) -> None:
        """Let the oldest unnamed files leave until ``more`` bytes fit, or refuse."""
        mine = _SIZE.format(" WHERE owner = ?"), (who, who)
        whole: tuple[str, tuple[str, ...]] = _SIZE.format(""), ()
        own = f"SELECT id FROM files WHERE owner = ? AND id NOT IN ({_HELD}) ORDER BY used LIMIT 1"
        any_one = f"SELECT id FROM files WHERE id NOT IN ({_HELD}) ORDER BY used LIMIT 1"
        for (question, values), next_out, asked, limit, whose in (
            (mine, own, (who,), self.limits.owner_mb, "this browser"),
            (whole, any_one, (), self.limits.total_mb, "this server"),
        ):
            while base.execute(question, values).fetchone()[0] + more > 1e6 * limit:
                out = base.execute(next_out, asked).fetchone()
                if out is None:
                    raise StoreError(
                        f"There is no room: named runs of {whose} take nearly all of its {limit:,.0f} MB. Delete one first."
                    )
                base.execute("DELETE FROM files WHERE id = ?", out)

    def _opened(self, where: str, values: tuple[str, ...]) -> tuple[Run, list[File]]:
        with self._reading() as base:
            row = base.execute(f"SELECT {_COLUMNS} FROM runs WHERE {where}", values).fetchone()
            if row is None:
                raise StoreError(GONE)
            found = base.execute(
                "SELECT source, name, content FROM files JOIN holds ON holds.file = files.id WHERE holds.run = ?",
                row[:1],
            ).fetchall()
        files = [_checked(File(*part)) for part in found]
        return _run(row, _named(files)), files

    def _wipe(self) -> None:
        """Make deletion true on the disk: freed pages are zeroed, the log is emptied, the file shrinks."""
        with suppress(StoreError), self._open() as base:
            base.execute("PRAGMA busy_timeout = 300")
            base.execute("PRAGMA incremental_vacuum").fetchall()
            for _ in range(10):
                if base.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0:
                    return

    def _expire(self, base: sqlite3.Connection) -> None:
        base.execute(f"DELETE FROM files WHERE used < ? AND id NOT IN ({_HELD})", (time.time() - UNNAMED_DAYS * DAY,))

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._open() as base:
            yield base

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._open() as base:
            base.execute("BEGIN IMMEDIATE")
            try:
                self._expire(base)
                yield base
                base.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    base.execute("ROLLBACK")
                raise

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        if self.home is None:
            raise StoreError("This server keeps no work: keeping is switched off.")
        place = self.home / FILE
        seen: os.stat_result | None = None
        base: sqlite3.Connection | None = None
        try:
            _prepare(place)
            seen = place.stat()
            base = sqlite3.connect(place, timeout=PATIENCE_SECONDS, isolation_level=None)
            with self._repairing:
                _settle(base)
            yield base
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGED:
                if base is not None:
                    base.close()
                self._move_aside(place, seen)
                raise StoreError(self.warning) from error
            raise StoreError(_why(error)) from error
        except (OSError, sqlite3.Error, OverflowError) as error:
            raise StoreError(_why(error)) from error
        finally:
            if base is not None:
                base.close()

    def _move_aside(self, place: Path, seen: os.stat_result | None) -> None:
        """Put a damaged file away, once, so that keeping goes on with a fresh one."""
        aside = place.with_name(f"damaged-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}.sqlite")
        with self._repairing, suppress(OSError):
            if seen is not None and place.stat().st_ino == seen.st_ino:
                place.rename(aside)
                for ending in ("-wal", "-shm"):
                    with suppress(FileNotFoundError):
                        place.with_name(place.name + ending).rename(aside.with_name(aside.name + ending))
                self.warning = (
                    f"The file of kept runs was damaged. It is now called {aside.name}, and a fresh one is in use: "
                    "earlier runs are not shown."
                )


_COLUMNS = "id, name, page, recipe, facts, created, size"


def _run(row: Sequence[Any], files: tuple[tuple[str, str], ...]) -> Run:
    try:
        recipe, facts = json.loads(row[3]), json.loads(row[4])
        parts = {str(key): str(value) for key, value in recipe.items()}
        return Run(row[0], row[1], row[2], parts, dict(facts), row[5], row[6], files)
    except (ValueError, TypeError, AttributeError) as error:
        raise StoreError("This run cannot be read. Delete it and save the screen again.") from error


def _files_of(base: sqlite3.Connection, run: str) -> tuple[tuple[str, str], ...]:
    found = base.execute(
        "SELECT source, name FROM files JOIN holds ON holds.file = files.id WHERE holds.run = ? ORDER BY files.id",
        (run,),
    )
    return tuple((source, name) for source, name in found)


def _named(files: Sequence[File]) -> tuple[tuple[str, str], ...]:
    return tuple((file.source, file.name) for file in files)


def _checked(file: File) -> File:
    """Return the file if its bytes are those its name stands for."""
    if not isinstance(file.content, bytes) or not file.source.endswith(hashlib.sha256(file.content).hexdigest()):
        raise StoreError(f"The kept file {file.name!r} is damaged. Upload it again.")
    return file


def _prepare(place: Path) -> None:
    """Make folder and file for this account alone; SQLite gives its logs the rights of the file."""
    if not place.exists():
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileExistsError):
            os.close(os.open(place, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def _settle(base: sqlite3.Connection) -> None:
    base.execute("PRAGMA secure_delete = ON")
    base.execute("PRAGMA foreign_keys = ON")
    base.execute("PRAGMA trusted_schema = OFF")
    version = base.execute("PRAGMA user_version").fetchone()[0]
    if version == SCHEMA:
        return
    if version > SCHEMA:
        raise sqlite3.NotSupportedError("the file of kept runs was written by a later release")
    base.execute("PRAGMA auto_vacuum = INCREMENTAL")
    base.execute("PRAGMA journal_mode = WAL")
    _once(base, _create)


def _create(base: sqlite3.Connection) -> None:
    if base.execute("PRAGMA user_version").fetchone()[0] == 0:
        for statement in filter(str.strip, _TABLES.split(";")):
            base.execute(statement)
        base.execute(f"PRAGMA user_version = {SCHEMA}")


def _once(base: sqlite3.Connection, act: Callable[[sqlite3.Connection], T]) -> T:
    base.execute("BEGIN IMMEDIATE")
    try:
        done = act(base)
        base.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            base.execute("ROLLBACK")
        raise
    return done


def _why(error: BaseException) -> str:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return f"Work cannot be kept on this server ({reason}). The app goes on without; use the link and the downloads."
