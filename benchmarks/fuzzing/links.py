"""Links that anyone may send: their reading alone, and nine pages opened under them without the work they ask for."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields
from pathlib import Path

from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from benchmarks.fuzzing.targets import Target
from mklcore.data.samples import SAMPLES
from mklcore.errors import DataError
from pages._parts.export import specification
from pages._parts.jobs import worker
from pages._parts.params import link
from pages._parts.params.algorithms import METHODS
from pages._parts.params.parameters import Params
from pages._parts.session import nav

APP = Path(__file__).resolve().parents[2] / "app.py"
NAMES = sorted(
    {one.name for one in fields(Params) if "rule" in one.metadata}
    | {control.name for method in METHODS.values() for control in method.controls}
)
SMALL = {"data": "iris", "validation": "0.4", "test": "0.4", "widths": "1", "each": "none", "degree": "0"}
WORDS = [
    "",
    "yes",
    "no",
    "0",
    "1",
    "-1",
    "1e999",
    "nan",
    "inf",
    "-0.0",
    "1e-320",
    "9" * 5000,
    "lp",
    "smkl",
    "gomp",
    "C",
    "lam",
    "p",
    "s",
    "eta",
    "rbf",
    "linear",
    "auto",
    "none",
    "both",
    "hinge",
    "logistic",
    "squared",
    "lowrank",
    "sample",
    "columns",
    "inside",
    "path",
    "root",
    "3^2",
    "1^1*2^1",
    "1,2",
    "1-3,7",
    "99999",
    "1n,2c,3x",
    "a:1-2;b:3",
    "rbf0.5m@*",
    "lin@1..30;~pol2@1-3,7",
    "lin@1&rbf1m@2",
    "stack@1-3",
    "kept:" + 64 * "0",
    "upload:" + 64 * "f",
    "1=1e100,2=-3",
    "memory_mb=400;tol=0.0001",
    "<script>alert(1)</script>",
    "[l](http://evil.example)",
    "{{7*7}}",
    "%00",
    "\x00",
    "\ud800",
    "\u202e",
    "名",
    "\u200fa",
    "' OR 1=1 --",
    "../../etc/passwd",
]


values = st.one_of(
    st.sampled_from([*WORDS, *SAMPLES, *METHODS]),
    st.floats().map(repr),
    st.integers().map(str),
    st.text(max_size=40),
    st.lists(st.sampled_from(WORDS), min_size=2, max_size=5).map(",".join),
    st.lists(st.sampled_from(WORDS), min_size=2, max_size=5).map(";".join),
)


def _fitting(name: str) -> st.SearchStrategy[str]:
    """Values that the rule of a parameter says it takes, where its words tell."""
    expected = next((one.metadata["rule"].expected for one in fields(Params) if one.name == name), "")
    if expected.startswith("one of "):
        return st.sampled_from(expected.removeprefix("one of ").split(", "))
    if found := re.fullmatch(r"a (whole )?number from (\S+) to (\S+)", expected):
        low, high = float(found[2]), float(found[3])
        return (st.integers(int(low), int(high)) if found[1] else st.floats(low, high)).map(repr)
    return st.sampled_from(WORDS)


fitting = st.sampled_from(NAMES).flatmap(lambda name: st.tuples(st.just(name), _fitting(name)))
strange = st.dictionaries(st.one_of(st.sampled_from([*NAMES, "run"]), st.text(max_size=12)), values, max_size=8)
queries = st.one_of(
    strange,
    st.lists(fitting, max_size=12).map(dict),
    st.tuples(st.lists(fitting, max_size=8).map(dict), strange).map(lambda two: two[0] | two[1]),
)


def read(query: dict[str, str]) -> str:
    """A link is read into parameters that write themselves and come back; what is refused is reported in a few short
    lines.
    """
    params, refused = link.read(query)
    assert len(refused) <= link.MOST_REFUSALS + 1
    assert all(len(sentence) < 4000 for sentence in refused)
    "".join(refused).encode()
    hash(params)
    again, more = link.read(link.text(params))
    assert (again, more) == (params, ()), (again, more)
    try:
        reported = {"format": specification.FORMAT, "version": 1, "parameters": query}
        assert specification.read(json.dumps(reported).encode())[0] == params
    except DataError:
        return "refused as a file"
    return "refused in part" if refused else "read"


class Nobody:
    """Takes work and never does it: what is attacked is the pages."""

    def submit(self, work: Callable[[], None]) -> None:
        """Forget ``work``."""


def opened(asked: tuple[str, dict[str, str]]) -> str:
    """A page under a link has no exception box."""
    page, query = asked
    worker.instead = Nobody()
    app = AppTest.from_file(str(APP), default_timeout=300)
    for name, value in (SMALL | query).items():
        with suppress(UnicodeEncodeError):  # halves of a sign: no address can hold them
            (name + value).encode()
            app.query_params[name] = value
    app.switch_page(f"pages/{page}.py")
    app.run()
    for line in worker.LINES.values():
        for job in line.everyone():
            line.leave(job)
    reported = [f"{error.message}\n{error.stack_trace}" for error in app.exception]
    assert not reported, reported[0]
    return "with an error message" if app.error else "with a warning" if app.warning else "drawn"


links = Target("links", queries, read)
pages = Target("pages", st.tuples(st.sampled_from([room.file for room in nav.ROOMS]), queries), opened)
