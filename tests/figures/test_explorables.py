"""What `explore` shows in a notebook: one page in a frame of its own, a table for viewers without
frames, and an index.
"""

import re
import sys
from html import unescape

import pytest

from mklcore import HKLRegressor, LpMKLClassifier, PolynomialBasis, fit_path, load_sample
from mklcore.figures.notebook import Explorable
from mklcore.figures.players.widget import PathWidget
from tests.helpers.refusals import parameter_error


@pytest.fixture(scope="module")
def path():
    data = load_sample("iris")
    return fit_path(LpMKLClassifier(p=1), data.X[::2], data.y[::2], "C", [0.1, 1.0, 10.0])


def test_a_path_shows_its_page_in_a_frame_that_reaches_nothing_and_its_table_below(path, tmp_path):
    shown = path.explore(index=1)
    drawn = shown._repr_html_()
    assert isinstance(shown, Explorable)
    assert drawn.count("<iframe") == 1
    assert 'sandbox="allow-scripts"' in drawn
    assert unescape(drawn.split('srcdoc="')[1].split('"')[0]) == shown.page
    assert drawn.endswith(f"{path._repr_html_()}</details>")
    shown.save(tmp_path / "path.html")
    assert (tmp_path / "path.html").read_text(encoding="utf-8") == shown.page
    assert repr(shown) == "Explorable('Kernel weights along C')"
    assert len(drawn.encode()) < 200_000


def test_a_hull_and_a_path_of_hulls_explore_themselves_with_the_names_of_their_columns():
    data = load_sample("iris")
    model = HKLRegressor(basis=PolynomialBasis(2))
    X = data.X[:60, :2]
    y = data.X[:60, 2]
    path = fit_path(model, X, y, "lam", [1e-1, 1e-2])
    for page in (
        path.explore(names=["left", "right"]).page,
        path.estimators[1].explore(names=["left", "right"]).page,
    ):
        assert "<title>Hulls along λ</title>" in page
        assert '"left"' in page
        assert "the largest: left" in page
        assert not re.search(r'"said":"[^"]*\bx[12]\b', page)
    assert path.explore(index=0, widget=True).model.lam == 0.1


def test_a_widget_has_the_model_at_its_index_and_refuses_what_is_no_point(path):
    widget = path.explore(index=1, widget=True)
    seen = []
    widget.observe(lambda change: seen.append(change["new"]), "index")
    assert widget.model is path.estimators[1]
    widget.set_state({"index": 2})  # what the browser sends
    assert widget.model is path.estimators[2]
    assert seen == [2]
    with parameter_error(r"points 0 to 2; got the index 3"):
        widget.index = 3
    assert isinstance(widget, PathWidget)
    assert widget.page == path.explore(index=1).page


def test_without_anywidget_the_way_to_it_is_reported(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mklcore.figures.players.widget", None)
    with parameter_error(r"needs the package anywidget: pip install 'mklcore\[notebook\]'"):
        path.explore(widget=True)
