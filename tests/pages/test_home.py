"""Start: the first screen plays made data, and a table or a sample leads on to Explore."""

import numpy as np
import pytest

from mklcore import SAMPLES, explore, load_sample
from pages.home import view
from pages.shared.export import saved
from tests.helpers.every import every
from tests.helpers.pages import memory, open_app, shown_players, table, upload, words

pytestmark = pytest.mark.earlier
HOME = "pages/home/page.py"


def test_the_first_screen_is_a_playground_and_needs_no_rail():
    app = open_app("")
    assert len(shown_players(app, "playground")) == 1
    assert not app.sidebar.children
    assert app.query_params == {}
    assert memory(app).page == "home"


@every("content, is_refused", [(table(), False), (b"\x00\x01" * 40, True)])
def test_a_table_dropped_there_is_answered_or_refused_on_explore(content, is_refused):
    app = upload(open_app(HOME), content, "mine.csv")
    assert memory(app).page == "explore"
    assert app.query_params["data"].startswith("upload:")
    assert bool(app.error) is is_refused


def test_a_link_from_before_the_first_screen_leads_to_data():
    app = open_app("", data="iris")
    assert memory(app).page == "data"
    assert "**150** rows" in words(app)
    assert app.query_params["data"] == "iris"


def test_every_sample_has_a_picture_of_its_answer():
    shown = {card["name"]: card for card in view.cards()}
    assert set(shown) == set(SAMPLES)
    for name, card in shown.items():
        assert card["bars"], (
            f"Make the answers again: python -m sample_data.build_earlier answers ({name})"
        )
        assert list(card["bars"]) == sorted(card["bars"], reverse=True)
        assert card["share"] == f"{100 * card['bars'][0]:.0f} %"
        assert "matter" in card["spoken"] or "Most unusual rows" in card["spoken"]
        assert "*" not in card["spoken"]


@pytest.mark.settling
@every("name", ["iris", "ring"])
def test_the_pictures_are_what_explore_shows(name):
    there = saved.earlier_answers()[name]
    again = saved.Seen.of(explore(load_sample(name)), SAMPLES[name].label)
    assert (there.sentence, there.index) == (again.sentence, again.index)
    np.testing.assert_allclose(there.along, again.along, rtol=1e-3, atol=1e-6 * np.max(again.along))
    assert [one.name for one in there.columns] == [one.name for one in again.columns]
    assert there.path.kernel_names == again.path.kernel_names
