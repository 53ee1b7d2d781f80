"""Files that a server of one person saves across restarts, the newest of them, in a folder that it
created and marked.

Everything else in that folder is a person's own: it is left alone and does not count. Only a file
that was read whole and fails its own checksum is damaged; one that cannot be read now is left in
its place.
"""

import errno
import logging
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from platformdirs import user_data_path

from mklcore.io import launcher
from mklcore.io.user_folders import (
    own_folder,
    own_or_temporary,
    read_whole,
    remove_left_behind,
    temporary_folder,
    why_not_own,
    write_whole,
)

OFF = "off"
APP = "mkl-explorer"
MARK = ".made-by-mkl-explorer"  # in a folder whose files of ours may be removed again
MARK_TEXT = (
    b"MKL Explorer keeps files here and removes those of its own that were used longest ago.\n"
)
FULL = (errno.ENOSPC, errno.EDQUOT)
TICK_NS = 2_000_000_000  # the coarsest clock of a file system
LOG = logging.getLogger(__name__)


def default_home() -> Path | None:
    """Return the folder for data: as the environment says, else the account's own; None where
    keeping is switched off.
    """
    named = os.environ.get(launcher.HOME, "").strip()
    if named:
        return None if named.lower() == OFF else Path(named).expanduser()
    usual = user_data_path(APP, appauthor=False)
    return usual if usual.is_absolute() else None  # an account without a home folder


class NotKeptError(Exception):
    """A file was not kept, and why, as the end of a sentence; ``is_full`` where the disk has no
    room for it.
    """

    def __init__(self, why: str, is_full: bool = False) -> None:
        super().__init__(why)
        self.is_full = is_full


class Kept(NamedTuple):
    """Where a file is kept now, why that is not the usual folder ("" where it is), and the files
    that went for it.
    """

    file: Path
    instead: str
    removed: tuple[str, ...]


@dataclass(frozen=True)
class KeptFiles:
    """The files of one kind, below the folder for data.

    ``folder`` is their place below it, ``pattern`` matches the names we write and no other,
    ``most`` files of at most ``most_bytes`` each stay, and ``title`` says what a file holds.
    """

    folder: str
    pattern: re.Pattern[str]
    most: int
    most_bytes: int
    title: Callable[[Path], str] = lambda file: file.name

    def keep(self, name: str, content: bytes) -> Kept:
        """Write a file, which is then the newest, and remove what is beyond the newest.

        Raises ``NotKeptError``.
        """
        usual = default_home()
        if usual is None:
            raise NotKeptError("keeping is switched off")
        home, instead = own_or_temporary(usual, APP, "", trust="named")
        if home is None:
            raise NotKeptError(instead)
        try:
            place = _marked(home / self.folder)
            remove_left_behind(place)
            if not self._holds(place / name, content):
                write_whole(place / name, lambda file: file.write(content), mode=0o600)
        except OSError as error:
            why = (
                f"the disk is full ({usual})"
                if error.errno in FULL
                else f"{error.strerror or error} ({usual})"
            )
            raise NotKeptError(why, error.errno in FULL) from error
        others = [file for file in self._in(place) if file.name != name]
        _make_newest(place / name, others)
        return Kept(place / name, instead, tuple(map(self._make_room, others[self.most - 1 :])))

    def use(self, file: Path) -> None:
        """Note that a file was used: those that were used longest ago go first."""
        _make_newest(file, self._in(file.parent))

    def found(self, name: str) -> list[Path]:
        """Return the files of this name: where they would be written now, and where they were
        before.
        """
        return [file for place in self._places() if (file := place / name) in self._in(place)]

    def files(self) -> list[Path]:
        """Return all files, of every folder the newest first."""
        return [file for place in self._places() for file in self._in(place)]

    def read(self, file: Path) -> bytes:
        """Return the bytes of a file.

        OSError or MemoryError where it cannot be read now: that is no damage.
        """
        return read_whole(file, self.most_bytes)

    def remove_damaged(self, file: Path, why: str) -> str:
        """Remove a file that fails its own checksum, unless its folder is a person's own; return
        what became of it.
        """
        if not (file.parent / MARK).is_file():
            LOG.warning("%s is damaged (%s); it is left where it is.", file, why)
            return "it is left where it is"
        with suppress(OSError):
            file.unlink()
        LOG.warning("%s was removed: it is damaged (%s).", file, why)
        return "it was removed"

    def _holds(self, file: Path, content: bytes) -> bool:
        with suppress(OSError, MemoryError):
            return self.read(file) == content
        return False

    def _places(self) -> Iterator[Path]:
        for home in (default_home(), temporary_folder(APP)):
            for place in () if home is None else (home / self.folder, home / self.folder / APP):
                if not why_not_own(place, named=True):
                    yield place

    def _in(self, place: Path) -> list[Path]:
        """Return our files in a folder, the newest first."""
        found = list[tuple[int, Path]]()
        with suppress(OSError):
            for file in place.iterdir():
                if self.pattern.fullmatch(file.name) and file.is_file() and not file.is_symlink():
                    found.append((file.stat().st_mtime_ns, file))
        return [file for _, file in sorted(found, reverse=True)]

    def _make_room(self, file: Path) -> str:
        title = file.name
        try:
            title = self.title(file)
            file.unlink()
        except OSError as error:
            LOG.warning("%s could not be removed: %s.", file, error.strerror)
        else:
            LOG.warning(
                "%s (%s) was removed: the folder keeps %d, and it was used longest ago.",
                file,
                title,
                self.most,
            )
        return title


def _marked(folder: Path) -> Path:
    """Return ``folder`` if we created it, else a subfolder of it that we create and mark.

    Raises OSError.
    """
    for place in (folder, folder / APP):
        is_new = not place.exists()
        if not is_new and not (place / MARK).is_file():
            continue
        if why := own_folder(place, named=True):
            raise OSError(why)
        if is_new:
            write_whole(place / MARK, lambda file: file.write(MARK_TEXT))
        return place
    raise OSError(f"{folder / APP} was there before and is not ours")


def _make_newest(file: Path, others: list[Path]) -> None:
    """Give a file a later time than all others, whatever the clock says: it may have been set back."""
    with suppress(OSError, OverflowError):
        latest = max((other.stat().st_mtime_ns for other in others if other != file), default=0)
        now = max(time.time_ns(), latest + TICK_NS)
        os.utime(file, ns=(now, now))
