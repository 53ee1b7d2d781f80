"""In a real browser, fifteen faulty files are each read rightly when they are uploaded, or after one click."""

import re

from tests.browser.steps import upload
from tests.helpers.faults import FAULTS

FEW = "data?widths=1&each=none&degree=0"
CLICKS = [fault for fault in FAULTS.values() if fault.button]
AT_ONCE = [fault for fault in FAULTS.values() if not fault.button][: 15 - len(CLICKS)]  # the others: test_faults.py
TASKS = {0: "a number (regression)", 2: "two classes", 3: "more than two classes"}


def mended(visitor, fault):
    """Upload a file, click its repair where it has one, and wait for the table that was meant."""
    upload(visitor, fault.content, "table.csv")
    if fault.button:
        visitor.page.get_by_role("button", name=re.compile(f"^{re.escape(fault.button)}")).click()
    visitor.settle()  # the table before may look alike
    task = re.escape(TASKS[len(fault.classes)])
    target = re.compile(rf"{fault.n_rows} rows, .*Target {re.escape(fault.target)}: {task}")
    visitor.page.get_by_text(target).wait_for()
    assert visitor.page.get_by_test_id("stAlertContentError").count() == 0


def test_every_fault_is_read_rightly_or_mended_by_one_click(server, visit):
    """The first file waits for the page; the others come one after the other."""
    visitor = visit(server.url)
    visitor.open(FEW)
    for fault in (*CLICKS, *AT_ONCE):
        mended(visitor, fault)
    assert not visitor.errors
