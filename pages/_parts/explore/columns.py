"""Explore, the first tab: which columns matter, how that compares with the baselines, and how stable it is."""

from functools import partial

import numpy as np
import streamlit as st

from mklcore.estimators.explain import Shares
from mklcore.figures import captions, selection_bars, style
from mklcore.paths.path import Path
from mklcore.selection import SelectionFrequency
from mklcore.selection.references import Reference
from pages._parts.derive import importance, paths, tables
from pages._parts.derive import shares as derive_shares
from pages._parts.drawing import beside, charts, leaks
from pages._parts.explore import noise, ranking, terms
from pages._parts.explore import views as explore_views
from pages._parts.export import downloads
from pages._parts.params import places
from pages._parts.players import path_player
from pages._parts.session import board, history, words
from pages._parts.session.memory import memory

Baselines = dict[str, Reference | None]


def views(shown: paths.Answer, baselines: Baselines) -> list[path_player.View]:
    """Return what follows the cursor on this tab."""
    columns, families = (derive_shares.shares(shown, what) for what in ("columns", "families"))
    return [
        explore_views.sentence(shown, columns, baselines),
        explore_views.share_view(columns, "columns"),
        explore_views.share_view(families, "families"),
        explore_views.scores(baselines),
    ]


def pictures(shown: paths.Answer, index: int, baselines: Baselines) -> None:
    """Draw the sentence, the shares per column and family, and the scores beside the baselines'."""
    path, dark, waiting = shown.path, charts.is_dark(), shown.older
    said, columns, families, scores = views(shown, baselines)
    by_column, by_family = (derive_shares.shares(shown, what) for what in ("columns", "families"))
    path_player.texts(said, path, index, [1], waiting=waiting)
    left, middle, right = st.columns([2, 1.1, 1.1], gap="medium")
    with left:
        ranking.at_rest(shown, index, history.current().column)
        noise.offer(history.current())
    with middle:
        rows = explore_views.share_rows(by_column, "columns", dark=dark)
        title = "Share at " if tables.on_stack(shown.params) else "Weight at "
        path_player.bars(
            columns, path, index, rows, title, waiting=waiting, unit="%", most=1.0, sortable=len(rows) > 2
        )  # fmt: skip
    with right:
        title = f"Validation {path.score_name} at "
        rows, unit = explore_views.score_rows(baselines, dark=dark), "%" if path.score_name in words.SHARES else ""
        longest = explore_views.longest_score(scores.of(path))
        path_player.bars(scores, path, index, rows, title, waiting=waiting, unit=unit, most=longest, moves=1)
        st.caption(_caption(shown, index, baselines))
        beside.unfinished(shown.params, baselines, shown.waiting or shown.earlier)
        rows = explore_views.share_rows(by_family, "families", dark=dark)
        path_player.bars(families, path, index, rows, "Share per family at ", waiting=waiting, unit="%", most=1.0)
    leaks.draw("ranking")
    ranking.detail(shown, index)
    terms.draw(shown, index)
    st.caption(explore_views.caveat(by_column, shown))


def _caption(shown: paths.Answer, index: int, baselines: Baselines) -> str:
    """Return where the baselines stand, and what columns acting together add."""
    gain = importance.together(shown.params, float(shown.path.values[index])).value
    text = explore_views.baselines_caption(baselines)
    if gain is None:
        return text
    unit = f"{100 * gain:+.1f} points" if shown.path.score_name in words.SHARES else f"{gain:+.3f}"
    return f"{text} Kernels of everything, for columns acting together: {unit}."


def stability(shown: paths.Answer, point: Path, index: int) -> None:
    """Draw how often each kernel and group was used in refits on half of the rows, once it is asked for."""
    value, params = float(point.values[index]), shown.params
    where = places.label(point.param, value)
    st.markdown("**How stable is the choice?**")
    frequency = paths.frequency(params, value)
    found = frequency.value
    if found is not None:
        _frequencies(shown, found, where)
        return
    job = board.mine(frequency.key)
    if job is not None and job.live:
        if memory().wishes.granted("watch_refits"):
            history.rerun()  # the whole app, so that the progress is drawn and watched
        st.caption(f"Refitting on halves of the training rows at {where}; the progress stands beside the title.")
        return
    if job is not None:
        st.warning(f"The refits {board.ending(job, 'were')}")
    st.caption(
        f"Refits the model at {where} on {paths.RESAMPLES} random halves of the training rows and counts which "
        f"kernels it uses."
    )
    st.button(
        "Refit on halves",
        key="ask_frequency",
        disabled=shown.waiting or shown.earlier,
        on_click=_ask,
        args=(shown, value),
    )


def _ask(shown: paths.Answer, value: float) -> None:
    board.ask(paths.frequency_job(shown.params, value))
    memory().wishes.watch_refits = True


def _frequencies(shown: paths.Answer, found: SelectionFrequency, where: str) -> None:
    members = derive_shares.shares(shown, "columns")
    left, right = st.columns([1.6, 1], gap="large")
    with left:
        families = _families(shown.path, found)
        names = captions.labels(found.kernel_names, families)
        draw = partial(selection_bars, found.share, found.n_resamples, names, families)
        charts.show(draw(dark=charts.is_dark()), "frequency")
        downloads.strip(draw, "How often each kernel was used")
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
