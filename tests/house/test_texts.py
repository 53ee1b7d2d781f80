"""Comments and docstrings are wrapped once, hold whole tables, and name files that are there."""

import re

from tests.helpers.project import ROOT

DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
CODE = [
    ROOT / "app.py",
    *(path for folder in ("mklcore", "pages") for path in sorted((ROOT / folder).rglob("*.py"))),
]
FULL = 95  # a line of which the next word would have gone beyond this was wrapped there
SHORT = 60  # below this the next word would have fitted
NO_SENTENCE = re.compile(r"[\w`][^:]{0,60}? : |.*\S {2,}\S|>>> ")  # an entry, columns, an example
NAMED_FILE = re.compile(r"`([\w./-]+\.(?:py|pyi|js|css|html|toml|json|md))`")
FOLDERS = (
    ".ci",
    ".devcontainer",
    ".streamlit",
    "benchmarks",
    "docs",
    "mklcore",
    "pages",
    "sample_data",
    "tests",
)
# of Pyodide, of a file that the app writes, and of a page that a reader adds
ELSEWHERE = {"pyodide.js", "screen.json", "pages/NAME/page.py"}
PLANTED = '''
def f():
    """Rows.

    A sentence that somebody had wrapped at another width, and that was then wrapped here once more
    in the
    middle, and | a table:

    | name | meaning |
    | a | the first of two things |
    | b | the second one, which is said in more words than one line takes,
    as here |
    """
'''


def texts(source):
    """Every run of lines in a comment or docstring, with the number of its first line."""
    found = []
    lines = []
    is_docstring = False
    for number, line in enumerate([*source.splitlines(), ""], 1):
        is_text = is_docstring or line.lstrip().startswith(("#", '"""'))
        is_docstring ^= line.count('"""') % 2 == 1
        if is_text and line.strip(" #"):
            lines.append(line)
        elif lines:
            found.append((number - len(lines), lines))
            lines = []
    return found


def cut_in_a_sentence(lines):
    """Places of short lines that follow a full one and end in the middle of a sentence."""
    found = []
    for place in range(1, len(lines) - 1):
        before, line, after = lines[place - 1 : place + 2]
        words = after.strip(" #")
        first = line.strip(" #").split()[0]
        follows_a_full_one = len(before) + 1 + len(first) > FULL
        ends_open = len(line) < SHORT and re.search(r"[\w,`)]$", line)
        goes_on = re.match(r"[a-z\d`(]", words) and not NO_SENTENCE.match(words)
        if follows_a_full_one and ends_open and goes_on and not NO_SENTENCE.match(line.strip(" #")):
            found.append(place)
    return found


def broken_rows(lines):
    """Places of rows of a table that go on in the next line."""
    are_rows = [line.strip(" #").startswith("|") for line in lines]
    return [
        place
        for place in range(1, len(lines))
        if are_rows[place - 1] and are_rows[place] and not lines[place].endswith("|")
    ]


def findings(source, check):
    return [start + place for start, lines in texts(source) for place in check(lines)]


def test_what_is_looked_for_is_found():
    assert findings(PLANTED, cut_in_a_sentence) == [6]
    assert findings(PLANTED, broken_rows) == [11]


def test_no_line_is_cut_in_a_sentence_and_no_row_of_a_table_is_broken():
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in CODE
        for check in (cut_in_a_sentence, broken_rows)
        for number in findings(path.read_text(encoding="utf-8"), check)
    ]
    assert found == []


def test_files_that_texts_name_are_there():
    inside = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.*")]
    files = [f"/{path.relative_to(ROOT).as_posix()}" for path in (*inside, *ROOT.glob("*.*"))]
    endings = {file[place:] for file in files for place, letter in enumerate(file) if letter == "/"}
    named = {
        (name, path.relative_to(ROOT).as_posix())
        for path in (*DOCUMENTS, *CODE)
        for name in NAMED_FILE.findall(path.read_text(encoding="utf-8"))
    }
    missing = [pair for pair in sorted(named) if f"/{pair[0]}" not in endings]
    assert [pair for pair in missing if pair[0] not in ELSEWHERE] == []
