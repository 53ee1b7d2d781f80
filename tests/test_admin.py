"""The admin page: nobody without the password, sizes without names, and what is freed is gone."""

import hashlib
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from mklcore._numba import cache as routine_cache
from pages._parts.admin import password
from pages._parts.derive.budget import Budget
from pages._parts.runs import disk
from pages._parts.runs.secrets import digest, link_secret, new_secret
from pages._parts.runs.store import File, Store, StoreError
from tests.pages import open_app, words

ANNA, BEN = new_secret(), new_secret()
SECRET = "a long enough password"


def file(content: bytes, name: str = "salaries.csv") -> File:
    return File(f"upload:{hashlib.sha256(content).hexdigest()}", name, content)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setenv(disk.HOME, str(tmp_path / "home"))
    return Store(tmp_path / "home")


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> str:
    """The hash in the configuration, and a door nobody has knocked at."""
    monkeypatch.setitem(password._COST, "n", 2**4)  # quick: here nobody guesses
    hashed = password.hashed(SECRET)
    monkeypatch.setenv(password.HASH, hashed)
    monkeypatch.setattr(password, "DOOR", password.Door())
    return hashed


# The password


def test_a_password_opens_its_hash_and_no_other(kept: str) -> None:
    assert password.matches(SECRET, kept)
    assert SECRET not in kept
    assert not password.matches(SECRET + " ", kept)
    assert not password.matches("", kept)
    assert password.hashed(SECRET) != kept  # salted


@pytest.mark.parametrize("kept", ["", "scrypt", "scrypt--", "scrypt-zz-zz", "plain-00-00", "scrypt-00-00-00", SECRET])
def test_what_is_no_hash_opens_to_nobody(kept: str) -> None:
    for said in ("", SECRET, kept):
        assert not password.matches(said, kept)


def test_a_short_password_is_refused() -> None:
    with pytest.raises(ValueError, match="has 5 characters; take at least 12"):
        password.hashed("short")


def test_guesses_are_slow_and_the_right_password_forgives(kept: str) -> None:
    now = [0.0]
    door = password.Door(lambda: now[0])
    for _ in range(password.PATIENCE - 1):
        assert not door.opens("wrong", kept)
    assert door.opens(SECRET, kept)
    for _ in range(password.PATIENCE):
        assert not door.opens("wrong", kept)
    with pytest.raises(ValueError, match="Nobody can try for another 60 s"):
        door.opens(SECRET, kept)
    now[0] = password.PAUSE + 1
    assert door.opens(SECRET, kept)


# What is freed


def test_sizes_are_reported_by_browser(store: Store) -> None:
    assert store.holders() == []
    store.keep(ANNA, file(b"a" * 1000))
    store.keep(ANNA, file(b"b" * 500))
    store.save(BEN, "Mine", "explore", {"data": "iris"}, [file(b"c" * 4000)])
    ben, anna = store.holders()
    assert (ben.who, ben.files, ben.runs) == (digest(BEN), 1, 1)
    assert (anna.who, anna.files, anna.runs, anna.size) == (digest(ANNA), 2, 0, 1500)
    assert 0 <= anna.idle_days < 1


def test_unused_files_go_and_those_of_runs_stay(store: Store) -> None:
    store.keep(ANNA, file(b"a" * 1000))
    run = store.save(BEN, "Mine", "explore", {"data": "iris"}, [file(b"c")])
    assert store.let_go_unused(1.0) == 0
    assert store.let_go_unused(0.0) == 1
    assert store.file(ANNA, file(b"a" * 1000).source) is None
    assert store.run(BEN, run.id)[1] == [file(b"c")]


def test_everything_of_one_browser_goes_and_nothing_of_another(store: Store, tmp_path: Path) -> None:
    run = store.save(ANNA, "Mine", "explore", {"data": "iris"}, [file(b"of anna")])
    store.keep(ANNA, file(b"loose, of anna"))
    store.keep(BEN, file(b"of ben"))
    assert store.delete_all_of(digest(ANNA)) == 1
    with pytest.raises(StoreError, match="does not exist"):
        store.linked(link_secret(ANNA, run.id))
    assert [holder.who for holder in store.holders()] == [digest(BEN)]
    there = b"".join(part.read_bytes() for part in tmp_path.rglob("*") if part.is_file())
    assert b"of anna" not in there
    assert b"of ben" in there


def test_memory_is_freed_but_for_what_is_being_made() -> None:
    budget, seen = Budget(100.0), []

    def make() -> str:
        budget.empty()
        seen.append(budget.held)
        return "value"

    budget.made("other", 30.0, lambda: "other")
    budget.made("key", 40.0, make)
    assert seen == [40.0]
    budget.empty()
    assert budget.held == 0.0


# The page


def press(app: AppTest, label: str) -> None:
    next(button for button in app.button if button.label == label).click().run()
    assert not app.exception


def test_the_variable_of_version_0_1_still_names_the_password(monkeypatch) -> None:
    monkeypatch.delenv(password.HASH, raising=False)
    monkeypatch.setenv(password.FORMER, "scrypt-hash")
    assert password.configured() == "scrypt-hash"


def test_without_a_password_in_the_configuration_there_is_no_admin(store: Store, monkeypatch) -> None:
    monkeypatch.delenv(password.HASH, raising=False)
    app = open_app("pages/admin.py")
    assert "This server has no administrator" in words(app)
    assert not app.text_input


def test_the_admin_sees_sizes_and_no_names_and_deletes(store: Store, kept: str) -> None:
    store.save(ANNA, "My secret salaries", "explore", {"data": "iris"}, [file(b"1,2,3")])
    app = open_app("pages/admin.py")
    assert "of 2,000 MB" not in words(app)
    app.text_input[0].set_value("not the password")
    press(app, "Open")
    assert "This is not the password" in words(app)
    assert "of 2,000 MB" not in words(app)
    app.text_input[0].set_value(SECRET)
    press(app, "Open")
    assert "of 2,000 MB" in words(app)
    shown = words(app) + app.dataframe[0].value.to_string()
    assert digest(ANNA)[:8] in shown
    assert "salaries" not in shown
    press(app, "Delete all of it")
    assert "Tick the box first" in words(app)
    assert store.holders()
    app.checkbox[-1].check()
    press(app, "Delete all of it")
    assert "1 runs deleted" in words(app)
    assert store.holders() == []


def test_the_admin_and_nobody_else_is_reported_that_compiled_routines_are_not_kept(
    store: Store, kept: str, monkeypatch
) -> None:
    monkeypatch.setattr(routine_cache, "_given_up", [])
    monkeypatch.setenv(routine_cache.WARNED, "1")
    app = open_app("pages/admin.py")
    routine_cache.give_up("No space left on device (/var/cache/*routines*)")
    app.text_input[0].set_value("not the password")
    press(app, "Open")
    assert not app.warning
    app.text_input[0].set_value(SECRET)
    press(app, "Open")
    (reported,) = (warning.value for warning in app.warning)
    assert "\\*routines\\*" in reported
    assert "compiles them again: No space left on device (/var/cache/*routines*). Work goes on." in reported.replace(
        "\\", ""
    )
    assert "NUMBA_CACHE_DIR" in reported
    routine_cache._given_up.clear()
    monkeypatch.setattr(routine_cache, "place", lambda: routine_cache.Place(Path("/var/cache")))
    assert not app.run().warning
