"""The Data page: what a person can change about reading, how it is reported, and what a link
carries of it.
"""

import re

import numpy as np
import pytest

from mklcore.data.column_groups import (
    read_groups,
    read_numbers,
    regrouped,
    write_groups,
    write_numbers,
)
from mklcore.data.dataset import Dataset, three_way_split
from mklcore.data.reading import describe_table, read_table
from mklcore.errors import DataError, MKLError, Note
from pages.shared.export import saved
from pages.shared.session import parameters
from pages.shared.session.parameters import Params
from pages.shared.values import tables
from pages.shared.widgets import grids
from tests.data.test_reading import REFUSALS
from tests.helpers.every import every
from tests.helpers.pages import (
    change,
    in_session,
    memory,
    open_app,
    plain_words,
    press,
    put,
    table,
    upload,
    words,
)
from tests.helpers.refusals import data_error, parameter_error
from tests.helpers.workbooks import book

N = 60
VALUES = np.random.default_rng(0).standard_normal((N, 3)).round(3)


def rows(gap=(3, 17)):
    """A table with a row id, two prefixes, a gap, a category and a target of small whole numbers."""
    head = ["row id", "fou_1", "fou_2", "kar_1", "kar_2", "colour", "code", "grade"]
    body = [
        [i + 1, *VALUES[i].tolist(), i * 0.5, ("red", "green", "blue")[i % 3], i % 4, i % 5]
        for i in range(N)
    ]
    for i in gap:
        body[i][2] = None
    return [head, *body]


def csv(cells, delimiter=","):
    return "\n".join(
        delimiter.join("" if v is None else str(v) for v in row) for row in cells
    ).encode()


MESSY = csv(rows())


# Reading: uses, missing values, tasks


def test_columns_are_used_as_asked():
    found = read_table(MESSY, "grade")
    assert "row id" not in found.feature_names
    asked = {"row id": "number", "code": "category", "fou_1": "left out"}
    data = read_table(MESSY, "grade", uses=asked)
    assert data.feature_names[:2] == ("row id", "fou_2")
    assert {"code=0", "code=1", "code=2", "code=3"} <= set(data.feature_names)
    assert any("Left out, as asked: 'fou_1'" in note for note in data.notes)
    with parameter_error(
        "uses names 'text' for 'code'; expected one of number, category, left out"
    ):
        read_table(MESSY, "grade", uses={"code": "text"})
    with data_error("No cell of 'colour' is a number"):
        read_table(MESSY, "grade", uses={"colour": "number"})


def test_missing_values_are_filled_marked_or_dropped():
    filled = read_table(MESSY, "grade")
    assert filled.n_samples == N
    marked = read_table(MESSY, "grade", missing="indicator")
    flag = marked.X[:, marked.feature_names.index("fou_2 missing")]
    assert flag.tolist() == [float(i in (3, 17)) for i in range(N)]
    np.testing.assert_array_equal(
        marked.X[:, marked.feature_names.index("fou_2")],
        filled.X[:, filled.feature_names.index("fou_2")],
    )
    dropped = read_table(MESSY, "grade", missing="drop")
    assert dropped.n_samples == N - 2
    assert dropped.y.tolist() == [i % 5 for i in range(N) if i not in (3, 17)]
    assert any("Dropped 2 rows with a missing cell" in note for note in dropped.notes)
    assert not any("filled with the median" in note for note in dropped.notes)
    assert read_table(MESSY, "grade", missing="drop", uses={"fou_2": "left out"}).n_samples == N
    with parameter_error("missing is 'mean'; expected one of 'median', 'drop', 'indicator'"):
        read_table(MESSY, "grade", missing="mean")
    everywhere = csv(
        [["a", "b", "y"], *([None, i, i % 2] if i % 2 else [i, None, i % 2] for i in range(12))]
    )
    with data_error("Every row has a missing cell"):
        read_table(everywhere, "y", missing="drop", uses={"a": "number", "b": "number"})


def test_rows_may_be_drawn_without_looking_at_classes():
    data = Dataset(np.arange(40.0)[:, None], np.array([0] * 38 + [1] * 2), task="binary")
    blind = [three_way_split(data, 0.45, 0.35, seed, stratify=False) for seed in range(5)]
    assert all(1 in parts.train.y for parts in blind)  # a class has to be learnt
    assert any(1 in parts.test.y for parts in blind)
    assert not any(1 in three_way_split(data, 0.45, 0.35, seed).test.y for seed in range(5))
    assert sorted(np.concatenate([part.X[:, 0] for part in blind[0]]).tolist()) == list(range(40))


# Groups


def test_columns_are_written_as_numbers_from_one():
    assert write_numbers((0, 1, 2, 6)) == "1-3,7"
    assert read_numbers("1-3, 7", 8) == (0, 1, 2, 6)
    for text, said in (
        ("0", "from 1 to 8"),
        ("9", "from 1 to 8"),
        ("5-2", "from 1 to 8"),
        ("a", "names no columns"),
    ):
        with data_error(said):
            read_numbers(text, 8)


def test_groups_are_made_in_every_way():
    data = read_table(MESSY, "grade")
    assert data.groups == ()  # two columns with one prefix are no family yet
    assert regrouped(data, "none").groups == ()
    assert [name for name, _ in regrouped(data, "prefix").groups] == ["fou", "kar", "other columns"]
    colours = [name for name in data.feature_names if name.startswith("colour=")]
    groups = dict(regrouped(data, "categories").groups)
    assert [data.feature_names[j] for j in groups["colour"]] == colours
    assert [len(columns) for _, columns in regrouped(data, "bands 3").groups] == [2, 3, 3]
    assert regrouped(data, "mine:1,3;rest:2").groups == (("mine", (0, 2)), ("rest", (1,)))
    for how, said in (
        ("bands 90", "cannot be cut into 90 bands"),
        ("mine:99", "numbered from 1"),
        ("a:1;a:2", "same name"),
    ):
        with data_error(said):
            regrouped(data, how)


def test_groups_survive_their_text():
    groups = (("a b", (0, 1, 2)), ("x:y;z", (4,)), ("é", (3, 5)))
    text = write_groups(groups)
    assert read_groups(text, 6) == (("a b", (0, 1, 2)), ("x y z", (4,)), ("é", (3, 5)))
    assert parameters.read_link({"grouping": text}) == (Params(grouping=text), ())


# Edited tables


def test_a_table_after_edits():
    before = [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}, {"a": 3, "b": "z"}]
    change = {
        "edited_rows": {0: {"b": "new"}, 2: {"a": 9}},
        "deleted_rows": [1],
        "added_rows": [{"a": 4}],
    }
    assert grids.after(before, change) == [{"a": 1, "b": "new"}, {"a": 9, "b": "z"}, {"a": 4}]
    assert grids.after(before, {}) == before


def test_uses_become_text_and_long_ones_are_refused():
    data = read_table(MESSY, "grade")
    summary = describe_table(MESSY)
    lines = grids.column_rows(summary, data, {"code": "category"})
    assert [line["use"] for line in lines] == ["as found"] * 6 + ["category", "as found"]
    assert [line["done"] for line in lines[-2:]] == ["used as a category, as you chose", "target"]
    done = {
        how: grids.column_rows(summary, data, {}, how)[2]["done"]
        for how in ("median", "drop", "indicator")
    }
    assert done["median"].startswith("2 missing cells filled with the median")
    assert done["drop"] == "its rows without a value are dropped"
    assert done["indicator"].endswith("a column of 0 and 1 says where")
    lines[0]["use"] = "left out"
    assert grids.uses_text(lines) == "1x,7c"
    with parameter_error("more than the link can carry"):
        grids.uses_text([{"use": "number"}] * 700)


def test_edited_groups_are_read_or_refused():
    data = regrouped(read_table(MESSY, "grade"), "prefix")
    lines = grids.group_rows(data.groups)
    assert grids.groups_text(lines, data) == "fou:1-2;kar:3-4;other columns:5-8"
    lines[1] = {"group": "picked", "columns": "kar_1; 1"}
    assert grids.groups_text([*lines, {"group": None, "columns": None}], data).startswith(
        "fou:1-2;picked:3,1;"
    )
    for bad, said in (
        ({"group": "fou", "columns": "1"}, "Two groups are called 'fou'"),
        ({"columns": "size"}, "'size' is no"),
    ):
        with pytest.raises(MKLError, match=said):
            grids.groups_text([*lines, bad], data)
    assert grids.groups_text([], data) == "none"


# Notes and refusals in the words of the page


OPTION = re.compile(
    r"\b(keep|uses|sentinels|task|delimiter|decimal|encoding|header|sheet|target|max_\w+)="
)


@every("case", REFUSALS)
def test_refusals_speak_to_a_person(case):
    source, options, _ = REFUSALS[case]
    with pytest.raises(DataError) as caught:
        read_table(source, **options)
    assert not OPTION.search(tables.in_full(caught.value))


def test_every_note_says_what_undoes_it():
    cells = rows()
    for i, row in enumerate(cells[1:]):
        row += [
            7,
            f"free text {i % 37}",
            "" if i % 4 else i,
            "x" if i == 5 else i * 1.5,
            f"2020-01-{1 + i % 28:02d}",
        ]
    cells[0] += ["const", "remark", "gappy", "mixed", "when"]
    notes = [
        *read_table(csv(cells, ";").replace(b"colour", "größe".encode("cp1252"))).notes,
        *read_table(MESSY, "grade", missing="indicator", uses={"code": "left out"}).notes,
        *read_table(MESSY, "grade", missing="drop").notes,
        *read_table(book(A=rows(), B=rows())).notes,
    ]
    notes = [Note.of(note) for note in notes]
    reported = {tables.hint(note) for note in notes}
    assert len(reported) >= 10
    assert not any(OPTION.search(tables.in_full(note)) for note in notes)
    silent = [note for note in notes if not tables.hint(note) and not note.repairs]
    assert silent == []


# The page


def test_every_choice_about_a_file_is_in_the_link_and_undone_in_one_click():
    app = upload(open_app(), MESSY)
    assert (
        "**60** rows, **6** columns to learn from. Target **grade**: more than two classes"
        in words(app)
    )
    assert "target_0" not in {button.key for button in app.button}  # the guess is sure
    put(app, "field_task", "regression")
    put(app, "field_missing", "drop")
    assert "**58** rows" in words(app)
    assert "a number (regression)" in words(app)
    put(app, "field_header", "no")
    put(app, "field_target", "x5")
    assert "regression needs numbers" in app.error[0].value
    assert len(app.dataframe[0].value) == 10  # the first rows of what was refused
    link = app.query_params
    assert (link["task"], link["missing"], link["header"]) == ("regression", "drop", "no")
    change(app, header="", target="", uses="1n,2x,7c")
    assert "Left out, as asked" in plain_words(app)
    press(app, "as_found")
    assert memory(app).params == Params(data=link["data"])
    assert "**60** rows, **6** columns to learn from" in words(app)


def test_a_link_restores_the_reading_once_the_file_is_there():
    owner = upload(open_app(), MESSY)
    source = owner.query_params["data"]
    stranger = open_app(
        data=source, uses="7c", missing="indicator", grouping="bands 2", stratified="no"
    )
    assert "Upload the same file" in words(stranger)
    upload(stranger, MESSY)
    params = memory(stranger).params
    assert (params.uses, params.missing, params.grouping, params.stratified) == (
        "7c",
        "indicator",
        "bands 2",
        False,
    )
    assert "2 groups: band 1" in words(stranger)


def test_another_table_drops_what_belonged_to_the_one_before():
    app = upload(open_app(edited="lin@1;lin@2"), MESSY)
    assert memory(app).params.edited == ""
    assert "belonged to the previous table" in words(app)
    change(app, grouping="prefix", task="regression")
    press(app, "table_iris")
    assert memory(app).params == Params(data="iris")
    assert set(saved.OF_THE_TABLE) <= set(Params.__dataclass_fields__)


def test_the_cells_of_a_file_are_parsed_once_however_its_columns_are_used(monkeypatch):
    parse = tables.as_table
    parsed = []
    monkeypatch.setattr(tables, "as_table", lambda *given: parsed.append(1) or parse(*given))
    app = change(upload(open_app(), MESSY), uses="7c", target="colour", missing="indicator")
    assert len(parsed) == 1
    change(app, header="no")
    assert len(parsed) == 2


def test_a_sheet_is_chosen_on_the_page():
    raw = book(First=rows(), Second=[["c", "y"], *([i * 0.5, i % 2] for i in range(40))])
    app = upload(open_app(), raw, "book.xlsx")
    assert "**60** rows" in words(app)
    put(app, "field_sheet", "Second")
    assert "**40** rows, **1** column to learn from" in words(app)
    assert app.query_params["sheet"] == "Second"
    change(app, sheet="Third")
    assert "no sheet 'Third'; it has 'First', 'Second'" in plain_words(app)


def test_groups_of_a_sample_are_changed_by_rule_and_by_hand():
    app = open_app(data="iris")
    put(app, "field_grouping", "bands")
    assert app.query_params["grouping"] == "bands 4"
    put(app, "field_n_bands", 2)
    assert "2 groups: band 1 (2), band 2 (2)" in plain_words(app)
    put(app, "field_grouping", "hand")
    assert app.query_params["grouping"] == "band 1:1-2;band 2:3-4"
    put(app, "field_grouping", "none")
    assert "No groups: as you chose." in words(app)
    put(app, "field_grouping", "categories")
    assert "No groups: no column is a category." in words(app)
    assert "target_0" not in {button.key for button in app.button}  # nobody guessed
    put(app, "field_stratified", False)
    assert app.query_params["stratified"] == "no"


def test_a_sample_shows_its_source_and_licence_and_an_upload_none():
    app = open_app(data="wine")
    assert "doi:10.24432/C5PC7J. Licence: CC BY 4.0" in plain_words(app)
    assert not any("Licence" in one.value for one in upload(app, table(seed=1)).caption)


def test_settings_for_files_do_nothing_to_a_sample():
    app = open_app(data="iris", uses="1x", task="regression", clip="yes", sheet="A", missing="drop")
    assert "**150** rows, **4** columns to learn from" in words(app)
    assert not app.error


def test_numbers_that_mean_missing_are_offered_with_one_click():
    content = b"gas,other,y\n" + b"\n".join(
        b"%g,%d,%d" % (-200 if i % 9 == 0 else 1 + i / 7, i * i % 23, i % 2) for i in range(63)
    )
    app = upload(open_app(), content)
    assert "-200 in gas" in plain_words(app)
    put(app, "field_gaps", True)
    assert "Read as missing" in words(app)
    assert app.query_params["gaps"] in ("yes", ["yes"])


UNSURE = csv(
    [
        ["length", "colour", "price a", "price b", "weight"],
        *(
            [i * 1.5, "rgb"[i % 3], i * 7 % 11 + 0.5, i * 5 % 13 + 0.5, i * 11 % 17 + 0.25]
            for i in range(N)
        ),
    ]
)


def test_the_likeliest_targets_are_one_click_each_where_the_guess_is_unsure():
    app = upload(open_app(), UNSURE)
    names = [one.name for one in describe_table(UNSURE).candidates]
    assert [app.button(key=f"target_{place}").label for place in range(3)] == names
    assert f"Target **{names[0]}**" in words(app)
    assert "Is it another column?" in words(app)
    assert app.button(key="target_0").proto.type == "primary"
    press(app, "target_2")
    assert app.query_params["target"] in (names[2], [names[2]])
    assert f"Target **{names[2]}**" in words(app)
    assert "Other likely targets:" in words(app)
    assert [app.button(key=f"target_{place}").proto.type for place in range(3)] == [
        "secondary",
        "secondary",
        "primary",
    ]
    put(app, "field_target", "colour")
    assert "target_0" not in {button.key for button in app.button}  # a person chose something else


def test_the_target_on_the_page_is_the_one_that_was_read():
    app = upload(
        open_app(), csv([["size", "kind", "y"], *([i * 1.5, i % 2, "ab"[i % 2]] for i in range(N))])
    )
    assert app.selectbox(key="field_target").value == "y"
    put(app, "field_task", "regression")
    target = app.selectbox(key="field_target").value
    assert target == "size"
    assert f"Target **{target}**" in words(app)


def test_that_rows_are_in_the_order_of_time_is_said_once(rng):
    days = np.datetime64("2020-01-01") + np.arange(90)
    lines = [f"{day},{rng.normal():.2f},{rng.normal():.2f}" for day in days]
    app = upload(open_app(), "\n".join(["day,size,price", *lines]).encode())
    said = words(app)
    assert said.count("in the order of") == 1
    assert "they are in the order of time" in said
    assert [one.label for one in app.button].count("Split by time") == 1


def test_rows_of_one_owner_stay_together_once_the_column_is_named():
    owners = [f"patient {k // 3}" for k in range(90)]
    rows = "".join(f"{k % 7},{k % 11},{k % 5 / 2},{owner}\n" for k, owner in enumerate(owners))
    app = upload(open_app(), f"a,b,price,patient\n{rows}".encode())
    assert "Hold the rows of an owner out together" in words(app)
    put(app, "field_owners", "patient")
    with in_session(app):
        train, validation, test = (
            set(part.row_groups) for part in tables.split(memory(app).params)
        )
    assert not (train & validation | train & test | validation & test)
    assert len(train | validation | test) == 30
    put(app, "field_weights", "a")
    with in_session(app):
        table = tables.table(memory(app).params)
        assert table.feature_names == ("b",)
        assert set(table.sample_weight) == set(range(7))
