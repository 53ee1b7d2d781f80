"""Notes and errors of a table bear codes: pages look up their hints by them, and search no text."""

import ast
import copy
import pickle
import re
from collections import Counter

from mklcore.errors import DataError, Note, Repair
from pages.shared.values.tables import HINTS, in_full
from tests.helpers.every import every
from tests.helpers.project import ROOT

CODE = re.compile(r"table\.[a-z_]+")
SEARCHES = {"replace", "find", "index", "startswith", "endswith", "partition", "split"} | {
    "removeprefix",
    "removesuffix",
}
SENTENCE = re.compile(r"str\(\w+\)|(\w+\.)*(note|statement|hint|done)")
REPAIR = Repair.of("Find the encoding", encoding=None)
MESSAGES = {
    kind.__name__: kind(
        "The file is not latin.",
        repairs=[REPAIR],
        code="table.encoding",
        hint="Leave encoding= out to find it.",
    )
    for kind in (DataError, Note)
}


def nodes_of(folder):
    """Pairs of a file's name and a node of its syntax."""
    for file in sorted((ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            yield file.name, node


def test_every_code_belongs_to_one_sentence_and_has_a_hint_on_the_pages():
    codes = Counter()
    given = []
    for _, node in nodes_of("mklcore"):
        if isinstance(node, ast.Constant) and CODE.fullmatch(str(node.value)):
            codes[node.value] += 1
        if isinstance(node, ast.keyword) and node.arg == "code":
            given.append(node.value)
    assert [code for code, times in codes.items() if times > 1] == []
    assert set(codes) == set(HINTS)
    texts = {one.value for one in given if isinstance(one, ast.Constant)}
    assert len(texts) > 10
    assert texts <= set(codes)


def searched(node):
    """The text that an expression searches, as it is written; "" for other expressions."""
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
        return ast.unparse(node.comparators[0])
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return ast.unparse(node.func.value) if node.func.attr in SEARCHES else ""
    return ""


def test_no_page_searches_a_sentence_of_the_library():
    found = [
        f"{file}: {searched(node)}"
        for file, node in nodes_of("pages")
        if SENTENCE.fullmatch(searched(node))
    ]
    assert found == ["frame.py: str(error)"]  # an error of Streamlit, which has no code


@every("name", MESSAGES)
def test_a_message_is_a_statement_and_a_hint_and_survives_copies(name):
    message = MESSAGES[name]
    for one in (message, copy.copy(message), pickle.loads(pickle.dumps(message))):
        assert str(one) == "The file is not latin. Leave encoding= out to find it."
        assert one.statement == "The file is not latin."
        assert (one.code, one.repairs) == ("table.encoding", (REPAIR,))
        assert in_full(one) == "The file is not latin. Choose another encoding."


def test_a_plain_text_is_a_note_that_is_shown_as_it_is():
    note = Note.of("Made by hand.")
    assert (note, note.code, note.repairs, note.urgent) == ("Made by hand.", "", (), False)
    assert in_full(note) == "Made by hand."
    assert Note.of(note) is note
