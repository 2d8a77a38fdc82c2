"""The two doors to gradwire: embedded in this process, and a server of its own over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pytest
from tests.clients.serving import serving

with suppress(ImportError):
    import torch

    # there is a process for each core, and torch's threads wait for work busily
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def server_url() -> Iterator[str]:
    """A server for all programs."""
    with serving() as url:
        yield url


@pytest.fixture(params=["embedded", "http"])
def door(request: pytest.FixtureRequest) -> str | None:
    """A server's URL, or None for embedded work."""
    if request.param == "embedded":
        return None
    url: str = request.getfixturevalue("server_url")
    return url
