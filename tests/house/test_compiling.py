"""Compiled functions are kept where only this account can write; a process compiles ahead, and the
server waits.
"""

import errno
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager
from importlib import util
from pathlib import Path

import numba
import numpy as np
import psutil
import pytest
from numba.misc import appdirs

from mklcore._numba import cache, warmup
from mklcore.io import user_folders
from mklcore.io.user_folders import own_folder, why_not_own
from pages.shared.session import disk_files
from pages.shared.work import compiling
from pages.shared.work.compiling import Preparation

ENTRY = (
    "from mklcore._numba.decorators import jit_entry\n@jit_entry()\ndef doubled(values):\n    "
    "return 2.0 * values[0]\n"
)
HELPER = (
    "from mklcore._numba.decorators import jit_helper\n@jit_helper()\ndef scaled(value):\n    "
    "return {factor} * value\n"
)
CALLER = ENTRY.replace("@", "from factor_of_small import scaled\n@").replace(
    "2.0 * values[0]", "scaled(values[0])"
)
ONE = np.array([1.0])


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    """An installed copy that has compiled nothing yet, with a cache folder of its own."""
    monkeypatch.setattr(cache, "_folder", cache._folder.__wrapped__)
    monkeypatch.setattr(cache, "PACKAGE", tmp_path / "package")
    monkeypatch.delenv(cache.NAMED, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "temporary").mkdir()
    return tmp_path


def entry_of(folder):
    """A compiled function of a module in this folder, as another process would import it."""
    # older versions of numba compile again what was written again
    if not (folder / "small.py").exists():
        (folder / "small.py").write_text(ENTRY)
    spec = util.spec_from_file_location("small", folder / "small.py")
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.doubled


def is_loaded(folder):
    """Whether another process would find the function compiled, and with the same answer."""
    again = entry_of(folder)
    assert again(ONE) == 2.0
    return sum(again.stats.cache_hits.values()) == 1


def test_a_function_is_kept_in_a_folder_of_ones_own_and_loaded_from_there(fresh, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", "another")
    assert entry_of(fresh)(ONE) == 2.0
    assert (fresh / "cache" / "mklcore").stat().st_mode & 0o777 == 0o700
    assert list((fresh / "cache" / "mklcore").rglob("*.nbc"))
    assert is_loaded(fresh)
    assert numba.config.CACHE_DIR == "another", "numba keeps the functions of others where it did"


def test_a_changed_helper_in_another_file_is_compiled_again_and_old_folders_are_removed(
    fresh, monkeypatch
):
    (fresh / "package").mkdir()
    monkeypatch.syspath_prepend(fresh / "package")
    (fresh / "small.py").write_text(CALLER)
    for factor in (2.0, 3.0, 4.0, 5.0, 6.0, 2.0):
        (fresh / "package" / "factor_of_small.py").write_text(HELPER.format(factor=factor))
        sys.modules.pop("factor_of_small", None)
        # Python compares whole seconds
        shutil.rmtree(fresh / "package" / "__pycache__", ignore_errors=True)
        assert entry_of(fresh)(ONE) == factor
    kept = list((fresh / "cache" / "mklcore").glob(f"{cache.PREFIX}*"))
    assert len(kept) == cache.KEPT
    assert all(list(folder.rglob("*.nbc")) for folder in kept)


def planted(folder, monkeypatch, how):
    """Make a folder that others could put files into, and return what is to be said of it."""
    if how == "link":
        (folder.parent / "elsewhere").mkdir()
        folder.symlink_to(folder.parent / "elsewhere")
        if os.getuid() == user_folders.SYSTEM:  # whose links are followed
            monkeypatch.setattr(user_folders, "SYSTEM", -1)
        return "is a symbolic link"
    folder.mkdir()
    if how == "mode":
        folder.chmod(0o777)
        return "other accounts may write"
    lstat = Path.lstat

    def found(self):
        changed = list(lstat(self))
        changed[4] = os.getuid() + 1
        return os.stat_result(changed) if self == folder else lstat(self)

    monkeypatch.setattr(Path, "lstat", found)
    return "belongs to another account"


@pytest.mark.parametrize("how", ["mode", "owner", "link"])
def test_what_others_may_have_put_there_is_never_unpickled(fresh, monkeypatch, how):
    (fresh / "cache").mkdir(mode=0o700)
    why = planted(fresh / "cache" / "mklcore", monkeypatch, how)
    with pytest.warns(
        RuntimeWarning, match=f"kept in another folder: .*{why}.* is used instead.*{cache.NAMED}"
    ):
        assert entry_of(fresh)(ONE) == 2.0
    assert not list((fresh / "cache").rglob("*.nb?"))
    assert list((fresh / "temporary" / f"mklcore-{os.getuid()}").rglob("*.nbc"))
    (fresh / "temporary").chmod(0o777)
    with pytest.warns(RuntimeWarning, match="not kept.*Name a folder|not kept.*name a folder"):
        assert not cache.is_filled()


def failing(number, inside):
    """``Path.open`` where files that are made inside a folder meet an error of the system."""
    before = Path.open

    def opened(self, mode="r", *args, **named):
        if "x" in mode and inside in self.parents:
            raise OSError(number, os.strerror(number))
        return before(self, mode, *args, **named)

    return opened


@pytest.mark.parametrize("number", [errno.EACCES, errno.ENOSPC])
def test_a_folder_that_takes_no_files_is_left_for_one_that_does_and_its_repair_is_said(
    fresh, monkeypatch, number
):
    monkeypatch.setattr(Path, "open", failing(number, fresh / "cache"))
    used = f"mklcore-{os.getuid()} is used instead.*Free some room"
    with pytest.warns(RuntimeWarning, match=f"cache.mklcore takes no files.*{used}"):
        assert entry_of(fresh)(ONE) == 2.0
    assert list((fresh / "temporary").rglob("*.nbc"))


def test_a_cache_file_that_cannot_be_read_or_removed_costs_no_answer(fresh):
    entry_of(fresh)(ONE)
    for file in (fresh / "cache").rglob("*.nbi"):
        file.unlink()
        file.mkdir()  # reading and removing it as a file fail, as those of another account's do
    assert entry_of(fresh)(ONE) == 2.0


def test_a_compiler_that_may_not_raise_its_priority_goes_on(monkeypatch):
    asked = list[int]()

    class Nice:
        def nice(self, value=None):
            if value is None:
                return 10
            asked.append(value)
            raise psutil.AccessDenied

    monkeypatch.setattr(psutil, "Process", Nice)
    monkeypatch.setattr(cache, "folder", lambda: None)
    monkeypatch.setattr(warmup, "warm_up", lambda progress: progress(1, 1))
    warmup.main()
    assert asked == [getattr(psutil, "BELOW_NORMAL_PRIORITY_CLASS", 10)]


def test_a_folder_below_one_that_others_may_write_is_not_ones_own(tmp_path):
    tmp_path.chmod(0o777)
    assert "may write" in own_folder(tmp_path / "mine")
    tmp_path.chmod(0o1777)  # as the temporary directory: nobody can rename what is another's
    assert own_folder(tmp_path / "mine") == ""
    assert "may write" in why_not_own(tmp_path)


def test_a_folder_a_person_names_may_be_shared_by_a_group_and_reached_by_a_link(tmp_path):
    shared = tmp_path / "shared"
    link = tmp_path / "link"
    shared.mkdir()
    shared.chmod(0o775)
    link.symlink_to(shared)
    assert own_folder(link, named=True) == ""
    assert "may write" in own_folder(shared)
    shared.chmod(0o777)
    assert "may write" in own_folder(link, named=True)


@pytest.mark.parametrize("inside", ["", "inside"])
def test_what_is_no_folder_is_refused(tmp_path, inside):
    (tmp_path / "a file").touch()
    assert "is no folder" in own_folder(tmp_path / "a file" / inside)


def test_the_folder_is_the_named_one_or_beside_the_sources_of_a_checkout(fresh, monkeypatch):
    (fresh / "package").mkdir()
    (fresh / "pyproject.toml").touch()
    assert cache.folder().is_relative_to(fresh / "package")
    monkeypatch.setenv(cache.NAMED, str(fresh / "named"))
    assert cache.folder().parent == fresh / "named"
    monkeypatch.setenv(cache.NAMED, os.path.join(os.devnull, "cache"))
    with pytest.warns(RuntimeWarning, match="/dev/null is no folder"):
        assert cache.folder().is_relative_to(fresh / "temporary")


def test_an_account_without_a_home_folder_keeps_nothing_and_is_told(fresh, monkeypatch):
    monkeypatch.setattr(appdirs, "user_cache_dir", lambda *_, **__: "~/.cache/mklcore")
    monkeypatch.setattr(
        disk_files, "user_data_path", lambda *_, **__: Path("~/.local/share/mkl-explorer")
    )
    monkeypatch.delenv("MKL_EXPLORER_HOME", raising=False)
    with pytest.warns(RuntimeWarning, match="this account has no home folder"):
        assert cache.folder() is None
    assert disk_files.default_home() is None


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


def test_a_full_disk_costs_the_cache_and_not_the_answer(fresh, monkeypatch):
    doubled = entry_of(fresh)
    with full_disk():
        assert doubled(ONE) == 2.0
    monkeypatch.setattr(warmup, "warm_up", lambda progress: None)
    monkeypatch.setattr(warmup, "_let_others_go_first", lambda: None)
    warmup.main()
    assert not cache.is_filled(), "nothing was kept"


def test_a_damaged_file_is_made_again(fresh):
    entry_of(fresh)(ONE)
    for file in (fresh / "cache").rglob("*.nb?"):
        file.write_bytes(b"\x80")
    assert entry_of(fresh)(ONE) == 2.0
    assert is_loaded(fresh)


# The process that compiles, and the server that waits


def test_the_compiler_ends_with_the_process_that_asked_for_it(tmp_path):
    ended = subprocess.run(
        compiling.COMPILE, stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False,
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(cache.PACKAGE.parent)},
    )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (1, b"")


@pytest.fixture
def imported(monkeypatch):
    """A server that has imported everything and waits for no browser."""
    monkeypatch.setattr(compiling, "BROWSER_SECONDS", 0.0)
    monkeypatch.setattr(compiling, "calm", lambda: None)
    compiling.IMPORTED.set()


@pytest.mark.parametrize("fails", [False, True])
def test_the_server_follows_one_process_then_loads_and_waits_for_none_that_died(
    fresh, imported, monkeypatch, fails
):
    script = "print('something else')\nprint(3, 5, 1, flush=True)\n" + (
        "raise SystemExit(1)" if fails else "print(5, 5, 1)"
    )
    monkeypatch.setattr(compiling, "COMPILE", [sys.executable, "-c", script])
    state, loaded = Preparation(), list[bool]()
    monkeypatch.setattr(warmup, "warm_up", lambda progress: loaded.append(state.ready()))
    state.after_drawing()
    state.go_through()
    assert loaded == [not fails]
    assert state.ready()


def test_what_is_compiled_is_reported_at_once_and_loaded_when_somebody_asks(imported, monkeypatch):
    loaded = []
    state = Preparation()
    monkeypatch.setattr(compiling, "BROWSER_SECONDS", 60.0)
    monkeypatch.setattr(cache, "is_filled", lambda: True)
    monkeypatch.setattr(warmup, "warm_up", loaded.append)
    thread = threading.Thread(target=state.go_through)
    thread.start()
    state.after_drawing()
    with state._changed:
        assert state._changed.wait_for(state.ready, 60)
    assert not loaded
    state.ask()
    thread.join(60)
    assert loaded
    assert state.over


def test_the_thread_that_loads_ends_before_the_server_does(imported, monkeypatch):
    """One that the end of the interpreter finds inside the compiler ends the process with an abort."""
    begun, state = threading.Event(), Preparation()

    def load(progress):
        while True:
            begun.set()
            progress(1, 2)

    monkeypatch.setattr(cache, "is_filled", lambda: True)
    monkeypatch.setattr(warmup, "warm_up", load)
    thread = threading.Thread(target=state.go_through, daemon=True)
    thread.start()
    state.after_drawing()
    assert begun.wait(60)
    state.leave(thread)
    assert not thread.is_alive()
    assert state.over
