"""Build the source distribution, unpack it elsewhere; fail where it lacks a file of the checkout.

python .ci/sdist.py FOLDER          prints the folder it is unpacked to, below FOLDER
"""

import subprocess
import sys
import tarfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def lacking(wanted: Iterable[str], folder: Path) -> list[str]:
    """The files, named from the top of the checkout, that are not in a folder."""
    return sorted(name for name in wanted if not (folder / name).is_file())


def main(target: Path) -> int:
    """Build, unpack and compare."""
    subprocess.run(
        [sys.executable, "-m", "build", "--sdist", "--outdir", target, ROOT],
        check=True,
        stdout=sys.stderr,
    )
    (packed,) = target.glob("*.tar.gz")
    with tarfile.open(packed) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # since Python 3.11.4
        archive.extractall(target)
    folder = target / packed.name.removesuffix(".tar.gz")
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    missing = lacking(filter(None, listed.split("\0")), folder)
    if missing:
        print(
            f"The source distribution lacks {len(missing)} files; name them in MANIFEST.in:",
            *missing,
            sep="\n",
        )
        return 1
    print(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
