"""How far several choices of k kernels are from the best k, and how soon the best k are proven.

    python -m benchmarks.best_k [DIR] [--seeds 0 1] [--record FILE] [--page FILE]

Samples of the library, and tables of DIR where it holds ``targets.csv``; at most ``ROWS`` rows to
learn from, a quarter of the table held out. One linear and one RBF kernel per column, of variance
one; lam of MKL-GOMP with five kernels by three folds. The first k kernels of a method are those of
`mklcore.estimators.best_k.excesses`; the best known choice is that of the longest search. Accuracies
on held-out rows are shown from ``FEW`` splits on. Seconds are those of one thread. The record keeps
what was measured; ``--page`` writes the tables between their marks, from the record.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import mklcore as mkl
from benchmarks.lines import command_line, include, read_record, targets_of, write_record
from benchmarks.tables import HELD_OUT
from mklcore.data.dataset import Dataset
from mklcore.data.reading import read_table
from mklcore.errors import suppress_convergence_warnings
from mklcore.estimators.best_k import excesses
from mklcore.figures.captions import PROVEN
from mklcore.figures.style import counted
from mklcore.io.catalog import ESTIMATORS

SAMPLES = ("breast_cancer", "diabetes")
FILES = ("heart-statlog.csv", "ionosphere.csv", "sonar.csv")
ROWS = 150
SIZES = (1, 2, 3, 5, 10)
SHOWN = (3, 5, 10)  # sizes of which the tables tell
BUDGETS = (1, 50, 300)  # relaxations
NEAR = 1e-3  # relative gap that counts as proven
FEW = 5  # splits below which accuracies tell nothing
LAMS = (0.01, 0.03, 0.1, 0.3)
COSTS = 10.0 ** np.linspace(-2.5, 1.5, 9)
CHOICES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "relaxation and swaps": ("best_k", "s", {"max_relaxations": 1}),
    "MKL-GOMP": ("gomp", "s", {"score_tol": 0.0}),
    "greedy descent": ("greedy", "s", {"n_kernels": SIZES[-1]}),
    "ℓ1, largest k": ("lp", "C", {"p": 1.0, "loss": "squared"}),
    "SMKL, largest k": ("smkl", "C", {"loss": "squared"}),
}
NORMS = {"ℓ1": 1.0, "p = 4/3": 4 / 3}


def tables(folder: Path | None) -> dict[str, Any]:
    """What reads each table, by name."""
    found: dict[str, Any] = {name: (mkl.load_sample, name) for name in SAMPLES}
    if folder is not None:
        targets = targets_of(folder)
        for file in FILES:
            found[Path(file).stem] = (read_table, folder / file, targets[file])
    return found


def measured(data: Dataset, seed: int) -> dict[str, Any]:
    """Everything about one split of a table."""
    train, test = data.split(HELD_OUT, seed)
    train = train.drawn(ROWS, seed)
    columns = mkl.KernelDictionary.per_feature
    kernels = mkl.KernelDictionary(
        (
            *columns(mkl.Linear(), data.n_features),
            *columns(mkl.RBF(1.0, relative=True), data.n_features),
        )
    )
    stack = kernels.grams(train.X, normalise="multiplicative")
    rest = stack.cross(test.X), test.y
    task = train.task

    def path(name: str, param: str, values: Sequence[float] | np.ndarray, **settings: Any) -> Any:
        model = ESTIMATORS[name].estimator(task, kernels="precomputed", **settings)
        return mkl.fit_path(model, stack, train.y, param, values, *rest)

    pursuit = ESTIMATORS["gomp"].estimator(task, kernels="precomputed", n_kernels=5)
    folds = mkl.cross_validate_path(pursuit, stack, train.y, "lam", LAMS, n_splits=3)
    lam = float(LAMS[int(np.argmax(folds.scores.mean(axis=0)))])
    gaps = {}
    seconds = {}
    for most in BUDGETS:
        began = time.process_time()
        best = path("best_k", "s", SIZES, lam=lam, max_relaxations=most)
        seconds[most] = time.process_time() - began
        gaps[most] = best.relative_gap.tolist()
    others = {}
    for label, (name, param, settings) in CHOICES.items():
        if param == "s":
            others[label] = path(name, param, SIZES, **settings, lam=lam)
        else:
            others[label] = path(name, param, COSTS, **settings)
    above = {
        label: shares.tolist() for label, shares in excesses(best, stack, train.y, others).items()
    }
    greedy_score = others["MKL-GOMP"].val_score[SIZES.index(5)]
    scores = {"best five": best.val_score[SIZES.index(5)], "MKL-GOMP, five": greedy_score}
    for label, p in NORMS.items():
        model = mkl.LpMKLClassifier if task != "regression" else mkl.LpMKLRegressor
        machine = model(p=p, loss="squared", kernels="precomputed")
        by_folds = mkl.cross_validate_path(machine, stack, train.y, "C", COSTS, n_splits=3)
        place = int(np.argmax(by_folds.scores.mean(axis=0)))
        scores[label] = path("lp", "C", COSTS[[place]], p=p, loss="squared").val_score[0]
    return {
        "rows": train.n_samples,
        "kernels": len(kernels),
        "task": task,
        "lam": lam,
        "gaps": gaps,
        "seconds": seconds,
        "above": above,
        "scores": {label: float(score) for label, score in scores.items()},
    }


def of_tables(record: Mapping[str, Any]) -> list[str]:
    """A row per table: its size, the seconds of a search, and how far bounds were from values."""
    lines = [
        "| table | rows | kernels | λ | CPU s of five relaxations with swaps | gap at the root, k = "
        f"{', '.join(map(str, SHOWN))} | proven after {BUDGETS[1]} relaxations | after "
        f"{BUDGETS[2]} |",
        "|---|---|---|---|---|---|---|---|",
    ]
    places = [SIZES.index(k) for k in SHOWN]
    for name, runs in record.items():
        every = list(runs.values())
        root, middle, last = (
            np.array([run["gaps"][str(most)] for run in every]) for most in BUDGETS
        )
        gaps = ", ".join(f"{100 * gap:.1f} %" for gap in root[:, places].mean(axis=0))
        lams = ", ".join(f"{lam:g}" for lam in sorted({run["lam"] for run in every}))
        seconds = np.mean([run["seconds"]["1"] for run in every])
        shares = [f"{100 * np.mean(found <= NEAR):.0f} %" for found in (middle, last)]
        size = f"{every[0]['rows']} | {every[0]['kernels']} | {lams} | {seconds:.2f}"
        lines.append(f"| {name} | {size} | {gaps} | {' | '.join(shares)} |")
    return lines


def of_choices(record: Mapping[str, Any]) -> list[str]:
    """A row per way to choose k kernels: how often it finds the best known, and its mean excess."""
    runs = [run for one in record.values() for run in one.values()]
    places = [SIZES.index(k) for k in SHOWN]
    lines = [
        f"| choice of k = {', '.join(map(str, SHOWN))} kernels | is the best known | mean excess |",
        "|---|---|---|",
    ]
    for label in CHOICES:
        found = np.array([np.array(run["above"][label], dtype=float)[places] for run in runs])
        known = found[np.isfinite(found)]
        share = 100 * np.mean(known <= PROVEN)
        lines.append(f"| {label} | {share:.0f} % | {100 * known.mean():.2g} % |")
    return lines


def of_scores(record: Mapping[str, Any]) -> list[str]:
    """Held-out accuracies, their mean over tables with classes and splits."""
    runs = [run for one in record.values() for run in one.values() if run["task"] != "regression"]
    labels = list(runs[0]["scores"])
    means = [f"{100 * np.mean([run['scores'][label] for run in runs]):.1f} %" for label in labels]
    head = f"| held-out accuracy | {' | '.join(labels)} |"
    return [head, f"|{'---|' * (len(labels) + 1)}", f"| mean | {' | '.join(means)} |"]


def page_of(record: Mapping[str, Any]) -> str:
    """The tables in Markdown, with what they rest on."""
    splits = max(len(runs) for runs in record.values())
    parts = [of_tables(record), of_choices(record)]
    if splits >= FEW:
        parts.append(of_scores(record))
    said = (
        f"{counted(len(record), 'table')}, at most {counted(splits, 'split')} of each. Proven: a gap of at most "
        f"{100 * NEAR:g} %, for k = {', '.join(map(str, SIZES))}. Best known: the best choice that "
        f"the search of {BUDGETS[2]} relaxations met."
    )
    return "\n\n".join([*("\n".join(lines) for lines in parts), said])


def main() -> None:
    """Measure what is not in the record yet, and print the tables."""
    parser = command_line(__doc__)
    parser.add_argument("folder", metavar="DIR", type=Path, nargs="?")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1])
    parser.add_argument("--record", type=Path, default=Path("benchmarks/records/best_k.json"))
    parser.add_argument("--page", type=Path)
    asked = parser.parse_args()
    record = read_record(asked.record)
    for seed in asked.seeds:
        for name, (read, *arguments) in tables(asked.folder).items():
            runs = record.setdefault(name, {})
            if str(seed) in runs:
                continue
            with suppress_convergence_warnings(), threadpool_limits(1):
                runs[str(seed)] = json.loads(json.dumps(measured(read(*arguments), seed)))
            write_record(asked.record, record)
            print(name, seed, runs[str(seed)], flush=True)
    found = page_of({name: runs for name, runs in record.items() if runs})
    print(found)
    if asked.page is not None:
        include(asked.page, "measured", found)


if __name__ == "__main__":
    main()
