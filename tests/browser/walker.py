"""What has to hold wherever a page comes to rest."""

import re
from urllib.parse import urlparse

import pytest

from mklcore.figures import captions, style
from tests.browser.known import KERNELS, prices
from tests.browser.steps import patiently, pull, upload

INKED = (
    "ink => [...document.querySelectorAll('.js-plotly-plot')].every((one) => "
    "one._fullLayout?.font.color === ink)"
)
TOO_WIDE = """() => [document.scrollingElement, document.querySelector('[data-testid=stMain]')]
  .map(part => part.scrollWidth - part.clientWidth)"""


# In Streamlit (1.67) a stopped run and the next run of its session have a lock each over one state:
# the stopped one may end with this, and nothing of the session is lost by it.
OVERLAP = re.compile(
    r"Exception in thread ScriptRunner(?:(?!Exception in thread).)*?in _remove_stale_widgets\n[^\n]*\n"
    r"RuntimeError: dictionary changed size during iteration\n",
    re.DOTALL,
)


def assert_sound(visitor, server):
    """Nothing went wrong on page, console or server, and no other host was asked."""
    assert visitor.page.locator("[data-testid=stException]").count() == 0
    assert visitor.errors == []
    assert visitor.hosts == {urlparse(server.url).netloc}
    assert "Traceback" not in OVERLAP.sub("", server.log.read_text(errors="replace"))


@patiently
def assert_named(visitor):
    """Every figure has a text for screen readers."""
    figures = "[data-testid=stPlotlyChart]"
    unnamed = visitor.page.locator(f"{figures}:not([aria-label]):not(:has([aria-label]))")
    assert unnamed.count() == 0


def number(text):
    plain = text.replace("−", "-").replace("%", "").replace(",", "").strip()
    assert plain, "nothing is shown there yet"
    return float(plain)


def near(path, value, digits=0.051):
    """The score as the screen rounds it."""
    return pytest.approx(
        (100 if path.score_name == "accuracy" else 1) * value, rel=0.006, abs=digits
    )


@patiently
def assert_weighed(visitor, path, index):
    """The weights on Explore are those of one point of the path."""
    bars = visitor.bars()
    assert set(bars) == set(path.kernel_names)
    for name, weight in zip(path.kernel_names, path.weights[index], strict=True):
        assert bars[name] == pytest.approx(weight, rel=0.006, abs=2e-6), name


@patiently
def assert_explored(visitor, path, index):
    """Weights, count, certificate and scores on Explore are those of one point of the path."""
    assert_weighed.__wrapped__(visitor, path, index)
    facts = visitor.facts()
    assert f"{path.n_nonzero[index]} of {len(path.kernel_names)} kernels used" in facts
    assert captions.certificate(path, index)[0][1] in facts
    assert_scored(facts, path, index)


def assert_scored(facts, path, index):
    """The facts hold both scores of one point of the path."""
    for part, scores in (("train", path.train_score), ("validation", path.val_score)):
        reported = re.search(rf"{part} {path.score_name} ([^\n]+)", facts)
        assert reported is not None, facts
        assert number(reported[1]) == near(path, scores[index])


def methods_shown(visitor):
    """What the table below the methods says: facts and kernels by name, a text per method."""
    rows = visitor.page.locator(".methods .table .row:not(.head)").evaluate_all(
        """rows => rows.map(row => [row.querySelector('.name').title,
        [...row.querySelectorAll('.fact, .number')].map(cell => cell.textContent)])"""
    )
    return dict(rows)


def assert_method(shown, method, path, k):
    """Place, scores and kernels of one method in that table are those of a point of its path."""
    place = shown["at"][method].partition("= ")[2].replace("∞", "inf")
    assert number(place) == pytest.approx(path.values[k], rel=0.006)
    for part, scores in (("train", path.train_score), ("validation", path.val_score)):
        assert number(shown[f"{part} {path.score_name}"][method]) == near(path, scores[k])
    assert shown["kernels used"][method] == f"{path.n_nonzero[k]} of {len(path.kernel_names)}"
    shares = 100 * path.weights[k] / (path.weights[k].sum() or 1.0)
    for name, share in zip(path.kernel_names, shares, strict=True):
        reported = shown[name][method]
        if reported.startswith("<"):
            assert share < 0.1, name
        else:
            assert number(reported) == pytest.approx(share, abs=0.06), name


def let_go(visitor, slider, to):
    """Drag a slider, and wait until the link has changed."""
    index = slider.input_value()
    link = visitor.page.url
    pull(visitor, slider, to)
    if slider.input_value() != index:
        visitor.page.wait_for_url(lambda url: url != link)
    visitor.settle()


@patiently
def assert_wide_enough(visitor, width):
    """Nothing sticks out of the window."""
    assert visitor.page.evaluate(TOO_WIDE) == [0, 0], width


def resize(visitor, width, height):
    """Give the window another size, and find nothing that sticks out of it."""
    if visitor.page.viewport_size != {"width": width, "height": height}:
        visitor.page.set_viewport_size({"width": width, "height": height})
        visitor.page.wait_for_function(
            "width => document.documentElement.clientWidth === width", arg=width
        )
        visitor.settle()
    assert_wide_enough(visitor, width)


@patiently
def assert_theme(visitor, theme):
    """The page is as light or dark as asked for, and so are its figures, wherever it was turned."""
    background = visitor.page.locator("[data-testid=stApp]").evaluate(
        "app => getComputedStyle(app).backgroundColor"
    )
    assert (sum(map(int, re.findall(r"\d+", background)[:3])) < 200) == (theme == "dark")
    visitor.page.wait_for_function(INKED, arg=style.theme(theme == "dark").ink)


def begin(visitor):
    """Choose table and kernels as a person does."""
    # a single lesson: the gallery would have all of them computed
    visitor.open(f"data?{KERNELS}&lesson=copies")
    upload(visitor, prices(), "prices.csv")
    visitor.page.wait_for_selector("text=90 rows")
    visitor.settle()
