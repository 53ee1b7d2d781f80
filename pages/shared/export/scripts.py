"""Export the code behind a screen: a script and a notebook that compute the same numbers with the
library alone.

A screen is exported as cells, text and code by turns; the script has the text as comments. Names
that come from a file are written by ``repr`` only, and text from a file is freed of line ends and
control signs.
"""

from collections.abc import Sequence
from dataclasses import fields
from functools import partial
from inspect import signature
from typing import Any, NamedTuple

import streamlit as st

import mklcore
from mklcore.data.columns import clean_name
from mklcore.data.dataset import Dataset, Split, joined
from mklcore.data.splitting import RANDOM
from mklcore.errors import MKLError
from mklcore.io.catalog import NOVELTY
from mklcore.io.script import call, code, dictionary_code, imports_for, model_code, path_code
from mklcore.kernels.dictionary import MOST_COLUMNS
from pages.shared.private_streamlit import plain
from pages.shared.session import parameters, state
from pages.shared.session.parameters import UPLOAD, Params
from pages.shared.values import answers, dictionaries, hulls, tables
from pages.shared.widgets import controls, players

OMITTED = ("normalise", "center", "callback")  # of a model: the stack is made by lines of its own
OWN = "import mklcore as mkl\n"
# whose screens are exported; elsewhere it is Explore's path
PAGES = ("explore", "compare", "hulls", "predict")
HEAD = """\
import warnings

import numpy as np
import pandas as pd

import mklcore as mkl

# Points that stop short of their tolerance keep their gap, which is printed below.
warnings.filterwarnings("ignore", category=mkl.NotConvergedWarning)"""


class Cell(NamedTuple):
    """A piece of a notebook: words, or code."""

    text: str
    is_code: bool = True


# The cells


def cells(params: Params, page: str = "explore") -> list[Cell]:
    """Return the screen as cells. Raises ``MKLError`` where it has no answer yet to reproduce."""
    found = _cells(params, page)
    elsewhere = imports_for("\n".join(cell.text for cell in found if cell.is_code))
    return [Cell(cell.text.replace(OWN, OWN + elsewhere), cell.is_code) for cell in found]


def _cells(params: Params, page: str) -> list[Cell]:
    if page == "hulls":
        return [*_start(params, hulls.METHOD.label, hulls.parts(params)), *_hull_cells(params)]
    if page == "compare":
        return [*_start(params, "Methods side by side"), *_method_cells(params)]
    found = [*_start(params, "The answer"), *_answer_cells(params)]
    if page == "predict" and not tables.on_stack(params):
        found += _row_cells(params)
    return [*found, *_figure_cells("weight_path(found.path)")]


def _start(params: Params, label: str, used: Split | None = None) -> list[Cell]:
    return [
        Cell(
            (
                f"# {label} on {tables.called(params)}\n\nWritten by MKL Explorer, mklcore "
                f"{mklcore.__version__}. It computes the numbers of the screen with the "
                "library alone."
            ),
            is_code=False,
        ),
        Cell(HEAD),
        *_section("## The table", data_code(params, used)),
    ]


def _section(title: str, *lines: str) -> list[Cell]:
    """Return a title, with what is said under it, and the code below."""
    return [Cell(title, is_code=False), Cell("\n".join(lines))]


def data_code(params: Params, used: Split | None = None) -> str:
    """Return the code that makes the table, and stops where it is another one; ``used``: the rows
    of its three parts, where they are needed.
    """
    table = tables.table(params)
    lines = (
        _file_lines(params) if params.is_upload else [f"data = mkl.load_sample({params.data!r})"]
    )
    # groups enter the fingerprint, and kernels are built on them
    if params.grouping and not tables.on_stack(params):
        lines += [
            "from mklcore.data.column_groups import regrouped",
            f"data = regrouped(data, {params.grouping!r})",
        ]
    lines += [
        f'if data.fingerprint != "{table.fingerprint}":',
        (
            '    raise ValueError("This is not the table of the screen: another file, or '
            'another release of mklcore.")'
        ),
    ]
    if used is not None:
        lines.append(
            "train, validation, test = mkl.data.three_way_split(data, "
            f"{', '.join(_split_options(params))})"
        )
        lines += _drawn_lines(params, used)
    lines.append("print(data)")
    return "\n".join(lines)


def _file_lines(params: Params) -> list[str]:
    name = (
        clean_name(state.upload(params.data).name.replace("/", "_").replace("\\", "_"))
        or "table.csv"
    )
    lines = [
        "import hashlib",
        "from pathlib import Path",
        "",
        f"FILE = {name!r}  # lay your file beside this one, or write its path here",
        "raw = Path(FILE).read_bytes()",
        f'if hashlib.sha256(raw).hexdigest() != "{params.data.removeprefix(UPLOAD)}":',
        '    raise ValueError(f"{FILE} is not the file of the screen: its fingerprint differs.")',
    ]
    if tables.on_stack(params):
        task = f", task={params.task!r}" if params.task else ""
        return [
            *lines,
            "from mklcore.kernels.stacks import block_of, read_stack, rows_of, subset",
            (
                f"ready = read_stack(raw, clip={params.clip!r}, "
                f'fingerprint="{params.data.removeprefix(UPLOAD)}"{task})'
            ),
            "data = ready.table",
        ]
    options = {name: code(value) for name, value in reading_options(params).items()}
    return [*lines, call("data = mkl.read_table", "raw", **options)]


def reading_options(params: Params) -> dict[str, Any]:
    """Return the arguments of ``read_table`` for an uploaded file that are not the defaults."""
    named = {"target": params.target, "task": params.task}
    usual = tables.reading_options(Params())
    options = tables.reading_options(params)
    return {name: value for name, value in named.items() if value} | {
        name: value for name, value in options.items() if value != usual[name]
    }


def _drawn_lines(params: Params, used: Split) -> list[str]:
    """Return the line that draws rows where all would be too many."""
    full = tables.split(params)
    if len(used.train.y) == len(full.train.y) and len(used.validation.y) == len(full.validation.y):
        return []
    counts = (
        f"{part}.drawn({len(getattr(used, part).y)}, seed={params.seed!r})"
        for part in ("train", "validation")
    )
    return [f"train, validation = {', '.join(counts)}"]


def _split_options(params: Params) -> list[str]:
    options = [f"validation={params.validation!r}", f"test={params.test!r}"]
    if params.hold_out != RANDOM:
        return [*options, f"hold_out={params.hold_out!r}"]
    return [*options, f"seed={params.seed!r}", *["stratify=False"] * (not params.stratified)]


def _dictionary_code(params: Params) -> str:
    if params.recommended and not params.edited:
        arguments = ("" if params.together else ", whole=False") + (
            "" if params.curved else ", curved=False"
        )
        if dictionaries.most_columns(params) != MOST_COLUMNS:
            arguments += ", most_columns=data.n_features"
        if tables.table(params).sequences:
            arguments += ", k={}, degree={}, shift={}".format(*dictionaries.of_strings(params))
        if dictionaries.pairs(params):
            arguments = f"candidates={code(dictionaries.pairs(params))}" + arguments.replace(
                ", whole=False", ""
            )
            return f"kernels = mkl.KernelDictionary.interactions(data, {arguments})"
        return f"kernels = mkl.KernelDictionary.recommended(data{arguments})"
    return dictionary_code(dictionaries.dictionary(params), "data.feature_names")


def _method_cells(params: Params) -> list[Cell]:
    """Return the methods of Compare, one answer after the other, and how they compare."""
    methods = answers.methods(params)
    names = parameters.labels(methods, tables.table(params).task)
    lines = ["answers = {}"]
    for name, method in zip(names, methods, strict=True):
        lines += [
            *_answer_lines(answers.method_params(params, method)),
            f"answers[{name!r}] = found",
        ]
    lines += [
        "from mklcore.answer.comparison import compare_answers",
        "",
        "found = compare_answers(answers)",
        "print(found)",
        "print(pd.DataFrame(found.answers).to_string())",
    ]
    figure = _figure_cells("weight_path(answers[found.answers[0].name].path)")
    return [*_section("## The methods", *lines), *figure]


def _answer_cells(params: Params) -> list[Cell]:
    """Return the answer, and the point of its path under the cursor."""
    lines = _answer_lines(params)
    if tables.table(params).task != NOVELTY:
        lines.append(
            "found.could_be_chance  # asked for, so that the sentence and the columns say it"
        )
        if not tables.on_stack(params):
            lines.append("found = found.compare()  # with a forest and boosted trees")
    lines += ["print(found.verdict)", "print(pd.DataFrame(found.columns).to_string())"]
    known = answers.best_known(params)
    threshold = 0.0 if known is None else answers.threshold(params, known)
    if threshold:
        costs = f"{params.cost_false!r}, {params.cost_missed!r}"
        lines += [
            f"found = found.with_threshold({threshold!r})  # chosen under Errors",
            f"print(found.errors.says(found.threshold, {costs}))",
            f"print(found.errors.advice({costs}))",
        ]
    return [*_section("## Which columns matter", *lines), *_point_cells(params)]


def _answer_lines(params: Params) -> list[str]:
    """Return the lines that make an answer."""
    request = answers.request(params)
    lines = list[str]()
    given = {
        one.name: getattr(request, one.name)
        for one in fields(request)
        if getattr(request, one.name) != one.default
    }
    named = {name: code(value) for name, value in given.items() if name not in ("kernels", "stack")}
    named["seed"] = code(request.seed)
    if "stack" in given:
        chosen = dictionaries.chosen_kernels(params)
        some = len(chosen) < tables.stack_file(params).stack.n_kernels
        lines.append(
            f"stack = subset(ready.stack, {code(chosen)})" if some else "stack = ready.stack"
        )
        named["stack"] = "stack"
    elif "kernels" in given:
        lines.append(_dictionary_code(params))
        named["kernels"] = "kernels"
    if set(named) <= set(signature(mklcore.explore).parameters):
        lines.append(call("found = mkl.explore", "data", **named))
    else:
        lines.append(
            call(
                "found = mkl.answer.explore.answered",
                "data",
                call("mkl.answer.candidates.Request", **named),
            )
        )
    return lines


def _point_cells(params: Params) -> list[Cell]:
    """Return the cells of the point under the cursor."""
    known = answers.best_known(params)
    here = None if known is None else players.place(known.path, params.at)
    line = "point, index = found.path, found.index  # the point that folds chose"
    if here is not None and here.exact:
        line = f"point, index = found.at({code(here.value)}), 0"
    elif known is not None and here is not None and here.index != known.index:
        line = f"point, index = found.path, {here.index}  # {players.where(known.path, here.index)}"
    return _section("## The model at the cursor", line, *_caption(answers.runs_over(params).key))


def _caption(key: str) -> list[str]:
    return [
        "fitted = point.estimators[index]",
        f'print(f"{key} = {{point.values[index]:.6g}}, {{point.n_nonzero[index]}} kernels, '
        f'{{point.statuses[index].value}}")',
        (
            'print(f"train {point.score_name} {point.train_score[index]:.6f}, validation '
            '{point.val_score[index]:.6f}")'
        ),
        "if np.isfinite(point.relative_gap[index]):",
        '    print(f"within {100 * point.relative_gap[index]:.3g} % of the optimum")',
        (
            "weights = pd.Series(point.weights[index], "
            "index=list(point.kernel_names)).sort_values(ascending=False)"
        ),
        "print(weights[weights > 0].to_string())",
    ]


def _row_cells(params: Params) -> list[Cell]:
    table = tables.table(params)
    here = tables.row_of(params, table)
    rows = "table" if table.strings else "X"
    lines = [f"row = data.{rows}[{here.number - 1}].copy()"]
    lines += [f"row[{j}] = {code(value)}" for j, value in sorted(here.moves.items())]
    lines += [
        "print(found.predict(row[None])[0])",
        "values, base = found.model.shapley(row[None])  # what each column adds to base",
        "print(values[0], base)",
    ]
    return _section("## One row", *lines)


def _figure_cells(drawn: str) -> list[Cell]:
    return _section("## The picture", f"figure = mkl.figures.{drawn}", "figure")


def _hull_cells(params: Params) -> list[Cell]:
    model = hulls.estimator(params)
    chosen = hulls.columns(params)
    lines = [
        f"columns = {code(chosen)}",
        "names = [data.feature_names[j] for j in columns]",
        model_code(model, omit=OMITTED),
        call(
            "design = mkl.hkl.Design",
            "train.X[:, columns]",
            "model.basis",
            standardize="model.standardize",
            normalise="model.normalize_basis",
            names="names",
            memory_mb="model.memory_mb",
        ),
        path_code(
            "lam",
            hulls.POINTS,
            "design",
            "train.y",
            "validation.X[:, columns]",
            "validation.y",
        ),
    ]
    arguments = [
        *_hull_point(params),
        (
            'print(f"lam = {fitted.lam:.6g}, certified: {fitted.certified_}, gap '
            '{fitted.relative_gap_}")'
        ),
        'for name, part in (("train", train), ("validation", validation)):',
        '    print(f"{name} {path.score_name} {fitted.score(part.X[:, columns], part.y):.6f}")',
        'print(f"{len(fitted.hull_)} nodes of {fitted.n_dag_kernels_} kernels:")',
        'print("\\n".join(fitted.kernel_names_))',
    ]
    return [
        *_section(f"## Hulls along λ\n\nThe problem: ${hulls.METHOD.formula}$", *lines),
        Cell("\n".join(arguments)),
        *_figure_cells("hull_graph(fitted, names)"),
    ]


def _hull_point(params: Params) -> list[str]:
    """Return the lines of the hull under the cursor of the Hulls page."""
    path = hulls.known(params)
    if path is None:
        return ["index = path.first_look", "fitted = path.estimators[index]"]
    here = players.place(path, params.hull_at)
    if here.exact:
        return [
            f"index = {here.index}  # the nearest point of the path, from which this one starts",
            f"fitted = path.estimators[index].solve_near({code(here.value)}, train.y)",
        ]
    return [f"index = {here.index}  # lam = {here.value:.4g}", "fitted = path.estimators[index]"]


def use_cells(model: str, table: Dataset, rows: str, is_logarithm: bool = False) -> list[Cell]:
    """Return the cells that predict new rows, in the file ``rows``, with the model in the file
    ``model``; ``is_logarithm``: whether what it predicts is the logarithm of the target.
    """
    imports = "import mklcore as mkl"
    predicted = f"model.predict({clean_name(rows)!r})"
    if is_logarithm:
        imports = f"import numpy as np\n\n{imports}"
        predicted = f"np.exp({predicted})"
    said = (
        f"# Predict new rows\n\nLay this file, {model} and a table of your new rows side "
        "by side. The table is a CSV, Excel or Parquet file with the columns "
        f"{clean_name(joined(tables.file_columns(table), 20))}, in any order."
    )
    return [
        Cell(said, is_code=False),
        Cell(f"{imports}\n\nmodel = mkl.load_model({model!r})\nprint(model)"),
        Cell(f"print({predicted})"),
    ]


# Script and notebook


def script(parts: Sequence[Cell]) -> str:
    """Return cells as a Python script: words as comments, the picture as a file beside it."""
    blocks = [
        cell.text
        if cell.is_code
        else "\n".join(f"# {line.lstrip('# ')}".rstrip() for line in cell.text.splitlines())
        for cell in parts
    ]
    text = "\n\n".join(blocks)
    if not text.endswith("\nfigure"):
        return f"{text}\n"
    return (
        text.removesuffix("\nfigure")
        + '\nfigure.write_html("figure.html", include_plotlyjs=True)\n'
    )


def notebook(parts: Sequence[Cell]) -> str:
    """Return cells as a Jupyter notebook, not yet run."""
    import nbformat  # brings a validator along, for which a first page would wait

    v4 = nbformat.v4
    made = [
        (v4.new_code_cell if cell.is_code else v4.new_markdown_cell)(cell.text) for cell in parts
    ]
    for k, cell in enumerate(made):
        cell["id"] = f"cell-{k}"
    spec = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return nbformat.writes(v4.new_notebook(cells=made, metadata=spec))


# On the page


CODE_HEIGHT = 260


def draw(params: Params, page: str) -> None:
    """Draw script and notebook of a page."""
    try:
        parts = cells(params, page)
    except (MKLError, state.MissingFileError) as error:
        known = isinstance(error, MKLError)
        st.info(
            plain(error) if known else "There is no table yet to compute with: choose one on Data."
        )
        return
    text = script(parts)
    one, two = st.columns(2)
    take = partial(controls.download, icon=None, width="stretch")
    take("Script", lambda: text, "mkl_screen.py", "take_mkl-screen-py", one)
    take("Notebook", lambda: notebook(parts), "mkl_screen.ipynb", "take_mkl-screen-ipynb", two)
    st.code(text, language="python", height=CODE_HEIGHT)
    numbers = "the numbers of this screen" if page in PAGES else "the path of Explore on this table"
    st.caption(f"The script and the notebook compute {numbers} with the library alone.")
