"""Files opened from disk, offline: they ask nobody for anything, and every kind drags, obeys the
keys and turns dark.
"""

import gzip
import json
from pathlib import Path as File

import pytest

from mklcore.figures.hulls import HullLayout
from mklcore.figures.one_file import About, SolvedProblem, hulls_page, methods_page, path_page
from mklcore.gallery.lessons import LESSONS, lesson_page
from tests.figures.test_one_file import HOSTILE, a_path, columns_of

EARLIER = File(__file__).resolve().parents[2] / "sample_data" / "earlier"
ABOUT = About(
    HOSTILE[0],
    problems=(SolvedProblem(HOSTILE[1], r"\min_\theta \|w\|", HOSTILE[2]),),
    settings="?data=wine",
)
SLIDER = "[data-leads] input[type=range]"


def unpacked(file):
    return json.loads(gzip.decompress(file.read_bytes()))


def tuples(value):
    return tuple(map(tuples, value)) if isinstance(value, list) else value


def of_path():
    return path_page(a_path(8), ABOUT, columns=columns_of(HOSTILE, 8), index=3)


def of_methods():
    return methods_page({HOSTILE[0]: a_path(8), "b": a_path(8, seed=1)}, ABOUT, step=3)


def of_hulls():
    """Hulls that came with the project, under names that would be markup."""
    found = unpacked(next(EARLIER.glob("hulls_sparse_polynomial_*.json.gz")))
    layout = HullLayout(
        **{name: tuples(value) for name, value in found["layout"].items()}
        | {"variables": HOSTILE * 9}
    )
    path = a_path(len(found["states"]), param="lam")
    return hulls_page(path, ABOUT, index=3, drawn=(layout, found["states"]))


def of_lesson():
    return lesson_page(LESSONS["sparse"])


KINDS = {"path": of_path, "methods": of_methods, "hulls": of_hulls, "lesson": of_lesson}
WORDS = {
    "path": "#facts .texts",
    "methods": "#methods .table",
    "hulls": ".said",
    "lesson": "#say .texts",
}  # what is read at the cursor


@pytest.fixture(scope="module")
def window(chromium):
    """One window without a network for all kinds."""
    context = chromium.new_context(
        viewport={"width": 1280, "height": 720}, color_scheme="light", offline=True
    )
    page = context.new_page()
    page.heard = []
    page.asked = []
    page.on("pageerror", lambda error: page.heard.append(str(error)))
    page.on("console", lambda message: page.heard.append(message.text))
    page.on("dialog", lambda dialog: (page.heard.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda request: page.asked.append(request.url))
    yield page
    context.close()


def drag(page, handle, to):
    """Take hold of an element in its middle and lead the pointer to a share of its width."""
    box = handle.bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] / 2, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + to * box["width"], middle, steps=4)
    page.mouse.up()


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_from_disk_drags_obeys_the_keys_and_turns_dark(window, tmp_path, kind):
    file = tmp_path / f"{kind}.html"
    file.write_text(KINDS[kind](), encoding="utf-8")
    window.heard.clear()
    window.asked.clear()
    window.goto(file.as_uri())
    if kind == "lesson":
        assert not window.locator("#solution").is_visible()
        window.locator("#guess button").nth(1).click()
        assert window.locator("#guess button.right").count() == 1
    slider = window.locator(SLIDER)
    steps = int(slider.get_attribute("max"))
    pictures = window.locator("[role=img], svg[role=group]")
    said = slider.get_attribute("aria-valuetext")
    drawn = pictures.first.get_attribute("aria-label")
    read = window.locator(WORDS[kind]).inner_text()
    window.evaluate("document.activeElement.blur()")
    before = float(slider.input_value())
    window.keyboard.press("ArrowRight")
    window.wait_for_function((
        "([s, said]) => "
        "document.querySelector('[data-leads]').shadowRoot.querySelector('input').getAttribute('aria-valuetext') "
        "!== said"
    ), arg=[SLIDER, said])  # fmt: skip
    assert float(slider.input_value()) == before + 1
    assert pictures.first.get_attribute("aria-label") != drawn
    assert window.locator(WORDS[kind]).inner_text() != read
    assert window.locator("math").count() > 0
    held = window.locator(".ground").first if kind != "hulls" else slider
    drag(window, held, 0.999)
    assert float(slider.input_value()) == steps
    paper = window.evaluate("getComputedStyle(document.body).backgroundColor")
    window.locator("#theme").click()
    assert (
        paper
        == "rgb(255, 255, 255)"
        != window.evaluate("getComputedStyle(document.body).backgroundColor")
    )
    assert float(slider.input_value()) == steps
    assert window.heard == []
    assert window.asked == [file.as_uri()]
    assert window.locator("img").count() == 0


def test_nodes_of_a_hull_are_walked_to_and_chosen_by_keys(window, tmp_path):
    file = tmp_path / "hulls.html"
    file.write_text(of_hulls(), encoding="utf-8")
    window.heard.clear()
    window.goto(file.as_uri())
    window.locator(SLIDER).focus()
    heard = set()
    for picture, mark in (("grid", "cell"), ("graph", "node")):
        stop = window.locator(f".{picture} .{mark}[tabindex='0']")
        assert stop.count() == 1
        window.keyboard.press("Tab")
        assert stop.evaluate("one => one === one.getRootNode().activeElement")
        before = stop.get_attribute("aria-label")
        window.keyboard.press("ArrowUp" if picture == "grid" else "ArrowDown")
        assert stop.get_attribute("aria-label") != before
        window.keyboard.press("Enter")
        heard.add(window.locator(".picked").inner_text())
        assert stop.get_attribute("aria-label").startswith(window.locator(".picked").inner_text())
        assert stop.get_attribute("aria-pressed") == "true"
        assert stop.evaluate("one => one === one.getRootNode().activeElement")
    assert len(heard) == 2
    assert window.heard == []
