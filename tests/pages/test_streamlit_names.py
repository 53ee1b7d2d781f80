"""Names of Streamlit that it may change stand in one file, and the app works where one of them is
missing.
"""

import logging
from contextlib import contextmanager
from importlib import import_module
from types import SimpleNamespace

import pytest

from pages.shared import private_streamlit
from pages.shared.server import guard, starting
from pages.shared.server.guard import LeftPage
from pages.shared.session import state
from tests.helpers.every import every


@pytest.fixture(autouse=True)
def found_anew():
    private_streamlit.find.cache_clear()
    yield
    private_streamlit.find.cache_clear()


@contextmanager
def lacking(name):
    """A Streamlit that lacks ``name``."""
    module, _, attributes = name.partition(":")
    place = import_module(module)
    *owners, attribute = attributes.split(".")
    for one in owners:
        place = getattr(place, one)
    private_streamlit.find.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.delattr(place, attribute)
        yield
    private_streamlit.find.cache_clear()


def test_this_streamlit_has_every_name(caplog):
    with caplog.at_level(logging.WARNING):
        private_streamlit.report_missing()
    assert caplog.messages == []
    assert starting.session_kind() is starting.GatheringSession


@every("name", private_streamlit.NAMES)
def test_the_app_works_without_a_name_and_says_what_it_loses(name, caplog):
    with lacking(name), caplog.at_level(logging.WARNING):
        private_streamlit.report_missing()
        assert any(
            name.replace(":", ".") in said and private_streamlit.NAMES[name] in said
            for said in caplog.messages
        )
        assert private_streamlit.left() == []
        private_streamlit.close("tab")
        assert private_streamlit.run_context() is None
        assert state.page_at("data") is not None
        assert private_streamlit.files() == {}
        private_streamlit.keep_last("tab", 1, 1.0)
        assert private_streamlit.began("tab") == b""
        assert private_streamlit.token("other=1") == b""
        assert guard.may_ask("tab", b"") is True
        assert LeftPage().corrected(b"no message") == b"no message"
        starting.gather()
        for flag in (private_streamlit.PAGES, private_streamlit.NOTEBOOK):
            private_streamlit.set_flag(flag, bool(private_streamlit.find(flag)))


@every(
    "missing, kind",
    [
        *(
            (name, None)
            for name in (
                private_streamlit.SESSION,
                private_streamlit.SESSIONS,
                private_streamlit.OWNER,
            )
        ),
        *(
            (name, starting.OwnedSession)
            for name in (private_streamlit.EVENT, *private_streamlit.GATHERING)
        ),
    ],
)
def test_sessions_are_as_much_our_own_as_this_streamlit_lets_them(missing, kind):
    with lacking(missing):
        assert starting.session_kind() is kind


def test_a_module_that_is_gone_is_a_name_that_is_gone():
    assert private_streamlit.find("streamlit.no_such_module:Name") is None


def test_a_server_that_keeps_sessions_otherwise_knows_no_owner(monkeypatch):
    monkeypatch.setattr(private_streamlit, "_server", lambda: SimpleNamespace())
    assert private_streamlit.began("tab") == b""
    assert "_session_mgr" in private_streamlit.unprotected()
    assert private_streamlit.left() == []
    private_streamlit.close("tab")
    assert private_streamlit.files() == {}
