"""Runs and their owners: secrets of 256 bits that live in a browser or a link; the file holds digests only."""

import hashlib
import hmac
import re
import secrets
from base64 import urlsafe_b64encode

SECRET = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)


def new_secret() -> str:
    """Return a secret of 256 bits, as a link or a browser holds it."""
    return secrets.token_urlsafe(32)


def is_secret(text: object) -> bool:
    """Tell whether ``text`` could be a secret at all."""
    return isinstance(text, str) and SECRET.fullmatch(text) is not None


def digest(secret: str) -> str:
    """Return what the file holds of a secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


def link_secret(owner: str, run: str) -> str:
    """Return the secret of a run's link: only who knows the owner's secret can make it, and it tells nothing about
    it.
    """
    return urlsafe_b64encode(hmac.digest(owner.encode(), f"run {run}".encode(), "sha256")).decode().rstrip("=")
