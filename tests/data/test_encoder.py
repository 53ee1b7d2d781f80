"""New files read as the training table was: the same features, and a refusal with a message for
what does not fit.
"""

import io

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mklcore import load_sample, read_table
from mklcore.data.reading import TableEncoder
from tests.helpers.every import every
from tests.helpers.refusals import data_error


def training(n=60, levels=3):
    rng = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "size": np.where(rng.random(n) < 0.1, np.nan, rng.standard_normal(n).round(3)),
            "colour": rng.choice([f"c{k}" for k in range(levels)], n),
            "sex": rng.choice(["f", "m"], n),
            "gappy": rng.choice(["a", "b", ""], n),
            "nr": np.arange(n),
            "label": rng.choice(["yes", "no"], n),
        }
    )


def csv(frame):
    return frame.to_csv(index=False).encode()


RAW = csv(training())
DATA = read_table(RAW, target="label")
READING = DATA.encoder


def test_the_training_file_gives_the_training_table():
    found = READING.read(RAW)
    assert np.array_equal(found.X, DATA.X)
    assert list(found.target) == list(DATA.y)
    assert any(note == "Not needed and left out: 'nr'." for note in found.notes)
    part = DATA.select(["colour=c1", "size"])
    assert np.array_equal(part.encoder.read(RAW).X, part.X)


@every("levels", [2, 20, 21, 30])
def test_categories_of_any_number_come_out_as_reading_made_them(levels):
    frame = training(600, levels)
    frame.loc[3, "colour"] = "other"
    raw = csv(frame)
    data = read_table(raw, target="label", uses={"colour": "category"})
    assert np.array_equal(data.encoder.read(raw).X, data.X)


def test_rows_without_a_target_do_not_move_the_medians():
    frame = training()
    frame.loc[:9, "label"] = ""
    raw = csv(frame)
    data = read_table(raw, target="label")
    assert data.n_samples == 50
    reading = data.encoder
    new = reading.read(csv(frame[["colour", "sex", "gappy", "size"]].tail(50)))
    assert np.array_equal(new.X, data.X)
    assert new.target is None


def test_columns_in_another_order_and_other_capitals_are_found_and_a_missing_one_is_named():
    frame = training().iloc[:, ::-1].rename(columns={"size": "SIZE"})
    assert np.array_equal(READING.read(csv(frame)).X, DATA.X)
    with data_error(r"lacks 2 columns the model needs: 'size', 'sex'"):
        READING.read(csv(frame.drop(columns=["SIZE", "sex"])))


def test_text_among_numbers_is_refused_with_its_row_and_empty_cells_are_filled():
    frame = training().astype({"size": object})
    frame.loc[4, "size"] = "tall"
    with data_error(r"'size' holds 'tall' in row 5, 1 such cell in all"):
        READING.read(csv(frame))
    frame["size"] = ""
    found = READING.read(csv(frame))
    assert np.unique(found.X[:, 0]).size == 1
    assert np.median(DATA.X[:, 0]) == pytest.approx(found.X[0, 0])
    assert any("60 missing cells of 'size' filled with the median" in note for note in found.notes)


def test_a_category_never_seen_is_reported_and_belongs_to_none():
    frame = training()
    frame["colour"] = "violet"
    found = READING.read(csv(frame))
    assert not found.X[:, [j for j, f in enumerate(READING.features) if f.column == "colour"]].any()
    assert any(
        "60 cells of 'colour' hold what the training table does not: 'violet'" in note
        for note in found.notes
    )


@every("missing", ["median", "indicator", "drop"])
def test_every_rule_for_missing_cells_and_every_use_of_a_column_is_repeated(missing):
    frame = training(80)
    frame.loc[[7, 9], "nr"] = -5
    frame = frame.astype({"size": object})
    frame.loc[11, "size"] = "tall"
    raw = csv(frame)
    uses = {
        "nr": "category" if missing == "median" else "number",
        "sex": "left out",
        "size": "number",
    }
    data = read_table(raw, target="label", uses=uses, missing=missing)
    found = data.encoder.read(raw).X
    assert np.array_equal(found, data.X) == (missing != "drop")  # new rows are all predicted
    assert len(found) == 80
    assert ("size missing" in data.feature_names) == (missing == "indicator")


def test_samples_are_read_from_their_own_columns_in_any_format():
    data = load_sample("diabetes")
    frame = pd.DataFrame(data.X, columns=list(data.feature_names)).assign(progression=data.y)
    file = io.BytesIO()
    frame.to_parquet(file)
    found = TableEncoder.plain(data).read(file.getvalue())
    assert np.array_equal(found.X, data.X)
    assert np.array_equal(found.target, data.y)
    german = frame.to_csv(index=False, sep=";", decimal=",").encode()
    assert_allclose(TableEncoder.plain(data).read(german).X, data.X)


@every("form", ["%Y-%m-%d %H:%M", "%d.%m.%Y %H:%M", "%m/%d/%Y %H:%M", "%d/%m/%y %H:%M"])
def test_dates_become_their_parts_that_vary_as_one_source_column(form):
    when = pd.date_range("2023-11-01", periods=90, freq="25h")
    texts = pd.Series(when.strftime(form))
    texts[3] = ""
    raw = csv(
        pd.DataFrame({"when": texts, "size": np.arange(90) % 7, "price": np.arange(90.0) ** 2})
    )
    data = read_table(raw, target="price")
    assert data.columns[0] == ("when", (0, 1, 2, 3, 4))
    assert data.feature_names[:5] == tuple(
        f"{part} of when" for part in ("hour", "weekday", "month", "year", "day")
    )
    kept = np.arange(90) != 3
    weekdays = np.array([day.weekday() for day in when])
    for j, wanted in enumerate([when.hour, weekdays, when.month, when.year]):
        assert_array_equal(data.X[kept, j], wanted[kept])
        assert data.X[3, j] == np.median(wanted[kept])  # a gap is filled as among numbers
    reading = data.encoder
    new = reading.read(csv(pd.DataFrame({"when": when[:2].strftime(form), "size": [0, 1]})))
    assert_array_equal(new.X, data.X[:2])
    with data_error("holds 'yesterday' in row 1, which is no date written as in training"):
        reading.read(csv(pd.DataFrame({"when": ["yesterday"], "size": [0]})))
