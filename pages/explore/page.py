"""Explore: which columns matter for a target, how sure that is, and the model behind it along a
path one can drag.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import streamlit as st

from mklcore.answer.exploration import Exploration
from mklcore.answer.verdict import NONE
from mklcore.data.dataset import Dataset
from mklcore.errors import MKLError
from mklcore.figures import captions, style
from mklcore.io.catalog import NOVELTY, Control, Preset
from mklcore.paths.path import Path
from pages.explore import errors, pictures, questions
from pages.shared import frame
from pages.shared.export import saved
from pages.shared.private_streamlit import bold, plain
from pages.shared.session import state
from pages.shared.session.parameters import ANSWER, LOW_RANK, METHODS, MOST_LANDMARKS, Params
from pages.shared.values import answers, tables
from pages.shared.widgets import controls, drawing, players
from pages.shared.widgets.norm_map import map_of_norms
from pages.shared.widgets.players import View
from pages.shared.work import work
from pages.shared.work.work import Failed, Pending, Ready

LOOKS = {"columns": "Columns", "path": "Path", "inside": "Inside", "errors": "Errors"}
TALL = 620  # pixels of an answer, which its placeholder has as well


def usable() -> bool:
    """Whether the method in use can learn from the table; if not, say what to do."""
    if not frame.usable_table():
        return False
    params = state.current()
    task = tables.table(params).task
    if METHODS[params.algorithm].fits(task):
        return True
    st.info(
        f"{METHODS[params.algorithm].label} needs a target, and this table has none. Take "
        "a method that learns without one, or choose a target on the Data page."
    )
    for name in METHODS.offered(task):
        st.button(
            f"Take {METHODS[name].label}",
            key=f"take_{name}",
            type="primary",
            on_click=state.change,
            kwargs={"algorithm": name, "path": "", "at": None},
        )
    state.link("data", "Go to Data")
    return False


# While the answer is made


def from_sample(first: answers.FirstAnswer, params: Params) -> None:
    """Draw the answer from a sample of the rows, and say so: it is to be looked at, not taken."""
    st.info(
        f"From a sample of {first.rows:,} of {first.of:,} rows, drawn at random with every class in its "
        "share. The answer from all rows is being computed and replaces this one.",
        icon=":material/hourglass_top:",
    )
    seen = saved.Seen.of(first.found, drawing.name_of(params))
    st.markdown(seen.sentence)
    if first.found.verdict.relation != NONE:
        pictures.columns(seen, seen.index, follows=False)


def waiting(params: Params, pending: Pending, first: answers.FirstAnswer | None) -> None:
    """Draw what is known of a bundled table or from a sample of the rows, and the path as far as it
    is there; else a placeholder of the same size.
    """
    known = saved.earlier_answer(params)
    why = saved.COMPUTED_EARLIER
    partial = pending.value
    saved_path = saved.path_of(params)
    answer = None if partial is None else partial.answer
    if known is None and answer is not None and answer.verdict.relation != NONE:
        known = saved.Seen.of(answer, drawing.name_of(params))
        why = "Plain models are being fitted on the same rows, to compare with."
    if known is not None:
        st.markdown(known.sentence)
        here = players.place(known.path, params.at)
        _, view = pictures.columns(known, here.index)
        cursor_of(known.path, ("known", answers.key(params)), [view])
        st.caption(why)
        return
    if first is not None:
        from_sample(first, params)
    with st.container(
        height=TALL if first is None else "content",
        border=True,
        horizontal_alignment="center",
        vertical_alignment="center",
    ):
        st.markdown(f"**{METHODS[params.algorithm].label}** on {plain(drawing.name_of(params))}")
        st.caption(plain(pending.text), width="content")
        for one in () if partial is None else partial.compared:
            st.caption(f"{plain(one.candidate.label)}: {style.number(one.score)}", width="content")
        found = (
            partial.refit[0]
            if saved_path is None and partial is not None and partial.refit
            else saved_path
        )
        if found is not None:
            view = pictures.path(found, players.place(found, params.at).index)
            cursor_of(found, ("partial", answers.key(params)), [view])
        if partial is not None and partial.sampled:
            st.caption(partial.sampled, width="content")


def cursor_of(path: Path, name: object, follows: list[View]) -> None:
    """Draw the slider of a path whose answer is still to come, and what is known at its points."""
    players.listen(path, name)
    here = players.place(path, state.current().at)
    players.player(path, name, here, None, [*follows, FACTS])
    players.texts(FACTS, path, here.index, WIDTHS)


# The answer


def show(found: Exploration, params: Params) -> None:
    """Draw the sentence, one of the looks with its cursor, and what stands behind it."""
    chance = answers.chance(params, asked=False) if found.learnt_from.task != NOVELTY else None
    later = (
        None if chance is None or tables.on_stack(params) else answers.further(params, asked=False)
    )
    beside = later.value if isinstance(later, Ready) else found
    says(beside, params)
    questions.logarithm(found, tables.table(params))
    unranked = found.verdict.relation == NONE
    offered = [name for name in LOOKS if name != "errors" or found.learnt_from.task == "binary"]
    look = params.look if params.look in offered else offered[0]
    with controls.row(key="explore_looks"):
        controls.view(
            st.segmented_control,
            "What to look at",
            "field_look",
            look,
            lambda look: state.change(look=look),
            options=offered,
            format_func=LOOKS.__getitem__,
            required=True,
            label_visibility="collapsed",
        )
        if not params.present:
            st.caption("Go on:", width="content")
            state.link("compare", "Compare")
            state.link("predict", "Predict")
    here = players.place(found.path, params.at)
    follows: list[View] = []
    if look == "path":
        follows = [pictures.path(found.path, here.index, tuple(found.baselines.items()))]
    elif look == "columns" and unranked:
        could_help(found)
    elif look == "columns":
        left, right = st.columns([1.35, 1], gap="large")
        with left:
            seen = saved.Seen.of(found, drawing.name_of(params))
            count, view = pictures.columns(seen, here.index, picked(found))
            follows = [view]
            noun = "kernel" if found.ranks_kernels else "column"
            said = legend(count, len(found.columns), isinstance(chance, Pending), noun)
            scale = " The numbers are logarithms: 0.1 is about a tenth."
            st.caption(said + scale * bool(found.learnt_from.log_of))
            questions.left_out(params)
        with right:
            questions.compared(beside, isinstance(later, Pending))
            questions.how_sure(found, params)
    if look == "errors":
        errors.view(found, tables.table(params), params.of(*ANSWER))
    else:
        cursor(found, tables.table(params), follows, params.of(*ANSWER), look, unranked)
    questions.notes(found, tables.table(params))
    questions.splits(params)
    map_of_norms(params.of(*ANSWER), found, "norm_map")
    method = METHODS[params.algorithm]
    with st.expander(
        "The problem that is solved, and how to read it",
        icon=":material/functions:",
        type="compact",
    ):
        drawing.explanation(method, answers.solved(method, found))


def says(found: Exploration, params: Params) -> None:
    """Draw the one sentence, with the target a click away."""
    drawing.headline(found.verdict.sentence(bold, plain(drawing.name_of(params))), params)
    drawing.offer_targets(ask=found.verdict.relation == NONE)
    drawing.leaks("explore")


def could_help(found: Exploration) -> None:
    """Say what to try where there is no sign of a relation."""
    st.markdown("**What could help**")
    rows = found.learnt_from.n_samples
    st.markdown(
        f"- More rows: there are {style.counted(rows, 'row')} to learn from, and a weak effect "
        "needs more.\n- Columns that have to do with "
        f"{bold(found.learnt_from.target_name)}.\n- Another target: a related "
        "column may be easier to predict."
    )
    questions.left_out(state.current())


def legend(grey: int, count: int, pending: bool, noun: str) -> str:
    """What a bar, its tick and its colour say; ``noun`` is what has bars, "column" or "kernel"."""
    bars = (
        "Bar: how far the column moves the prediction (mean absolute Shapley value). Tick: "
        "the same, alone. "
    )
    if noun == "kernel":
        bars = (
            "Bar: how far the kernel moves the prediction (mean absolute value of its part): "
            "this model is a sum over kernels, not over columns. "
        )
    if pending:
        return f"{bars}Which {noun}s could be chance is being computed."
    if grey:
        return (
            f"{bars}Grey: shuffling this {noun} does not clearly hurt the model ({grey} of "
            f"{count})."
        )
    return bars if noun == "kernel" else f"{bars}Click a bar to look at its column."


def picked(found: Exploration) -> dict[str, int]:
    """The number under which a link knows a column, by name."""
    learnt = found.learnt_from
    names = [*(name for name, _ in learnt.columns), *(name for name, _ in learnt.sequences)]
    shown = [one.name for one in found.columns]
    return {name: k for k, name in enumerate(names if set(shown) <= set(names) else shown, 1)}


# The cursor


FACTS = View("facts", captions.facts)
WIDTHS = (1.4, 1, 1.35)


@st.fragment
def cursor(
    found: Exploration,
    table: Dataset,
    follows: list[View],
    asked: Params,
    look: str,
    unranked: bool,
) -> None:
    """Draw the slider, a box for any value, and what is known there; a release runs only this."""
    path = found.path
    name = (asked, len(found.path))
    players.listen(path, name)
    params = state.current()
    if params.of(*ANSWER) != asked:
        state.rerun()
    wanted = here = players.place(path, params.at)
    row = st.container(key="explore_cursor")
    below = st.container()
    exact = None
    if here.exact:
        with below:
            exact = between(found, asked, here.value)
        here = here if exact else players.place(path, float(path.values[here.index]))
    point, index = (path, here.index) if exact is None else (exact[0], 0)
    with row:
        left, right = st.columns([1, 3], gap="medium", vertical_alignment="center")
        with left:
            players.exact_box(
                path, wanted.value, lambda value: state.change(at=value), f"exact_{path.param}"
            )
        with right:
            views = [
                view if exact is None else pictures.with_point(view, found, exact[1])
                for view in follows
            ]
            players.player(path, name, here, exact and exact[0], [*views, FACTS])
    state.end()
    with below:
        players.texts(FACTS, path, here.index, WIDTHS)
        st.caption(where(found, point, index))
        if look == "columns" and not unranked:
            effects = found.effects_along[index] if exact is None else exact[1]
            spot = players.where(point, index)
            pictures.column(found, point.estimators[index], params, picked(found), effects, spot)
        elif look == "path":
            pictures.choices(found, params.of(*ANSWER), point, index)
        elif look == "inside":
            pictures.inside(found, point, index, params)
        players.weights_table(point, path, index)
        questions.take(found, table, point, index, params)


def between(
    found: Exploration,
    asked: Params,
    value: float,
) -> tuple[Path, list[float]] | None:
    """The answer between the points of the path, once it is solved, with the effects of the columns
    there.
    """
    now = work.get(
        ("explore at", asked, value),
        lambda progress: questions.solved_at(found, value),
        title=f"Solving at {captions.label(found.path.param, value)}",
    )
    if isinstance(now, Failed):
        drawing.refusal(now, "explore_point")
    elif isinstance(now, Pending):
        st.info(f"At {captions.label(found.path.param, value)} nothing is solved yet. Solving.")
    return now.value if isinstance(now, Ready) else None


def where(found: Exploration, point: Path, index: int) -> str:
    """Where the cursor is, and whether the sentence is about this point."""
    here = players.where(point, index)
    rows = found.rows
    fitted = f"fitted on {rows.of:,} rows"
    if rows.used < rows.of:
        fitted = f"fitted on {rows.used:,} of {rows.of:,} rows ({rows.how})"
    chosen = players.where(found.path, found.index)
    if not found.path.can_choose:
        return f"You look at {here}, {fitted}. Without a target no score can choose a point."
    if point is found.path and index == found.index:
        about = (
            f"The sentence is about this point, {chosen}: {found.label}, {fitted}. Validation: "
            "mean over folds."
        )
        return f"{about} {players.edge(found.path, index)}".rstrip()
    return (
        f"You look at {here}; the sentence is about {chosen}, which folds chose. The path is "
        f"{fitted}."
    )


# The sidebar


CHOSEN = "chosen for you"
STEPS = (20, 50, 100, 200, 500, MOST_LANDMARKS)


def draw_sidebar() -> None:
    """Draw method, presets and loss; under "More" all other parameters but the one the path runs
    over.
    """
    params = state.current()
    task = tables.table(params).task
    method = METHODS[params.algorithm]
    take = lambda name: state.change(algorithm=name, path="", at=None)  # noqa: E731
    controls.method("Algorithm", "field_algorithm", params.algorithm, take)
    acting = answers.acting(params)
    first = [control for control in acting if control.name == "loss"]
    offered = [preset for preset in method.presets if task in preset.tasks]
    if offered:
        presets(params, offered, task)
    else:
        path_over(params)
    for control in first:
        setting(params, control)
    with st.expander("More", icon=":material/tune:", key="more_settings"):
        if offered:
            path_over(params)
        for advanced in (False, True):
            for control in acting:
                if control not in first and control.advanced is advanced:
                    setting(params, control)
            if not advanced:
                controls.scoring()
                rows_used(params)


def presets(params: Params, offered: list[Preset], task: str) -> None:
    """Draw presets, each of which sets several parameters at once."""
    by_name = {preset.label: preset for preset in offered}
    active = next((preset.label for preset in offered if answers.holds(preset, params, task)), None)

    def take(name: str | None) -> None:
        if name is None:
            return
        now = state.current()
        for setting, value in by_name[name].settings:
            now = now.with_setting(setting, value)
        state.set_params(
            replace(
                now,
                path=by_name[name].path or now.path,
                at=None,
            )
        )

    controls.view(
        st.pills,
        "Presets",
        f"preset_{params.algorithm}",
        active,
        take,
        options=list(by_name),
        help=by_name[active].help if active else "A preset sets several parameters at once.",
    )


def path_over(params: Params) -> None:
    """Draw what the path runs over, where there is a choice."""
    method = METHODS[params.algorithm]

    def take(name: str) -> None:
        state.change(path="" if name == method.path_params[0] else name, at=None)

    controls.path_over(method, "field_path", answers.runs_over(params).key, take)


def setting(params: Params, control: Control) -> None:
    """Draw a control; one that is open begins with the choice that leaves it so."""
    if not answers.is_open(params, control):
        controls.setting(control)
        return

    def keep(value: Any) -> None:
        now = state.current()
        kept = tuple(pair for pair in now.settings if pair[0] != control.name)
        state.set_params(
            replace(now, settings=kept) if value == "" else now.with_setting(control.name, value)
        )

    value: Any = dict(params.settings).get(control.name, "")
    kind: Callable[..., Any] = st.selectbox
    choices: list[Any] = list(control.choices)
    called: Callable[[Any], str] = lambda one: one.replace("_", "-")  # noqa: E731
    if control.kind != "choice":
        kind = st.select_slider
        choices = controls.stops(control, *([value] if value else []))
        called = style.number
    controls.view(
        kind,
        control.label,
        f"open_{control.name}",
        value,
        keep,
        options=["", *choices],
        format_func=lambda one: CHOSEN if one == "" else called(one),
        help=control.help or None,
    )


def rows_used(params: Params) -> None:
    """Draw how many rows are learned from, and whether through features at a few landmarks."""
    whole = tables.table(params).n_samples
    controls.field_view(
        "Most rows to learn from",
        "rows",
        max_value=whole,
        step=max(1, min(500, whole // 10)),
        to=lambda rows: min(rows, whole),
        help="0: all of them. Fewer rows: a quicker and less sure answer.",
    )
    if not METHODS[params.algorithm].is_approximable or tables.on_stack(params):
        return
    controls.view(
        st.toggle,
        "Low rank",
        "field_low_rank",
        params.way == LOW_RANK,
        lambda on: state.change(way=LOW_RANK if on else "", at=None),
        help=(
            "On: every kernel becomes features at a few landmark rows, so that more rows are "
            "learned from."
        ),
    )
    if params.way == LOW_RANK:
        now = params.landmarks or answers.LANDMARKS
        controls.view(
            st.select_slider,
            "Landmarks",
            "field_landmarks",
            now,
            lambda count: state.change(landmarks=count),
            options=sorted({*STEPS, now}),
            help="More landmarks: less of each kernel is lost, and it takes longer.",
        )


params = state.current()
first = answers.first(params)  # before the whole table is asked for, which takes longer
if usable():
    with st.sidebar:
        draw_sidebar()
    with st.container(key="explore-answer"):
        try:
            match answers.get(params):
                case Ready(found):
                    show(found, params)
                case Pending() as pending:
                    waiting(params, pending, first)
                case failed:
                    drawing.refusal(failed, "explore_refused")
        except MKLError as error:
            drawing.refusal(error, "explore_refused")
elif first is not None and not frame.is_refused():
    from_sample(first, params)
