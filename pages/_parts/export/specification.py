"""Export the specification of a screen: every parameter, the table's fingerprint and the versions, as JSON."""

import json
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import mklcore
from mklcore.errors import DataError
from pages._parts.derive import tables
from pages._parts.params import algorithms, link
from pages._parts.params.parameters import Params

FORMAT, VERSION = "MKL Explorer specification", 1
LARGEST = 200_000
LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "pandas", "plotly", "streamlit")


def write(params: Params, page: str) -> str:
    """Return the specification of the screen; parameters are written in full, also the usual ones."""
    table = tables.table(params)
    content: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "page": page,
        "parameters": parameters(params),
        "seed": params.seed,
        "table": {"rows": table.n_samples, "columns": table.n_features, "task": table.task, "target": table.target_name,
                  "fingerprint": table.fingerprint},
        "versions": versions(),
    }  # fmt: skip
    return json.dumps(content, indent=2, ensure_ascii=False)


def parameters(params: Params) -> dict[str, str]:
    """Return every parameter as the text a link holds; what is not set is left out.

    The recipe is written even so: without a word on it, builders that are named mean the builders.
    """
    named = params.__getstate__() | dict(params.settings)
    del named["settings"]
    return {
        name: algorithms.write(value) for name, value in named.items() if value not in (None, "") or name == "recipe"
    }


def versions() -> dict[str, str]:
    """Return the releases of everything that computes."""
    found = {"mklcore": mklcore.__version__, "python": platform.python_version()}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def read(content: bytes) -> tuple[Params, tuple[str, ...]]:
    """Return the parameters of a specification, and a sentence for each part that was refused.

    Raises ``DataError`` for a file that is none.
    """
    if len(content) > LARGEST:
        raise DataError(f"The file is larger than {LARGEST // 1000} kB; a specification is much smaller.")
    try:
        content_read = json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError):
        raise DataError("The file is no specification; expected the JSON that this app wrote.") from None
    if (
        not isinstance(content_read, dict)
        or content_read.get("format") != FORMAT
        or not isinstance(content_read.get("parameters"), dict)
    ):
        raise DataError("The file is no specification; expected the JSON that this app wrote.")
    if content_read.get("version") != VERSION:
        raise DataError(
            f"The specification has version {str(content_read.get('version'))[:20]!r}; this app reads version "
            f"{VERSION}."
        )
    texts = {str(name): text for name, text in content_read["parameters"].items() if isinstance(text, str)}
    params, refused = link.read(texts)
    return params, (*refused, *_other_releases(content_read.get("versions")))


def _other_releases(written: Any) -> list[str]:
    """Return a sentence where the libraries that compute are not those the specification was written with."""
    if not isinstance(written, dict):
        return []
    here = versions()
    others = [
        f"{name} {str(written[name])[:20]} (here {here[name]})"
        for name in ("mklcore", "numpy", "scikit-learn")
        if name in written and written[name] != here[name]
    ]
    said = f"Written with other releases: {', '.join(others)}. Numbers may differ in their last digits."
    return [said] if others else []
