"""What the page without a server asks of the library: one table, its answer, one row, files.

JSON and bytes go out.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas

from mklcore.answer.exploration import Exploration
from mklcore.answer.explore import STAGES, explore
from mklcore.data.dataset import Dataset
from mklcore.data.reading import TableSummary, describe_table, encoder_of, read_table
from mklcore.data.samples import load_sample
from mklcore.errors import DataError, suppress_convergence_warnings
from mklcore.estimators.hkl import HKLClassifier, HKLRegressor
from mklcore.estimators.shapley import shapley_values
from mklcore.figures.one_file import About, hulls_page
from mklcore.io.models import save_model
from mklcore.paths.path import fit_path

# of a grid that is small enough without compiled loops
HULL_COLUMNS = 3
HULL_ROWS = 120
HULL_PENALTIES = (0.3, 0.1, 0.03)
MOST_LEVELS = 40  # of a category that are offered for a row


class OpenedTable:
    """One table on the page: ``open`` or ``sample`` it, ``answer`` it, ask for a ``row``, the
    ``hull`` and the model.

    Every method returns JSON, but ``model``. DataError and other errors of this library are
    sentences for the page.
    """

    content: bytes
    summary: TableSummary
    table: Dataset
    found: Exploration

    def open(self, content: bytes) -> str:
        """Read what a person dropped: the names of its columns, and the target that is taken
        unasked.
        """
        self.summary = describe_table(content)
        self.content = content
        names = [column.name for column in self.summary.columns]
        return json.dumps(
            {"columns": names, "target": self.summary.target, "rows": self.summary.n_rows}
        )

    def sample(self, name: str) -> str:
        """The same for a sample of the library, as a file that a person might have dropped."""
        data = load_sample(name)
        frame = pandas.DataFrame(data.X, columns=list(data.feature_names))
        frame[data.target_name or "y"] = data.y
        self.open(frame.to_csv(index=False).encode())
        names = [column.name for column in self.summary.columns]
        return json.dumps(
            {"columns": names, "target": data.target_name or "y", "rows": data.n_samples}
        )

    def answer(
        self, target: str, row_groups: str = "", tell: Callable[[int, int, str], Any] | None = None
    ) -> str:
        """The answer about one target: sentence, notes, the page that moves, and what a row holds.

        ``row_groups`` names the column whose rows are held out together; ``tell(done, total,
        stage)`` is called as a stage ends.
        """

        def tick(done: int, total: int) -> None:
            if tell is not None:
                tell(done, total, STAGES[min(done, len(STAGES) - 1)])

        more = {"row_groups": row_groups} if row_groups else {}
        self.table = read_table(self.content, target, **more)
        with suppress_convergence_warnings():  # the page says what is not solved
            self.found = explore(self.table, callback=tick)
            page = self.found.page()
        notes = dict.fromkeys((*self.table.notes, *self.found.notes))
        return json.dumps(
            {
                "sentence": str(self.found.verdict),
                "notes": [str(note) for note in notes],
                "page": page,
                "row": self._row_fields(),
                "task": self.table.task,
                "hull": len(self._hull_columns()) > 1,
            }
        )

    def _row_fields(self) -> list[dict[str, Any]]:
        """The columns that a row has, with the first row's cells, and the categories that are
        known.
        """
        encoder = encoder_of(self.table)
        first = dict(
            zip(
                (column.name for column in self.summary.columns),
                self.summary.preview[0],
                strict=True,
            )
        )
        fields = []
        for name in dict.fromkeys((*dict(encoder.columns), *encoder.sequences, *encoder.texts)):
            levels = [
                one.level for one in encoder.features if one.column == name and one.role == "level"
            ]
            fields.append(
                {"name": name, "value": first.get(name, ""), "levels": levels[:MOST_LEVELS]}
            )
        return fields

    def row(self, cells: str) -> str:
        """What the model says of one row, ``cells`` its texts by column as JSON, and what every
        column adds to it.
        """
        given: dict[str, str] = json.loads(cells)
        file = io.StringIO()
        csv.writer(file).writerows([given.keys(), given.values()])
        rows = encoder_of(self.table).read(
            file.getvalue().encode(), header=True, delimiter=",", decimal=self.summary.decimal
        )
        model = self.found.model
        predicted = model.predict(rows.table)[0]
        is_number = self.table.task == "regression"
        said: dict[str, Any] = {
            "prediction": f"{float(predicted):.4g}" if is_number else str(predicted),
            "parts": [],
        }
        if self.table.task != "novelty":
            found = shapley_values(model, rows.table)
            values = found.values[0]
            base = np.ravel(found.base)
            place = 0
            if values.ndim == 2:
                place = list(model.classes_).index(predicted)
                values = values[:, place]
            said["base"] = float(base[min(place, base.size - 1)])
            names = [name for name, _ in model.source_columns_]
            said["parts"] = [
                [name, float(value)] for name, value in zip(names, values, strict=True)
            ]
            said["of"] = "the prediction" if is_number else "the decision"
        return json.dumps(said)

    def _hull_columns(self) -> list[int]:
        """The features, one a column, that matter most; none where hierarchical learning has no
        such problem.
        """
        if self.table.task not in ("binary", "regression"):
            return []
        single = {name: places[0] for name, places in self.table.columns if len(places) == 1}
        return [single[one.name] for one in self.found.columns if one.name in single][:HULL_COLUMNS]

    def hull(self) -> str:
        """A page with the hulls of the few columns that matter most, on a small grid."""
        columns = self._hull_columns()
        if len(columns) < 2:
            raise DataError(
                "A hull needs two columns of numbers or more, and a target of two classes "
                "or of numbers."
            )
        rows = self.table.drawn(min(HULL_ROWS, self.table.n_samples), 0)
        kind = HKLRegressor if self.table.task == "regression" else HKLClassifier
        with suppress_convergence_warnings():
            path = fit_path(kind(), rows.X[:, columns], rows.y, "lam", HULL_PENALTIES)
        names = [self.table.feature_names[j] for j in columns]
        about = About("Hulls of the columns that matter most", (("Rows", f"{rows.n_samples:,}"),))
        return json.dumps({"page": hulls_page(path, about, names=names)})

    def model(self) -> bytes:
        """The model as a file that ``load_model`` opens."""
        file = io.BytesIO()
        save_model(file, self.found.model)
        return file.getvalue()
