"""The players are whole: every file belongs to one, every text is one module, and all of it is in
the package.
"""

import re
import tomllib
from pathlib import Path

import mklcore
from mklcore.figures import players

PACKAGE = Path(mklcore.__file__).parent
FOLDER = Path(players.__file__).parent


def test_a_player_is_one_module_with_its_own_texts_last():
    for name in players.PLAYERS:
        found = players.player(name)
        assert len(re.findall(r"^export default function", found.js, re.M)) == 1, name
        assert found.js.endswith((FOLDER / f"{name}.js").read_text(encoding="utf-8")), name
        assert found.css.endswith((FOLDER / f"{name}.css").read_text(encoding="utf-8")), name
        named = re.findall(r"^(?:function|class|const|let) (\w+)", found.js, re.M)
        assert len(set(named)) == len(named), name


def test_every_file_belongs_to_a_player_or_to_the_page_around_them():
    parts = {f"{part}.js" for scripts, _ in players.PLAYERS.values() for part in scripts}
    parts |= {f"{part}.css" for _, styles in players.PLAYERS.values() for part in styles}
    parts |= {f"{name}.{ending}" for name in players.PLAYERS for ending in ("html", "css", "js")}
    parts |= {"shell.js", "shell.css", "bridge.js"}
    assert {
        file.name for file in FOLDER.iterdir() if file.suffix in (".html", ".css", ".js")
    } == parts


def test_what_is_no_python_is_in_the_package_too():
    listed = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text())["tool"]["setuptools"][
        "package-data"
    ]
    shipped = {
        file
        for home, patterns in listed.items()
        for pattern in patterns
        for file in (PACKAGE.parent / home.replace(".", "/")).glob(pattern)
    }
    for file in PACKAGE.rglob("*"):
        if not (file.is_dir() or file.suffix == ".py" or "__pycache__" in file.parts):
            assert file in shipped, f"{file} is in no package"
