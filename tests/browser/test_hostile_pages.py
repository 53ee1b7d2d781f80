"""A table whose names would be markup or code, on every page and tab: no script runs, no dialog, nobody else is
asked.
"""

from tests.helpers.hostile_names import visited


def test_no_page_runs_a_name(server, chromium):
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    try:
        tried, saw, held = visited(context.new_page(), server.url)
    finally:
        context.close()
    assert tried > 30
    assert held, saw
