"""What the page on other packages says is the same fit gives the same numbers, where those packages
are installed.
"""

import re
from doctest import DocTestParser

import numpy as np
import pytest

from tests.helpers.project import text_of

PAGE = text_of("docs/coming_from.md")


def section(name):
    return PAGE.split(f"## {name}\n")[1].split("\n## ")[0]


def ours(text, known):
    """Run the lines of an example, whatever they print."""
    for example in DocTestParser().get_examples(text):
        exec(example.source, known)
    return known


def theirs(text, known):
    (code,) = re.findall(r"```python\n(.*?)```", text, re.S)
    exec(code, known)
    return known


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("package", "ours_of", "name", "atol"),
    [
        ("MKLpy", lambda known: known["model"].weights_, "weights", 1e-3),
        ("himalaya", lambda known: known["predicted"], "predicted", 1e-5),
    ],
)
def test_weights_of_mklpy_and_predictions_of_himalaya_are_ours(package, ours_of, name, atol):
    pytest.importorskip(
        package, reason=f"The package {package} comes with the extra peers, which is large"
    )
    begun = ours(PAGE.split("## ")[0], {})
    other = theirs(section(package), dict(begun))
    found = ours_of(ours(section(package), begun))
    np.testing.assert_allclose(found, np.asarray(other[name]), atol=atol)
