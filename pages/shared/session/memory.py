"""Session in one typed object: all that one visitor's tab remembers, but for what keyed widgets hold themselves.

A worker may be handed a part of it to lay a result in; the object itself is found through :func:`memory` in a run of
the app.
"""

import math
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from mklcore.kernels import stacks
from mklcore.paths.path import Path
from pages.shared.params.parameters import Params
from pages.shared.session import inside

KEY = "memory"


# Parameters and link


@dataclass
class Link:
    """How the address in the browser and the parameters came together; see ``history``."""

    begun: bool = False
    written: dict[str, str] | None = None
    written_at: float = -math.inf
    moved: bool = False  # a widget spoke in this run, so the link does not
    doubt: bool = False  # the link may be one the browser had no time to replace
    turned: bool = False  # whether this run is the first on its page
    bare: bool = False  # back at the moment the page was opened: the link stays empty
    empty_means_usual: bool = False
    table: str = ""  # the secret of the table on the server's command line


@dataclass
class UndoSteps:
    """The parameters before each step that can be undone, and after each that was."""

    past: list[Params] = field(default_factory=list)
    future: list[Params] = field(default_factory=list)


# What was brought along and computed


@dataclass(frozen=True)
class Upload:
    """A file as it came, kept for the session: the uploader itself is empty again after a change of page."""

    name: str
    content: bytes
    is_stack: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_stack", stacks.is_stack(self.content))


@dataclass(frozen=True, eq=False)
class Answered:
    """A path that was on the screen, and the parameters it answers."""

    path: Path
    params: Params


# What a page remembers between its runs


@dataclass
class Cursor:
    """What the session and a player in the browser know of each other, so that neither moves the other in a circle.

    The player reports a release once; Python moves the cursor, counted by ``turn``, only where it chose a new place
    itself: undo, a link, a number box, another path.
    """

    name: object = None  # of what the player shows
    given: object = None  # what else a new picture depends on
    at: object = None  # where the cursor was drawn last
    said: object = None  # where the player itself has put it
    heard: object = None
    heard_pick: object = None
    turn: int = 0

    def is_new(self, report: object) -> bool:
        """Tell whether a report is new; none is taken twice."""
        new = bool(report) and report != self.heard
        self.heard = report if new else self.heard
        return new

    def let_go(self, report: Any, name: object, count: int) -> int | None:
        """Return at which of ``count`` points a player of what is called ``name`` was let go, once; None otherwise."""
        if not self.is_new(report) or self.name != name:
            return None
        return min(max(int(report["index"]), 0), count - 1)

    def takes_pick(self, pick: object) -> bool:
        """Tell whether what was clicked in the player is new."""
        new = bool(pick) and pick != self.heard_pick
        self.heard_pick = pick if new else self.heard_pick
        return new

    def turns(self, name: object, at: object, given: object = None) -> int:
        """Return how many times Python itself has moved the cursor, with the picture that is drawn now."""
        if (name, given) != (self.name, self.given) or at not in (self.at, self.said):
            self.turn, self.said = self.turn + 1, None
        self.name, self.given, self.at = name, given, at
        return self.turn


@dataclass(frozen=True)
class Cursors:
    """The cursor of each player."""

    path: Cursor = field(default_factory=Cursor)
    methods: Cursor = field(default_factory=Cursor)
    hull: Cursor = field(default_factory=Cursor)
    cards: Cursor = field(default_factory=Cursor)


@dataclass
class Overview:
    """The table of kernels begins anew when another control chose the kernel: ``turn`` counts how often it did."""

    seen: object = None
    turn: int = 0


@dataclass(eq=False)
class Memory:
    """Everything one visitor's tab remembers."""

    params: Params = field(default_factory=Params)
    link: Link = field(default_factory=Link)
    steps: UndoSteps = field(default_factory=UndoSteps)
    page: str = ""
    next_page: str | None = None  # to which a click leads, in the next run
    inside: bool = False  # the page runs inside ``app.py``
    overlapped: float = -math.inf  # when the end of a stopped run last took state away from the next
    refused: tuple[str, ...] = ()  # what of a link was not taken
    notice: str = ""  # what changed without being asked for
    written_over: dict[str, tuple[tuple[Any, float], ...]] = field(default_factory=dict)  # in number boxes, and when
    edit_refused: tuple[str, str] | None = None  # the table that was edited, and why not
    uploads: OrderedDict[str, Upload] = field(default_factory=OrderedDict)
    tables: OrderedDict[str, str] = field(default_factory=OrderedDict)  # dictionaries too long for a link
    hulls: Answered | None = None
    opened: Answered | None = None  # the path of a saved screen, until its models are fitted again
    tests: set[tuple[object, float]] = field(default_factory=set)  # points whose test score was asked for
    batch: Upload | None = None
    experiment_file: str | None = None  # the file of an experiment that was read last
    experiment_run: tuple[str, int, int] | None = None  # asked for last: experiment, repetitions, seed
    cursors: Cursors = field(default_factory=Cursors)
    overview: Overview = field(default_factory=Overview)


class _Here(threading.local):
    """The run that this thread draws, and what its session remembers: it is asked for 300 times while a page is
    drawn.
    """

    run: object = None
    memory: Memory


_here = _Here()


def memory() -> Memory:
    """Return what this session remembers."""
    run = inside.run_context()
    if run is not None and run is _here.run:
        return _here.memory
    found: Memory | None = st.session_state.get(KEY)
    if found is None:
        found = st.session_state[KEY] = Memory()
    _here.run, _here.memory = run, found
    return found
