"""The check of public docstrings in ``.ci/docstrings.py`` finds what is missing; ``.ci/run`` runs
it over all names.
"""

import inspect
import re
import runpy
import sys

from numpydoc.docscrape import NumpyDocString

import mklcore
from tests.helpers.every import every
from tests.helpers.project import ROOT

CHECK = runpy.run_path(str(ROOT / ".ci" / "docstrings.py"))


def test_a_docstring_without_its_parameters_is_found(monkeypatch, tmp_path):
    (tmp_path / "planted.py").write_text(
        'def half(x):\n    """Return half of x."""\n    return x / 2\n', encoding="utf-8"
    )
    monkeypatch.syspath_prepend(tmp_path)
    found = CHECK["findings"](["planted.half"])
    sys.modules.pop("planted", None)
    assert [line.split()[1] for line in found] == ["PR01", "RT01"]


@every("place", CHECK["public"]())
def test_no_parameter_runs_into_another(place):
    text = NumpyDocString(inspect.cleandoc(getattr(mklcore, place.rpartition(".")[2]).__doc__))
    for parameter in text["Parameters"]:
        described = " ".join(parameter.desc)
        assert not re.search(r"\w+ : |(Attributes|Parameters|Returns): ", described), parameter.name
