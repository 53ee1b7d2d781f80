"""Files that texts name are there."""

import re

from tests.helpers.project import ROOT

DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
CODE = [
    ROOT / "app.py",
    *(path for folder in ("mklcore", "pages") for path in sorted((ROOT / folder).rglob("*.py"))),
]
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
