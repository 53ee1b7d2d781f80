"""Look up known vulnerabilities of what is installed, with pip-audit; fails on a finding.

    python .ci/audit.py [--required]

When it could not look anything up it says so, and fails where that was required.
"""

import json
import subprocess
import sys

SECONDS = 60
COMMAND = [
    "pip-audit",
    "--local",
    "--skip-editable",
    "--format=json",
    "--progress-spinner=off",
    "--timeout=10",
]


def verdict(printed: str, complained: str, required: bool = False) -> tuple[int, str]:
    """What the audit found, as the exit code and a sentence for each finding; ``required``: it has
    to look up.
    """
    try:
        packages = json.loads(printed)["dependencies"]
    except (ValueError, KeyError, TypeError):
        why = (complained.strip().splitlines() or ["no answer"])[-1]
        return int(
            required
        ), f"NOT AUDITED: known vulnerabilities could not be looked up ({why[:200]})."
    reported = [
        f"{one['name']} {one['version']}: {found['id']}, mended in "
        f"{', '.join(found['fix_versions']) or 'no release yet'}"
        for one in packages
        for found in one.get("vulns", ())
    ]
    skipped = [one["skip_reason"] for one in packages if "skip_reason" in one]
    if len(skipped) == len(packages):
        why = skipped[0][:200] if skipped else "it found none"
        return int(
            required
        ), f"NOT AUDITED: none of {len(packages)} packages could be looked up ({why})."
    looked = (
        f"{len(packages) - len(skipped)} packages looked up, {len(reported)} known vulnerabilities."
    )
    return int(bool(reported)), "\n".join([*reported, looked])


def main() -> int:
    """Run pip-audit and tell its verdict."""
    required = "--required" in sys.argv[1:]
    try:
        done = subprocess.run(COMMAND, capture_output=True, text=True, timeout=SECONDS, check=False)
        code, reported = verdict(done.stdout, done.stderr, required)
    except (OSError, subprocess.TimeoutExpired) as error:
        code, reported = verdict("", f"{type(error).__name__}: {error}", required)
    print(reported)
    return code


if __name__ == "__main__":
    sys.exit(main())
