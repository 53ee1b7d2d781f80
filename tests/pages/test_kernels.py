"""The Kernels page: builders, the dictionary as a table, what is flagged, and the one place for a
large stack.
"""

from dataclasses import replace

import numpy as np
import pytest
import streamlit

from mklcore.data.dataset import Dataset, three_way_split
from mklcore.data.reading import read_table
from mklcore.errors import KernelError, MKLError, ParameterError
from mklcore.figures import style
from mklcore.kernels.dictionary import KernelDictionary, Unit, units
from mklcore.kernels.dictionary_text import (
    Entry,
    columns_as_words,
    columns_from_words,
    on_columns,
    read_entries,
    write_entries,
)
from mklcore.kernels.functions import RBF, Laplacian, Linear, Polynomial
from mklcore.kernels.grams import target_alignment
from pages.kernels import sidebar, table
from pages.shared.private_streamlit import plain
from pages.shared.session import parameters, state
from pages.shared.session.parameters import Params
from pages.shared.values import dictionaries
from tests.helpers.every import every
from tests.helpers.pages import go, memory, open_app, plain_words, press, put, upload, words
from tests.helpers.refusals import kernel_error

GROUPS = (("left", (0, 1)), ("right", (2, 3)), ("last", (4,)))
NAMES = ("a", "b", "c", "d", "left")


def kernels(app):
    return words(go(app, "pages/kernels/page.py"))


# The dictionary as text


@every(
    "text",
    [
        "rbf0.25m@*;rbf1m@*;lin@*;pol2@*;lin@1..5",
        "~lin@1;lin@2..5;~pol3+0.5@1-3,5",
        "lap0.001@2;lap1e-05m@*;rbf12.5@4,2",
        "lin@1;lin@2;pol5@3;lin@4",
        "pol2+0@*",
        "mat0.5+2.5m@*;mat1@2",
    ],
)
def test_a_dictionary_survives_its_text(text):
    entries = read_entries(text, 5)
    assert write_entries(entries) == text
    assert parameters.read_link({"edited": text}) == (Params(edited=text), ())


def test_what_the_text_says():
    entries = read_entries("rbf0.5m@*;~lap2@1-2;pol3+0.25@3;lin@4..5", 5, GROUPS)
    assert [entry.on for entry in entries] == [True, False, True, True, True]
    assert entries[0].spec == RBF(0.5, relative=True)
    assert entries[1].spec == Laplacian(2.0, features=(0, 1), label="left")
    assert entries[2].spec == Polynomial(3, 0.25, features=(2,))
    assert [entry.spec.features for entry in entries[3:]] == [(3,), (4,)]


@every(
    "text, said",
    [
        ("", "is not a dictionary"),
        ("rbf@*", "rbf takes numbers for width; got 0"),
        ("mat1+2+3@*", "mat takes numbers for width, nu; got 3"),
        ("linm@*", "no kernel called 'linm'"),
        ("pol2m@*", "pol has no width"),
        ("xyz1@*", "no kernel called 'xyz'"),
        ("lin", "is not a dictionary"),
        ("lin@0", "columns that are not there"),
        ("lin@6", "numbered from 1 to 5"),
        ("lin@3..99999", "numbered from 1 to 5"),
        ("pol300@*", "degree must be a whole number from 1 to 100"),
        ("rbf0@*", "width must be a number"),
        ("rbf1e999@*", "width must be a number"),
    ],
)
def test_text_that_is_no_dictionary_is_refused(text, said):
    with pytest.raises(MKLError, match=said):
        read_entries(text, 5)


def test_a_text_cannot_ask_for_too_many_kernels():
    with kernel_error("more than 2,000 kernels"):
        read_entries(";".join(["lin@1..900"] * 3), 1000)


def test_columns_are_said_and_read_as_people_do():
    for columns, said in ((None, "all"), ((2,), "c"), ((0, 1), "left"), ((0, 2, 3), "1,3-4")):
        spec = on_columns(Linear(), columns, GROUPS)
        assert columns_as_words(spec, NAMES) == said
        assert columns_from_words(said, NAMES, GROUPS) == columns
    assert columns_from_words("a; right;1", NAMES, GROUPS) == (0, 2, 3)
    assert columns_from_words("left", NAMES) == (4,)
    with kernel_error("'size' is no column or group of this table, nor numbers from 1 to 5"):
        columns_from_words("a;size", NAMES)


# The table that is edited


def rows():
    data = read_table(
        b"a,b,y\n" + b"\n".join(b"%d,%d,%d" % (i * 3, i * i % 7, i % 2) for i in range(20))
    )
    entries = read_entries("rbf0.5m@*;pol2@*;~lin@1", 2)
    return table.rows_of(entries, data), data


def test_a_table_of_kernels_is_what_it_was_read_from():
    lines, data = rows()
    assert [line["family"] for line in lines] == ["RBF (Gaussian)", "Polynomial", "Linear"]
    assert [line["columns"] for line in lines] == ["all", "all", "a"]
    assert write_entries(table.entries_of(lines, data)) == "rbf0.5m@*;pol2@*;~lin@1"


def test_rows_added_by_hand_take_usual_values():
    lines, data = rows()
    new = [
        {},
        {"family": "RBF (Gaussian)", "columns": "b"},
        {"family": "Polynomial"},
        {"family": "Laplacian", "median": False},
    ]
    entries = table.entries_of([*lines, *new], data)
    assert write_entries(entries[3:]) == "lin@*;rbf1m@2;pol2@*;lap1@*"


@every(
    "row, said",
    [
        ({"family": "RBF (Gaussian)", "width": 0.0}, "width must be a number"),
        ({"family": "Polynomial", "degree": 2.5}, "whole number from 1 on, got 2.5"),
        ({"family": "Polynomial", "degree": 1000}, "from 1 to 100"),
        ({"family": "Polynomial", "coef0": -1.0}, "coef0 must be a number"),
        ({"columns": "size"}, "no column or group"),
    ],
)
def test_what_cannot_be_a_kernel_is_refused(row, said):
    lines, data = rows()
    with pytest.raises((KernelError, ParameterError), match=said):
        table.entries_of([*lines, row], data)


def test_an_edited_table_takes_the_place_of_the_builders():
    app = open_app(data="iris", recipe="builders", edited="rbf1m@*;~lin@*;lin@3..4")
    assert "**3** kernels on" in kernels(app)
    assert "You edited the table of kernels" in words(app)
    assert app.slider(key="field_widths").disabled
    press(app, "builders_back")
    assert "**11** kernels on" in words(app)
    assert "edited" not in app.query_params


@every(
    "link, recommended",
    [
        ({}, True),
        ({"together": "no"}, True),
        ({"recipe": "recommended", "widths": "3"}, True),
        ({"widths": "3"}, False),
        ({"widths": "5"}, False),  # a kept screen tells its builders in full
        ({"recipe": "builders"}, False),
    ],
)
def test_the_table_suggests_the_dictionary_unless_a_link_tells_builders(link, recommended):
    params, refused = parameters.read_link({"data": "iris", **link})
    assert not refused
    assert params.recommended is recommended
    assert parameters.read_link(parameters.link_text(params)) == (params, ())


@every("sample, paired", [("sparse_polynomial", True), ("diabetes", False)])
def test_kernels_of_all_columns_are_not_offered_where_pairs_take_their_place(sample, paired):
    app = open_app("pages/kernels/page.py", data=sample, recipe="recommended", pairs="yes")
    assert (
        next(one for one in [*app.checkbox, *app.toggle] if one.key == "field_together").disabled
        is paired
    )


def test_a_suggested_dictionary_survives_its_text(rng):
    data = Dataset(rng.normal(size=(30, 45)), rng.normal(size=30))
    for table_of in (
        data,
        Dataset(data.X[:, :3], data.y, columns=(("colour", (0, 1)), ("size", (2,)))),
    ):
        specs = KernelDictionary.recommended(table_of).specs
        several = {unit.name: unit.columns for unit in units(table_of) if len(unit.columns) > 1}
        text = write_entries(map(Entry, specs))
        back = read_entries(text, table_of.n_features, tuple(several.items()))
        assert tuple(entry.spec for entry in back) == specs


@every(
    "edited, said",
    [
        ("lin@77", "numbered from 1 to 4"),
        ("~lin@1", "The dictionary is empty"),
        ("stack@1", "this table has columns. Use the builders"),
        ("rbf1e-320m@*", "RBF: width must be a number between"),
        ("kept:" + "0" * 64, "stays in the session that edited it"),
    ],
)
def test_a_link_to_a_table_that_cannot_be_is_reported(edited, said):
    app = open_app("pages/kernels/page.py", data="iris", edited=edited)
    assert said in app.error[0].value.replace("\\", "")
    press(app, "builders_back")
    assert not app.error


def test_a_long_table_is_named_by_what_it_holds(monkeypatch):
    held = {}
    monkeypatch.setattr(streamlit, "session_state", held)
    assert state.keep_text("lin@1", 10) == "lin@1"
    name = state.keep_text("lin@1;lin@2", 10)
    assert parameters.read_link({"edited": name}) == (Params(edited=name), ())
    assert state.edited_text(Params(edited=name)) == "lin@1;lin@2"
    held.clear()
    with kernel_error("stays in the session"):
        state.edited_text(Params(edited=name))


# Builders


def test_every_builder_adds_its_kernels_and_is_in_the_link():
    app = open_app(
        "pages/kernels/page.py",
        data="iris",
        widths="0",
        linear="no",
        degree="0",
        each="none",
        laplacians="3",
    )
    assert "**3** kernels" in words(app)
    put(app, "field_groups", True)
    put(app, "field_group_kernels", "both")
    assert "**7** kernels" in words(app)
    put(app, "field_bands", 2)
    put(app, "field_band_kernels", "spectral")
    assert "**15** kernels" in words(app)
    put(app, "field_subspaces", 5)
    put(app, "field_subspace_size", 2)
    assert "**20** kernels" in words(app)
    link = app.query_params
    assert (link["bands"], link["band_kernels"], link["subspaces"], link["group_kernels"]) == (
        "2",
        "spectral",
        "5",
        "both",
    )


def test_the_box_names_the_kernel_of_the_figure_when_other_kernels_take_its_place():
    app = open_app("pages/kernels/page.py", data="iris")
    before = app.selectbox(key="field_shown").options[0]
    put(app, "field_recipe", "builders")
    box = app.selectbox(key="field_shown")
    assert box.options[0] != before
    assert box.proto.set_value  # else the browser goes on to show the name it has
    assert f"Gram matrix of {plain(box.options[0])}" in words(app)


def test_the_kernel_that_is_aligned_best_with_the_target_is_named():
    app = open_app("pages/kernels/page.py", data="iris", recipe="builders")
    params = memory(app).params
    train = dictionaries.parts(params).train
    stack = dictionaries.dictionary(params).grams(train, dictionaries.normalisation(params))
    aligned = target_alignment(stack, train.y, train.task)
    best = int(np.argmax(aligned))
    said = f"has the largest alignment with the target, {style.number(float(aligned[best]))}."
    assert f"{stack.names[best]} {said}" in plain_words(app).replace("**", "")


def test_bands_and_choices_of_columns_never_ask_for_more_than_there_are():
    app = open_app(data="iris", bands="90", subspaces="3", subspace_size="500")
    assert "kernels on **74** training rows" in kernels(app)
    assert not app.error


# What is flagged


TWINS = b"a,b,c,y\n" + b"\n".join(
    b"%.3f,%.3f,%.3f,%d" % (i % 7, 2 * (i % 7), i % 5, i % 2) for i in range(60)
)


def test_repeated_kernels_are_switched_off_in_one_click_and_undone():
    app = upload(open_app(widths="0", degree="0"), TWINS)
    said = kernels(app)
    assert "1 kernel repeats another one up to a factor: linear b" in said
    press(app, "off_duplicates")
    assert app.query_params["edited"] == "lin@*;lin@1;~lin@2;lin@3"
    assert "repeats another" not in words(app)
    press(app, "undo")
    assert "repeats another" in words(app)


def test_constant_kernels_that_were_left_out_are_switched_off_in_one_click():
    column = b"a,b,y\n" + b"\n".join(b"%d,%d,%d" % (i % 7, i == 3, i % 2) for i in range(60))
    app = upload(open_app(widths="0", degree="0"), column)
    data = read_table(column)
    splits = ((seed, three_way_split(data, seed=seed).train) for seed in range(50))
    seed = next(seed for seed, train in splits if not train.X[:, 1].any())
    memory(app).params = replace(memory(app).params, seed=seed)
    assert "left out of the stack" in kernels(app)
    press(app, "off_constant")
    assert app.query_params["edited"] == "lin@*;lin@1;~lin@2"
    assert "left out of the stack" not in words(app)


def test_a_kernel_that_hangs_on_a_few_rows_is_flagged():
    column = b"a,b,y\n" + b"\n".join(b"%d,%d,%d" % (i % 7, i % 30 == 3, i % 2) for i in range(120))
    said = kernels(upload(open_app(widths="0", degree="0"), column))
    assert "1 kernel depends on a few training rows that are far from all others: linear b." in said


def test_only_kernels_that_a_kind_of_column_has_are_told_of():
    units = [Unit("size", (0,), "column"), Unit("city", (1,), "category"), Unit("note", (), "text")]
    said = sidebar._made_of(units[:1], True)
    assert (
        said == "Kernels for 1 column: each has a linear kernel and an RBF at its median distance."
    )
    said = sidebar._made_of(units, False)
    assert said == (
        "Kernels for 1 column, 1 category, 1 text: a category has one that asks whether two rows "
        "are alike; a text has one of its words; each of the others has a linear kernel."
    )


def test_the_kernel_of_a_clicked_row_is_shown(monkeypatch):
    held = {"table": {"selection": {"rows": [0], "cells": [(3, "kernel")], "columns": []}}}
    monkeypatch.setattr(streamlit, "session_state", held)
    table.pick("table")
    assert state.current().shown == 3
    held["table"] = {"selection": {"rows": [], "cells": [], "columns": []}}
    table.pick("table")
    assert state.current().shown == 3
