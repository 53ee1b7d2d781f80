"""Explore, spectra: which stretches of the wavelengths the model at the cursor uses, over the mean spectrum."""

from contextlib import suppress
from functools import partial

import numpy as np
import streamlit as st

from mklcore.data.spectra import wavelengths
from mklcore.errors import MKLError
from mklcore.figures import selected_bands
from mklcore.kernels.spectra import kernel_edges
from mklcore.path import Path
from pages._parts.derive import gram_stacks, importance, paths, tables
from pages._parts.drawing import charts
from pages._parts.export import downloads
from pages._parts.params import places


def axis_of(shown: paths.Answer) -> np.ndarray | None:
    """Return the wavelengths of the columns, where the table is a set of spectra that kernels see in stretches."""
    params = shown.params
    if shown.earlier or shown.waiting or tables.on_stack(params):
        return None
    if not {unit.kind for unit in importance.seen(params)} <= {"band", "group"}:
        return None
    with suppress(MKLError):
        return wavelengths(tables.table(params))
    return None


def draw(shown: paths.Answer, point: Path, index: int) -> None:
    """Draw the bands in use behind the mean spectrum, with their weights; kernels of all wavelengths are told in words."""
    axis = axis_of(shown)
    if axis is None:
        return
    stack, train = gram_stacks.grams(shown.params).train, gram_stacks.parts(shown.params).train
    specs, weights = stack.specs or (), np.asarray(point.weights[index], dtype=float)
    part = [m for m, spec in enumerate(specs) if len(spec.settled) < train.n_features]
    if not part or len(weights) != len(specs):
        return
    edges = kernel_edges([specs[m] for m in part], axis)
    order = np.argsort(axis, kind="stable")
    order = order[np.concatenate([[True], np.diff(axis[order]) > 0])]  # second differences lie at the same wavelengths
    unit = "nm" if any(name.endswith("nm") for name in train.feature_names) else ""
    picture = partial(
        selected_bands, axis[order], train.X[:, order].mean(axis=0), edges, weights[part],
        [stack.names[m] for m in part], [stack.families[m] for m in part], spread=train.X[:, order].std(axis=0), unit=unit,
    )  # fmt: skip
    where = places.label(point.param, float(point.values[index]))
    downloads.titled(f"**Which stretches are used**, at {where}", lambda: picture(), "Bands in use")
    charts.show(picture(dark=charts.is_dark()), "bands_in_use")
    total = float(weights.sum()) or 1.0
    whole = 1.0 - float(weights[part].sum()) / total
    st.caption(
        "Line: the mean of the training rows, with one standard deviation around it. Shaded: stretches that a kernel in use sees. "
        + (f"Kernels of all wavelengths carry {100 * whole:.0f} % of the weight." if whole > 0.005 else "")
    )
