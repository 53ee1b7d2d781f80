"""Servers that are killed, full of somebody else's work, or find their kept work broken; and strangers beside them.

python -m benchmarks.attacks stopped killed_and_back broken_store apart_sessions leaked_session framed
    eight_large_files stranger greedy_visitor

Each function reports how often it tried, what happened, and whether that is as promised.
"""

from __future__ import annotations

import asyncio
import hashlib
import http.client
import http.server
import json
import os
import signal
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest import mock

from streamlit.proto.WidgetStates_pb2 import WidgetState

from benchmarks.classroom import Session, memory, table
from benchmarks.serving import App, children, running_app
from pages._parts.runs.disk import FILE
from pages._parts.runs.secrets import link_secret, new_secret
from pages._parts.runs.store import GONE, Store

Verdict = tuple[int, str, bool]
WAIT = 240.0
ROWS = 150  # of iris, which every saved run here is about; a page without a run has another sample
SLOW = "data=digits&widths=20&each=rbf&laplacians=20&subspaces=100&algorithm=smkl&rows=1000"  # minutes of work
QUICK = "data=iris&widths=2&each=none&recipe=builders&degree=1&path=C&seed={}"
DAYS = 400
FRAMED_SECONDS = 20.0  # a frame that is shown has its heading by then
FILES, FILE_MB = 8, 60
CALM_SECONDS = 60.0
KEPT_MB, LEFT_MB, GONE_SECONDS = 130.0, 40.0, 180.0  # of a tab while it is open and after, and until it is forgotten
PORTS = range(8690, 8700)  # where a scheduler of ours may listen
# What root may do besides is given up, so that the modes of files hold for a server of root's, too.
NO_PRIVILEGES = "import ctypes; ctypes.CDLL(None).capset((ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)())"


def said(session: Session) -> str:
    """All that a page says, in the order of its elements."""
    kinds = ("alert", "markdown", "heading", "text")
    return " ".join(str(one) for kind in kinds for one, _ in session.found(kind))


async def opened(url: str, secret: str) -> str:
    """What a tab finds behind the link of a run."""
    async with Session(url, "", f"run={secret}") as session:
        await session.run()
        if session.faults:
            return "fault"
        if await session.until(lambda: f"**{ROWS}** rows" in said(session), time.monotonic() + 20.0):
            return "there"
        alerts = [one.body.replace("\\", "") for one, _ in session.found("alert")]
        return "gone" if GONE in said(session) else f'reported: "{" ".join(alerts)}"'


async def path_after(url: str, seed: int) -> float:
    """The seconds until a newcomer has a path that nobody had before; 0 where none comes."""
    begun = time.monotonic()
    async with Session(url, "explore", QUICK.format(seed)) as session:
        await session.run()
        there = await session.until(session.player, begun + WAIT)
        return time.monotonic() - begun if there and not session.faults else 0.0


async def path_of_a_table(url: str) -> float:
    """The seconds until a newcomer with a table of their own has a path; 0 where none comes."""
    begun = time.monotonic()
    async with Session(url, "", "widths=1&linear=yes&each=none&degree=0") as session:
        await session.run()
        await session.upload("table.csv", table(5))
        await session.run(page="explore")
        there = await session.until(session.player, begun + WAIT)
        return time.monotonic() - begun if there and not session.faults else 0.0


async def at_work(session: Session) -> bool:
    """Open a page with long work, and wait until its line of progress is there."""
    await session.run()
    return await session.until(lambda: session.found("progress"), time.monotonic() + WAIT)


def busy(app: App) -> bool:
    """Have a tab of its own keep a server at work from now on; whether it is."""
    ready = threading.Event()

    async def stay() -> None:
        async with Session(app.url, "explore", SLOW) as session:
            if await at_work(session):
                ready.set()
            with suppress(Exception):  # the server is killed sooner or later
                while not session.faults:
                    await asyncio.sleep(0.2)

    threading.Thread(target=lambda: asyncio.run(stay()), daemon=True).start()
    return ready.wait(WAIT)


def gone_soon(processes: list[int], seconds: float = 20.0) -> int:
    """How many of these processes are still there after so long."""
    end = time.monotonic() + seconds
    while (alive := sum(map(_runs, processes))) and time.monotonic() < end:
        time.sleep(0.1)
    return alive


def _runs(process: int) -> bool:
    try:
        stat = Path(f"/proc/{process}/stat").read_text(encoding="ascii")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"  # one that has ended and was not asked for its end


@contextmanager
def saved(count: int) -> Iterator[tuple[Path, list[str]]]:
    """A folder of kept work with so many runs, and the secrets of their links."""
    with tempfile.TemporaryDirectory() as folder:
        home, owner = Path(folder) / "home", new_secret()
        store = Store(home)
        runs = [store.save(owner, f"run {k}", "data", {"data": "iris", "seed": str(k)}) for k in range(count)]
        yield home, [link_secret(owner, run.id) for run in runs]


def stopped() -> Verdict:
    """SIGTERM in the middle of a job: the server and its processes end soon, and nothing is printed but what ends
    it.
    """

    def once() -> tuple[bool, float, float, bool]:
        with running_app() as app:
            under_way = busy(app)
            helpers = [child for child, _ in children(app.process)]
            begun = time.monotonic()
            os.kill(app.process, signal.SIGTERM)
            left = gone_soon([app.process])
            ended = time.monotonic() - begun
            left += gone_soon(helpers, WAIT)  # one that compiles ends when it next tells how far it is
            return under_way and not left, ended, time.monotonic() - begun, bool(app.tracebacks())

    well, ended, last, traces = zip(*(once() for _ in range(3)), strict=True)
    words = (
        f"the server ended within {max(ended):.1f} s, the last of its processes within {max(last):.1f} s, "
        f"with {sum(traces)} tracebacks"
    )
    return len(well), words, all(well) and max(ended) < 20 and max(last) < 60 and not any(traces)


def killed_and_back() -> Verdict:
    """Kill -9 of a server at work, then a server whose clock is 400 days ahead, then one 400 days behind: runs are
    asked for.
    """
    found: list[str] = []
    traces, at_work_now, left = "", 0, 0
    with saved(4) as (home, secrets):
        for days in (0, DAYS, -DAYS, 0):
            clock = f"import time; real = time.time; time.time = lambda: real() + {days * 86400}" if days else ""
            with running_app(before=clock, MKL_EXPLORER_HOME=str(home)) as app:
                found += [asyncio.run(opened(app.url, secret)) for secret in secrets]
                at_work_now += busy(app)
                traces += app.tracebacks()
                helpers = [child for child, _ in children(app.process)]
                os.kill(app.process, signal.SIGKILL)
                left += gone_soon(helpers)
    there = found.count("there")
    words = f"{there} of {len(found)} times a run was there; {left} processes of a killed server lived on"
    return len(found), words, there == len(found) and at_work_now == 4 and not traces and not left


def broken_store() -> Verdict:
    """Spoil the file of kept work under a server that runs, and make it read-only: a run is asked for, and a path."""
    ended: list[str] = []
    with ExitStack() as stack:
        for how, spoil in SPOILT.items():
            home, (secret,) = stack.enter_context(saved(1))
            home.parent.chmod(0o755)
            with running_app(before=NO_PRIVILEGES, MKL_EXPLORER_HOME=str(home)) as app:
                before = asyncio.run(opened(app.url, secret))
                spoil(home)
                after = asyncio.run(opened(app.url, secret))
                seconds = asyncio.run(path_of_a_table(app.url))
                home.chmod(0o700)
                right = before == "there" and after != "fault" and seconds > 0 and not app.tracebacks()
                ended.append(
                    f"{how}: the run was {after}; {'a path came' if seconds else 'NO PATH'}{'' if right else ' (!)'}"
                )
    return len(ended), "; ".join(ended), not any("(!)" in one for one in ended)


def _overwrite(home: Path) -> None:
    for part in home.glob(f"{FILE}*"):  # with the log, from which the file would be made again
        part.write_bytes(b"not a database at all " * 1000)


def _cut(home: Path) -> None:
    place = home / FILE
    place.write_bytes(place.read_bytes()[: place.stat().st_size // 2])


def _read_only(home: Path) -> None:
    for part in home.iterdir():
        part.chmod(0o400)
    home.chmod(0o500)


SPOILT: dict[str, Callable[[Path], None]] = {"overwritten": _overwrite, "cut in half": _cut, "read-only": _read_only}


def apart_sessions() -> Verdict:
    """One tab has a table, choices and work; another tries to get at them by every address it can make up."""

    async def go(url: str) -> tuple[int, list[str]]:
        content, leaks = table(11), []
        source = f"upload:{hashlib.sha256(content).hexdigest()}"
        async with Session(url, "", "widths=3&each=none&seed=77") as owner:
            await owner.run()
            await owner.upload("mine-alone.csv", content)
            await owner.run(page="explore")
            await owner.until(owner.player, time.monotonic() + WAIT)
            asked = 0
            for page in (
                "",
                "kernels",
                "explore",
                "compare",
                "hulls",
                "theory",
                "experiments",
                "predict",
                "lessons",
            ):
                for query in ("", f"data={source}"):
                    async with Session(url, page, query) as other:
                        await other.run()
                        seen = " ".join(str(one) for _, one, _ in other.elements.values())
                        asked += 1
                        leaks += [f"{page} {query[:12]}" for mark in MARKS if mark in seen] + other.faults
            for way in ("GET", "DELETE", "PUT"):
                asked += 1
                status, answer = await asyncio.to_thread(_request, owner, way)
                if content[:20] in answer or (
                    status < 400 and way != "GET"
                ):  # to GET every address is the app's own page
                    leaks.append(f"{way} was answered with {status}")
            await owner.run()
            if not owner.player() or owner.faults:
                leaks.append("the owner's path is gone")
        return asked, leaks

    with running_app() as app:
        asked, leaks = asyncio.run(go(app.url))
        trace = app.tracebacks()
    words = f"{len(leaks)} traces of it elsewhere" + (
        f": {'; '.join(leaks[:3])}" if leaks else ", and the first tab kept its path"
    )
    return asked, words, not leaks and not trace


MARKS = ("mine-alone",)


def _request(owner: Session, way: str) -> tuple[int, bytes]:
    """Ask for, delete or replace a file of the first session with the cookie of nobody, under a session that is made
    up.
    """
    line = http.client.HTTPConnection(owner.host, timeout=60)
    line.request(
        way, f"/_stcore/upload_file/{'0' * 8}-0000-4000-8000-{'0' * 12}/{'0' * 32}", b"x" if way == "PUT" else None
    )
    answer = line.getresponse()
    return answer.status, answer.read()


def leaked_session() -> Verdict:
    """A stranger has a session's name and the addresses it used, as from a proxy's log; its own browser tries them,
    too.
    """

    async def resumed(url: str, name: str) -> bool:
        """Whether a browser that names the session gets it, with the file it holds."""
        async with Session(url, "", resumes=name) as tab:
            await tab.run()
            return tab.id == name or "mine-alone" in " ".join(str(one) for _, one, _ in tab.elements.values())

    async def go(url: str) -> tuple[int, list[str], list[str]]:
        missing, content = list[str](), table(12)
        async with Session(url, "", "widths=3&each=none&seed=78") as owner:
            await owner.run()
            await owner.upload("mine-alone.csv", content)
            await owner.run(page="kernels")
            await owner.until(lambda: owner.found("download_button"), time.monotonic() + WAIT)
            buttons = [one.deferred_file_id for one, _ in owner.found("download_button") if one.deferred_file_id]
            file = await owner.download(buttons[0])
            thief = Session(url)
            thief.token = await asyncio.to_thread(thief._cookie)
            tries = {
                "a place to put a file": await asyncio.to_thread(thief.put, owner.sent, "x.csv", table(13)) < 300,
                "a file to delete": _got(url, owner.sent, thief.token, "DELETE"),
                "the session of an open tab": await resumed(url, owner.id),
            }
            if owner.faults:
                missing.append("its line")
            if not _got(url, file, owner.token):
                missing.append("its download")
            name, token = owner.id, owner.token
        tries["the session of a tab that lost its line"] = await resumed(url, name)
        again = Session(url, "", resumes=name)
        again.token = token
        async with again:
            await again.run()
            if again.id != name:
                missing.append("its session")
        return len(tries) + 2, [what for what, came in tries.items() if came], missing

    with running_app() as app:
        asked, got, missing = asyncio.run(go(app.url))
        trace = app.tracebacks()
    words = f"the stranger got {', '.join(got) or 'nothing'}; its own browser lost {', '.join(missing) or 'nothing'}"
    return asked, words, not got and not missing and not trace


def _got(url: str, place: str, token: str, way: str = "GET") -> bool:
    """Whether the address of a file answers a browser with this cookie."""
    asked = urllib.request.Request(
        url + "/" + place.lstrip("/"), method=way, headers={"Cookie": f"_streamlit_xsrf={token}", "X-Xsrftoken": token}
    )
    try:
        with urllib.request.urlopen(asked, timeout=60) as answer:
            return bool(answer.status < 300)
    except urllib.error.HTTPError:
        return False


def framed() -> Verdict:
    """A page under another name and port of this machine shows the app in a frame, and asks it as other hosts would."""
    from playwright.sync_api import TimeoutError as TooLate

    from benchmarks.serving import chromium, settled

    seen, wrong = dict[str, bool](), []
    with running_app() as app, page_around(app.url) as there, chromium() as browser:
        page = browser.new_page()
        refused = list[str]()
        page.on("console", lambda message: refused.append(message.text) if "frame-ancestors" in message.text else None)
        for name in ("localhost", "127.0.0.1"):  # another site, and the same name at another port
            page.goto(there.replace("127.0.0.1", name))
            with suppress(TooLate):
                page.frame_locator("iframe").get_by_role("heading").first.wait_for(timeout=1000 * FRAMED_SECONDS)
                wrong.append(f"{name} shows it")
        seen["frames"] = len(refused) == 2 and not wrong
        page.goto(app.url)
        settled(page, WAIT)
        port = app.url.rpartition(":")[2]
        reported = _asked(app.url, "/_stcore/host-config", f"localhost:{port}")
        seen["origins"] = reported[0] == 200 and json.loads(reported[1])["allowedOrigins"] == []
        hosts = ["evil.example", f"evil.example:{port}", f"localhost.evil.example:{port}", "127.0.0.1@evil.example"]
        answers = [
            _asked(app.url, place, host)[0] for host in hosts for place in ("/", "/_stcore/host-config", "/media/x.csv")
        ]
        seen["hosts"] = set(answers) == {403}
        trace = app.tracebacks()
    words = (
        f"the browser refused {len(refused)} of 2 frames{''.join(f' ({one})' for one in wrong)}; host-config names "
        f"{'no' if seen['origins'] else 'SOME'} origins; {answers.count(403)} of {len(answers)} requests under other "
        f"names "
        "got 403; the app alone is drawn"
    )
    return 2 + 1 + len(answers), words, all(seen.values()) and not trace


@contextmanager
def page_around(url: str) -> Iterator[str]:
    """A server at another port of the loopback address whose page shows ``url`` in a frame; its address."""

    class Around(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(f'<h2>around</h2><iframe src="{url}" width=900 height=600></iframe>'.encode())

        def log_message(self, *_: object) -> None:
            pass

    other = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Around)
    threading.Thread(target=other.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{other.server_port}/"
    finally:
        other.shutdown()
        other.server_close()


def _asked(url: str, place: str, host: str) -> tuple[int, bytes]:
    """The status and the body of the answer to a request that says it is for another host."""
    line = http.client.HTTPConnection(url.removeprefix("http://"), timeout=60)
    line.request("GET", place, headers={"Host": host})
    answer = line.getresponse()
    return answer.status, answer.read()


def eight_large_files() -> Verdict:
    """One tab sends eight files of 60 MB that no page asked for, each after the other; the server's memory, then and
    after.
    """
    content = bytes(FILE_MB * 1_000_000)

    async def go(url: str, process: int) -> tuple[float, float, list[int], float]:
        async with Session(url) as tab:
            await tab.run()
            await tab.upload("a.csv", table(14))
            await asyncio.sleep(CALM_SECONDS)  # what the first upload of a server imports, stays
            before, most, statuses = memory(process), 0.0, []
            place, _, _ = tab.sent.rpartition("/")
            for number in range(FILES):
                statuses.append(await asyncio.to_thread(tab.put, f"{place}/{number}", f"{number}.bin", content))
                most = max(most, memory(process))
            await asyncio.sleep(5)
            return before, most, statuses, memory(process)

    with running_app(MKL_EXPLORER_SOLVERS="0") as app:
        before, most, statuses, after = asyncio.run(go(app.url, app.process))
        end = time.monotonic() + GONE_SECONDS
        while memory(app.process) - before > LEFT_MB and time.monotonic() < end:
            time.sleep(5)
        closed = memory(app.process)
        trace = app.tracebacks()
    words = (
        f"{sum(status < 300 for status in statuses)} taken; the server grew by {most - before:.0f} MB at most, by "
        f"{after - before:.0f} MB with the tab open and by {closed - before:.0f} MB once it was closed"
    )
    return FILES, words, after - before < KEPT_MB and closed - before < LEFT_MB and not trace


def stranger() -> Verdict:
    """A live scheduler, and a stranger beside us: it looks at our work, cancels it and kills its workers while a sweep
    runs.
    """
    import distributed

    from mklcore.errors import MKLError
    from mklcore.parallel.cluster import SCHEDULER
    from mklcore.parallel.sweep import sweep

    with distributed.LocalCluster(
        host="127.0.0.1", scheduler_port=PORTS[0], n_workers=2, threads_per_worker=1, processes=True,
        dashboard_address="127.0.0.1:0", silence_logs=50,
    ) as cluster, mock.patch.dict(os.environ, {SCHEDULER: cluster.scheduler_address}):  # fmt: skip
        seen, over = {"tasks": 0, "cancelled": 0, "workers": 0}, threading.Event()

        def strange() -> None:
            with distributed.Client(cluster.scheduler_address, set_as_default=False) as client:
                while not over.wait(0.3):
                    keys = client.run_on_scheduler(_every_task)
                    seen["tasks"] = max(seen["tasks"], len(keys))
                    if keys and not seen["cancelled"]:
                        half = [distributed.Future(key, client=client) for key in keys[: len(keys) // 2]]
                        client.cancel(half, force=True)
                        seen["cancelled"] = len(half)
                    elif keys and not seen["workers"]:
                        ours = client.run(os.getpid)
                        os.kill(next(iter(ours.values())), signal.SIGKILL)
                        seen["workers"] = 1

        thief = threading.Thread(target=strange, daemon=True)
        thief.start()
        rows: dict[int, float] = {}
        reported = list[str]()
        while len(rows) < 60 and len(reported) < 5:  # a person starts again with what had arrived
            try:
                sweep(_in_a_while, range(60), "dask", 2, rows)
            except MKLError as error:
                reported.append(str(error).partition(" with ")[0].replace(cluster.scheduler_address, "its address"))
        over.set()
        thief.join(10)
    right = rows == {number: number**0.5 for number in range(60)}
    words = (
        f"it ran code of its own on the scheduler and saw {seen['tasks']} tasks, cancelled {seen['cancelled']} and "
        f"killed "
        f"{seen['workers']} worker; {len(rows)} of 60 runs came out, each as it should: {right}; on the way: "
        f"{reported or 'nothing'}"
    )
    return sum(map(bool, seen.values())), words, right


def _in_a_while(number: int) -> float:
    time.sleep(0.2)
    return float(number**0.5)


def _every_task(dask_scheduler: Any) -> list[Any]:
    return [key for key, task in dask_scheduler.tasks.items() if task.state != "memory"]


def greedy_visitor() -> Verdict:
    """One visitor asks for the largest hull, half an hour of search and a hundred splits; another opens Explore
    meanwhile.
    """

    async def ask(session: Session, key: str) -> bool:
        """Start the work behind a button, unless the page has started it by itself."""

        def buttons() -> list[Any]:
            return [one for one, _ in session.found("button") if one.id.endswith(f"-{key}") and not one.disabled]

        await session.run()
        if not await session.until(lambda: buttons() or session.found("progress"), time.monotonic() + WAIT / 2):
            return False
        if buttons():
            pressed = buttons()[0].id
            session.widgets[pressed] = WidgetState(id=pressed, trigger_value=True)
            await session.run()
            del session.widgets[pressed]
        return True

    async def go(url: str) -> tuple[list[str], float, float, list[str]]:
        came: list[str] = []
        async with (
            Session(url, "hulls", "data=digits&hull_degree=6&hull_rows=1797") as hull,
            Session(url, "compare", "data=digits&compare=search&search_seconds=1800") as search,
            Session(url, "explore", "data=breast_cancer&repeats=100") as sweep,
        ):
            asked = []
            for name, tab, key in (
                ("hull", hull, "compute_hulls"),
                ("search", search, "search"),
                ("sweep", sweep, "repeat"),
            ):
                if await ask(tab, key):
                    asked.append(name)
            first = await path_after(url, 41)
            second = await path_after(url, 42)
            for name, tab in (("hull", hull), ("search", search), ("sweep", sweep)):
                if tab.faults:
                    came.append(f"{name}: {tab.faults[0]}")
        return asked, first, second, came

    with running_app() as app:
        asked, first, second, faults = asyncio.run(go(app.url))
        rest = asyncio.run(path_after(app.url, 43))
        trace = app.tracebacks()
    words = (
        f"{', '.join(asked)} under way; the other had a path after {first:.1f} s, a second after {second:.1f} s, and "
        f"a third after "
        f"{rest:.1f} s once the tabs were closed; {len(faults)} faults"
    )
    return len(asked), words, len(asked) == 3 and min(first, second, rest) > 0 and not faults and not trace
