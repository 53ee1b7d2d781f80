"""Files are opened once, in their turn; a visitor who waits can leave; a refusal is remembered."""

import pytest

from mklcore.errors import DataError
from pages._parts.derive import opening
from pages._parts.session.result_cache import ResultCache


class Left(BaseException):
    """Raised where a run ends because its person did something else."""


def test_what_was_read_or_refused_is_not_read_again() -> None:
    result_cache, times = ResultCache(2), []

    def refuse(tick) -> None:
        times.append(1)
        raise DataError("The file is a picture.")

    for _ in range(3):
        with pytest.raises(DataError, match="The file is a picture"):
            opening.opened(result_cache, "picture", b"", "Reading", refuse)
        assert opening.opened(result_cache, "table", b"", "Reading", lambda tick: times.append(2) or "rows") == "rows"
    assert times == [1, 2]


def test_who_leaves_frees_the_place_and_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "PATIENCE_SECONDS", 0.0)
    result_cache, large, reported = ResultCache(2), bytes(opening.LARGE_BYTES), []

    def leave(tick) -> None:
        reported.append(opening.PLACES._value)
        tick()
        raise Left

    before = opening.PLACES._value
    for _ in range(before + 1):
        with pytest.raises(Left):
            opening.opened(result_cache, "table", large, "Reading", leave)
    assert set(reported) == {before - 1}
    assert opening.PLACES._value == before
    assert result_cache.get("table") is None


def test_a_large_file_waits_for_its_turn_and_can_be_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening.PLACES, "_value", 0)
    beats = []

    def beat() -> None:
        beats.append(1)
        if len(beats) == 2:
            raise Left

    with pytest.raises(Left), opening._turn(opening.LARGE_BYTES, beat):
        pytest.fail("there was no place")
    with opening._turn(opening.LARGE_BYTES - 1, beat):
        assert len(beats) == 2  # a small one need not wait
