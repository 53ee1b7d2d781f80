"""Explore, spectra: which stretches of the wavelengths the model at the cursor uses, over the mean spectrum."""

from contextlib import suppress
from functools import partial

import numpy as np
import streamlit as st

from mklcore.data.grouping import measured_columns, wavelengths
from mklcore.errors import MKLError
from mklcore.figures import selected_bands
from mklcore.kernels.dictionary import kernel_edges
from mklcore.paths.path import Path
from pages._parts.derive import gram_stacks, importance, paths, tables
from pages._parts.export import downloads
from pages._parts.params import places


def axis_of(shown: paths.Answer) -> np.ndarray | None:
    """Return the wavelengths of the columns, where the table has spectra that kernels see in stretches.

    Columns that stand beside the spectra have none: not a number.
    """
    params = shown.params
    if shown.earlier or shown.waiting or tables.on_stack(params):
        return None
    kinds, data = {unit.kind for unit in importance.seen(params)}, tables.table(params)
    if not kinds & {"band", "group"}:
        return None
    along = measured_columns(data) or (list(range(data.n_features)) if kinds <= {"band", "group"} else [])
    axis = np.full(data.n_features, np.nan)
    with suppress(MKLError):
        axis[along] = wavelengths([data.feature_names[j] for j in along])
    return axis if np.isfinite(axis).any() else None


def draw(shown: paths.Answer, point: Path, index: int) -> None:
    """Draw the bands in use behind the mean spectrum, with their weights; kernels of all wavelengths are stated."""
    axis = axis_of(shown)
    if axis is None:
        return
    stack, train = gram_stacks.grams(shown.params).train, gram_stacks.parts(shown.params).train
    specs, weights = stack.specs or (), np.asarray(point.weights[index], dtype=float)
    along = np.flatnonzero(np.isfinite(axis))
    part = [m for m, spec in enumerate(specs) if len(spec.settled) < along.size and np.isin(spec.settled, along).all()]
    if not part or len(weights) != len(specs):
        return
    edges = kernel_edges([specs[m] for m in part], axis)
    order = along[np.argsort(axis[along], kind="stable")]
    order = order[np.concatenate([[True], np.diff(axis[order]) > 0])]  # second differences are at the same wavelengths
    unit = "nm" if any("nm" in (name[:2], name[-2:]) for name in (train.feature_names[j] for j in along)) else ""
    picture = partial(
        selected_bands,
        axis[order],
        train.X[:, order].mean(axis=0),
        edges,
        weights[part],
        [stack.names[m] for m in part],
        [stack.families[m] for m in part],
        spread=train.X[:, order].std(axis=0),
        unit=unit,
    )
    where = places.where(point, index)
    downloads.figure(picture, "Bands in use", "bands_in_use", f"**Which stretches are used**, at {where}")
    total = float(weights.sum()) or 1.0
    whole = sum(float(weights[m]) for m, spec in enumerate(specs) if len(spec.settled) >= along.size) / total
    st.caption(
        "Line: the mean of the training rows, with one standard deviation around it. Shaded: stretches that a kernel "
        "in use sees. "
        + (f"Kernels of all wavelengths carry {100 * whole:.0f} % of the weight." if whole > 0.005 else "")
    )
