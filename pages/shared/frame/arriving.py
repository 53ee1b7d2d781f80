"""Frame, before the server: what visitors send is bounded where their requests come in.

Streamlit bounds one file and keeps every file that a tab ever sent until the tab is closed, whether a page asked for it
or not: eight of 60 MB raised the server by 480 MB. Here all files that a tab is sending are counted together, as are
those of the server, and of a tab the files it sent last are kept: what a page uses is with the session by then. What is
refused is stated on the page, in the place of the file. A request that stops sending is ended. How much one visitor may
ask for is bounded by the proxy before the server.
"""

import asyncio
import re
import threading
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from pages.shared.machine import memory_bytes
from pages.shared.session import inside
from pages.shared.session.uploads import REFUSED

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
MB = 1e6
PATIENCE_SECONDS = 15.0  # for the next piece of a file
SLOWEST = 20e3  # bytes a second, on average and beyond that patience
PLACE = re.compile(r"/_stcore/upload_file/([^/]+)/[^/]+$")
NAME = re.compile(rb'filename="([^"\r\n]{0,400})"')
MOST_HEAD = 64 * 1024  # of a part of a form
BORDER = b"sent-instead"


class SlowError(Exception):
    """A request stopped sending, or sends too slowly."""


@dataclass(frozen=True)
class Shares:
    """What may be held of files that were brought along, in megabytes: of a tab while they travel and after, and in
    all.
    """

    files: int = 4
    kept_mb: float = 105.0  # one file of the largest kind
    tab_mb: float = 210.0
    total_mb: float = min(4000.0, 0.25 * memory_bytes() / MB)


class Arriving:
    """The files that are on their way, and those that are held, which ``held`` tells in bytes."""

    def __init__(self, held: Callable[[], float], shares: Shares | None = None) -> None:
        self.shares = shares or Shares()
        self._held, self._lock = held, threading.Lock()
        self._under_way: defaultdict[str, float] = defaultdict(float)

    def begin(self, tab: str, size: float) -> str:
        """Let a file of ``size`` bytes come in, until :meth:`end`; return why it cannot be taken, "" where it can."""
        with self._lock:
            why = self._refusal(size, self._under_way.get(tab, 0.0), self._held() + sum(self._under_way.values()))
            self._under_way[tab] += 0.0 if why else size
            return why

    def end(self, tab: str, size: float) -> None:
        """A file that was let in has come, or has not."""
        with self._lock:
            self._under_way[tab] -= size
            if self._under_way[tab] <= 0:
                del self._under_way[tab]

    def _refusal(self, size: float, tab: float, total: float) -> str:
        most, sorry = self.shares, f"The file of {size / MB:.0f} MB was not taken:"
        if tab + size > most.tab_mb * MB:
            return (
                f"{sorry} this tab is sending {tab / MB:.0f} MB already. Wait until they are there, then choose the "
                f"file again."
            )
        if total + size > most.total_mb * MB:
            return (
                f"{sorry} the server holds {total / MB:.0f} MB of files and may hold {most.total_mb:.0f} MB for "
                f"everybody. Try again when others have closed their tabs, or take fewer rows."
            )
        return ""


def held() -> float:
    """Return the bytes of the files that Streamlit keeps for all tabs."""
    return float(sum(len(content) for files in inside.files().values() for content in files.values()))


ARRIVING = Arriving(held)


def is_upload(scope: Message) -> bool:
    """Tell whether a request brings a file along."""
    return bool(scope.get("method") == "PUT" and tab_of(scope))


def tab_of(scope: Message) -> str:
    """Return the tab whose files a request is about, "" where it is about none."""
    found = PLACE.search(scope["path"])
    return found[1] if found else ""


@asynccontextmanager
async def counted(scope: Message, receive: Receive) -> AsyncIterator[tuple[Message, Receive]]:
    """Count a request that brings a file along, and give it on; what cannot be taken is given on as the words that say
    so. Raises ``SlowError`` where it stops sending.
    """
    tab, size = tab_of(scope), float(dict(scope["headers"])[b"content-length"])
    why = ARRIVING.begin(tab, size)
    try:
        yield await _instead(scope, paced(receive), why) if why else (scope, paced(receive))
    finally:
        if not why:
            ARRIVING.end(tab, size)
        inside.keep_last(tab, ARRIVING.shares.files, ARRIVING.shares.kept_mb * MB)


def paced(receive: Receive, clock: Callable[[], float] = time.monotonic) -> Receive:
    """Return a receiver of the same body that raises ``SlowError`` where it does not come."""
    begun, got, whole = clock(), 0, False

    async def receive_soon() -> Message:
        nonlocal got, whole
        if whole:
            return await receive()
        left = min(PATIENCE_SECONDS, begun + PATIENCE_SECONDS + got / SLOWEST - clock())
        try:
            message = await asyncio.wait_for(receive(), left)
        except TimeoutError:
            raise SlowError from None
        got, whole = got + len(message.get("body", b"")), not message.get("more_body", False)
        return message

    return receive_soon


def says_its_size(scope: Message) -> bool:
    """Tell whether a request says how long it is, as every browser does."""
    return dict(scope["headers"]).get(b"content-length", b"").isdigit()


async def _instead(scope: Message, receive: Receive, why: str) -> tuple[Message, Receive]:
    """Let the file pass by without keeping it, and return a request with words in its place, under its name."""
    head, more = b"", True
    while more:
        message = await receive()
        head = head if len(head) > MOST_HEAD else head + message.get("body", b"")
        more = message.get("more_body", False)
    name = NAME.search(head)
    body = (
        b'--%b\r\nContent-Disposition: form-data; name="file"; filename="%b"\r\nContent-Type: '
        b"%b\r\n\r\n%b\r\n--%b--\r\n" % (BORDER, name[1] if name else b"file", REFUSED.encode(), why.encode(), BORDER)
    )
    headers = [one for one in scope["headers"] if one[0] not in (b"content-length", b"content-type")]
    headers += [
        (b"content-length", str(len(body)).encode()), (b"content-type", b"multipart/form-data; boundary=" + BORDER),
    ]  # fmt: skip
    left = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_counted() -> Message:
        return left.pop() if left else await receive()

    return {**scope, "headers": headers}, receive_counted
