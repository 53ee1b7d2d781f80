"""A few inputs of each attack of `benchmarks.fuzzing`, the same ones every time; minutes of them are for its own
command.
"""

import pytest
from hypothesis import strategies as st

from benchmarks.fuzzing import TARGETS
from benchmarks.fuzzing.__main__ import Count, attack, reported
from benchmarks.fuzzing.targets import Target


@pytest.mark.parametrize(("name", "inputs"), [("links", 40), ("stacks", 40), ("store", 12)])
def test_no_input_leads_to_anything_but_an_answer_or_words(name: str, inputs: int) -> None:
    found = attack(TARGETS[name](), 5.0, inputs=inputs)
    assert found.findings == {}, reported(name, found)
    assert found.tried >= inputs // 2


def test_a_finding_is_reported_at_its_smallest() -> None:
    def check(number: int) -> str:
        if number > 100:
            raise ZeroDivisionError(f"{number} is too much")
        return "small"

    found: Count = attack(Target("numbers", st.integers(0, 10_000), check), 5.0, inputs=200)
    ((where, what),) = found.findings.items()
    assert where == "ZeroDivisionError in test_fuzzing.py, check"
    assert "101 is too much" in what
