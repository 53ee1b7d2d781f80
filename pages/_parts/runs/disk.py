"""Runs on the disk: one SQLite file, made, opened for one operation at a time, put aside where it is damaged.

It belongs to the account that runs the server, mode 0600 in a folder of 0700. Every operation opens its own connection, so
any number of threads and processes may call at once.
"""

import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from platformdirs import user_data_path

HOME, OFF = "MKL_EXPLORER_HOME", "off"
FILE = "runs.sqlite"
SCHEMA = 1
PATIENCE_SECONDS = 10.0
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
T = TypeVar("T")


class StoreError(Exception):
    """Something cannot be kept or found; the message says why, in words for the screen."""


def default_home() -> Path | None:
    """Return the folder for kept work: as the environment says, else the account's folder for data; None if switched off."""
    told = os.environ.get(HOME, "").strip()
    if told:
        return None if told.lower() == OFF else Path(told).expanduser()
    return user_data_path("mkl-explorer", appauthor=False)


class Disk:
    """The file of kept work in a folder, None where nothing is kept. ``warning`` says that a damaged one was put aside."""

    def __init__(self, home: Path | None) -> None:
        self.home, self.warning = home, ""
        self._repairing = threading.Lock()

    def exists(self) -> bool:
        """Tell whether anything has been kept."""
        return self.home is not None and (self.home / FILE).exists()

    @contextmanager
    def open(self) -> Iterator[sqlite3.Connection]:
        """Open the file for one operation. Raises ``StoreError`` in words where it cannot be used."""
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

    def wipe(self) -> None:
        """Make deletion true on the disk: freed pages are zeroed, the log is emptied, the file shrinks."""
        with suppress(StoreError), self.open() as base:
            base.execute("PRAGMA busy_timeout = 300")
            base.execute("PRAGMA incremental_vacuum").fetchall()
            for _ in range(10):
                if base.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0:
                    return


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
