"""Export a report of one page that loads nothing: facts, kernels, formula, certificate, score and three figures."""

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import plotly.graph_objects as go

import mklcore
from mklcore.catalog import Algorithm, Variant
from mklcore.figures import captions, score_path, style, weight_path, weights_bar
from mklcore.figures.formula import mathml
from mklcore.paths.path import Path
from pages._parts.derive import gram_stacks, judging, low_rank, paths, tables, terms
from pages._parts.derive.predictions import Chosen
from pages._parts.params import places
from pages._parts.session import words

MOST_KERNELS = 20
STYLE = """
body{font:15px/1.5 system-ui,sans-serif;color:#1a1a1a;background:#fff;max-width:60rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.6rem;margin:0}h2{font-size:1.1rem;margin:1.6rem 0 .4rem}p{margin:.4rem 0}
table{border-collapse:collapse;font-size:14px}td,th{padding:.15rem .8rem .15rem 0;text-align:left;vertical-align:top}
td.n{text-align:right;font-variant-numeric:tabular-nums}.q{color:#63625e}.badge{border:1px solid #1a1a1a;
border-radius:4px;padding:.05rem .4rem}.sure{background:#1a1a1a;color:#fff}figure{margin:.5rem 0}
code{font-size:13px;overflow-wrap:anywhere}
@media print{body{margin:0;max-width:none}}
"""
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"


@dataclass(frozen=True, eq=False)
class Report:
    """Everything the report tells, gathered while the page runs; `write` then needs no session."""

    title: str
    facts: tuple[tuple[str, str], ...]
    words: Algorithm | Variant
    sure: bool
    certificate: str
    scores: tuple[tuple[str, str], ...]
    terms: tuple[tuple[str, str], ...]
    weights: tuple[tuple[str, str, str], ...]
    path: Path
    point: Path
    index: int
    nearest: int


def gather(point: Chosen) -> Report:
    """Return what the report tells about the model at Explore's cursor."""
    params, path = point.params, point.path
    table, parts, method = tables.table(params), low_rank.parts(params), paths.algorithm(params)
    whole = paths.known(params) or path
    nearest = point.index if whole is path else places.place(whole, point.value).index
    name = tables.called(params)
    facts = [
        ("Table", f"{name}: {table.n_samples:,} rows, {table.n_features} columns; "
                  f"fingerprint {table.fingerprint[:16]}"),
        ("Target", f"{table.target_name}, {words.TASKS[table.task]}"),
        ("Rows", f"{len(parts.train.y)} for training, {len(parts.validation.y)} for validation, {len(parts.test.y)} "
                 f"for test, "
                 f"seed {params.seed}"),
        ("Kernels", f"{len(path.kernel_names)}, normalised: {gram_stacks.grams(params).train.normalise or 'no'}"),
        ("Method", f"{method.label} ({method.paper})"),
        ("At", places.label(path.param, point.value)),
    ]  # fmt: skip
    facts += [("Read", note) for note in table.notes[:8]]
    sure, said = _certificate(path, point.index)
    measured = (("train", path.train_score), ("validation", path.val_score))
    scores = tuple(
        (f"{part} {path.score_name}", words.score(path.score_name, float(v[point.index]))) for part, v in measured
    )
    scores += _sure(point)
    return Report(
        f"{method.label} on {name}",
        tuple(facts),
        paths.words_for(params),
        sure,
        said,
        scores,
        _terms(point),
        _weights(path, point.index),
        _short(whole),
        _short(path),
        point.index,
        nearest,
    )


def _sure(point: Chosen) -> tuple[tuple[str, str], ...]:
    """Return how wide intervals are, or how many classes sets hold, at the level that Predict uses."""
    if tables.on_stack(point.params) or tables.table(point.params).task == "novelty":
        return ()
    found = judging.held_out(point)
    if found is None:
        return ()
    level = f"{style.percent(judging.LEVEL)} split conformal"
    if found.classes is None:
        low, high = found.interval(np.zeros(1), judging.LEVEL)[0]
        return (
            (f"{level} prediction interval", f"the prediction and {style.number((high - low) / 2)} to either side"),
        )
    sizes = found.sets(judging.judged(point).decision, judging.LEVEL).sum(axis=1)
    return ((f"{level} prediction set", f"{sizes.mean():.2f} classes on average on validation rows"),)


def _short(path: Path) -> Path:
    """Return the path with the names a picture has room for."""
    return replace(path, kernel_names=captions.labels(path.kernel_names, path.kernel_families))


def _certificate(path: Path, index: int) -> tuple[bool, str]:
    gap, status = float(path.relative_gap[index]), path.statuses[index]
    if np.isnan(gap):
        return False, "no certificate: another answer may be better"
    if status.ok:
        return True, f"certified: within {style.percent(gap)} of the optimum"
    return False, f"not certified: gap {style.percent(gap)}; {status.value}"


def _terms(point: Chosen) -> tuple[tuple[str, str], ...]:
    """Return the columns and pairs of the model with their shares of the variance, none for a stack."""
    if not terms.can_be_found(point.params):
        return ()
    found = terms.terms(point.params, point.path, point.index).terms[:MOST_KERNELS]
    return tuple((" × ".join(one.columns), style.percent(one.share)) for one in found)


def _weights(path: Path, index: int) -> tuple[tuple[str, str, str], ...]:
    values = np.asarray(path.weights[index], dtype=float)
    order = [int(m) for m in np.argsort(-values, kind="stable") if values[m] > 0][:MOST_KERNELS]
    total = float(values.sum()) or 1.0
    return tuple((path.kernel_names[m], style.number(values[m]), style.percent(values[m] / total)) for m in order)


def write(gathered: Report) -> str:
    """Return the report as one HTML file that asks no server for anything."""
    drawn = "".join(_figure(title, make(), first=k == 0) for k, (title, make) in enumerate(figures(gathered).items()))
    used = int(gathered.point.n_nonzero[gathered.index])
    parts = [
        f"<h1>{_safe(gathered.title)}</h1>",
        f"<p class='q'>Written by MKL Explorer, mklcore {_safe(mklcore.__version__)}.</p>",
        f"<p><span class='badge{' sure' * gathered.sure}'>{_safe(gathered.certificate)}</span> "
        f"{used} of {len(gathered.point.kernel_names)} kernels used</p>",
        _table((), gathered.scores),
        "<h2>What was computed</h2>",
        _table((), gathered.facts),
        mathml(gathered.words.formula),
        f"<h2>Columns, alone and together</h2>{_table(('term', 'share of the variance'), gathered.terms)}"
        if gathered.terms
        else "",
        f"<h2>Kernel weights</h2>{_table(('kernel', 'weight', 'share'), gathered.weights)}",
        drawn,
        f"<h2>How to read it</h2><p>{_safe(gathered.words.look_for)}</p><p>{_safe(gathered.words.cannot_tell)}</p>",
    ]
    head = (
        f"<meta charset='utf-8'><meta http-equiv='Content-Security-Policy' content=\"{POLICY}\">"
        f"<meta name='viewport' "
        f"content='width=device-width'><title>{_safe(gathered.title)}</title><style>{STYLE}</style>"
    )
    return f"<!DOCTYPE html><html lang='en'><head>{head}</head><body>{''.join(parts)}</body></html>"


def figures(gathered: Report) -> dict[str, Callable[[], go.Figure]]:
    """Return what draws the figures of the model, by their titles."""
    path, whole = gathered.point, gathered.path
    peaks = whole.weights if whole.kernel_names == path.kernel_names else path.weights
    found: dict[str, Callable[[], go.Figure]] = {
        "Weights at the cursor": lambda: weights_bar(
            path.weights[gathered.index], path.kernel_names, path.kernel_families,
            peaks=style.peak_weights(peaks, len(path.kernel_names)), certified=path.statuses[gathered.index].ok,
        )
    }  # fmt: skip
    if len(whole) > 1:
        found["Solution path"] = lambda: weight_path(whole, gathered.nearest)
        found["Scores along the path"] = lambda: score_path(whole, gathered.nearest)
    return found


def _figure(title: str, figure: go.Figure, *, first: bool) -> str:
    alt = _safe(figure.layout.meta["alt"])
    body = figure.to_html(full_html=False, include_plotlyjs=first, config={"displaylogo": False, "responsive": True})
    return f"<h2>{_safe(title)}</h2><figure role='img' aria-label=\"{alt}\">{body}</figure>"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    top = f"<tr>{''.join(f'<th>{_safe(word)}</th>' for word in head)}</tr>" if head else ""
    body = "".join("<tr>" + "".join(f"<td>{_safe(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table>{top}{body}</table>"


def _safe(text: object) -> str:
    return html.escape(str(text), quote=True)
