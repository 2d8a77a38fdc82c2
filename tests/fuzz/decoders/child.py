"""`python -m tests.fuzz.decoders.child NAME FOLDER FLAGS…`: one decoder, in libFuzzer's hands.

It ends the process by its own rules, so each decoder has one. `--input FILE` gives a decoder the
bytes of a file instead, once: the way to look at what was found.
"""

from __future__ import annotations

import resource
import sys
from pathlib import Path

import atheris

_WATCHED = ["gradwire_service", "tests.fuzz.decoders"]
"""Whose branches libFuzzer is told of."""
if "npy" in sys.argv:
    _WATCHED.append("numpy.lib._format_impl")

with atheris.instrument_imports(include=_WATCHED):
    from tests.fuzz.decoders.checks import check

_ROOM = 2**30
"""Bytes of address space beyond those of the start: a length that was believed asks for more."""


def main() -> None:
    """Fuzz, or look at one input."""
    name, *flags = sys.argv[1:]
    if flags[:1] == ["--input"]:
        check(name, Path(flags[1]).read_bytes())
        return
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + _ROOM
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    atheris.Setup([sys.argv[0], *flags], lambda body: check(name, body))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
