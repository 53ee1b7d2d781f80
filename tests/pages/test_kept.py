"""Kept work: what a reload, a saved file and a restart bring back, and what undo takes back."""

import errno
import io
import os
import tempfile
import zipfile
from dataclasses import replace
from itertools import count

import numpy as np
import pytest

from mklcore.io import user_folders
from mklcore.io.models import load_model
from pages.shared import private_streamlit
from pages.shared.export import saved
from pages.shared.export.saved import Screen
from pages.shared.session import disk_files, state
from pages.shared.session.parameters import upload_name
from pages.shared.session.state import Upload
from pages.shared.work import work
from tests.helpers.every import every
from tests.helpers.faults import refusing
from tests.helpers.pages import go, memory, open_app, press, quiet, table, upload, words
from tests.helpers.refusals import data_error
from tests.helpers.stacks import npz

TABLE = table(seed=5)
LINK = {"data": upload_name(TABLE), "seed": "4"}
GOOD = saved.write(Screen("explore", LINK, "cars.csv", TABLE, "lin@1;"))


def archive(**parts):
    """The saved screen with other parts in their places; None leaves one out."""
    with zipfile.ZipFile(io.BytesIO(GOOD)) as good:
        members = {name: good.read(name) for name in good.namelist()} | parts
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as changed:
        for name, content in members.items():
            if content is not None:
                changed.writestr(name, content)
    return file.getvalue()


FOREIGN = npz(K=np.eye(3), y=np.ones(3))
SCREEN = saved.SCREEN
REFUSED = {
    "empty": (b"", "damaged"),
    "truncated": (GOOD[: len(GOOD) // 2], "damaged"),
    "changed bytes": (GOOD[:150] + bytes([GOOD[150] ^ 255]) + GOOD[151:], "damaged"),
    "another table": (archive(table=b"a,b\n1,2\n"), "bytes of it changed"),
    "no table": (archive(table=None), "bytes of it changed"),
    "foreign zip": (FOREIGN, "not what a saved screen holds"),
    "a part more": (archive(**{"../x": b"1"}), "not what a saved screen holds"),
    "bomb": (archive(table=bytes(101_000_000)), "table has 101 MB, more than 100"),
    "bomb of text": (archive(**{SCREEN: b" " * 2_000_000}), "more than 1"),
    "values without end": (archive(**{SCREEN: b"[" * 1_000_000}), "damaged|values"),
    "other format": (archive(**{SCREEN: b'{"format": "x"}'}), "its format is 'x'"),
    "no object": (archive(**{SCREEN: b"3"}), "damaged"),
    "path": (archive(**{saved.PATH: FOREIGN}), "Paths cannot be read"),
}


@every("what", REFUSED)
def test_other_files_are_refused_in_a_sentence(what):
    content, why = REFUSED[what]
    with data_error(f"This saved screen cannot be opened: .*({why})"):
        saved.read(content)


def test_a_screen_comes_back_from_its_file():
    assert saved.is_screen(GOOD)
    assert not saved.is_screen(FOREIGN)
    assert saved.read(GOOD) == Screen("explore", LINK, "cars.csv", TABLE, "lin@1;")


def test_a_saved_screen_opens_by_a_drop_with_table_path_and_model(monkeypatch):
    app = go(
        upload(open_app(each="none", widths="2", recipe="builders"), TABLE), "pages/explore/page.py"
    )
    made = []
    monkeypatch.setattr(
        saved, "saving", lambda saving=saved.saving: made.append(saving()) or made[-1]
    )
    app.session_state["link"] = True
    said = words(quiet(app.run()))
    assert "held-out rows" in said
    content = made[-1]()
    model = zipfile.ZipFile(io.BytesIO(content)).read(saved.MODEL)
    assert load_model(io.BytesIO(model)).n_features_in_ == 3
    with monkeypatch.context() as patch:  # nothing can be computed yet
        patch.setattr(work.WORK, "inline", False)
        patch.setattr(work.WORK, "_compiled", lambda: False)
        other = upload(open_app("pages/home/page.py"), content, "screen.mklx")
        assert memory(other).params == memory(app).params
        assert memory(other).page == "explore"
        assert saved.read(content).path.values.tolist() == memory(other).opened[0].values.tolist()
    assert words(go(other, "pages/explore/page.py")).splitlines()[0] == said.splitlines()[0]
    before = memory(other).params
    upload(go(other, "pages/home/page.py"), REFUSED["no table"][0], "x.mklx")
    assert "bytes of it changed" in words(other)
    assert memory(other).params == before


def test_a_reload_finds_table_and_dictionary_in_the_same_browser_alone(monkeypatch):
    browser = ["anna"]
    monkeypatch.setattr(private_streamlit, "browser", lambda: browser[0])
    app = upload(open_app(), TABLE)
    text = "lin@1;" * 400
    name = state.KEPT + "0" * 64
    memory(app).tables[name] = text
    quiet(app.run())
    for browser[0], found in (("ben", False), ("", False), ("anna", True)):
        again = open_app(data=LINK["data"], edited=name)
        assert ("**60** rows" in words(again)) is found
        assert (list(memory(again).tables.values()) == [text]) is found


def test_what_a_reload_finds_is_bounded_and_ends(monkeypatch):
    held = saved.Reloads(100)
    held.put("anna", "a", "x" * 60)
    held.put("anna", "b", Upload("b.csv", b"x" * 60))
    held.put("anna", "large", "x" * 101)
    assert [held.get("anna", name) is not None for name in ("a", "b", "large")] == [
        False,
        True,
        False,
    ]
    monkeypatch.setattr(saved, "RELOAD_SECONDS", 0.0)
    ended = saved.Reloads(100)
    ended.put("anna", "a", "x")
    assert ended.get("anna", "a") is None


def kept_in(folder):
    return sorted(
        file.name for file in folder.rglob("*") if file.is_file() and file.name != disk_files.MARK
    )


def test_a_server_of_one_person_finds_a_table_after_a_restart(home, monkeypatch):
    app = upload(open_app(), TABLE)
    assert "**60** rows" in words(app)
    assert "it is still here after a restart" in words(app)
    (name,) = kept_in(home)
    file = home / "tables" / name
    with zipfile.ZipFile(file) as archive:  # a person waits for it
        assert archive.getinfo("table").compress_type == zipfile.ZIP_STORED
    assert file.stat().st_mode & 0o077 == 0
    assert "**60** rows" in words(open_app(**LINK))
    monkeypatch.setenv("MKL_EXPLORER_HOSTS", "mkl.example.org")  # one of several
    assert "Upload the same file" in words(open_app(**LINK))
    upload(open_app(), table(seed=6))
    assert kept_in(home) == [name]
    monkeypatch.delenv("MKL_EXPLORER_HOSTS")
    file.write_bytes(REFUSED["changed bytes"][0])
    assert "it was removed" in words(open_app(**LINK))
    assert kept_in(home) == []


def test_the_table_that_was_used_longest_ago_goes_and_is_named(home, monkeypatch, caplog):
    monkeypatch.setattr(saved, "TABLES", replace(saved.TABLES, most=2))
    monkeypatch.setattr(disk_files.time, "time_ns", lambda: 10**18 - 10**12 * next(back))
    back = count()  # a clock that is set back again and again
    for seed, title in enumerate(("old.csv", "used.csv", "new.csv")):
        app = upload(open_app(), table(seed=seed), title)
        if seed == 1:
            open_app(data=upload_name(table(seed=0)))  # the older one is used once more
    left = {saved._title(file) for file in saved.TABLES.files()}
    assert left == {"old.csv", "new.csv"}
    assert r"used\.csv, used longest ago, made room" in words(app)
    assert "(used.csv) was removed" in caplog.text


def test_a_folder_that_was_there_before_is_a_persons_own_and_does_not_count(home, monkeypatch):
    monkeypatch.setattr(saved, "TABLES", replace(saved.TABLES, most=2))
    (home / "tables").mkdir(parents=True)
    own = [home / "tables" / name for name in ("a.csv", "b.csv", "c.csv", "f" * 64 + ".mklx")]
    for file in own:
        file.write_bytes(b"mine")
    for seed in range(3):
        upload(open_app(), table(seed=seed))
    assert [file.read_bytes() for file in own] == [b"mine"] * 4
    assert len(kept_in(home / "tables" / disk_files.APP)) == 2
    (home / "tables" / own[0].name).replace(home / "tables" / disk_files.APP / own[0].name)
    upload(open_app(), table(seed=3))
    assert "a.csv" in kept_in(home / "tables" / disk_files.APP), (
        "and nothing else in a folder of ours"
    )


def test_a_full_disk_costs_no_kept_table_and_its_person_is_told(home, monkeypatch):
    kept_tables = replace(saved.TABLES, most=3)
    monkeypatch.setattr(saved, "TABLES", kept_tables)
    for seed in range(3):
        kept_tables.keep(f"{seed:064x}.mklx", GOOD)
    before = kept_in(home)
    with monkeypatch.context() as patch:
        patch.setattr(user_folders.os, "fsync", refusing(errno.ENOSPC))
        app = upload(open_app(), TABLE)
        assert words(app).count("The disk is full: this table lives as long as this tab.") == 2
        assert "after a restart" not in words(app)
        for seed in range(25):
            with pytest.raises(disk_files.NotKeptError, match="the disk is full"):
                kept_tables.keep(f"{3 + seed:064x}.mklx", GOOD)
        assert kept_in(home) == before
    kept_tables.keep(f"{99:064x}.mklx", GOOD)
    assert kept_in(home) == [*before[1:], f"{99:064x}.mklx"]


@every("number", [errno.EACCES, errno.EMFILE])
def test_a_table_that_cannot_be_read_now_stays_and_is_named(number, home, monkeypatch):
    upload(open_app(), TABLE)
    (name,) = kept_in(home)
    with monkeypatch.context() as patch:
        patch.setattr(disk_files, "read_whole", refusing(number))
        said = words(open_app(**LINK))
        assert f"cannot be read now ({os.strerror(number)})" in said.replace("\\", "")
        assert name[:64] in said
    assert kept_in(home) == [name]
    assert "**60** rows" in words(open_app(**LINK))


@every("what", ["other format", "foreign zip", "no memory"])
def test_only_what_fails_its_own_checksum_is_damaged(what, home, monkeypatch):
    upload(open_app(), TABLE)
    (name,) = kept_in(home)
    file = home / "tables" / name
    before = (home / "tables" / name).read_bytes()
    with monkeypatch.context() as patch:
        if what == "no memory":
            patch.setattr(saved.zipfile, "ZipFile", lambda *_: (_ for _ in ()).throw(MemoryError))
        else:
            file.write_bytes(REFUSED[what][0])
        assert "left where it is" in words(open_app(**LINK))
    assert kept_in(home) == [name]
    file.write_bytes(before)


def test_a_folder_of_another_account_is_left_for_a_temporary_one_and_its_repair_is_said(
    home, tmp_path, monkeypatch
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    made = user_folders._not_made
    taken = lambda folder: "it is another's" if folder == home else made(folder)  # noqa: E731
    home.mkdir()
    monkeypatch.setattr(user_folders, "_not_made", taken)
    said = words(upload(open_app(), TABLE)).replace("\\", "")
    assert "make this account its owner" in said
    (name,) = kept_in(tmp_path / "temporary")
    assert "**60** rows" in words(open_app(**LINK))
    assert name.startswith(LINK["data"].removeprefix("upload:"))


def test_the_app_goes_on_where_nothing_can_be_kept(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere" / "file"))
    (tmp_path / "nowhere").write_text("a file is in the way")
    monkeypatch.setenv("MKL_EXPLORER_HOME", str(tmp_path / "nowhere"))
    app = upload(open_app(), TABLE)
    assert "**60** rows" in words(app)
    assert "lives as long as this tab, because it cannot be kept" in words(app)
    assert "is not kept for a restart" in caplog.text


# Undo, redo and the link


def test_redo_takes_back_an_undo_until_something_new_is_chosen():
    app = open_app()
    for name in ("wine", "iris"):
        press(app, f"table_{name}")
    for key, data in (
        ("undo", "wine"),
        ("undo", "breast_cancer"),
        ("redo", "wine"),
        ("redo", "iris"),
        ("redo", "iris"),
    ):
        press(app, key)
        assert memory(app).params.data == data
        in_link = "" if data == "breast_cancer" else data  # the sample that needs no choice
        assert app.query_params.get("data", "") == in_link
    press(app, "undo")
    press(app, "table_diabetes")
    press(app, "redo")
    assert memory(app).params.data == "diabetes"


@every("stepped_back, data", [(True, "iris"), (False, "wine")])
def test_a_step_back_is_read_however_soon_and_a_link_that_was_behind_is_put_right(
    stepped_back, data, monkeypatch
):
    app = open_app(data="iris")
    press(app, "table_wine")
    monkeypatch.setattr(private_streamlit, "went_through_history", lambda: stepped_back)
    app.query_params["data"] = "iris"
    quiet(app.run())
    assert memory(app).params.data == app.query_params["data"] == data
    assert stepped_back or len(memory(app).past) == 1
