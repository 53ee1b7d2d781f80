"""Work survives in a real browser: a reload, a restart of the server, another browser with the secret link, and not its
end.
"""

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlparse

from tests.browser.server import Server
from tests.browser.steps import Visitor, assert_facts, assert_reads, table, upload


def open_corner(visitor: Visitor) -> None:
    visitor.page.locator(".st-key-runs button").first.click()
    visitor.page.get_by_role("button", name="Save this screen").wait_for()


def wait_for_answer(visitor: Visitor) -> None:
    visitor.page.wait_for_selector("text=/of \\d+ kernels used/")
    visitor.settle()


def kept(home: Path, mark: bytes) -> bool:
    return any(mark in part.read_bytes() for part in home.rglob("*") if part.is_file())


def test_a_screen_is_saved_reloaded_restarted_and_deleted(start: Callable[..., Server], visit, tmp_path: Path) -> None:
    home, mark = tmp_path / "home", table().splitlines()[2]
    server = start()
    port = int(server.url.rpartition(":")[2])
    owner = visit(server.url)
    owner.open("data?recipe=builders&widths=2&each=none&look=path")
    upload(owner, table())
    owner.page.wait_for_selector("text=140 rows")
    owner.page.wait_for_selector("text=Kept on the server for 7 days")
    owner.page.reload()
    owner.page.wait_for_selector("text=140 rows")
    owner.page.wait_for_selector("text=Kept on the server for 7 days")

    owner.go("Explore")
    wait_for_answer(owner)
    open_corner(owner)
    owner.page.get_by_label("Name", exact=True).fill("My *first* run")
    owner.page.get_by_role("button", name="Save this screen").click()
    owner.page.wait_for_selector("text=Saved as My *first* run")
    link = owner.page.locator("[data-testid=stCode]", has_text="run=").inner_text()
    secret = re.search(r"run=([\w-]{43})", re.sub(r"\s", "", link)).group(1)
    assert kept(home, mark)
    assert not kept(home, secret.encode())

    server.stop()
    server = start(port=port)
    owner.page.goto(f"{owner.url}/explore?data=iris&each=linear&widths=2&look=path")  # its first request is a deep link
    owner.wait_for_path()
    assert_reads(owner, "Which columns matter")
    assert_facts(owner, "of 8 kernels used")
    assert "data=iris" in owner.page.url
    open_corner(owner)  # this browser knows its runs after the restart
    owner.page.locator("[class*=st-key-runs_open_] button").click()
    owner.page.wait_for_url(lambda url: "data=iris" not in url)
    wait_for_answer(owner)
    assert_reads(owner, gone="of 8 kernels used")
    owner.page.wait_for_url(lambda url: "run=" not in url)

    owner.settle()
    open_corner(owner)
    owner.page.locator("[class*=st-key-runs_delete_] button").click()
    owner.page.get_by_role("button", name="Delete for good").click()
    owner.page.wait_for_selector("text=Deleted, and its table with it")
    assert not kept(home, mark)
    assert owner.hosts == {urlparse(server.url).netloc}
    assert owner.page.locator("[data-testid=stException]").count() == 0
