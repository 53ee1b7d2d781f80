"""In a real browser, faulty files of every kind of repair are read rightly at once or after one
click.
"""

import re

from tests.browser.steps import upload
from tests.helpers.every import EVERY_CASE
from tests.helpers.faults import FAULTS

KINDS = (  # all others: tests/data/test_faults.py
    "semicolons and decimal commas, Latin letters",
    "title of two cells",
    "a code for missing values in the target",
    "rare classes",
    "identifiers alone",
)
TASKS = {0: "a number (regression)", 2: "two classes", 3: "more than two classes"}


def test_every_fault_is_read_rightly_or_mended_by_one_click(server, visit):
    visitor = visit(server.url)
    visitor.open("data?widths=1&each=none&degree=0")
    for fault in map(FAULTS.get, KINDS if EVERY_CASE else KINDS[1:3]):
        upload(visitor, fault.content, "table.csv")
        if fault.button:
            visitor.page.get_by_role(
                "button", name=re.compile(f"^{re.escape(fault.button)}")
            ).click()
        visitor.settle()  # the table before may look alike
        task = re.escape(TASKS[len(fault.classes)])
        target = re.compile(rf"{fault.n_rows} rows, .*Target {re.escape(fault.target)}: {task}")
        visitor.page.get_by_text(target).wait_for()
        assert visitor.page.get_by_test_id("stAlertContentError").count() == 0
    assert not visitor.errors
