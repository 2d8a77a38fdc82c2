"""A `gradwire serve` in a process of its own, for tests that want a real server."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def serving(*options: str) -> Iterator[str]:
    """The URL of a server on a free loopback port, which ends with the block."""
    command = [sys.executable, "-m", "gradwire_service", "serve", "--port", "0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        found = re.search(r"http://\S+", said)
        assert found, f"the server said {said!r}"
        try:
            yield found[0]
        finally:
            process.terminate()
            process.stdout.read()
