"""The id of a request, by which its log line and its problem are found."""

from __future__ import annotations

import re
from collections.abc import Iterable
from random import getrandbits

_FIT = re.compile(rb"[A-Za-z0-9_.:-]{1,128}")


def request_id(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """The caller's id if it has one that is fit for a log, else a new one."""
    for name, value in headers:
        if name == b"x-request-id" and _FIT.fullmatch(value):
            return str(value.decode("ascii"))
    return f"r_{getrandbits(64):016x}"
