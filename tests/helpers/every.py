"""One test over many cases: it goes on after a miss, and reports every miss at the end."""

import functools
import inspect
import os

import pytest

# What the suite has no time for on two cores: EVERY_CASE=1 python -m pytest.
EVERY_CASE = bool(os.environ.get("EVERY_CASE"))


def share(cases, step, first=0):
    """Return all cases where every case is asked for, and else each ``step``-th of them."""
    cases = list(cases)
    return cases if EVERY_CASE else cases[first::step]


def every(names, cases):
    """Run the test below for each of ``cases``, as ``pytest.mark.parametrize`` would, but as one
    test.

    Parameters
    ----------
    names : str
        Arguments of the test, separated by commas.
    cases : iterable
        Values of these arguments, as tuples where there are several.
    """
    names, cases = names.replace(" ", "").split(","), list(cases)
    assert cases, "a test over no case shows nothing"

    def decorated(test):
        @functools.wraps(test)
        def over_all(**given):
            misses = []
            for case in cases:
                values = dict(zip(names, case if len(names) > 1 else (case,), strict=True))
                try:
                    test(**given, **values)
                except (Exception, pytest.fail.Exception) as miss:
                    miss.add_note(f"at {values}"[:400])
                    misses.append(miss)
            if misses:
                raise BaseExceptionGroup(f"{len(misses)} of {len(cases)} cases missed", misses)

        signature = inspect.signature(test)
        left = [one for name, one in signature.parameters.items() if name not in names]
        over_all.__signature__ = signature.replace(parameters=left)
        return over_all

    return decorated
