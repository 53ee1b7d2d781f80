"""The folder in which numba keeps what it compiled between two starts: one that only this account
can write.

numba's files are pickles, which run code when they are read. A checkout keeps them beside the
sources, whose place is trusted already; an installed copy in the folder that ``NUMBA_CACHE_DIR``
names, else in the cache folder of this account. Where that folder takes no files, as after a start
with ``sudo``, one in the temporary directory is used. numba compares a file with the source of its
function alone, and the code in it holds the helpers of other files, too: so every state of the
sources has a folder of its own.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import warnings
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from mklcore.io.user_folders import own_or_temporary

PACKAGE = Path(__file__).resolve().parents[1]
NAMED = "NUMBA_CACHE_DIR"
PREFIX = "compiled-"
FILLED = "filled"
KEPT = 4  # folders: of the states of the sources that were used last


def folder() -> Path | None:
    """The folder for these sources on this machine; None, after one warning, where no place is this
    account's own.
    """
    return _folder(PACKAGE, os.environ.get(NAMED, ""))


def is_filled() -> bool:
    """Whether everything has been compiled before, so that loading is all that is left."""
    place = folder()
    return place is not None and (place / FILLED).exists()


@lru_cache(maxsize=4)
def _folder(package: Path, named: str) -> Path | None:
    place, said = _place(package, named)
    if place is None:
        _warn(f"Compiled functions are not kept, so every start compiles them again: {said}")
        return None
    if said:
        _warn(f"Compiled functions are kept in another folder: {said}")
    with suppress(OSError):  # old ones that another account has to remove
        _remove_old(place)
    return place


def _place(package: Path, named: str) -> tuple[Path | None, str]:
    """The folder for this state of the sources, or None; and why it is not the usual one."""
    state = f"{PREFIX}{_state(package)}"
    if named:
        return own_or_temporary(Path(named).expanduser(), "mklcore", state, trust="named")
    if (package.parent / "pyproject.toml").is_file() and os.access(package, os.W_OK):
        return own_or_temporary(
            package / "_numba" / "__pycache__", "mklcore", state, trust="sources"
        )
    from numba.misc.appdirs import user_cache_dir  # not at start-up

    usual = Path(user_cache_dir("mklcore", appauthor=False))
    if not usual.is_absolute():
        return (
            None,
            f"this account has no home folder. Name a folder that only you may write in {NAMED}.",
        )
    place, said = own_or_temporary(usual, "mklcore", state)
    return place, f"{said}; or name a folder that only you may write in {NAMED}." if said else ""


def _remove_old(place: Path) -> None:
    """Remove the folders of states of the sources that were used longest ago."""
    others = sorted(place.parent.glob(f"{PREFIX}*"), key=lambda other: other.stat().st_mtime)
    for old in others[:-KEPT]:
        if old != place:
            shutil.rmtree(old, ignore_errors=True)


def _warn(sentence: str) -> None:
    warnings.warn(sentence, RuntimeWarning, stacklevel=4)


def _state(package: Path) -> str:
    """A digest of the files that hold compiled functions, of Python, numba and the processor."""
    import numba  # where the library works without it, nothing is compiled
    from llvmlite import binding

    processor = [binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()]
    processor += [os.environ.get(name, "") for name in ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES")]
    digest = hashlib.sha256("\n".join([sys.version, numba.__version__, *processor]).encode())
    for file in sorted(package.rglob("*.py")):
        if b"@jit_" in (source := file.read_bytes()):
            digest.update(source)
    return digest.hexdigest()[:16]
