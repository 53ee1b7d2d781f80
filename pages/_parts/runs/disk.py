"""Runs on the disk: one SQLite file, made, opened for one operation at a time, put aside where it is damaged.

It belongs to the account that runs the server, mode 0600 in a folder of 0700. Every operation opens its own connection,
so any number of threads and processes may call at once. On a full disk nothing more is kept, but what is there can be
read and deleted: a reserve is beside the file for that, and deletion works in steps that need no more than it.
"""

import os
import secrets
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from platformdirs import user_data_path

from mklcore.io.private_folders import why_not_own
from pages._parts.runs import salvage, schema

HOME, OFF = "MKL_EXPLORER_HOME", "off"
FILE, RESERVE = "runs.sqlite", "room.reserve"
RESERVE_BYTES = 4 * 2**20
STEP_BYTES = 2**20  # zeroed at a time; the log never holds more
STEP_PAGES = 128
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_NO_ROOM = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN}
FULL = (
    "The disk of this server is full, so nothing more can be kept. What is kept can still be opened and deleted; the "
    "app goes on without keeping."
)
AGAIN = "The folder of kept runs was deleted while the server ran. A fresh one is in use: earlier runs are gone."
UNREADABLE = (
    "A part of what this server keeps cannot be read: bytes of its file changed. What else it keeps is not touched."
)
T = TypeVar("T")


class StoreError(Exception):
    """Something cannot be kept or found; the message says why for the screen."""


class FullError(StoreError):
    """The disk has no room."""


def default_home() -> Path | None:
    """Return the folder for kept work: as the environment says, else the account's folder for data; None if switched
    off.
    """
    named = os.environ.get(HOME, "").strip()
    if named:
        return None if named.lower() == OFF else Path(named).expanduser()
    usual = user_data_path("mkl-explorer", appauthor=False)
    return usual if usual.is_absolute() else None  # an account without a home folder


class Disk:
    """The file of kept work in a folder, None where nothing is kept. ``warning`` says what became of an earlier one."""

    def __init__(self, home: Path | None) -> None:
        self.home, self.warning = home, ""
        self._repairing, self._seen = threading.Lock(), False

    def exists(self) -> bool:
        """Tell whether anything has been kept."""
        return self.home is not None and (self.home / FILE).exists()

    @contextmanager
    def open(self, more: int = 0, alone: bool = False) -> Iterator[sqlite3.Connection]:
        """Open the file for one operation that adds ``more`` bytes. Raises ``StoreError`` where it cannot be used.

        ``alone``: without a log, in place, which takes no room at all but has nothing to go back to after a power cut.
        """
        if self.home is None:
            raise StoreError("This server keeps no work: keeping is switched off.")
        place = self.home / FILE
        seen: os.stat_result | None = None
        base: sqlite3.Connection | None = None
        try:
            self._prepare(place)
            self._check_room(self.home, more)
            seen = place.stat()
            base = self._connected(place)
            if alone:
                base.execute("PRAGMA journal_mode = MEMORY")
            yield base
            if alone:
                base.execute("PRAGMA journal_mode = WAL")
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGED:
                if base is not None:
                    base.close()
                self._move_aside(place, seen)
                raise StoreError(self.warning) from error
            raise _why(error) from error
        except (OSError, sqlite3.Error, OverflowError) as error:
            raise _why(error) from error
        except (TypeError, ValueError, LookupError, AttributeError) as error:  # rows that changed into something else
            raise StoreError(UNREADABLE) from error
        finally:
            if base is not None:
                base.close()

    def _prepare(self, place: Path) -> None:
        """Make folder and file for this account alone; SQLite gives its logs the rights of the file.

        Raises ``StoreError`` where another account could put a file of its own there, or take ours.
        """
        if why := why_not_own(place.parent, named=True):
            raise StoreError(
                f"Work cannot be kept on this server ({why}). The app goes on without; name a folder in {HOME} that "
                f"only the "
                "server's own account may write."
            )
        if not place.exists():
            if self._seen:
                self.warning = AGAIN
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with suppress(FileExistsError):
                os.close(os.open(place, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        self._seen = True

    def _check_room(self, home: Path, more: int) -> None:
        """Refuse what would fill the disk, and give up the reserve where reading and deleting need it."""
        free, reserve = shutil.disk_usage(home).free, home / RESERVE
        if more and free < 2 * more + RESERVE_BYTES:  # once in the log, once in the file
            raise FullError(FULL)
        if free < RESERVE_BYTES // 2:
            reserve.unlink(missing_ok=True)
        elif free > 4 * RESERVE_BYTES and not reserve.exists():
            with suppress(OSError), open(os.open(reserve, os.O_CREAT | os.O_WRONLY, 0o600), "wb") as file:
                file.write(os.urandom(RESERVE_BYTES))

    def _connected(self, place: Path) -> sqlite3.Connection:
        """Connect; where there is no room even for the file by which connections agree, alone and without it."""
        for mode in ("NORMAL", "EXCLUSIVE"):
            base = sqlite3.connect(place, timeout=schema.PATIENCE_SECONDS, isolation_level=None)
            try:
                base.execute(f"PRAGMA locking_mode = {mode}")
                with self._repairing:
                    schema.settle(base)
                return base
            except sqlite3.DatabaseError as error:
                base.close()
                if getattr(error, "sqlite_errorcode", 0) & 0xFF not in _NO_ROOM or mode == "EXCLUSIVE":
                    raise
        raise AssertionError("one of the two modes has returned or raised")

    def _move_aside(self, place: Path, seen: os.stat_result | None) -> None:
        """Put a damaged file away, once, and bring over what can be read, so that keeping goes on."""
        aside = place.with_name(f"damaged-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}.sqlite")
        with self._repairing, suppress(OSError):
            if seen is None or place.stat().st_ino != seen.st_ino:
                return
            place.rename(aside)
            for ending in ("-wal", "-shm"):
                with suppress(FileNotFoundError):
                    place.with_name(place.name + ending).rename(aside.with_name(aside.name + ending))
            self._prepare(place)
            saved = "earlier runs are not shown"
            with suppress(sqlite3.Error), closing(sqlite3.connect(place, isolation_level=None)) as fresh:
                schema.settle(fresh)
                runs, files = salvage.bring_over(aside, fresh)
                if runs or files:
                    saved = f"{runs} runs and {files} files could be read and are there; what else it held is lost"
            self.warning = (
                f"The file of kept runs was damaged. It is now called {aside.name}, and a fresh one is in use: {saved}."
            )

    def free(self, act: Callable[[sqlite3.Connection], T]) -> T:
        """Do what deletes, then make that true on the disk; where no byte is left for the log, without it."""
        try:
            with self.open() as base:
                done = act(base)
        except FullError:
            with self.open(alone=True) as base:
                done = act(base)
                self._wipe(base)
                return done
        self.wipe()
        return done

    def wipe(self) -> None:
        """Make deletion true on the disk: the file shrinks and the log is emptied, step by step."""
        with suppress(StoreError), self.open() as base:
            self._wipe(base)

    def _wipe(self, base: sqlite3.Connection) -> None:
        base.execute("PRAGMA busy_timeout = 300")
        for _ in range(1 + base.execute("PRAGMA freelist_count").fetchone()[0] // STEP_PAGES):
            base.executescript(f"PRAGMA incremental_vacuum({STEP_PAGES})")  # execute() would take one page only
            empty_log(base)
        for _ in range(10):
            if empty_log(base):
                return


def empty_log(base: sqlite3.Connection) -> bool:
    """Move what the log holds into the file; tell whether it is empty now."""
    return bool(base.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0)


def blank(base: sqlite3.Connection, table: str, column: str, row: int, size: int) -> None:
    """Write zeros over the bytes of a row where they are, outside a transaction, so that its deletion writes hardly
    anything.
    """
    for start in range(0, size, STEP_BYTES):
        with base.blobopen(table, column, row) as bytes_there:
            bytes_there.seek(start)
            bytes_there.write(bytes(min(STEP_BYTES, size - start)))
        if size > STEP_BYTES:
            empty_log(base)


def _why(error: BaseException) -> StoreError:
    if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL:
        return FullError(FULL)
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return StoreError(
        f"Work cannot be kept on this server ({reason}). The app goes on without; use the link and the downloads."
    )
