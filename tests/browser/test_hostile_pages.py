"""A table whose names would be markup or code, on every page and tab: no script runs, no dialog, nobody else is
asked.
"""

from benchmarks.hostile_names import pages


def test_no_page_runs_a_name() -> None:
    tried, saw, held = pages()
    assert tried > 30
    assert held, saw
