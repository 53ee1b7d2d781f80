"""Answers that come with the project: they are what would be computed, pages draw them at once, and
nothing is built for it.
"""

import numpy as np
import pytest

from pages.shared.export import saved
from pages.shared.session.parameters import Params
from pages.shared.values import hulls, tables
from pages.shared.work import work
from pages.shared.work.compiling import Preparation
from sample_data import build_earlier
from tests.helpers.every import every
from tests.helpers.pages import open_app

pytestmark = [pytest.mark.earlier, pytest.mark.settling]
AGAIN = "Make the answers again: python -m sample_data.build_earlier"


def opened(page, **query):
    return open_app(f"pages/{page}/page.py", **query)


def agree(stored, again):
    """Whether two paths answer the same questions: the same points, and optima that their gaps
    leave room for.
    """
    top = np.max(again.weights)
    room = 10.0 * (np.nan_to_num(stored.dual_gap) + np.nan_to_num(again.dual_gap))
    return (
        stored.kernel_names == again.kernel_names
        and np.allclose(stored.values, again.values, rtol=1e-6)
        and bool(
            np.all(
                np.abs(stored.objective - again.objective) <= room + 1e-6 * np.abs(again.objective)
            )
        )
        and np.allclose(stored.weights, again.weights, rtol=0, atol=0.1 * top)
        and np.allclose(stored.val_score, again.val_score, rtol=0, atol=0.05, equal_nan=True)
    )


def shipped(found):
    """What comes with the project, where it is about today's settings; the test of them all says so
    where it is not.
    """
    if found is None:
        pytest.skip(f"The answers that come with the project are about other settings. {AGAIN}")
    return found


def test_every_answer_is_about_the_settings_of_today():
    assert [file.name for _, file, _ in build_earlier.everything() if not file.exists()] == [], (
        AGAIN
    )


def test_the_first_table_is_what_would_be_read():
    table, parts = build_earlier.first_made()
    assert tables.first_table(Params().data) == table, AGAIN
    assert tables.first_parts(Params()) == parts, AGAIN
    assert tables.first_table("wine") is None
    assert tables.first_parts(Params(seed=1)) is None


@every("sample", ["iris"])
def test_hulls_are_what_would_be_computed(sample):
    there = shipped(saved.earlier_hulls(Params(data=sample)))
    again = build_earlier.solved_hulls(Params(data=sample))
    assert vars(there.layout) == vars(again.layout), AGAIN
    assert agree(there.path, again.path), AGAIN
    assert len(there.states) == len(there.path)


# Pages, with answers made for them here


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The answers about one sample, as the script makes them."""
    made = tmp_path_factory.mktemp("earlier")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(saved, "EARLIER", made)
        for _, _, produce in build_earlier.everything(["iris"]):
            produce()
    return made


@pytest.fixture
def new(folder, monkeypatch):
    """A server on which nobody has looked at the sample yet."""
    monkeypatch.setattr(saved, "EARLIER", folder)
    work.WORK.clear()


def test_another_setting_has_no_answer_from_earlier(new, monkeypatch):
    usual = Params(data="iris")
    assert saved.earlier_answer(usual) is not None, AGAIN
    assert (
        saved.earlier_answer(usual.with_setting("p", 3.0))
        is saved.earlier_answer(Params(data="iris", seed=1))
        is None
    )
    assert saved.earlier_hulls(Params(data="iris", hull_degree=2)) is None
    monkeypatch.setattr(saved, "EARLIER", None)
    assert saved.earlier_answer(usual) is saved.earlier_hulls(usual) is None


def test_what_cannot_be_read_is_computed(tmp_path, monkeypatch):
    monkeypatch.setattr(saved, "EARLIER", tmp_path)
    asked = Params(data="iris")
    for file in (saved.hulls_file(asked), tmp_path / "answers.npz", tmp_path / "answers.json.gz"):
        file.write_bytes(b"no archive")
    assert saved.earlier_answer(asked) is saved.earlier_hulls(asked) is None


@pytest.fixture
def cold(monkeypatch, new):
    """A server whose solvers are still being compiled: nothing may wait for them."""

    monkeypatch.setattr(Preparation, "ready", lambda self: False)
    monkeypatch.setattr(work.WORK, "inline", False)


def test_a_first_start_draws_hulls_before_anything_is_compiled(cold):
    app = opened("hulls", data="iris")
    assert any("Computed earlier" in caption.value for caption in app.caption)
    assert hulls.known(Params(data="iris")) is None
