"""Processes compile for the server: progress and wishes pass between them, each takes a stage of its own."""

import json
import os
import subprocess
import sys
import threading
from concurrent.futures import CancelledError
from functools import partial

import pytest

import mklcore
from mklcore._numba import compiling
from pages._parts.jobs import preparing
from pages._parts.jobs.preparing import Preparation

ECHO = """
import json, sys
print("something else")
print(json.dumps([[], sys.argv[1]]), flush=True)
wish = sys.stdin.readline().strip()
print(json.dumps([[sys.argv[1]], wish]), flush=True)
sys.exit(int(wish == "die"))
"""


@pytest.mark.parametrize(("wish", "well"), [("hkl", True), ("die", False)])
def test_progress_comes_back_wishes_go_out_and_a_death_is_reported(wish, well):
    process, heard = compiling.Compiler(["kernels"], ("-c", ECHO)), []

    def hear(done, now):
        heard.append((done, now))
        process.want([wish])

    assert process.follow(hear) is well
    assert heard == [((), "kernels"), (("kernels",), wish)]


def test_a_process_that_hangs_is_not_waited_for():
    process = compiling.Compiler((), ("-c", "import time; time.sleep(600)"))
    assert process.follow(lambda done, now: None, patience=0.2) is False


def test_two_compile_different_stages_and_wait_for_what_the_other_is_at(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    inside, names = threading.Event(), list[str]()

    def enter():
        with compiling._free(["kernels"]) as name:
            names.append(name)
            inside.set()

    with compiling._free(["kernels", "lp"]) as first, compiling._free(["kernels", "lp"]) as second:
        assert (first, second) == ("kernels", "lp")
        other = threading.Thread(target=enter)
        other.start()
        assert not inside.wait(0.1)
    assert inside.wait(10)
    other.join()
    assert names == ["kernels"]


def test_what_another_process_has_compiled_is_not_compiled_again(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    ran = list[str]()
    monkeypatch.setattr(compiling, "lower_priority", lambda steps: None)
    monkeypatch.setattr(compiling, "_listen", lambda wishes, with_parent: None)
    work = {name: partial(ran.append, name) for name in ("kernels", "lp", "hkl")}
    monkeypatch.setattr(mklcore._numba.warmup, "stages", lambda: work)
    compiling._stamp("lp").parent.mkdir()
    compiling._stamp("lp").touch()
    compiling.main(["hkl"])
    assert ran == ["hkl", "kernels"]
    assert compiling.is_filled()
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == [["hkl", "kernels", "lp"], ""]


def test_a_change_of_the_sources_empties_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert not compiling.is_filled()
    compiling._stamp().parent.mkdir()
    compiling._stamp().touch()
    assert compiling.is_filled()
    with monkeypatch.context() as another:
        another.setenv("NUMBA_CPU_NAME", "generic")
        assert not compiling.is_filled()  # that code is for this processor
    (tmp_path / "module.py").touch()
    monkeypatch.setattr(compiling, "SOURCES", tmp_path)
    assert not compiling.is_filled()


def test_who_needs_a_stage_waits_for_it_alone():
    state, waiting = Preparation(("kernels", "lp", "hkl")), threading.Event()
    state.report(["kernels"], "lp")
    state.wait(["kernels"])

    def wait():
        state.wait(["kernels", "lp"])
        waiting.set()

    thread = threading.Thread(target=wait)
    thread.start()
    assert not waiting.wait(0.05)
    state.report(["lp"], "hkl")
    assert waiting.wait(10)
    thread.join()
    with pytest.raises(CancelledError):
        state.wait(["hkl"], lambda: True)


def test_what_a_process_that_died_left_is_compiled_here(monkeypatch):
    class Dying:
        def __init__(self, first):
            self.first = first

        def follow(self, progress):
            progress(("kernels",), "lp")
            return False

    loaded = []
    monkeypatch.setattr(compiling, "is_filled", lambda: False)
    monkeypatch.setattr(compiling, "is_brought", lambda: False)
    monkeypatch.setattr(compiling, "Compiler", Dying)
    monkeypatch.setattr(mklcore._numba.warmup, "warm_up", lambda progress: loaded.append(state.ready(["lp"])))
    monkeypatch.setattr(preparing, "BROWSER_SECONDS", 0.0)
    state = Preparation(("kernels", "lp"))
    state.after_drawing()
    state.go_through()
    assert loaded == [False]
    assert state.ready(["kernels", "lp"])


def test_what_is_compiled_is_reported_at_once_and_loaded_when_somebody_asks(monkeypatch):
    loaded, state = [], Preparation(("kernels", "lp"))
    monkeypatch.setattr(preparing, "BROWSER_SECONDS", 60.0)
    monkeypatch.setattr(compiling, "is_filled", lambda: True)
    monkeypatch.setattr(mklcore._numba.warmup, "warm_up", loaded.append)
    thread = threading.Thread(target=state.go_through)
    thread.start()
    state.after_drawing()
    with state._changed:
        assert state._changed.wait_for(lambda: state.ready(["kernels", "lp"]), 60)
    assert not loaded
    state.wait(["lp"])
    thread.join(60)
    assert loaded
    assert state.over


def test_the_thread_that_loads_ends_before_the_server_does(monkeypatch):
    """One that the end of the interpreter finds inside the compiler ends the process with an abort."""
    begun, state = threading.Event(), Preparation(("kernels", "lp"))

    def load(progress):
        while True:
            begun.set()
            progress(("kernels",), "lp")

    monkeypatch.setattr(preparing, "BROWSER_SECONDS", 0.0)
    monkeypatch.setattr(compiling, "is_filled", lambda: True)
    monkeypatch.setattr(mklcore._numba.warmup, "warm_up", load)
    thread = threading.Thread(target=state.go_through, daemon=True)
    thread.start()
    state.after_drawing()
    assert begun.wait(60)
    state.leave(thread)
    assert not thread.is_alive()
    assert state.over


def test_the_compiler_ends_with_the_process_that_asked_for_it(tmp_path):
    command = [sys.executable, *compiling.COMMAND]
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o700)
    ended = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False,
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(compiling.SOURCES.parent)},
    )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (1, b"")


def test_what_runs_beside_people_lets_them_go_first():
    reported = "from mklcore._numba.compiling import lower_priority; import psutil; before = psutil.Process().nice(); "
    reported += "lower_priority(before + 3); print(psutil.Process().nice() - before)"
    done = subprocess.run([sys.executable, "-c", reported], capture_output=True, text=True, check=True)
    assert int(done.stdout) == 3 or sys.platform == "win32"
