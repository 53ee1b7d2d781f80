"""Files that keep moving: nothing of a table becomes markup, the policy fits the file, and what is
drawn is the path.
"""

import base64
import hashlib
import html
import json
import re
import xml.etree.ElementTree as ElementTree
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mklcore import ParameterError, Path, explore, load_sample
from mklcore.figures import player_data, style
from mklcore.figures.one_file import (
    About,
    Palette,
    SolvedProblem,
    as_json,
    explanation,
    hulls_page,
    markdown,
    methods_page,
    path_page,
)
from mklcore.figures.player_data.bars import N_BARS
from mklcore.gallery.lessons import LESSONS, lesson_page
from mklcore.io.catalog import ESTIMATORS
from mklcore.problem.driver import Status
from tests.helpers.every import every

HOSTILE = (
    "</script><img src=x onerror=alert(1)>",
    "<!--<script>",
    "a & b",
    "{{ x }} \u2028 '\"",
    "**bold** $x$",
)


def a_path(L=4, names=HOSTILE, seed=0, **more):
    """A path as if it had been solved: weights that move, one point that stopped short."""
    rng = np.random.default_rng(seed)
    M = len(names)
    none = np.zeros(L)
    weights = np.round(np.abs(np.cumsum(rng.standard_normal((L, M)), axis=0)), 3)
    statuses = (*(Status.CONVERGED,) * (L - 1), Status.MAX_ITER)
    reported = {
        "param": "C", "values": np.geomspace(0.01, 10, L), "weights": weights, "objective": none, "dual_gap": none,
        "relative_gap": np.full(L, 1e-4), "n_nonzero": (weights > 0).sum(axis=1), "train_score": np.linspace(0.5, 1, L),
        "val_score": np.linspace(0.5, 0.9, L), "seconds": none, "solves": np.ones(L, int), "statuses": statuses,
        "fits": (None,) * L, "estimators": (None,) * L, "kernel_names": names, "kernel_families": ("rbf",) * M,
        "score_name": "accuracy",
    }  # fmt: skip
    return Path(**(reported | more))


def columns_of(names, L=4):
    """Columns of an answer, and their effects along a path."""
    columns = [
        SimpleNamespace(name=name, effect=0.2, alone=0.1, chance=k > 0)
        for k, name in enumerate(names)
    ]
    return columns, np.full((L, len(names)), 0.2)


def data_of(page):
    """What the players of a page show, by their places."""
    (block,) = re.findall(
        r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL
    )
    return {mount["place"]: mount["data"] for mount in json.loads(block)["mounts"]}


def test_names_of_a_table_are_text_wherever_they_stand():
    path = a_path()
    columns = columns_of(HOSTILE)
    about = About(
        HOSTILE[0], ((HOSTILE[1], HOSTILE[0]),), settings='?"><script>', fingerprint=HOSTILE[0]
    )
    page = path_page(
        path, about, columns=columns, references=[(HOSTILE[0], 0.7)], says=[HOSTILE[0]]
    )
    assert page.count("<script") == page.count("</script>") == 2
    assert "<img" not in page
    assert "://" not in page.replace("http://www.w3.org", "")  # the address of no server
    assert "<!--" not in page.replace("<!DOCTYPE", "")
    assert len(page.encode()) < 2e5
    shown = data_of(page)
    assert shown["bars"]["full"] == [path.kernel_names[m] for m in player_data.order(path)]
    assert [full.partition(" moves ")[0] for full in shown["columns"]["full"]] == list(HOSTILE)


def test_the_policy_names_the_one_script_and_the_one_sheet_and_nothing_else():
    page = path_page(a_path())
    hashed = {
        kind: re.findall(rf"<{kind}>(.*?)</{kind}>", page, re.DOTALL)
        for kind in ("script", "style")
    }
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    reported = dict(part.split(" ", 1) for part in policy.split("; "))
    for kind, texts in hashed.items():
        (digest,) = (
            base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts
        )
        assert reported[f"{kind}-src"] == f"'sha256-{digest}'"
    assert reported["default-src"] == reported["base-uri"] == reported["form-action"] == "'none'"
    assert not re.findall(r'(?:src|href)="(?!data:,")[^"]*"', page)


def test_a_file_draws_the_numbers_of_its_path():
    path = a_path()
    shown = data_of(path_page(path, index=2))
    lines = {line["name"]: line["ys"] for line in shown["chart"]["panels"][0]["lines"]}
    for m, name in enumerate(path.kernel_names):
        assert_allclose(lines[name], path.weights[:, m], rtol=1e-3)
    assert shown["chart"]["panels"][0]["marks"] == ["sure", "sure", "sure", "open"]
    assert shown["chart"]["panels"][0]["sure"] == [True, True, True, False]
    assert shown["play"]["index"] == 2
    assert shown["play"]["x"] == sorted(shown["play"]["x"])
    assert "within 0.01 % of the optimum" in shown["chart"]["said"][0]
    assert "not solved to tolerance" in shown["chart"]["said"][3]
    assert "scores" not in data_of(
        path_page(a_path(train_score=np.full(4, np.nan), val_score=np.full(4, np.nan)))
    )


def test_the_file_of_an_answer_says_its_verdict_and_draws_the_shares_of_its_columns():
    found = explore(load_sample("iris"))
    shown = data_of(found.page())
    assert ["".join(text for _, text in line) for line in shown["say"]["texts"][0][0]] == [
        str(found.verdict)
    ]
    assert shown["columns"]["names"] == [one.name for one in found.columns]
    assert_allclose(
        shown["columns"]["weights"],
        found.effects_along / found.effects_along.sum(axis=1, keepdims=True),
        atol=1e-4,
    )
    assert [
        one.name in full for one, full in zip(found.columns, shown["columns"]["full"], strict=True)
    ] == [True] * 4
    assert shown["play"]["index"] == found.index


def test_the_bar_of_the_others_is_grey_where_all_of_them_could_be_chance():
    path = a_path()
    grey = style.theme(dark=False).grey
    drawn = []
    for chances in (0, 2, 3):
        columns = [
            SimpleNamespace(name=f"x{j}", effect=1.0, alone=1.0, chance=j < chances)
            for j in reversed(range(N_BARS + 3))
        ]
        along = np.ones((len(path), len(columns)))
        bars = player_data.column_bars(path, columns, along, index=0, dark=False)
        drawn.append((bars["names"][-1], bars["colours"][-1] == grey))
    assert drawn == [("3 others", False), ("3 others, 2 grey", False), ("3 others", True)]


def test_methods_share_kernels_and_a_slider():
    one = a_path()
    other = a_path(6, seed=1, values=np.geomspace(0.01, 10, 6))
    shown = data_of(methods_page({"one": one, HOSTILE[0]: other}))
    assert [method["title"] for method in shown["lead"]["methods"]] == ["one", HOSTILE[0]]
    assert len(shown["chart"]["points"]) == len(shown["lead"]["steps"])
    shares = other.weights / other.weights.sum(axis=1, keepdims=True)
    lines = {line["name"]: line["ys"] for line in shown["chart"]["panels"][1]["lines"]}
    assert_allclose(lines[HOSTILE[0]], shares[:, 0], rtol=1e-3)
    assert len(shown["chart"]["said"]) == len(shown["lead"]["steps"])
    said = f"C = 10, 90.0 %, 100.0 %, {one.n_nonzero[-1]} of 5, ○ open, gap 0.01 %"
    assert shown["chart"]["said"][-1].startswith(f"one: {said}")


def test_a_file_tells_every_problem_once_with_its_formula():
    solved = (
        SolvedProblem("one", r"\min_\theta \|w\|", "how it bends"),
        SolvedProblem(HOSTILE[0], "C", cannot_tell="why"),
    )
    page = methods_page({"one": a_path(), "two": a_path()}, About(problems=solved))
    assert page.count("<math ") == 2
    assert re.findall(r"<h2>(.*?)</h2>", page) == ["one", html.escape(HOSTILE[0])]
    assert "<p><b>What to look for.</b> how it bends</p>" in page
    assert "<math " not in methods_page({"one": a_path()})


def test_what_cannot_be_drawn_is_refused():
    one, none = a_path(), SimpleNamespace(values=np.zeros(0))
    for error, call, words in (
        (ParameterError, lambda: path_page(one, index=4), r"points 0 to 3; got the index 4"),
        (
            ParameterError,
            lambda: path_page(one, columns=columns_of(("a",), 2)),
            r"shape \(4, 1\)",
        ),
        (ParameterError, lambda: path_page(none), r"no points"),
        (ParameterError, lambda: hulls_page(a_path(param="lam")), r"no hulls"),
        (ParameterError, lambda: methods_page({}), r"at least one path"),
        (
            ParameterError,
            lambda: methods_page({"one": one}, step=99),
            r"steps 0 to \d+; got the step 99",
        ),
        (
            ParameterError,
            lambda: methods_page({"1": one, "2": a_path(names=("a", "b"))}),
            r"over the same kernels only",
        ),
        (ParameterError, lambda: Palette().themed(["left"], ["right"]), r"colours only"),
        (ValueError, lambda: as_json([float("nan")]), "Out of range"),
    ):
        with pytest.raises(error, match=words):
            call()


def test_themes_json_and_words_are_written_so_that_nothing_of_a_table_is_markup():
    palette = Palette()
    assert palette.themed({"a": ["#000000", 1]}, {"a": ["#ffffff", 1]}) == {"a": ["var(--c0)", 1]}
    assert "--c0: #ffffff" in palette.css()
    assert not set("<>&\u2028") & set(as_json(HOSTILE))
    assert tuple(json.loads(as_json(HOSTILE))) == HOSTILE
    found = markdown("a **b $p=1$** <i>\n\nc")
    assert found.startswith("<p>a <b>b <math")
    assert found.endswith("&lt;i&gt;</p><p>c</p>")


def test_a_lesson_keeps_its_picture_and_its_moral_until_a_guess():
    for key, lesson in LESSONS.items():
        page = lesson_page(lesson)
        assert bool(re.search(r'<span id="moral" hidden>', page)) == ("moral" in lesson.words), key
        assert re.search(r'<div id="solution" hidden>.*data-leads', page), key
        assert re.findall(r'data-option="(\w+)"', page) == list(lesson.words["options"]), key
        assert "⟨" not in page, key
        text = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
        assert "$" not in text, key
        for formula in re.findall(r"<math.*?</math>", text, re.DOTALL):
            assert "\\" not in "".join(ElementTree.fromstring(formula).itertext()), key


@every("method", ESTIMATORS.values())
def test_the_formula_of_every_method_is_drawn_without_a_server(method):
    text = explanation(About("Why?", problems=(SolvedProblem("", method.formula),)))
    (formula,) = re.findall(r"<math.*?</math>", text)
    assert "\\" not in "".join(ElementTree.fromstring(formula).itertext())
