"""Drawing controls from the registry, as views of the session's parameters, and notes as lists."""

import math
from collections.abc import Callable, Iterable
from typing import Any

import streamlit as st

from mklcore.figures import style
from mklcore.io.catalog import Control
from mklcore.paths.scoring import rarest, scorings_for
from pages.shared.derive import tables
from pages.shared.params.algorithms import Setting
from pages.shared.session import fields, history
from pages.shared.session.words import plain

NORMS = (1.0, 1.05, 1.1, 1.2, 4 / 3, 1.5, 2.0, 3.0, 4.0, 8.0, 16.0, math.inf)


def setting(control: Control) -> None:
    """Draw one control of the algorithm in use, its help behind a question mark, as a view of the parameters."""

    def keep(chosen: Setting) -> None:
        history.set_params(history.current().with_setting(control.name, chosen))

    widget(control, history.current().setting(control), f"setting_{control.name}_{control.kind}", keep)


def widget(control: Control, value: Any, key: str, keep: Callable[[Setting], None]) -> None:
    """Draw a control in the form its kind asks for, as a view of ``value``; ``keep`` takes what a person chooses."""
    help_text = control.help or None
    match control.kind:
        case "choice":
            names = {name: name.replace("_", "-") for name in control.choices}
            fields.view(
                st.selectbox, control.label, key, value, keep, options=names,
                help=help_text,
            )  # fmt: skip
        case "flag":
            fields.view(st.toggle, control.label, key, value, keep, help=help_text)
        case "integer":
            low, high = int(control.low), int(control.high)
            fields.view(
                st.number_input, control.label, key, int(value), keep, min_value=low, max_value=high, step=1,
                help=help_text,
            )  # fmt: skip
        case _:
            steps = NORMS if control.kind == "p" else human_steps(control.low, control.high)
            fields.view(
                st.select_slider, control.label, key, float(value), keep, options=sorted({*steps, float(value)}),
                format_func=style.number, help=help_text,
            )  # fmt: skip


def scoring() -> None:
    """Draw the choice of the score that models are chosen and judged by, where the table has a target."""
    params = history.current()
    table = tables.table(params)
    suits, usual = scorings_for(table.task), "r2" if table.task == "regression" else "accuracy"
    if not suits:
        return
    now, rare = params.scoring if params.scoring in suits else usual, rarest(table)
    short = (
        "" if rare is None else f"Class {rare[0]} holds {100 * rare[1]:.1f} % of the rows: accuracy hardly sees it. "
    )
    fields.view(
        st.selectbox, "Scored by", "field_scoring", now,
        lambda name: history.change(scoring="" if name == usual else name),
        options=list(suits), format_func=lambda name: suits[name].label, help=f"{short}{suits[now].help}",
    )  # fmt: skip


def human_steps(low: float, high: float) -> list[float]:
    """Return the round numbers 1, 2, 5 per decade from ``low`` to ``high``."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = [float(f"{mantissa}e{decade}") for decade in decades for mantissa in (1, 2, 5)]
    return [step for step in steps if low * (1 - 1e-9) <= step <= high * (1 + 1e-9)]


def sentences(lines: Iterable[str]) -> None:
    """Draw notes as a plain list."""
    st.markdown("\n".join(f"- {plain(line)}" for line in lines))
