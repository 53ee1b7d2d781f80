"""Write requirements.lock: what the app needs to run, with the versions installed here.

Run it where all tests have passed.

python .ci/lock.py > requirements.lock
"""

import sys
from importlib.metadata import distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def needed(name: str, extras: tuple[str, ...] = (), found: dict[str, str] | None = None) -> dict[str, str]:
    """Name and version of everything ``name`` needs here, directly or not."""
    found = {} if found is None else found
    for line in distribution(name).requires or []:
        wanted = Requirement(line)
        marker = wanted.marker
        if marker is not None and not any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            continue
        key = canonicalize_name(wanted.name)
        if key == canonicalize_name(name):  # an extra that another one includes
            needed(name, tuple(wanted.extras), found)
            continue
        if key not in found:
            found[key] = distribution(wanted.name).version
            needed(wanted.name, tuple(wanted.extras), found)
    return found


if __name__ == "__main__":
    print(
        f"# What the app runs on: made by .ci/lock.py under Python {sys.version_info.major}.{sys.version_info.minor}."
    )
    print("\n".join(f"{name}=={version}" for name, version in sorted(needed("mklcore", ("app",)).items())))
