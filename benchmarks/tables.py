"""The first answer beside plain models on the tables of a folder: scores on held-out rows, ranks, seconds, what was
refused.

    python -m benchmarks.tables DIR [--seeds 0 1 2] [--only NAME ...] [--models ours forest ...] [--again] [--record
    FILE] [--page FILE] [--load WORDS]

DIR holds tables and `targets.csv` (file,target). A quarter of the rows is held out, by class where there are classes;
`ours` is the model of `explore(train, test_size=0)`, the others are scikit-learn's on the same training rows, each with
its parameters chosen by its own folds. The score is accuracy, or R² for numbers; a mean over the seeds, with the
standard error of the seeds' means. Seconds are of the processor. Every model of a table goes into the record as soon as
it is measured, so that an interrupted run goes on where it was; `--again` measures once more what is asked for.
`--page` writes the table as Markdown, with what `--load` says of the machine.
"""

from __future__ import annotations

import argparse
import csv
import json
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mklcore.data.dataset import Dataset
from mklcore.data.reading import read_table

HELD_OUT = 0.25
FOLDS = 5
CHOSEN_ON = 3000  # training rows on which the parameters of a plain model are chosen
FIRST = 5.0  # seconds of the processor within which a ranking should be there
TOP = 3  # columns of the settled ranking among which the first of the preliminary one should be
Grid = Mapping[str, Sequence[Any]]
Row = dict[str, Any]


def folder_tables(folder: Path) -> Iterator[tuple[str, bytes, str | None]]:
    """Every table of a folder with the target that its file targets.csv names."""
    lines = csv.DictReader((folder / "targets.csv").read_text(encoding="utf-8").splitlines())
    for line in lines:
        yield line["file"], (folder / line["file"]).read_bytes(), line["target"] or None


def _linear(classes: bool) -> tuple[Any, Grid]:
    from sklearn.linear_model import LogisticRegression, Ridge

    if classes:
        return make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)), {
            "logisticregression__C": np.geomspace(1e-3, 1e2, 6)
        }
    return make_pipeline(StandardScaler(), Ridge()), {"ridge__alpha": np.geomspace(1e-3, 1e3, 7)}


def _rbf(classes: bool) -> tuple[Any, Grid]:
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.svm import SVC, SVR

    values = [0.1, 1.0, 10.0, 100.0]
    if classes:
        return make_pipeline(StandardScaler(), SVC(max_iter=500_000)), {"svc__C": values}
    machine = make_pipeline(StandardScaler(), SVR(max_iter=500_000))
    return TransformedTargetRegressor(machine, transformer=StandardScaler()), {"regressor__svr__C": values}


def _forest(classes: bool) -> tuple[Any, Grid]:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    kind = RandomForestClassifier if classes else RandomForestRegressor
    return kind(200, random_state=0), {"min_samples_leaf": [1, 5], "max_features": ["sqrt", 0.5]}


def _boosting(classes: bool) -> tuple[Any, Grid]:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    kind = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    return kind(random_state=0), {"learning_rate": [0.03, 0.1], "max_leaf_nodes": [7, 31]}


PLAIN: dict[str, Callable[[bool], tuple[Any, Grid]]] = {
    "linear": _linear, "RBF": _rbf, "forest": _forest, "boosting": _boosting,
}  # fmt: skip
MODELS = ("ours", *PLAIN)


def plain(name: str, train: Dataset) -> Any:
    """A plain model, its parameters chosen by folds on at most ``CHOSEN_ON`` rows, fitted on all."""
    from sklearn.model_selection import KFold, StratifiedKFold

    classes = train.task != "regression"
    model, grid = PLAIN[name](classes)
    few = train.drawn(CHOSEN_ON, 0)
    cut: Any = (StratifiedKFold if classes else KFold)(FOLDS, shuffle=True, random_state=0)
    search = GridSearchCV(model, dict(grid), cv=cut, refit=False).fit(few.X, few.y)
    return model.set_params(**search.best_params_).fit(train.X, train.y)


def ours(train: Dataset) -> tuple[Any, dict[str, Any]]:
    """The model of the first answer on all these rows, without the plain models beside it; the seconds until its
    preliminary and its settled ranking were there, and whether the first column of the one is among the first ``TOP``
    of the other (1 or 0).
    """
    from mklcore.exploration import Preliminary, explore

    looks = list[Preliminary]()
    found = explore(train, test_size=0, baselines=False, preliminary=looks.append)
    more = {"first": found.seconds[0], "kernels": len(found.path.kernel_names)}
    for look in looks:
        more["preliminary"] = look.seconds[0]
        more["same"] = float(look.columns[0].name in [one.name for one in found.columns[:TOP]])
    return found.model, more


def measured(name: str, data: Dataset, seed: int) -> Row:
    """One model on one table: its score on the held-out rows, or why there is none."""
    train, test = data.split(HELD_OUT, seed)
    began, more = time.process_time(), {}
    try:
        model, more = ours(train) if name == "ours" else (plain(name, train), {})
        spent = time.process_time() - began
        said = model.predict(test.X)
    except Exception as error:
        return {"refused": f"{type(error).__name__}: {error}", "seconds": round(time.process_time() - began, 2)}
    score = r2_score(test.y, said) if data.task == "regression" else accuracy_score(test.y, said)
    reported = {key: round(value, 2) for key, value in more.items()}
    return {"score": round(float(score), 5), "seconds": round(spent, 2), **reported}


# The table


def ranks(scores: Sequence[float]) -> np.ndarray:
    """Ranks from 1, the best first; equal scores share the mean of theirs, a missing one is the last."""
    from scipy.stats import rankdata

    return np.asarray(rankdata(-np.nan_to_num(scores, nan=-np.inf)))


def _of(record: Mapping[str, Any], table: str, model: str, seed: int, what: str) -> float:
    row = record.get(table, {}).get(model, {}).get(str(seed), {})
    return float(row.get(what, np.nan))


def with_error(values: Sequence[float], digits: int = 3) -> str:
    """A mean over the seeds with its standard error, where there are several."""
    known = np.asarray(values, dtype=float)
    known = known[np.isfinite(known)]
    if not known.size:
        return "–"
    error = f" ± {known.std(ddof=1) / np.sqrt(known.size):.{digits}f}" if known.size > 1 else ""
    return f"{known.mean():.{digits}f}{error}"


def summary(record: Mapping[str, Any], names: Sequence[str], seeds: Sequence[int], models: Sequence[str]) -> list[str]:
    """The lines of the table: scores by table and model, then means, ranks, seconds, refusals."""
    head = ["table", "rows", *models]
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    whole = [name for name in names if all(str(s) in record.get(name, {}).get(m, {}) for m in models for s in seeds)]
    scores = np.array([[[_of(record, t, m, s, "score") for m in models] for s in seeds] for t in whole])
    for k, name in enumerate(whole):
        size = f"{record[name]['rows']:,}"
        lines.append(f"| {name} | {size} | {' | '.join(with_error(scores[k, :, j]) for j in range(len(models)))} |")
    if not whole:
        return [*lines, "| no table is complete |"]
    places = np.array([[ranks(scores[t, s]) for s in range(len(seeds))] for t in range(len(whole))])
    counted = np.where(np.isnan(scores), 0.0, np.maximum(scores, 0.0))  # a refusal explains nothing
    for what, table, digits in (("mean score", counted, 4), ("mean rank", places, 2)):
        by_seed = table.mean(axis=0)
        shown = [with_error(by_seed[:, j], digits) for j in range(len(models))]
        lines.append(f"| **{what}** | | {' | '.join(shown)} |")
    spent = np.array([[[_of(record, t, m, s, "seconds") for m in models] for s in seeds] for t in whole])
    lines.append(f"| CPU s, median | | {' | '.join(f'{v:.1f}' for v in np.nanmedian(spent, axis=(0, 1)))} |")
    lines.append(f"| CPU s, 90 % | | {' | '.join(f'{v:.1f}' for v in np.nanquantile(spent, 0.9, axis=(0, 1)))} |")
    lines.append(f"| refused | | {' | '.join(str(int(v)) for v in np.isnan(scores).sum(axis=(0, 1)))} |")
    if "ours" in models:
        lines += _waiting(record, whole, seeds)
    return lines


def _waiting(record: Mapping[str, Any], names: Sequence[str], seeds: Sequence[int]) -> list[str]:
    """How long one waits for the rankings of ours, and what the preliminary one is worth."""
    lines = list[str]()
    for what, called in (("preliminary", "preliminary ranking"), ("first", "settled ranking")):
        spent = np.array([_of(record, t, "ours", s, what) for t in names for s in seeds])
        if (spent := spent[np.isfinite(spent)]).size:
            middle, most = np.median(spent), np.quantile(spent, 0.9)
            lines += ["", f"The {called} of ours after CPU s: median {middle:.1f}, 90 % {most:.1f}, worst "
                          f"{spent.max():.1f}; within {FIRST:g} s on {np.mean(spent <= FIRST):.0%}."]  # fmt: skip
    same = np.array([_of(record, t, "ours", s, "same") for t in names for s in seeds])
    if (same := same[np.isfinite(same)]).size:
        lines += ["", f"The first column of the preliminary ranking is among the first {TOP} of the settled one on "
                      f"{same.mean():.0%}."]  # fmt: skip
    return lines


def main() -> None:
    """Measure what is not in the record yet, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", metavar="DIR", type=Path)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=MODELS)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--record", type=Path, help="default: tables.json in the working folder", default="tables.json")
    parser.add_argument("--page", type=Path, help="where the table is written, too")
    parser.add_argument("--load", default="", help="what else the machine did meanwhile, for that page")
    asked = parser.parse_args()
    record: dict[str, Any] = json.loads(asked.record.read_text("utf-8")) if asked.record.exists() else {}
    tables = [one for one in folder_tables(asked.folder) if not asked.only or one[0] in asked.only]
    for name, content, target in tables:
        table = record.setdefault(name, {})
        todo = [(m, s) for m in asked.models for s in asked.seeds if asked.again or str(s) not in table.get(m, {})]
        if not todo:
            continue
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            data = read_table(content, target)
            table["rows"], table["task"] = data.n_samples, data.task
            for model, seed in todo:
                found = measured(model, data, seed)
                table.setdefault(model, {})[str(seed)] = found
                asked.record.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
                print(f"{name}, {model}, seed {seed}: {found}", flush=True)
    lines = summary(record, [name for name, *_ in tables], asked.seeds, asked.models)
    print("\n".join(lines))
    if asked.page is not None:
        asked.page.write_text(page(lines, asked.seeds, asked.load), encoding="utf-8")


def page(lines: Sequence[str], seeds: Sequence[int], load: str) -> str:
    """The table as a page."""
    drawn = f"{len(seeds)} random draw{'s' if len(seeds) > 1 else ''} of the held-out rows"
    about = f"Score on held-out rows (accuracy, or R² for numbers), {drawn}. Seconds of the processor"
    head = "# A first answer beside plain models on public tables", "Written by `python -m benchmarks.tables`."
    return "\n\n".join([*head, f"{about}{load and '; '}{load}.", "\n".join(lines)]) + "\n"


if __name__ == "__main__":
    main()
