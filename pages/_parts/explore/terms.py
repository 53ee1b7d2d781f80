"""Explore, below the ranking: what columns say alone and what pairs of them add, with curves, maps and hulls."""

from functools import partial

import streamlit as st

from mklcore.data.dataset import Dataset
from mklcore.estimators.terms import Columns, Decomposition
from mklcore.figures import style, term_bars, term_plot
from pages._parts.derive import dictionaries, hulls, paths, tables, terms
from pages._parts.drawing import asking, charts
from pages._parts.export import downloads
from pages._parts.params import places
from pages._parts.params.parameters import Params
from pages._parts.session import board, fields, history, nav, words

CORRELATED = 0.3  # between terms, from where it is reported
TOGETHER = {"pairs": True, "together": False, "at": None}


def draw(shown: paths.Answer, index: int) -> None:
    """Draw the shares of columns and pairs at one point of the path, and one of them closely."""
    path, params = shown.path, shown.params
    if path.estimators[index] is None or shown.waiting or not terms.can_be_found(params):
        return
    found = terms.terms(params, path, index)
    if not found.terms:
        return
    st.markdown(f"**Columns, alone and together**, at {places.where(path, index)}")
    left, right = st.columns([1, 1.3], gap="large")
    with left:
        make = partial(term_bars, found.terms)
        downloads.figure(make, "Columns and pairs", "terms")
        st.caption(" ".join(_caption(params, found)))
        _offer(params)
    with right:
        _one(shown, index, found)


def _caption(params: Params, found: Decomposition) -> list[str]:
    reported = ["Shares of the variance of the model's terms on training rows; they add up to 100 %."]
    if (
        params.pairs
        and params.recommended
        and not params.edited
        and not any(len(one.columns) > 1 for one in found.terms)
    ):
        none = "No pair of columns stands out from what they say alone."
        reported.append("Pairs were offered; the model here uses none." if dictionaries.pairs(params) else none)
    strongest = _most_correlated(found)
    if strongest:
        reported.append(strongest)
    return reported


def _most_correlated(found: Decomposition) -> str:
    """Say which two terms share most, where that is much: their shares then depend on each other."""
    pairs = [
        (abs(float(found.correlations[i, j])), i, j)
        for i in range(min(len(found.terms), 8))
        for j in range(i)
        if min(found.terms[i].share, found.terms[j].share) > 0.01
    ]
    most = max(pairs, default=(0.0, 0, 0))
    if most[0] < CORRELATED:
        return ""
    names = [words.plain(" × ".join(found.terms[k].columns)) for k in (most[2], most[1])]
    value = float(found.correlations[most[1], most[2]])
    return f"{names[0]} and {names[1]} are correlated ({value:+.2f}), so one can take the place of the other."


def _offer(params: Params) -> None:
    """Offer pairs of columns where the dictionary has none."""
    table = tables.table(params)
    if params.pairs or not params.recommended or params.edited or len(table.columns) < 2:
        return
    st.button(
        "Look for pairs of columns", key="look_for_pairs", on_click=history.change, kwargs=TOGETHER,
        help="Adds products of two columns that explain what a sum over columns leaves; kernels of all columns go.",
    )  # fmt: skip


def _one(shown: paths.Answer, index: int, found: Decomposition) -> None:
    """Draw the term that is chosen, the one with the largest share at first: its curve or its map."""
    params, table = shown.params, tables.table(shown.params)
    offered = [one.columns for one in found.terms if _can_be_drawn(one.columns, table)]
    if not offered:
        st.caption("The model's terms are of many columns at once: none has a curve or a map.")
        return
    chosen = _chosen(history.current().term, offered, table)
    named = {" × ".join(one): one for one in offered}
    fields.view(
        st.selectbox, "What adds", "field_term", " × ".join(chosen),
        lambda name: history.change(term=_number(named[name], table)), options=list(named),
    )  # fmt: skip
    output = history.current().output if table.task == "multiclass" else 0
    effect = terms.effect(params, shown.path, index, chosen, output)
    make = partial(term_plot, effect, _said(table, output))
    charts.show(make(dark=charts.is_dark()), "term")
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        downloads.strip(make, f"What {' and '.join(chosen)} add")
        _band(shown, index)
        if len(chosen) == 2 and st.button(
            "Hull around this pair", key="hull_around", icon=":material/account_tree:",
            help="Searches all products of these columns and those that act with them, with a certificate.",
        ):  # fmt: skip
            history.change(**around(chosen, found, table))
            nav.go("hulls")
    together = "Beyond what each of the two adds alone. " if len(chosen) == 2 else ""
    band = "Band: two standard errors, from fits on half samples of training rows." if effect.error is not None else ""
    st.caption(f"{together}{band}")


def _said(table: Dataset, output: int) -> str:
    if table.task == "regression":
        return "the prediction"
    names = table.class_names
    return f"the score of {style.short(names[1 if table.task == 'binary' else min(output, len(names) - 1)], 14)}"


def _band(shown: paths.Answer, index: int) -> None:
    """Offer the refits that give the band, or say that they are under way."""
    refits = terms.refits(shown.params, float(shown.path.values[index]))
    if refits.value is not None:
        return
    asking.button(
        refits.key, lambda: board.ask(terms.job(shown.params, shown.path, index)), "Add a band", "ask_band", "The fits",
        "were", "Fitting on half samples of the rows.", help="Fits the model on ten half samples of the rows.",
    )  # fmt: skip


def around(pair: Columns, found: Decomposition, table: Dataset) -> dict[str, str]:
    """Return the parameters of the hull around a pair: its columns and those of terms that share one of them."""
    members = dict(table.columns)
    near = [name for one in found.terms if set(one.columns) & set(pair) for name in one.columns if name in members]
    names = list(dict.fromkeys([*pair, *near]))
    columns = [j for name in names for j in members[name]][: hulls.MOST_COLUMNS]
    return {
        "hull_columns": hulls.numbers(sorted(columns)),
        "hull_pair": hulls.numbers(sorted(members[name][0] for name in pair)),
    }


def _can_be_drawn(columns: Columns, table: Dataset) -> bool:
    return len(columns) <= 2 and set(columns) <= {name for name, _ in table.columns}


def _chosen(text: str, offered: list[Columns], table: Dataset) -> Columns:
    return next((one for one in offered if _number(one, table) == text), offered[0])


def _number(columns: Columns, table: Dataset) -> str:
    """Return columns as a link holds them: their numbers from 1 on."""
    names = [name for name, _ in table.columns]
    return ",".join(str(names.index(name) + 1) for name in columns)
