"""Names of Streamlit that it may change stand in one file, and the app works where one of them is
missing.
"""

import logging
from contextlib import contextmanager
from importlib import import_module
from types import SimpleNamespace

import pytest

from pages.shared import guard, inside, starting, state
from pages.shared.guard import LeftPage
from tests.helpers.every import every


@pytest.fixture(autouse=True)
def found_anew():
    inside.find.cache_clear()
    yield
    inside.find.cache_clear()


@contextmanager
def lacking(name):
    """A Streamlit that lacks ``name``."""
    module, _, attributes = name.partition(":")
    place = import_module(module)
    *owners, attribute = attributes.split(".")
    for one in owners:
        place = getattr(place, one)
    inside.find.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.delattr(place, attribute)
        yield
    inside.find.cache_clear()


def test_this_streamlit_has_every_name(caplog):
    with caplog.at_level(logging.WARNING):
        inside.report_missing()
    assert caplog.messages == []
    assert starting.session_kind() is starting.GatheringSession


@every("name", inside.NAMES)
def test_the_app_works_without_a_name_and_says_what_it_loses(name, caplog):
    with lacking(name), caplog.at_level(logging.WARNING):
        inside.report_missing()
        assert any(
            name.replace(":", ".") in said and inside.NAMES[name] in said
            for said in caplog.messages
        )
        assert inside.left() == []
        inside.close("tab")
        assert inside.run_context() is None
        assert state._pages()["data"] is not None
        assert inside.files() == {}
        inside.keep_last("tab", 1, 1.0)
        assert inside.began("tab") == b""
        assert inside.token("other=1") == b""
        assert guard.may_ask("tab", b"") is True
        assert not LeftPage().speaks(b"no message")
        starting.gather()
        for flag in (inside.PAGES, inside.NOTEBOOK):
            inside.set_flag(flag, bool(inside.find(flag)))


@every(
    "missing, kind",
    [
        *((name, None) for name in (inside.SESSION, inside.SESSIONS, inside.OWNER)),
        *((name, starting.OwnedSession) for name in (inside.EVENT, *inside.GATHERING)),
    ],
)
def test_sessions_are_as_much_our_own_as_this_streamlit_lets_them(missing, kind):
    with lacking(missing):
        assert starting.session_kind() is kind


def test_a_module_that_is_gone_is_a_name_that_is_gone():
    assert inside.find("streamlit.no_such_module:Name") is None


def test_a_server_that_keeps_sessions_otherwise_knows_no_owner(monkeypatch):
    monkeypatch.setattr(inside, "_server", lambda: SimpleNamespace())
    assert inside.began("tab") == b""
    assert "_session_mgr" in inside.unprotected()
    assert inside.left() == []
    inside.close("tab")
    assert inside.files() == {}
