"""Exports: the certificate with its model, and one file whose figures move."""

import copy
import io
import shlex
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path as File
from typing import Any, NamedTuple
from urllib.parse import urlencode

import numpy as np
import streamlit as st

from mklcore.answer.exploration import Exploration
from mklcore.answer.thresholds import USUAL
from mklcore.data.dataset import Dataset, row_fingerprints
from mklcore.data.reading import read_table
from mklcore.errors import MKLError
from mklcore.figures import style
from mklcore.figures.hulls import Drawn
from mklcore.figures.one_file import About, SolvedProblem, hulls_page, methods_page
from mklcore.io.catalog import Algorithm, Variant
from mklcore.kernels.grams import GramStack
from mklcore.paths.path import Path
from pages.shared.export import scripts
from pages.shared.session import parameters, state
from pages.shared.session.parameters import ANSWER, METHODS, Params
from pages.shared.values import answers, hulls, tables
from pages.shared.widgets import controls, drawing, grids
from pages.shared.work import work

# Proof and model
#
# The rows are a CSV where a table read from it is the same to the last digit, else (a column that
# is constant on the training rows, labels that look like formulas) an .npz of the arrays X and y.


MODEL = "model.mkl"
ANSWER_FILE = "answer.mkl"
MOST_ENTRIES = 60e6  # of all kernels together; above, the person's own machine is the place


@dataclass(frozen=True, eq=False)
class ProofRecord:
    """A fitted model and what it was trained on: ``columns`` of the rows ``train``, or a ready
    ``stack`` (M, n, n).
    """

    key: tuple[object, ...]
    params: Params
    fitted: Any
    train: Dataset
    columns: list[int]
    kernels: int
    stack: np.ndarray | None = None

    @property
    def rows(self) -> np.ndarray:
        return np.ascontiguousarray(self.train.X[:, self.columns])

    @property
    def is_small(self) -> bool:
        """Tell whether the server may compute all kernels once more."""
        how = getattr(self.fitted, "approximation", None)
        if how is not None:
            return self.kernels * self.train.n_samples * how.n_components <= MOST_ENTRIES
        return self.kernels * self.train.n_samples**2 <= MOST_ENTRIES


class Files(NamedTuple):
    """The two files and their names; ``target`` is empty where the command needs none.

    They know no session.
    """

    model: Callable[[], bytes]
    table: Callable[[], bytes]
    table_name: str
    target: str

    @property
    def command(self) -> str:
        return (
            f"python -m mklcore.verify {MODEL} {self.table_name} "
            f"{shlex.quote(self.target) if self.target else ''}"
        ).strip()

    def printed(self) -> str:
        """Return what the command prints."""
        with tempfile.TemporaryDirectory() as folder:
            model = File(folder) / MODEL
            table = File(folder) / self.table_name
            model.write_bytes(self.model())
            table.write_bytes(self.table())
            # with scikit-learn, which a page can be drawn without
            from mklcore.verify import report

            return "\n".join(report(model, table, self.target or None)[0])


def of_answer(params: Params, found: Exploration, model: Any) -> ProofRecord:
    """Return what proves a model of an answer: the chosen one, or another one of its path."""
    rows = found.learnt_from if model is found.model else found.path_rows
    given = found.request.given(rows)
    stack = given.values if isinstance(given, GramStack) else None
    key = "answer", params.of(*ANSWER), getattr(model, found.path.param, None), model is found.model
    return ProofRecord(
        key, params, model, rows, list(range(rows.n_features)), len(found.path.kernel_names), stack
    )


def of_hull(params: Params, hull: hulls.HullView) -> ProofRecord:
    """Return what proves one hull: its rows are those of the columns that enter."""
    train = hulls.parts(params).train
    chosen = hulls.columns(params)
    levels = len(chosen) * (hull.fitted.design_.q + 1)
    return ProofRecord(
        ("hull", hulls.key(params), hull.value), params, hull.fitted, train, chosen, levels
    )


# The files


def files(proof: ProofRecord) -> Files:
    """Return the two files.

    The rows are a CSV where it reads back alike, else an .npz; written and read once.
    """
    model = lambda: model_file(proof)  # noqa: E731
    stack = proof.stack
    if stack is not None:
        return Files(model, lambda: _packed(K=stack), "training_stack.npz", "")
    key = ("rows as CSV", proof.params, proof.train.fingerprint, *proof.columns)
    content = work.now(key, lambda: _csv(proof))
    if content:
        return Files(model, lambda: content, "training_rows.csv", proof.train.target_name)
    y = np.asarray(proof.train.y)
    # an array of objects would be read by executing it
    y = y.astype(str) if y.dtype.kind == "O" else y
    return Files(model, lambda: _packed(X=proof.rows, y=y), "training_rows.npz", "")


def model_file(proof: ProofRecord) -> bytes:
    """Return the model as one file that ``load_model`` reads, with the fingerprints of its rows."""
    model = copy.copy(proof.fitted)
    # pages fit on kernels, which know no rows
    if proof.stack is None and model.row_fingerprints_ is None:
        model.row_fingerprints_ = row_fingerprints(proof.rows)
    return saved(model)


def saved(value: Any) -> bytes:
    """Return a model or an answer as one file."""
    from mklcore.io.models import save_model  # with scikit-learn, which a page can be drawn without

    file = io.BytesIO()
    save_model(file, value)
    return file.getvalue()


def _packed(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def _csv(proof: ProofRecord) -> bytes:
    """Return the rows as CSV; nothing where the table read from it would be another one."""
    import pandas as pd  # which a first page is drawn without

    train = proof.train
    rows = proof.rows
    frame = pd.DataFrame(rows, columns=[train.feature_names[j] for j in proof.columns])
    frame.insert(
        len(proof.columns),
        train.target_name,
        np.asarray(train.y),
        allow_duplicates=True,
    )
    try:
        content = grids.csv(frame).encode()
        back = read_table(content, train.target_name)
    except (MKLError, ValueError):
        return b""
    alike = np.array_equal(back.X, rows) and np.array_equal(np.asarray(back.y), np.asarray(train.y))
    return content if alike else b""


# On the page


@st.fragment
def pocket(proof: ProofRecord | None, name: str, label: str = "Check it yourself") -> None:
    """Draw the way from a certificate to its check; ``name`` differs between the pockets of a page.

    None draws nothing.

    It opens where it stands and covers nothing, so it wants a row of its own.
    """
    if proof is None:
        return
    opened = st.expander(
        label, icon=":material/fact_check:", key=f"proof_{name}", on_change="rerun"
    )
    if opened.open:
        with opened:
            _inside(proof, name)


def _inside(proof: ProofRecord, name: str) -> None:
    found = files(proof)
    st.markdown(drawing.text("proof"))
    one, two = st.columns(2)
    rows = "Its training rows" if proof.stack is None else "Its stack"
    download = partial(controls.download, width="stretch")
    download("The model", found.model, MODEL, f"proof_model_{name}", one)
    download(rows, found.table, found.table_name, f"proof_rows_{name}", two)
    st.code(found.command, language="bash", wrap_lines=True)
    if proof.params.is_upload and proof.stack is None:
        st.caption(drawing.text("proof_upload"))
    _answer(proof, found, name)


def _answer(proof: ProofRecord, found: Files, name: str) -> None:
    """Draw what the command prints, or the button that has it run here."""
    if not proof.is_small:
        st.caption(
            "This server is too small to compute all kernels again: run the command on "
            "your own machine."
        )
        return

    def ask(_: Any) -> Any:
        return work.get(
            ("checked", proof.params, proof.key), lambda progress: found.printed(), title="Check"
        )

    drawing.request(
        "Run it here",
        f"proof_run_{name}",
        ask,
        proof.params,
        lambda text: st.code(text, language=None, wrap_lines=True),
    )


def model_button(proof: ProofRecord, found: Exploration) -> str:
    """Draw the download of a model, with the whole answer where it is the model of the answer;
    return its name.
    """
    whole = proof.fitted is found.model and proof.stack is None
    name = ANSWER_FILE if whole else MODEL
    threshold = answers.threshold(proof.params, found)
    if whole and threshold != USUAL:
        found = found.with_threshold(threshold)
    controls.download(
        "Model",
        lambda: saved(found) if whole else model_file(proof),
        name,
        "take_model",
        help=(
            "Read it with mklcore.load_model; nothing in it is executed. It predicts raw rows "
            "of the table, and holds the training rows, with which kernel models compare."
        ),
    )
    return name


def use_buttons(name: str, table: Dataset) -> None:
    """Draw the script and the notebook that predict a person's own new rows with the model in the
    file ``name``.
    """
    batch = state.memory().batch
    rows = "new_rows.csv" if batch is None else batch.name
    # an answer turns logarithms back by itself
    is_logarithm = bool(table.log_of) and name != ANSWER_FILE
    parts = scripts.use_cells(name, table, rows, is_logarithm)
    one, two = st.columns(2)
    download = partial(controls.download, help="Predicts your own new rows with the model.")
    script = partial(scripts.script, parts)
    notebook = partial(scripts.notebook, parts)
    download("Script that predicts", script, "predict.py", "take_script", one)
    download("Notebook that predicts", notebook, "predict.ipynb", "take_notebook", two)
    st.code(parts[-1].text, language="python")


# One file that moves
#
# It is written once asked for.


def button(make: Callable[[], str], name: str, label: str = "Save as one file") -> None:
    """Draw the download; ``make`` knows no session."""
    controls.download(
        label,
        make,
        f"{drawing.file_name(name)}.html",
        f"explorable_{drawing.file_name(name)}",
        type="tertiary",
        help=(
            "A page that still drags, for mail or a class: it opens without a server, and the "
            "rows of the table are not in it."
        ),
    )


def answer_file(params: Params, found: Exploration, index: int) -> None:
    """Draw the download of Explore: the path from its cursor on, with its sentence and the columns'
    shares.
    """
    method = METHODS[params.algorithm]
    held_out = 0 if found.test is None else found.test.n_samples
    rows = f"{found.learnt_from.n_samples} to learn from, {held_out} held out, seed {params.seed}"
    solved = _problem(answers.solved(method, found))
    about = _about(params, "explore", ("Rows", rows), [method], [solved])
    button(lambda: found.page(about, index), "Path")


def methods_file(
    params: Params, drawn: Sequence[answers.ComparedMethod], said: str, step: int
) -> None:
    """Draw the download of Compare: every method that has a path, from its slider on, with the
    page's sentence.
    """
    solved = [one for one in drawn if one.path is not None]
    algorithms = list(dict.fromkeys(METHODS[one.method.algorithm] for one in solved))
    answer = ("Answer", said or "not there yet")
    about = _about(params, "compare", answer, algorithms, problems(solved))
    shown = {one.label: one.path for one in solved}
    button(partial(methods_page, shown, about, step=step), "Methods side by side")


def problems(drawn: Sequence[answers.ComparedMethod]) -> list[SolvedProblem]:
    """Return what the methods solve, each problem once, with the methods that solve it where there
    are several.
    """
    solved: dict[Algorithm | Variant, list[str]] = {}
    for one in drawn:
        solved.setdefault(answers.words_for(one.params), []).append(one.label)
    if len(solved) == 1:
        return [_problem(problem) for problem in solved]
    return [_problem(problem, style.joined(labels)) for problem, labels in solved.items()]


def hulls_file(params: Params, shown: Path, drawn: Drawn, index: int) -> None:
    """Draw the download of Hulls: the path from its cursor on."""
    parts = hulls.parts(params)
    rows = (
        f"{len(parts.train.y)} for training, {len(parts.validation.y)} for validation, seed "
        f"{params.seed}"
    )
    method = hulls.METHOD
    about = _about(params, "hulls", ("Rows", rows), [method], [_problem(method)])
    numbers = [j + 1 for j in hulls.columns(params)]
    button(partial(hulls_page, shown, about, index=index, numbers=numbers, drawn=drawn), "Hulls")


def _problem(solved: Algorithm | Variant, title: str = "") -> SolvedProblem:
    return SolvedProblem(title, solved.formula, solved.look_for, solved.cannot_tell)


def _about(
    params: Params,
    page: str,
    used: tuple[str, str],
    algorithms: Sequence[Algorithm],
    solved: Sequence[SolvedProblem],
) -> About:
    """Return what the file tells of the table, the rows in use, the algorithms and the way back to
    this screen.
    """
    table = tables.table(params)
    facts = [("Table", f"{tables.called(params)}, target {table.target_name}"), used]
    facts += [("Method", f"{method.label} ({method.paper})") for method in algorithms]
    settings = f"{page}?{urlencode(parameters.link_text(params))}".removesuffix("?")
    return About(
        state.PAGES[page].question, tuple(facts), tuple(solved), settings, table.fingerprint
    )
