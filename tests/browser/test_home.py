"""Start in a browser: it plays for two seconds, or not where a person wants no motion; a hand leads the slider."""

from playwright.sync_api import expect

SLIDER = ".player input[type=range]"
PLACES = """(slider) => new Promise(done => { const seen = new Set(), began = performance.now();
  const look = () => { seen.add(slider.value); performance.now() - began < 2500 ? requestAnimationFrame(look)
    : done([...seen].map(Number)); }; look(); })"""


def test_the_first_screen_plays_comes_to_rest_and_is_dragged(server, chromium):
    context = chromium.new_context(viewport={"width": 1280, "height": 720}, reduced_motion="no-preference")
    page = context.new_page()
    try:
        page.goto(server.url)
        slider = page.locator(SLIDER)
        seen = slider.evaluate(PLACES)
        assert len(seen) > 5
        spoken = page.locator(".texts")
        at_rest = spoken.inner_text()
        rest = int(slider.input_value())
        assert 0 < rest < int(slider.get_attribute("max"))
        slider.fill("0")
        assert int(slider.input_value()) < 3
        expect(spoken).not_to_have_text(at_rest)
    finally:
        context.close()


def test_without_motion_it_stands_still_and_a_card_is_pressed_by_keys(server, visit):
    visitor = visit(server.url)
    visitor.open("")
    assert len(visitor.page.locator(SLIDER).evaluate(PLACES)) == 1
    card = visitor.page.get_by_role("button", name="Iris. Predicting")
    card.focus()
    visitor.page.keyboard.press("Enter")
    visitor.page.wait_for_url("**/explore?data=iris")
    visitor.page.wait_for_selector(".player input")
    visitor.settle(1.2)
    visitor.page.go_back()
    visitor.page.locator(".st-key-start-picture").wait_for()
    assert visitor.page.url.removeprefix(server.url).partition("?")[0].strip("/") == ""
    assert not visitor.errors
