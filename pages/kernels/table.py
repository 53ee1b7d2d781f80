"""Kernels, the tables: what each kernel is worth, and the dictionary itself, which can be edited."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from mklcore.arrays import one_blas_thread
from mklcore.data.column_groups import write_numbers
from mklcore.data.dataset import Dataset, Groups, counted, joined
from mklcore.errors import KernelError, ParameterError
from mklcore.kernels.dictionary import kernels_by_columns
from mklcore.kernels.dictionary_text import (
    MOST_ROWS,
    Entry,
    columns_as_words,
    columns_from_words,
    on_columns,
    read_entries,
    write_entries,
)
from mklcore.kernels.functions import KERNELS, MAX_DEGREE, Composed, KernelEntry, KernelSpec
from mklcore.kernels.grams import (
    alignment_matrix,
    constant_kernels,
    duplicates,
    effective_rank,
    effective_rows,
    target_alignment,
)
from mklcore.kernels.sequences import SEQUENCE_KERNELS, SequenceKernel
from mklcore.parameters import Parameter
from pages.shared.private_streamlit import plain
from pages.shared.session import parameters, state
from pages.shared.session.parameters import GRAMS, Params
from pages.shared.values import dictionaries, tables
from pages.shared.values.dictionaries import dictionary, grams, made_of, normalisation, parts
from pages.shared.values.tables import on_stack, table
from pages.shared.widgets import controls, grids
from pages.shared.widgets.grids import Row
from pages.shared.work import work

# What is measured on the kernels


FEW_ROWS = 5  # a kernel that depends on fewer rows than this
FEW_SHARE = 0.1  # of all, in small tables


@dataclass(frozen=True, eq=False)
class Traits:
    """What is measured on the kernels in use, and what stands out.

    between (M, M): alignments of kernels with each other; target (M,): with the target, NaN where
    there is none. ranks (M,): effective ranks. twin: the kernel that each repeats, by index, None
    where it repeats none. constant: which kernels are the same number everywhere. lost: names of
    kernels of the dictionary that were left out as constant. rows (M,): how many training rows each
    kernel depends on; few: which depend on next to none.
    """

    between: np.ndarray
    target: np.ndarray
    ranks: np.ndarray
    twin: tuple[int | None, ...]
    constant: np.ndarray
    lost: tuple[str, ...]
    rows: np.ndarray
    few: np.ndarray


def measured(params: Params) -> Traits:
    """Return what is measured on the kernels in use."""
    stack, train = grams(params), parts(params).train
    asked = () if on_stack(params) else dictionary(params).names
    kept = set(stack.names)
    lost = tuple(name for name in asked if name not in kept)

    def measure(progress: Callable[..., None]) -> Traits:
        target = np.full(stack.n_kernels, np.nan)
        if train.task != "novelty":
            target = target_alignment(stack, train.y, train.task)
        first = {m: group[0] for group in duplicates(stack) for m in group[1:]}
        twins = tuple(first.get(m) for m in range(stack.n_kernels))
        constant = constant_kernels(stack)
        rows = effective_rows(stack)
        few = ~constant & (rows < min(FEW_ROWS, FEW_SHARE * stack.n_samples))
        ranks = effective_rank(stack)
        return Traits(alignment_matrix(stack), target, ranks, twins, constant, lost, rows, few)

    return work.value(("traits", *_kernels(params)), measure, title="Comparing the kernels")


def _kernels(params: Params) -> tuple[object, ...]:
    return params.of(*GRAMS), normalisation(params)


def spectrum(params: Params, index: int) -> np.ndarray:
    """Return the eigenvalues of one kernel on the training rows, and of the mean of all, (2, n),
    the largest first.
    """

    def make() -> np.ndarray:
        every = grams(params).values
        pair = np.array([every[index], np.mean(every, axis=0)])
        with one_blas_thread():
            return np.linalg.eigvalsh(pair)[:, ::-1]

    return work.now(("spectrum", *_kernels(params), index), make)


def by_column(params: Params) -> dict[str, list[int]]:
    """Return the kernels of every column, or group of columns, by its name; of a ready stack every
    kernel alone.
    """
    stack = grams(params)
    if on_stack(params):
        return {name: [m] for m, name in enumerate(stack.names)}
    units = [(unit.name, unit.columns) for unit in made_of(params)]
    return kernels_by_columns(stack.specs or (), units, table(params).source_names)


MADE_OF_OTHERS = {
    "Product": "lin@1&rbf1m@2",
    "Sum": "lin@1|rbf1m@2",
    "Interaction": "^lin@1^rbf1m@2",
}


def labels() -> dict[str, KernelEntry]:
    """Return the kernels there are, by what the table calls them."""
    return {entry.label: entry for entry in _entries()}


def _entries() -> tuple[KernelEntry, ...]:
    strings = tables.table(state.current()).strings
    return (*KERNELS.values(), *(SEQUENCE_KERNELS.values() if strings else ()))


def numbers() -> dict[str, tuple[Parameter, tuple[str, ...]]]:
    """Return the columns of numbers: each with its parameter and the kernels that have it; widths
    come first.
    """
    found: dict[str, tuple[Parameter, tuple[str, ...]]] = {}
    for entry in _entries():
        for parameter in entry.parameters:
            _, owners = found.get(parameter.name, (parameter, ()))
            found[parameter.name] = (parameter, (*owners, entry.label))
    return dict(sorted(found.items(), key=lambda item: item[0] != "width"))


# What each kernel is worth


def overview(shown: int) -> None:
    """Draw the kernels with what stands out about each; the row a person clicks is the kernel
    shown.
    """
    params = state.current()
    stack = dictionaries.grams(params)
    traits = measured(params)
    warnings = [_warning(traits, stack.names, m) for m in range(stack.n_kernels)]
    frame = pd.DataFrame(
        {
            "kernel": stack.names,
            "look out": warnings if any(warnings) else None,
            "alignment": traits.target,
            "rank": traits.ranks,
        }
    )
    frame = frame.dropna(axis="columns", how="all")  # what says nothing
    # the table begins anew when another control chose the kernel, or there are other kernels
    key = f"overview_{abs(hash((tuple(stack.names), shown))):x}"
    st.dataframe(
        frame,
        key=key,
        hide_index=True,
        height=300,
        selection_mode=["single-row", "single-cell"],
        on_select=lambda: pick(key),
        selection_default={"selection": {"rows": [shown], "columns": [], "cells": []}},
        alt=(
            f"{len(frame)} kernels with alignment with the target and effective rank; the row "
            "chosen is the kernel shown"
        ),
        column_config={
            "kernel": st.column_config.TextColumn(width="medium"),
            "alignment": st.column_config.ProgressColumn(
                width="small", format="%.3f", help="With the target"
            ),
            "rank": st.column_config.NumberColumn(
                width="small", format="%.1f", help="Effective rank"
            ),
            "look out": st.column_config.TextColumn(
                width="small", help="Repeats another, constant, or depends on a few rows"
            ),
        },
    )
    grids.take(frame, "kernels", "csv_kernels")


def _warning(traits: Traits, names: Sequence[str], m: int) -> str:
    twin = traits.twin[m]
    if twin is not None:
        return f"repeats {names[twin]}"
    if traits.few[m]:
        return f"depends on {counted(round(traits.rows[m]), 'row')}"
    return "constant" if traits.constant[m] else ""


def pick(key: str) -> None:
    """Show the kernel whose row was clicked."""
    shown = state.current().shown
    new = next((row for row in controls.clicked(key) if row != shown), None)
    if new is not None:
        state.change(shown=new)


# One click


def look_out() -> None:
    """Say which kernels repeat others, are constant or depend on a few rows, each with a button
    that switches them off.
    """
    params = state.current()
    names = dictionaries.grams(params).names
    traits = measured(params)
    lost = traits.lost
    repeated = [names[m] for m, twin in enumerate(traits.twin) if twin is not None]
    constant = [*lost, *(names[m] for m in np.flatnonzero(traits.constant))]
    few = [names[m] for m in np.flatnonzero(traits.few)]
    if repeated:
        verb = "repeats" if len(repeated) == 1 else "repeat"
        _offer(
            repeated,
            "duplicates",
            f"{verb} another one up to a factor: {{}}. Which of them a sparse model keeps is chance.",
        )
    if constant:
        verb, they = ("holds", "it") if len(constant) == 1 else ("hold", "they")
        was = "was" if len(lost) == 1 else "were"
        out = f" {counted(len(lost), 'kernel')} {was} left out of the stack." if lost else ""
        _offer(
            constant,
            "constant",
            f"{verb} the same number for all training rows, so {they} cannot help: {{}}.{out}",
        )
    if few:
        verb, says = ("depends", "it says") if len(few) == 1 else ("depend", "they say")
        _offer(
            few,
            "few",
            f"{verb} on a few training rows that are far from all others: {{}}. What {says} may be "
            "about these rows alone.",
        )


def _offer(names: list[str], what: str, sentence: str) -> None:
    """Say it of these kernels, and offer to switch them off."""
    text, button = st.columns([5, 1], vertical_alignment="center", gap="small")
    said = f"{counted(len(names), 'kernel')} {sentence.format(plain(joined(names, 4)))}"
    text.info(said, icon=":material/content_copy:")
    button.button(
        "Switch off",
        key=f"off_{what}",
        on_click=switch_off,
        args=(tuple(names),),
        width="stretch",
    )


def switch_off(names: tuple[str, ...]) -> None:
    """Switch kernels off by name."""
    params = state.current()
    if tables.on_stack(params):
        every = tables.stack_file(params).stack.names
        keep_chosen([m for m in dictionaries.chosen_kernels(params) if every[m] not in names])
        return
    entries = list(dictionaries.entries(params))
    places = [place for place, entry in enumerate(entries) if entry.on]
    for place, name in zip(places, dictionaries.dictionary(params).names, strict=True):
        if name in names:
            entries[place] = Entry(entries[place].spec, on=False)
    keep(entries)


# The dictionary as a table


def edit() -> None:
    """Draw the dictionary as a table to edit: kernels on or off, their family, width or degree, and
    columns.
    """
    params = state.current()
    if tables.on_stack(params):
        _edit_stack(params)
        return
    data = tables.table(params)
    grids.editor(
        rows_of(dictionaries.entries(params), data),
        "dictionary",
        (params.data, params.edited),
        lambda rows: keep(entries_of(rows, data, dictionaries.named_columns(params))),
        {
            "on": st.column_config.CheckboxColumn("on", default=True, width="small"),
            "family": st.column_config.SelectboxColumn(
                "family", options=[*labels(), *MADE_OF_OTHERS], default="Linear"
            ),
            **_number_columns(),
            "columns": st.column_config.TextColumn(
                "columns",
                default="all",
                width="medium",
                help=(
                    "all; a column or a group by name; several with ; between; or numbers "
                    "such as 1-3,7. Of a product or a sum its kernels: lin@1&rbf1m@2 or "
                    "lin@1|rbf1m@2"
                ),
            ),
        },
        height=320,
        dynamic=True,
    )
    if params.edited.startswith(state.KEPT):
        st.caption(
            "This table is too long for a link. It stays in this session; the link of "
            "this screen does not carry it."
        )


def _edit_stack(params: parameters.Params) -> None:
    stack = tables.stack_file(params).stack
    chosen = set(dictionaries.chosen_kernels(params))
    grids.editor(
        [{"on": m in chosen, "kernel": name} for m, name in enumerate(stack.names)],
        "dictionary",
        (params.data, params.edited),
        lambda rows: keep_chosen([m for m, row in enumerate(rows) if row["on"]]),
        {
            "on": st.column_config.CheckboxColumn("on", width="small"),
            "kernel": st.column_config.TextColumn("kernel"),
        },
        height=320,
        fixed=("kernel",),
    )


def _number_columns() -> dict[str, Any]:
    """Return the columns of numbers as the editor wants them; whether widths count medians stands
    beside the widths.
    """
    columns: dict[str, Any] = {}
    for name, (parameter, owners) in numbers().items():
        step = 1 if parameter.kind == "integer" else None
        columns[name] = st.column_config.NumberColumn(
            parameter.label[0].lower() + parameter.label[1:],
            step=step,
            help=f"Of {joined(owners)}",
            min_value=1 if step else 0.0,
            max_value=MAX_DEGREE if step else None,
            format=None if step else "%.4g",
        )
        if name == "width":
            columns["median"] = st.column_config.CheckboxColumn(
                "× median",
                default=True,
                help="On: the width counts median distances between training rows",
            )
    return columns


def rows_of(entries: Sequence[Entry], data: Dataset) -> list[Row]:
    """Return the entries as rows to edit."""
    labelled = {
        entry.spec: entry.label for entry in (*KERNELS.values(), *SEQUENCE_KERNELS.values())
    }
    rows = []
    for entry in entries:
        spec: Any = entry.spec
        if isinstance(spec, Composed):
            row = {
                "on": entry.on,
                "family": type(spec).__name__,
                "columns": write_entries([Entry(spec)]),
            }
            # every row has every cell, or none is a check box
            rows.append(dict.fromkeys((*numbers(), "median")) | row)
            continue
        found = {"on": entry.on, "family": labelled[type(spec)]}
        for name in numbers():
            found[name] = getattr(spec, name, None)
            if name == "width":
                found["median"] = None if found[name] is None else spec.relative
        strings = data.strings[spec.place][0] if isinstance(spec, SequenceKernel) else ""
        rows.append(found | {"columns": strings or columns_as_words(spec, data.feature_names)})
    return rows


def entries_of(
    rows: Sequence[Row],
    data: Dataset,
    named: Groups = (),
) -> list[Entry]:
    """Return what edited rows mean, ``named`` the columns that have a name together.

    Raises ``MKLError`` for a family, a number or columns that cannot be.
    """
    if len(rows) > MOST_ROWS:
        raise KernelError(
            f"The table has {len(rows):,} kernels, more than {MOST_ROWS:,}; remove some."
        )
    entries = []
    strings = [name for name, _ in data.strings]
    for row in rows:
        if row.get("family") in MADE_OF_OTHERS:
            entries.append(_composed(row, data))
            continue
        kernel = _spec(row)
        listed = str(row.get("columns") or "all")
        if isinstance(kernel, SequenceKernel):
            number = strings.index(listed) if listed in strings else 0
            spec: KernelSpec = replace(kernel, sequence=number)  # type: ignore[call-arg]
        else:
            columns = columns_from_words(listed, data.feature_names, named or data.groups)
            spec = on_columns(kernel, columns, named or data.groups)
        entries.append(Entry(spec, row.get("on") is not False))
    return entries


def _composed(row: Row, data: Dataset) -> Entry:
    """Return the product or the sum that a row tells in the letters of links."""
    kind = str(row["family"])
    text = str(row.get("columns") or "").strip()
    try:
        found = read_entries(text, data.n_features)
    except KernelError:
        found = ()
    if len(found) != 1 or type(found[0].spec).__name__ != kind:
        raise KernelError(
            f"{kind} is written into the cell of its columns, as in "
            f"{MADE_OF_OTHERS[kind]}; got {text[:40]!r}."
        )
    return Entry(found[0].spec, row.get("on") is not False)


def _spec(row: Row) -> KernelSpec:
    entry = labels().get(row.get("family") or "", KERNELS["linear"])
    kind: Any = entry.spec
    given: dict[str, Any] = {
        parameter.name: _given(parameter, row.get(parameter.name)) for parameter in entry.parameters
    }
    if entry.relative:
        given["relative"] = row.get("median") is not False
    return kind(**given)


def _given(parameter: Parameter, value: Any) -> float:
    number = parameter.default if value is None else float(value)
    if parameter.kind != "integer":
        return number
    if number != int(number):
        raise ParameterError(
            f"A {parameter.label.lower()} is a whole number from 1 on, got {number:g}."
        )
    return int(number)


def keep(entries: Sequence[Entry]) -> None:
    """Make these entries the dictionary. Raises ``MKLError`` where it would be empty."""
    if not any(entry.on for entry in entries):
        raise KernelError("The dictionary would be empty. Keep at least one kernel switched on.")
    text = write_entries(entries)
    params = state.current()
    same = text == write_entries(map(Entry, dictionaries.built(params)))
    state.change(edited="" if same else state.keep_text(text, parameters.LONGEST_TABLE))


def keep_chosen(kernels: Sequence[int]) -> None:
    """Make these kernels of a stack the ones in use. Raises ``KernelError`` where there is none."""
    if not kernels:
        raise KernelError("No kernel of the stack is switched on; keep at least one.")
    every = len(kernels) == tables.stack_file(state.current()).stack.n_kernels
    text = state.ON_STACK + write_numbers(kernels)
    state.change(edited="" if every else state.keep_text(text, parameters.LONGEST_TABLE))
