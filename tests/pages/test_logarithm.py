"""A target whose logarithm is predicted, on the pages: one click takes it, another gives it up, and
new rows are predicted on the scale of the table.
"""

import re

import numpy as np

import mklcore as mkl
from mklcore.figures import style
from pages.predict import batch
from pages.shared.export import scripts
from tests.answer.test_logarithm import flats
from tests.helpers.pages import (
    answer_of,
    change,
    csv,
    go,
    memory,
    open_app,
    plain_words,
    press,
    put,
    upload,
)
from tests.helpers.project import run_python

EXPLORE = "pages/explore/page.py"
PREDICT = "pages/predict/page.py"


def test_the_logarithm_is_taken_and_given_up_by_a_click():
    app = go(upload(open_app("pages/data/page.py"), csv(flats())), EXPLORE)
    assert "Errors of price grow with it" in plain_words(app)
    assert "read_table" not in plain_words(app)
    press(app, "logarithm_0")
    assert memory(app).params.log
    assert app.query_params["log"] == "yes"
    found = answer_of(app)
    assert found.learnt_from.log_of == "price"
    said = plain_words(app).replace("**", "")
    assert "Predicting price by its logarithm" in said
    assert "Typical error (root mean square) " in said
    first = found.columns[0]
    assert f"{first.name} moves the prediction by {100 * np.expm1(first.effect):.0f}" in said
    assert "The logarithm of 'price' is predicted" in said
    assert "The numbers are logarithms: 0.1 is about a tenth." in said
    press(app, "logarithm_0")
    assert not memory(app).params.log
    assert answer_of(app).learnt_from.log_of == ""


def test_a_row_and_a_file_are_predicted_on_the_scale_of_the_table():
    app = change(upload(open_app("pages/data/page.py"), csv(flats())), log=True)
    put(go(app, PREDICT), "what_row", 5)
    found = answer_of(app)
    row = flats().iloc[[4]]
    said = found.predict(row)[0]
    step = found.verdict.typical_error / 10
    assert f"Its price is {style.as_given(row.price.iloc[0])}." in plain_words(app)
    assert f"#### price: {style.rounded_to(said, step * said)}" in plain_words(app)
    ends = [style.rounded_to(end, step * end) for end in found.predict_interval(row)[0]]
    assert f"fall inside **{ends[0]}** to **{ends[1]}**" in plain_words(app)
    assert "They add up in logarithms" in plain_words(app)
    new = flats(40, seed=1)
    table = found.learnt_from
    made = batch.answers(found.model, table.encoder.read(new), table, "r2", found.conformal)
    np.testing.assert_allclose(made.frame["predicted price"], found.predict(new))
    np.testing.assert_allclose(made.frame["price in the file"], new.price)
    lower = made.frame["from (90% interval)"]
    np.testing.assert_allclose(lower, found.predict_interval(new)[:, 0])
    assert made.score > 0.9


def test_the_script_of_a_model_alone_turns_its_logarithms_back(tmp_path):
    data = mkl.read_table(flats(), "price", log_target=True)
    model = mkl.LpMKLRegressor().fit(data, data.y)
    mkl.save_model(tmp_path / "model.mkl", model)
    (tmp_path / "new.csv").write_bytes(csv(flats(3, seed=1)))
    cells = scripts.use_cells("model.mkl", data, "new.csv", is_logarithm=True)
    (tmp_path / "predict.py").write_text(scripts.script(cells))
    printed = run_python("predict.py", folder=tmp_path)
    (numbers,) = re.findall(r"\[([^]]*)\]", printed.splitlines()[-1])
    said = np.exp(model.predict(data.encoder.read(flats(3, seed=1)).X))
    np.testing.assert_allclose([float(one) for one in numbers.split()], said, rtol=1e-6)
