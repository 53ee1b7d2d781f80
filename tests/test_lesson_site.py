"""The course site: its pages are whole, lead to each other and to nothing else, and say what the library computes."""

import json
import re
from html import unescape

import numpy as np
import pytest

from mklcore.data.samples import load_sample
from mklcore.errors import ParameterError
from mklcore.exploration import explore
from mklcore.lessons import LESSONS
from mklcore.lessons.__main__ import main
from mklcore.lessons.site import names, write_site
from mklcore.lessons.words import words


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Two lessons and a path, by the command."""
    folder = tmp_path_factory.mktemp("site") / "course"
    assert main(["--html", str(folder), "edge", "greedy", "iris"]) == 0
    return folder


def links(text: str) -> list[str]:
    return [unescape(found) for found in re.findall(r'<a href="([^"]*)"', text)]


def test_every_page_leads_to_its_neighbours_and_all_of_them_lie_beside_it(site):
    pages = {file.name: file.read_text(encoding="utf-8") for file in site.iterdir()}
    order = ["lesson_edge.html", "lesson_greedy.html", "path_iris.html"]
    assert set(pages) == {"index.html", *order}
    assert links(pages["index.html"]) == order
    assert [links(pages[name]) for name in order] == [
        ["index.html", order[1]],
        ["index.html", order[0], order[2]],
        ["index.html", order[1]],
    ]
    for text in pages.values():
        assert not re.search(r'(?:src|href)="(?!data:,|index\.html|lesson_|path_)', text)
        assert "default-src 'none'" in text
        assert ("<math " in text) == (text is not pages["index.html"])
        assert len(text.encode()) < 300_000


def test_the_pages_say_what_the_library_computes(site):
    lesson, reported = LESSONS["greedy"], words(LESSONS["greedy"])
    text = (site / "lesson_greedy.html").read_text(encoding="utf-8")
    block = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert json.loads(block[1])["answer"] == lesson.compute().answer
    assert reported.title in text
    found, text = explore(load_sample("iris")), (site / "path_iris.html").read_text(encoding="utf-8")
    assert load_sample("iris").fingerprint in text
    block = re.search(r'id="data">(.*?)</script>', text, re.DOTALL)
    shown = {mount["place"]: mount["data"] for mount in json.loads(block[1])["mounts"]}
    assert shown["play"]["index"] == found.index
    lines = {line["name"]: line["ys"] for line in shown["chart"]["panels"][0]["lines"]}
    drawn = np.array([lines[name] for name in found.path.kernel_names])
    np.testing.assert_allclose(drawn, found.path.weights.T, atol=2e-3)
    index = (site / "index.html").read_text(encoding="utf-8")
    assert reported.line in index
    assert reported.moral not in index


def test_what_is_no_page_is_refused_and_the_command_says_what_there_is(tmp_path, capsys):
    assert set(names()) > set(LESSONS)
    with pytest.raises(ParameterError, match=r"made of sparse, .*iris.*; got nonsense"):
        write_site(tmp_path, ["nonsense"])
    assert main(["--html", str(tmp_path), "nonsense"]) == 1
    assert "got nonsense" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    assert main([]) == 0
    assert words(LESSONS["edge"]).line in capsys.readouterr().out
