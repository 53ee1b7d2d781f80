"""What types a call gives, found once: while leaves are compiled, numba looks up what it has found before.

For every ``a[i]`` numba asks each of some forty candidates, most of them twice, whether it takes an array and an integer.
Leaves index a lot, always in the same few ways: asking took a sixth of compiling everything, and the answers stay the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core.targetconfig import ConfigStack
from numba.core.types.functions import BaseFunction

_ask = BaseFunction.get_call_type
_found: dict[Any, tuple[Any, Any]] = {}


def _look_up(function: Any, context: Any, args: Any, kws: Any) -> Any:
    """numba's own answer, or the one it gave to the same question under the same flags; a refusal is asked for again."""
    flags = ConfigStack.top_or_none()
    under = None if flags is None else flags.summary()
    question = context, function.templates, tuple(args), tuple(kws.items()), under
    if question not in _found:
        signature = _ask(function, context, args, kws)
        if signature is None:
            return None
        _found[question] = signature, function._impl_keys[signature.args]
    signature, function._impl_keys[signature.args] = _found[question]
    return signature


@contextmanager
def remembered() -> Iterator[None]:
    """Answer from memory in here, and leave numba as it was; whoever compiles holds numba's lock, so nobody is in between."""
    before = BaseFunction.get_call_type
    BaseFunction.get_call_type = _look_up
    try:
        yield
    finally:
        BaseFunction.get_call_type = before
