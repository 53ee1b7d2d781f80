"""What no linter says of the sources: tables leave as CSV through one writer, and what sessions
share is bounded.

Who imports whom is a contract of import-linter in ``pyproject.toml``; what is never imported or
called, one of ruff.
"""

import ast
import tomllib

from tests.helpers.project import ROOT, text_of

FILES = [ROOT / "app.py", *sorted((ROOT / "pages").rglob("*.py"))]
CACHES = {"cache_data", "cache_resource", "lru_cache", "cache"}


def test_tables_leave_as_csv_through_one_writer():
    """A spreadsheet computes cells that begin like formulas; grids.csv writes them so that it
    only shows them.
    """
    writers = [file.name for file in FILES if ".to_csv" in file.read_text(encoding="utf-8")]
    assert writers == ["grids.py"]
    config = tomllib.loads(text_of(".streamlit/config.toml"))
    assert config["client"]["disableDataExport"] is True


def test_what_all_sessions_share_is_bounded():
    """A cache of Streamlit or of Python behind the pages has a size, or its function takes no
    argument.
    """
    found = 0
    unbounded = []
    for file in FILES:
        for function in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            for decorator in getattr(function, "decorator_list", []):
                name = ast.unparse(decorator).partition("(")[0].rpartition(".")[2]
                if name not in CACHES:
                    continue
                found += 1
                sizes = [one.arg for one in getattr(decorator, "keywords", [])]
                if ast.unparse(function.args) and not {"max_entries", "maxsize"} & set(sizes):
                    unbounded.append(f"{file.name}:{function.lineno}")
    assert found
    assert unbounded == []
