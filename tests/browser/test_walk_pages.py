"""Compare, Hulls and Theory beside the library's own figures, on a sample and on an uploaded table."""

import re

import numpy as np
import pytest

from mklcore.figures.moving import shared_slider
from mklcore.hkl.design import Design
from mklcore.io.catalog import ESTIMATORS
from mklcore.paths.path import Path, fit_path, path_grid
from pages.shared.params.steps import place
from tests.browser.known import KERNELS, SOURCES, known, path_of
from tests.browser.server import Server
from tests.browser.steps import Visitor, patiently
from tests.browser.walker import Walker, assert_named, assert_sound, let_go, near, number, resize

TOGETHER = ("lp;uniform;best;smkl", "lp;gomp;greedy")  # over one parameter, and over different ones
NARROW, WIDE = (390, 844), (1280, 900)


# Methods, hulls, theory


def methods_shown(visitor: Visitor) -> dict[str, list[str]]:
    """What the table below the methods says: facts and kernels by name, a text per method."""
    rows = visitor.page.locator(".methods .table .row:not(.head)").evaluate_all(
        """rows => rows.map(row => [row.querySelector('.name').title,
        [...row.querySelectorAll('.fact, .number')].map(cell => cell.textContent)])"""
    )
    return dict(rows)


@patiently
def assert_methods(visitor: Visitor, paths: list[Path], indices: list[int]) -> None:
    shown = methods_shown(visitor)
    score = paths[0].score_name
    for method, (path, k) in enumerate(zip(paths, indices, strict=True)):
        assert number(shown["at"][method].partition("= ")[2]) == pytest.approx(path.values[k], rel=0.006)
        assert number(shown[f"validation {score}"][method]) == near(path, path.val_score[k])
        assert number(shown[f"train {score}"][method]) == near(path, path.train_score[k])
        assert shown["kernels used"][method] == f"{path.n_nonzero[k]} of {len(path.kernel_names)}"
        shares = path.weights[k] / (path.weights[k].sum() or 1.0)
        for name, share in zip(path.kernel_names, shares, strict=True):
            reported = shown[name][method]
            assert (0.0 if reported.startswith("<") else number(reported)) == pytest.approx(100 * share, abs=0.06), name


@pytest.mark.parametrize(("source", "methods"), [*zip(SOURCES, TOGETHER, strict=True)])
def test_methods_move_together_and_show_what_the_library_computes(
    server: Server, walker, source: str, methods: str
) -> None:
    visitor, page = walker(source), walker(source).page
    paths = [path_of(source, name) for name in methods.split(";")]
    visitor.go("Compare")
    data = visitor.query["data"]
    visitor.open(f"compare?data={data}&{KERNELS}&methods={methods}")
    page.wait_for_selector(".st-key-compare_chart .path-cursor line", state="attached")
    visitor.settle()
    stand = methods_shown(visitor)["at"]  # on the best validation score, or where folds chose on Explore before
    starts = [path.nearest(number(text.partition("= ")[2])) for path, text in zip(paths, stand, strict=True)]
    assert_methods(visitor, paths, starts)
    slider = page.locator(".methods input[type=range]")
    let_go(visitor, slider, 0.1)
    let_go(visitor, slider, 0.6)
    here = place(shared_slider(paths, [path.param for path in paths]), paths, visitor.query["methods_at"])
    assert not here.best
    for path, k, text in zip(paths, here.places, methods_shown(visitor)["at"], strict=True):
        ends = [path.values[int(np.floor(k))], path.values[int(np.ceil(k))]]
        shown = [float(part) for part in text.partition("= ")[2].replace(",", "").split(" – ")]
        assert sorted(shown) == pytest.approx(sorted(set(ends)), rel=0.006)  # between two points both are named
    page.get_by_role("button", name="Each at its best").click()
    visitor.settle()
    assert_methods(visitor, paths, starts)
    assert_sound(visitor, server)


@pytest.mark.parametrize("source", ["sample"])
def test_hulls_show_what_the_library_computes(server: Server, walker, source: str) -> None:
    visitor, here, method = walker(source), known(source), ESTIMATORS["hkl"]
    train, validation, task = here.parts.train, here.parts.validation, here.table.task
    usual = {control.name: control.default for control in method.controls}
    acting = {control.name: control.default for control in method.shown(task, "lam", usual)}
    model = method.estimator(task, **acting, levels=3)
    scales = {"standardize": model.standardize, "normalize": model.normalize_basis, "memory_mb": model.memory_mb}
    rows = Design(train.X, model.basis, names=list(train.feature_names), **scales)
    values = path_grid(model, rows, train.y, "lam", 16)[::-1]
    path = fit_path(model, rows, train.y, "lam", values, validation.X, validation.y)
    visitor.go("Hulls")
    visitor.page.locator(".hull .badge", has_text=re.compile("^certified$")).wait_for()
    visitor.settle()
    slider = visitor.page.locator(".hull input[type=range]")
    let_go(visitor, slider, 0.1)
    let_go(visitor, slider, 0.5)
    k = round(float(slider.input_value()))
    assert abs(k - 0.5 * 15) <= 0.5
    assert_hull(visitor, path, k)
    assert_named(visitor)
    assert_sound(visitor, server)


@patiently
def assert_hull(visitor: Walker, path: Path, k: int) -> None:
    """Link, hull and score are those of one point of the path."""
    assert float(visitor.query["hull_at"]) == pytest.approx(path.values[k])
    text = visitor.text()
    assert f"{len(path.estimators[k].hull_)} nodes in the hull" in text
    reported = re.search(rf"validation {path.score_name} ([^\n]+)", text)
    assert reported is not None
    assert number(reported[1]) == near(path, path.val_score[k])


@pytest.mark.parametrize("source", ["upload"])
def test_every_theorem_opens(server: Server, walker, source: str) -> None:
    visitor = walker(source)
    visitor.go("Theory")
    labels = {
        "hkl": "Hulls",
        "greedy": "Steps of greedy descent",
        "gomp": "Number of kernels",
        "lp": "Norm of the weights",
    }
    for turn, (key, label) in enumerate(labels.items()):
        visitor.page.get_by_role("radio", name=label, exact=True).click()
        visitor.page.wait_for_url("**theory=*" if key != "lp" else lambda url: "theory=" not in url)
        resize(visitor, *((NARROW, WIDE)[(turn + SOURCES.index(source)) % 2]))
        assert_named(visitor)
    resize(visitor, *WIDE)
    assert_sound(visitor, server)
