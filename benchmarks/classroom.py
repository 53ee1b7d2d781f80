"""A class on one server: sessions that speak Streamlit's own WebSocket protocol upload, drag,
choose another norm, open lessons.

    python -m benchmarks.classroom [SESSIONS] [SECONDS] [--url URL]

Without ``--url`` it starts a server of its own. Half of the sessions upload a table of 600 rows,
the others open samples.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import random
import re
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets import Origin, Subprotocol

from benchmarks.lines import Line, command_line, reported, written_table
from benchmarks.serving import running_app

ROWS = 600
COLUMNS = 20
POINTS = 25
PATIENCE = 60.0
# for a fragment that runs by itself: one of a page that has been drawn again is never answered
CLOCK_SECONDS = 2.0


@dataclass
class Figures:
    """What was measured, in seconds, and what went wrong."""

    first: list[float] = field(default_factory=list)
    released: list[float] = field(default_factory=list)
    norm: list[float] = field(default_factory=list)
    lesson: list[float] = field(default_factory=list)
    health: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


class Session:
    """One tab without a browser: it holds the elements on its page and runs the fragments that run
    by themselves.
    """

    def __init__(self, url: str, page: str = "", query: str = "") -> None:
        """Come to a page under a query."""
        self.host = urlsplit(url).netloc
        self.page = page
        self.query = query
        self.id = self.script = self.token = ""
        self.elements: dict[tuple[int, ...], tuple[str, Any, str]] = {}
        self.widgets: dict[str, WidgetState] = {}
        self.clocks: dict[str, tuple[float, float]] = {}
        self.faults: list[str] = []
        self._cached: dict[str, ForwardMsg] = {}
        self._over = asyncio.Event()
        self._answered: asyncio.Future[Any] | None = None

    async def __aenter__(self) -> Session:
        self.token = self.token or await asyncio.to_thread(self._cookie)
        names = ["streamlit", self.token or "none"]
        cookie = {"Cookie": f"_streamlit_xsrf={self.token}"} if self.token else {}
        self.socket = await websockets.connect(
            f"ws://{self.host}/_stcore/stream",
            additional_headers=cookie,
            subprotocols=[Subprotocol(name) for name in names],
            origin=Origin(f"http://{self.host}"),
            max_size=None,
            ping_interval=None,
            open_timeout=PATIENCE,
            compression=None,
        )
        self._reading = asyncio.create_task(self._read())
        return self

    async def __aexit__(self, *why: object) -> None:
        self._reading.cancel()
        await self.socket.close()

    def _cookie(self) -> str:
        line = http.client.HTTPConnection(self.host, timeout=PATIENCE)
        line.request("GET", "/_stcore/health")
        answer = line.getresponse()
        answer.read()
        found = re.search(r"\b_streamlit_xsrf=([^;]*)", answer.getheader("set-cookie") or "")
        return found[1] if found else ""

    async def _read(self) -> None:
        try:
            async for raw in self.socket:
                message = ForwardMsg()
                message.ParseFromString(raw)
                self._take(message)
        except websockets.ConnectionClosed as error:
            self.faults.append(f"connection: {error}")
            self._over.set()

    def _take(self, message: ForwardMsg) -> None:
        kind = message.WhichOneof("type")
        if kind == "ref_hash":
            known = self._cached.get(message.ref_hash)
            if known is None:
                return
            whole = ForwardMsg()
            whole.CopyFrom(known)
            whole.metadata.CopyFrom(message.metadata)
            message = whole
            kind = whole.WhichOneof("type")
        elif message.metadata.cacheable and message.hash:
            self._cached[message.hash] = message
        if kind == "new_session":
            self.id = message.new_session.initialize.session_id
            self.script = message.new_session.page_script_hash
            if not message.metadata.run.fragment_ids:
                self.elements = {}
                self.clocks = {}
        elif kind == "navigation":
            self.script = message.navigation.page_script_hash
        elif kind == "delta" and message.delta.WhichOneof("type") == "new_element":
            element = message.delta.new_element
            name = element.WhichOneof("type") or ""
            self.elements[tuple(message.metadata.delta_path)] = (
                name,
                getattr(element, name),
                message.delta.fragment_id,
            )
            if name == "exception":
                self.faults.append(f"{element.exception.type}: {element.exception.message[:100]}")
        elif kind == "auto_rerun":
            every = message.auto_rerun.interval
            self.clocks[message.auto_rerun.fragment_id] = every, time.monotonic() + every
        elif kind == "script_finished":
            self._over.set()
        elif kind == "page_info_changed":
            self.query = message.page_info_changed.query_string
        elif kind == "file_urls_response" and self._answered is not None:
            self._answered.set_result(message.file_urls_response)

    def found(self, kind: str, text: str = "") -> list[tuple[Any, str]]:
        """The elements of a kind whose text holds ``text``, each with the fragment it is in."""
        return [
            (one, part)
            for name, one, part in self.elements.values()
            if name == kind and text in str(one)
        ]

    def player(self) -> tuple[Any, str] | None:
        """The path's player, if a path is in it."""
        for one, part in self.found("bidi_component", "path_player"):
            if '"waiting":true' not in (one.json or one.mixed.json).replace(" ", ""):
                return one, part
        return None

    async def run(self, fragment: str = "", page: str | None = None, clock: bool = False) -> bool:
        """Run the page or one fragment of it; tell whether it was answered in time."""
        asked = BackMsg()
        script = asked.rerun_script
        script.query_string = self.query
        script.fragment_id = fragment
        script.is_auto_rerun = clock
        if page is not None or not self.script:
            self.page = page if page is not None else self.page
            script.page_name = self.page
        else:
            script.page_script_hash = self.script
        script.widget_states.widgets.extend(self.widgets.values())
        script.context_info.timezone = "UTC"
        script.context_info.locale = "en"
        script.context_info.url = f"http://{self.host}/{self.page}"
        self._over.clear()
        await self.socket.send(asked.SerializeToString())
        try:
            await asyncio.wait_for(self._over.wait(), CLOCK_SECONDS if clock else PATIENCE)
        except TimeoutError:
            return False
        return True

    async def until(self, there: Callable[[], object], end: float) -> bool:
        """Let fragments run by themselves until something is there."""
        while time.monotonic() < end:
            if there():
                return True
            for fragment, (every, due) in list(self.clocks.items()):
                if time.monotonic() >= due:
                    self.clocks[fragment] = every, time.monotonic() + every
                    await self.run(fragment, clock=True)
            await asyncio.sleep(0.05)
        return bool(there())

    async def upload(self, name: str, content: bytes) -> bool:
        """Bring a file along, as the browser does."""
        asked = BackMsg()
        asked.file_urls_request.request_id = secrets.token_hex(4)
        asked.file_urls_request.file_names.append(name)
        asked.file_urls_request.session_id = self.id
        self._answered = asyncio.get_running_loop().create_future()
        await self.socket.send(asked.SerializeToString())
        url = (await asyncio.wait_for(self._answered, PATIENCE)).file_urls[0]
        if await asyncio.to_thread(self.put, url.upload_url, name, content) not in (200, 204):
            return False
        state = WidgetState(id=self.found("file_uploader")[0][0].id)
        sent = state.file_uploader_state_value.uploaded_file_info.add()
        sent.name = name
        sent.size = len(content)
        sent.file_id = url.file_id
        sent.file_urls.CopyFrom(url)
        self.widgets[state.id] = state
        answered = await self.run()
        del self.widgets[state.id]
        return answered

    def put(self, place: str, name: str, content: bytes) -> int:
        """Send a file to an address that takes files; return the status of the answer."""
        border = f"b{secrets.token_hex(8)}"
        head = (
            f'--{border}\r\nContent-Disposition: form-data; name="{name}"; '
            f'filename="{name}"\r\n\r\n'
        ).encode()
        line = http.client.HTTPConnection(self.host, timeout=PATIENCE)
        line.request(
            "PUT",
            f"/{place.removeprefix('/')}",
            head + content + f"\r\n--{border}--\r\n".encode(),
            {
                "Content-Type": f"multipart/form-data; boundary={border}",
                "X-Xsrftoken": self.token,
                "Cookie": f"_streamlit_xsrf={self.token}",
            },
        )
        answer = line.getresponse()
        answer.read()
        return answer.status


def table(seed: int) -> bytes:
    """A table of two classes that no other session has."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((ROWS, COLUMNS))
    y = np.where(X[:, 0] + X[:, 1] ** 2 - 1 + 0.5 * rng.standard_normal(ROWS) > 0, "yes", "no")
    return written_table([*(f"c{j}" for j in range(COLUMNS)), "target"], X, y.tolist())


async def student(number: int, url: str, end: float, found: Figures) -> None:
    """Come with a table or take a sample, wait for the path, and work with it until the lesson is
    over.
    """
    chance = random.Random(number)
    uploads = number % 2 == 0
    begun = time.monotonic()
    query = f"seed={number % 3}"
    async with Session(url, "" if uploads else "explore", query) as session:
        await session.run()
        if uploads:  # a link with settings leads from the start on to Data, in a run of its own
            await session.until(lambda: session.found("file_uploader"), begun + PATIENCE)
        if uploads and not (
            await session.upload(f"table{number}.csv", table(number))
            and await session.run(page="explore")
        ):
            found.errors.append(f"session {number}: the upload was not answered")
        if not await session.until(session.player, end):
            found.errors.append(f"session {number}: no first path, {session.faults[:1]}")
            return
        found.first.append(time.monotonic() - begun)
        if number % 5 == 4:
            await _lesson(session, chance, found)
        while time.monotonic() < end and not session.faults:
            await (_release if chance.random() < 0.8 else _other_norm)(session, chance, end, found)
            await session.until(lambda: False, time.monotonic() + chance.uniform(0.3, 1.2))
        found.errors += [f"session {number}: {fault}" for fault in session.faults[:1]]


async def _lesson(session: Session, chance: random.Random, found: Figures) -> None:
    begun = time.monotonic()
    await session.run(page="lessons")
    if not await session.until(lambda: session.found("bidi_component"), begun + PATIENCE):
        found.errors.append("a lesson was not drawn")
    found.lesson.append(time.monotonic() - begun)
    await session.run(page="explore")


async def _release(session: Session, chance: random.Random, end: float, found: Figures) -> None:
    await session.until(session.player, min(end, time.monotonic() + PATIENCE))
    found_player = session.player()
    if found_player is None:
        return
    player, fragment = found_player
    report = {"report": {"index": chance.randrange(POINTS), "turn": 1, "n": chance.random()}}
    session.widgets[player.id] = WidgetState(id=player.id, json_value=json.dumps(report))
    begun = time.monotonic()
    if not await session.run(fragment):
        found.errors.append("a released cursor was not answered")
    found.released.append(time.monotonic() - begun)


async def _other_norm(session: Session, chance: random.Random, end: float, found: Figures) -> None:
    sliders = [one for one, _ in session.found("slider") if "setting_p" in one.id]
    if not sliders:
        return
    session.widgets = {}
    state = WidgetState(id=sliders[0].id)
    state.string_array_value.data.append(chance.choice(list(sliders[0].options)[1:-1]))
    session.widgets[state.id] = state
    begun = time.monotonic()
    await session.run()
    if await session.until(session.player, end):
        found.norm.append(time.monotonic() - begun)


async def _watch(url: str, end: float, found: Figures) -> None:
    """Ask for the health of the server twice a second."""

    def ask() -> float:
        begun = time.monotonic()
        line = http.client.HTTPConnection(urlsplit(url).netloc, timeout=PATIENCE)
        line.request("GET", "/_stcore/health")
        line.getresponse().read()
        return time.monotonic() - begun

    while time.monotonic() < end:
        try:
            found.health.append(await asyncio.to_thread(ask))
        except OSError as error:
            found.errors.append(f"health: {error}")
        await asyncio.sleep(0.5)


async def lesson(sessions: int, seconds: float, url: str) -> Figures:
    """Let ``sessions`` students work for so long; they come a tenth of a second apart."""
    found, end = Figures(), time.monotonic() + seconds

    async def late(number: int) -> None:
        await asyncio.sleep(0.1 * number)
        try:
            await student(number, url, end, found)
        except Exception as error:
            # what goes wrong for one student is counted, and the class goes on
            found.errors.append(f"session {number}: {type(error).__name__} {error}")

    await asyncio.gather(_watch(url, end, found), *map(late, range(sessions)))
    return found


def lines(found: Figures, sessions: int) -> list[Line]:
    """What a class waits for, each beside its limit; every session that ended without a path is an
    error.
    """
    errors = len(found.errors) + sessions - len(found.first)
    if errors:
        raise RuntimeError(f"{errors} errors in a class of {sessions}: {found.errors[:5]}")
    released, health = (
        float(np.percentile(values, 95)) for values in (found.released, found.health)
    )
    class_of = f"a class of {sessions}"
    return [
        Line(
            f"{class_of}: a released cursor, 95 %",
            [released],
            "s",
            1.0,
            "limit",
            f"{len(found.released)} releases",
        ),
        Line(f"{class_of}: the slowest first path", [max(found.first)], "s", 30.0, "limit"),
        Line(f"{class_of}: health check, 95 %", [health], "s", 0.2, "limit"),
    ]


def run(sessions: int = 30, seconds: float = 60.0, url: str = "") -> list[Line]:
    """A class on a server of its own, or on one that runs already."""
    if url:
        return lines(asyncio.run(lesson(sessions, seconds, url)), sessions)
    with running_app() as app:
        found = asyncio.run(lesson(sessions, seconds, app.url))
        if printed := app.tracebacks():
            raise RuntimeError(f"The server printed a traceback: {printed[-3000:]}")
    return lines(found, sessions)


def main() -> None:
    asked = command_line(__doc__)
    asked.add_argument("sessions", type=int, nargs="?", default=30)
    asked.add_argument("seconds", type=float, nargs="?", default=300)
    asked.add_argument("--url", default="", help="a server that runs already")
    given = asked.parse_args()
    print(reported(run(given.sessions, given.seconds, given.url)))


if __name__ == "__main__":
    main()
