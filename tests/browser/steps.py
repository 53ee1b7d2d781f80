"""What a person does and sees in the app, for the tests that drive a real browser."""

import re
import time
from functools import wraps
from itertools import count
from pathlib import Path as File
from typing import ClassVar
from urllib.parse import parse_qs, urlparse

import numpy as np
from playwright.sync_api import TimeoutError as PlaywrightTimeout

# for a condition; on a loaded machine that still compiles, the first page takes minutes
WAIT = 300_000
TURNS = count()
PATIENCE = 60.0
CURSOR = ".st-key-path_chart .path-cursor line"
# When something was sent to the server that is not answered yet; a page that is left forgets it.
# A tab that slept for long is one whose session the server has forgotten: it connects without
# naming it.
LISTEN = """() => { const Socket = window.WebSocket; window.unanswered = null; window.sockets = [];
  window.WebSocket = class extends Socket {
    constructor(url, names) { super(url, window.slept && Array.isArray(names) ? names.slice(0, 2) : names);
      window.slept = false; window.sockets.push(this);
      this.addEventListener('message', () => { window.unanswered = null; }); }
    send(...all) { window.unanswered = performance.now(); super.send(...all); } }; }"""
# milliseconds: what asks for a part that a run of the whole page has just replaced is never
# answered
DROPPED = 30_000
# Nothing runs, is asked for or is out of date, for as long as asked, by the page's own clock: what
# a click or a key has begun there comes before the next look, however busy the machine.
AT_REST = """([turn, quiet, dropped]) => {
  const all = (name) => [...document.querySelectorAll(`[data-testid=${name}]`)];
  const bars = all('stProgress');
  const now = performance.now(), waits = window.unanswered && now - window.unanswered < dropped;
  const still = all('stApp').some(app => app.dataset.testScriptState === 'notRunning') && !waits;
  const busy = all('stStatusWidget').length || bars.length || !still
    || document.querySelector('[data-stale=true]');
  if (busy || window.rest?.turn !== turn) window.rest = {turn, since: busy ? Infinity : now};
  window.rest.since = Math.min(window.rest.since, now);
  return !busy && now - window.rest.since >= quiet; }"""


def patiently(check):
    """Look again for a while: on a busy machine the server's answer to a click may be late, and
    what was is still shown.
    """

    @wraps(check)
    def look(*args, **kwargs):
        until = time.monotonic() + PATIENCE
        while True:
            try:
                return check(*args, **kwargs)
            except (AssertionError, KeyError, ValueError):  # or what is looked for is not there yet
                if time.monotonic() > until:
                    raise
                args[0].page.wait_for_timeout(200)

    return look


def new_context(browser):
    """A browser's memory of its own: cookies, storage, cache.

    Nothing moves by itself: a spinner is drawn 60 times a second.
    """
    return browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")


class Visitor:
    """One window: its page, its console errors and the hosts it asked."""

    everyone: ClassVar[list["Visitor"]] = []

    def __init__(self, browser, url, shared=None):
        Visitor.everyone.append(self)
        self.shared = shared is not None
        self.context = shared or new_context(browser)
        self.page = self.context.new_page()
        self.url = url
        self.errors = []
        self.hosts = set()
        self.page.set_default_timeout(WAIT)
        self.page.add_init_script(f"({LISTEN})()")
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", self._ask)

    def _ask(self, request):
        if request.url.startswith(("http", "ws")):
            self.hosts.add(urlparse(request.url).netloc)

    def _hear(self, message):
        if message.type == "error":
            self.errors.append(message.text)

    def close(self):
        Visitor.everyone.remove(self)
        if not self.shared:
            self.context.close()
            return
        self.page.evaluate("() => { localStorage.clear(); sessionStorage.clear(); }")
        self.page.close()
        self.context.clear_cookies()

    def account(self):
        """Tell where the window stands and what it shows, for the report of a failure."""
        try:
            shown = self.page.locator("body").inner_text(timeout=2000)
            figures = self.page.locator(".js-plotly-plot, .chart").count()
        except Exception as error:
            # a window that does not answer is reported as such beside the failure itself
            shown = repr(error)
            figures = 0
        return f"{self.page.url}\n{figures} figures; errors: {self.errors}\n{shown[:3000]}"

    def open(self, path="data"):
        self.page.goto(f"{self.url}/{path}")
        self.page.wait_for_selector("h1")
        self.settle()

    def go(self, title):
        link = self.page.locator("[data-testid=stTopNavLink]", has_text=title)
        if link.evaluate("link => link.closest('[inert]') !== null"):  # the menu has no room for it
            self.page.get_by_text(re.compile(r"^\d+ more$")).click()
            link = self.page.locator("[data-testid=stTopNavDropdownLink]", has_text=title)
        link.click()
        current = f"[data-testid=stTopNavLink][aria-current=page] >> text={title}"
        self.page.wait_for_selector(current, state="attached")
        self.settle()

    def sleep(self):
        """Lose the connection for longer than the server remembers the tab, and have a new one."""
        self.page.evaluate(
            "() => { window.slept = true; window.sockets.forEach(one => one.close()); }"
        )
        self.page.wait_for_function("() => !window.slept && window.sockets.at(-1).readyState === 1")

    def named(self, table):
        """Wait until the heading names this table, and no other."""
        self.settle()
        self.page.locator("h1", has_text=table).wait_for()

    def settle(self, quiet=0.3):
        """Wait until nothing has run for a moment, and find no failure then."""
        try:
            self.page.wait_for_function(
                AT_REST, arg=[next(TURNS), 1000 * quiet, DROPPED], polling=50
            )
        except PlaywrightTimeout as error:
            bars = self.page.locator("[data-testid=stProgress]").all_inner_texts() or "none"
            raise TimeoutError(
                f"No rest within {WAIT // 1000} s; work under way: {bars}."
            ) from error
        failures = self.page.locator("[data-testid=stException]")
        assert failures.count() == 0, failures.first.inner_text()

    def choose(self, box, option):
        """Pick from a select-box."""
        self.page.get_by_role("combobox", name=box).click()
        self.page.get_by_role("option", name=option, exact=True).click()
        self.settle()

    @property
    def query(self):
        return {name: values[0] for name, values in parse_qs(urlparse(self.page.url).query).items()}

    def take(self, name):
        """Press a button and return the file it hands over; press again if the page was drawn anew
        just then, as one does.
        """
        button = self.page.get_by_role("button", name=name, exact=True)
        for patience in (15_000, 15_000, WAIT):
            try:
                with self.page.expect_download(timeout=patience) as download:
                    button.click()
                return File(download.value.path()).read_bytes()
            except PlaywrightTimeout:
                self.settle()
        raise TimeoutError(f"{name} handed nothing over.")

    def wait_for_path(self):
        self.page.wait_for_selector(CURSOR, state="attached")
        self.settle()

    @property
    def slider(self):
        return self.page.locator(".player input[type=range]")

    def index(self):
        """The solved point at the cursor, or the nearest one where it stands between two."""
        return round(float(self.slider.input_value()))

    def bars(self):
        """The kernel weights on the screen, by full name."""
        rows = self.page.locator(".bars .line")
        names = rows.locator(".name").evaluate_all("cells => cells.map(cell => cell.title)")
        numbers = rows.locator(".number").all_inner_texts()
        return dict(zip(names, map(float, numbers), strict=True))

    def facts(self):
        """What is reported about the point under the cursor."""
        return self.page.locator(".st-key-texts_facts .texts").inner_text()

    def text(self):
        return self.page.locator("[data-testid=stMain]").inner_text()


@patiently
def assert_reads(visitor, *texts, gone=""):
    """The page says all of this, and does not say what is gone."""
    shown = visitor.text()
    for text in texts:
        assert text in shown
    assert not gone or gone not in shown


@patiently
def assert_at(visitor, index):
    """The cursor stands at this point of the path."""
    assert visitor.index() == index


def upload(visitor, content, name="things.csv"):
    chooser = {"name": name, "mimeType": "text/csv", "buffer": content}
    visitor.page.set_input_files("[data-testid=stFileUploader] input[type=file]", chooser)


WATCH = """(watched) => { window.changes = 0;
  window.watch = new MutationObserver(() => window.changes++);
  window.watch.observe(watched, {attributes: true, childList: true, characterData: true, subtree: true}); }"""
NEXT_FRAME = (
    "() => new Promise(painted => requestAnimationFrame(() => requestAnimationFrame(painted)))"
)


def track_of(slider):
    """Where a slider stands, once it does: while a page is drawn anew it has no place for a moment."""
    while (box := slider.bounding_box()) is None:
        slider.wait_for(state="visible")
    return box


def take_hold(visitor, slider):
    """Press on the thumb of a native slider; return the places of its track, by share."""
    slider.scroll_into_view_if_needed()
    box, most = track_of(slider), int(slider.get_attribute("max"))

    def place(share):
        return box["x"] + 9 + (box["width"] - 18) * share, box["y"] + box["height"] / 2

    visitor.page.mouse.move(*place(float(slider.input_value()) / most))
    visitor.page.mouse.down()
    return place


def drag(visitor, slider, watched, to, moves=24):
    """Drag the thumb along its track and back, then to a share of it; return how often what is
    watched changed.

    Each move waits for the browser to paint, not for a clock; the server has no part in it before
    the thumb is let go.
    """
    place = take_hold(visitor, slider)
    watched.evaluate(WATCH)
    for share in [*np.linspace(0, 1, moves // 2), *np.linspace(1, 0, moves // 2), to]:
        visitor.page.mouse.move(*place(share))
        visitor.page.evaluate(NEXT_FRAME)
    return visitor.page.evaluate("window.watch.disconnect(), window.changes")


def pull(visitor, slider, to):
    """Drag the thumb of a native slider to a share of its track and let go."""
    visitor.page.mouse.move(*take_hold(visitor, slider)(to), steps=6)
    visitor.page.mouse.up()
