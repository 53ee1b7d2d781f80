"""The Hulls page in a real browser: dragging λ repaints without the server, and a node can be
clicked.
"""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.steps import WAIT, Visitor, assert_reads, drag, patiently
from tests.browser.walker import let_go

SLIDER = ".hull input[type=range]"
NODE = ".hull .node[data-node='{}']"


@pytest.fixture(scope="module")
def window(server, chromium, guests):
    """One window for all of them: what one leaves, the next finds."""
    visitor = Visitor(chromium, server.url, guests)
    visitor.page.goto(f"{visitor.url}/hulls?data=diabetes&hull_columns=3,4,9&hull_degree=2")
    visitor.page.locator(".hull .badge", has_text=re.compile("^certified$")).wait_for()
    visitor.settle()
    yield visitor
    visitor.close()


def shown(visitor):
    """The nodes on the screen, by the part they play."""
    marks = visitor.page.locator(".hull .node").evaluate_all(
        "all => all.map(one => [one.dataset.role, one.dataset.node])"
    )
    return {
        role: {node for part, node in marks if part == role}
        for role in ("inside", "extreme", "outside")
    }


def test_dragging_lambda_repaints_grid_graph_and_relevance_without_the_server(window):
    visitor = window
    slider = window.page.locator(SLIDER)
    let_go(visitor, slider, 1.0)
    before = shown(visitor)
    link = visitor.page.url
    cells = "all => all.map(one => one.dataset.kind)"
    grid = visitor.page.locator(".hull .cell").evaluate_all(cells)
    bars = visitor.page.locator(".hull .bar").evaluate_all(
        "all => all.map(one => one.style.transform)"
    )
    assert drag(visitor, slider, visitor.page.locator(".hull output"), to=0) >= 10
    assert visitor.page.url == link  # nothing was reported yet
    assert shown(visitor) != before
    assert visitor.page.locator(".hull .cell").evaluate_all(cells) != grid
    assert (
        visitor.page.locator(".hull .bar").evaluate_all(
            "all => all.map(one => one.style.transform)"
        )
        != bars
    )
    visitor.page.mouse.up()
    visitor.page.wait_for_url(lambda url: url != link and "hull_at=" in url)
    visitor.settle()
    expect(slider).to_have_value("0", timeout=WAIT)
    assert_exactly(visitor)
    slider.focus()
    released = visitor.page.url
    for _ in range(3):
        visitor.page.keyboard.press("ArrowRight")
    visitor.page.wait_for_url(lambda url: url != released)
    visitor.settle()
    expect(slider).to_have_value("3", timeout=WAIT)
    assert visitor.errors == []


@patiently
def assert_exactly(visitor):
    """The number box says the λ the slider is at."""
    label = visitor.page.locator(".hull output").inner_text().removeprefix("λ = ")
    exact = visitor.page.locator("input[aria-label='λ, exactly']")
    assert float(exact.input_value()) == pytest.approx(float(label), rel=0.01)


def test_a_clicked_node_of_graph_and_grid_shows_what_it_adds(window):
    visitor = window
    let_go(visitor, visitor.page.locator(SLIDER), 1.0)  # to the smallest λ
    visitor.page.locator(NODE.format("9^1")).locator("circle").nth(1).click()
    visitor.page.wait_for_url("**hull_node=9%5E1*")
    visitor.settle()
    assert_reads(visitor, "s5, depth 1")
    chart = "[data-testid=stPlotlyChart]"
    visitor.page.wait_for_selector(
        f"{chart}[role=figure][aria-label*='What s5 adds'], {chart} "
        "[role=figure][aria-label*='What s5 adds']"
    )  # fmt: skip
    visitor.page.locator(".hull .cell[data-cell='1,1']").click()
    visitor.page.wait_for_url("**hull_node=3%5E1*9%5E1*")
    visitor.settle()
    assert_reads(visitor, "bmi·s5, depth 2")
    assert visitor.errors == []
