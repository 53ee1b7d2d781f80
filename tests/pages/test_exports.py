"""What a screen hands out computes the screen's numbers: scripts and notebooks are run."""

import ast
import html.parser
import json
import re
import runpy
import warnings
from dataclasses import replace
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient
from numpy.testing import assert_allclose, assert_array_equal

import mklcore as mkl
from mklcore.answer.comparison import compare_answers
from mklcore.data.columns import clean_name
from mklcore.figures import style
from pages.shared.export import scripts
from pages.shared.session import parameters
from pages.shared.values import answers, hulls
from pages.shared.widgets import drawing
from tests.figures.test_one_file import data_of
from tests.helpers.every import every, share
from tests.helpers.pages import (
    answer_of,
    change,
    csv,
    in_session,
    memory,
    open_app,
    quiet,
    shown_players,
    upload,
    wait_for_hulls,
    words,
)
from tests.helpers.pages import go as go_to
from tests.helpers.project import ROOT
from tests.helpers.stacks import stack_file, with_stack

HOSTILE = ['a"b', "c'd", "e`f", "g\\n", "$(rm)", "{h}", "__import__('os')", "<b>i</b>", "é ∞"]
WANTED = """
import json
path = found.path if "found" in globals() else path
json.dumps({"weights": path.weights.tolist(), "scores": path.val_score.tolist(), "index": index})"""


def open_at(page, **query):
    return open_app(f"pages/{page}/page.py", **query)


def agree(names, found):
    """The script found what the screen shows."""
    assert_array_equal(names["found"].path.weights, found.path.weights)
    assert_array_equal(names["found"].path.val_score, found.path.val_score)
    assert str(names["found"].verdict) == str(found.verdict)
    assert names["found"].columns == found.columns


def run_script(text, folder, monkeypatch):
    place = folder / "screen.py"
    place.write_text(text, encoding="utf-8")
    monkeypatch.chdir(folder)
    with warnings.catch_warnings():
        return runpy.run_path(str(place))


@pytest.fixture(scope="module")
def kernel():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        patch.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "1")
        manager = KernelManager()
        manager.start_kernel()
    yield manager
    manager.shutdown_kernel(now=True)
    manager.cleanup_resources()


def run_notebook(book, kernel, folder):
    # of the notebook before
    book.cells.insert(0, nbformat.v4.new_code_cell('globals().pop("found", None)'))
    book.cells.append(nbformat.v4.new_code_cell(WANTED))
    client = NotebookClient(
        book,
        km=kernel,
        timeout=900,
        startup_timeout=900,
        resources={"metadata": {"path": str(folder)}},
    )
    try:
        client.execute()
    finally:
        client.kc.stop_channels()
    output = book.cells[-1].outputs[-1]
    return json.loads(output["data"]["text/plain"].strip("'"))


def handed_out(params, page):
    """Script and notebook of a screen about a sample, whose results every session shares."""
    parts = scripts.cells(params, page)
    return scripts.script(parts), nbformat.reads(scripts.notebook(parts), as_version=4)


FIXED = {
    "usual": {"seed": "3"},
    "loss over p": {"loss": "logistic", "path": "p"},
    "kernels, block norm": {
        "widths": "2",
        "each": "linear",
        "normalise": "trace",
        "norm": "block norm",
    },
    "gomp over lam": {"algorithm": "gomp", "path": "lam", "n_kernels": "3", "test": "0.4"},
    "low rank": {"way": "lowrank", "landmarks": "20"},
    "threshold": {"data": "mkl_toy_sparse", "threshold": "-0.2", "cost_missed": "5"},
    "newest": {"data": "diabetes", "hold_out": "last", "p": "2.0", "rows": "80"},
}


@pytest.mark.parametrize("fixed", share(FIXED, 2))
def test_the_script_makes_the_answer_of_the_screen_whatever_is_fixed(fixed, tmp_path, monkeypatch):
    params, _ = parameters.read_link({"data": "iris"} | FIXED[fixed])
    for stage in (answers.get, answers.further, answers.chance):
        stage(params)
    found = answers.best_known(params)
    place = len(found.path) - 1
    params = replace(params, at=float(found.path.values[place]))
    script, book = handed_out(params, "explore")
    assert fixed != "usual" or "mkl.explore(data, seed=3)" in script
    names = run_script(script, tmp_path, monkeypatch)
    agree(names, found)
    assert names["index"] == place
    assert names["found"].threshold == (params.threshold or 0.0)
    assert (tmp_path / "figure.html").stat().st_size > 10**6
    code = "\n".join(cell.source for cell in book.cells if cell.cell_type == "code")
    # which shows the figure, or writes it
    assert ast.dump(without_last(code)) == ast.dump(without_last(script))


def without_last(code):
    return ast.Module(ast.parse(code).body[:-1], [])


@pytest.mark.settling
@every("look", ["columns", "path"])
def test_one_file_says_and_draws_what_the_screen_says_and_draws(look):
    app = open_at("explore", data="iris", seed="3", look=look)
    found = answer_of(app)
    shown = data_of(found.page())
    (sentence,) = [
        "".join(text for _, text in line) for line in shown["say"]["texts"][found.index][0]
    ]
    assert sentence == str(found.verdict)
    app = quiet(app.run())
    assert sentence in re.sub(r"[*\\\\]| in Iris", "", words(app))  # the file names its table below
    sent = shown_players(app)
    for place in {"columns": ["columns"], "path": ["bars", "chart", "scores", "facts"]}[look]:
        (screen,) = [one for one in sent if alike(one, shown[place])]
        for name in ("names", "full", "weights", "numbers", "texts", "said", "index"):
            assert screen.get(name) == shown[place].get(name), (place, name)
        # slow plain models may have come since
        assert lines_of(screen).items() <= lines_of(shown[place]).items()


def alike(one, other):
    """Whether both are the same kind of picture: bars or texts of as many columns, or panels of the
    same axes.
    """
    axes = [[panel["y"] for panel in picture.get("panels", [])] for picture in (one, other)]
    counts = [
        [len(picture.get(name, ())) for name in ("names", "widths")] for picture in (one, other)
    ]
    return axes[0] == axes[1] and counts[0] == counts[1] and sum(counts[0]) + len(axes[0]) > 0


def lines_of(picture):
    return {
        line["name"]: tuple(line["ys"])
        for panel in picture.get("panels", [])
        for line in panel["lines"]
    }


@pytest.mark.settling  # which another process has
def test_a_notebook_makes_the_numbers_of_the_screen(kernel, tmp_path):
    app = open_at("explore", data="iris", algorithm="gomp", seed="3")
    path = answer_of(app).path
    params = replace(memory(app).params, at=float(path.values[2]))
    reported = run_notebook(handed_out(params, "explore")[1], kernel, tmp_path)
    assert_array_equal(reported["weights"], path.weights)
    assert_array_equal(reported["scores"], path.val_score)
    assert reported["index"] == 2


def test_the_hulls_page_hands_out_its_hulls(kernel, tmp_path, monkeypatch):
    app = open_at("hulls", data="diabetes", hull_columns="3,4,9", hull_degree="2")
    with in_session(wait_for_hulls(app)):
        path = hulls.known(memory(app).params)
    script, book = handed_out(memory(app).params, "hulls")
    names = run_script(script, tmp_path, monkeypatch)
    assert_array_equal(names["path"].weights, path.weights)
    assert [m.hull_ for m in names["path"].estimators] == [m.hull_ for m in path.estimators]
    assert_array_equal(run_notebook(book, kernel, tmp_path)["weights"], path.weights)


def test_the_methods_of_compare_come_out_of_the_script(tmp_path, monkeypatch):
    app = open_at(
        "compare", data="iris", widths="2", each="linear", methods="lp,p=2.0;gomp:lam,n_kernels=3"
    )
    params = memory(app).params
    methods = [answers.method_params(params, method) for method in answers.methods(params)]
    found = [answers.get(method).value for method in methods]
    names = run_script(handed_out(params, "compare")[0], tmp_path, monkeypatch)
    for one, again in zip(found, names["answers"].values(), strict=True):
        assert_array_equal(again.path.weights, one.path.weights)
    expected = compare_answers(dict(zip(names["answers"], found, strict=True)))
    assert str(names["found"]) == str(expected)


def test_a_point_between_the_solved_ones_and_a_row_with_changes_come_out_of_the_script(
    tmp_path, monkeypatch
):
    app = open_at("explore", data="iris", seed="3")
    found = answer_of(app)
    between = float(np.sqrt(found.path.values[2] * found.path.values[3]))
    params = replace(memory(app).params, at=between, row=77, moved="1=6.5,3=1.25")
    app = open_at("predict", **parameters.link_text(params))
    script, _ = handed_out(memory(app).params, "predict")
    names = run_script(script, tmp_path, monkeypatch)
    assert names["point"].values.tolist() == [between]
    assert names["row"].tolist() == [
        6.5,
        mkl.load_sample("iris").X[76, 1],
        1.25,
        mkl.load_sample("iris").X[76, 3],
    ]
    assert_allclose(names["values"][0].sum(axis=0) + names["base"],
                               found.model.decision_function(names["row"][None])[0])  # fmt: skip


# Uploads


def injected(names, target, classes):
    """A table of 60 rows whose columns, target and two classes have these names."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.standard_normal((60, len(names))).round(4), columns=list(names))
    frame[target] = np.array(classes)[(frame.iloc[:, 0] > 0).astype(int)]
    return frame


def hostile_table():
    frame = injected(HOSTILE, "target'\"`", ('nein"', "ja'"))
    levels = np.random.default_rng(0).choice(["x'y", 'u"v', "w`z"], 60)
    frame.insert(len(HOSTILE), "line\nbreak", levels)
    return csv(frame)


def with_upload(content, name, **query):
    return go_to(upload(open_app(**query), content, name), "pages/explore/page.py")


def code_of(app):
    """The script as the pocket in the heading shows it."""
    app.session_state["screen"] = True
    quiet(app.run())
    (found,) = [block.value for block in app.code if "import mklcore as mkl" in block.value]
    return found


@pytest.mark.parametrize("name", ['my "table".csv', "../../etc/passwd.csv"])
def test_the_script_of_an_upload_reads_that_file_and_no_other_whatever_its_names(
    name, tmp_path, monkeypatch
):
    content = hostile_table()
    app = with_upload(content, name, algorithm="gomp")
    script = code_of(app)
    (line,) = [line for line in script.splitlines() if line.startswith("FILE = ")]
    file = eval_name(line)
    assert Path(file).name == file
    (tmp_path / file).write_bytes(content)
    names = run_script(script, tmp_path, monkeypatch)
    agree(names, answer_of(app))
    assert names["data"].target_name == "target'\"`"
    (tmp_path / file).write_bytes(content.replace(b"0.1", b"0.2"))
    with pytest.raises(ValueError, match="its fingerprint differs"):
        run_script(script, tmp_path, monkeypatch)


INJECTIONS = (
    '"); raise SystemExit("x")#',
    "'+str(1/0)+'",
    "ends with \\",
    '"""',
    "'''",
    r"\N{BULLET}\x41\u0041",
    "{1/0}",
    "%(x)s%d",
    "a\u2028raise SystemExit",
    "b\x0craise SystemExit",
    "c\x85raise SystemExit",
    "d\r\nraise SystemExit",
    "# c",
    "exec",
    "½𝔲",
)


def skeleton(script):
    """What a script does, whatever its texts and numbers are."""
    tree = ast.parse(script)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str | float):
            node.value = ""
    return ast.dump(tree)


def scripts_about(names, target, classes, group, file):
    """The script of every page about such a table, its target and groups chosen by hand and a row
    changed.
    """
    app = open_app(widths="1", each="linear", degree="0")
    upload(app, csv(injected(names, target, classes)), file)
    chosen = {"target": target, "grouping": f"{group}:1-3;rest:4-5", "uses": "2c", "moved": "1=1.5"}
    with in_session(app):
        cells = {
            page: scripts.cells(replace(memory(app).params, **chosen), page)
            for page in scripts.PAGES
        }
    return {page: scripts.script(parts) for page, parts in cells.items()}


def test_names_change_the_texts_of_a_script_and_nothing_else():
    clean = [clean_name(name) for name in INJECTIONS]
    plain = scripts_about(
        [f"column {k}" for k in range(len(clean))], "t", ("no", "yes"), "g", "table.csv"
    )
    evil = scripts_about(
        INJECTIONS, clean[0] + "t", INJECTIONS[1:3], clean[4], f"{INJECTIONS[3]}{INJECTIONS[0]}.csv"
    )
    for page in scripts.PAGES:
        assert clean[0] in evil[page]
        assert skeleton(evil[page]) == skeleton(plain[page]), page


def eval_name(line):
    return ast.literal_eval(line.removeprefix("FILE = ").split("  #")[0])


def test_how_a_file_was_read_is_in_the_script(tmp_path, monkeypatch):
    content = hostile_table().replace(b",", b";")
    app = with_upload(content, "t.csv")
    change(
        app, widths=2, delimiter="semicolon", uses="2x,10c", missing="indicator", groups=True,
        grouping="a:1-2;b:3",
    )  # fmt: skip
    script = code_of(app)
    (tmp_path / "t.csv").write_bytes(content)
    agree(run_script(script, tmp_path, monkeypatch), answer_of(app))


def test_a_ready_stack_comes_out_of_the_script(tmp_path, monkeypatch):
    app = go_to(with_stack(), "pages/explore/page.py")
    (tmp_path / "stack.npz").write_bytes(stack_file())
    agree(run_script(code_of(app), tmp_path, monkeypatch), answer_of(app))
    go_to(app, "pages/predict/page.py")
    assert any("ready stack, without columns" in line.value for line in app.info)


class Outside(html.parser.HTMLParser):
    """Addresses that a page would ask for."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found += [
            value or ""
            for name, value in attrs
            if name in ("src", "href", "srcset", "action", "data")
        ]


# Figures


def test_a_figure_is_taken_away_in_light_colours_and_alone():
    figure = mkl.figures.waterfall([0.5, -0.2], ["a", "b"], 1.0, dark=False)
    copy = drawing.light(figure)
    assert copy.layout.paper_bgcolor == style.theme(dark=False).paper
    assert figure.layout.paper_bgcolor is None
    assert figure.layout.template.layout.paper_bgcolor == style.TRANSPARENT
    page = drawing.page_of(copy)
    reader = Outside()
    reader.feed(page)
    assert reader.found == []
    assert len(page) > 10**6
    assert isinstance(copy, go.Figure)


def test_file_names_are_plain():
    for name in ("Solution path", "a/b\\c", "é ∞", "", "x" * 300, "../.."):
        assert re.fullmatch(r"[a-z0-9][a-z0-9-]{0,59}", drawing.file_name(name))
