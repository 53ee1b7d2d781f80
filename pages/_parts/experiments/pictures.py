"""Experiments, methods beyond the five papers: each fitted on generated rows with known truth, as a picture."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from mklcore.experiments.pictures import PICTURES, JointFound, ScalesFound
from mklcore.figures import style
from mklcore.figures.pictures import column_scales, target_views
from pages._parts.derive import caches
from pages._parts.derive.derived import Derived, derived
from pages._parts.drawing import asking, charts
from pages._parts.jobs.job import Job
from pages._parts.params.parameters import Params
from pages._parts.session import board, fields

VIEWS = {"published": "Published", "further": "Beyond the papers"}


def choice() -> None:
    """Draw the choice between published experiments and further methods."""
    fields.field_view(
        "View", "experiments", kind=st.segmented_control, options=VIEWS, required=True, label_visibility="collapsed",
    )  # fmt: skip


def rail() -> None:
    """Draw which method, and the seed of its rows."""
    fields.field_view(
        "Method", "picture", kind=st.radio, options=list(PICTURES), format_func=lambda key: PICTURES[key].title
    )
    fields.field_view("Seed", "experiment_seed",
                      help="Another seed generates other rows.")  # fmt: skip


def draw(params: Params) -> None:
    """Draw the picture of the method chosen, once it is computed."""
    picture, found = PICTURES[params.picture], _found(params)
    st.subheader(picture.title, anchor=False)
    st.markdown(f"{picture.about} In Python: `{picture.estimator}`.")
    if found.value is None:
        asking.offer(
            found.key, lambda: board.ask(_job(params)),
            work="The fit", label="Fit", button="picture_run",
        )  # fmt: skip
        found = _found(params)
    if found.value is None:
        st.caption("The picture appears here once the model is fitted.")
        return
    drawings: dict[str, Callable[[Any], None]] = {"joint": _joint, "scales": _scales}
    drawings[params.picture](found.value)


def _found(params: Params) -> Derived[Any]:
    return derived(
        params, "picture", lambda one: (one.picture, one.experiment_seed), lambda _: caches.result_cache(Params())
    )


def _job(params: Params) -> Job:
    found, compute, seed = _found(params), PICTURES[params.picture].compute, params.experiment_seed
    return found.work("Fitting on generated rows", lambda _: compute(seed))


def _joint(found: JointFound) -> None:
    scores = [f"{name} {r2:.2f}" for name, r2 in zip(found.targets, found.r2, strict=True)]
    st.markdown(f"**R² on held-out rows: {style.joined(scores)}.** Certified within {style.percent(found.gap)}.")
    charts.show(target_views(found, dark=charts.is_dark()), "picture_views")


def _scales(found: ScalesFound) -> None:
    kept, decides = found.scales > 0, found.decides
    st.markdown(
        f"**{int((kept & decides).sum())} of the {int(decides.sum())} columns that decide have a scale above 0, and "
        f"{int((kept & ~decides).sum())} of the other {int((~decides).sum())}.** R² on held-out rows: {found.r2:.2f}. "
        "The problem is not convex, so there is no certificate."
    )
    charts.show(column_scales(found, dark=charts.is_dark()), "picture_scales")
