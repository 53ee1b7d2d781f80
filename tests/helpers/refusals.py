"""What is refused: calls that have to end in an error of ours, each with its words."""

import pytest

from mklcore.errors import MKLError
from tests.helpers.every import every


def refused(*cases):
    """Check that every call of ``cases``, pairs of a call and a pattern, ends in an error that says
    it.
    """

    @every("call, words", cases)
    def each(call, words):
        with pytest.raises(MKLError, match=words):
            call()

    each()
