"""Session and files: what was brought along, by fingerprint, and dictionaries too long for a link."""

import hashlib
from collections import OrderedDict
from typing import Any

from mklcore.errors import KernelError
from mklcore.kernels import stacks
from pages.shared.params.parameters import KernelParams
from pages.shared.params.rules import UPLOAD
from pages.shared.session.memory import Upload, memory

UPLOAD_LIMIT_MB = 20
STACK_LIMIT_MB = stacks.MAX_FILE_MB
REMEMBERED_UPLOADS = 3
REFUSED = (
    "application/x-mkl-explorer-refused"  # the kind of a file in whose place the server put words; see frame/arriving
)
REMEMBERED_TABLES = 20


class MissingFileError(Exception):
    """A link names an uploaded file that this session does not hold."""


def refusal(file: Any) -> str:
    """Return why the server did not take a file that was sent, "" where it did."""
    return file.getvalue().decode() if file.type == REFUSED else ""


def keep_upload(name: str, content: bytes) -> str:
    """Keep a file in this session and return its name as a source of data: ``upload:`` and its SHA-256."""
    uploads = memory().uploads
    source = UPLOAD + hashlib.sha256(content).hexdigest()
    uploads[source] = Upload(name, content)
    uploads.move_to_end(source)
    while len(uploads) > REMEMBERED_UPLOADS or (len(uploads) > 1 and _megabytes(uploads) > STACK_LIMIT_MB):
        uploads.popitem(last=False)
    return source


def _megabytes(uploads: OrderedDict[str, Upload]) -> float:
    return sum(len(file.content) for file in uploads.values()) / 1e6


def upload(source: str) -> Upload:
    """Return a file of this session; raises ``MissingFileError`` when the session does not hold it."""
    try:
        return memory().uploads[source]
    except KeyError:
        raise MissingFileError(source) from None


KEPT, ON_STACK = "kept:", "stack@"


def edited_text(params: KernelParams) -> str:
    """Return the dictionary edited by hand as text, empty where the builders make it. Raises ``KernelError``."""
    if not params.edited.startswith(KEPT):
        return params.edited
    try:
        return memory().tables[params.edited]
    except KeyError:
        raise KernelError(
            "This link is about a dictionary that was edited by hand and is too long for a link: it stays in the "
            "session that edited it. Go to Kernels and use the builders."
        ) from None


def keep_text(text: str, longest: int) -> str:
    """Return what stands for an edited dictionary in the parameters: its text, or a name this session resolves."""
    if len(text) <= longest:
        return text
    name = KEPT + hashlib.sha256(text.encode()).hexdigest()
    kept = memory().tables
    kept[name] = text
    while len(kept) > REMEMBERED_TABLES:
        kept.popitem(last=False)
    return name
