"""Compare, sparse against non-sparse: the toy experiment of the ℓp-norm paper, drawn point by point while it runs."""

import math
from typing import Any

import numpy as np
import streamlit as st

from mklcore.experiments import EXPERIMENTS, Line
from mklcore.experiments.claims import Claim
from mklcore.experiments.lp import BAYES, INFORMATIVE, N_CHECK, N_TRAIN, NORMS
from mklcore.figures import sparsity_figure, style
from mklcore.lessons.toy import N_FEATURES
from pages._parts.derive import caches
from pages._parts.derive.derived import together
from pages._parts.drawing import charts
from pages._parts.drawing.asking import offer
from pages._parts.jobs.job import Job, Piece, Report
from pages._parts.params.algorithms import METHODS
from pages._parts.params.parameters import Params
from pages._parts.session import board, fields, history, words

TOY = EXPERIMENTS["lp_fig3"]  # its upper half
SECONDS = 1.0  # of a run
SMALL = 2  # repetitions that start without being asked for
REFRESH_SECONDS = 1.0
DATA = (
    r"x\mid y=\pm 1\;\sim\;\mathcal N\big(\pm 1.75\,\vartheta/\|\vartheta\|,\;I\big),\qquad "
    r"\vartheta\in\{0,1\}^{50},\qquad \text{Bayes error }\;\Phi(-1.75)"
)

Runs = dict[tuple[str, int], list[float]]


def rail() -> None:
    """Draw how often and with which seed."""
    fields.field_view(
        "Repetitions", "toy_repetitions", max_value=TOY.repetitions
    )  # fmt: skip
    st.caption(
        "More repetitions: the error bars shrink with their square root, and the run takes longer in proportion."
    )
    fields.field_view("Seed", "toy_seed")
    st.caption("Another seed: other made data, and errors that differ by about their error bars.")


def store_key(seed: int) -> object:
    """Return the name of all runs with one seed."""
    return "toy", seed


def runs(params: Params) -> Runs:
    """Return what has been measured with this seed by anyone: made data belongs to nobody."""
    return caches.result_cache(Params()).get(store_key(params.toy_seed)) or {}


def missing(params: Params) -> list[tuple[str, int]]:
    """Return the runs that are asked for and not measured yet: every sparsity level once, then again."""
    done = runs(params)
    asked = [(row, repetition) for repetition in range(params.toy_repetitions) for row in INFORMATIVE]
    return [run for run in asked if run not in done]


def key(params: Params) -> object:
    """Return the name of the work."""
    return "toy", params.toy_seed, params.toy_repetitions


def job(params: Params) -> Job:
    """Return the work that measures what is missing; every run is in the cache as soon as it ends."""
    pieces = [_piece(params.toy_seed, *run) for run in missing(params)]
    return together(params, key, "Sparse against non-sparse", pieces, slot="long")


def _piece(seed: int, row: str, repetition: int) -> Piece:
    result_cache, store = caches.result_cache(Params()), store_key(seed)

    def measure(report: Report) -> list[float]:
        known = (result_cache.get(store) or {}).get((row, repetition))  # by somebody else, meanwhile
        report.pulse()
        return known or list(TOY.measure(Line(f"n = {N_TRAIN}, ν = {row}", seed, repetition, pause=report.pulse)))

    return Piece(
        measure, lambda found: result_cache.put(store, {**(result_cache.get(store) or {}), (row, repetition): found})
    )


def ask(params: Params) -> None:
    """Have the worker measure what is missing."""
    board.ask(job(params))


def table(found: Runs, repetitions: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return means, their standard errors (rows, norms), and how often each row was measured (rows,)."""
    shape = (len(INFORMATIVE), len(NORMS))
    means, errors, counts = np.full(shape, np.nan), np.full(shape, np.nan), np.zeros(len(INFORMATIVE), dtype=int)
    for place, row in enumerate(INFORMATIVE):
        samples = np.array([found[row, r][: len(NORMS)] for r in range(repetitions) if (row, r) in found])
        counts[place] = len(samples)
        if len(samples):
            means[place] = samples.mean(axis=0)
        if len(samples) > 1:
            errors[place] = samples.std(axis=0, ddof=1) / math.sqrt(len(samples))
    return means, errors, counts


def levels() -> list[str]:
    """Return the names of the sparsity levels."""
    return [f"{count} of {N_FEATURES} informative" for count in INFORMATIVE.values()]


def request(params: Params) -> None:
    """See to it that a small run is there or on its way; a larger one waits for its button."""
    left = missing(params)
    if not left:
        return
    seconds = SECONDS * len(left)
    length = f"about {seconds:.0f} s" if seconds < 100 else f"about {seconds / 60:.0f} min"
    offer(
        key(params), lambda: ask(params), small=lambda: params.toy_repetitions <= SMALL, again=True,
        work="The run", stays=" What was measured stays.",
        label=f"Measure {style.counted(len(left), 'run')} more, {length}", button="toy_run",
    )  # fmt: skip


def show(params: Params) -> None:
    """Draw the picture as far as it is measured, again every second while it grows."""
    progress = board.mine(key(params))
    live = progress is not None and progress.live

    @st.fragment(run_every=REFRESH_SECONDS if live else None)
    def growing() -> None:
        _picture(history.current())

    growing()
    st.latex(DATA)
    st.latex(METHODS["lp"].formula)
    did, reads = st.columns(2, gap="large")
    did.markdown(words.text("compare_toy_look").format(**_numbers()))
    claims = "\n".join(f"- {words.plain(claim.text)}" for claim in TOY.claims if _at_few_rows(claim))
    reads.markdown(f"**What the paper reports.** {TOY.paper}\n{claims}\n\n{words.text('compare_toy_cannot')}")


def _at_few_rows(claim: Claim) -> bool:
    """Tell whether a claim is about 50 training points, and not about numbers."""
    return claim.place == "section 6.1" and all(row.startswith(f"n = {N_TRAIN},") for row in claim.checks[0].rows)


def _numbers() -> dict[str, Any]:
    return {"train": N_TRAIN, "features": N_FEATURES, "check": f"{N_CHECK:,}".replace(",", " ")}


def _picture(params: Params) -> None:
    means, errors, counts = table(runs(params), params.toy_repetitions)
    figure = sparsity_figure(NORMS, levels(), means, errors, BAYES, dark=charts.is_dark())
    charts.show(figure, "toy_chart")
    least, most = int(counts.min()), int(counts.max())
    times = f"{least}" if least == most else f"{least} to {most}"
    bars = "bars are one standard error of the mean" if least > 1 else "no error bars before the second repetition"
    st.caption(f"Mean over {times} of {params.toy_repetitions} repetitions, seed {params.toy_seed}; {bars}.")
    if np.isfinite(means).all():
        st.markdown(f"**What this run shows.** {_seen(means)}")


def _seen(means: np.ndarray) -> str:
    """Return what the errors of this run say, norm by norm: where each is best, and how bad it gets."""
    best, names = means.argmin(axis=1), [style.number(p) for p in NORMS]
    counts, sentences = list(map(str, INFORMATIVE.values())), []
    for k, name in enumerate(names):
        at = [count for count, own in zip(counts, best, strict=True) if own == k]
        where = f" and is best with {style.joined(at)} informative" if at else ""
        sentences.append(f"p = {name} errs in at most {means[:, k].max():.1f} %{where}")
    return f"{'; '.join(sentences)}."
