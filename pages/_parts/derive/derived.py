"""Derive in the background: a value with the key it is kept under, the pieces that compute it, and the job that
does.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pages._parts.derive import caches
from pages._parts.jobs.job import Job, Piece, Report
from pages._parts.params.parameters import DataParams, Params
from pages._parts.session.result_cache import ResultCache

T = TypeVar("T")
P = TypeVar("P", bound=DataParams)


@dataclass(frozen=True, eq=False)
class Derived(Generic[T]):
    """A value that a job computes: its ``key``, its cache, and for which parameters the job goes on."""

    key: object
    result_cache: ResultCache
    is_wanted: Callable[[Params], bool]

    @property
    def value(self) -> T | None:
        """Return the value if it has been computed."""
        return self.result_cache.get(self.key)

    @property
    def made(self) -> T:
        """Return the value, which has been computed before."""
        found = self.value
        assert found is not None
        return found

    def keep(self, value: T) -> None:
        """Keep a computed value."""
        self.result_cache.put(self.key, value)

    def drop(self) -> None:
        """Forget the value."""
        self.result_cache.drop(self.key)

    def piece(self, make: Callable[[Report], T], steps: int = 1, refused: Callable[[str], None] | None = None) -> Piece:
        """Return the piece of work that computes the value in so many steps; one job at a time does."""
        return Piece(make, self.keep, steps, refused, self.key, lambda: self.value)

    def job(self, title: str, *pieces: Piece, **how: Any) -> Job:
        """Return the job that does ``pieces``; ``how`` as in ``Job``."""
        return Job(self.key, title, pieces, self.is_wanted, **how)

    def work(self, title: str, make: Callable[[Report], T], steps: int = 1, **how: Any) -> Job:
        """Return the job that computes the value in so many steps."""
        return self.job(title, self.piece(make, steps), **how)


def derived(
    params: P,
    name: object,
    depends: Callable[[P], object],
    result_cache: Callable[[P], ResultCache] = caches.result_cache,
) -> Derived[Any]:
    """Return what is called ``name`` and depends on ``depends`` of the parameters."""
    about = depends(params)
    return Derived((name, about), result_cache(params), lambda now: depends(now) == about)  # type: ignore[arg-type]


def together(params: P, key: Callable[[P], object], title: str, pieces: Iterable[Piece], **how: Any) -> Job:
    """Return the job that does ``pieces`` while parameters have the ``key`` of these; ``how`` as in ``Job``."""
    name = key(params)
    return Job(name, title, tuple(pieces), lambda now: key(now) == name, **how)  # type: ignore[arg-type]
