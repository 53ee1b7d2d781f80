"""Write requirements.lock: what the app needs to run, with the versions installed here and the
hashes of their wheels.

    python .ci/lock.py > requirements.lock     # where all tests have passed
    python .ci/lock.py --check                 # whether what is installed here is what the lock names

The hashes are those that the package index gives for Python 3.11 on Linux, for both processors of
images.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

LOCK = Path(__file__).resolve().parents[1] / "requirements.lock"
BUILD = "setuptools"  # what the project itself is built with, where nothing else is downloaded
PROCESSORS = "x86_64", "aarch64"
SYSTEMS = (
    "manylinux_2_28",
    "manylinux_2_27",
    "manylinux_2_24",
    "manylinux_2_17",
    "manylinux2014",
    "manylinux1",
)
PIN = re.compile(r"^([\w.-]+)==(\S+)", re.MULTILINE)


def needed(
    name: str, extras: tuple[str, ...] = (), found: dict[str, str] | None = None
) -> dict[str, str]:
    """Name and version of everything ``name`` needs here, directly or not."""
    found = {} if found is None else found
    for line in distribution(name).requires or []:
        wanted = Requirement(line)
        marker = wanted.marker
        if marker is not None and not any(
            marker.evaluate({"extra": extra}) for extra in ("", *extras)
        ):
            continue
        key = canonicalize_name(wanted.name)
        if key == canonicalize_name(name):  # an extra that another one includes
            needed(name, tuple(wanted.extras), found)
            continue
        if key not in found:
            found[key] = distribution(wanted.name).version
            needed(wanted.name, tuple(wanted.extras), found)
    return found


def hashes(pins: dict[str, str], processor: str) -> dict[str, str]:
    """The digest of the wheel of every package, as the index gives it for a processor."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--dry-run",
        "--ignore-installed",
        "--no-deps",
        "--quiet",
    ]
    command += [
        "--only-binary=:all:",
        "--target=unused",
        "--report=-",
        "--implementation=cp",
        "--python-version=3.11",
    ]
    command += [f"--abi={abi}" for abi in ("cp311", "abi3", "none")]
    command += [f"--platform={system}_{processor}" for system in SYSTEMS]
    done = subprocess.run(
        [*command, *(f"{name}=={release}" for name, release in pins.items())],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return {
        canonicalize_name(one["metadata"]["name"]): one["download_info"]["archive_info"]["hashes"][
            "sha256"
        ]
        for one in json.loads(done.stdout)["install"]
    }


def written(pins: dict[str, str]) -> str:
    """The lock of these versions."""
    found = [hashes(pins, processor) for processor in PROCESSORS]
    lines = [
        (
            "# What the app runs on: made by .ci/lock.py for Python 3.11 on Linux. pip "
            "install --require-hashes -r"
        )
    ]
    for name, release in sorted(pins.items()):
        digests = sorted({known[name] for known in found})
        lines += [
            " \\\n".join(
                [f"{name}=={release}", *(f"    --hash=sha256:{digest}" for digest in digests)]
            )
        ]
    return "\n".join(lines)


def locked() -> dict[str, str]:
    """Name and version of everything in the lock."""
    return dict(PIN.findall(LOCK.read_text(encoding="utf-8")))


def missing() -> list[str]:
    """What is installed here in another version than the lock names, or not at all."""
    found = []
    for name, release in locked().items():
        try:
            here = version(name)
        except PackageNotFoundError:
            here = "nothing"
        if here != release:
            found.append(f"{name}: the lock has {release}, and {here} is installed.")
    return found


def main() -> int:
    """Write the lock, or check it."""
    if "--check" in sys.argv[1:]:
        print("\n".join(missing()) or "What is installed is what the lock names.")
        return int(bool(missing()))
    print(written(needed("mklcore", ("app",)) | {BUILD: version(BUILD)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
