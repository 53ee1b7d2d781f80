"""A tab that lost its table says so and offers it; every page names its table."""

import json

import pytest

from pages.shared import private_streamlit
from pages.shared.export import saved
from pages.shared.session.parameters import upload_name
from tests.helpers.every import every
from tests.helpers.pages import go, memory, open_app, press, quiet, table, upload, words

TABLE = table(seed=5)
LINK = {"data": upload_name(TABLE), "seed": "4"}


@pytest.fixture
def cookie(monkeypatch, home):
    """What the browser remembers of its table."""
    sent = {saved.OWN_TABLE: json.dumps({"name": "cars.csv", "link": LINK})}
    monkeypatch.setattr(private_streamlit, "cookie", lambda name: sent.get(name, ""))
    monkeypatch.setattr(private_streamlit, "browser", lambda: "anna")
    return sent


def named(app):
    return app.title[0].value.split(":small[")[1].removesuffix("]]").replace("\\", "")


def test_a_tab_that_begins_without_a_link_offers_the_table_of_its_browser_and_the_sample(cookie):
    upload(open_app(data="iris"), TABLE, "cars.csv")
    for button, data, name in (
        ("own_table", LINK["data"], "cars.csv"),
        ("the_sample", "breast_cancer", "Breast cancer"),
    ):
        app = open_app("pages/lessons/page.py")
        assert "This tab was disconnected" in words(app)
        assert "Guess first" not in words(app), "nothing of the sample is shown without a word"
        press(app, button)
        assert memory(app).params.data == data
        assert named(app) == name
        assert "disconnected" not in words(app)


@every(
    "sent", ["", "3", "[1]", '{"name": "x"}', '{"name": "x", "link": {"data": "wine"}}', "[" * 9000]
)
def test_a_browser_that_had_none_sees_the_sample(sent, cookie):
    cookie[saved.OWN_TABLE] = sent
    app = open_app("pages/lessons/page.py")
    assert "disconnected" not in words(app)
    assert named(app) == "Breast cancer"


def test_a_link_and_the_start_page_show_what_they_say(cookie):
    assert named(open_app("pages/lessons/page.py", data="wine")) == "Wine"
    assert "disconnected" not in words(open_app("pages/home/page.py"))
    assert named(open_app(**LINK)) == "cars.csv", "the table is gone, and its name is known"
    assert named(open_app(data="upload:" + "0" * 64)) == "a file that is not here"


def test_what_the_browser_shall_remember_is_its_own_table_until_it_takes_a_sample(
    home, monkeypatch
):
    tables = []
    monkeypatch.setattr(
        saved, "own_table", lambda own=saved.own_table: tables.append(own()) or tables[-1]
    )
    app = open_app()
    assert tables[-1] is None
    upload(app, TABLE, "cars.csv")
    assert json.loads(tables[-1])["name"] == "cars.csv"
    quiet(go(app, "pages/data/page.py"))
    press(app, "table_wine")
    assert tables[-1] == ""
