"""Where compiled routines are kept between two starts, and what happens where they cannot be: work goes on without.

numba keeps a routine as a pickle, which runs code when it is read. A checkout keeps it beside the sources, whose place
is trusted already. An installed copy holds what was installed and no more: it, and sources that cannot be written, keep
routines in the folder that ``NUMBA_CACHE_DIR`` names or in the cache folder of this account, and nowhere if others
could put files there (:mod:`mklcore.io.private_folders`). A full disk costs the cache, not the answer.

A routine holds the code of what it calls, and numba compares the file of the routine alone with what it compiled. So
the routines of one state of the sources have a folder of their own.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import warnings
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from mklcore.io.private_folders import own_folder

SOURCES = Path(__file__).parent
PACKAGE = SOURCES.parent
NAMED = "NUMBA_CACHE_DIR"
PREFIX = "routines-"  # of the folder for one state of the sources
KEPT = 4  # such folders: those of the versions and branches that were used last
WARNED = "MKLCORE_CACHE_WARNED"  # for the processes of this one: one warning for all of them
_given_up: list[str] = []


@dataclass(frozen=True)
class Place:
    """``folder`` of the cache, None where nothing is kept; ``why`` another one than usual was taken, or none."""

    folder: Path | None
    is_beside_sources: bool = False
    why: str = ""

    @property
    def routines(self) -> Path | None:
        """The folder in it for the sources as they are now."""
        return self.folder and self.folder / f"{PREFIX}{sources()}"


def place() -> Place:
    """Return where compiled routines are kept."""
    return _place(os.environ.get(NAMED, ""))


def trouble() -> str:
    """Return why compiled routines are not kept, "" where they are."""
    return _given_up[0] if _given_up else place().why if place().folder is None else ""


def given_up() -> bool:
    """Tell whether this process keeps nothing any more."""
    return bool(_given_up)


def give_up(why: str) -> None:
    """Keep nothing any more in this process, and say so once."""
    if not _given_up:
        _given_up.append(why)
        _tell(f"Compiled routines are not kept, so the next start compiles them again: {why}. Work goes on.")


def is_checkout() -> bool:
    """Tell whether the sources are those of a checkout and not of an installed copy."""
    return (SOURCES.parents[1] / "pyproject.toml").is_file()


@lru_cache(maxsize=1)
def sources() -> str:
    """Return a digest of the files that hold compiled functions."""
    digest = hashlib.sha256()
    for file in sorted(PACKAGE.rglob("*.py")):
        if b"@jit_" in (source := file.read_bytes()):
            digest.update(source)
    return digest.hexdigest()[:16]


def prepare(routines: Path) -> None:
    """Make the folder, and remove the oldest ones of other sources."""
    if not routines.is_dir():
        routines.mkdir(mode=0o700, parents=True, exist_ok=True)
        others = sorted(routines.parent.glob(f"{PREFIX}*"), key=lambda folder: folder.stat().st_mtime)
        for folder in others[:-KEPT]:
            shutil.rmtree(folder, ignore_errors=True)


@lru_cache(maxsize=8)
def _place(named: str) -> Place:
    why = ""
    if named:
        why = own_folder(Path(named).expanduser(), named=True)
        if not why:
            return Place(Path(named).expanduser())
    elif is_checkout() and os.access(SOURCES, os.W_OK):
        return Place(SOURCES / "__pycache__", is_beside_sources=True)
    from platformdirs import user_cache_path

    usual = user_cache_path("mklcore", appauthor=False)
    if not (not_there := own_folder(usual) if usual.is_absolute() else "this account has no home folder"):
        if named:
            _tell(f"{NAMED} is not used, because {why}. Compiled routines are kept in {usual} instead.")
        return Place(usual, why=why)
    why = "; ".join(filter(None, [why, not_there]))
    _tell(
        f"Compiled routines are not kept, so every start compiles them again: {why}. "
        f"Name a folder that only you may write in {NAMED}."
    )
    return Place(None, why=why)


def _tell(message: str) -> None:
    if not os.environ.get(WARNED):
        os.environ[WARNED] = "1"
        warnings.warn(message, RuntimeWarning, stacklevel=2)
