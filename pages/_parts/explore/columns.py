"""Explore, below the chart of columns: each of them closely, plain models beside it, and how stable the choice is."""

from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from mklcore.estimators.explain import Shares
from mklcore.figures import captions, selection_bars, style
from mklcore.paths.path import Path
from mklcore.selection import SelectionFrequency
from mklcore.selection.references import Reference
from pages._parts.derive import importance, looks, paths, tables
from pages._parts.derive import noise as derive_noise
from pages._parts.drawing import asking, beside, charts, leaks
from pages._parts.explore import chart, noise, ranking, terms, verdict
from pages._parts.explore import views as explore_views
from pages._parts.export import downloads
from pages._parts.params import places
from pages._parts.players import path_player
from pages._parts.session import board, history, words

Baselines = dict[str, Reference | None]


def views(shown: paths.Answer, baselines: Baselines) -> list[path_player.View]:
    """Return what follows the cursor on this tab."""
    columns, families = (importance.shares(shown, what) for what in ("columns", "families"))
    return [
        chart.view(shown),
        explore_views.sentence(shown, columns, baselines),
        explore_views.share_view(columns, "weights"),
        explore_views.share_view(families, "families"),
        explore_views.scores(baselines),
    ]


def deeper(shown: paths.Answer, index: int, baselines: Baselines) -> None:
    """Draw what is one click deeper, each part as soon as it is opened; a first look has too few rows for any of it."""
    if shown.stage == looks.FIRST:
        return
    each = _fold("Each column: its effect, and what the score loses without it", "deep_columns", "view_list")
    if each.open:
        with each:
            ranking.offer(shown, index)
            ranking.at_rest(shown, index, history.current().column)
            leaks.draw("ranking")
            ranking.detail(shown, index)
            terms.draw(shown, index)
    beside_it = _fold("Plain models, scores and kernel weights", "deep_models", "balance")
    if beside_it.open:
        with beside_it:
            _models(shown, index, baselines)
    if not derive_noise.can_be_selected(history.current()):
        return
    reported = _fold("Which columns are distinguishable from noise", "deep_noise", "grain")
    if reported.open:
        with reported:
            noise.offer(history.current())


def _fold(label: str, key: str, icon: str) -> Any:
    """Return a part of the page that is drawn once it is opened."""
    return st.expander(label, icon=f":material/{icon}:", key=key, type="compact", on_change="rerun")


def _models(shown: paths.Answer, index: int, baselines: Baselines) -> None:
    """Draw the plain models, and the weights of columns and families at the cursor."""
    path, dark, waiting = shown.path, charts.is_dark(), shown.older
    verdict.table(shown)
    baselines = beside.found(shown.params, shown.waiting or shown.earlier)
    _, said, weights, families, scores = views(shown, baselines)
    by_column, by_family = (importance.shares(shown, what) for what in ("columns", "families"))
    path_player.texts(said, path, index, [1], waiting=waiting)
    left, right = st.columns(2, gap="large")
    with left:
        rows = explore_views.share_rows(by_column, "columns", dark=dark)
        title = "Share at " if tables.on_stack(shown.params) else "Share of kernel weight at "
        path_player.bars(
            weights, path, index, rows, title, waiting=waiting, unit="%", most=1.0, sortable=len(rows) > 2
        )  # fmt: skip
        st.caption(explore_views.caveat(by_column, shown))
    with right:
        title = f"Validation {path.score_name} at "
        rows, unit = explore_views.score_rows(baselines, dark=dark), "%" if path.score_name in words.SHARES else ""
        longest = explore_views.longest_score(scores.of(path))
        path_player.bars(scores, path, index, rows, title, waiting=waiting, unit=unit, most=longest, moves=1)
        st.caption(_caption(shown, index, baselines))
        beside.unfinished(shown.params, baselines, shown.waiting or shown.earlier)
        rows = explore_views.share_rows(by_family, "families", dark=dark)
        path_player.bars(families, path, index, rows, "Share per family at ", waiting=waiting, unit="%", most=1.0)


def _caption(shown: paths.Answer, index: int, baselines: Baselines) -> str:
    """Return where the baselines stand, and what columns acting together add."""
    gain = importance.together(shown.params, float(shown.path.values[index])).value
    text = explore_views.baselines_caption(baselines)
    if gain is None:
        return text
    unit = f"{100 * gain:+.1f} points" if shown.path.score_name in words.SHARES else f"{gain:+.3f}"
    return f"{text} Kernels of everything, for columns acting together: {unit}."


def stability(shown: paths.Answer, point: Path, index: int) -> None:
    """Draw how often each kernel and group was used in refits on half samples, once it is opened and asked for."""
    opened = _fold("Stability selection: how often each kernel is used", "deep_stability", "repeat")
    if opened.open:
        with opened:
            _stability(shown, point, index)


def _stability(shown: paths.Answer, point: Path, index: int) -> None:
    value, params = float(point.values[index]), shown.params
    where = places.label(point.param, value)
    frequency = paths.frequency(params, value)
    found = frequency.value
    if found is not None:
        _frequencies(shown, found, where)
        return
    st.caption(
        f"Refits the model at {where} on {paths.RESAMPLES} random half samples of the training rows and counts "
        f"which kernels it uses."
    )
    asking.button(
        frequency.key, lambda: board.ask(paths.frequency_job(params, value)), "Run stability selection",
        "ask_frequency", "The refits", "were", "Refitting; the progress is beside the title.",
        disabled=shown.waiting or shown.earlier,
    )  # fmt: skip


def _frequencies(shown: paths.Answer, found: SelectionFrequency, where: str) -> None:
    members = importance.shares(shown, "columns")
    left, right = st.columns([1.6, 1], gap="large")
    with left:
        families = _families(shown.path, found)
        names = captions.labels(found.kernel_names, families)
        draw = partial(selection_bars, found.share, found.n_resamples, names, families)
        downloads.figure(draw, "How often each kernel was used", "frequency")
    with right:
        st.markdown("At least one kernel used:\n" + "\n".join(_by_group(shown.path, found, members)))
        used = found.n_used
        st.caption(
            f"At {where}, between {int(np.min(used))} and {style.counted(int(np.max(used)), 'kernel')} per refit. "
            f"Kernels "
            "that look alike stand in for each other: each may be rare although one of them is always there."
        )


def _by_group(path: Path, found: SelectionFrequency, members: Shares) -> list[str]:
    """Return a line per group of columns: in how many refits at least one of its kernels was used."""
    groups = zip(members.names, members.members, strict=True)
    often = [(name, found.of_any(_places(path, found, kernels))) for name, kernels in groups]
    often.sort(key=lambda pair: -pair[1])
    n = found.n_resamples
    return [f"- {words.plain(name)}: **{round(share * n)}** of {n}" for name, share in often[:8]]


def _families(path: Path, found: SelectionFrequency) -> list[str]:
    family = dict(zip(path.kernel_names, path.kernel_families, strict=True))
    return [family.get(name, "precomputed") for name in found.kernel_names]


def _places(path: Path, found: SelectionFrequency, kernels: tuple[int, ...]) -> list[int]:
    place = {name: k for k, name in enumerate(found.kernel_names)}
    return [place[path.kernel_names[m]] for m in kernels if path.kernel_names[m] in place]
