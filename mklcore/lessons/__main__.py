"""Lessons as a course site without a server, from the command line.

python -m mklcore.lessons                            what there is
python -m mklcore.lessons --html DIR                 every lesson and every sample's path as static pages with an index
python -m mklcore.lessons --html DIR sparse iris     some of them
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from mklcore.errors import MKLError
from mklcore.lessons import LESSONS
from mklcore.lessons.site import names, write_site
from mklcore.lessons.words import words


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the arguments ask for; 0 where it went well, 1 where it was refused."""
    asked = _parser().parse_args(arguments)
    if asked.html is None:
        print("\n".join(f"{name}: {words(LESSONS[name]).line}" for name in LESSONS))
        print(f"As static pages: python -m mklcore.lessons --html DIR [{' | '.join(names())} ...]")
        return 0
    try:
        write_site(asked.html, asked.names or None, lambda line: print(line, flush=True))
    except (MKLError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m mklcore.lessons", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("names", nargs="*", help="lessons and samples; all of them without a name")
    parser.add_argument("--html", metavar="DIR", help="the folder the pages are written into")
    return parser


if __name__ == "__main__":
    sys.exit(main())
