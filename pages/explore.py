"""Explore: which columns matter for a target, how sure that is, and the model behind it along a path one can drag."""

# ruff: noqa: E402  the door comes first

from pages.shared import nav

nav.through_app()


import streamlit as st

from mklcore.answer.exploration import Exploration
from mklcore.errors import MKLError
from mklcore.figures import captions
from mklcore.figures.style import counted, number
from mklcore.io.catalog import NOVELTY
from mklcore.paths.path import Path
from pages.of_explore import pictures, questions, rail
from pages.shared import answer, controls, drawing, earlier, frame, kept, places, players, state, tables, words, work
from pages.shared.parameters import METHODS, Params, PathParams
from pages.shared.players import View
from pages.shared.work import Failed, Pending, Ready

LOOKS = {"columns": "Columns", "path": "Path", "inside": "Inside"}
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
        f"{METHODS[params.algorithm].label} needs a target, and this table has none. Take a method that learns without "
        "one, or choose a target on the Data page."
    )
    for name in METHODS.offered(task):
        st.button(
            f"Take {METHODS[name].label}", key=f"take_{name}", type="primary", on_click=state.change,
            kwargs={"algorithm": name, "path": "", "at": None},
        )  # fmt: skip
    nav.link("data", "Go to Data")
    return False


# While the answer is made


def waiting(params: Params, pending: Pending) -> None:
    """Draw what is known of a sample, or the path as far as it is there; else a placeholder of the same size."""
    known, partial, saved = earlier.answer(params), pending.value, kept.path_of(params)
    if known is not None:
        st.markdown(known.sentence)
        here = places.place(known.path, params.at)
        _, view = pictures.columns(known, here.index)
        cursor_of(known.path, "earlier", [view])
        st.caption(words.EARLIER)
        return
    with st.container(height=TALL, border=True, horizontal_alignment="center", vertical_alignment="center"):
        st.markdown(f"**{METHODS[params.algorithm].label}** on {words.plain(drawing.name_of(params))}")
        st.caption(words.plain(pending.text), width="content")
        for one in () if partial is None else partial.compared:
            st.caption(f"{words.plain(one.candidate.label)}: {number(one.score)}", width="content")
        if saved is not None:
            cursor_of(saved, ("saved", answer.key(params)), [])
        elif partial is not None and partial.refit is not None and partial.refit[0] is not None:
            cursor_of(partial.refit[0], ("partial", answer.key(params)), [])


def cursor_of(path: Path, name: object, follows: list[View]) -> None:
    """Draw the slider of a path whose answer is still to come, and what is known at its points."""
    players.listen(path, name)
    here = places.place(path, state.current().at)
    players.player(path, name, here, None, [*follows, FACTS])
    players.texts(FACTS, path, here.index, WIDTHS)


# The answer


def show(found: Exploration, params: Params) -> None:
    """Draw the sentence, one of three looks with its cursor, and what stands behind it."""
    chance = answer.chance(params, asked=False) if found.learnt_from.task != NOVELTY else None
    later = None if chance is None or tables.on_stack(params) else answer.further(params, asked=False)
    beside = later.value if isinstance(later, Ready) else found
    says(beside, params)
    guessing = found.verdict.better_than_guess is False
    with st.container(key="explore_looks", horizontal=True, vertical_alignment="center", gap="small"):
        controls.view(
            st.segmented_control, "What to look at", "field_look", params.look, lambda look: state.change(look=look),
            options=LOOKS, required=True, label_visibility="collapsed",
        )  # fmt: skip
        if not params.present:
            st.caption("Go on:", width="content")
            nav.link("compare", "Compare")
            nav.link("predict", "Predict")
    here = places.place(found.path, params.at)
    follows: list[View] = []
    if params.look == "path":
        follows = [pictures.path(found, here.index)]
    elif params.look == "columns" and guessing:
        could_help(found)
    elif params.look == "columns":
        left, right = st.columns([1.35, 1], gap="large")
        with left:
            seen = earlier.Seen.of(found, drawing.name_of(params))
            count, view = pictures.columns(seen, here.index, picked(found))
            follows = [view]
            st.caption(legend(count, len(found.columns), isinstance(chance, Pending)))
            questions.left_out(params)
        with right:
            questions.compared(beside, params, isinstance(later, Pending))
            questions.how_sure(found, params)
    cursor(found, follows, params.part(PathParams), guessing)
    questions.notes(found)
    questions.splits(params)
    method = METHODS[params.algorithm]
    with st.expander("The problem that is solved, and how to read it", icon=":material/functions:", type="compact"):
        acts = {name: getattr(found.model, name, None) for name in ("loss", "p")}
        drawing.explanation(method, method.words_for(acts, found.learnt_from.task))


def says(found: Exploration, params: Params) -> None:
    """Draw the one sentence, with the target a click away."""
    drawing.headline(found.verdict.sentence(pictures.bold, words.plain(drawing.name_of(params))), params)
    drawing.offer_targets(ask=found.verdict.better_than_guess is False)
    drawing.leaks("explore")


def could_help(found: Exploration) -> None:
    """Say what to try where the model is no better than guessing."""
    st.markdown("**What could help**")
    rows = found.learnt_from.n_samples
    st.markdown(
        f"- More rows: there are {counted(rows, 'row')} to learn from, and a weak effect needs more.\n"
        f"- Columns that have to do with {pictures.bold(found.learnt_from.target_name)}.\n"
        "- Another target: a related column may be easier to predict."
    )
    questions.left_out(state.current())


def legend(grey: int, count: int, pending: bool) -> str:
    """What a bar, its tick and its colour say."""
    bars = "Bar: how far the column moves the prediction (mean absolute Shapley value). Tick: the same, alone. "
    if pending:
        return f"{bars}Which columns could be chance follows."
    if grey:
        return f"{bars}Grey: shuffling this column does not clearly hurt the model ({grey} of {count})."
    return f"{bars}Click a bar to look at its column."


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
def cursor(found: Exploration, follows: list[View], asked: PathParams, guessing: bool) -> None:
    """Draw the slider, a box for any value, and what is known there; a release runs only this."""
    path, name = found.path, (asked, len(found.path))
    players.listen(path, name)
    params = state.current()
    if params.part(PathParams) != asked:
        state.rerun()
    wanted = here = places.place(path, params.at)
    row, below = st.container(key="explore_cursor"), st.container()
    exact = None
    if here.exact:
        with below:
            exact = between(found, asked, here.value)
        here = here if exact else places.place(path, float(path.values[here.index]))
    point, index = (path, here.index) if exact is None else (exact[0], 0)
    with row:
        left, right = st.columns([1, 3], gap="medium", vertical_alignment="center")
        with left:
            drawing.number_box(path, wanted)
        with right:
            views = [view if exact is None else pictures.with_point(view, *exact) for view in follows]
            players.player(path, name, here, exact and exact[0], [*views, FACTS])
    state.end()
    with below:
        players.texts(FACTS, path, here.index, WIDTHS)
        st.caption(where(found, point, index))
        if params.look == "columns" and not guessing:
            pictures.column(found, point.estimators[index], params, picked(found))
        elif params.look == "inside":
            pictures.inside(found, point, index, params)
        drawing.weights_table(point, path, index)
        questions.take(found, point, index, params)


def between(found: Exploration, asked: PathParams, value: float) -> tuple[Path, list[float]] | None:
    """The answer between the points of the path, once it is solved, with the effects of the columns there."""
    now = work.get(
        ("explore at", asked, value), lambda progress: questions.solved_at(found, value),
        title=f"Solving at {places.label(found.path.param, value)}",
    )  # fmt: skip
    if isinstance(now, Failed):
        drawing.refusal(now, "explore_point")
    elif isinstance(now, Pending):
        st.info(f"At {places.label(found.path.param, value)} nothing is solved yet. Solving.")
    return now.value if isinstance(now, Ready) else None


def where(found: Exploration, point: Path, index: int) -> str:
    """Where the cursor is, and whether the sentence is about this point."""
    here, rows = places.where(point, index), found.rows
    fitted = f"fitted on {rows.used:,} of {rows.of:,} rows" if rows.used < rows.of else f"fitted on {rows.of:,} rows"
    chosen = places.where(found.path, found.index)
    if not found.path.can_choose:
        return f"You look at {here}, {fitted}. Without a target no score can choose a point."
    if here == chosen:
        about = f"The sentence is about this point, {chosen}: {found.label}, {fitted}. Validation: mean over folds."
        return f"{about}{edge(found)}"
    return f"You look at {here}; the sentence is about {chosen}, which folds chose. The path is {fitted}."


def edge(found: Exploration) -> str:
    """Whether the best value may be beyond those tried."""
    path, k = found.path, found.index
    if len(path) < 2 or path.param in ("p", "s") or k not in (0, len(path) - 1):
        return ""
    end = "below" if path.values[k] == min(path.values) else "above"
    return f" The best {places.symbol(path.param)} may lie {end} the range tried. Type a value of it to look there."


if usable():
    params = state.current()
    with st.sidebar:
        rail.draw()
    with st.container(key="explore-answer"):
        try:
            match answer.get(params):
                case Ready(found):
                    show(found, params)
                case Pending() as pending:
                    waiting(params, pending)
                case failed:
                    drawing.refusal(failed, "explore_refused")
        except MKLError as error:
            drawing.refusal(error, "explore_refused")
