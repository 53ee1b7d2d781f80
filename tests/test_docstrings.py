"""The check of public docstrings in ``.ci/docstrings.py`` finds what is missing; ``.ci/run`` runs it over all names."""

import runpy
import sys
from pathlib import Path

import pytest

CHECK = runpy.run_path(str(Path(__file__).resolve().parents[1] / ".ci" / "docstrings.py"))


def test_a_docstring_without_its_parameters_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "planted.py").write_text(
        'def half(x):\n    """Return half of x."""\n    return x / 2\n', encoding="utf-8"
    )
    monkeypatch.syspath_prepend(tmp_path)
    found = CHECK["findings"](["planted.half"])
    sys.modules.pop("planted", None)
    assert [line.split()[1] for line in found] == ["PR01", "RT01"]
