"""What is refused: calls that have to end in an error of ours, each with its words."""

import pytest

from mklcore.errors import DataError, KernelError, MKLError, ParameterError
from tests.helpers.every import every


def data_error(words):
    """Expect a refusal of data that says this."""
    return pytest.raises(DataError, match=words)


def parameter_error(words):
    """Expect a refusal of a parameter that says this."""
    return pytest.raises(ParameterError, match=words)


def kernel_error(words):
    """Expect a refusal of kernels that says this."""
    return pytest.raises(KernelError, match=words)


def refused(*cases):
    """Check that every call of ``cases``, pairs of a call and a pattern, ends in an error that says
    it.
    """

    @every("call, words", cases)
    def each(call, words):
        with pytest.raises(MKLError, match=words):
            call()

    each()
