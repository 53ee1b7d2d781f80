"""The site: its examples run as tests, every method has a page, and what a page asks the library
for is there.
"""

import doctest
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import mklcore
from docs import hooks, replication
from docs.gallery_pictures import run
from mklcore.io.catalog import ESTIMATORS
from tests.helpers.every import EVERY_CASE, every, share
from tests.helpers.project import ROOT, text_of

DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
METHODS = ("lp", "gomp", "greedy", "smkl", "hkl")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def with_examples():
    """The modules of the library whose docstrings hold an example."""
    found = []
    for module in pkgutil.walk_packages(mklcore.__path__, "mklcore."):
        place = Path(module.module_finder.path) / f"{module.name.rpartition('.')[2]}.py"  # type: ignore[union-attr]
        file = place if place.is_file() else place.with_suffix("") / "__init__.py"
        if ">>> " in file.read_text(encoding="utf-8"):
            found.append(module.name)
    return found


WITH_EXAMPLES = [page for page in PAGES if ">>> " in page.read_text(encoding="utf-8")]


@every("page", share(WITH_EXAMPLES, 2, first=1))
def test_the_examples_of_a_page_run(page):
    failed, tried = doctest.testfile(
        str(page), module_relative=False, optionflags=FLAGS, encoding="utf-8"
    )
    assert tried
    assert not failed


@every("name", share(with_examples(), 3))
def test_the_examples_of_a_docstring_run(name):
    failed, tried = doctest.testmod(importlib.import_module(name), optionflags=FLAGS)
    assert tried
    assert not failed


def test_every_public_name_has_an_entry_in_the_reference_and_an_example():
    pages = [page.read_text(encoding="utf-8") for page in (DOCS / "reference").glob("*.md")]
    entries = set(re.findall(r"^::: (\S+)", "\n".join(pages), re.MULTILINE))
    examples = " ".join(
        example.source for page in pages for example in doctest.DocTestParser().get_examples(page)
    )
    known = set(re.findall(r"\w+", examples))
    for name in mklcore.__all__:
        made = getattr(mklcore, name)
        if not inspect.ismodule(made):
            place = f"{getattr(made, '__module__', mklcore._home[name])}.{name}"
            assert place in entries, f"{place} has no entry in docs/reference."
        assert name in known, f"{name} has no example in docs/reference."


def test_an_example_of_a_docstring_is_code_and_no_reference():
    pytest.importorskip("griffe", reason="what writes the site comes with the extra docs")
    markdown = pytest.importorskip(
        "markdown", reason="what writes the site comes with the extra docs"
    )
    from docs.docstrings import as_markdown

    text = as_markdown("What it does.\n\nn : rows\n\n>>> x = [[1]]\n>>> x[0][0]\n1\n\nThe end.")
    page = markdown.markdown(text, extensions=["pymdownx.superfences"])
    assert "<blockquote>" not in page
    assert "x[0][0]\n1\n" in re.sub(r"</?span[^>]*>", "", page)
    assert "<p>The end.</p>" in page
    assert "<code>n</code>: rows" in page


@every("key", METHODS)
def test_every_method_has_a_page_with_problem_options_certificate_and_picture(key):
    text = text_of(f"docs/methods/{key}.md")
    assert [f"{{{{ {what} {key} }}}}" in text for what in ("formula", "words", "options")] == [
        True
    ] * 3
    assert "certificate" in text
    assert "| symbol | meaning |" in text
    picture = text_of(f"docs/pictures/{key}.svg")
    assert {"@keyframes", "prefers-reduced-motion"} <= set(
        re.findall(r"@keyframes|prefers[-\w]+", picture)
    )
    assert len(picture) < 40_000


def test_pages_are_filled_from_the_registry():
    text = hooks.on_page_markdown("before\n{{ options lp }}\nafter")
    assert [f"| `{control.name}` |" in text for control in ESTIMATORS["lp"].controls] == [
        True
    ] * len(ESTIMATORS["lp"].controls)
    assert "<math" in hooks.on_page_markdown("{{ formula hkl }}")
    with pytest.raises(KeyError):
        hooks.on_page_markdown("{{ formula nothing }}")


def test_every_example_of_the_gallery_ends_with_a_figure_that_its_page_shows():
    page = hooks.on_page_markdown(text_of("docs/gallery/index.md"))
    scripts = sorted((DOCS / "gallery").glob("*.py"))
    assert len(scripts) == 12
    for place, script in enumerate(scripts):
        if EVERY_CASE or place % 3 == 0:
            figure = run(script)
            assert figure.data, script
            assert figure.layout.meta["alt"], script
        picture = DOCS / "gallery" / "pictures" / f"{script.stem}.svg"
        assert picture.stat().st_size < 150_000
        assert f"](pictures/{picture.name})" in page
        assert script.read_text(encoding="utf-8").split('"""\n', 1)[1].strip() in page


def test_every_page_is_in_the_navigation_and_every_picture_has_a_text():
    menu = text_of("mkdocs.yml").split("\nnav:\n")[1]
    assert [str(page) for page in PAGES if page.relative_to(DOCS).as_posix() not in menu] == []
    for page in PAGES:
        filled = hooks.on_page_markdown(page.read_text(encoding="utf-8"))
        assert "![](" not in filled, page
        formulas = re.findall(r"<math.*?</math>", filled, re.DOTALL)
        assert [one for one in formulas if "\\" in one] == [], page  # all of it was understood
        words = re.sub(r"```.*?```|`[^`\n]*`", "", filled, flags=re.DOTALL)
        assert "$" not in words, page


def test_the_replication_report_is_what_the_records_say():
    assert text_of("docs/published.md") == replication.report(), (
        "write it anew: python -m docs.replication pictures"
    )
    for name, *_ in replication.pictured():
        assert (DOCS / "pictures" / f"{name}.svg").stat().st_size < 150_000
