"""The app attacked as an outsider would: each attack carried out against real servers, processes and a real browser.

    python -m benchmarks.attacks [NAME ...]

One line per attack: what was done, how often, what a person saw, and whether it held. What came of it is kept, and
``docs/attacked.md`` is written from what is kept. The exit code is 1 where something did not hold.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import http.server
import io
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import bad_luck, hostile_names
from benchmarks.classroom import Session, cpu_seconds, memory, table
from benchmarks.fuzzing import models
from benchmarks.records import add, on_page
from benchmarks.serving import ROOT, children, chromium, running_app, settled
from mklcore.data.reading import read_table
from mklcore.errors import DataError
from mklcore.parallel.sweep import sweep
from pages._parts.runs.disk import StoreError
from pages._parts.runs.secrets import link_secret, new_secret
from pages._parts.runs.store import GONE, File, Limits, Store

WAIT = 120.0
SLOW = "widths=20&each=rbf&laplacians=20&subspaces=100&algorithm=smkl&rows=2000"  # a minute of work
DRAWN = {
    "links": "links, read alone",
    "pages": "pages opened under a link",
    "stacks": "kernel stacks",
    "models": "model files",
    "store": "kept work: full disks, clocks, damage, many browsers",
}
WRITER = """
import sys
from pathlib import Path
from pages._parts.runs.disk import StoreError
from pages._parts.runs.store import Store
store, owner = Store(Path(sys.argv[1])), sys.argv[2]
for turn in range(int(sys.argv[3])):
    try:
        run = store.save(owner, f"run {turn}", "explore", {"data": "iris", "seed": str(turn)}, results=bytes(20_000))
        print(run.id, flush=True)
        if turn % 3 == 2:
            store.delete(owner, run.id)
            print("-" + run.id, flush=True)
    except StoreError as error:
        print("!" + str(error), flush=True)
"""


@dataclass(frozen=True)
class Found:
    """What an attack did, how many times, what came of it, and whether that is as promised."""

    tried: int
    saw: str
    held: bool


def leaks() -> Found:
    """Open a saved run by its link; look for its secret in logs, and in what other servers are sent."""
    heard: list[str] = []

    class Listener(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            heard.append(str(self.headers))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    other = http.server.HTTPServer(("127.0.0.1", 0), Listener)
    threading.Thread(target=other.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as home:
        owner = new_secret()
        run = Store(Path(home)).save(owner, "mine", "data", {"data": "iris"})
        secret = link_secret(owner, run.id)
        with running_app(MKL_EXPLORER_HOME=home) as app, chromium() as browser:
            page = browser.new_page()
            asked: list[str] = []
            page.on("request", lambda request: asked.append(request.headers.get("referer", "")))
            page.goto(f"{app.url}/?run={secret}")
            settled(page, WAIT)
            there = f"http://127.0.0.1:{other.server_port}/"
            page.evaluate("place => fetch(place, {mode: 'no-cors'}).catch(() => 0)", there)
            page.evaluate("place => { const one = new Image(); one.src = place; }", there)
            page.goto(f"{app.url}/?run={secret}")
            settled(page, WAIT)
            page.evaluate("place => { location.href = place; }", there)
            page.wait_for_url(there)
            logged = app.log.read_text(encoding="utf-8", errors="replace")
        kept = b"".join(part.read_bytes() for part in Path(home).iterdir())
    other.shutdown()
    found = {
        "referrers of the app": sum(secret in one for one in asked),
        "referrers elsewhere": sum("referer" in one.lower() for one in heard),
        "the server's log": int(secret in logged),
        "the data folder": int(secret.encode() in kept),
    }
    saw = ", ".join(f"{number} in {where}" for where, number in found.items())
    return Found(len(asked) + len(heard), f"secret or referrer: {saw}", not any(found.values()) and len(heard) >= 3)


def timing() -> Found:
    """Ask for runs by wrong secrets, half of which begin like a right one, and compare how long the refusals take."""
    with tempfile.TemporaryDirectory() as home:
        store, owner = Store(Path(home)), new_secret()
        right = [link_secret(owner, store.save(owner, str(k), "data", {}).id) for k in range(20)]
        chance, spent = np.random.default_rng(0), {True: [], False: []}
        for turn in range(3000):
            near = bool(turn % 2)
            wrong = right[turn % 20][:42] + "A" if near else new_secret()
            if wrong in right:
                continue
            begun = time.perf_counter()
            try:
                store.linked(wrong)
            except StoreError:
                spent[near].append(time.perf_counter() - begun)
    near, far = (np.array(spent[which]) for which in (True, False))
    shuffled = np.concatenate([near, far])
    gaps = []
    for _ in range(500):
        chance.shuffle(shuffled)
        gaps.append(abs(np.median(shuffled[: len(near)]) - np.median(shuffled[len(near) :])))
    gap, reach = abs(float(np.median(near) - np.median(far))), float(np.quantile(gaps, 0.99))
    words = f"medians {1e6 * np.median(near):.0f} and {1e6 * np.median(far):.0f} microseconds apart by {1e6 * gap:.1f}"
    return Found(len(shuffled), f"{words}; chance alone reaches {1e6 * reach:.1f}", gap <= reach)


def hostile_names_in_report() -> Found:
    """Open the report of a table with hostile names in a browser."""
    return Found(*hostile_names.report())


def hostile_names_in_notebook() -> Found:
    """Run the notebook of a table with hostile names and lay it open in a browser, every text and output as it is."""
    return Found(*hostile_names.notebook())


def hostile_names_on_pages() -> Found:
    """Open every page and tab with a table of hostile names in a browser."""
    return Found(*hostile_names.pages())


def ten_experiments() -> Found:
    """Press Run full size of ten experiments in one tab, past the page's own switch, and open Explore in another."""

    async def go(url: str) -> tuple[int, int, float, int]:
        keys = [one.key for one in _experiments()][:10]
        async with (
            Session(url, "experiments") as greedy,
            Session(url, "explore", "data=iris&widths=2&each=none") as other,
        ):
            pressed = 0
            for key in keys:
                greedy.query = f"experiment={key}"
                await greedy.run(page="experiments")
                buttons = [one for one, _ in greedy.found("button") if "run_full" in one.id]
                if buttons:
                    state = greedy.widgets[buttons[0].id] = _pressed(buttons[0].id)
                    await greedy.run()
                    del greedy.widgets[state.id]
                    pressed += 1
            begun, lines = time.monotonic(), len(greedy.found("progress", "Experiment"))
            await other.run()
            await other.until(other.player, begun + WAIT)
            return pressed, lines, time.monotonic() - begun, len(greedy.faults) + len(other.faults)

    with running_app() as app:
        pressed, lines, seconds, faults = asyncio.run(go(app.url))
        trace = app.tracebacks()
    words = f"{lines} of them under way at the end; another tab had its path after {seconds:.1f} s, {faults} faults"
    return Found(pressed, words, not faults and not trace and lines <= 1 and seconds < WAIT)


def vanishing() -> Found:
    """Cut the line of a tab in the middle of a path; wait until the server rests, and look at its memory."""

    async def go(url: str) -> bool:
        async with Session(url, "", SLOW) as session:
            await session.run()
            await session.upload("table.csv", table(1))
            await session.run(page="explore")
            under_way = await session.until(lambda: _points(session) > 0, time.monotonic() + WAIT)
            session.socket.transport.abort()
            return under_way

    with running_app() as app:
        under_way = asyncio.run(go(app.url))
        cut, last, before, calm = time.monotonic(), cpu_seconds(app.process), memory(app.process), 0
        while calm < 4 and time.monotonic() - cut < 2 * WAIT:
            time.sleep(3)
            spent, last = cpu_seconds(app.process) - last, cpu_seconds(app.process)
            calm = calm + 1 if spent < 0.1 else 0
        rest, after, trace = time.monotonic() - cut - 12, memory(app.process), app.tracebacks()
    words = f"the server rests {rest:.0f} s later and holds {after:.0f} MB, {before:.0f} MB when the line was cut"
    return Found(int(under_way), words, under_way and calm == 4 and not trace)


def _points(session: Session) -> int:
    """How many points of a path are solved, as its line of progress says."""
    reported = " ".join(str(one) for one, _ in session.found("progress", " points"))
    found = re.search(r"(\d+) of \d+ points", reported)
    return int(found[1]) if found else 0


def dead_reader() -> Found:
    """Kill the process that reads a workbook, while it reads."""
    killed: list[int] = []

    def kill() -> None:
        for child, command in children(os.getpid()):
            if "workbook_reader" in command:
                os.kill(child, signal.SIGKILL)
                killed.append(child)

    book = io.BytesIO()
    with zipfile.ZipFile(book, "w") as archive:
        archive.writestr("xl/workbook.xml", b"<workbook/>" * 100_000)
    try:
        read_table(book.getvalue(), tick=kill)
        said = "nothing"
    except DataError as error:
        said = str(error)
    return Found(len(killed), said, bool(killed) and "cannot be read" in said)


def dead_compiler() -> Found:
    """Kill the process that compiles, at the first start of a machine, and wait for a path all the same."""

    async def first(url: str) -> float:
        begun = time.monotonic()
        async with Session(url, "explore", "data=iris&widths=2&each=none&path=C") as session:
            await session.run()
            there = await session.until(session.player, begun + 4 * WAIT)
        return time.monotonic() - begun if there else 0.0

    with tempfile.TemporaryDirectory() as cache, running_app(NUMBA_CACHE_DIR=cache) as app:
        killed = 0
        end = time.monotonic() + WAIT
        opened = threading.Thread(target=lambda: asyncio.run(first(app.url)), daemon=True)
        opened.start()
        while not killed and time.monotonic() < end:
            for child in children(app.process):
                if "mklcore._numba.compiling" in child[1]:
                    os.kill(child[0], signal.SIGKILL)
                    killed += 1
            time.sleep(0.1)
        seconds = asyncio.run(first(app.url))
    return Found(killed, f"the server compiles itself; a path after {seconds:.0f} s", killed > 0 and seconds > 0)


def dead_runner() -> Found:
    """Kill one of the processes that a sweep runs in, in the middle of it."""
    killed: list[int] = []

    def kill() -> None:
        end = time.monotonic() + WAIT
        while not killed and time.monotonic() < end:
            time.sleep(0.5)
            workers = [child for child, command in children(os.getpid()) if "popen_loky" in command]
            if done and workers:
                os.kill(workers[0], signal.SIGKILL)
                killed.append(workers[0])

    done: dict[int, float] = {}
    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    rows = sweep(_in_a_while, range(40), "processes", 2, done)
    killer.join(1)
    right = rows == {number: number**0.5 for number in range(40)}
    return Found(len(killed), f"{len(rows)} of 40 runs came out, each as it should: {right}", bool(killed) and right)


def _in_a_while(number: int) -> float:
    time.sleep(0.2)
    return float(number**0.5)


def two_apps() -> Found:
    """Two servers on one folder of kept work: a run is opened in both, deleted in one, and asked for again in the
    other.
    """

    async def opened(url: str, secret: str) -> str:
        async with Session(url, "", f"run={secret}") as session:
            await session.run()
            reported = " ".join(str(one) for kind in ("alert", "markdown") for one, _ in session.found(kind))
            return "fault" if session.faults else "gone" if GONE in reported else "there"

    with tempfile.TemporaryDirectory() as home:
        owner = new_secret()
        store = Store(Path(home))
        saved = [store.save(owner, f"run {k}", "data", {"data": "iris"}) for k in range(4)]
        secrets = [link_secret(owner, run.id) for run in saved]
        with running_app(MKL_EXPLORER_HOME=home) as one, running_app(MKL_EXPLORER_HOME=home) as other:
            both = [asyncio.run(opened(app.url, secret)) for secret in secrets for app in (one, other)]
            for run in saved[:2]:
                store.delete(owner, run.id)
            after = [asyncio.run(opened(app.url, secret)) for secret in secrets for app in (one, other)]
            trace = one.tracebacks() + other.tracebacks()
    there, gone = after.count("there"), after.count("gone")
    words = f"before: {both.count('there')} of 8 there; after two were deleted: {there} there, {gone} gone"
    held = both == ["there"] * 8 and after == ["gone"] * 4 + ["there"] * 4
    return Found(8, words, held and not trace)


def two_servers() -> Found:
    """Four processes save and delete in one folder at once; one is killed on the way.

    What was acknowledged is asked for.
    """
    with tempfile.TemporaryDirectory() as folder:
        home, owners = Path(folder) / "home", [new_secret() for _ in range(4)]
        python = {**os.environ, "PYTHONPATH": str(ROOT)}
        writers = [
            subprocess.Popen(
                [sys.executable, "-c", WRITER, str(home), owner, "40"], stdout=subprocess.PIPE, text=True, env=python
            )
            for owner in owners
        ]
        first = writers[0].stdout
        said = [first.readline() for _ in range(8)] if first else []
        writers[0].kill()
        reported = [
            said + (writers[0].communicate()[0].splitlines()),
            *(one.communicate()[0].splitlines() for one in writers[1:]),
        ]
        store, lost, back, refused, acknowledged = Store(home), 0, 0, 0, 0
        for owner, lines in zip(owners, reported, strict=True):
            every = [line.strip() for line in lines]
            gone = {line[1:] for line in every if line.startswith("-")}
            saved = {line for line in every if len(line) == 32}
            refused += sum(line.startswith("!") for line in every)
            acknowledged += len(saved)
            there = {run.id for run in store.runs(owner)}
            lost += len(saved - gone - there)
            back += len(gone & there)
    killed_between = 1  # a run whose deletion was under way when the process was killed may be gone unsaid
    words = f"{acknowledged} saved runs acknowledged, {lost} lost, {back} deleted ones came back, {refused} refusals"
    return Found(acknowledged, words, lost <= killed_between and not back)


def quota() -> Found:
    """Two processes fill the share of one browser at once: together they keep no more than it."""
    with tempfile.TemporaryDirectory() as folder:
        home, owner = Path(folder) / "home", new_secret()
        limits = Limits(owner_mb=4.0)
        stores = Store(home, limits), Store(home, limits)
        refused: list[str] = []

        def fill(store: Store, first: int) -> None:
            for k in range(first, first + 10):
                content = hashlib.shake_256(bytes([k])).digest(400_000)
                file = File(f"upload:{hashlib.sha256(content).hexdigest()}", f"{k}.csv", content)
                try:
                    store.save(owner, str(k), "data", {"data": file.source}, [file])
                except StoreError as error:
                    refused.append(str(error))

        threads = [threading.Thread(target=fill, args=(store, 10 * k)) for k, store in enumerate(stores)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        runs = stores[0].runs(owner)
        held = 0.4 * len({source for run in runs for source, _ in run.files})
        most = stores[0].limits.owner_mb
    kinds = statistics.multimode(refused)[0] if refused else "nothing"
    return Found(
        20, f"{held:.1f} MB kept of {most:.0f}; {len(refused)} refused: {kinds}", held <= most + 0.4 and bool(refused)
    )


def stopped() -> Found:
    """SIGTERM in the middle of a job: how soon the server ends, what it leaves, what it prints."""
    return Found(*bad_luck.stopped())


def killed_and_back() -> Found:
    """Kill -9 of a server at work; the next have clocks 400 days ahead, 400 days behind, and right.

    Ask each for four runs.
    """
    return Found(*bad_luck.killed_and_back())


def broken_store() -> Found:
    """Overwrite the file of kept work under a running server, cut it in half, make it read-only; ask for a run and a
    path.
    """
    return Found(*bad_luck.broken_store())


def apart_sessions() -> Found:
    """One tab has a table and a path; open every page in others, bare and by the address of that table, and try its
    files.
    """
    return Found(*bad_luck.apart_sessions())


def leaked_session() -> Found:
    """Try a session's name, and the addresses of its files, in another browser while its tab is open and after; then in
    its own.
    """
    return Found(*bad_luck.leaked_session())


def framed() -> Found:
    """Show the app in frames of a page at another name and port; ask whom it listens to, and for it under other
    names.
    """
    return Found(*bad_luck.framed())


def eight_large_files() -> Found:
    """Send eight files of 60 MB in one tab; look at the server's memory meanwhile, after, and once the tab is
    closed.
    """
    return Found(*bad_luck.eight_large_files())


def stranger() -> Found:
    """A stranger at the scheduler runs its own code there, cancels our work and kills a worker while a sweep runs."""
    return Found(*bad_luck.stranger())


def greedy_visitor() -> Found:
    """One visitor asks for the largest hull, half an hour of search and a hundred splits; another opens Explore
    meanwhile.
    """
    return Found(*bad_luck.greedy_visitor())


def tampered_models() -> Found:
    """Empty, cut, double, exchange, reshape, refill or leave out every member of a model file, of every algorithm; load
    each.
    """
    ended, faults = Counter[str](), list[str]()
    for what, raw in models.every_member_changed():
        try:
            ended[models.check(raw)] += 1
        except Exception as error:
            faults.append(f"{what}: {type(error).__name__}")
    words = ", ".join(f"{number:,} {end}" for end, number in ended.most_common())
    return Found(ended.total() + len(faults), f"{words}; {len(faults)} faults {faults[:2] or ''}".strip(), not faults)


ATTACKS: dict[str, Callable[[], Found]] = {
    one.__name__: one
    for one in (
        leaks,
        timing,
        hostile_names_in_report,
        hostile_names_in_notebook,
        hostile_names_on_pages,
        ten_experiments,
        vanishing,
        dead_reader,
        dead_compiler,
        dead_runner,
        two_servers,
        two_apps,
        quota,
        stopped,
        killed_and_back,
        broken_store,
        apart_sessions,
        leaked_session,
        framed,
        eight_large_files,
        stranger,
        greedy_visitor,
        tampered_models,
    )
}


def written(record: dict[str, Any]) -> dict[Path, str]:
    """The page of what was attacked: a table of attacks, and one of drawn inputs."""
    lines = ["| what was done | times | what came of it | |", "|---|---|---|---|"]
    for name, found in record["found"]["attacks"].items():
        what, verdict = " ".join((ATTACKS[name].__doc__ or "").split()), "held" if found["held"] else "DID NOT HOLD"
        lines.append(f"| {what} | {found['tried']:,} | {found['saw']} | {verdict} |")
    lines += [
        "",
        "| a file that unpacks to gigabytes | kB | server and reader at most, MB | afterwards, MB more | what the "
        "page said | |",
        "|---|---|---|---|---|---|",
    ]
    for what, found in record["found"].get("bombs", {}).items():
        verdict = "held" if found["held"] else "DID NOT HOLD"
        figures = f"{found['kb']:,.0f} | {found['all_mb']:.0f} | {found['grown_mb']:.0f}"
        lines.append(f"| {what} | {figures} | {found['said']} | {verdict} |")
    lines += [
        "",
        "| inputs drawn by hypothesis | tried | minutes | how they ended | findings |",
        "|---|---|---|---|---|",
    ]
    for name, found in record["found"]["inputs"].items():
        ended = ", ".join(f"{number:,} {end}" for end, number in found["ended"].items())
        lines.append(f"| {DRAWN[name]} | {found['inputs']:,} | {found['minutes']} | {ended} | {found['findings']} |")
    return on_page("attacked", record, lines)


def _experiments() -> list:
    from mklcore.experiments import EXPERIMENTS

    return list(EXPERIMENTS.values())


def _pressed(button: str):
    from streamlit.proto.WidgetStates_pb2 import WidgetState

    return WidgetState(id=button, trigger_value=True)


def main() -> int:
    """Carry the attacks out, and tell."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("attacks", nargs="*", metavar="NAME")
    given = asked.parse_args()
    if unknown := set(given.attacks) - set(ATTACKS):
        asked.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(ATTACKS)}")
    held = True
    for name in given.attacks or ATTACKS:
        found = ATTACKS[name]()
        held &= found.held
        reported = asdict(found)
        print(json.dumps({"attack": name, **reported}), flush=True)
        add("attacks", "attacks", name, reported)
    return int(not held)


if __name__ == "__main__":
    sys.exit(main())
