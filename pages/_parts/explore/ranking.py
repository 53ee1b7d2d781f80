"""Explore, the first tab: the columns of the table, the ones that count first, and one of them looked at closely."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import streamlit as st

from mklcore.data.dataset import Dataset
from mklcore.errors import ParameterError
from mklcore.estimators.explain import column_effect
from mklcore.estimators.importance import ColumnAnswer, kernels_of
from mklcore.estimators.positions import positional_importance
from mklcore.figures import column_figure, positions_figure, style
from mklcore.kernels.dictionary import Unit
from pages._parts.derive import caches, gram_stacks, importance, paths, tables
from pages._parts.drawing import ranked
from pages._parts.explore import noise
from pages._parts.export import downloads
from pages._parts.params import places
from pages._parts.players import path_player
from pages._parts.session import board, fields, history, words

MOST_KERNELS = 6
BY_WEIGHT = ":small[By share of weight here; what the score loses without each column is measured on request.]"


@st.fragment
def at_rest(shown: paths.Answer, settled: int, column: int) -> None:
    """Draw the ranking where the cursor was released: that runs only this.

    The page was drawn at the point ``settled``.
    """
    params, index = history.current(), places.place(shown.path, history.current().at).index
    asked = board.mine(importance.ranking(shown.params, float(shown.path.values[index])).key)
    if params.column != column or (index != settled and asked is not None and asked.live):
        history.rerun()  # the whole app: another column to look at below, or work whose progress is to be watched
    draw(shown, index, elsewhere=index != settled)
    path_player.rest(index)


def draw(shown: paths.Answer, index: int, *, elsewhere: bool = False) -> None:
    """Draw every column with what the score loses without it, its share of weight, and how often it stays in refits.

    What it loses is measured unasked where the page was drawn, not ``elsewhere``: a drag would start work at every
    stop.
    """
    path, params = shown.path, shown.params
    if path.estimators[index] is None:
        _without_model(shown, index)
        return
    if tables.table(params).task == "novelty":
        st.markdown("**Which columns carry the weight**")
        _table(shown, index, _unranked(shown, index), False)
        return
    value = float(path.values[index])
    computed = importance.ranking(params, value)
    found, asked = computed.value, board.mine(computed.key)
    first = () if elsewhere else shown.columns
    ranking = found or first or _unranked(shown, index)
    measured = ranking is found or ranking is first
    st.markdown(f"**Which columns count**, at {places.label(path.param, value)}")
    offered = found is None and not shown.waiting and (elsewhere if asked is None else asked.broke_off)
    st.markdown(
        BY_WEIGHT
        if offered and asked is None
        else ranked.sentence(ranking, path.score_name, measured, importance.n_rows(params))
    )
    if offered:
        st.button("Rank the columns", key="ask_importance", on_click=_ask, args=(shown, index))
    _table(shown, index, ranking, measured)


def offer(shown: paths.Answer, index: int) -> None:
    """Have the columns shuffled, unless other work is under way; small tables are done in this very run."""
    value, busy = float(shown.path.values[index]), board.held()
    if shown.waiting or shown.path.estimators[index] is None or tables.table(shown.params).task == "novelty":
        return
    ranking = importance.ranking(shown.params, value)
    asked = board.mine(ranking.key) is not None
    if ranking.value is None and not asked and (busy is None or not busy.live):
        _ask(shown, index)


def _ask(shown: paths.Answer, index: int) -> None:
    board.ask(importance.job(shown.params, shown.path, index))


def _unranked(shown: paths.Answer, index: int) -> tuple[ColumnAnswer, ...]:
    return ranked.by_weight(shown.path.estimators[index], importance.seen(shown.params))


def _without_model(shown: paths.Answer, index: int) -> None:
    """Draw the columns by their share of the weight at the cursor, while the model is still to be fitted here."""
    found = importance.shares(shown, "columns", every=True)
    named = {unit.name for unit in importance.seen(shown.params)}
    pairs = zip(found.names, found.values[index], strict=True)
    shares = sorted([(name, float(share)) for name, share in pairs if name in named], key=lambda one: -one[1])
    ranking = [ColumnAnswer(name, share, np.nan, np.nan) for name, share in shares]
    where = places.where(shown.path, index)
    st.markdown(f"**Which columns carry the weight**, at {where}")
    st.caption("What the score loses without each column is measured as soon as the model is fitted here.")
    ranked.table(ranking, shown.path.score_name, False, f"ranking_{hash((shown.tag, 'shares'))}")


def _table(shown: paths.Answer, index: int, ranking: Sequence[ColumnAnswer], measured: bool) -> None:
    """Draw the ranking as a table: a click on a row looks at that column."""
    selected = noise.known(history.current())
    key = f"ranking_{hash((shown.tag, measured, index, tuple(selected)))}"
    names = tuple(one.name for one in ranking)
    places_of = {unit.name: k for k, unit in enumerate(importance.seen(shown.params), 1)}
    ranked.table(
        ranking, shown.path.score_name, measured, key, _often(shown, index),
        picked=partial(_pick, key, names, places_of), chosen=noise.shares(selected),
        faint=noise.indistinct(selected),
    )  # fmt: skip


def _pick(key: str, names: tuple[str, ...], known: dict[str, int]) -> None:
    """Look at the column whose row was clicked."""
    rows = fields.clicked(key)
    if rows and rows[0] < len(names):
        history.change(column=known.get(names[rows[0]], 0))


def _often(shown: paths.Answer, index: int) -> dict[str, float]:
    """Return in which share of the refits a column had one of its own kernels, where that has been computed."""
    found = paths.frequency(shown.params, float(shown.path.values[index])).value
    if found is None:
        return {}
    place = {name: k for k, name in enumerate(found.kernel_names)}
    members = kernels_of(shown.path.estimators[index], importance.seen(shown.params))
    names = shown.path.kernel_names
    own = {column: [place[names[m]] for m in kernels if names[m] in place] for column, kernels in members.items()}
    return {column: found.of_any(kernels) for column, kernels in own.items() if kernels}


# One column


def detail(shown: paths.Answer, index: int) -> None:
    """Draw the column that was clicked, or else the one that counts most: its kernels, what it adds, its values."""
    path, params = shown.path, shown.params
    model, seen = path.estimators[index], importance.seen(params)
    if model is None or not seen:
        return
    unit = seen[params.column - 1] if 0 < params.column <= len(seen) else _first(shown, index, seen)
    left, right = st.columns([1, 1.6], gap="large")
    with left:
        where = places.where(path, index)
        st.markdown(f"**{words.plain(unit.name)}**, at {words.plain(where)}")
        st.markdown("\n".join(_facts(shown, index, unit)))
    if unit.kind == "kernel":
        return
    with right:
        _effect(shown, index, unit)


def _first(shown: paths.Answer, index: int, seen: Sequence[Unit]) -> Unit:
    found = (
        importance.ranking(shown.params, float(shown.path.values[index])).value
        or shown.columns
        or _unranked(shown, index)
    )
    return next((unit for unit in seen if unit.name == found[0].name), seen[0])


def _facts(shown: paths.Answer, index: int, unit: Unit) -> list[str]:
    path = shown.path
    own = kernels_of(path.estimators[index], importance.seen(shown.params)).get(unit.name, [])
    weights = np.asarray(path.weights[index], dtype=float)
    order = sorted((m for m in own if m < len(weights)), key=lambda m: -weights[m])
    lines = [
        f"- {words.plain(path.kernel_names[m])}: θ = {style.number(float(weights[m]))}" for m in order[:MOST_KERNELS]
    ]
    if not lines:
        lines = ["- No kernel looks at it alone; kernels of several columns see it."]
    if unit.kind == "kernel":
        return lines
    return [*lines, f"- {values(tables.table(shown.params), unit)}"]


def values(data: Dataset, unit: Unit) -> str:
    """Return which values a column, or a group of columns, has."""
    if unit.kind == "sequence":
        sizes = [len(text) for text in dict(data.sequences)[unit.name]]
        span = f"{min(sizes):,} to {max(sizes):,}" if min(sizes) < max(sizes) else f"{max(sizes):,}"
        return f"strings of {span} letters"
    found = data.X[:, list(unit.columns)]
    if len(unit.columns) == 1:
        low, middle, high = (style.number(float(q)) for q in np.quantile(found, [0, 0.5, 1]))
        different = style.counted(len(np.unique(found)), "different value")
        return f"values from {low} to {high}, median {middle}; {different}"
    names = [data.feature_names[j] for j in unit.columns]
    if unit.kind == "category":
        shares = found.mean(axis=0)
        most = names[int(shares.argmax())].removeprefix(f"{unit.name}=")
        often = style.percent(shares.max())
        return f"{len(names)} columns of 0 and 1; {words.plain(most)} is the most frequent: {often} of the rows"
    return f"{len(names)} columns: {words.plain(', '.join(names[:8]))}{' …' if len(names) > 8 else ''}"


def _letters(shown: paths.Answer, index: int, unit: Unit) -> None:
    """Draw which letters of a sequence move the decision at which place, and the strongest words."""
    params, model = shown.params, shown.path.estimators[index]
    names = [name for name, _ in tables.table(params).sequences]
    key = ("letters", paths.key(params), index, unit.name, params.output)
    judged = gram_stacks.parts(params).validation
    try:
        found = caches.result_cache(params).made(
            key, lambda: positional_importance(model, judged, sequence=names.index(unit.name), output=params.output)
        )
    except ParameterError:
        st.caption("No kernel in use reads its letters at this point of the path.")
        return
    draw = partial(positions_figure, found, unit.name)
    downloads.figure(draw, f"Letters of {unit.name}", "positions")
    listed = ", ".join(f"{one.word} at place {one.place + 1} ({one.effect:+.2g})" for one in found.words[:3])
    st.caption(
        f"What a letter adds to the decision, put there in {found.rows} validation rows. The strongest words of "
        f"{len(found.words[0].word)} letters: {words.plain(listed)}."
    )


def _effect(shown: paths.Answer, index: int, unit: Unit) -> None:
    if unit.kind == "sequence":
        _letters(shown, index, unit)
        return
    data, model = tables.table(shown.params), shown.path.estimators[index]
    output = min(shown.params.output, max(len(getattr(model, "classes_", ())) - 1, 0))
    name = "effect", shown.tag, index, unit.columns, output
    make = lambda: (column_effect(model, unit.columns, data.feature_names, output=output),)  # noqa: E731  None is an answer too
    (found,) = caches.result_cache(shown.params).made(name, make)
    if found is None:
        st.caption("Several columns at once have no single curve: give them kernels of their own to see each.")
        return
    said = "the prediction" if data.task == "regression" else "the score"
    if data.task == "binary":
        said += f" of {style.short(data.class_names[1], 14)}"
    draw = partial(column_figure, found, unit.name, said)
    downloads.figure(draw, f"What {unit.name} adds", "column_effect")
