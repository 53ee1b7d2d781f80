"""A table whose names would be markup or code, on every page and tab: no script runs, no dialog,
nobody else is asked.
"""

from pages.shared.session.state import PAGES
from tests.browser.steps import upload
from tests.browser.walker import assert_sound
from tests.helpers.hostile_names import FILE, NAMES, table

# an address that is text may be made a link by who shows it, not the words of a name
TRACES = "#injected, img[src=x], iframe, [onerror], svg[onload], a[href^=javascript], a[href*=evil]:not(:has-text('evil')), [src*=evil]"  # noqa: E501


def test_no_page_runs_a_name(server, visit):
    visitor = visit(server.url)
    dialogs = []
    page = visitor.page
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    visitor.open("data?widths=1&each=linear&degree=0")
    upload(visitor, table(NAMES), FILE)
    page.get_by_text("two classes").first.wait_for()
    visitor.settle()
    for address in list(PAGES)[1:]:  # all but the first screen
        visitor.go(PAGES[address].title)
        for tab in page.get_by_role("tab").all():
            if tab.is_visible():
                tab.click()
                visitor.settle()
        assert page.locator(TRACES).count() == 0, address
        assert_sound(visitor, server)
    assert dialogs == []
