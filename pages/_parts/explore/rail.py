"""Explore, the rail: algorithm, presets and loss; all other parameters under "More"."""

from dataclasses import replace

import streamlit as st

from mklcore.catalog import Preset
from pages._parts.derive import gram_stacks, paths, tables
from pages._parts.drawing import controls
from pages._parts.explore import many_rows
from pages._parts.params import parameters, places
from pages._parts.params.algorithms import METHODS, applicable
from pages._parts.session import fields, history


def draw() -> None:
    """Draw algorithm, presets and loss; under "More" all other parameters but the one the path runs over."""
    params = history.current()
    method = paths.algorithm(params)
    fields.view(
        st.selectbox, "Algorithm", "field_algorithm", params.algorithm,
        lambda name: history.change(algorithm=name, path="", at=None),
        options=METHODS.offered(tables.table(params).task, params.algorithm),
        format_func=lambda name: METHODS[name].label,
        help=method.one_line,
    )  # fmt: skip
    acting = paths.acting(params)
    first = next((control for control in acting if control.name == "loss"), None)
    if presets(params):
        _presets(params)
    else:
        _path_over(params)
    if first is not None:
        controls.setting(first)
    with st.expander("More", icon=":material/tune:", key="more_settings"):
        if presets(params):
            _path_over(params)
        for control in acting:
            if control is not first and not control.advanced:
                controls.setting(control)
        controls.scoring()
        _rows(params)
        for control in acting:
            if control is not first and control.advanced:
                controls.setting(control)


def _path_over(params: parameters.Params) -> None:
    """Draw what the path runs over, where there is a choice."""
    method = paths.algorithm(params)
    if len(method.path_params) > 1:
        fields.view(
            st.segmented_control, "Path over", "field_path", paths.runs_over(params).key,
            lambda name: history.change(path=name, at=None),
            options=list(method.path_params), format_func=places.symbol, required=True,
            help=paths.runs_over(params).help,
        )  # fmt: skip


def _rows(params: parameters.Params) -> None:
    """Draw how many training rows are used, where not all of them are unasked, and whether through features."""
    whole = len(tables.split(params).train.y)
    if params.rows or gram_stacks.is_drawn(params):
        fields.field_view(
            "Training rows", "rows", max_value=whole, step=max(1, min(500, whole // 10)),
            to=lambda rows: min(rows, whole),
            help="0: as many as answer soon. More rows: a surer answer, later; the time grows with their square.",
        )  # fmt: skip
    many_rows.control()


def presets(params: parameters.Params) -> list[Preset]:
    """Return the presets of the algorithm that make sense for the table."""
    task = tables.table(params).task
    return [preset for preset in paths.algorithm(params).presets if task in preset.tasks]


def holds(preset: Preset, params: parameters.Params) -> bool:
    """Tell whether the parameters are those of the preset."""
    method, task = paths.algorithm(params), tables.table(params).task
    now = {control.name: params.setting(control) for control in applicable(method, task)}
    same_path = not preset.path or preset.path == paths.runs_over(params).key
    return same_path and all(now.get(name) == value for name, value in preset.settings)


def _presets(params: parameters.Params) -> None:
    offered = presets(params)
    if not offered:
        return
    by_name = {preset.label: preset for preset in offered}
    active = next((preset.label for preset in offered if holds(preset, params)), None)

    def take(name: str | None) -> None:
        if name is None:
            return
        chosen, now = by_name[name], history.current()
        for setting, value in chosen.settings:
            now = now.with_setting(setting, value)
        history.set_params(replace(now, path=chosen.path or now.path, at=None))

    fields.view(
        st.pills, "Presets", f"preset_{params.algorithm}", active, take, options=list(by_name),
        help=by_name[active].help if active else "A preset sets several parameters at once.",
    )  # fmt: skip
