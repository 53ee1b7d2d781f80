"""The app as a person meets it, in a real browser."""

import numpy as np
import pytest

from tests.browser.known import KERNELS, found_of
from tests.browser.steps import CURSOR, assert_at, assert_reads, drag, patiently
from tests.browser.walker import assert_explored, assert_weighed


def test_the_cursor_is_dragged_moved_by_keys_grabbed_played_and_put_between_two_points(
    server, visit
):
    visitor = visit(server.url)
    visitor.open(f"explore?data=iris&{KERNELS}&look=path")
    visitor.wait_for_path()
    found = found_of("sample", "lp")
    path = found.path
    last = len(found.path) - 1
    released = round(0.75 * last)
    assert_explored(visitor, path, visitor.index())

    assert (
        drag(visitor, visitor.slider, visitor.page.locator(CURSOR).first, to=released / last) >= 10
    )
    visitor.page.mouse.up()
    visitor.settle()
    assert_at(visitor, released)
    visitor.slider.focus()
    for key in ["End", *["ArrowLeft"] * (last - released)]:  # from between two points onto one
        visitor.page.keyboard.press(key)
    visitor.settle()
    assert_at(visitor, released)
    assert_explored(visitor, path, released)
    box = visitor.page.locator("input[aria-label='C, exactly']")
    assert_exactly(visitor, path.values[released])
    visitor.slider.focus()
    for _ in range(3):
        visitor.page.keyboard.press("ArrowLeft")
    assert visitor.index() == released - 3
    assert_explored(visitor, path, released - 3)
    assert_exactly(visitor, path.values[released - 3])
    visitor.settle()
    assert visitor.slider.get_attribute("aria-valuetext").startswith("C = ")
    visitor.page.keyboard.press("ArrowRight")  # the focus has stayed
    assert visitor.index() == released - 2
    assert_exactly(visitor, path.values[released - 2])
    visitor.settle()
    visitor.page.locator(".st-key-undo button").first.click()
    assert_at(visitor, released - 3)
    visitor.settle()

    line = visitor.page.locator(CURSOR).last.bounding_box()
    visitor.page.mouse.move(line["x"] + line["width"] / 2, line["y"] + 40)
    visitor.page.mouse.down()
    visitor.page.mouse.move(line["x"] + 200, line["y"] + 60, steps=8)
    visitor.page.mouse.up()
    visitor.settle()
    grabbed = visitor.index()
    assert grabbed > released - 3

    visitor.page.get_by_role("button", name="Play along the path").click()
    visitor.page.get_by_role("button", name="Play along the path").wait_for()
    visitor.settle()
    assert_at(visitor, last)
    assert_explored(visitor, path, last)

    between = float(f"{np.sqrt(path.values[2] * path.values[3]):.3g}")
    box.fill(f"{between:g}")
    box.press("Enter")
    assert_weighed(visitor, found.at(between), 0)
    assert not visitor.errors


@patiently
def assert_exactly(visitor, value):
    """The number box beside the slider says where the cursor is."""
    box = visitor.page.locator("input[aria-label='C, exactly']")
    assert float(box.input_value()) == pytest.approx(value, rel=1e-3)


def test_quick_key_presses_on_a_slider_lose_none(server, visit):
    visitor = visit(server.url)
    visitor.open("kernels?data=iris&widths=2")
    thumb = visitor.page.locator(
        "[data-testid=stSidebar] [role=slider], [data-testid=stSidebar] input[type=range]"
    ).first
    thumb.focus()
    for _ in range(9):
        visitor.page.keyboard.press("ArrowRight")
        visitor.page.wait_for_timeout(45)
    visitor.page.wait_for_url("**widths=11*")
    assert_reads(visitor, "17 kernels on 74 training rows")
    visitor.settle(1.0)
    assert thumb.evaluate("thumb => thumb.getAttribute('aria-valuetext') || thumb.value") == "11"
    assert "widths=11" in visitor.page.url


def test_back_forward_and_undo_return_to_what_was(server, visit):
    visitor = visit(server.url)
    visitor.open()
    visitor.page.get_by_role("button", name="Wine").click()
    visitor.page.wait_for_selector("text=178 rows")
    visitor.settle(1.2)
    visitor.page.get_by_role("button", name="Iris").click()
    visitor.page.wait_for_url(lambda url: "iris" in url)
    visitor.page.go_back()  # within a second of the change
    visitor.page.wait_for_selector("text=178 rows")
    visitor.settle(1.5)
    assert "data=wine" in visitor.page.url
    visitor.page.go_forward()
    visitor.page.wait_for_selector("text=150 rows")
    visitor.settle()
    visitor.page.locator(".st-key-undo button").first.click()
    visitor.page.wait_for_selector("text=178 rows")
    visitor.go("Kernels")
    visitor.page.wait_for_url("**data=wine*")
    visitor.settle(1.2)
    # one step, although the menu gave the address without its parameters first
    visitor.page.go_back()
    visitor.page.wait_for_selector("text=Which table does the model learn from?")
    visitor.page.wait_for_selector("text=178 rows")
    assert not visitor.errors


def test_a_click_on_the_menu_stays_whatever_the_page_before_still_says(server, visit):
    """What is pressed on a page while the next is on its way is about the next."""
    visitor = visit(server.url)
    visitor.open("lessons")
    visitor.page.evaluate(
        """() => { document.querySelector('[data-testid=stTopNavLink][href*="data"]').click();
        document.querySelector('.st-key-present button').click(); }"""
    )
    visitor.page.locator("h1", has_text="Which table").wait_for()
    visitor.page.wait_for_url("**/data?*present=*")
    visitor.settle()
    assert "/data" in visitor.page.url
