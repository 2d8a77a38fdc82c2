"""schemathesis, with all of its checks, against a server of its own and what is left of it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tests.fuzz.watched import Watched, watched

ROOT = Path(__file__).parents[3]
CONFIG = Path(__file__).with_name("schemathesis.toml")
KEY = "a-key-of-the-fuzzers-own"
PHASES = ("examples", "coverage", "fuzzing", "stateful")
_COUNTED = re.compile(r"^  (\d+) generated", re.MULTILINE)
_TESTED = re.compile(r"Tested: (\d+)")


class Found(NamedTuple):
    """Requests that were made, and operations that they tried."""

    requests: int
    operations: int


class Broken(Exception):
    """A check that failed, as schemathesis says it."""


def fuzz(seed: int, examples: int, phases: tuple[str, ...] = PHASES, shown: bool = False) -> Found:
    """Make so many requests of each operation; Broken where a check doesn't hold.

    shown: what schemathesis says goes to the terminal as well.
    """
    with watched(f"fuzz:{KEY}") as server:
        said = _schemathesis(server, seed, examples, phases, shown)
    counted, tested = _COUNTED.search(said), _TESTED.search(said)
    if counted is None or tested is None:
        raise Broken(said)
    return Found(int(counted[1]), int(tested[1]))


def _schemathesis(
    server: Watched, seed: int, examples: int, phases: tuple[str, ...], shown: bool
) -> str:
    """Its exit status decides; what it says."""
    command = [
        sys.executable, "-m", "schemathesis.cli", "--no-color", "--config-file", str(CONFIG),
        "run", f"{server.url}/openapi.json", "--checks", "all", "--seed", str(seed),
        "--max-examples", str(examples), "--phases", ",".join(phases), "--request-timeout", "60",
    ]  # fmt: skip
    environment = os.environ | {"FUZZ_KEY": KEY, "PYTHONPATH": str(ROOT)}
    lines: list[str] = []
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment,
        cwd=server.folder,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            if shown:
                sys.stdout.write(line)
    if process.returncode:
        raise Broken("".join(lines))
    return "".join(lines)
