"""A `gradwire serve` in a process of its own, for tests that want a real server."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def serving(*options: str, **settings: object) -> Iterator[str]:
    """The URL of a server with these settings on a free loopback port; it ends with the block."""
    said_so = {f"GRADWIRE_{name.upper()}": str(value) for name, value in settings.items()}
    command = [sys.executable, "-m", "gradwire_service", "serve", "--port", "0", *options]
    environment = os.environ | said_so
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        found = re.search(r"http://\S+", said)
        assert found, f"the server said {said!r}"
        try:
            yield found[0]
        finally:
            process.terminate()
            process.stdout.read()
