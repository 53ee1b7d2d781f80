"""Explore, where the best of what was tried is the last of it: a value on the path, or a width in the dictionary."""

from typing import Any

import streamlit as st

from mklcore.estimators.explain import specs_of
from mklcore.kernels.notation import Entry, write_entries
from mklcore.selection.bandwidths import width_at_edge, with_next_width
from pages._parts.derive import dictionaries, paths, tables
from pages._parts.params import places, rules
from pages._parts.params.parameters import Params
from pages._parts.session import history, uploads, words

LARGEST = 9  # times a path is gone on with


def draw(shown: paths.Answer) -> None:
    """Say so where the best validation score is at an end of the path or of the widths, with the click that goes
    on.
    """
    if not shown.waiting:
        _path(shown)
        _widths(shown)


def _path(shown: paths.Answer) -> None:
    path, params = shown.path, shown.params
    end = path.at_edge
    if end is None:
        return
    where = places.where(path, end)
    way = "beyond" if (end == -1) else "below"
    _offer(
        f"Optimum at the grid boundary: the validation score still rises at {where}, the last value tried.",
        f"Go on {way} it",
        key="go_further",
        on_click=history.change,
        kwargs={"further": params.further + 1, "at": None},
        disabled=params.further >= LARGEST,
        help=f"Solves up to {paths.GROW} more points.",
    )


def _widths(shown: paths.Answer) -> None:
    path, params = shown.path, shown.params
    if shown.earlier or not path.can_choose or tables.on_stack(params) or path.weights.ndim != 2:
        return
    specs, weights = specs_of(path.estimators[path.first_look]), path.weights[path.first_look]
    end = width_at_edge(specs, weights) if len(specs) == len(weights) else None
    if end is None:
        return
    way, other = ("widest", "a wider one") if end == -1 else ("narrowest", "a narrower one")
    where = words.plain(places.where(path, path.first_look))
    _offer(
        f"Widths at their edge: at {where} the {way} kernel of its grid carries the most; {other} may do better.",
        f"Add {other}", key="one_more_width", on_click=_one_more, args=(params, end),
        help="Adds one kernel, by the ratio of the last two widths, to the dictionary as a table on Kernels.",
    )  # fmt: skip


def _offer(sentence: str, label: str, **button: Any) -> None:
    """Draw what was found, and beside it the button that goes on."""
    said, press = st.columns([6, 1.4], vertical_alignment="center")
    said.warning(sentence)
    press.button(label, **button)


def _one_more(params: Params, end: int) -> None:
    history.change(edited=uploads.keep_text(with_one_more(params, end), rules.LONGEST_TABLE), at=None)


def with_one_more(params: Params, end: int) -> str:
    """Return the dictionary in use with one width more at this end of its grid, as a link holds it."""
    entries = dictionaries.entries(params)
    wider = with_next_width(dictionaries.dictionary(params), end)
    return write_entries([*entries, Entry(wider.specs[-1])])
