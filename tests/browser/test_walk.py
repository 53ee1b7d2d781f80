"""A walk through every page for every algorithm, on a sample and on an uploaded table, beside the library's own figures."""

import json
import re
from dataclasses import dataclass
from functools import cache as once

import nbformat
import numpy as np
import pandas as pd
import pytest

from mklcore import load_model, load_sample
from mklcore.data import Split, read_table, three_way_split
from mklcore.estimators.registry import ESTIMATORS
from mklcore.kernels import RBF, KernelDictionary, Linear
from mklcore.path import Path, fit_path, path_grid
from pages._parts.nav import ROOMS
from pages._parts.state import METHODS
from tests.browser.conftest import Server
from tests.browser.steps import Visitor, drag, upload

KERNELS = "widths=2&degree=0&each=linear"
SOURCES = ("sample", "upload")


def prices(n: int = 90, seed: int = 5) -> bytes:
    """A table with four numbers, a category and a number to predict."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    kind = rng.integers(0, 2, n)
    y = 2 * X[:, 0] + np.sin(2 * X[:, 1]) + kind + 0.2 * rng.standard_normal(n)
    rows = [
        ",".join([*(f"{v:.4f}" for v in row), ("oak", "elm")[k], f"{target:.4f}"])
        for row, k, target in zip(X, kind, y, strict=True)
    ]
    return "\n".join(["length,width,age,weight,wood,price", *rows]).encode()


# What the library says


@dataclass(frozen=True, eq=False)
class Known:
    """A table with its parts and kernels, made without the app."""

    parts: Split
    kernels: KernelDictionary
    first: np.ndarray
    task: str


@once
def known(source: str) -> Known:
    data = load_sample("iris") if source == "sample" else read_table(prices())
    specs = [RBF(0.25, relative=True), RBF(4.0, relative=True), Linear()]
    specs += KernelDictionary.per_feature(Linear(), data.n_features)
    kernels = KernelDictionary(tuple(specs), feature_names=data.feature_names)
    return Known(three_way_split(data, 0.25, 0.25, 0), kernels, data.X[:1], data.task)


@once
def path_of(source: str, algorithm: str, over: str = "") -> Path:
    """The path that Explore shows when nothing but the algorithm is chosen."""
    here, method = known(source), ESTIMATORS[algorithm]
    over = over or method.path_params[0]
    stack = here.kernels.grams(here.parts.train.X, normalise=getattr(method.classifier, "default_normalise", None))
    usual = {control.name: control.default for control in method.controls if here.task in control.tasks}
    acting = {control.name: control.default for control in method.shown(here.task, over, usual)}
    model = method.estimator(here.task, kernels=here.kernels, stack=stack, **acting)
    grid = path_grid(model, stack, here.parts.train.y, over, 50 if over == "s" else 25)
    rows, target = stack.cross(here.parts.validation.X), here.parts.validation.y
    return fit_path(model, stack, here.parts.train.y, over, grid, rows, target)


# What the screen says


class Walker(Visitor):
    """A visitor who looks for a failure wherever a page comes to rest."""

    def settle(self, quiet: float = 0.3) -> None:
        super().settle(quiet)
        failures = self.page.locator("[data-testid=stException]")
        assert failures.count() == 0, failures.first.inner_text()

    def take(self, button) -> bytes:
        with self.page.expect_download() as download:
            button.click()
        with open(download.value.path(), "rb") as file:
            return file.read()


def assert_sound(visitor: Visitor, server: Server) -> None:
    """Nothing went wrong on the way: not on the page, not in the browser's console, not on the server, and nobody else was asked."""
    assert visitor.page.locator("[data-testid=stException]").count() == 0
    assert visitor.errors == []
    assert visitor.hosts == {server.url.removeprefix("http://")}
    assert "Traceback" not in server.log.read_text(errors="replace")


def number(text: str) -> float:
    return float(text.replace("−", "-").replace("%", "").replace(",", "").strip())


def assert_shown(visitor: Visitor, path: Path, index: int) -> None:
    """Weights, count, certificate and scores on Explore are those of one point of the path."""
    bars = visitor.bars()
    assert set(bars) == set(path.kernel_names)
    for name, weight in zip(path.kernel_names, path.weights[index], strict=True):
        assert bars[name] == pytest.approx(weight, rel=0.006, abs=2e-6), name
    facts = visitor.facts()
    assert f"{path.n_nonzero[index]} of {len(path.kernel_names)} kernels used" in facts
    certified = path.statuses[index].ok and not np.isnan(path.relative_gap[index])
    assert ("✓ certified" in facts) == certified
    for part, scores in (("train", path.train_score), ("validation", path.val_score)):
        shown = number(re.search(rf"{part} {path.score_name} ([^\n]+)", facts)[1])
        scale = 100 if path.score_name == "accuracy" else 1
        assert shown == pytest.approx(scale * scores[index], rel=0.006, abs=0.051)


@pytest.fixture(scope="module")
def walkers(server: Server, chromium):
    """One window for each source, with its table and kernels chosen as a person does it."""
    windows: dict[str, Walker] = {}

    def walker(source: str) -> Walker:
        if source not in windows:
            windows[source] = visitor = Walker(chromium, server.url)
            visitor.open(f"?{KERNELS}")
            if source == "sample":
                visitor.page.get_by_role("button", name="Iris").click()
                visitor.page.wait_for_selector("text=150 rows")
            else:
                upload(visitor, prices(), "prices.csv")
                visitor.page.wait_for_selector("text=90 rows")
            visitor.settle()
        return windows[source]

    yield walker
    for visitor in windows.values():
        visitor.context.close()


def choose(visitor: Visitor, box: str, option: str) -> None:
    """Pick from a select-box."""
    visitor.page.get_by_role("combobox", name=box).click()
    visitor.page.get_by_role("option", name=option, exact=True).click()
    visitor.settle()


@pytest.mark.parametrize("algorithm", METHODS)
@pytest.mark.parametrize("source", SOURCES)
def test_explore_and_predict_show_what_the_library_computes(server: Server, walkers, source, algorithm) -> None:
    visitor, path = walkers(source), path_of(source, algorithm)
    page = visitor.page
    visitor.go("Explore")
    choose(visitor, "Algorithm", METHODS[algorithm].label)
    page.get_by_text("Path", exact=True).first.click()
    page.wait_for_url(lambda url: "look=path" in url)
    visitor.wait_for_path()
    assert_shown(visitor, path, int(np.argmax(path.val_score)))
    drag(visitor, to=0.5, seconds=0.3)
    visitor.settle()
    here = visitor.index()
    assert here == round((len(path) - 1) / 2)
    page.wait_for_url(lambda url: "at=" in url)
    assert_shown(visitor, path, here)
    assert_sound(visitor, server)
