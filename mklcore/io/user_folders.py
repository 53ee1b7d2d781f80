"""Folders that belong to the user's account alone, and files that are written whole or not at all.

numba unpickles compiled functions, and saved work is read as ours: a file that another account of
the same machine put there could be a stranger's code or words. Owner and mode are checked along the
whole path, because an account that may write in a folder may also replace the folders below it.

Files are written and read so that they survive a full disk, a killed process and a planted link.
"""

from __future__ import annotations

import os
import re
import stat
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Literal

SYSTEM = 0  # the account that can do anything anyway
# What a person can do about a folder that cannot be used.
REPAIR = "Free some room there, make this account its owner, or name another folder"
LINKS = 40  # symbolic links that are followed, as the system itself does


def why_not_own(folder: Path, *, named: bool = False) -> str:
    """Why others could put files into a folder, which need not exist yet; "" where nobody else can.

    ``named``: a person has named this folder, so that links on the path are followed and a group
    may share it. Otherwise only links of the system's own account are followed. On systems without
    owners (Windows) the answer is always "".
    """
    if not hasattr(os, "getuid"):
        return ""
    place = Path(os.path.realpath(folder) if named else os.path.abspath(folder))
    writers = stat.S_IWOTH if named else stat.S_IWOTH | stat.S_IWGRP
    for _ in range(LINKS):
        for part in [*reversed(place.parents), place]:
            try:
                found = part.lstat()
            except FileNotFoundError:  # it will be made in a folder that passed
                return ""
            except OSError as error:
                return f"{part} cannot be examined ({error.strerror})"
            if stat.S_ISLNK(found.st_mode) and found.st_uid == SYSTEM:
                place = Path(os.path.realpath(part)) / place.relative_to(part)
                break
            if why := _why_not(part, found, writers, is_last=part == place):
                return why
        else:
            return ""
    return f"{folder} is a circle of symbolic links"


def _why_not(part: Path, found: os.stat_result, writers: int, is_last: bool) -> str:
    if stat.S_ISLNK(found.st_mode):
        return f"{part} is a symbolic link"
    if not stat.S_ISDIR(found.st_mode):
        return f"{part} is no folder"
    if found.st_uid not in (SYSTEM, os.getuid()):
        return f"{part} belongs to another account"
    if found.st_mode & writers and (is_last or not found.st_mode & stat.S_ISVTX):
        return f"other accounts may write in {part}"
    return ""


def own_folder(folder: Path, *, named: bool = False) -> str:
    """Make a folder that only this account may enter; return why it cannot be used, or ""."""
    why = why_not_own(folder, named=named) or _not_made(folder)
    # Where all accounts may make folders, another one may have been faster.
    return why or why_not_own(folder, named=named)


def _not_made(folder: Path) -> str:
    """Make a folder unless it exists; return why it takes no files, "" where it does.

    A file is made in it and removed again, because permissions alone do not show whether the disk
    has room for one more file.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        return f"{folder} cannot be made ({error.strerror})"
    trial = _beside(folder / "trial")
    try:
        trial.open("xb").close()
        trial.unlink()
    except OSError as error:
        return f"{folder} takes no files ({error.strerror})"
    return ""


def own_or_temporary(
    folder: Path, name: str, part: str, *, trust: Literal["", "named", "sources"] = ""
) -> tuple[Path | None, str]:
    """A folder that only this account can write, and a sentence if it is not the requested one.

    Parameters
    ----------
    folder : Path
        Folder to use. A single start with ``sudo`` can leave it to another account.
    name : str
        Name of the folder in the temporary directory that is used instead.
    part : str
        Name of the folder inside of either that is returned.
    trust : {"", "named", "sources"}, default ""
        Why fewer conditions apply: a person has named the folder, as in ``why_not_own``, or
        everybody who may write in it may also write the sources beside it.

    Returns
    -------
    place : Path or None
        Folder to use; None where the temporary directory has none either.
    sentence : str
        Why another folder is used, which one, and what repairs the first; "" where the requested
        one is used.
    """
    for place in (folder, folder / part):
        why = _not_made(place) if trust == "sources" else own_folder(place, named=trust == "named")
        if why:
            break
    else:
        return folder / part, ""
    other = temporary_folder(name)
    if other is not None and not own_folder(other) and not own_folder(other / part):
        return other / part, f"{why}. {other} is used instead. {REPAIR}"
    return None, f"{why}. {REPAIR}"


def temporary_folder(name: str) -> Path | None:
    """The folder of this account in the temporary directory; None without such a directory."""
    account = os.getuid() if hasattr(os, "getuid") else "own"
    with suppress(OSError):
        return Path(os.path.realpath(tempfile.gettempdir())) / f"{name}-{account}"
    return None


# Files that are there whole or not at all


def write_whole(
    place: Path,
    write: Callable[[IO[bytes]], object],
    mode: int = 0o666,
) -> None:
    """Write a file beside its place, and move it there when every byte is on the disk.

    A failure raises its error and leaves the old file unchanged. A process that is killed leaves a
    file beside it, which the next call for the same place removes. A link at the place is replaced
    and never followed.

    Parameters
    ----------
    place : Path
        File to write.
    write : callable
        Called as ``write(file)`` with the file that is open for writing bytes.
    mode : int, default 0o666
        Permissions of the file, less those that the account's mask removes.
    """
    remove_left_behind(place.parent, place.name)
    part = _beside(place)
    try:
        part.unlink(missing_ok=True)  # of a process that had this number
        with open(
            os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), mode),
            "wb",
        ) as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, place)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def read_whole(place: Path, most_bytes: int) -> bytes:
    """The bytes of a file.

    OSError for anything that is no file, such as a link, and for more than ``most_bytes``.
    """
    flags = (
        os.O_RDONLY
        | getattr(os, "O_NOFOLLOW", 0)
        | getattr(os, "O_NONBLOCK", 0)
        | getattr(os, "O_BINARY", 0)
    )
    with open(os.open(place, flags), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise OSError(f"{place} is no file")
        content = file.read(most_bytes + 1)
    if len(content) > most_bytes:
        raise OSError(
            f"{place} has {found.st_size / 1e6:,.0f} MB, more than {most_bytes / 1e6:,.0f}"
        )
    if len(content) < found.st_size:
        raise OSError(f"{place} gave {len(content)} of its {found.st_size} bytes")
    return content


# The name of a file that is being written: what it becomes, the process and its thread.
PART = re.compile(r"\.(.+)\.(\d+)\.\d+\.part", re.DOTALL)


def _beside(place: Path) -> Path:
    """The file in which this thread writes what will be moved to ``place``."""
    return place.with_name(f".{place.name}.{os.getpid()}.{threading.get_ident()}.part")


def remove_left_behind(folder: Path, name: str = "") -> None:
    """Remove what ended processes left in a folder of the file ``name``, or of any file."""
    with suppress(OSError):
        for file in folder.iterdir():
            part = PART.fullmatch(file.name)
            if part is not None and part[1] == (name or part[1]) and _has_ended(int(part[2]), file):
                file.unlink()


def _has_ended(number: int, file: Path) -> bool:
    """Whether the process that began ``file`` has ended; its number may be used again."""
    try:
        import psutil  # not at start-up; it comes with the app
    except ImportError:
        return Path("/proc/self").exists() and not Path(f"/proc/{number}").exists()
    try:
        return bool(psutil.Process(number).create_time() > file.stat().st_mtime + 1.0)
    except psutil.NoSuchProcess:
        return True
    except psutil.Error:
        return False
