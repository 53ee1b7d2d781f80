"""A table without a target in the app: Data, Kernels, Explore, and the pages that need one."""

import pytest

import mklcore as mkl
from pages.shared import answer, work
from pages.shared.parameters import METHODS
from tests.helpers.every import every
from tests.helpers.pages import go, memory, open_app, put, quiet, table, upload, words


@pytest.fixture(autouse=True)
def at_once():
    with work.inline():
        yield


def test_the_sample_goes_from_data_to_explore():
    app = open_app(data="ring")
    assert "one-class (anomaly detection)" in words(app)
    assert "has the largest effective rank" in words(go(app, "pages/kernels.py"))
    app = go(app, "pages/explore.py")
    assert type(answer.get(memory(app).params).value.model) is mkl.LpMKLOneClass
    assert "Most unusual rows in" in words(app)
    assert app.selectbox(key="field_algorithm").options == [METHODS["lp"].label]
    assert not app.error


def test_an_uploaded_table_without_a_target_is_learnt():
    app = upload(open_app(), table().replace(b"label", b"dose"))
    put(app, "field_task", "novelty")
    put(app, "field_target", "")
    app = go(quiet(app), "pages/explore.py")
    assert "Most unusual rows in" in words(app)
    assert not app.error


@every("page, said", [("compare", "no target"), ("hulls", "target")])
def test_pages_that_need_a_target_say_so(page, said):
    assert said in words(open_app(f"pages/{page}.py", data="ring"))
