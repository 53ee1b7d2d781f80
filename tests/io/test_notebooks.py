"""The notebooks of ``sample_data`` say today what they said when they were written, and objects
show themselves in one.
"""

import html.parser
import importlib.util
import re
from pathlib import Path

import nbformat
import numpy as np
import pytest

import mklcore as mkl
from mklcore.io.catalog import ESTIMATORS
from tests.helpers.every import EVERY_CASE, every

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "sample_data"
EVIL = "<script>alert('x')</script>"


def builder():
    spec = importlib.util.spec_from_file_location("build_notebooks", FOLDER / "build_notebooks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BUILD = builder()


@pytest.mark.parametrize("name", BUILD.NOTEBOOKS)
def test_a_notebook_is_the_one_the_script_writes(name):
    stored = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    nbformat.validate(stored)
    written = BUILD.source(name)
    assert [cell.source for cell in stored.cells] == [cell.source for cell in written.cells]


@pytest.mark.parametrize("name", BUILD.NOTEBOOKS if EVERY_CASE else list(BUILD.NOTEBOOKS)[:1])
def test_a_notebook_still_says_the_same(name, monkeypatch):
    kept = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PLOTLY_RENDERER", "plotly_mimetype")
    again = BUILD.run(name)
    for now, before in zip(BUILD.reported(again), BUILD.reported(kept), strict=True):
        assert says_the_same(now, before), (now, before)
    figures = [
        output
        for cell in kept.cells
        for output in cell.get("outputs", [])
        if BUILD.PLOTLY in output.get("data", {})
    ]
    assert len(figures) >= 2
    assert all(len(output["data"]["text/plain"]) > 40 for output in figures)


NUMBER = re.compile(r"-?\d+(?:\.(\d+))?(?:e[+-]?\d+)?")


def says_the_same(now, before):
    """Whether two texts have the same words, and numbers that differ by at most 2 % or one unit of
    their last digit.
    """
    texts = [re.sub(r"fingerprint=\w+", "", " ".join(text.split())) for text in (now, before)]
    if NUMBER.sub("#", texts[0]) != NUMBER.sub("#", texts[1]):
        return False
    pairs = zip(NUMBER.finditer(texts[0]), NUMBER.finditer(texts[1]), strict=True)
    return all(
        float(a[0]) == pytest.approx(float(b[0]), rel=0.02, abs=1.01 * last_digit(a))
        for a, b in pairs
    )


def last_digit(number):
    """The worth of one unit of the last digit."""
    mantissa, _, exponent = number[0].partition("e")
    return 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))


@every("name", BUILD.NOTEBOOKS)
def test_the_readme_leads_to_every_notebook(name):
    assert f"(sample_data/{name}.ipynb)" in (ROOT / "README.md").read_text(encoding="utf-8")


# Objects in a notebook

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 3))
NAMES = (EVIL, "b & c", 'd"e')


class Balance(html.parser.HTMLParser):
    """Tags that are open, and all that were met."""

    VOID = ("br", "hr", "img", "input", "link", "meta")

    def __init__(self):
        super().__init__()
        self.open = []
        self.met = []

    def handle_starttag(self, tag, attrs):
        self.met.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.met.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def shown(thing):
    drawn = thing._repr_html_
    text = drawn() if callable(drawn) else drawn
    reader = Balance()
    reader.feed(text)
    assert reader.open == []
    assert "script" not in reader.met
    assert EVIL not in text
    return text


def data():
    y = np.where(X[:, 0] > 0, "<yes>", "no")
    return mkl.Dataset(X, y, NAMES, "<target>", "binary", notes=(EVIL,))


def dictionary():
    return mkl.KernelDictionary(
        mkl.KernelDictionary.per_feature(mkl.Linear(), 3).specs, feature_names=NAMES
    )


def test_tables_kernels_and_stacks_show_what_they_are_and_names_as_text():
    assert "40 rows, 3 features, binary" in shown(data())
    assert "KernelDictionary(3 kernels)" in shown(dictionary())
    assert "multiplicative" in shown(dictionary().grams(X))
    assert all("&lt;script&gt;" in shown(thing) for thing in (data(), dictionary().grams(X)))


def test_a_model_before_its_fit_and_a_one_class_model_show_themselves():
    assert "LpMKLClassifier" in mkl.LpMKLClassifier()._repr_html_()
    text = shown(mkl.LpMKLOneClass(p=2, kernels=dictionary()).fit(X))
    assert "of the optimum" in text


@every("algorithm", ["lp", "gomp"])
def test_a_path_shows_scores_and_gap_at_every_point(algorithm):
    entry = ESTIMATORS[algorithm]
    param = entry.path_params[0]
    path = mkl.fit_path(entry.estimator("binary", kernels=dictionary()), X, data().y, param, [1, 2])
    text = shown(path)
    assert text.count("<tr") == 3
    assert f"<td>{100 * path.relative_gap[0]:.4g}</td>" in text
    assert "nan" not in text
