"""A walk with an uploaded table, and methods side by side, beside the library's own figures."""

import io
import re

import nbformat
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from mklcore import load_model
from mklcore.figures.player_data import shared_slider
from pages.shared.session.parameters import METHODS
from pages.shared.widgets.players import shared_place
from tests.browser.known import BATCH, KERNELS, known, model_of, path_of, prices
from tests.browser.steps import patiently
from tests.browser.walker import (
    assert_explored,
    assert_method,
    assert_sound,
    assert_theme,
    let_go,
    methods_shown,
    number,
    resize,
)

WIDE = (1280, 900)
NARROW = (390, 844)
UPLOAD = "upload"
ALGORITHM = "gomp"


@patiently
def assert_predicted(visitor, model, row, table):
    """The answer for one row is the model's."""
    (said,) = model.predict(row[None])
    reported = re.search(rf"^{table.target_name}: (\S+)", visitor.text(), re.MULTILINE)
    assert reported is not None
    assert number(reported[1]) == pytest.approx(said, rel=0.006, abs=0.051)


def test_a_walk_with_one_algorithm_shows_what_the_library_computes(server, visit, walker):
    visitor = walker
    table = known(UPLOAD)
    visitor.page.emulate_media(color_scheme="dark")
    visitor.go("Explore")
    visitor.choose("Algorithm", METHODS[ALGORITHM].label)
    visitor.page.get_by_text("Path", exact=True).first.click()
    visitor.page.wait_for_url("**look=path*")
    visitor.wait_for_path()
    assert_theme(visitor, "dark")
    resize(visitor, *NARROW)
    path, index = explore(visitor)
    link = visitor.page.url
    model = model_of(UPLOAD, ALGORITHM, index)
    resize(visitor, *WIDE)  # a narrow window has no menu
    visitor.go("Predict")
    predict(visitor, table, model)
    take_away(visitor, path, index, table, model)
    fresh = visit(server.url)
    reopen(fresh, link, path, index)
    assert_sound(fresh, server)
    assert_sound(visitor, server)


def test_a_figure_is_taken_as_svg_png_and_html(server, walker):
    visitor = walker
    page = visitor.page
    path = path_of(UPLOAD, ALGORITHM)
    visitor.go("Predict")
    page.wait_for_selector("text=about one model")
    page.get_by_role("tab", name="Take away").click()
    page.locator(".st-key-take_weights button").first.click()
    page.locator(".st-key-copy_weights .modebar-btn").first.wait_for(state="attached")
    visitor.settle()
    svg = visitor.take("SVG").decode()
    assert svg.startswith("<svg")
    for name in path.kernel_names:
        assert name.removeprefix("linear ").split(" (")[0] in svg
    assert visitor.take("PNG").startswith(b"\x89PNG\r\n\x1a\n")
    html = visitor.take("HTML").decode()
    assert "Content-Security-Policy" in html
    assert "<script src=" not in html
    page.keyboard.press("Escape")  # the next test that shares the window finds it as it was
    page.locator(".st-key-copy_weights").wait_for(state="hidden")
    visitor.settle()
    assert_sound(visitor, server)


def explore(visitor):
    """Find the cursor where folds have left it, drag it to the middle, and return what stands
    there.
    """
    path = path_of(UPLOAD, ALGORITHM)
    assert_explored(visitor, path, visitor.index())
    let_go(visitor, visitor.slider, 0.1)
    let_go(visitor, visitor.slider, 0.5)
    assert abs(visitor.index() - (len(path) - 1) / 2) <= 1.0
    k = path.nearest(float(visitor.query["at"]))
    assert_explored(visitor, path, k)
    return path, k


def predict(visitor, table, model):
    """Ask about one row, about the row with a change, and about a file."""
    page = visitor.page
    page.get_by_role("tab", name="One row").click()
    page.wait_for_selector("text=about one model")
    visitor.settle()
    assert_predicted(visitor, model, table.X[0], table)
    thumb = page.locator("[data-testid=stMain] [data-testid=stSlider] input[type=range]").first
    thumb.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.wait_for_url("**moved=*")
    visitor.settle()
    assert_moved(visitor, model, table)
    page.get_by_role("button", name="Undo the changes").click()
    page.wait_for_url(lambda url: "moved" not in url)
    page.get_by_role("tab", name="A whole file").click()
    page.wait_for_selector("text=A file with new rows")
    visitor.settle()
    # the session keeps the file
    if page.get_by_role("button", name="Predictions as CSV").count() == 0:
        batch = b"\n".join(prices().splitlines()[: BATCH + 1])
        file = {"name": "new.csv", "mimeType": "text/csv", "buffer": batch}
        page.set_input_files(
            "[data-testid=stMain] [data-testid=stFileUploader] input[type=file]", file
        )
        page.get_by_role("button", name="Predictions as CSV").wait_for()
    visitor.settle()
    found = pd.read_csv(io.BytesIO(visitor.take("Predictions as CSV")))[
        f"predicted {table.target_name}"
    ]
    assert_allclose(found, model.predict(table.X[:BATCH]), rtol=1e-6)


@patiently
def assert_moved(visitor, model, table):
    """The answer is the model's for the first row with the changes of the link."""
    row = table.X[0].copy()
    for change in visitor.query["moved"].split(","):
        column, value = change.split("=")
        row[int(column) - 1] = float(value)
    assert_predicted.__wrapped__(visitor, model, row, table)


def take_away(visitor, path, index, table, model):
    """Download the weights, the path, the model, and the code of the screen."""
    page = visitor.page
    page.get_by_role("tab", name="Take away").click()
    page.get_by_role("button", name="Weights as CSV").wait_for()
    visitor.settle()
    weights = pd.read_csv(io.BytesIO(visitor.take("Weights as CSV"))).set_index("kernel")["weight"]
    assert_allclose(weights.loc[list(path.kernel_names)], path.weights[index], rtol=1e-6, atol=1e-9)
    along = pd.read_csv(io.BytesIO(visitor.take("Path as CSV")))
    assert_allclose(along[path.param], path.values, rtol=1e-9)
    assert_allclose(along["validation"], path.val_score, rtol=1e-9)
    taken = load_model(io.BytesIO(visitor.take("Model")))
    assert_allclose(taken.predict(table.X), model.predict(table.X), rtol=1e-6)
    page.locator(".st-key-screen button").first.click()
    page.get_by_role("button", name="Script", exact=True).wait_for()
    visitor.settle()
    script = visitor.take("Script").decode()
    assert "found = mkl.explore(" in script
    nbformat.validate(nbformat.reads(visitor.take("Notebook").decode(), as_version=4))
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Script", exact=True).wait_for(state="hidden")


def reopen(fresh, link, path, index):
    """The link brings the screen back in another tab: a server of one person finds the table again."""
    fresh.page.goto(link)
    fresh.wait_for_path()
    assert_explored(fresh, path, index)


# Methods side by side


@patiently
def assert_methods(visitor, paths, indices):
    shown = methods_shown(visitor)
    for method, (path, k) in enumerate(zip(paths, indices, strict=True)):
        assert_method(shown, method, path, k)


def test_methods_move_together_and_show_what_the_library_computes(server, walker):
    methods = "lp;gomp;greedy"  # over different parameters
    visitor = walker
    page = visitor.page
    paths = [path_of(UPLOAD, name) for name in methods.split(";")]
    visitor.go("Compare")
    data = visitor.query["data"]
    visitor.open(f"compare?data={data}&{KERNELS}&methods={methods}")
    page.wait_for_selector(".st-key-compare_chart .path-cursor line", state="attached")
    visitor.settle()
    # on the best validation score, or where folds chose on Explore before
    stand = methods_shown(visitor)["at"]
    starts = [
        path.nearest(number(text.partition("= ")[2]))
        for path, text in zip(paths, stand, strict=True)
    ]
    assert_methods(visitor, paths, starts)
    slider = page.locator(".methods input[type=range]")
    let_go(visitor, slider, 0.1)
    let_go(visitor, slider, 0.6)
    here = shared_place(
        shared_slider(paths, [path.param for path in paths]), paths, visitor.query["methods_at"]
    )
    assert not here.best
    for path, k, text in zip(paths, here.places, methods_shown(visitor)["at"], strict=True):
        ends = [path.values[int(np.floor(k))], path.values[int(np.ceil(k))]]
        shown = [float(part) for part in text.partition("= ")[2].replace(",", "").split(" – ")]
        # between two points both are named
        assert sorted(shown) == pytest.approx(sorted(set(ends)), rel=0.006)
    page.get_by_role("button", name="Each at its best").click()
    visitor.settle()
    assert_methods(visitor, paths, starts)
    assert_sound(visitor, server)
