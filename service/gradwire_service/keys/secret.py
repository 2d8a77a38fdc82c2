"""A key: 256 random bits behind a word that says what it is. Only its hash is ever kept.

SHA-256 is right for that, and a slow hash would be wrong. Slow hashes (scrypt, argon2) make up for
passwords that people choose, of which a machine can try all. Nobody tries 2**256 keys, however
fast the hash; and each request would pay for the slowness.
"""

from __future__ import annotations

import re
from hashlib import sha256
from secrets import token_urlsafe

from gradwire_engine.errors import error

PREFIX = "gw_"
_BYTES = 32
SHORTEST = 16
"""Characters of a key that somebody made up: fewer could be guessed."""
_TENANT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


def new_key() -> str:
    """A key that nobody has had before."""
    return PREFIX + token_urlsafe(_BYTES)


def digest(key: str) -> bytes:
    """What is kept of a key: 32 bytes."""
    return sha256(key.encode("utf-8", "surrogateescape")).digest()


def check_key(key: str, which: str) -> None:
    """Refuse a key that came from outside and is too short; the error doesn't show it."""
    if len(key.strip()) < SHORTEST:
        raise error(
            "invalid_argument",
            f"{which} has {len(key.strip())} characters",
            f"at least {SHORTEST} that nobody can guess; gradwire keys create makes such keys",
            raised=ValueError,
        )


def check_tenant(name: str) -> str:
    """The name of a tenant, if it may be one."""
    if _TENANT.fullmatch(name) is None:
        raise error(
            "invalid_argument",
            f"tenant {name[:80]!r} is no name for a tenant",
            "letters, digits, _, . and -, at most 64, the first a letter or a digit",
            raised=ValueError,
        )
    return name
