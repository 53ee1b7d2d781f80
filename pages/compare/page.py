"""Compare: two to six methods side by side on the same rows and kernels, under one slider."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from mklcore.answer.comparison import Comparison, compare_answers
from mklcore.figures import captions, player_data, style
from mklcore.paths.path import Path
from mklcore.problem.driver import Status
from pages.compare import sidebar
from pages.shared import frame
from pages.shared.export import files
from pages.shared.private_streamlit import plain
from pages.shared.session import state
from pages.shared.session.parameters import METHODS, Params
from pages.shared.values import answers, tables
from pages.shared.values.answers import ComparedMethod
from pages.shared.widgets import drawing, grids, players
from pages.shared.widgets.norm_map import map_of_norms
from pages.shared.work import work

LINE = 64  # pixels of the sentence that is not there yet


def sentence(drawn: Sequence[ComparedMethod]) -> Comparison | None:
    """Draw what the comparison comes to, or how many methods it waits for; None until it is there."""
    ready = {one.label: one.found for one in drawn if one.found is not None}
    failed = sum(one.failed is not None for one in drawn)
    waiting = len(ready) + failed < len(drawn)
    place = st.container(
        key="compare_sentence", height=LINE if waiting else "content", border=False
    )
    if waiting:
        place.caption(f"{len(ready)} of {style.counted(len(drawn), 'method')} are there.")
        return None
    if len(ready) < 2:
        return None
    key = "comparison", *(answers.key(one.params) for one in drawn if one.found)
    match work.get(
        key, lambda progress: compare_answers(ready), title="Comparison", compiled=False
    ):
        case work.Ready(found):
            place.markdown(f"**{found.sentence(called(list(ready)))}**")
            return found
    return None


def called(labels: Sequence[str]) -> Callable[[str], str]:
    """How a sentence names methods: by what parts them alone where they are of one kind."""
    kinds = {label.partition(", ")[0] for label in labels}

    def name(label: str) -> str:
        kind, _, rest = label.partition(", ")
        if not rest:
            return plain(kind)
        return plain(rest) if len(kinds) == 1 else f"{plain(kind)} ({plain(rest)})"

    return name


def slider_sets(shared: str, best: bool) -> str:
    """What the slider sets, and where the methods stand while each is at its best."""
    if not shared:
        return "The methods have different parameters: the slider sets a share of each path."
    name = captions.symbol(shared)
    if best:
        return (
            f"Every method stands at its own best {name}; the slider sets one {name} for all "
            "of them."
        )
    return f"One {name} for all methods."


@st.fragment
def draw_players(drawn: Sequence[ComparedMethod], said: str) -> None:
    """Draw the shared slider, the picture of every method and what follows the slider; a release
    runs only this.
    """
    every = [one.path for one in drawn]
    found = player_data.shared_slider(every, [one.method.over for one in drawn])
    name = tuple((answers.key(one.params), one.path is None, one.found is None) for one in drawn)
    players.listen_methods(found, name)
    here = players.shared_place(found, every, state.current().methods_at)
    made = players.drawn(drawn, found)
    any_path = any(every)
    if any_path:
        lead, best = st.columns([6, 1.6], gap="small", vertical_alignment="center")
        with lead:
            # every path that is drawn has its best point
            scored = all(one.path is None or one.found for one in drawn)
            players.slider(made, found, here, name, scored)
        best.button(
            "Each at its best",
            key="compare_best",
            on_click=lambda: state.change(methods_at=""),
            disabled=here.best,
            help="Moves every method to the point of its path that the folds chose.",
        )
        st.caption(slider_sets(found.shared, here.best))
    with st.container(key="compare_figure"):
        players.methods_chart(made)
        if any_path:
            players.table(made)
    if any_path:
        files.methods_file(state.current(), drawn, said, round(here.position))
    state.end()


def results(found: Comparison, drawn: Sequence[ComparedMethod]) -> None:
    """Draw one row per method, to sort and to take away, and plain models on the same rows."""
    known = {one.label: one for one in drawn}
    rows = []
    for one in found.answers:
        own = known[one.name].found
        assert own is not None  # it was compared
        path = own.path
        k = own.index
        rows.append(
            {
                "method": one.name,
                "at": players.where(path, k),
                "by folds": one.score,
                "held out": one.judged.score,
                "± held out": one.judged.error,
                "behind the first": one.judged.gap,
                "± behind": one.judged.gap_error,
                "kernels used": one.kernels,
                "gap": float(path.relative_gap[k]),
                "solved": path.statuses[k].ok,
                "seconds of the path": float(path.seconds.sum()),
            }
        )
    listed = pd.DataFrame(rows)
    score = found.score_name
    number = st.column_config.NumberColumn
    form = "percent" if score in captions.SHARES else "%.3f"
    where = "held out" if found.held_out else "by folds, again"
    config = {
        "by folds": number(f"{score} by folds", format=form),
        "held out": number(f"{score}, {where}", format=form),
        "± held out": number(format=form),
        "behind the first": number("behind", format=form),
        "± behind": number(format=form),
        "method": st.column_config.TextColumn(pinned=True),
        "gap": number(
            format="percent", help="How far from the optimum at most. Empty: no certificate."
        ),
        "seconds of the path": number("seconds", format="%.1f", help="Of the whole path."),
    }
    st.dataframe(
        listed,
        hide_index=True,
        column_config=config,
        alt="One row per method, the best by folds first",
    )
    recipes = [known[name].method.text() for name in listed["method"]]
    take, said = st.columns([1.3, 7], vertical_alignment="center")
    grids.take(listed.assign(settings=recipes), "compare", "csv_compare", place=take)
    first = known[found.answers[0].name].found
    beside = {} if first is None else first.baselines
    lines = [f"{name} {captions.score(score, value)}" for name, value in beside.items()]
    said.caption(
        f"Differences are paired on {found.rows:,} rows. Plain models by folds: "
        f"{', '.join(lines) or 'none'}."
    )


def behind_best(drawn: Sequence[ComparedMethod]) -> None:
    """Draw how far the first k kernels of every method are from the best k, where these are
    searched for.
    """
    best = answers.best_k_among(drawn)
    found = None if best is None else answers.excesses(drawn, best)
    if best is not None and isinstance(found, work.Ready):
        excess_table(best.path, found.value)


def excess_table(best: Path, found: Mapping[str, Any]) -> None:
    """Draw one row per method and one column per number of kernels."""
    place = best.first_look
    size = int(best.n_nonzero[place])
    is_proven = best.statuses[place] is Status.PROVEN
    said = [
        f"{plain(label)} {beside_best(above[place])}"
        for label, above in found.items()
        if np.isfinite(above[place])
    ]
    kernels = f"{size} kernels" if size > 1 else "kernel"
    which = kernels if is_proven else f"{kernels} that were found"
    compared = style.joined(said) if said else "no other method says which kernels are first"
    st.markdown(f"**How far from the best {which}?** {compared}.")
    sizes = [f"k = {int(count)}" for count in best.n_nonzero]
    table = pd.DataFrame(dict(found), index=sizes).T.rename_axis("method").reset_index()
    config = dict.fromkeys(sizes, st.column_config.NumberColumn(format="percent"))
    alt = "By how much the first k kernels of each method are above the best k"
    st.dataframe(table, hide_index=True, column_config=config, alt=alt)
    st.caption(
        "By how much the objective of the first k kernels of a method, learned anew, is above that "
        "of the best k; its first k have the largest weights at the point of its path that uses "
        "the fewest kernels, but k or more. Empty: no point says which k are first. This is about the "
        "rows that were learned from."
    )


def beside_best(share: float) -> str:
    """Where an objective is beside that of the best kernels that are known."""
    if abs(share) <= captions.PROVEN:
        return "does as well"
    return f"is {style.percent(abs(share))} {'above' if share > 0.0 else 'below'}"


def explanation(drawn: Sequence[ComparedMethod]) -> None:
    """Draw what the picture is, how to read it, what it cannot tell, and the problem each method
    solves.
    """
    what, look, limits = st.columns(3, gap="large")
    what.markdown(drawing.text("compare"))
    look.markdown(drawing.text("compare_look"))
    limits.markdown(drawing.text("compare_cannot"))
    with st.expander("What each method solves", icon=":material/functions:"):
        solves = [(METHODS[one.method.algorithm], answers.words_for(one.params)) for one in drawn]
        for method, solved in dict.fromkeys(solves):
            st.markdown(f"**{method.label}.** {method.one_line}")
            st.latex(solved.formula)
            st.markdown(f"{solved.look_for} {solved.cannot_tell}")
            st.caption(method.paper)
    drawing.about_certificate()


def page(params: Params) -> None:
    """Draw the page."""
    if tables.table(params).task == "novelty":
        frame.lead_to_data(
            "This table has no target, so there is no score to compare. Choose a target "
            "on the Data page."
        )
        return
    with st.sidebar:
        sidebar.draw()
    drawn = answers.shown(params)
    found = sentence(drawn)
    drawing.headline(f"{drawing.about(params)}, every method on the same rows and kernels.", params)
    draw_players(drawn, "" if found is None else str(found))
    if found is not None:
        results(found, drawn)
        behind_best(drawn)
    for place, one in enumerate(drawn):
        label = plain(one.label)
        if one.failed is not None:
            st.markdown(f"**{label}**")
            drawing.refusal(one.failed, f"compare_refused_{place}")
        if one.found is None:
            continue
        if found is not None and answers.has_map(one.found):
            st.markdown(f"**{label}**, over p and C")
            map_of_norms(one.params, one.found, f"norm_map_{place}")
        proved = files.of_answer(one.params, one.found, one.found.model)
        files.pocket(proved, f"method_{place}", f"Check {label} yourself")
    explanation(drawn)


frame.with_table(page)
