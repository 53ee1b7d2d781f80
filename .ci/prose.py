"""Check spelling (codespell) and grammar (proselint) of every text in the repository.

python .ci/prose.py        both read their options from pyproject.toml: [tool.codespell] and [tool.proselint]
"""

import io
import re
import subprocess
import sys
import tokenize
import tomllib
from pathlib import Path

from proselint.checks import __register__
from proselint.config import DEFAULT
from proselint.registry import CheckRegistry
from proselint.tools import LintFile

ROOT = Path(__file__).resolve().parents[1]
OPTIONS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["proselint"]
CODE = re.compile(r"^```.*?^```|`[^`\n]*`|\]\([^)\n]*\)|^ *>>> .*|^ *\.\.\. .*", re.MULTILINE | re.DOTALL)


def prose(path: Path) -> str:
    """Return the sentences of a file at their lines: Markdown without code, or the strings and comments of Python."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        lines = [""] * (text.count("\n") + 1)
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in (tokenize.STRING, tokenize.COMMENT):
                for k, line in enumerate(token.string.splitlines()):
                    lines[token.start[0] - 1 + k] += f" {line}"
        text = "\n".join(lines)
    return CODE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def grammar(paths: list[Path]) -> list[str]:
    """Return one line for everything that proselint finds."""
    off = dict.fromkeys(OPTIONS["skip-checks"], False)  # the more special first, as proselint wants them
    config = {**DEFAULT, "checks": {**off, **{name: on for name, on in DEFAULT["checks"].items() if name not in off}}}
    CheckRegistry().register_many(__register__)
    found = []
    for path in paths:
        for one in LintFile(str(path), prose(path) or " ").lint(config):
            place = f"{path.relative_to(ROOT)}:{one.pos[0]}"
            found.append(f"{place}: {one.check_result.check_path}: {one.check_result.message}")
    return found


def main() -> int:
    spelling = subprocess.run(["codespell"], cwd=ROOT, check=False).returncode
    listed = subprocess.run(
        ["git", "ls-files", *OPTIONS["files"]], cwd=ROOT, capture_output=True, text=True, check=True
    )
    found = grammar([ROOT / name for name in listed.stdout.splitlines() if not re.search(OPTIONS["skip"], name)])
    print(*found, sep="\n")
    return int(bool(spelling or found))


if __name__ == "__main__":
    sys.exit(main())
