"""What tests of kept work share: two people, and what of them is on the disk."""

from pathlib import Path

from pages._parts.runs.secrets import new_secret

ANNA, BEN = new_secret(), new_secret()


def on_disk(home: Path) -> bytes:
    return b"".join(part.read_bytes() for part in home.rglob("*") if part.is_file())
