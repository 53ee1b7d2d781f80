"""Work stays in a real browser: a reload finds its table, and a saved screen opens in another
browser.
"""

import re
import zipfile

from tests.browser.known import prices
from tests.browser.server import Server
from tests.browser.steps import upload


def test_a_reload_finds_the_table_and_a_saved_screen_opens_elsewhere(server, visit, tmp_path):
    owner = visit(server.url)
    other = visit(server.url, apart=True)
    owner.open("data?recipe=builders&widths=2&each=none&look=path")
    upload(owner, prices())
    owner.page.wait_for_selector("text=90 rows")
    owner.page.reload()
    owner.page.wait_for_selector("text=90 rows")
    owner.go("Explore")
    owner.page.wait_for_selector("text=/\\d solves?, /")
    owner.settle()
    owner.page.locator(".st-key-link button").first.click()
    saved = tmp_path / "screen.mklx"
    saved.write_bytes(owner.take("Save"))
    assert {"screen.json", "table", "model.mkl"} <= set(zipfile.ZipFile(saved).namelist())
    other.open("")
    other.page.locator("input[type=file]").set_input_files(saved)
    other.page.wait_for_selector("text=/\\d solves?, /")
    assert "/explore" in other.page.url
    assert not owner.errors + other.errors


GONE = re.compile(
    "WebSocket|ERR_CONNECTION|reaching server endpoint|not responding|timed out|disconnected"
)
MINE = "mine.csv"
OTHER = "other.csv"
SAMPLE = "Breast cancer"
QUESTIONS = {
    "Data": "Which table does the model learn from?",
    "Lessons": "What do you expect, and what happens?",
}
ACTS = ("reload", "back", "forward", "sleep", "two tabs", "undo", "restart", "undo")


def test_the_table_stays_the_persons_own_whatever_comes_between(tmp_path, visit):
    """A reload, Back, Forward, sleep, a second tab and undo over an upload, and then a restart."""
    log = tmp_path / "server.log"
    server = Server(log)
    try:
        visitor = visit(server.url, apart=True)
        visitor.open("data?recipe=builders&widths=2&each=none")
        upload(visitor, prices(), MINE)
        where = seen(visitor, "Data")
        for act in ACTS:
            if act == "restart":
                server.stop()
                server = Server(log, port=server.port)
                visitor.page.wait_for_function("() => window.sockets.at(-1).readyState === 1")
            where = do(visitor, act, where)
        assert [error for error in visitor.errors if not GONE.search(error)] == []
    finally:
        server.stop()


def seen(visitor, where, table=MINE):
    """Wait for a page that names this table, and no longer."""
    heading = re.compile(f"{re.escape(QUESTIONS[where])}.*{re.escape(table)}")
    visitor.page.locator("h1", has_text=heading).wait_for()
    return where


def click(visitor, where):
    visitor.page.locator("[data-testid=stTopNavLink]", has_text=where).click()
    return seen(visitor, where)


def do(visitor, act, where):
    """What a person does on two pages that need nothing computed, the table named after each step."""
    page = visitor.page
    elsewhere = "Lessons" if where == "Data" else "Data"
    if act == "reload":
        page.reload()
    elif act in ("back", "forward"):
        click(visitor, elsewhere)
        page.go_back()
        if act == "forward":
            seen(visitor, where)
            page.go_forward()
            where = elsewhere
    elif act in ("restart", "sleep"):
        if act == "sleep":
            visitor.sleep()
        where = click(visitor, elsewhere)
    elif act == "two tabs":
        second = visitor.context.new_page()
        second.goto(f"{visitor.url}/lessons")
        second.get_by_role("button", name=f"Go on with {MINE}").click()
        second.locator("h1", has_text=MINE).wait_for()
        second.close()
    elif act == "undo":
        where = where if where == "Data" else click(visitor, "Data")
        upload(visitor, prices(seed=6), OTHER)
        seen(visitor, where, OTHER)
        page.locator(".st-key-undo button").first.click()
    return seen(visitor, where)


def test_a_tab_that_lost_its_table_offers_it_and_the_sample_and_a_shared_link_shows_what_it_says(
    server, visit
):
    visitor = visit(server.url, apart=True)
    stranger = visit(server.url, apart=True)
    stranger.open("lessons")
    stranger.named(SAMPLE)
    visitor.open("data?recipe=builders&widths=2&each=none")
    upload(visitor, prices(), MINE)
    visitor.named(MINE)
    for button, named in (("the sample", SAMPLE), ("on with mine", MINE)):
        visitor.open("lessons")
        visitor.page.get_by_text("This tab was disconnected").wait_for()
        visitor.page.get_by_role("button", name=re.compile(button)).click()
        visitor.named(named)
    visitor.open("lessons?data=wine")
    visitor.named("Wine")
