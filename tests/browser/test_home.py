"""Start in a browser: a card leads on to its answer, and back."""


def test_a_card_is_pressed_by_keys(server, visit):
    visitor = visit(server.url)
    visitor.open("")
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
