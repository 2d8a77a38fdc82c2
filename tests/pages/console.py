"""Console blocks: commands behind `$ `, each with what it prints; run by one bash for a page."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_END = "\x1e"


class Command(NamedTuple):
    """A command, and the output that the page shows for it."""

    text: str
    shown: str


def commands(block: str) -> Iterator[Command]:
    """The commands of a console block; one goes on while a quote is open or its line is escaped."""
    lines = block.splitlines()
    while lines:
        text = lines.pop(0)
        if not text.startswith("$ "):
            raise ValueError(f"expected a line that starts with '$ ', found {text!r}")
        text = text[2:]
        while lines and (text.count("'") % 2 or text.endswith("\\")):
            text += "\n" + lines.pop(0)
        shown = []
        while lines and not lines[0].startswith("$ "):
            shown.append(lines.pop(0))
        yield Command(text, "\n".join(shown))


class Shell:
    """A bash that keeps its variables from command to command."""

    def __init__(self, folder: Path) -> None:
        path = f"{Path(sys.prefix) / 'bin'}:{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "HOME": str(folder), "COLUMNS": "100"}
        outer = ("GRADWIRE_", "MAKE", "MFLAGS")  # what a make around the tests hands down
        for name in [n for n in environment if n.startswith(outer) or "proxy" in n.lower()]:
            del environment[name]
        self._process = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            cwd=folder, env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def run(self, command: str) -> tuple[str, int]:
        """What a command prints, errors included, and its exit status."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(f"{{ {command}\n}} </dev/null\nprintf '\\n{_END}%d\\n' $?\n")
        stdin.flush()
        lines: list[str] = []
        for line in stdout:
            if line.startswith(_END):
                return "".join(lines).removesuffix("\n"), int(line[1:])
            lines.append(line)
        raise AssertionError(f"bash ended at: {command}")

    def close(self) -> None:
        """End it."""
        self._process.communicate("exit\n")
