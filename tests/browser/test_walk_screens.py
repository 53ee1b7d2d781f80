"""Keys alone, a lesson; every page in every size and both themes."""

from itertools import cycle
from urllib.parse import parse_qs, urlparse

import pytest

from pages.shared.session.state import PAGES
from tests.browser.known import KERNELS, path_of
from tests.browser.steps import Visitor, assert_at, assert_reads, pull
from tests.browser.walker import assert_named, assert_sound, assert_theme, resize
from tests.helpers.every import every

# what fits 1280 pixels fits more
WIDE = (1280, 720)
NARROW = (390, 844)
THEMES = ("light", "dark")


# Keys, lessons


def test_menu_cursor_and_presentation_are_reached_by_keys_alone(server, visit):
    visitor = visit(server.url)
    page = visitor.page
    keys = visitor.page.keyboard
    visitor.open(f"kernels?data=iris&{KERNELS}")
    tab_to(visitor, "[data-testid=stTopNavLink]", "Explore")
    keys.press("Enter")
    page.wait_for_url("**/explore*")
    visitor.page.wait_for_selector(".player input")
    visitor.settle()
    tab_to(visitor, "input[aria-label='Position on the path']")
    start = visitor.index()
    step = "ArrowLeft" if start else "ArrowRight"
    keys.press(step)
    page.wait_for_url("**at=*")
    assert_at(visitor, abs(start - 1))
    visitor.settle()
    assert float(parse_qs(urlparse(page.url).query)["at"][0]) == pytest.approx(
        path_of("sample", "lp").values[visitor.index()]
    )
    spoken = visitor.slider.get_attribute("aria-valuetext")
    assert spoken.startswith("C = ")
    page.locator(".head .title", has_text=f"at {spoken.split(',')[0]}").first.wait_for()
    tab_to(visitor, ".st-key-present button", back=True)
    keys.press("Enter")
    page.wait_for_url("**present=yes*")
    visitor.settle()
    menu = page.locator("[data-testid=stTopNavLink]").first
    menu.wait_for(state="hidden")
    page.locator("[data-testid=stSidebar]").wait_for(state="hidden")
    page.locator("h1").click()  # a fresh page: nothing has the focus
    keys.press("Escape")
    page.wait_for_url(lambda url: "present" not in url)
    menu.wait_for()  # it is measured anew before it is shown
    visitor.settle()
    assert_sound(visitor, server)


def tab_to(visitor, selector, text="", back=False):
    """Press Tab until the focus is on what is wanted, and can be seen there."""
    focused = """([selector, text]) => { let on = document.activeElement;
      while (on && on.shadowRoot && on.shadowRoot.activeElement) on = on.shadowRoot.activeElement;
      return Boolean(on && on.matches(selector) && on.textContent.includes(text)); }"""
    for _ in range(120):
        visitor.page.keyboard.press("Shift+Tab" if back else "Tab")
        if visitor.page.evaluate(focused, [selector, text]):
            return
    raise AssertionError(f"Tab does not reach {selector} {text}.")


def test_a_lesson_is_guessed_revealed_and_explained_by_keys(server, visit):
    visitor = visit(server.url)
    page = visitor.page
    visitor.open("lessons?lesson=copies")
    page.wait_for_selector("text=Your guess")
    visitor.settle()
    page.keyboard.press("1")
    page.wait_for_url("**lesson_guess=*")
    visitor.settle()
    page.keyboard.press("PageDown")
    page.wait_for_url("**lesson_step=reveal*")
    slider = page.locator(".player input[type=range]")
    slider.wait_for()
    visitor.settle()
    assert_reads(visitor, "It depends on the solver")
    page.locator(".chart[role=img][aria-label]").wait_for()
    pull(visitor, slider, 0.9)
    said = page.locator(".texts").inner_text()
    pull(visitor, slider, 0.1)
    assert page.locator(".texts").inner_text() != said
    page.keyboard.press("PageDown")
    page.wait_for_url("**lesson_step=why*")
    visitor.settle()
    assert_reads(visitor, "What it cannot tell.")
    assert_sound(visitor, server)


# Sizes and themes


@pytest.fixture(scope="module")
def window(server, chromium, guests):
    """One window for all pages: it is made wider and narrower, lighter and darker."""
    visitor = Visitor(chromium, server.url, guests)
    visitor.open(f"data?data=iris&{KERNELS}")
    yield visitor
    visitor.close()


@every("page, size, theme", zip(PAGES.values(), cycle((WIDE, NARROW, NARROW, WIDE)), cycle(THEMES)))
def test_every_page_fits_its_screen_and_is_seen_in_its_theme(server, window, page, size, theme):
    """By the menu, as a person goes. Over the pages every size is met in both themes."""
    resize(window, *WIDE)  # a narrow window has no menu to go on by
    window.go(page.title)
    window.page.locator("h1", has_text=page.question).wait_for()
    window.settle()
    window.page.emulate_media(color_scheme=theme)
    resize(window, *size)
    assert_theme(window, theme)
    assert_named(window)
    assert_sound(window, server)
