"""Admin, the password: kept by the configuration as a salted hash, and guessed slowly.

``python -m pages._parts.admin.password`` asks for one and prints the line for the configuration.
"""

import getpass
import hashlib
import hmac
import os
import secrets
import threading
import time
from collections.abc import Callable

HASH = "MKL_EXPLORER_ADMIN"  # the environment variable that holds the hash; without it there is no admin page
FORMER = "MKL_EXPLORER_KEEPER"  # its name in version 0.1
SHORTEST = 12
PATIENCE, PAUSE = 5, 60.0  # so many wrong passwords, then nobody may try for so many seconds
_SCHEME = "scrypt"
_COST = {"n": 2**14, "r": 8, "p": 1, "dklen": 32}


def hashed(password: str) -> str:
    """Return what the configuration holds of ``password``. Raises ``ValueError`` for one that is guessed too soon."""
    if len(password) < SHORTEST:
        raise ValueError(f"The password has {len(password)} characters; take at least {SHORTEST}.")
    salt = secrets.token_bytes(16)
    return "-".join((_SCHEME, salt.hex(), hashlib.scrypt(password.encode(), salt=salt, **_COST).hex()))


def matches(password: str, kept: str) -> bool:
    """Tell whether ``kept`` was made from ``password``; what is no hash matches nothing."""
    scheme, _, rest = kept.partition("-")
    try:
        salt, expected = (bytes.fromhex(part) for part in rest.split("-"))
    except ValueError:
        return False
    if scheme != _SCHEME or len(salt) < 16:
        return False
    return hmac.compare_digest(hashlib.scrypt(password.encode(), salt=salt, **_COST), expected)


def configured() -> str:
    """Return the hash of the configuration, empty where there is none."""
    return os.environ.get(HASH, os.environ.get(FORMER, "")).strip()


class Door:
    """Lets in those who know the password. One for the server: a guess holds up other guesses, and nothing else."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now, self._lock, self._wrong, self._until = now, threading.Lock(), 0, 0.0

    def opens(self, password: str, kept: str) -> bool:
        """Tell whether ``password`` is right. Raises ``ValueError`` while nobody may try."""
        with self._lock:
            left = self._until - self._now()
            if left > 0:
                raise ValueError(f"{PATIENCE} wrong passwords. Nobody can try for another {left:.0f} s.")
            right = matches(password, kept)
            self._wrong = 0 if right else self._wrong + 1
            if self._wrong >= PATIENCE:
                self._wrong, self._until = 0, self._now() + PAUSE
            return right


DOOR = Door()

if __name__ == "__main__":
    print(f"{HASH}={hashed(getpass.getpass('Administrator password: '))}")
