"""One walk through every algorithm, preset and page: what stands on the screen is what the library
computes there.

The link of a screen says what is asked; the library answers the same here, and every number on the
screen is compared with its own for the point under the cursor.
"""

import os
import re
from functools import cache as once

import numpy as np
import pytest

from mklcore import load_sample
from mklcore.answer.explore import answered
from mklcore.answer.hulls import hull_verdict
from mklcore.estimators.shapley import Explainer
from mklcore.figures import captions, style
from mklcore.figures.player_data import bars_first, shared_slider
from mklcore.kernels.grams import target_alignment
from mklcore.paths.path import fit_path
from pages.compare import sidebar
from pages.shared.session import parameters
from pages.shared.session.parameters import METHODS
from pages.shared.values import answers, dictionaries, hulls
from pages.shared.widgets.players import place, shared_place
from tests.browser.steps import patiently
from tests.browser.walker import (
    assert_method,
    assert_scored,
    assert_sound,
    let_go,
    methods_shown,
    number,
)
from tests.helpers.every import EVERY_CASE

SAMPLE = "data=iris&widths=2&degree=0&each=linear&rows=60"
LOOKS = ("columns", "path", "inside")
FEWEST = 80  # numbers that a walk compares at least
FEW = ("lp",)  # the algorithms that the suite walks over
CLOSELY = re.compile(r"\n([^\n]+) moves the decision by (\S+) on average at \S+ = \S+ \((\S+)\s%")
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


class Numbers:
    """How many numbers of the screen were compared with the library's."""

    def __init__(self):
        self.compared = 0

    def same(self, shown, expected, **how):
        assert number(shown) == pytest.approx(expected, **({"rel": 0.006} | how))
        self.compared += 1

    def said(self, text, sentence):
        plain = " ".join(sentence.replace("**", "").replace("\\", "").split())
        assert plain in " ".join(text.split())
        self.compared += len(NUMBER.findall(plain))


@once
def answer_to(params):
    """The library's answer for what a screen asks, away from the app."""
    return answered(load_sample(params.data), answers.request(params))


def asked(visitor):
    return parameters.read_link(visitor.query)[0]


# Everything takes minutes; the suite sees the looks of lp-norm MKL, one hull and one row. ``test_walk``
# walks over MKL-GOMP and Compare.
EVERY = EVERY_CASE or bool(os.environ.get("EVERY_NUMBER"))

# Explore


@patiently
def assert_numbers(visitor, numbers):
    """All numbers of Explore are those of the point under the cursor."""
    params = asked(visitor)
    counted = Numbers()
    found = answer_to(answers.key(params))
    path = found.path
    k = place(found.path, params.at).index
    text = visitor.text()
    facts = visitor.facts()
    where = captions.label(path.param, float(path.values[k]))
    counted.said(visitor.page.locator(".player output").inner_text(), where)
    assert_scored(facts, path, k)
    counted.compared += 2
    counted.said(facts, "".join(text for _, text in captions.cost(path, k)[0]))
    counted.said(facts, style.counted(int(path.solves[k]), "solve"))
    if np.isfinite(path.relative_gap[k]) and path.statuses[k].ok:
        counted.said(facts, captions.certificate(path, k)[0][1])
    wrong = float(np.mean(found.model.predict(found.test.X) != found.test.y))
    counted.said(text, f"Wrong for {100 * wrong:.1f} % of the rows")
    counted.said(text, f"{found.test.n_samples} held-out rows")
    counted.said(text, f"All weights at {where}, as a table")
    chosen = captions.label(path.param, float(path.values[found.index]))
    here = f"about this point, {chosen}"
    elsewhere = f"You look at {where}; the sentence is about {chosen}"
    counted.said(text, here if k == found.index else elsewhere)
    if params.look == "columns":
        columns(visitor, counted, found, k, where)
    elif params.look == "path":
        shown = visitor.bars()
        for name, weight in zip(path.kernel_names, path.weights[k], strict=True):
            counted.same(str(shown[name]), weight, abs=2e-6)
    else:
        counted.said(text, f"Errors at {where}")
    numbers.compared += counted.compared


def columns(visitor, counted, found, k, where):
    """The bars of the columns, what stands below them about one column, and the models beside."""
    effects = found.effects_along[k]
    names = [one.name for one in found.columns]
    total = effects.sum() or 1.0  # 0 where no kernel is in use
    order = bars_first(found.columns, found.effects_along)
    shown = visitor.page.locator(".st-key-bars_columns .line .number").all_inner_texts()
    for text, j in zip(shown, order, strict=False):
        effect, _, share = text.partition(" · ")
        counted.same(effect, effects[j], rel=0.06, abs=1e-9)
        counted.same(share, 100 * effects[j] / total, abs=0.06)
    text = visitor.text()
    closely = CLOSELY.search(text)
    assert closely is not None
    name, effect, share = closely.groups()
    counted.same(effect, effects[names.index(name)], rel=0.06)
    counted.same(share, 100 * effects[names.index(name)] / total, abs=0.06)
    for one in found.verdict.references:
        counted.said(text, captions.score(found.scoring, one.score))
    counted.said(text, captions.score(found.scoring, found.verdict.score))


def explore(visitor, numbers):
    """Every algorithm as it comes and with its last preset; the looks take turns, so that each is
    seen of all.
    """
    offered = METHODS.offered("multiclass")
    for algorithm in offered if EVERY else FEW:
        method = METHODS[algorithm]
        if asked(visitor).algorithm != algorithm:
            visitor.choose("Algorithm", method.label)
        presets = [one for one in method.presets if "multiclass" in one.tasks]
        seen = [None, *presets[-1:]]
        for turn, preset in enumerate([*seen, *[None] * (len(LOOKS) - len(seen))]):
            look = LOOKS[turn]
            if preset is not None:
                pills = visitor.page.locator(f".st-key-preset_{algorithm}")
                pills.get_by_text(preset.label, exact=True).click()
                visitor.settle()
            if asked(visitor).look != look:
                visitor.page.get_by_text(look.capitalize(), exact=True).first.click()
            visitor.settle()
            visitor.page.wait_for_url(f"**look={look}*" if look != LOOKS[0] else "**")
            assert_numbers(visitor, numbers)
            if turn < (2 if EVERY else 1):
                let_go(visitor, visitor.slider, 1.0 if visitor.index() == 0 else 0.0)
                assert_numbers(visitor, numbers)


# Compare


@patiently
def assert_compared(visitor, numbers):
    """Facts and weights of every method are those of its own place."""
    params = asked(visitor)
    methods = answers.methods(params)
    paths = [answer_to(answers.key(answers.method_params(params, one))).path for one in methods]
    here = shared_place(
        shared_slider(paths, [one.over for one in methods]), paths, params.methods_at
    )
    shown = methods_shown(visitor)
    compared = 0
    for m, (path, at) in enumerate(zip(paths, here.places, strict=True)):
        if at != int(at):
            continue  # between two solved points both are named
        assert_method(shown, m, path, int(at))
        compared += 4 + len(path.kernel_names)
    numbers.compared += compared


def compare(visitor, numbers):
    """Presets, each at its best and with the slider at an end."""
    visitor.go("Compare")
    slider = visitor.page.locator(".methods input[type=range]")
    presets = sidebar.presets(asked(visitor))
    for preset in presets:
        visitor.choose("Preset", preset)
        visitor.page.wait_for_selector(".st-key-compare_chart .path-cursor line", state="attached")
        assert answers.methods(asked(visitor)) == presets[preset]
        assert_compared(visitor, numbers)
        let_go(visitor, slider, 0.0)
        assert_compared(visitor, numbers)


# Hulls


@once
def hulls_of(params):
    """The path of hulls that a screen asks for."""
    cut = hulls.parts(params)
    model = hulls.estimator(params)
    chosen = hulls.columns(params)
    rows = hulls._rows(model, cut.train, chosen)
    values = hulls._values(model, rows, cut.train)
    return fit_path(
        model, rows, cut.train.y, "lam", values, cut.validation.X[:, chosen], cut.validation.y
    )


@patiently
def assert_hull(visitor, numbers):
    """The cursor, the facts and the verdict are those of the hull at the cursor."""
    params = asked(visitor)
    counted = Numbers()
    path = hulls_of(hulls.key(params))
    chosen = hulls.columns(params)
    k = place(path, params.hull_at).index
    model = path.estimators[k]
    text = visitor.text()
    counted.said(
        visitor.page.locator(".hull output").inner_text(),
        captions.label("lam", float(path.values[k])),
    )
    counted.said(text, f"{len(model.hull_)} nodes in the hull")
    counted.said(
        visitor.page.locator(".hull .said").inner_text(), style.counted(len(model.hull_), "node")
    )
    counted.said(
        text,
        f"validation {path.score_name} {captions.score(path.score_name, float(path.val_score[k]))}",
    )
    train, rows = (
        part.select(chosen) for part in (hulls.parts(params).train, hulls.held_out(params))
    )
    counted.said(
        text, hull_verdict(path.estimators[path.first_look], train, rows).sentence(table="Iris")
    )
    numbers.compared += counted.compared


def every_hull(visitor, numbers):
    """Hulls of every basis, or of the usual one, each where it begins and in the middle."""
    for basis in parameters.BASES if EVERY else ["polynomial"]:
        link = f"hulls?{SAMPLE}&hull_columns=3,4&hull_degree=2&hull_basis={basis}"
        visitor.open(link)
        assert_hull(visitor, numbers)
        let_go(visitor, visitor.page.locator(".hull input[type=range]"), 0.5)
        assert_hull(visitor, numbers)


# Predict and Kernels


@patiently
def assert_row(visitor, numbers):
    """The answer for a row and what its bars say are the model's."""
    params = asked(visitor)
    counted = Numbers()
    found = answer_to(answers.key(params))
    data = load_sample(params.data)
    row = data.table[[params.row - 1]]
    text = visitor.text()
    for said in (
        f"{data.target_name}: {found.model.predict(row)[0]}",
        f"Its {data.target_name} is {data.y[params.row - 1]}",
    ):
        assert said in text
        counted.compared += 1
    values = Explainer(found.model)(row)
    output = int(found.model.decision_function(row)[0].argmax())
    parts = values.values[0][:, output]
    base = float(values.base[output])
    # trees may stand beside it by now
    counted.said(text, found.verdict.sentence(table="Iris").partition(" Not yet")[0])
    drawn = visitor.page.locator(".st-key-waterfall [aria-label*=prediction]").first
    described = drawn.get_attribute("aria-label")
    first, last = (style.rounded_to(end, 0.01) for end in (base, base + parts.sum()))
    counted.said(described, f"From {first}, no column known, to the prediction {last}.")
    columns = [name for name, _ in found.model.source_columns_]
    for j in np.argsort(-np.abs(parts), kind="stable")[:3]:
        if parts[j] != 0.0:
            shown = style.rounded_to(parts[j], 0.01, sign=True)
            assert re.search(rf"{re.escape(columns[j])} = \S+ {re.escape(shown)}", described)
            counted.compared += 1
    numbers.compared += counted.compared


@patiently
def assert_kernels(visitor, numbers):
    """The size of the dictionary and the kernel that goes best with the target are the library's."""
    params = asked(visitor)
    counted = Numbers()
    kernels = dictionaries.dictionary(params)
    train = dictionaries.parts(params).train
    stack = kernels.grams(train, dictionaries.normalisation(params), params.center)
    aligned = target_alignment(stack, train.y, train.task)
    best = int(np.argmax(aligned))
    text = visitor.text()
    counted.said(text, f"{len(kernels)} kernels on {train.n_samples} training rows")
    largest = f"has the largest alignment with the target, {style.number(float(aligned[best]))}."
    counted.said(text, f"{stack.names[best]} {largest}")
    numbers.compared += counted.compared


def rows(visitor, numbers):
    """A row of every class, or of one."""
    for row in (1, 60, 150) if EVERY else (60,):
        visitor.open(f"predict?{SAMPLE}&row={row}")
        visitor.page.wait_for_selector(".st-key-waterfall [aria-label*=prediction]")
        assert_row(visitor, numbers)


def dictionaries_of_kernels(visitor, numbers):
    """The dictionaries of the table and of the builders."""
    for recipe in ("builders", "recommended"):
        visitor.open(f"kernels?{SAMPLE}&recipe={recipe}")
        assert_kernels(visitor, numbers)


@pytest.mark.settling
def test_every_number_of_every_algorithm_preset_and_page_is_the_librarys(
    server, visit, record_property
):
    visitor = visit(server.url)
    numbers = Numbers()
    visitor.open(f"explore?{SAMPLE}")
    explore(visitor, numbers)
    every_hull(visitor, numbers)
    rows(visitor, numbers)
    if EVERY:
        compare(visitor, numbers)
        dictionaries_of_kernels(visitor, numbers)
    assert_sound(visitor, server)
    record_property("numbers compared", numbers.compared)
    print(f"{numbers.compared} numbers compared")
    assert numbers.compared >= (10 * FEWEST if EVERY else FEWEST)
