"""Work stays in a real browser: a reload finds its table, and a saved screen opens in another browser."""

import zipfile

from tests.browser.known import prices
from tests.browser.steps import upload


def test_a_reload_finds_the_table_and_a_saved_screen_opens_elsewhere(server, visit, tmp_path):
    owner, other = visit(server.url), visit(server.url, apart=True)
    owner.open("data?recipe=builders&widths=2&each=none&look=path")
    upload(owner, prices())
    owner.page.wait_for_selector("text=90 rows")
    owner.page.reload()
    owner.page.wait_for_selector("text=90 rows")
    owner.go("Explore")
    owner.page.wait_for_selector("text=/kernels used/")
    owner.settle()
    owner.page.locator(".st-key-link button").first.click()
    saved = tmp_path / "screen.mklx"
    saved.write_bytes(owner.take("Save"))
    assert {"screen.json", "table", "model.mkl"} <= set(zipfile.ZipFile(saved).namelist())
    other.open("")
    other.page.locator("input[type=file]").set_input_files(saved)
    other.page.wait_for_selector("text=/kernels used/")
    assert "/explore" in other.page.url
    assert not owner.errors + other.errors
