"""A target whose logarithm is predicted: it is offered where folds prefer it, effects are changes in
per cent, and new rows are predicted on the scale of the table.
"""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from mklcore import explore, read_table, save_model, verify
from mklcore.answer.verdict import change, rounded
from mklcore.errors import Note
from tests.helpers.models import reloaded
from tests.helpers.refusals import data_error


def flats(n=240, seed=0):
    """Flats whose price grows in proportion to what is better about them."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({
        "size": rng.normal(80, 25, n).round(1),
        "rooms": rng.integers(1, 6, n) + rng.normal(0, 0.1, n).round(2),
        "floor": rng.normal(3, 2, n).round(1),
    })  # fmt: skip
    logs = 10 + 0.025 * frame["size"] + 0.2 * frame.rooms + 0.2 * frame.floor
    logs += rng.normal(0, 0.05, n)
    frame["price"] = np.exp(logs).round()
    return frame


def offers(found):
    """The settings that the notes of an answer offer."""
    return [dict(repair.settings) for note in map(Note.of, found.notes) for repair in note.repairs]


@pytest.fixture(scope="module")
def found():
    return explore(read_table(flats(), "price", log_target=True))


def test_reading_takes_the_logarithm_and_offers_the_way_back():
    frame = flats()
    data = read_table(frame, "price", log_target=True)
    assert_allclose(data.y, np.log(frame.price))
    assert (data.target_name, data.log_of) == ("log price", "price")
    settings = dict(Note.of(data.notes[-1]).repairs[0].settings)
    plain = read_table(frame, "price", **settings)
    assert plain == read_table(frame, "price")
    assert plain.log_of == ""
    assert data.split(0.3)[1].log_of == "price"


def test_what_has_no_logarithm_is_refused_with_its_repair():
    frame = flats()
    for target, values in (("profit", frame.price - 1e5), ("kind", frame.price > 1e6)):
        table = frame.drop(columns="price").assign(**{target: values})
        with data_error(f"'{target}' has no logarithm") as refused:
            read_table(table, target, log_target=True)
        again = dict(refused.value.repairs[0].settings)
        assert read_table(table, target, **again).target_name == target


def test_the_logarithm_is_offered_where_folds_prefer_it_and_only_there(found):
    frame = flats()
    plain = explore(frame, "price")
    assert offers(plain) == [{"log_target": True}]
    (text,) = [str(note) for note in plain.notes if "logarithm" in note]
    assert text.startswith("Errors of price grow with it, so its logarithm may serve better: folds")
    assert offers(found) == []
    # skewed like the prices, but a straight line of a column that is
    line = pd.DataFrame({"lot": frame.price, "floor": frame.floor})
    line["price"] = 3 * line.lot + 1e5 * frame.floor.rank() / len(frame)
    assert offers(explore(line, "price")) == []
    # neither is one tried that is not skewed, nor one that is 0 in some row
    even = frame.assign(price=np.log(frame.price))
    assert offers(explore(even, "price")) == []
    some = frame.assign(price=frame.price.where(frame.index > 0, 0.0))
    assert offers(explore(some, "price")) == []


def test_the_logarithm_is_offered_where_squared_errors_of_the_target_hardly_tell():
    rng = np.random.default_rng(3)
    features = rng.normal(size=(400, 4)) / 2
    logs = 5 + features @ [1, 0.5, 0, 0]
    noise = rng.normal(size=400)
    tables = {
        "in proportion": np.exp(logs + 0.4 * noise),
        "no relation": np.exp(noise),
        "in steps of one size": np.maximum(logs**4 / 100 + noise, 0.1),
    }
    found = {}
    for name, price in tables.items():
        frame = pd.DataFrame(features, columns=list("abcd")).assign(price=price)
        found[name] = offers(explore(frame, "price", test_size=0.0))
    assert found == {
        "in proportion": [{"log_target": True}],
        "no relation": [],
        "in steps of one size": [],
    }


def test_effects_and_errors_are_said_in_per_cent(found):
    said = str(found.verdict)
    first = found.columns[0]
    per_cent = rounded(100 * np.expm1(first.effect), 2)
    assert said.startswith(
        f"Predicting price by its logarithm: {first.name} (moves it by {per_cent}\u00a0% on average)"
    )
    off = np.sqrt(np.mean((found.model.predict(found.test.X) - found.test.y) ** 2))
    assert f"Typical error (root mean square) {rounded(100 * np.expm1(off))}\u00a0%" in said
    assert (change(0.5, ""), change(np.log(1.5), "price")) == ("0.5", "50\u00a0%")
    assert change(np.nan, "price") == "unknown\u00a0%"


def test_new_rows_are_predicted_on_the_scale_of_the_table_and_again_from_a_file(found):
    new = flats(60, seed=1)
    said = found.predict(new)
    assert_allclose(said, np.exp(found.model.predict(new)))
    assert np.median(np.abs(said - new.price) / new.price) < 0.15
    ends = found.predict_interval(new, 0.9)
    inside = (ends[:, 0] < new.price) & (new.price < ends[:, 1])
    assert inside.mean() > 0.75
    again = reloaded(found)
    assert_allclose(again.predict(new), said, rtol=1e-12)
    assert_allclose(again.predict_interval(new, 0.9), ends, rtol=1e-12)
    assert str(again) == str(found.verdict)


def test_the_file_of_the_table_proves_a_model_of_its_logarithm(found, tmp_path):
    flats().to_csv(tmp_path / "flats.csv", index=False)
    save_model(tmp_path / "answer.mkl", found)
    assert verify.main([str(tmp_path / "answer.mkl"), str(tmp_path / "flats.csv"), "price"]) == 0
