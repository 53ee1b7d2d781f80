"""Frame, before the server: whose a session is. It, and the addresses of its files, answer the browser that began it alone.

Streamlit takes whoever names a session for its tab, and the name stands in the addresses that files are sent to, so in the log
of every proxy on the way. Here a session remembers the token of the cookie that its browser sends against forged requests; a
file that was made for a download remembers the browsers it was made for. A browser that sends no cookie, as one may from
within a page of another host, has nothing but the names.
"""

import re
from collections import OrderedDict
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from functools import wraps
from typing import Any

from pages._parts.frame import inside

ASKING: ContextVar[bytes] = ContextVar("asking", default=b"")  # the browser behind the request that is answered
MEDIA = re.compile(r"/media/([^/.]+)")
MADE = 4000  # files whose browsers are remembered
_made: OrderedDict[str, set[bytes]] = OrderedDict()


def browser(headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Return what tells the browser of a request from others: the token of its cookie, b"" where it sends none."""
    sent = "; ".join(value.decode("latin-1") for name, value in headers if name == b"cookie")
    return inside.token(sent)


def may_ask(path: str, tab: str, asking: bytes) -> bool:
    """Tell whether a browser may use an address: of the files of ``tab`` ("" for none), or of a file to download."""
    found = MEDIA.search(path)
    theirs = _made.get(found[1], set()) if found else {inside.began(tab)} if tab else set()
    return not theirs or b"" in theirs or asking in theirs


def is_owner(began: bytes) -> bool:
    """Tell whether the browser that asks is the one a session began with."""
    return not began or began == ASKING.get()


def remember_files(make: Callable[..., str]) -> Callable[..., str]:
    """Return a maker of files to download, by their address, that remembers for which browser each was made."""

    @wraps(make)
    def made(*args: Any, **named: Any) -> str:
        address = make(*args, **named)
        if found := MEDIA.search(address):
            _made.setdefault(found[1], set()).add(ASKING.get())
            _made.move_to_end(found[1])
            while len(_made) > MADE:
                _made.popitem(last=False)
        return address

    return made
