"""Notes on what reading changed: sentences, each with the settings that undo or change it."""

from __future__ import annotations

from collections.abc import Iterable

from mklcore.errors import Repair


class Note(str):
    """A sentence about a table; ``repairs`` are the settings that read it in another way.

    urgent : whether the answer is probably wrong without one of them.
    """

    repairs: tuple[Repair, ...]
    urgent: bool

    def __new__(cls, text: str, repairs: Iterable[Repair] = (), urgent: bool = False) -> Note:
        """A note with its repairs."""
        note = super().__new__(cls, text)
        note.repairs, note.urgent = tuple(repairs), urgent
        return note


def is_urgent(note: str) -> bool:
    """Whether a note says that the answer is probably wrong."""
    return isinstance(note, Note) and note.urgent


def repairs_of(note: str) -> tuple[Repair, ...]:
    """The repairs of a note; none for a plain sentence."""
    return note.repairs if isinstance(note, Note) else ()
