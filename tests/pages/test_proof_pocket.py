"""Check it yourself: the two files of a certificate pass the verifier as a command, and the page
prints what it prints.
"""

import re
import shlex

import numpy as np
import pytest

import mklcore as mkl
from mklcore.verify import main
from pages.shared.export import files
from pages.shared.values import hulls
from tests.helpers.every import every
from tests.helpers.pages import (
    answer_of,
    go,
    in_session,
    memory,
    open_app,
    press,
    quiet,
    table,
    upload,
    wait_for_hulls,
    words,
)
from tests.helpers.project import run_python
from tests.helpers.stacks import with_stack


def opened(app, name):
    app.session_state[f"proof_{name}"] = True
    return quiet(app.run())


def proved(app):
    """The chosen model, as its pocket offers it."""
    found = answer_of(app)
    with in_session(app):
        return files.files(files.of_answer(memory(app).params, found, found.model))


def laid(found, folder):
    """Lay both files into a folder as their downloads do; the words of the command."""
    (folder / files.MODEL).write_bytes(found.model())
    (folder / found.table_name).write_bytes(found.table())
    return shlex.split(found.command)


def checked(found, folder, capsys):
    """What the command prints about both files, which has to be that they hold."""
    names = laid(found, folder)[3:]
    arguments = [str(folder / name) if "." in name else name for name in names]
    code = main(arguments)
    printed = capsys.readouterr().out
    assert code == 0, printed
    assert "Everything holds." in printed
    return printed


def test_the_two_downloads_of_explore_pass_the_command_and_the_page_prints_its_lines(tmp_path):
    app = opened(open_app("pages/explore/page.py", data="iris"), "explore")
    command = next(
        code.value for code in app.code if code.value.startswith("python -m mklcore.verify")
    )
    found = proved(app)
    assert (
        command == found.command == "python -m mklcore.verify model.mkl training_rows.csv species"
    )
    printed = run_python(*laid(found, tmp_path)[1:], folder=tmp_path)
    assert "training target: that of the table" in printed
    press(app, "proof_run_explore")
    quiet(app.run())
    printed = next(code.value for code in app.code if code.value.startswith("holds"))
    assert printed.endswith("Everything holds.")
    assert {"proof_model_explore", "proof_rows_explore"} <= {
        re.split(r"-(?=proof_)", one.proto.id)[-1] for one in app.get("download_button")
    }


@pytest.mark.parametrize(
    ("algorithm", "sample"), [("joint", "iris"), ("smkl", "breast_cancer"), ("gomp", "diabetes")]
)
def test_methods_of_explore_can_be_checked(algorithm, sample, tmp_path, capsys):
    app = open_app("pages/explore/page.py", data=sample, algorithm=algorithm, rows="60")
    checked(proved(app), tmp_path, capsys)


def test_an_upload_is_checked_against_its_own_file_too(tmp_path, capsys):
    content = table(80)
    app = go(upload(open_app(), content), "pages/explore/page.py")
    assert "Your own file does as well" in words(opened(app, "explore"))
    checked(proved(app), tmp_path, capsys)
    own = tmp_path / "own.csv"
    own.write_bytes(content)
    assert main([str(tmp_path / files.MODEL), str(own), "label"]) == 0, capsys.readouterr().out


def test_rows_that_no_csv_brings_back_are_taken_as_arrays(tmp_path, capsys, rng):
    values = rng.normal(size=(60, 2)).round(3)
    rows = [
        f"{a},{b},{int(i == 7)},{'=up' if a + b > 0 else '=down'}"
        for i, (a, b) in enumerate(values)
    ]
    app = upload(open_app(), ("a,b,rare,label\n" + "\n".join(rows)).encode())
    found = proved(go(app, "pages/explore/page.py"))
    assert found.command == "python -m mklcore.verify model.mkl training_rows.npz"
    assert "training target: that of the table" in checked(found, tmp_path, capsys)


def test_a_stack_is_checked_on_its_training_block(tmp_path, capsys):
    app = go(with_stack(), "pages/explore/page.py")
    found = proved(app)
    assert found.table_name == "training_stack.npz"
    checked(found, tmp_path, capsys)


def test_a_hull_can_be_checked_and_the_page_prints_that_it_holds(tmp_path, capsys):
    app = open_app("pages/hulls/page.py", data="diabetes", hull_columns="3,4,9", hull_degree="2")
    app = opened(wait_for_hulls(app), "hulls")
    press(app, "proof_run_hulls")
    quiet(app.run())
    assert any(code.value.endswith("Everything holds.") for code in app.code)
    params = memory(app).params
    with in_session(app):
        path = hulls.known(params)
        hull = hulls.HullView(float(path.values[-1]), path.estimators[-1], 0.0, 0.0)
        found = files.files(files.of_hull(params, hull))
    checked(found, tmp_path, capsys)
    header = (tmp_path / found.table_name).read_text().splitlines()[0]
    assert header == "bmi,bp,s5,progression"


@every("page, name", [("predict", "predict"), ("compare", "method_1")])
def test_the_other_certificates_lead_to_their_check(page, name):
    app = open_app(f"pages/{page}/page.py", data="iris", methods="gomp;uniform")
    app.session_state["predict_tabs"] = "Take away"
    app = opened(quiet(app.run()), name)
    press(app, f"proof_run_{name}")
    assert any(code.value.endswith("Everything holds.") for code in app.code)


@pytest.fixture
def copies(tmp_path):
    """A model of rows of which each stands there twice, with targets of their own; and how it is
    checked.
    """
    rng = np.random.default_rng(1)
    X, y = (
        np.repeat(rng.normal(size=(20, 2)), 2, axis=0),
        np.where(rng.random(40) > 0.5, "up", "down"),
    )
    mkl.save_model(
        tmp_path / "model.mkl",
        mkl.LpMKLClassifier(kernels=mkl.KernelDictionary.rbf_grid([1.0])).fit(X, y),
    )

    def check(**arrays):
        np.savez(tmp_path / "rows.npz", **{"X": X, "y": y, **arrays})
        return main([str(tmp_path / "model.mkl"), str(tmp_path / "rows.npz")])

    check.y = y
    return check


def test_rows_that_are_alike_may_have_several_targets(copies, capsys):
    assert copies() == 0, capsys.readouterr().out
    assert copies(y=np.where(copies.y == "up", "down", "up")) == 1
    assert "training target: NOT that of the table" in capsys.readouterr().out


def test_objects_are_not_read(copies, capsys):
    assert copies(X=np.eye(6).astype(object)) == 2
    assert "Expected arrays of numbers or texts" in capsys.readouterr().out
