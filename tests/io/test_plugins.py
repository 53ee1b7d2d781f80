"""A module of somebody else is found by the environment or by the metadata of its package, and
fills the registries.
"""

import logging
import sys

import numpy as np
import pytest

from mklcore import KERNELS, KernelDictionary, Linear, LpMKLRegressor
from mklcore.io import plugins
from mklcore.io.catalog import ESTIMATORS
from pages.shared.server import starting
from pages.shared.session import parameters
from pages.shared.session.parameters import METHODS
from tests.helpers.refusals import parameter_error

MODULE = """
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from mklcore.io.catalog import ESTIMATORS
from mklcore.kernels.functions import KERNELS, KernelEntry, KernelSpec


@dataclass(frozen=True, repr=False)
class Cubic(KernelSpec):
    family: ClassVar[str] = "cubic"
    base: ClassVar[str] = "inner"

    @property
    def title(self):
        return "cubic"

    def fill(self, base, upper, out):
        np.power(base, 3, out=out)


KERNELS["cubic"] = KernelEntry("cubic", "Cubic", Cubic, "(x^T z)^3", "All products of three columns.")
ESTIMATORS["outside"] = replace(ESTIMATORS["uniform"], key="outside", label="From outside")
"""


@pytest.fixture
def outside(tmp_path, monkeypatch):
    """A folder on Python's path with one module; the registries are as before afterwards."""
    registries = (KERNELS, ESTIMATORS)
    before = [dict(one) for one in registries]
    (tmp_path / "a_lab.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delenv(plugins.ENVIRONMENT, raising=False)
    yield tmp_path
    for one, old in zip(registries, before, strict=True):
        for name in [name for name in one if name not in old]:
            del one[name]
    sys.modules.pop("a_lab", None)


def stands():
    params, refused = parameters.read_link({"algorithm": "outside"})
    return (
        (params.algorithm, refused) == ("outside", ())
        and "outside" in METHODS
        and "cubic" in KERNELS
    )


def test_without_a_name_nothing_is_imported(outside):
    assert plugins.load() == ()
    assert not stands()


def test_a_module_of_the_environment_stands_in_the_registries_and_works(outside, monkeypatch):
    monkeypatch.setenv(plugins.ENVIRONMENT, " a_lab , ")
    assert plugins.load() == plugins.load() == ("a_lab",)
    assert stands()
    X = np.random.default_rng(0).normal(size=(30, 2))
    cubic = KERNELS["cubic"].spec
    model = LpMKLRegressor(kernels=KernelDictionary((cubic(), Linear())), C=100.0).fit(
        X, X[:, 0] ** 3
    )
    assert model.score(X, X[:, 0] ** 3) > 0.95
    assert model.weights_[0] > model.weights_[1]


def test_a_package_lists_its_module_among_its_entry_points(outside):
    about = outside / "a_lab-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: a-lab\nVersion: 1.0\n", encoding="utf-8"
    )
    (about / "entry_points.txt").write_text(f"[{plugins.GROUP}]\nlab = a_lab\n", encoding="utf-8")
    assert plugins.load() == ("a_lab",)
    assert stands()


def test_a_module_that_fails_is_named_with_its_reason_and_the_server_starts_without_it(
    outside, monkeypatch, caplog
):
    (outside / "broken_lab.py").write_text("1 / 0\n", encoding="utf-8")
    (outside / "ending_lab.py").write_text("import sys\nsys.exit(3)\n", encoding="utf-8")
    for name, reason in (
        ("broken_lab", "ZeroDivisionError"), ("ending_lab", "SystemExit: 3"), ("no_such_lab", "ModuleNotFoundError"),
    ):  # fmt: skip
        monkeypatch.setenv(plugins.ENVIRONMENT, name)
        with parameter_error(rf"{name}.*{reason}.*{plugins.ENVIRONMENT}"):
            plugins.load()
    with caplog.at_level(logging.ERROR):
        starting.load_plugins()
    assert "no_such_lab" in caplog.text
