"""The folder in which numba keeps what it compiled between two starts: one that only this account can write.

numba's files are pickles, which run code when they are read. A checkout keeps them beside the sources, whose place is
trusted already; an installed copy in the folder that ``NUMBA_CACHE_DIR`` names, else in the cache folder of this
account. numba compares a file with the source of its function alone, and the code in it holds the helpers of other
files, too: so every state of the sources has a folder of its own.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import warnings
from functools import lru_cache
from pathlib import Path

from mklcore.io.private_folders import own_folder

PACKAGE = Path(__file__).resolve().parents[1]
NAMED = "NUMBA_CACHE_DIR"
PREFIX, FILLED = "compiled-", "filled"
KEPT = 4  # folders: of the states of the sources that were used last


def folder() -> Path | None:
    """The folder for these sources on this machine; None, after one warning, where no place is this account's own."""
    return _folder(PACKAGE, os.environ.get(NAMED, ""))


def is_filled() -> bool:
    """Whether everything has been compiled before, so that loading is all that is left."""
    place = folder()
    return place is not None and (place / FILLED).exists()


@lru_cache(maxsize=4)
def _folder(package: Path, named: str) -> Path | None:
    place, why = _place(package, named)
    if place is None:
        warnings.warn(
            f"Compiled functions are not kept, so every start compiles them again: {why}. Name a folder that only you "
            f"may write in {NAMED}.",
            RuntimeWarning,
            stacklevel=2,
        )
        return None
    if not (found := place / f"{PREFIX}{_state(package)}").is_dir():
        found.mkdir(mode=0o700, parents=True, exist_ok=True)
        others = sorted(place.glob(f"{PREFIX}*"), key=lambda other: other.stat().st_mtime)
        for old in others[:-KEPT]:
            shutil.rmtree(old, ignore_errors=True)
    return found


def _place(package: Path, named: str) -> tuple[Path | None, str]:
    """The folder that holds those of all states, or why there is none."""
    if named:
        place, why = Path(named).expanduser(), own_folder(Path(named).expanduser(), named=True)
    elif (package.parent / "pyproject.toml").is_file() and os.access(package, os.W_OK):
        place, why = package / "_numba" / "__pycache__", ""
    else:
        from platformdirs import user_cache_path  # not at start-up

        place = user_cache_path("mklcore", appauthor=False)
        why = own_folder(place) if place.is_absolute() else "this account has no home folder"
    return (None, why) if why else (place, "")


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
