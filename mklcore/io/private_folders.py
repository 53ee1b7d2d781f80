"""Whether a folder belongs to this account alone, so that what is in it can be trusted because of its place.

Compiled functions are unpickled by numba and kept work is read as ours: a file that another account of the same machine
put there would be code, or words, of a stranger. Owner and mode are looked at along the whole path, because an account
that may write in a folder may also put another one in the place of those below it.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

SYSTEM = 0  # the account that can do anything anyway
LINKS = 40  # symbolic links that are followed, as the system itself does


def why_not_own(folder: Path, *, named: bool = False) -> str:
    """Return why others could put files into a folder, which need not exist yet; "" where nobody can but this account.

    ``named``: a person has named this folder, so links on the way are followed and a group may share it. Otherwise no
    link is followed but those that the system's own account has made. Where the system knows no owners (Windows)
    nothing is said.
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
                return f"{part} cannot be looked at ({error.strerror})"
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
    """Make a folder that only this account may enter, unless it is there; return why it cannot be used, "" where it
    can.
    """
    if why := why_not_own(folder, named=named):
        return why
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        return f"{folder} cannot be made ({error.strerror})"
    if why := why_not_own(folder, named=named):  # somebody was faster, where all may make folders
        return why
    return "" if os.access(folder, os.W_OK | os.X_OK) else f"{folder} takes no files"
