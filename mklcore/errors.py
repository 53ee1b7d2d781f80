"""Every error of the library, as one tree.

    MKLError
    ├── DataError            a table or a target cannot be used          (also ValueError)
    ├── KernelError          a kernel, a stack or a dictionary is wrong  (also ValueError)
    ├── ParameterError       a parameter is out of its range             (also ValueError)
    └── ProofError           an answer that its own parts do not prove: a fault of ours, never published
    NotConvergedWarning      a solver stopped before its tolerance       (also scikit-learn's ConvergenceWarning)

A message says what happened, what was expected, what came, and what to do next. Where a setting
mends it, the error carries that setting as a `Repair`.

A message has a statement and, where the remedy is an argument of this library, a hint that names
the argument. An application shows the statement with a hint of its own, which it looks up by the
code of the error. A `Note` on a table is made in the same way.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:

    class NotConvergedWarning(UserWarning):
        """A solver stopped before it reached its tolerance; the message tells the gap and what to
        change.
        """


_suppressed = ContextVar("suppress_convergence_warnings", default=False)


@dataclass(frozen=True)
class Repair:
    """One way to mend a refusal: what a button says, and the arguments that change.

    settings : pairs of a name and a value: arguments of `read_table` or `three_way_split`, or what
    an application calls its own. The value of "uses" holds pairs of a column and its use, "" for
    the use that is found.
    """

    label: str
    settings: tuple[tuple[str, Any], ...]

    @classmethod
    def of(cls, label: str, **settings: Any) -> "Repair":
        """The repair that sets these arguments."""
        return cls(label, tuple(settings.items()))


class Note(str):
    """A statement about a table and its hint, as one text.

    repairs : settings that read the table in another way. urgent : whether the answer is probably
    wrong without one of them. code, hint and statement : as of an error.
    """

    statement: str
    repairs: tuple[Repair, ...]
    urgent: bool
    code: str
    hint: str

    def __new__(
        cls,
        statement: str,
        repairs: Iterable[Repair] = (),
        urgent: bool = False,
        code: str = "",
        hint: str = "",
    ) -> "Note":
        """A note with its repairs."""
        note = super().__new__(cls, f"{statement} {hint}" if hint else statement)
        note.statement = statement
        note.repairs = tuple(repairs)
        note.urgent = urgent
        note.code = code
        note.hint = hint
        return note

    @classmethod
    def of(cls, text: str) -> "Note":
        """The note itself; a plain text becomes a note without code, hint and repairs."""
        return text if isinstance(text, cls) else cls(text)


class MKLError(Exception):
    """Root of every error this library raises on purpose.

    repairs : settings that mend it, the most likely first; empty where no setting does.
    code : names the kind of error where an application has its own hint for it, "" elsewhere.
    hint : what to do, in terms of arguments of this library; it ends the message.
    """

    def __init__(
        self,
        *args: object,
        repairs: Iterable[Repair] = (),
        code: str = "",
        hint: str = "",
    ) -> None:
        super().__init__(*args)
        self.repairs = tuple(repairs)
        self.code = code
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.statement} {self.hint}" if self.hint else self.statement

    @property
    def statement(self) -> str:
        """The message without its hint."""
        return super().__str__()


class DataError(MKLError, ValueError):
    """A table, a target or a split cannot be used as it is."""


class KernelError(MKLError, ValueError):
    """A kernel, a kernel dictionary or a stack of Gram matrices is not usable."""


class ParameterError(MKLError, ValueError):
    """A parameter is outside the range for which the method is defined."""


class ProofError(MKLError):
    """An answer that its own parts do not prove; it is not published.

    A fault of this library: please report it.

    Raised with what was found, which is what to report; the message says what to do first.
    """

    def __str__(self) -> str:
        return (
            "This answer is withheld, because its own numbers do not prove it. What "
            "helps: a target and kernels of ordinary size (standardise the target, "
            "normalise the kernels), a larger tol, a smaller C or a larger lam. It is a "
            "fault of this library all the same: please report the method with its "
            "parameters, the number of rows and kernels, the range of the target, and "
            f"this finding. {super().__str__()}"
        )


@cache
def _not_converged() -> type[Warning]:
    """The warning that a solver stopped short, which is scikit-learn's warning, too."""
    from sklearn.exceptions import ConvergenceWarning  # not at start-up

    about = {
        "__module__": __name__,
        "__doc__": "A solver stopped before it reached its tolerance; see its message.",
    }
    return type("NotConvergedWarning", (ConvergenceWarning,), about)


def __getattr__(name: str) -> Any:
    """Make the warning when it is first used, because it needs scikit-learn."""
    if name != "NotConvergedWarning":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}.")
    return _not_converged()


def warn_short(message: str, stacklevel: int = 2) -> None:
    """Warn that a solver stopped short of its tolerance, unless the caller tells it; ``stacklevel``
    as in ``warnings``.
    """
    if not _suppressed.get():
        warnings.warn(message, _not_converged(), stacklevel=stacklevel + 1)


# called with the steps that are done and their number; what it raises ends the work
Progress: TypeAlias = Callable[[int, int], Any]


def never_asked() -> None:
    """What is called between stretches of work where nobody wants to end it."""


_pulse: ContextVar[Callable[[], Any] | None] = ContextVar("pulse", default=None)


@contextmanager
def cancellation_scope(pulse: Callable[[], Any]) -> Iterator[None]:
    """Call ``pulse`` now and then while kernels are built and models fitted inside: what it raises
    ends that. The pulse of a scope around this one is called first.

    For this thread alone.
    """
    outer = _pulse.get()

    def both() -> None:
        if outer is not None:
            outer()
        pulse()

    before = _pulse.set(both)
    try:
        yield
    finally:
        _pulse.reset(before)


def check_cancelled() -> None:
    """Between two stretches of work, each far below a second: the moment at which it may be ended."""
    if (pulse := _pulse.get()) is not None:
        pulse()


@contextmanager
def suppress_convergence_warnings() -> Iterator[None]:
    """Give no NotConvergedWarning inside, because the caller shows the status and gap of the fit.

    It holds for this thread alone: ``warnings.catch_warnings`` would change the filters of the
    whole process, and two threads that use it at once leave each other's behind.
    """
    before = _suppressed.set(True)
    try:
        yield
    finally:
        _suppressed.reset(before)
