"""The store of kept work: for whom it is, what leaves when, and what no clock, no full disk and no damaged file may
do.
"""

import contextlib
import hashlib
import os
import shutil
import sqlite3
import stat
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from pages._parts.runs import disk, schema
from pages._parts.runs import store as runs_store
from pages._parts.runs.clock import DAY, Clock
from pages._parts.runs.disk import FILE, StoreError
from pages._parts.runs.secrets import link_secret
from pages._parts.runs.store import GONE, UNREAD, File, Limits, Store
from tests.kept_work import ANNA, BEN, on_disk

RECIPE = {"data": "iris", "widths": "2"}


def file(content: bytes = b"a,b\n1,2\n", name: str = "things.csv") -> File:
    return File(f"upload:{hashlib.sha256(content).hexdigest()}", name, content)


@pytest.fixture
def store(home: Path) -> Store:
    return Store(home)


def test_a_run_comes_back_with_its_table_in_another_process_of_the_server(store: Store, home: Path) -> None:
    kept = file()
    run = store.save(ANNA, "Mine", "explore", RECIPE, [kept], {"seed": 3}, b"results")
    again = Store(home)
    found, files = again.run(ANNA, run.id)
    assert (found.name, found.page, found.recipe, found.facts) == ("Mine", "explore", RECIPE, {"seed": 3})
    assert files == [kept]
    assert again.results(run.id) == b"results"
    assert again.linked(link_secret(ANNA, run.id))[1] == [kept]
    assert [one.id for one in again.runs(ANNA)] == [run.id]
    assert again.runs(ANNA)[0].files == ((kept.source, "things.csv"),)


def test_nobody_without_the_secret_lists_opens_or_deletes_a_run(store: Store) -> None:
    run = store.save(ANNA, "Mine", "explore", RECIPE, [file()])
    assert store.runs(BEN) == []
    assert store.file(BEN, file().source) is None
    assert not store.is_kept(BEN, file().source)
    assert not store.owns(BEN, run.id)
    assert store.forget(BEN, file().source)
    for attempt in (lambda: store.run(BEN, run.id), lambda: store.delete(BEN, run.id)):
        with pytest.raises(StoreError, match="does not exist"):
            attempt()
    assert store.run(ANNA, run.id)[1] == [file()]


def test_the_secret_of_a_link_opens_but_does_not_delete_or_list(store: Store) -> None:
    run = store.save(ANNA, "Mine", "explore", RECIPE)
    secret = link_secret(ANNA, run.id)
    assert store.linked(secret)[0].id == run.id
    assert store.runs(secret) == []
    with pytest.raises(StoreError):
        store.delete(secret, run.id)


@pytest.mark.parametrize(
    "token",
    ["", "x", "../../etc/passwd", "' OR 1=1 --", "a" * 43, "ä" * 43, "a" * 100_000, "%", "\x00" * 43, None, 7, "_" * 42 + "\n"],  # noqa: E501
)  # fmt: skip
def test_a_wrong_secret_gets_the_words_of_a_deleted_run(store: Store, token: object) -> None:
    run = store.save(ANNA, "Mine", "explore", RECIPE)
    store.delete(ANNA, run.id)
    reported = []
    for secret in (token, link_secret(ANNA, run.id)):
        with pytest.raises(StoreError) as refused:
            store.linked(secret)  # type: ignore[arg-type]
        reported.append(str(refused.value))
    assert reported == [GONE, GONE]


def test_secrets_are_not_in_the_file(store: Store, home: Path) -> None:
    run = store.save(ANNA, "Mine", "explore", RECIPE, [file()])
    kept = on_disk(home)
    for secret in (ANNA, link_secret(ANNA, run.id)):
        assert secret.encode() not in kept
    assert len(link_secret(ANNA, run.id)) == 43
    assert link_secret(ANNA, run.id) != link_secret(BEN, run.id)


def test_deleted_means_that_no_byte_of_it_is_left(store: Store, home: Path) -> None:
    marked = file(b"patient,diagnosis\n" + b"Mustermann,very-secret-finding\n" * 3000)
    run = store.save(
        ANNA, "Named after Mustermann", "explore", RECIPE, [marked], {"table": "Mustermann"}, b"Mustermann"
    )
    other = store.save(ANNA, "Other", "explore", RECIPE, [file()])
    assert b"Mustermann" in on_disk(home)
    assert store.delete(ANNA, run.id) == ()
    assert b"Mustermann" not in on_disk(home)
    assert b"very-secret-finding" not in on_disk(home)
    assert (home / FILE).stat().st_size < 80_000  # it held 100,000 bytes more
    assert store.run(ANNA, other.id)[1] == [file()]
    store.keep(ANNA, marked)
    assert store.forget(ANNA, marked.source)
    assert b"Mustermann" not in on_disk(home)


def test_a_file_two_runs_need_leaves_with_the_second(store: Store) -> None:
    first, second = (store.save(ANNA, name, "explore", RECIPE, [file()]) for name in "ab")
    assert store.delete(ANNA, first.id) == ("things.csv",)
    assert not store.forget(ANNA, file().source)
    assert store.delete(ANNA, second.id) == ()
    assert not store.is_kept(ANNA, file().source)


def test_the_same_file_of_two_people_is_two_files(store: Store) -> None:
    run = store.save(ANNA, "Mine", "explore", RECIPE, [file()])
    store.keep(BEN, file())
    store.delete(ANNA, run.id)
    assert store.file(BEN, file().source) == file()
    assert store.file(ANNA, file().source) is None


def test_unnamed_files_leave_after_their_days_and_named_ones_stay(store: Store, home: Path) -> None:
    old, used, named = (file(text.encode() * 200) for text in ("old", "used", "named"))
    for one in (old, used, named):
        store.keep(ANNA, one)
    run = store.save(ANNA, "Mine", "explore", RECIPE, [named])
    with contextlib.closing(sqlite3.connect(home / FILE)) as base, base:
        base.execute("UPDATE files SET used = used - ?", (6.9 * DAY,))
    assert store.file(ANNA, used.source) == used
    with contextlib.closing(sqlite3.connect(home / FILE)) as base, base:
        base.execute("UPDATE files SET used = used - ?", (0.2 * DAY,))
    Store(home).tidy()
    assert [store.is_kept(ANNA, one.source) for one in (old, used, named)] == [False, True, True]
    assert store.run(ANNA, run.id)[1] == [named]
    assert b"oldold" not in on_disk(home)


def test_the_oldest_unnamed_file_makes_room_and_named_runs_never_do(home: Path) -> None:
    small = Store(home, Limits(file_mb=1, owner_mb=2.5, total_mb=3))
    parts = [file(bytes([k]) * 900_000) for k in range(5)]
    for part in parts[:3]:
        small.keep(ANNA, part)
    assert [small.is_kept(ANNA, part.source) for part in parts[:3]] == [False, True, True]
    small.save(ANNA, "a", "explore", RECIPE, [parts[1]])
    small.save(ANNA, "b", "explore", RECIPE, [parts[2]])
    with pytest.raises(StoreError, match=r"There is no room: named runs of this browser .* Delete one first"):
        small.save(ANNA, "c", "explore", RECIPE, [parts[3]])
    assert [run.name for run in small.runs(ANNA)] == ["b", "a"]
    small.keep(BEN, parts[3])
    small.keep(BEN, parts[4])  # its own makes room
    assert [small.is_kept(BEN, part.source) for part in parts[3:]] == [False, True]
    with pytest.raises(StoreError, match="1 MB the server keeps"):
        small.keep(BEN, file(bytes(1_100_000)))


def test_the_living_make_no_room_for_the_newcomer(home: Path) -> None:
    small = Store(home, Limits(total_mb=2))
    small.keep(ANNA, file(bytes(900_000)))
    small.keep(ANNA, file(bytes(900_001)))
    with pytest.raises(StoreError, match="no room on this server: it keeps 2 MB, all named or used within a day"):
        small.keep(BEN, file(bytes(900_002)))
    with contextlib.closing(sqlite3.connect(home / FILE)) as base, base:
        base.execute("UPDATE files SET used = used - ? WHERE size = 900000", (1.1 * DAY,))
    small.keep(BEN, file(bytes(900_002)))
    assert [small.is_kept(ANNA, file(bytes(size)).source) for size in (900_000, 900_001)] == [False, True]


def test_runs_nobody_opens_leave_and_say_when(store: Store, home: Path) -> None:
    opened, _ = (store.save(ANNA, name, "explore", RECIPE, [file(name.encode() * 50)]) for name in ("opened", "left"))
    assert opened.until == pytest.approx(time.time() + runs_store.UNOPENED_DAYS * DAY, abs=60)
    with contextlib.closing(sqlite3.connect(home / FILE)) as base, base:
        base.execute("UPDATE runs SET used = used - ?", ((runs_store.UNOPENED_DAYS - 1) * DAY,))
    assert store.runs(ANNA)[0].until == pytest.approx(time.time() + DAY, abs=60)
    store.run(ANNA, opened.id)
    with contextlib.closing(sqlite3.connect(home / FILE)) as base, base:
        base.execute("UPDATE runs SET used = used - ?", (1.1 * DAY,))
    store.tidy()
    assert [run.name for run in store.runs(ANNA)] == ["opened"]
    assert b"leftleft" not in on_disk(home)


def test_a_clock_that_jumps_deletes_nothing(home: Path) -> None:
    wall, steady = [1e9], [0.0]
    clock = Clock(lambda: wall[0], lambda: steady[0])
    Store(home, clock=clock).keep(ANNA, file())
    wall[0] += 400 * DAY  # set wrongly, or the server slept: one look ages the store by a day at most
    Store(home, clock=Clock(lambda: wall[0], lambda: steady[0])).tidy()
    running = Store(home, clock=clock)
    running.tidy()
    wall[0] += 100 * DAY  # while this process runs it knows better
    running.tidy()
    wall[0] -= 300 * DAY
    running.tidy()
    assert running.is_kept(ANNA, file().source)
    steady[0] += 7.1 * DAY
    running.tidy()
    assert not running.is_kept(ANNA, file().source)


def test_on_a_full_disk_nothing_is_kept_and_everything_is_read_and_deleted(store: Store, monkeypatch) -> None:
    run = store.save(ANNA, "Mine", "explore", RECIPE, [file()])
    assert (store.disk.home / disk.RESERVE).stat().st_size == disk.RESERVE_BYTES
    monkeypatch.setattr(disk.shutil, "disk_usage", lambda home: SimpleNamespace(free=100))
    with pytest.raises(StoreError, match="disk of this server is full, so nothing more can be kept"):
        store.keep(ANNA, file(b"more"))
    assert [one.name for one in store.runs(ANNA)] == ["Mine"]
    assert not (store.disk.home / disk.RESERVE).exists()  # given up to make room for reading and deleting
    assert store.linked(link_secret(ANNA, run.id))[1] == [file()]
    store.delete(ANNA, run.id)
    assert store.runs(ANNA) == []


def test_where_no_byte_is_left_for_the_log_deletion_goes_without(store: Store) -> None:
    store.save(ANNA, "Mine", "explore", RECIPE)
    modes = []

    def act(base: sqlite3.Connection) -> None:
        modes.append(base.execute("PRAGMA journal_mode").fetchone()[0])
        if len(modes) == 1:
            raise disk.FullError(disk.FULL)

    store.disk.free(act)
    with store.disk.open() as base:
        assert [*modes, base.execute("PRAGMA journal_mode").fetchone()[0]] == ["wal", "memory", "wal"]


def test_a_folder_deleted_while_the_server_runs_is_reported_and_made_again(store: Store, home: Path) -> None:
    store.save(ANNA, "Mine", "explore", RECIPE)
    shutil.rmtree(home)
    assert store.runs(ANNA) == []
    assert "deleted while the server ran" in store.warning
    store.save(ANNA, "New", "explore", RECIPE)
    assert [run.name for run in store.runs(ANNA)] == ["New"]


def test_runs_are_counted(home: Path) -> None:
    small = Store(home, Limits(runs=2, results_mb=0.001))
    for name in "ab":
        small.save(ANNA, name, "explore", RECIPE)
    with pytest.raises(StoreError, match="2 runs are kept for this browser"):
        small.save(ANNA, "c", "explore", RECIPE)
    with pytest.raises(StoreError, match="results take"):
        small.save(BEN, "c", "explore", RECIPE, results=bytes(2000))


@pytest.mark.parametrize(
    "name",
    ["'; DROP TABLE runs; --",
     '"quoted"', "<script>alert(1)</script>", "../../x", "a\x00b", "👩🏽‍🔬 run", "\ud800", "‮evil", "x" * 10**6],
    ids=["sql", "quotes", "html", "path", "nul", "emoji", "surrogate", "direction", "huge"],
)  # fmt: skip
def test_a_name_is_text_and_nothing_else(store: Store, name: str) -> None:
    run = store.save(ANNA, name, "explore", RECIPE)
    kept = store.runs(ANNA)
    assert [one.name for one in kept] == [run.name]
    assert 0 < len(run.name) <= runs_store.LONGEST_NAME
    assert not set(run.name) & {"\x00", "\n", "‮", "\ud800"}
    store.delete(ANNA, run.id)


def test_a_run_without_a_name_gets_one(store: Store) -> None:
    assert store.save(ANNA, " \n\t", "explore", RECIPE).name.startswith("Run of ")


def test_only_the_account_of_the_server_can_read_the_folder(store: Store, home: Path) -> None:
    before = os.umask(0)
    try:
        store.save(ANNA, "Mine", "explore", RECIPE, [file()])
        with store.disk.open() as base:
            assert base.execute("PRAGMA journal_mode").fetchone() == ("wal",)
            assert base.execute("PRAGMA secure_delete").fetchone() == (1,)
            rights = {part.name: stat.S_IMODE(part.stat().st_mode) for part in home.iterdir()}
    finally:
        os.umask(before)
    assert set(rights) == {FILE, disk.RESERVE, f"{FILE}-wal", f"{FILE}-shm"}
    assert set(rights.values()) == {0o600}
    assert stat.S_IMODE(home.stat().st_mode) == 0o700


class Elsewhere(sqlite3.Connection):
    """A connection to a file that two others are just setting up."""

    others = 2

    def execute(self, statement: str, *values: object) -> sqlite3.Cursor:
        if "journal_mode" in statement and self.others:
            self.others -= 1
            error = sqlite3.OperationalError("database is locked")
            error.sqlite_errorcode = sqlite3.SQLITE_BUSY
            raise error
        return super().execute(statement, *values)


def test_who_sets_the_file_up_at_the_same_moment_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / "new.sqlite", isolation_level=None, factory=Elsewhere)) as base:
        schema.settle(base)
        assert base.execute("PRAGMA user_version").fetchone() == (schema.SCHEMA,)
    monkeypatch.setattr(schema, "PATIENCE_SECONDS", -1.0)
    other = sqlite3.connect(tmp_path / "other.sqlite", isolation_level=None, factory=Elsewhere)
    with contextlib.closing(other), pytest.raises(sqlite3.OperationalError, match="locked"):
        schema.settle(other)


def test_many_writers_at_once_lose_nothing(home: Path) -> None:
    errors: list[BaseException] = []

    def write(k: int) -> None:
        try:
            mine = Store(home)
            for turn in range(5):
                run = mine.save(ANNA, f"{k} {turn}", "explore", RECIPE, [file(bytes([k, turn]) * 1000)])
                mine.linked(link_secret(ANNA, run.id))
                if turn % 2:
                    mine.delete(ANNA, run.id)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert sorted(run.name for run in Store(home).runs(ANNA)) == sorted(f"{k} {t}" for k in range(6) for t in (0, 2, 4))


@pytest.mark.parametrize("damage", [b"not a database at all, far from it" * 100, b"SQLite format 3\x00" + bytes(5000)])
def test_a_damaged_file_is_moved_aside_reported_and_replaced(home: Path, damage: bytes) -> None:
    home.mkdir()
    (home / FILE).write_bytes(damage)
    store = Store(home)
    with pytest.raises(StoreError, match=r"damaged. It is now called damaged-"):
        store.runs(ANNA)
    aside = next(part for part in home.iterdir() if part.name.startswith("damaged-"))
    assert aside.read_bytes() == damage
    store.save(ANNA, "New", "explore", RECIPE)
    assert [run.name for run in Store(home).runs(ANNA)] == ["New"]


def test_what_still_reads_in_a_damaged_file_is_brought_over(store: Store, home: Path) -> None:
    for k in range(20):
        store.save(ANNA, f"Run {k}", "explore", RECIPE, [file(bytes([k]) * 20_000)])
    with contextlib.closing(sqlite3.connect(home / FILE)) as base:
        page = 4096 * (base.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'files_by_use'").fetchone()[0] - 1)
    raw = bytearray((home / FILE).read_bytes())
    found = raw.index(bytes([7]) * 3000) // 4096 * 4096  # one file's bytes, and a page of an index
    raw[found : found + 4096] = raw[page : page + 4096] = bytes(4096)
    (home / FILE).write_bytes(raw)
    with pytest.raises(StoreError, match=r"damaged.*20 runs and 19 files could be read and are there"):
        store.tidy()
    assert len(store.runs(ANNA)) == 20
    assert [len(files) for _, files in (store.run(ANNA, run.id) for run in store.runs(ANNA))].count(1) == 19
    raw = bytearray((home / FILE).read_bytes())
    raw[4096:] = bytes(len(raw) - 4096)
    (home / FILE).write_bytes(raw)
    with pytest.raises(StoreError, match="earlier runs are not shown"):
        store.runs(ANNA)
    store.save(ANNA, "New", "explore", RECIPE)


def test_rows_that_changed_are_listed_so_that_they_can_be_deleted(store: Store) -> None:
    run, other = (store.save(ANNA, name, "explore", RECIPE) for name in ("one", "other"))
    with store.disk.open() as base:
        base.execute("UPDATE runs SET used = 'x', recipe = '{' WHERE id = ?", (run.id,))
    assert {found.name for found in store.runs(ANNA)} == {UNREAD, "other"}
    with pytest.raises(StoreError, match=r"cannot be read\. Delete it and save the screen again"):
        store.run(ANNA, run.id)
    store.delete(ANNA, run.id)
    with store.disk.open() as base:
        base.execute("UPDATE runs SET used = 'x'")
    assert [(found.id, found.name) for found in store.runs(ANNA)] == [(other.id, UNREAD)]


@pytest.mark.parametrize("hand", ["'x'", "9e99", "1e400"])
def test_a_clock_that_does_not_read_is_damage_and_runs_come_over(store: Store, hand: str) -> None:
    kept = store.save(ANNA, "mine", "explore", RECIPE, [file()])
    with store.disk.open() as base:
        base.execute(f"UPDATE clock SET age = {hand}")
    with pytest.raises(StoreError, match=r"damaged.*1 runs and 1 files could be read"):
        store.tidy()
    assert [run.id for run in store.runs(ANNA)] == [kept.id]


def test_bytes_that_changed_in_the_file_are_refused(store: Store, home: Path) -> None:
    run = store.save(ANNA, "Mine", "explore", RECIPE, [file()])
    with contextlib.closing(sqlite3.connect(home / FILE)) as base, base:
        base.execute("UPDATE files SET content = ?", (b"a,b\n9,9\n",))
    for look in (lambda: store.run(ANNA, run.id), lambda: store.file(ANNA, file().source)):
        with pytest.raises(StoreError, match=r"damaged\. Upload it again"):
            look()
    with contextlib.closing(sqlite3.connect(home / FILE)) as base, base:
        base.execute("UPDATE runs SET recipe = '[1'")
    assert [found.name for found in store.runs(ANNA)] == [UNREAD]


def test_a_file_of_a_later_release_and_a_place_that_cannot_be_used_are_reported(home: Path, tmp_path: Path) -> None:
    Store(home).save(ANNA, "Mine", "explore", RECIPE)
    with contextlib.closing(sqlite3.connect(home / FILE)) as base, base:
        base.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreError, match="another release"):
        Store(home).runs(ANNA)
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    with pytest.raises(StoreError, match=r"cannot be kept on this server .* The app goes on"):
        Store(blocked / "home").save(ANNA, "Mine", "explore", RECIPE)
    with pytest.raises(StoreError, match="switched off"):
        Store(None).runs(ANNA)


def test_the_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(disk.HOME, str(tmp_path))
    assert disk.default_home() == tmp_path
    monkeypatch.setenv(disk.HOME, "Off")
    assert disk.default_home() is None
    monkeypatch.delenv(disk.HOME)
    assert "xplorer" in str(disk.default_home()).lower()


def test_work_is_not_kept_where_others_may_write(home: Path) -> None:
    home.mkdir()
    home.chmod(0o777)
    with pytest.raises(StoreError, match=r"other accounts may write in .*MKL_EXPLORER_HOME"):
        Store(home).save(ANNA, "Mine", "explore", RECIPE)
    assert list(home.iterdir()) == []
    home.chmod(0o700)
    assert Store(home).save(ANNA, "Mine", "explore", RECIPE).name == "Mine"
