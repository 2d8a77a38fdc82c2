"""Names of hosts, as the header Host gives them, and which of them a server answers to."""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import IPv6Address, ip_address

_AUTHORITY = re.compile(
    r"(\[[0-9a-f:.]+\]|[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_-])?)\.?(?::[0-9]{0,5})?"
)
_PATTERN = re.compile(r"(\*\.)?[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_-])?|\[[0-9a-f:.]+\]|\*")
ANY = "*"


def name_of(authority: str) -> str | None:
    """Return the host in `HOST[:PORT]`, in small letters and without the root's dot.

    An IPv6 address stays in its brackets. None where the text is no such thing.
    """
    found = _AUTHORITY.fullmatch(authority.lower())
    return None if found is None else found[1]


def is_loopback(name: str) -> bool:
    """Tell whether a name, or an address with or without brackets, always is this machine.

    `*.localhost` is: nobody can own a name there (RFC 6761), and browsers ask no server for one.
    """
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        found = ip_address(name.strip("[]"))
    except ValueError:
        return False
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return (mapped or found).is_loopback


class Hosts:
    """The names that a server answers to: those of loopback, and what its patterns add.

    A pattern is a name, `*.example.com` for every name below that one, or `*` for all.
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        self._names = frozenset(patterns)
        self._below = tuple(name[1:] for name in self._names if name.startswith("*."))

    def __contains__(self, name: str) -> bool:
        """Tell whether the server answers to this name."""
        return (
            ANY in self._names
            or name in self._names
            or is_loopback(name)
            or name.endswith(self._below)
        )


def checked_pattern(text: str) -> str:
    """Return a pattern of hosts in small letters. Raises ValueError where it is none."""
    found = text.lower().removesuffix(".")
    if _PATTERN.fullmatch(found) is None:
        raise ValueError(
            f"{text!r} is no name of a host; write example.com, *.example.com, an address, an "
            "IPv6 address in brackets, or *, without a scheme and without a port"
        )
    return found
