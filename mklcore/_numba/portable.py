"""Compiled code for all processors of a kind, which an image or a wheel brings along.

    python -m mklcore._numba.portable      compile everything for such processors into the package

A cache of numba holds code for the processor it was made on. This code is for x86-64-v3 (AVX2, 2013 and later), or for
the baseline of another kind of processor. It is kept in the package as ``_compiled``; the first start copies it into
the cache under the name of the processor it runs on, and nothing is left to compile. Where it was made from other
sources or for another Python, numba or system, functions are compiled as usual.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import platform
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from mklcore._numba.cache import PACKAGE, Place

BROUGHT = PACKAGE / "_compiled"
MADE = "made"  # the file that names the sources and this making of their code
_one_by_one = threading.Lock()
LEVEL_3 = frozenset({"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sse4.2"})


def target() -> str:
    """Return the name that the compiler has for the processors that this code is for."""
    return "x86-64-v3" if platform.machine().lower() in ("x86_64", "amd64") else "generic"


def make(folder: Path = BROUGHT) -> None:
    """Compile everything for ``target()`` into a folder, which is emptied before."""
    shutil.rmtree(folder, ignore_errors=True)
    there = os.pathsep.join(filter(None, [str(PACKAGE.parent), os.environ.get("PYTHONPATH")]))
    with tempfile.TemporaryDirectory() as cache:
        named = {"NUMBA_CPU_NAME": target(), "NUMBA_CPU_FEATURES": "", "NUMBA_CACHE_DIR": cache, "PYTHONPATH": there}
        subprocess.run([sys.executable, "-m", "mklcore._numba.compiling"], env=os.environ | named, check=True)
        pack(Place(Path(cache)).routines or Path(cache), folder)


def pack(cache: Path, folder: Path) -> None:
    """Copy a cache into a folder that has the subfolders of the package."""
    digest = hashlib.sha256()
    for sources in _packages():
        for file in sorted((cache / _subfolder(sources)).glob("*.nb?")):
            place = folder / sources.relative_to(PACKAGE) / file.name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(code := file.read_bytes())
            digest.update(code)
    (folder / MADE).write_text(f"{_sources()} {digest.hexdigest()[:16]}", encoding="ascii")


def is_current() -> bool:
    """Tell whether the code that is there was made from these sources.

    numba itself looks at the file of a function alone, not at those of the helpers whose code the function holds.
    """
    made = BROUGHT / MADE
    return made.is_file() and made.read_text(encoding="ascii").split()[0] == _sources()


@lru_cache(maxsize=8)
def bring(place: Place, processor: Callable[[], tuple[str, str, str]]) -> bool:
    """Copy what was brought along into a cache, unless that is done; tell whether the ``processor`` here can run it."""
    with _one_by_one:
        return _brought(place, processor)


def _brought(place: Place, processor: Callable[[], tuple[str, str, str]]) -> bool:
    if place.routines is None or not (BROUGHT / MADE).is_file():
        return False
    from llvmlite import binding

    features = binding.get_host_cpu_features()
    if target() != "generic" and not all(features.get(name) for name in LEVEL_3):
        return False
    made = (BROUGHT / MADE).read_text(encoding="ascii").split()[1]
    where = hashlib.sha256(f"{PACKAGE} {binding.get_host_cpu_name()} {features.flatten()} {made}".encode())
    done = place.routines / f"mklcore-{where.hexdigest()[:16]}.brought"
    if done.exists():
        return True
    if not is_current():
        return False
    with suppress(OSError):  # a full disk costs the cache, not the answer
        here, found = processor(), False
        if here[1] != binding.get_host_cpu_name():  # NUMBA_CPU_NAME asks for code of its own
            return False
        for sources in _packages():
            cache = place.routines / _subfolder(sources)
            for index in (BROUGHT / sources.relative_to(PACKAGE)).glob(f"*.py{_python()}.nbi"):
                found = _copied(index, cache, here, made) or found
        if found:
            done.touch()
        return found
    return False


def _copied(index: Path, cache: Path, here: tuple[str, str, str], made: str) -> bool:
    """Copy the code of one function; its entries are found under the processor ``here`` then."""
    import numba

    with index.open("rb") as file:
        if pickle.load(file) != numba.__version__:
            return False
        stamp, overloads = pickle.load(file)
    kept: dict[Any, str] = {}
    cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    for (signature, (system, processor, _), hashes), name in overloads.items():
        if (system, processor) == (here[0], target()):
            kept[signature, here, hashes] = f"{name.removesuffix('.nbc')}.{made}.nbc"
            shutil.copyfile(index.with_name(name), cache / kept[signature, here, hashes])
    if kept:
        part = cache / f"{index.name}.{os.getpid()}"
        part.write_bytes(pickle.dumps(numba.__version__, -1) + pickle.dumps((stamp, kept), -1))
        part.replace(cache / index.name)
    return bool(kept)


def _sources() -> str:
    digest = hashlib.sha256()
    for file in sorted(PACKAGE.rglob("*.py")):
        if "_app" not in file.relative_to(PACKAGE).parts:
            digest.update(file.relative_to(PACKAGE).as_posix().encode() + file.read_bytes())
    return digest.hexdigest()[:16]


def _packages() -> list[Path]:
    return sorted({file.parent for file in PACKAGE.rglob("*.py")})


def _subfolder(sources: Path) -> str:
    """Return the name of the folder in which numba keeps the functions of a folder of sources."""
    return f"{sources.name}_{hashlib.sha1(str(sources).encode(), usedforsecurity=False).hexdigest()}"


def _python() -> str:
    return f"{sys.version_info.major}{sys.version_info.minor}{sys.abiflags if hasattr(sys, 'abiflags') else ''}"


if __name__ == "__main__":
    make()
