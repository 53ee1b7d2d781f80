"""Sequences and texts as numbers that a kernel can compare, and how columns of them are recognised.

A table of rows is made of them where kernels need one: for S sequences per row, letter p of
sequence s is the column p S + s, its code point, and 0 behind the end of a string. So rows with
longer strings only have more columns.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from mklcore.arrays import Array, Names
from mklcore.errors import DataError

Sequences = tuple[tuple[str, Names], ...]

MAX_LENGTH = 20_000  # letters of one string
MAX_LETTERS = 30_000_000  # letters of all rows, filled up to the longest
END = 0.0  # fills the cells after the end of a string
SHORTEST = 8  # sequences have at least this many letters on average
FEWEST_ROWS = 5
DNA = "ACGTUNRYSWKMBDHV-"
PROTEIN = "ACDEFGHIKLMNPQRSTVWYBXZUOJ*-"
SURE = 0.95  # words have a smaller share of the letters A, C, G, T, U and N than DNA
_SEQUENCE = re.compile(r"[*\-]*[A-Z][A-Z*\-]*|[*\-]*[a-z][a-z*\-]*")


def checked(sequences: Any, n_rows: int, texts: Any = ()) -> tuple[Sequences, Sequences]:
    """Sequences, and free texts, as (name, strings) pairs with one string per row. DataError."""
    found_sequences = _pairs(sequences, n_rows)
    found_texts = _pairs(texts, n_rows)
    for name, strings in found_sequences:
        as_strings(strings, name)
    for name, strings in found_texts:
        if strange := [text for text in strings if not isinstance(text, str)]:
            raise DataError(
                f"The text {name!r} holds {strange[0]!r}, which is no string; expected one per row."
            )
    return found_sequences, found_texts


def _pairs(sequences: Any, n_rows: int) -> Sequences:
    try:
        found = tuple((str(name), strings) for name, strings in sequences)
    except (TypeError, ValueError):
        raise DataError(
            "Sequences are pairs of a name and one string per row; got something else."
        ) from None
    for name, strings in found:
        if isinstance(strings, str) or len(strings) != n_rows:
            raise DataError(
                f"Sequence {name!r} has {len(strings)} strings for {n_rows} rows; expected "
                "one per row."
            )
    return tuple((name, tuple(strings)) for name, strings in found)


def as_strings(strings: Any, name: str = "") -> Names:
    """A list of texts, each of 1 to ``MAX_LENGTH`` letters. DataError."""
    called = f" of {name!r}" if name else ""
    if isinstance(strings, str) or not isinstance(strings, Iterable):
        raise DataError(
            f"The sequences{called} are a list of strings, one per row; got "
            f"{type(strings).__name__}."
        )
    found = tuple(strings)
    for row, text in enumerate(found):
        if not isinstance(text, str):
            raise DataError(
                f"Row {row + 1}{called} is {type(text).__name__}, not a string; sequences "
                "are strings."
            )
        if not 1 <= len(text) <= MAX_LENGTH:
            raise DataError(
                f"Row {row + 1}{called} has {len(text):,} letters; expected 1 to {MAX_LENGTH:,}."
            )
        if "\0" in text:
            raise DataError(
                f"Row {row + 1}{called} holds the sign number 0, which is no letter; remove it."
            )
    if not found:
        raise DataError(f"There are no sequences{called}; give one string per row.")
    return tuple(str(text) for text in found)


def strings_in(rows: Any) -> Names | None:
    """Rows that are strings: a list, array or Series of them; None for anything else."""
    if getattr(rows, "ndim", 0) == 1:
        rows = np.asarray(rows, dtype=object).tolist()
    is_list = isinstance(rows, list | tuple) and len(rows) > 0
    return tuple(rows) if is_list and all(isinstance(text, str) for text in rows) else None


def letters(
    sequences: Sequence[Sequence[str]], width: int = 0, texts: Sequence[Sequence[str]] = ()
) -> Array:
    """The strings of all sequences and of all free texts, as `data.texts` packs them, as a table.

    The table is (n, W S), where W is the longest string or ``width``; DataError beyond the limits.
    """
    longest = max(2, width, *map(len, chain.from_iterable(sequences)))
    n = len([*sequences, *texts][0])
    count = len(sequences) + len(texts)
    if n * count * longest > MAX_LETTERS:
        raise DataError(
            f"{n:,} rows with strings of up to {longest:,} letters are more than "
            f"{MAX_LETTERS:,} letters; take fewer rows, or shorter strings."
        )
    parts = [np.array(strings, dtype=f"<U{longest}").view("<u4") for strings in sequences]
    parts += [packed(strings, longest) for strings in texts]
    table = np.empty((n, longest, count))
    for s, part in enumerate(parts):
        table[:, :, s] = part.reshape(n, longest)
    return table.reshape(n, longest * count)


def lengths(table: Array) -> Array:
    """How many letters each row (n, W) of one sequence has, (n,)."""
    present: Array = (table != END).sum(axis=1)
    return present


# How sequences are recognised


def look_like_sequences(texts: Sequence[str]) -> bool:
    """Whether texts look like DNA, RNA or proteins: long words without spaces in such an alphabet.

    Words of a language fail: either they are short, or capitals and small letters are mixed within
    them.
    """
    if len(texts) < FEWEST_ROWS or len(set(texts)) < 3:
        return False
    longest = max(map(len, texts))
    if longest > MAX_LENGTH or longest * len(texts) > MAX_LETTERS:
        return False
    sample = list(map(str.strip, texts[:: max(1, len(texts) // 500)]))
    if not all(map(_SEQUENCE.fullmatch, sample)):
        return False
    counts = Counter("".join(sample).upper())
    total = sum(counts.values())
    bases = sum(counts[letter] for letter in "ACGTUN-")
    if set(counts) <= set(DNA) and bases >= SURE * total:
        return total >= SHORTEST * len(sample)
    in_capitals = all(map(str.isupper, sample))
    return set(counts) <= set(PROTEIN) and in_capitals and total >= 20 * len(sample)


def composition(strings: Sequence[str]) -> list[str]:
    """What is computed of strings: "" for their length, and frequent letters whose shares vary."""
    total: Counter[str] = sum(map(Counter, strings), Counter())
    frequent = sorted(dict(total.most_common(20)))
    return [letter for letter in ("", *frequent) if np.ptp(share_of(letter, strings)) > 0]


def share_of(letter: str, strings: Sequence[str]) -> Array:
    """The share of a letter in every string (n,), or the length of the string for the letter ""."""
    sizes = np.array([len(text) for text in strings], dtype=float)
    return sizes if not letter else np.array([text.count(letter) for text in strings]) / sizes


# Free text is stored as its UTF-8 bytes, six to a number, which doubles represent exactly; zeros
# follow its end. A bit above them distinguishes such a number from the code point of a letter.

BYTES = 6  # of one number
PACKED = 2.0 ** (8 * BYTES)
MAX_BYTES = 60_000  # of one text; longer texts are cut
WORDS = 2.0  # free texts have so many words on average,
SHARED = 3  # and words that so many rows share
COMMON = 0.5  # in this share of the rows
SAMPLED = 2000  # so many texts are examined
_WORD = re.compile(r"\b(?=\w*[^\W\d_])\w\w+\b")  # with a letter in it


def numbers_of(texts: Sequence[str]) -> int:
    """The number of cells that the longest of the texts takes."""
    longest = max((len(text.encode("utf-8", "replace")) for text in texts), default=0)
    return -(-min(longest, MAX_BYTES) // BYTES)


def packed(texts: Sequence[str], width: int) -> Array:
    """The texts as rows (n, width) of numbers, cut where they do not fit."""
    size = width * BYTES
    rows = []
    for text in texts:
        raw = text.replace("\0", " ").encode("utf-8", "replace")
        rows.append(raw[: min(size, MAX_BYTES)].ljust(size, b"\0"))
    numbers = np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(len(texts), width, BYTES)
    packs: Array = numbers @ 256.0 ** np.arange(BYTES)
    packs[packs != END] += PACKED
    return packs


def unpacked(rows: Array) -> list[str]:
    """The texts of such rows, or of rows of letters, which strings without a table become."""
    if rows.size and END < rows.max() < PACKED:
        codes = [row[row != END].astype("<u4").tobytes() for row in rows]
        return [code.decode("utf-32-le", "replace") for code in codes]
    numbers = rows.astype("<u8", order="C")[:, :, None].view(np.uint8)[:, :, :BYTES]
    return [row.tobytes().rstrip(b"\0").decode("utf-8", "ignore") for row in numbers]


def cut(texts: Sequence[str], width: int) -> list[str]:
    """The texts, cut to ``width`` numbers."""
    return unpacked(packed(texts, width))


def look_like_texts(values: Sequence[str]) -> bool:
    """Whether texts are made of words: several each, which most rows share with a few others."""
    sample = values[:: max(1, len(values) // SAMPLED)]
    rows = [set(_WORD.findall(text.lower())) for text in sample]
    if not rows or sum(map(len, rows)) < WORDS * len(rows):
        return False
    counts = Counter[str]()
    for words in rows:
        counts.update(words)
    shared = {word for word, count in counts.items() if SHARED <= count < len(rows)}
    return sum(bool(words & shared) for words in rows) >= COMMON * len(rows)
