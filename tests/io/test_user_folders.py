"""Files are there whole or not at all, whatever the disk, a killed process or another account does."""

import errno
import os
import subprocess
import sys
import threading

import pytest

from mklcore.io import user_folders
from mklcore.io.user_folders import read_whole, write_whole
from tests.helpers.every import every
from tests.helpers.faults import refusing

OLD = b"old"
NEW = b"new content"


@every("name", ["fsync", "replace", "open"])
def test_a_write_that_fails_leaves_what_was_there_and_nothing_beside_it(
    name, tmp_path, monkeypatch
):
    place = tmp_path / "model"
    write_whole(place, lambda file: file.write(OLD))
    with monkeypatch.context() as patch:
        patch.setattr(user_folders.os, name, refusing(errno.ENOSPC))
        with pytest.raises(OSError, match="No space left"):
            write_whole(place, lambda file: file.write(NEW))
    assert place.read_bytes() == OLD
    assert list(tmp_path.iterdir()) == [place]


def test_what_a_killed_process_left_is_removed_by_the_next_and_what_others_write_now_is_not(
    tmp_path,
):
    place = tmp_path / "model.mkl"
    script = (
        "import sys, time; from pathlib import Path; from mklcore.io.user_folders "
        "import write_whole\nwrite_whole(Path(sys.argv[1]), lambda file: (print('begun', "
        "flush=True), time.sleep(60)))"
    )
    with subprocess.Popen([sys.executable, "-c", script, place], stdout=subprocess.PIPE) as writer:
        assert writer.stdout.readline() == b"begun\n"
        write_whole(place, lambda file: file.write(NEW))
        assert len(list(tmp_path.iterdir())) == 2, "the other process is still at it"
        writer.kill()
    others = threading.Event(), threading.Event()
    thread = threading.Thread(
        target=write_whole,
        args=(place, lambda file: (others[0].set(), others[1].wait(30), file.write(OLD))),
    )
    thread.start()
    assert others[0].wait(30)
    write_whole(place, lambda file: file.write(NEW))
    assert len(list(tmp_path.iterdir())) == 2, "another thread is still at it"
    others[1].set()
    thread.join(30)
    assert [file.name for file in tmp_path.iterdir()] == ["model.mkl"]


def test_a_planted_link_is_replaced_and_never_followed(tmp_path):
    target = tmp_path / "target"
    place = tmp_path / "place"
    target.write_bytes(OLD)
    place.symlink_to(target)
    with pytest.raises(OSError, match=r"symbolic|levels"):
        read_whole(place, 100)
    write_whole(place, lambda file: file.write(NEW), mode=0o600)
    assert (target.read_bytes(), place.read_bytes(), place.is_symlink()) == (OLD, NEW, False)
    assert place.stat().st_mode & 0o777 == 0o600


def test_no_more_is_read_than_asked_for_and_no_less_than_there_is(tmp_path, monkeypatch):
    place = tmp_path / "place"
    place.write_bytes(NEW)
    assert read_whole(place, len(NEW)) == NEW
    with pytest.raises(OSError, match="more than"):
        read_whole(place, len(NEW) - 1)
    with pytest.raises(OSError, match=r"is no file|directory"):
        read_whole(tmp_path, 100)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(OSError, match="is no file"):
            read_whole(tmp_path / "pipe", 100)
    size = os.stat_result([0o100600, *[0] * 5, len(NEW) + 1, *[0] * 3])
    monkeypatch.setattr(user_folders.os, "fstat", lambda number: size)
    with pytest.raises(OSError, match="gave 11 of its 12 bytes"):
        read_whole(place, 100)
