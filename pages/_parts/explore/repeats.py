"""Explore other splits, on request: how much a score depends on the rows that were drawn."""

import numpy as np
import pandas as pd
import streamlit as st

from mklcore.errors import MKLError
from mklcore.figures import style
from mklcore.kernels import stacks
from mklcore.paths.path import Path
from mklcore.selection.repeats import Repeats, SplitProblem, SplitRow, SplitSpec, repeat_splits
from pages._parts.derive import dictionaries, gram_stacks, low_rank, paths, scores, tables
from pages._parts.derive.derived import Derived, derived
from pages._parts.drawing import listings
from pages._parts.jobs.job import Job, Report
from pages._parts.params import places
from pages._parts.params.parameters import Params
from pages._parts.session import board, fields, history, words
from pages._parts.session.memory import memory

PARTS = ("train", "validation", "test")


def repeated(params: Params, value: float) -> Derived[Repeats]:
    """Return the fits at ``value`` on other splits."""
    return derived(params, ("repeats", value, params.repeats), paths.key)


def job(params: Params, value: float) -> Job:
    """Return the work that fits at ``value`` on other splits; it goes on from what an earlier run found."""
    found = repeated(params, value)
    rows: dict[SplitSpec, SplitRow] = found.result_cache.made(("repeated rows", paths.key(params), value), dict)
    problem, first = _problem(params, value), SplitSpec(params.seed, params.validation, params.test, params.stratified)

    def repeat(report: Report) -> Repeats:
        report.heard_by(problem.estimator)
        return repeat_splits(problem, params.repeats, first, known=rows, callback=report.tick)

    return found.work("Repeats", repeat, params.repeats)


def _problem(params: Params, value: float) -> SplitProblem:
    over, asked = paths.runs_over(params), paths.estimator(low_rank.exactly(params))
    asked.set_params(**{over.attribute: int(value) if over.key == "s" else value})
    if tables.on_stack(params):
        stack = stacks.subset(tables.stack_file(params).stack, gram_stacks.chosen_kernels(params))
        return SplitProblem(tables.table(params), asked, stack=stack, scoring=scores.scoring(params))
    normalise = dictionaries.scale(params)
    return SplitProblem(
        tables.table(params),
        asked,
        dictionaries.dictionary(params),
        None,
        normalise,
        params.center,
        scores.scoring(params),
        len(gram_stacks.parts(params).train.y) if gram_stacks.is_drawn(params) else None,
    )


def repeats(params: Params) -> None:
    """Draw the folded request for repeated splits at the point on the screen, and what they gave."""
    with st.expander("The same on other splits", icon=":material/casino:", key="repeats", type="compact"):
        path = paths.known(params)
        if path is None:
            st.caption("Repeats start from the path. Compute it first.")
            return
        try:
            _inside(path)
        except MKLError as error:
            st.error(words.plain(error))


@st.fragment
def _inside(path: Path) -> None:
    params = history.current()
    value = places.place(path, params.at).value
    asked = repeated(params, value)
    found, progress = asked.value, board.mine(asked.key)
    left, right = st.columns([2, 5], gap="medium", vertical_alignment="bottom")
    with left:
        fields.field_view("Splits", "repeats")
    with right:
        st.button(
            "Repeat at the cursor", key="repeat", on_click=_start, args=(path,),
            disabled=progress is not None and progress.live,
        )  # fmt: skip
    st.caption(
        "More splits: a surer mean. Each one draws its own training rows with the next seed, builds the kernels on "
        "them and fits with the parameters on the screen."
    )
    history.end()
    if memory().wishes.granted("watch"):
        history.rerun()
    if found is not None:
        _show(found, path, places.label(path.param, value))
    elif progress is not None and progress.broke_off:
        kept = "" if progress.error else " What was computed is kept: start again to go on."
        st.warning(f"The repeats {board.ending(progress, 'were')}{kept}")


def _start(path: Path) -> None:
    params = history.current()
    board.ask(job(params, places.place(path, params.at).value))
    memory().wishes.watch = True


def _show(found: Repeats, path: Path, where: str) -> None:
    n = len(found.rows)
    scores = [f"{part} {path.score_name} **{_spread(found, part, path.score_name)}**" for part in PARTS]
    st.markdown(f"Mean ± standard deviation over {n} splits at {where}: {', '.join(scores)}.")
    st.caption(
        "The spread says how much a score depends on the rows drawn; the splits share rows, so it is no error of the "
        "mean. The cursor was set with one of these splits in view, so the mean may flatter a little."
    )
    left, right = st.columns([3, 2], gap="large")
    with left:
        st.dataframe(_rows(found), hide_index=True, height=248, alt=f"Scores of {n} splits", key="repeats_rows")
        listings.take(_rows(found), "repeats", "csv_repeats")
    with right:
        st.dataframe(
            _kernels(found), hide_index=True, height=248, alt="How often each kernel is used", key="repeats_kernels"
        )
        listings.take(_kernels(found), "kernels_used", "csv_repeats_kernels", "Kernels as CSV")


def _spread(found: Repeats, part: str, score: str) -> str:
    if score in words.SHARES:
        return f"{100 * found.mean(part):.1f} ± {100 * found.sd(part):.1f} %"
    return f"{style.number(found.mean(part))} ± {style.number(found.sd(part))}"


def _rows(found: Repeats) -> pd.DataFrame:
    return pd.DataFrame(
        {"seed": [row.spec.seed for row in found.rows]}
        | {part: found.values(part) for part in PARTS}
        | {"kernels used": [row.n_kernels for row in found.rows], "gap": found.values("gap")}
    )


def _kernels(found: Repeats) -> pd.DataFrame:
    order = np.argsort(-found.used, kind="stable")
    names = found.kernel_names
    return pd.DataFrame(
        {"kernel": [names[m] for m in order], f"used in, of {len(found.rows)} splits": found.used[order]}
    )
