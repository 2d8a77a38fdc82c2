"""Processes of libFuzzer, one a decoder: started, watched, and what they found said."""

from __future__ import annotations

import base64
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tests.fuzz.decoders.checks import CHECKS
from tests.fuzz.decoders.seeds import LONGEST, WORDS, seeds

SECONDS, MEGABYTES = 30, 700
"""What one input may take, of time; and the whole process, of memory, however many they are."""
_DONE = re.compile(r"^#(\d+)\s+(?:DONE|pulse|NEW|REDUCE|RELOAD|INITED)", re.MULTILINE)
_KINDS = ("crash", "timeout", "oom")
_COVERED = re.compile(r"cov: (\d+)")


class Found(NamedTuple):
    """What became of a decoder: inputs it was given, edges of its code they reached."""

    inputs: int
    edges: int


class Broken(Exception):
    """An input that a decoder failed on."""


def fuzz(
    name: str, runs: int, seed: int, folder: Path, tick: Callable[[int], None] = lambda _: None
) -> Found:
    """Give a decoder so many inputs; Broken with the one that it failed on. tick: is told of them.

    The same seed gives the same inputs, as long as the code is the same.
    """
    flags = _flags(name, runs, seed, folder)
    command = [sys.executable, "-c", _APART, "-m", "tests.fuzz.decoders.child", name, *flags]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, errors="replace") as process:
        assert process.stderr is not None
        said, inputs, edges = [], 0, 0
        for line in process.stderr:
            if not line.startswith("INFO: Instrumenting"):
                said = [*said[-60:], line]
            if (done := _DONE.match(line)) is not None:
                tick(int(done[1]) - inputs)
                inputs = int(done[1])
            if (covered := _COVERED.search(line)) is not None:
                edges = int(covered[1])
    if process.returncode:
        raise Broken(_told(name, folder, said))
    return Found(inputs, edges)


_APART = "import subprocess, sys; sys.exit(subprocess.call([sys.executable, *sys.argv[1:]]) and 1)"
"""Starts a process by a small one: Linux counts the memory of who started it as its own, and a
process of tests may have more than libFuzzer's limit."""


def _flags(name: str, runs: int, seed: int, folder: Path) -> list[str]:
    """libFuzzer's, with the seeds and the words in files."""
    corpus = folder / f"{name}.corpus"
    corpus.mkdir()
    for place, body in enumerate(seeds(name)):
        (corpus / f"{place:03}").write_bytes(body)
    words = folder / f"{name}.words"
    words.write_text("".join(f'"{_escaped(word)}"\n' for word in WORDS[name] if word))
    return [
        f"-runs={runs}", f"-seed={seed % 2**32 or 1}", f"-max_len={LONGEST}", f"-dict={words}",
        f"-timeout={SECONDS}", f"-rss_limit_mb={MEGABYTES}", "-len_control=20", "-detect_leaks=0",
        f"-artifact_prefix={folder}/{name}.", str(corpus),
    ]  # fmt: skip


def _escaped(word: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in word)


def _told(name: str, folder: Path, said: list[str]) -> str:
    """The end of what the process said, and the input as a person can carry it off."""
    kept = [path for kind in _KINDS for path in folder.glob(f"{name}.{kind}-*")]
    inputs = "".join(
        f"\n{p.name}: base64 {base64.b64encode(p.read_bytes()).decode()}" for p in kept
    )
    return f"{name}: {''.join(said)}{inputs}"


NAMES = tuple(CHECKS)
