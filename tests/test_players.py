"""The players are whole: every file belongs to one, every text is one module, and all of it is in the package."""

import re
import tomllib
from fnmatch import fnmatch
from pathlib import Path
from xml.etree import ElementTree

import pytest

import mklcore
from mklcore.errors import ParameterError
from mklcore.figures import players
from mklcore.figures.thumbnails import EDGE, HEIGHT, WIDTH, thumbnail

PACKAGE = Path(mklcore.__file__).parent
FOLDER = Path(players.__file__).parent


@pytest.mark.parametrize("name", players.PLAYERS)
def test_a_player_is_one_module_with_its_own_texts_last(name):
    found = players.player(name)
    assert len(re.findall(r"^export default function", found.js, re.M)) == 1
    assert found.js.endswith((FOLDER / f"{name}.js").read_text(encoding="utf-8"))
    assert found.css.endswith((FOLDER / f"{name}.css").read_text(encoding="utf-8"))
    named = set(re.findall(r"^(?:function|class|const|let) (\w+)", found.js, re.M))
    assert len(named) == len(re.findall(r"^(?:function|class|const|let) \w+", found.js, re.M))


def test_every_file_belongs_to_a_player():
    parts = {f"{part}.js" for scripts, _ in players.PLAYERS.values() for part in scripts}
    parts |= {f"{part}.css" for _, styles in players.PLAYERS.values() for part in styles}
    parts |= {f"{name}.{ending}" for name in players.PLAYERS for ending in ("html", "css", "js")}
    assert {file.name for file in FOLDER.iterdir() if file.suffix in (".html", ".css", ".js")} == parts


def test_an_unknown_player_is_refused():
    with pytest.raises(ParameterError, match=r"There is no player .film.\. Players: path, bars"):
        players.player("film")


def test_what_is_no_python_is_in_the_package_too():
    listed = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]
    for file in PACKAGE.rglob("*"):
        if file.is_dir() or file.suffix == ".py" or "__pycache__" in file.parts:
            continue
        homes = [home for home in file.parents if home.is_relative_to(PACKAGE)]
        named = {home: listed.get(".".join(home.relative_to(PACKAGE.parent).parts), ()) for home in homes}
        assert any(
            fnmatch(file.relative_to(home).as_posix(), pattern)
            for home, patterns in named.items()
            for pattern in patterns
        ), f"{file} is in no package"


def test_a_small_picture_has_every_bar_line_and_dot_of_its_panel_inside_its_frame():
    panel = {
        "bars": [{"x0": 0.0, "x1": 0.5, "heights": [0.2, 1.0], "colour": "#111", "opacity": 1.0}],
        "lines": [{"points": [(0.0, 0.0), None, (1.0, 1.0)], "colour": "#222", "width": 2, "opacity": 1.0}],
        "dots": [{"colour": "#333", "at": [None, (1.0, 0.0)]}],
        "cells": [[], [{"x": 0.5, "y": 0.5, "kind": "inside"}, {"x": 0.9, "y": 0.9, "kind": "out"}]],
        "cell": 0.2,
        "tone": {"hue": "#444", "grey": "#555"},
    }
    first, second = (ElementTree.fromstring(thumbnail(panel, k)) for k in range(2))
    tags = [[one.tag.rpartition("}")[2] for one in root] for root in (first, second)]
    assert tags == [["rect", "polyline"], ["rect", "polyline", "circle", "rect", "circle"]]
    assert float(second[0].get("y")) == EDGE
    assert [float(part) for part in second[1].get("points").replace(",", " ").split()] == [
        EDGE, HEIGHT - EDGE, WIDTH - EDGE, EDGE,
    ]  # fmt: skip
