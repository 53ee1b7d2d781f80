"""Explore, the rail: the method and what a person fixes of it; the rest is chosen by folds."""

from dataclasses import replace
from typing import Any

import streamlit as st

from mklcore.figures import style
from mklcore.io.catalog import Control, Preset
from pages.shared import answer, controls, places, state, tables
from pages.shared.answer import LANDMARKS
from pages.shared.parameters import LOW_RANK, METHODS, MOST_LANDMARKS, Params, applicable

OPEN = ("p", "loss")  # what is chosen unless a person fixes it
CHOSEN = "chosen for you"
STEPS = (20, 50, 100, 200, 500, MOST_LANDMARKS)


def draw() -> None:
    """Draw method, presets and loss; under "More" all other parameters but the one the path runs over."""
    params = state.current()
    task, method = tables.table(params).task, METHODS[params.algorithm]
    controls.view(
        st.selectbox, "Algorithm", "field_algorithm", params.algorithm,
        lambda name: state.change(algorithm=name, path="", at=None), options=METHODS.offered(task, params.algorithm),
        format_func=lambda name: METHODS[name].label, help=method.one_line,
    )  # fmt: skip
    acting = answer.acting(params)
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
                rows(params)


def presets(params: Params, offered: list[Preset], task: str) -> None:
    """Draw presets, each of which sets several parameters at once."""
    by_name = {preset.label: preset for preset in offered}
    active = next((preset.label for preset in offered if holds(preset, params, task)), None)

    def take(name: str | None) -> None:
        if name is None:
            return
        now = state.current()
        for setting, value in by_name[name].settings:
            now = now.with_setting(setting, value)
        state.set_params(replace(now, path=by_name[name].path or now.path, at=None))

    controls.view(
        st.pills, "Presets", f"preset_{params.algorithm}", active, take, options=list(by_name),
        help=by_name[active].help if active else "A preset sets several parameters at once.",
    )  # fmt: skip


def holds(preset: Preset, params: Params, task: str) -> bool:
    """Whether the parameters are those of the preset."""
    fixed = dict(params.settings)
    acting = applicable(METHODS[params.algorithm], task)
    usual = {control.name: control.default for control in acting if not is_open(params, control)}
    path = not preset.path or preset.path == answer.runs_over(params).key
    return path and all((usual | fixed).get(name) == value for name, value in preset.settings)


def path_over(params: Params) -> None:
    """Draw what the path runs over, where there is a choice."""
    method = METHODS[params.algorithm]
    if len(method.path_params) > 1:
        controls.view(
            st.segmented_control, "Path over", "field_path", answer.runs_over(params).key,
            lambda name: state.change(path="" if name == method.path_params[0] else name, at=None),
            options=list(method.path_params), format_func=places.symbol, required=True,
            help=answer.runs_over(params).help,
        )  # fmt: skip


def is_open(params: Params, control: Control) -> bool:
    """Whether folds choose a parameter unless a person fixes it."""
    return params.algorithm == "lp" and control.name in OPEN


def setting(params: Params, control: Control) -> None:
    """Draw a control; one that is open begins with the choice that leaves it so."""
    if not is_open(params, control):
        controls.setting(control)
        return

    def keep(value: Any) -> None:
        now = state.current()
        kept = tuple(pair for pair in now.settings if pair[0] != control.name)
        state.set_params(replace(now, settings=kept) if value == "" else now.with_setting(control.name, value))

    value = dict(params.settings).get(control.name, "")
    if control.kind == "choice":
        options: list[Any] = ["", *control.choices]
        named = lambda one: CHOSEN if one == "" else one.replace("_", "-")  # noqa: E731
        controls.view(
            st.selectbox, control.label, f"open_{control.name}", value, keep, options=options, format_func=named,
            help=control.help or None,
        )  # fmt: skip
        return
    steps = controls.NORMS if control.kind == "p" else controls.human_steps(control.low, control.high)
    options = ["", *sorted({*steps, *([] if value == "" else [value])})]
    controls.view(
        st.select_slider, control.label, f"open_{control.name}", value, keep, options=options,
        format_func=lambda one: CHOSEN if one == "" else style.number(one), help=control.help or None,
    )  # fmt: skip


def rows(params: Params) -> None:
    """Draw how many rows are learned from, and whether through features at a few landmarks."""
    whole = tables.table(params).n_samples
    controls.field_view(
        "Most rows to learn from", "rows", max_value=whole, step=max(1, min(500, whole // 10)),
        to=lambda rows: min(rows, whole), help="0: all of them. Fewer rows: a quicker and less sure answer.",
    )  # fmt: skip
    if not METHODS[params.algorithm].is_approximable or tables.on_stack(params):
        return
    controls.view(
        st.toggle, "Low rank", "field_low_rank", params.way == LOW_RANK,
        lambda on: state.change(way=LOW_RANK if on else "", at=None),
        help="On: every kernel becomes features at a few landmark rows, so that more rows are learned from.",
    )  # fmt: skip
    if params.way == LOW_RANK:
        now = params.landmarks or LANDMARKS
        controls.view(
            st.select_slider, "Landmarks", "field_landmarks", now, lambda count: state.change(landmarks=count),
            options=sorted({*STEPS, now}), help="More landmarks: less of each kernel is lost, and it takes longer.",
        )  # fmt: skip
