"""Check the docstrings of the public classes and functions of mklcore by numpydoc's validation.

The names are those of the front door; exceptions and warnings are exempt. ``CHECKS`` lists what is
asked of them.
"""

import inspect
import sys

from numpydoc.validate import validate

import mklcore

CHECKS = {
    "GL05": "tabs",
    "GL06": "an unknown section",
    "GL07": "sections in another order",
    "GL08": "no docstring",
    "SS01": "no summary",
    "SS04": "an indented summary",
    "PR01": "a parameter without an entry",
    "PR02": "an entry without a parameter",
    "PR03": "parameters in another order",
    "PR04": "a parameter without a type",
    "PR05": "a full stop after a type",
    "PR06": "a type under another name",
    "PR07": "a parameter without description",
    "PR08": "a description without a capital letter",
    "PR09": "a description without a full stop",
    "PR10": "no space before the colon",
    "RT01": "no Returns",
    "RT03": "a return value without description",
    "YD01": "no Yields",
}


def public() -> list[str]:
    """Return the places of the public classes and functions, all but exceptions."""
    found = [getattr(mklcore, name) for name in mklcore.__all__]
    return [
        f"{one.__module__}.{one.__qualname__}"
        for one in found
        if inspect.isfunction(one) or (inspect.isclass(one) and not issubclass(one, BaseException))
    ]


def findings(places: list[str]) -> list[str]:
    """Return one line for everything that is wrong with these docstrings."""
    return [
        f"{place}: {code} {text}"
        for place in places
        for code, text in validate(place)["errors"]
        if code in CHECKS
    ]


if __name__ == "__main__":
    # signatures there are those of a base's __new__, not of the class's own __init__
    if sys.version_info < (3, 11, 4):
        print("NOT CHECKED: signatures can be read since Python 3.11.4.")
        sys.exit(0)
    wrong = findings(public())
    print(*wrong, sep="\n")
    sys.exit(bool(wrong))
