"""Answers that come with the project: they are what would be computed, pages draw them at once, and nothing is built
for it.
"""

import numpy as np
import pytest

from pages._parts.derive import caches, comparison, earlier, first_table, hulls, paths, references
from pages._parts.jobs.preparing import Preparation
from pages._parts.params.parameters import Params
from pages.shared import work
from sample_data import build_earlier
from tests.pages import open_app

pytestmark = [pytest.mark.earlier, pytest.mark.settling]
AGAIN = "Make the answers again: python -m sample_data.build_earlier"
QUICK = ("iris", "ring")


def opened(page, **query):
    return open_app(f"pages/{page}.py", **query)


def agree(kept, again):
    """Whether two paths answer the same questions: the same points, and optima that their gaps leave room for."""
    top, room = np.max(again.weights), 10.0 * (np.nan_to_num(kept.dual_gap) + np.nan_to_num(again.dual_gap))
    return (
        kept.kernel_names == again.kernel_names
        and np.allclose(kept.values, again.values, rtol=1e-6)
        and bool(np.all(np.abs(kept.objective - again.objective) <= room + 1e-6 * np.abs(again.objective)))
        and np.allclose(kept.weights, again.weights, rtol=0, atol=0.1 * top)
        and np.allclose(kept.val_score, again.val_score, rtol=0, atol=0.05, equal_nan=True)
    )


def shipped(found):
    """What comes with the project, where it is about today's settings; the test of them all says so where it is not."""
    if found is None:
        pytest.skip(f"The answers that come with the project are about other settings. {AGAIN}")
    return found


def test_every_answer_is_about_the_settings_of_today():
    assert [file.name for _, file, _ in build_earlier.everything() if not file.exists()] == [], AGAIN


def test_the_first_table_is_what_would_be_read():
    table, parts = first_table.made()
    assert first_table.table(Params().data) == table, AGAIN
    assert first_table.parts(Params()) == parts, AGAIN
    assert first_table.table("wine") is None
    assert first_table.parts(Params(seed=1)) is None


@pytest.mark.parametrize("sample", QUICK)
def test_paths_are_what_would_be_computed(sample):
    for asked in build_earlier.asked(Params(data=sample)):
        kept = shipped(earlier.path(asked))
        assert agree(kept, build_earlier.solved(asked)), AGAIN
        certified = np.isfinite(kept.relative_gap)
        assert (kept.finished | ~certified).all()


@pytest.mark.parametrize("sample", ["iris"])
def test_plain_models_are_what_would_be_computed(sample):
    params = Params(data=sample)
    kept = {one.name: one for one in shipped(earlier.references(paths.baseline(params, "uniform")) or None)}
    again = {one.name: one for one in build_earlier.solved_references(params)}
    assert set(kept) == set(again)
    for name, one in kept.items():
        assert one.score == pytest.approx(again[name].score, abs=0.05), AGAIN


@pytest.mark.parametrize("sample", ["iris"])
def test_hulls_are_what_would_be_computed(sample):
    kept, again = shipped(earlier.hulls(Params(data=sample))), build_earlier.solved_hulls(Params(data=sample))
    assert vars(kept.layout) == vars(again.layout), AGAIN
    assert agree(kept.path, again.path), AGAIN
    assert len(kept.states) == len(kept.path)


# Pages, with answers made for them here


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The answers about one sample, as the script makes them."""
    made = tmp_path_factory.mktemp("earlier")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(earlier, "FOLDER", made)
        for _, _, produce in build_earlier.everything(["iris"]):
            produce()
    return made


@pytest.fixture
def new(folder, monkeypatch):
    """A server on which nobody has looked at the sample yet."""
    monkeypatch.setattr(earlier, "FOLDER", folder)
    params = Params(data="iris")
    for one in build_earlier.asked(params):
        caches.result_cache(one).drop(paths.key(one))
    references.forget(params)
    work.WORK.clear()


def test_another_setting_has_no_answer_from_earlier(new, monkeypatch):
    usual = Params(data="iris")
    assert earlier.path(usual) is not None, AGAIN
    for other in (usual.with_setting("p", 3.0), Params(data="iris", seed=1), Params(data="iris", widths=3)):
        assert earlier.path(other) is None
    assert not earlier.references(paths.baseline(Params(data="iris", seed=1), "uniform"))
    assert earlier.hulls(Params(data="iris", hull_degree=2)) is None
    monkeypatch.setattr(earlier, "FOLDER", None)
    assert earlier.path(usual) is None


def test_what_cannot_be_read_is_computed(tmp_path, monkeypatch):
    monkeypatch.setattr(earlier, "FOLDER", tmp_path)
    asked = Params(data="iris")
    files = (
        earlier.path_file(asked),
        earlier.hulls_file(asked),
        references.file(asked),
    )
    for file in files:
        file.write_bytes(b"no archive")
    assert not earlier.references(paths.baseline(asked, "uniform"))
    assert earlier.path(asked) is earlier.hulls(asked) is None


@pytest.fixture
def cold(monkeypatch, new):
    """A server whose solvers are still being compiled: nothing may wait for them."""

    def wait(self, usual=False, unwanted=bool):
        raise AssertionError("a page waits until all is compiled")

    monkeypatch.setattr(Preparation, "ready", lambda self, usual=False: False)
    monkeypatch.setattr(Preparation, "wait", wait)
    monkeypatch.setattr(work.WORK, "inline", False)


@pytest.mark.parametrize("page", ["compare", "hulls"])
def test_a_first_start_draws_before_anything_is_compiled(page, cold):
    app = opened(page, data="iris")
    assert any("Computed earlier" in caption.value for caption in app.caption)
    asked = Params(data="iris")
    assert paths.known(asked) is None
    assert hulls.known(asked) is None
    assert not any(references.computed(asked).values())
    if page == "compare":
        reported = " ".join(one.value for one in (*app.caption, *app.markdown))
        assert "were computed earlier with these settings" in reported
        assert None not in references.known(asked).values()


def test_every_method_of_a_first_look_is_there(new):
    asked = Params(data="iris")
    for method in comparison.methods(asked):
        assert earlier.path(comparison.method_params(asked, method)) is not None, AGAIN
