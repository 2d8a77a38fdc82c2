"""The two doors to gradwire: embedded in this process, and a server of its own over HTTP."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session")
def server_url() -> Iterator[str]:
    """A `gradwire serve` in a process of its own, on a free loopback port."""
    command = [sys.executable, "-m", "gradwire_service", "serve", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        found = re.search(r"http://\S+", said)
        assert found, f"the server said {said!r}"
        yield found[0]
        process.terminate()


@pytest.fixture(params=["embedded", "http"])
def door(request: pytest.FixtureRequest) -> str | None:
    """A server's URL, or None for embedded work."""
    if request.param == "embedded":
        return None
    url: str = request.getfixturevalue("server_url")
    return url
