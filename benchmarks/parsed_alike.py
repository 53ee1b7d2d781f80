"""Read tables with and without pyarrow, and compare everything that is found: each has to come out the same.

python -m benchmarks.parsed_alike FOLDER [FOLDER ...] every file in the folders; exits with 1 where two readings differ
"""

import sys
import time
from pathlib import Path

from mklcore.data import columns, parsing
from mklcore.data.reading import describe_table, read_table
from mklcore.errors import MKLError

NEVER = sys.maxsize


def reading(raw: bytes, least: int) -> tuple[list[object], float]:
    """What is found in a file, with pyarrow for texts and columns from ``least`` on, and CPU seconds."""
    parsing.LARGE_TEXT = columns.MANY_CELLS = least
    began = time.process_time()
    found: list[object] = []
    for read in (describe_table, read_table):
        try:
            found.append(read(raw))
        except MKLError as error:
            found.append(str(error))
    seconds = time.process_time() - began
    return [
        repr(vars(one) | {"X": getattr(one, "fingerprint", "")}) if hasattr(one, "__dict__") else one for one in found
    ], seconds


def main(folders: list[str]) -> int:
    """Compare the readings of every file."""
    files = sorted(file for folder in folders for file in Path(folder).rglob("*") if file.is_file())
    usual, quick, differ = 0.0, 0.0, []
    for file in files:
        raw = file.read_bytes()
        (one, slow), (other, fast) = reading(raw, NEVER), reading(raw, 0)
        usual, quick = usual + slow, quick + fast
        if one != other:
            differ.append(str(file))
    print(
        f"{len(files)} files: {usual:.1f} s without, {quick:.1f} s with pyarrow; different: "
        f"{', '.join(differ) or 'none'}."
    )
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
