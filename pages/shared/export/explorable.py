"""Export what moves: a path, methods or hulls as one file that drags without a server.

It is written once asked for.
"""

from collections.abc import Callable, Sequence
from functools import partial
from urllib.parse import urlencode

import streamlit as st

from mklcore.answer.exploration import Exploration
from mklcore.data.dataset import Split
from mklcore.figures import style
from mklcore.figures.hulls import Drawn
from mklcore.figures.takeaway import About, SolvedProblem, hulls_page, methods_page
from mklcore.io.catalog import Algorithm, Variant
from mklcore.paths.path import Path
from pages.shared.derive import hulls as derive_hulls
from pages.shared.derive import paths, tables
from pages.shared.derive.comparison import ComparedMethod
from pages.shared.export.downloads import file_name
from pages.shared.params import link
from pages.shared.params.algorithms import METHODS
from pages.shared.params.parameters import Params
from pages.shared.session import nav

LABEL = "Save as one file"
HELP = (
    "A page that still drags, for mail or a class: it opens without a server, and the rows of the table are not in it."
)


def button(make: Callable[[], str], name: str, label: str = LABEL) -> None:
    """Draw the download; ``make`` knows no session."""
    st.download_button(
        label, make, f"{file_name(name)}.html", "text/html", key=f"explorable_{file_name(name)}", on_click="ignore",
        icon=":material/download:", type="tertiary", help=HELP,
    )  # fmt: skip


def answer(params: Params, found: Exploration, index: int) -> None:
    """Draw the download of Explore: the path from its cursor on, with its sentence and the columns' shares."""
    method, held = METHODS[params.algorithm], found.test
    used = {name: getattr(found.model, name, None) for name in ("loss", "p")}
    rows = f"{found.learnt_from.n_samples} to learn from, {0 if held is None else held.n_samples} held out"
    solved = _problem(method.words_for(used, found.learnt_from.task))
    about = _about(params, "explore", (("Rows", f"{rows}, seed {params.seed}"),), [method], [solved])
    button(lambda: found.page(about, index), "Path")


def methods(params: Params, drawn: Sequence[ComparedMethod], said: str, step: int) -> None:
    """Draw the download of Compare: every method that has a path, from its slider on, with the page's sentence."""
    solved = [one for one in drawn if one.path is not None]
    algorithms = dict.fromkeys(METHODS[one.method.algorithm] for one in solved)
    about = _about(params, "compare", [("Answer", said)] if said else [], list(algorithms), problems(solved))
    shown = {one.label: one.path for one in solved}
    button(partial(methods_page, shown, about, step=step), "Methods side by side")


def problems(drawn: Sequence[ComparedMethod]) -> list[SolvedProblem]:
    """Return what the methods solve, each problem once, with the methods that solve it where there are several."""
    solved: dict[Algorithm | Variant, list[str]] = {}
    for one in drawn:
        solved.setdefault(paths.words_for(one.params), []).append(one.label)
    if len(solved) == 1:
        return [_problem(problem) for problem in solved]
    return [_problem(problem, style.joined(labels)) for problem, labels in solved.items()]


def hulls(params: Params, shown: Path, drawn: Drawn, columns: Sequence[int], method: Algorithm, *, index: int) -> None:
    """Draw the download of Hulls: the path over λ from its cursor on; ``columns`` are those of the table that enter."""
    about = _about(params, "hulls", _rows(params, derive_hulls.parts(params)), [method], [_problem(method)])
    numbers = [j + 1 for j in columns]
    button(partial(hulls_page, shown, about, index=index, numbers=numbers, drawn=drawn), "Hulls")


def _rows(params: Params, parts: Split) -> tuple[tuple[str, str], ...]:
    said = f"{len(parts.train.y)} for training, {len(parts.validation.y)} for validation, seed {params.seed}"
    return (("Rows", said),)


def _problem(solved: Algorithm | Variant, title: str = "") -> SolvedProblem:
    return SolvedProblem(title, solved.formula, solved.look_for, solved.cannot_tell)


def _about(
    params: Params, page: str, used: Sequence[tuple[str, str]], algorithms: Sequence[Algorithm],
    solved: Sequence[SolvedProblem],
) -> About:  # fmt: skip
    """Return what the file tells of the table, the rows in use, the algorithms and the way back to this screen."""
    table, name = tables.table(params), tables.called(params)
    facts = [("Table", f"{name}, target {table.target_name}"), *used]
    facts += [("Method", f"{method.label} ({method.paper})") for method in algorithms]
    question = next(room.question for room in nav.ROOMS if room.file == page)
    settings = f"{page}?{urlencode(link.text(params))}".removesuffix("?")
    return About(question, tuple(facts), tuple(solved), settings, table.fingerprint)
