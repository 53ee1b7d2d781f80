"""Common faults of real tables: each is read rightly at once, or carries a repair that does it."""

import numpy as np

from mklcore import DataError, read_table
from mklcore.errors import Note, Repair
from pages.shared.session.parameters import Params
from pages.shared.values import tables
from tests.helpers.every import every
from tests.helpers.faults import FAULTS, N


def arguments(repair):
    """The arguments of ``read_table`` under a repair."""
    return {name: dict(value) if name == "uses" else value for name, value in repair.settings}


def offered(fault):
    """What a person is offered above the table: the repairs of its refusal, or of its urgent notes."""
    try:
        notes = read_table(fault.content).notes
    except DataError as error:
        return list(error.repairs)
    return [one for note in map(Note.of, notes) if note.urgent for one in note.repairs]


@every("name", FAULTS)
def test_a_fault_is_read_rightly_or_carries_its_repair(name):
    fault = FAULTS[name]
    found = offered(fault)
    if fault.button:
        (repair,) = (one for one in found if one.label.startswith(fault.button))
        data = read_table(fault.content, **arguments(repair))
    else:
        assert not found
        data = read_table(fault.content)
    assert (data.target_name, data.class_names, data.n_samples) == (
        fault.target,
        fault.classes,
        fault.n_rows,
    )


@every(
    "repair, expected",
    [
        (Repair.of("", target="y", task="binary"), {"target": "y", "task": "classification"}),
        (Repair.of("", target=None, task=None), {"target": "", "task": ""}),
        (
            Repair.of("", missing_marks=("?", "NA"), sentinels="missing"),
            {"marks": "?,NA", "gaps": True},
        ),
        (Repair.of("", missing_marks=(), rare_classes="keep"), {"marks": ",", "rare": ""}),
        (Repair.of("", delimiter="\t", decimal=","), {"delimiter": "tab", "decimal": "comma"}),
        (Repair.of("", header=False, skip_lines=2), {"header": "no", "skip": "2"}),
        (Repair.of("", on_bad_lines="skip", quotes=False), {"lines": "skip", "quotes": False}),
        (Repair.of("", stratify=False, validation=0.1), {"stratified": False, "validation": 0.1}),
    ],
)
def test_a_repair_is_a_change_of_the_parameters(repair, expected):
    assert tables.changes(Params(), repair) == expected
    assert tables.helps(Params(), repair) is (expected != {"target": "", "task": ""})


def test_missing_marks_are_a_setting():
    lines = [
        f"{'n.a.' if i % 9 == 0 else -999 if i % 9 == 1 else i},{'ok' if i % 2 else '-'},{i % 2}"
        for i in range(N)
    ]
    source = "\n".join(["a,b,y", *lines]).encode()
    data = read_table(source, "y", missing_marks=("n.a.", "-999.0"))
    assert "filled with the median of the column: 'a' (18" in "".join(data.notes)
    assert data.feature_names == ("a", "b=ok")
    marked = read_table(source, "y", missing_marks=("-", "n.a.", "-999"))
    assert any(
        "A missing value counts as a category of its own in 'b'" in note for note in marked.notes
    )
    assert np.array_equal(data.encoder.read(source).X, data.X)


def test_rare_classes_are_merged_or_left_out():
    lines = [f"{i},{i % 7},{'ab'[i % 2] if i > 8 else 'pqr'[i % 3]}" for i in range(N)]
    source = "\n".join(["a,b,kind", *lines]).encode()
    assert read_table(source).class_names == ("a", "b", "p", "q", "r")
    merged = read_table(source, rare_classes="merge")
    assert (merged.class_names, merged.n_samples) == (("a", "b", "other"), N)
    dropped = read_table(source, rare_classes="drop")
    assert (dropped.class_names, dropped.n_samples, dropped.task) == (("a", "b"), N - 9, "binary")
