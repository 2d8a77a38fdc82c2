"""Python blocks: a page's run one after the other in one namespace, in a process of their own."""

from __future__ import annotations

import json
import linecache
import os
import subprocess
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


class Program:
    """The process; warnings are errors in it."""

    def __init__(self, folder: Path) -> None:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("GRADWIRE_")}
        environment = {**kept, "PYTHONPATH": str(ROOT)}
        self._process = subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "tests.pages.program"],
            cwd=folder, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def run(self, text: str, name: str) -> tuple[str, bool]:
        """What a block prints, a last exception's name and text included; whether it raised."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps({"text": text, "name": name}) + "\n")
        stdin.flush()
        reply = stdout.readline()
        assert reply, f"{name}: the program ended"
        found = json.loads(reply)
        return found["printed"], found["raised"]

    def close(self) -> None:
        """End it."""
        self._process.communicate()


def _answer(asked: dict[str, str], namespace: dict[str, Any]) -> dict[str, Any]:
    text, name = asked["text"], asked["name"]
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    raised = False
    with redirect_stdout(StringIO()) as printed:
        try:
            exec(compile(text, name, "exec"), namespace)
        except Exception as problem:
            raised = True
            printed.write(f"{type(problem).__name__}: {problem}\n")
    return {"printed": printed.getvalue(), "raised": raised}


if __name__ == "__main__":
    names: dict[str, Any] = {"__name__": "__main__"}
    for line in sys.stdin:
        sys.stdout.write(json.dumps(_answer(json.loads(line), names)) + "\n")
        sys.stdout.flush()
