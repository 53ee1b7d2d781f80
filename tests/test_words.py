"""Texts and names use the standard terms of the field: words of the private vocabulary before them do not come back.

Ordinary words that also stood in that vocabulary (exact, single, inside, whole, summed) are free.
"""

import io
import re
import tokenize
from functools import cache
from pathlib import Path

import pytest

from mklcore.losses import Loss

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("mklcore", "pages", "tests", "benchmarks", "docs", ".ci", "sample_data")
FREE = {"test_words.py"}  # they have to name the words

# What a text says instead: `words.md` of the design, in short.
PHRASES = {
    r"told|untold": "reported, shown, distinguished",
    r"whoever": "anyone who, or the caller",
    r"at hand": "available, present",
    r"in words": "as text, with a message",
    r"afresh": "again",
    r"in one stroke|in the same stroke": "at once",
    r"hears?|heard": "receives, obeys, learns of",
    r"breathes?": "checks for cancellation",
    r"(?:hangs?|hung|hanging) (?:only )?on": "depends on",
    r"lies?": "is, are",
    r"lanes?": "methods",
    r"keepers?": "administrator, admin",
    r"errands?": "remote tasks",
    r"crews?": "worker pool",
    r"shel(?:f|ves)": "cache",
    r"errors cost|an error costs": "loss",
    r"weighs the kernels": "kernel-weight regulariser",
    r"points off their bounds": "free support vectors",
    r"best at the edge": "optimum at the grid boundary",
    r"recipe link|secret run link": "shareable link, private run link",
    r"like the others": "one-class (anomaly detection)",
}
# Whole words of names: `told` in `told`, `_told` and `rows_told`, not in `toldX`.
NAMES = {
    "told": "reported", "TOLD": "reported", "untold": "omit", "whoever": "", "afresh": "again", "hears": "receives",
    "breathe": "check_cancelled",
    "lane": "method", "lanes": "methods", "keeper": "admin", "crew": "worker pool", "errand": "task",
    "errands": "tasks",
    "shelf": "cache", "shelves": "caches", "tallies": "metrics", "telling": "captions", "kinked": "hybrid",
    "bend": "second_derivative", "bends": "second_derivative", "tube": "epsilon",
    "Board": "Trace", "Weighed": "WeightState", "Kept": "CachedPoint", "Carry": "WarmState",
}  # fmt: skip
PAIRS = {"see_to": "request", "may_be_ended": "cancellation_scope", "in_words": "a noun", "at_hand": "available"}


@cache
def files() -> tuple[Path, ...]:
    """Return Python and Markdown files of the repository without the data of tests, which version 0.1 wrote."""
    found = [*ROOT.glob("*.md"), *ROOT.glob("*.py")]
    for folder in FOLDERS:
        found += [path for kind in ("*.py", "*.md") for path in (ROOT / folder).rglob(kind)]
    return tuple(path for path in found if path.name not in FREE and ROOT / "tests" / "data" not in path.parents)


@cache
def parts() -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]]:
    """Return texts that a person reads (Markdown, strings, comments) and names, each with its place."""
    texts, names = [], []
    for path in files():
        place, text = str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")
        names += [(place, path.stem)]
        if path.suffix == ".md":
            texts += [(f"{place}:{line}", one) for line, one in enumerate(text.splitlines(), 1)]
            continue
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in (tokenize.STRING, tokenize.COMMENT):
                lines = enumerate(token.string.splitlines(), token.start[0])
                texts += [(f"{place}:{line}", one) for line, one in lines]
            elif token.type == tokenize.NAME:
                names.append((f"{place}:{token.start[0]}", token.string))
    any_word = re.compile("|".join(PHRASES), re.IGNORECASE)
    return tuple(one for one in texts if any_word.search(one[1])), tuple(names)


def places(word: str) -> list[str]:
    """Return where texts use ``word``, a regular expression for whole words."""
    pattern = re.compile(rf"(?<![\w#\"'.-])(?:{word})(?![\w\"'(=])", re.IGNORECASE)
    return [place for place, text in parts()[0] if pattern.search(text)]


@cache
def names() -> dict[str, list[str]]:
    """Return where each name is used, and each of its words between underscores."""
    found = dict[str, list[str]]()
    for place, name in parts()[1]:
        pairs = {pair for pair in PAIRS if pair in name}
        for one in {name, *name.split("_"), *pairs}:
            found.setdefault(one, []).append(place)
    return found


@pytest.mark.parametrize("word", PHRASES)
def test_texts_say_it_in_standard_terms(word):
    found = places(word)
    assert not found, f"{word}: say {PHRASES[word]}. {found[:5]}"


@pytest.mark.parametrize("word", [*NAMES, *PAIRS])
def test_names_are_standard_terms(word):
    found = names().get(word, [])
    better = {**NAMES, **PAIRS}[word]
    assert not found, f"{word}: call it {better}. {found[:5]}"


def test_a_loss_has_derivatives_by_name():
    assert not {"slope", "bend", "reach", "tube"} & set(dir(Loss))
