"""One walk through the algorithms and presets of Explore: what stands on the screen is what the
library computes there.

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
from mklcore.figures import captions, style
from mklcore.figures.player_data import bars_first
from pages.shared.session import parameters
from pages.shared.session.parameters import METHODS
from pages.shared.values import answers
from pages.shared.widgets.players import place
from tests.browser.steps import patiently
from tests.browser.walker import (
    assert_scored,
    assert_sound,
    let_go,
    number,
)
from tests.helpers.every import EVERY_CASE

SAMPLE = "data=iris&widths=2&degree=0&each=linear&rows=60"
LOOKS = ("columns", "path", "inside")
FEWEST = 50  # numbers that the walk compares for each algorithm, at least
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


# Everything takes minutes; the suite sees the looks of lp-norm MKL. ``test_walk`` walks over MKL-GOMP,
# Predict and Compare.
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


@pytest.mark.settling
def test_every_number_of_every_algorithm_and_preset_is_the_librarys(server, visit, record_property):
    visitor = visit(server.url)
    numbers = Numbers()
    visitor.open(f"explore?{SAMPLE}")
    explore(visitor, numbers)
    assert_sound(visitor, server)
    record_property("numbers compared", numbers.compared)
    print(f"{numbers.compared} numbers compared")
    algorithms = METHODS.offered("multiclass") if EVERY else FEW
    assert numbers.compared >= FEWEST * len(algorithms)
