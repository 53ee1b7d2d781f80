"""A table without a target in the app: Data, Kernels, Explore, and the pages that need one."""

import pytest

import mklcore as mkl
from pages.shared import answer, work
from pages.shared.params import link
from pages.shared.params.algorithms import METHODS
from pages.shared.params.parameters import Params
from tests.helpers.pages import go, memory, open_app, quiet, table, upload, words


@pytest.fixture(autouse=True)
def at_once():
    with work.inline():
        yield


def test_the_sample_goes_from_data_to_explore() -> None:
    app = open_app(data="ring")
    assert "one-class (anomaly detection)" in words(app)
    assert "has the largest effective rank" in words(go(app, "pages/kernels.py"))
    app = go(app, "pages/explore.py")
    assert type(answer.get(memory(app).params).value.model) is mkl.LpMKLOneClass
    assert "Most unusual rows in" in words(app)
    assert app.selectbox(key="field_algorithm").options == [METHODS["lp"].label]
    assert not app.error


def test_an_uploaded_table_without_a_target_is_learnt() -> None:
    app = upload(open_app(), table().replace(b"label", b"dose"))
    app.selectbox(key="field_task").set_value("novelty").run()
    app.selectbox(key="field_target").set_value("").run()
    app = go(quiet(app), "pages/explore.py")
    assert "Most unusual rows in" in words(app)
    assert not app.error


@pytest.mark.parametrize(
    ("page", "said"), [("compare", "no target"), ("hulls", "target"), ("theory", "target"), ("experiments", "")]
)
def test_pages_that_need_a_target_say_so(page: str, said: str) -> None:
    assert said in words(open_app(f"pages/{page}.py", data="ring"))


def test_a_link_about_the_ring_restores_it() -> None:
    params = Params(data="ring", path="p", settings=(("C", 0.05),))
    assert link.read(link.text(params)) == (params, ())
