"""The playground: its solver beside the library's, and a truth that is dragged, handed out by a
link and guessed.
"""

import numpy as np
from playwright.sync_api import expect

from mklcore import KernelDictionary, Linear, LpMKLClassifier
from mklcore.figures.players import text_of

DRAWS = 100
FITS = """(draws) => { const { tableOf, problemOf, fit } = norms(); return draws.map(({ truth, rows, inverse, C }) => {
  const { columns, labels } = tableOf(truth, rows, 0);
  const theta = new Float64Array(columns.length).fill(1), w = new Float64Array(columns.length);
  const found = fit(problemOf(columns, labels), inverse, C, theta, w, { tolerance: 1e-9, steps: 2000 });
  return { ...found, theta: [...theta], X: columns.map((one) => [...one]), y: [...labels] }; }); }"""
# The guess is revealed before there is an answer, as on a slow machine.
VIEW = """const view = [...document.querySelectorAll(".st-key-playground *")]
    .map((one) => one.playground ?? one.shadowRoot?.playground).find(Boolean);"""
FORGET = (
    f"() => {{ {VIEW} view.answer = view.others = view.folds = null; view.shown = ++view.latest; }}"
)
ANSWER = f'() => {{ {VIEW} view.ask("fine"); }}'
MINUTE = 60_000
PLAYGROUND = ".st-key-playground .playground"


def draws():
    rng = np.random.default_rng(0)
    for _ in range(DRAWS):
        bars = (rng.random(10) * (rng.random(10) < 0.6)).round(2).tolist()
        more = {
            "noise": int(rng.integers(0, 20)),
            "overlap": int(rng.integers(1, 30)),
            "seed": int(rng.integers(1, 99)),
        }
        truth = {"bars": bars, "correlation": round(0.95 * rng.random(), 2), **more}
        inverse = [0.0, 1.0, float(rng.random())][int(rng.integers(3))]
        yield {
            "truth": truth,
            "rows": int(2 * rng.integers(10, 40)),
            "inverse": inverse,
            "C": 10 ** rng.uniform(-4, 0),
        }


def test_the_solver_of_the_browser_is_that_of_the_library(chromium):
    asked = list(draws())
    page = chromium.new_page()
    page.add_script_tag(content=text_of("norms.js"))
    answers = page.evaluate(FITS, asked)
    page.close()
    for draw, found in zip(asked, answers, strict=True):
        p = np.inf if draw["inverse"] == 0 else 1 / draw["inverse"]
        X = np.array(found["X"]).T
        kernels = KernelDictionary.per_feature(Linear(), X.shape[1])
        model = LpMKLClassifier(kernels=kernels, p=p, C=draw["C"], loss="squared", tol=1e-8).fit(
            X, np.array(found["y"])
        )
        assert found["gap"] <= 1e-6, draw
        np.testing.assert_allclose(found["theta"], model.weights_, atol=1e-3, err_msg=str(draw))
        np.testing.assert_allclose(
            found["objective"], model.objective_, rtol=1e-3, err_msg=str(draw)
        )


def test_a_truth_is_dragged_handed_out_and_guessed(server, visit):
    visitor = visit(server.url)
    visitor.open("")
    page = visitor.page
    said = page.locator(f"{PLAYGROUND} .say")
    live = page.locator(f"{PLAYGROUND} .unseen")
    expect(live).to_contain_text("Nine of 50 columns matter: p")
    bar = page.locator(f"{PLAYGROUND} .bar").nth(9)
    box = bar.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] - 30)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 60, steps=4)
    expect(said).to_contain_text("Ten of 50 columns matter")
    page.mouse.up()
    expect(live).to_contain_text("Ten of 50 columns matter")
    assert float(bar.get_attribute("aria-valuenow")) > 0.5
    expect(page.locator(f"{PLAYGROUND} .caption")).to_contain_text(
        "Cross-validation on the first draw takes p"
    )
    for option, words in (
        ("Sparse wins", "One of 50 columns matters: p\u00a0=\u00a01"),
        ("Sparse loses", "All ten columns"),
    ):
        page.get_by_role("button", name=option).click()
        expect(live).to_contain_text(words)
    page.locator(f"{PLAYGROUND} .first").click()
    expect(said).to_contain_text("Place your guess")
    address = page.url
    assert "bars=50-50" in address
    assert "guess=first" in address
    page.goto("about:blank")
    page.goto(address)  # as whoever gets the link opens it
    expect(said).to_contain_text("Place your guess")
    norm = page.locator(f"{PLAYGROUND} .norm")
    expect(norm).to_have_attribute("aria-valuetext", "no guess yet")
    norm.fill("0")
    expect(page.locator(f"{PLAYGROUND} .first")).to_have_text("Reveal")
    page.evaluate(FORGET)
    page.locator(f"{PLAYGROUND} .first").click()
    expect(said).to_have_text("")
    page.evaluate(ANSWER)
    expect(said).to_contain_text("Your guess, p\u00a0=\u00a01, is", timeout=MINUTE)
    assert not visitor.errors
