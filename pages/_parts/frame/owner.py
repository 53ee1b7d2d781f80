"""Frame, before the server: whose a session is.

It, and the places of its files, answer the browser that began it alone.

Streamlit takes a browser that names a session for its tab, and the name stands in the addresses that files are sent to,
so in the log of every proxy on the way. Here a session remembers the token of the cookie that its browser sends against
forged requests. A browser that sends no cookie, as one may from within a page of another host, has nothing but the
names.
"""

from collections.abc import Iterable
from contextvars import ContextVar

from pages._parts.session import inside

ASKING: ContextVar[bytes] = ContextVar("asking", default=b"")  # the browser behind the request that is answered


def browser(headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Return what tells the browser of a request from others: the token of its cookie, b"" where it sends none."""
    sent = "; ".join(value.decode("latin-1") for name, value in headers if name == b"cookie")
    return inside.token(sent)


def may_ask(tab: str, asking: bytes) -> bool:
    """Tell whether a browser may use the addresses of the files of ``tab``, "" for an address of no tab."""
    began = inside.began(tab) if tab else b""
    return not began or asking == began


def is_owner(began: bytes) -> bool:
    """Tell whether the browser that asks is the one a session began with."""
    return not began or began == ASKING.get()
