"""Compiled routines are kept where only this account can write, and answers come where they cannot be kept at all."""

import os
import shutil
import subprocess
import sys
import warnings
from contextlib import contextmanager
from importlib import util
from pathlib import Path

import numba
import numpy as np
import platformdirs
import pytest

from mklcore._numba import cache as routine_cache
from mklcore._numba import compiling, portable
from mklcore._numba.decorators import processor
from mklcore.io import private_folders as own_folders
from mklcore.io.private_folders import own_folder, why_not_own
from pages._parts.runs import disk

ENTRY = (
    "from mklcore._numba.decorators import jit_entry\n@jit_entry()\ndef doubled(values):\n    return 2.0 * values[0]\n"
)
HELPER = (
    "from mklcore._numba.decorators import jit_helper\n@jit_helper()\ndef scaled(value):\n    return {factor} * value\n"
)
CALLER = ENTRY.replace("@", "from factor_of_small import scaled\n@").replace("2.0 * values[0]", "scaled(values[0])")
ONE = np.array([1.0])


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    """A process that has not asked yet, whose own cache folder is a fresh one."""
    monkeypatch.setattr(routine_cache, "_given_up", [])
    monkeypatch.setattr(routine_cache, "_place", routine_cache._place.__wrapped__)
    monkeypatch.setattr(routine_cache, "sources", routine_cache.sources.__wrapped__)
    monkeypatch.delenv(routine_cache.WARNED, raising=False)
    monkeypatch.delenv(routine_cache.NAMED, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(routine_cache, "SOURCES", tmp_path / "not there")  # an installation that cannot be written
    return tmp_path


def entry_of(folder: Path):
    """A routine of a module in this folder, as another process would import it."""
    if not (folder / "small.py").exists():  # older versions of numba compile again what was written again
        (folder / "small.py").write_text(ENTRY)
    spec = util.spec_from_file_location("small", folder / "small.py")
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.doubled


def someone_else(monkeypatch, *places: Path) -> None:
    """Have these folders belong to another account."""
    lstat = Path.lstat

    def found(self):
        real = lstat(self)
        changed = list(real)
        changed[4] = os.getuid() + 1
        return os.stat_result(changed) if self in places else real

    monkeypatch.setattr(Path, "lstat", found)


def test_the_cache_is_a_folder_of_ones_own(fresh):
    place = routine_cache.place()
    assert place.folder == fresh / "cache" / "mklcore"
    assert place.folder.stat().st_mode & 0o777 == 0o700
    assert not routine_cache.trouble()


def test_a_routine_is_kept_and_loaded_from_there(fresh):
    assert entry_of(fresh)(ONE) == 2.0
    assert list((fresh / "cache" / "mklcore").rglob("*.nbc"))
    again = entry_of(fresh)
    assert again(ONE) == 2.0
    assert sum(again.stats.cache_hits.values()) == 1


def test_a_changed_helper_in_another_file_is_compiled_again_and_old_routines_are_removed(fresh, monkeypatch):
    monkeypatch.setattr(routine_cache, "PACKAGE", fresh)
    monkeypatch.syspath_prepend(fresh)
    (fresh / "small.py").write_text(CALLER)
    for factor in (2.0, 3.0, 4.0, 5.0, 6.0, 2.0):
        (fresh / "factor_of_small.py").write_text(HELPER.format(factor=factor))
        sys.modules.pop("factor_of_small", None)
        shutil.rmtree(fresh / "__pycache__", ignore_errors=True)  # Python compares whole seconds
        assert entry_of(fresh)(ONE) == factor
    kept = list((fresh / "cache" / "mklcore").glob(f"{routine_cache.PREFIX}*"))
    assert len(kept) == routine_cache.KEPT
    assert all(list(folder.rglob("*.nbc")) for folder in kept)


def planted(folder: Path, monkeypatch, how: str) -> str:
    """Make a folder that others could put files into, and return what is to be said of it."""
    if how == "link":
        (folder.parent / "elsewhere").mkdir()
        folder.symlink_to(folder.parent / "elsewhere")
        if os.getuid() == own_folders.SYSTEM:  # whose links are followed
            monkeypatch.setattr(own_folders, "SYSTEM", -1)
        return "is a symbolic link"
    folder.mkdir()
    if how == "mode":
        folder.chmod(0o777)
        return "other accounts may write"
    someone_else(monkeypatch, folder)
    return "belongs to another account"


@pytest.mark.parametrize("how", ["mode", "owner", "link"])
def test_what_others_may_have_put_there_is_never_unpickled(fresh, monkeypatch, how):
    (fresh / "cache").mkdir(mode=0o700)
    why = planted(fresh / "cache" / "mklcore", monkeypatch, how)
    with pytest.warns(RuntimeWarning, match=why) as reported:
        answers = [entry_of(fresh)(ONE) for _ in range(2)]
    assert answers == [2.0, 2.0]
    assert len(reported) == 1
    assert not list(fresh.rglob("*.nb?"))
    assert why in routine_cache.trouble()
    assert not compiling.can_fill()
    assert not compiling.is_filled()


def test_code_that_was_brought_along_is_loaded_and_not_compiled(fresh, monkeypatch):
    package = fresh / "package"
    package.mkdir()
    monkeypatch.setattr(portable, "PACKAGE", package)
    monkeypatch.setattr(portable, "BROUGHT", package / "_compiled")
    monkeypatch.setattr(portable, "target", lambda: processor()[1])  # another one would take a process of its own
    monkeypatch.setattr(portable, "LEVEL_3", frozenset())

    def bring(place):
        return portable.bring.__wrapped__(place, processor)

    assert not bring(routine_cache.place())
    entry_of(package)(ONE)
    portable.pack(routine_cache.place().routines, portable.BROUGHT)
    elsewhere = fresh / "another machine"
    monkeypatch.setenv(routine_cache.NAMED, str(elsewhere))
    place = routine_cache.place()
    for name, value in (("LEVEL_3", {"no such instructions"}), ("_sources", lambda: "others"), ("_python", lambda: "")):
        with monkeypatch.context() as other:
            other.setattr(portable, name, value)
            assert not bring(place)
    with monkeypatch.context() as other:
        other.setattr(numba, "__version__", "0.1")
        assert not bring(place)
    assert not list(elsewhere.rglob("*.nb?"))
    assert bring(place)
    assert bring(place)
    brought = entry_of(package)
    assert brought(ONE) == 2.0
    assert sum(brought.stats.cache_hits.values()) == 1


def test_a_folder_below_one_that_others_may_write_is_not_ones_own(tmp_path):
    tmp_path.chmod(0o777)
    assert "may write" in own_folder(tmp_path / "mine")
    tmp_path.chmod(0o1777)  # as the temporary directory: nobody can rename what is another's
    assert own_folder(tmp_path / "mine") == ""
    assert "may write" in why_not_own(tmp_path)


def test_a_folder_a_person_names_may_be_shared_by_a_group_and_reached_by_a_link(tmp_path):
    shared, link = tmp_path / "shared", tmp_path / "link"
    shared.mkdir()
    shared.chmod(0o775)
    link.symlink_to(shared)
    assert own_folder(link, named=True) == ""
    assert "may write" in own_folder(shared)
    shared.chmod(0o777)
    assert "may write" in own_folder(link, named=True)


@pytest.mark.parametrize("file", ["a file", "inside"])
def test_what_is_no_folder_is_refused(tmp_path, file):
    (tmp_path / "a file").touch()
    assert "is no folder" in own_folder(tmp_path / "a file" / (file if file == "inside" else ""))


def test_a_named_folder_that_cannot_be_used_is_replaced_and_that_is_reported(fresh, monkeypatch):
    monkeypatch.setenv(routine_cache.NAMED, os.path.join(os.devnull, "cache"))
    with pytest.warns(RuntimeWarning, match="NUMBA_CACHE_DIR is not used, because /dev/null is no folder"):
        assert routine_cache.place().folder == fresh / "cache" / "mklcore"


def test_an_account_without_a_home_folder_keeps_nothing_and_is_reported(monkeypatch, tmp_path):
    monkeypatch.setattr(routine_cache, "SOURCES", tmp_path / "site-packages" / "mklcore" / "_numba")
    monkeypatch.setattr(platformdirs, "user_cache_path", lambda *_, **__: Path("~/.cache/mklcore"))
    monkeypatch.setattr(disk, "user_data_path", lambda *_, **__: Path("~/.local/share/mkl-explorer"))
    monkeypatch.delenv(routine_cache.WARNED, raising=False)
    monkeypatch.delenv(routine_cache.NAMED, raising=False)
    monkeypatch.delenv(disk.HOME, raising=False)
    with pytest.warns(RuntimeWarning, match="this account has no home folder.*Name a folder that only you may write"):
        assert routine_cache._place.__wrapped__("").folder is None
    assert disk.default_home() is None


def test_an_installed_copy_keeps_nothing_beside_its_sources(monkeypatch, tmp_path):
    sources = tmp_path / "site-packages" / "mklcore" / "_numba"
    sources.mkdir(parents=True)
    monkeypatch.setattr(routine_cache, "SOURCES", sources)
    monkeypatch.setattr(platformdirs, "user_cache_path", lambda *_, **__: tmp_path / "a cache" / "mklcore")
    installed = routine_cache._place.__wrapped__("")
    assert (installed.folder, installed.is_beside_sources) == (tmp_path / "a cache" / "mklcore", False)
    (tmp_path / "site-packages" / "pyproject.toml").touch()
    assert routine_cache._place.__wrapped__("").is_beside_sources


@contextmanager
def full_disk():
    """No file takes a byte more, in this process."""
    resource = pytest.importorskip("resource", reason="This system cannot bound the size of files")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_full_disk_costs_the_cache_and_not_the_answer(fresh):
    doubled = entry_of(fresh)
    with pytest.warns(RuntimeWarning, match=r"not kept.*File too large.*Work goes on") as reported, full_disk():
        first = doubled(ONE)
    answers = [first, entry_of(fresh)(ONE)]
    assert answers == [2.0, 2.0]
    assert len(reported) == 1
    assert not compiling.can_fill()


def test_the_folder_numba_is_reported_for_others_stays_as_it_was(fresh, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", "another")
    assert entry_of(fresh)(ONE) == 2.0
    assert numba.config.CACHE_DIR == "another"


def test_a_place_of_numbas_own_choice_is_not_used(fresh, monkeypatch):
    (fresh / "a file").touch()
    monkeypatch.setattr(routine_cache, "place", lambda: routine_cache.Place(fresh / "a file"))
    assert entry_of(fresh)(ONE) == 2.0
    assert not list(fresh.rglob("*.nb?"))


def test_a_damaged_file_is_made_again(fresh):
    entry_of(fresh)(ONE)
    for file in (fresh / "cache").rglob("*.nb?"):
        file.write_bytes(b"\x80")
    assert entry_of(fresh)(ONE) == 2.0
    again = entry_of(fresh)
    assert again(ONE) == 2.0
    assert sum(again.stats.cache_hits.values()) == 1


def test_what_could_not_be_kept_is_not_called_compiled(fresh, monkeypatch):
    monkeypatch.setattr("mklcore._numba.warmup.warm_up", lambda *_: routine_cache.give_up("full"))
    monkeypatch.setattr(compiling.os, "nice", lambda _: None)
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        compiling.main()
    assert not list((fresh / "cache").rglob("*.compiled"))


def test_one_warning_for_a_process_and_those_it_starts(tmp_path):
    code = (
        "import subprocess, sys\nfrom mklcore import routine_cache\n"
        "routine_cache.give_up('full')\nroutine_cache.give_up('again')\n"
        "subprocess.run([sys.executable, '-c', 'from mklcore import routine_cache as r; r.give_up(\"there\")'])"
    )
    there = {name: value for name, value in os.environ.items() if name != routine_cache.WARNED}
    done = subprocess.run([sys.executable, "-c", code], env=there, capture_output=True, text=True, check=True)
    assert done.stderr.count("RuntimeWarning") == 1
