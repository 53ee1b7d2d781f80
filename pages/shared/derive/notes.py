"""Derive notes on what reading did to a table: the library's own hints in the words of the page, and what to do."""

from collections.abc import Iterator
from contextlib import contextmanager

from mklcore.errors import DataError

COLUMNS = "in the table of columns"

# What the library says to a programmer, and the same for a person in front of the page.
WORDS = (
    (
        "name columns in keep=, or check delimiter= and decimal=.",
        "or check the delimiter and the decimal sign on the left.",
    ),
    (", or set header=False if the first line holds data.", ", or say on the left that the first line holds data."),
    (
        "If the columns are separated by something unusual, name it with delimiter=.",
        "Another delimiter can be chosen on the left.",
    ),
    (", or set max_bytes.", "."),
    (", or set max_rows.", "."),
    (", or set max_columns.", "."),
    (" target= names another.", ""),
    (" Name another column with target=.", " Choose another column."),
    (
        " Add one, or name another with target=.",
        " Choose one under Target to see what is wrong with it, or mend the file.",
    ),
    (" task='regression' reads them as numbers.", ""),
    ("or use task='regression' for numbers.", "or read it as a number, under Task."),
    ("Choose another target, or leave task= out to find it.", "Choose another target, or another task."),
    ("leave encoding= out to find it.", "choose another encoding."),
    (" If letters look wrong, name the right encoding with encoding=.", ""),
    (" To read another, name it with sheet=.", ""),
    (" To keep it, name it in keep=.", ""),
    (", name the column in keep=.", f", use it as a category {COLUMNS}."),
    (" To use it again, take it out of uses=.", ""),
    (' sentinels="missing" reads them so.', ""),
)

# What a note speaks of, and what undoes or changes it.
ADVICE = (
    ("No target was named", "Another one: Target."),
    ("a binary task", "Another one: Task."),
    ("filled with the median", "Other ways: Missing values."),
    ("beside each says where", "Without it: Missing values, median."),
    (
        "something else than a usable number",
        "The table of columns can use it as a category.",
    ),
    ("More than half of the cells", "The table of columns can leave it out."),
    ("Dates became hour", "The table of columns can leave it out."),
    ("Categories became columns", "The table of columns has other uses."),
    ("counts as a category of its own", "To leave these rows out: Missing values, drop rows."),
    ("an identifier that only names", "The table of columns can use it."),
    ("one value only", "The table of columns can use it."),
    ("whose names begin alike are groups", "Other groups, or none: Group columns."),
    ("not UTF-8", "If letters look wrong: How the file is read, Encoding."),
    ("The workbook has", "Another one: Sheet."),
    ("columns are separated by", "Another delimiter: How the file is read."),
    ("Negative eigenvalues of", "Without it: Clip negative eigenvalues, off; such kernels are then refused."),
)


def said(text: str) -> str:
    """Return the library's sentence with its hints in the words of the page."""
    for library, page in WORDS:
        text = text.replace(library, page)
    return text


def advice(note: str) -> str:
    """Return what undoes or changes what a note tells; empty where nothing does."""
    return next((what for sign, what in ADVICE if sign in note), "")


@contextmanager
def for_people() -> Iterator[None]:
    """Let refusals through in the words of the page."""
    try:
        yield
    except DataError as error:
        raise DataError(said(str(error)), repairs=error.repairs) from error
