"""What the page on other packages says is the same fit gives the same numbers, where those packages
are installed.
"""

import re
from pathlib import Path

import numpy as np
import pytest

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "coming_from.md").read_text(encoding="utf-8")


def section(name):
    return PAGE.split(f"## {name}\n")[1].split("\n## ")[0]


def ours(text, known):
    """Run the lines of an example, without what they print."""
    for line in re.findall(r"^>>> (.*)$", text, re.M):
        exec(line, known)
    return known


def theirs(text, known):
    (code,) = re.findall(r"```python\n(.*?)```", text, re.S)
    exec(code, known)
    return known


@pytest.mark.filterwarnings("ignore")
def test_weights_of_mklpy_are_ours():
    pytest.importorskip(
        "MKLpy", reason="The package MKLpy comes with the extra peers, which is large"
    )
    begun = ours(PAGE.split("## ")[0], {})
    other = theirs(section("MKLpy"), dict(begun))
    np.testing.assert_allclose(
        ours(section("MKLpy"), begun)["model"].weights_, np.asarray(other["weights"]), atol=1e-3
    )


@pytest.mark.filterwarnings("ignore")
def test_predictions_of_himalaya_are_ours():
    pytest.importorskip(
        "himalaya", reason="The package himalaya comes with the extra peers, which is large"
    )
    begun = ours(PAGE.split("## ")[0], {})
    other = theirs(section("himalaya"), dict(begun))
    np.testing.assert_allclose(
        ours(section("himalaya"), begun)["predicted"], other["predicted"], atol=1e-5
    )
